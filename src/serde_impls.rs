//! `Serialize` and `Deserialize` of the types that are strings. All other types derive them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::ids::{Fingerprint, Fingerprint128, Timestamp};
use crate::query::Keep;
use crate::recipe::{Described, Recipe};

/// Serialises by `Display`, and deserialises by a function of a string.
macro_rules! as_string {
    ($name:ty, $expected:literal) => {
        as_string!($name, Clone::clone, str::parse::<$name>, $expected);
    };
    ($name:ty, $written:expr, $read:expr, $expected:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&$written(self))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct StringVisitor;

                impl Visitor<'_> for StringVisitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $read(text).map_err(E::custom)
                    }
                }

                deserializer.deserialize_str(StringVisitor)
            }
        }
    };
}

as_string!(Fingerprint, "16 hexadecimal digits");
as_string!(Fingerprint128, "32 hexadecimal digits");
as_string!(Timestamp, "a time in RFC 3339");
as_string!(Keep, "first, oldest, longest or cleanest");
as_string!(
    Recipe,
    Recipe::description,
    described,
    "the description of a recipe"
);

fn described(description: &str) -> Result<Recipe, String> {
    match Recipe::described(description) {
        Described::Recipe(recipe) => Ok(recipe),
        Described::NeedsFiles { recipe, needed } => Err(format!(
            "the recipe {recipe} was given files, by xxh3_64: {needed}; a description does not have \
             their contents"
        )),
        Described::Unknown => Err(format!(
            "this simdb has no recipe with the description {description:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::database::Settings;
    use crate::document::{Document, Match};
    use crate::ids::DocId;
    use crate::ingest::Outcome;
    use crate::measure::Resemblance;
    use crate::measure::containment::{Containment, Weights};
    use crate::query::{Clustering, Similar};
    use crate::retention::Retention;
    use crate::text::Normaliser;

    /// Asserts that the value is written as `expected`, and read back from it.
    fn round_trip<T>(value: &T, expected: Value)
    where
        T: Serialize + DeserializeOwned + PartialEq + fmt::Debug,
    {
        assert_eq!(serde_json::to_value(value).unwrap(), expected);
        assert_eq!(serde_json::from_value::<T>(expected).unwrap(), *value);
    }

    const FINGERPRINT: Fingerprint = Fingerprint::from_bits(0xab);

    #[test]
    fn values_are_written_as_displayed_and_read_back() {
        round_trip(&DocId(u64::MAX), json!(u64::MAX));
        round_trip(&FINGERPRINT, json!("00000000000000ab"));
        round_trip(&Fingerprint128::from_bits(1), json!(format!("{:032x}", 1)));
        round_trip(
            &Timestamp(1_709_210_096_007),
            json!("2024-02-29T12:34:56.007Z"),
        );
        round_trip(&Timestamp(u64::MAX), json!(Timestamp(u64::MAX).to_string()));
        round_trip(&Keep::Longest, json!("longest"));
        round_trip(&Recipe::jieba(), json!(Recipe::jieba().description()));
        let found = Match {
            id: DocId(7),
            fingerprint: FINGERPRINT,
            distance: 2,
        };
        round_trip(
            &found,
            json!({"id": 7, "fingerprint": "00000000000000ab", "distance": 2}),
        );
        let similar = Similar {
            id: DocId(7),
            key: Some("a".into()),
            fingerprint: FINGERPRINT,
            distance: None,
            resemblance: Resemblance {
                same_wording: false,
                edit_similarity: Some(0.5),
                jaccard: 0.25,
                comparable: true,
            },
            containment: Some(Box::new(Containment::new(
                &Normaliser::new(),
                Weights::builtin(),
                "The ferry was cancelled.",
                "The ferry was not cancelled.",
            ))),
        };
        round_trip(&similar, serde_json::to_value(&similar).unwrap());
        let clustering = Clustering::default();
        round_trip(&clustering, serde_json::to_value(clustering).unwrap());
    }

    #[test]
    fn document_is_read_with_and_without_optional_fields() {
        let mut document = Document::new(DocId(1), FINGERPRINT);
        let least = json!({"id": 1, "fingerprint": "00000000000000ab"});
        assert_eq!(serde_json::from_value::<Document>(least).unwrap(), document);
        document.text = Some("text".to_owned());
        document.arrival = Some(Timestamp(0));
        document.reliable = false;
        round_trip(
            &document,
            json!({
                "id": 1, "fingerprint": "00000000000000ab", "reliable": false,
                "arrival": "1970-01-01T00:00:00.000Z", "text": "text", "key": null, "fields": null,
                "copies": null, "scope": null, "within": "scope", "on_exists": "keep"
            }),
        );
    }

    #[test]
    fn outcomes_are_read_back() {
        let expired = Outcome::Expired {
            cutoff: Timestamp(0),
        };
        let written = json!({"expired": {"cutoff": "1970-01-01T00:00:00.000Z"}});
        round_trip(&expired, written);
        round_trip(&Outcome::Missing, json!("missing"));
    }

    #[test]
    fn settings_are_read_back() {
        let settings = Settings {
            recipe: Recipe::cppjieba().with_top(10).unwrap(),
            keep_texts: true,
            similar: false,
            retention: Some(Retention::default()),
            frozen: false,
            keys: true,
            fields: false,
            copies: Some(16),
            scopes: true,
            frames: Some(10),
        };
        round_trip(&settings, serde_json::to_value(&settings).unwrap());
    }

    #[test]
    fn invalid_value_is_refused_with_its_reason() {
        let refused = |value: Value| serde_json::from_value::<Timestamp>(value).unwrap_err();
        let error = refused(json!("2024-05-31T12:00:00")).to_string();
        assert!(error.contains("has no zone"), "{error}");
        let error = refused(json!(7)).to_string();
        assert!(error.contains("a time in RFC 3339"), "{error}");
        let with_files = Recipe::jieba().with_stop_words("words", b"a").unwrap();
        let error = serde_json::from_value::<Recipe>(json!(with_files.description()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("was given files"), "{error}");
    }
}
