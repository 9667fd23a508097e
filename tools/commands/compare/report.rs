//! [`TextComparison`]: all findings about two texts, as JSON and as text.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use simdb::containment::{Alignment, Missing};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Decision, Error, Fingerprinter, Normaliser};

use super::features::FeatureComparison;
use super::fingerprints::{bits_json, bits_table, blocks_json, blocks_table};
use super::measures::Measures;
use super::side::{NAMES, Side};
use crate::commands::STRICT_RADIUS;
use crate::console::counted;
use crate::console::missing_words::{
    EMPTY_TEXT, forgiven_rows, forgiven_words, has_empty_text, picture, rows, verdict_line,
};
use crate::console::rows::{cells, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;

/// The parts of a report that are printed only on request.
#[derive(Debug, Args)]
pub(super) struct ComparedParts {
    /// Print both fingerprints by blocks, and the features that pull each bit that differs
    #[arg(long)]
    bits: bool,

    /// Print the features of both texts, of A only, and of B only, with their shares of the weight
    #[arg(long)]
    features: bool,
}

/// The comparison of two texts.
pub(super) struct TextComparison {
    recipe: &'static str,
    sides: [Side; 2],
    /// `None` for recipes of 64 bits, and if a text is not known.
    distance_128: Option<u32>,
    /// `None` unless both fingerprints are made of known texts.
    features: Option<FeatureComparison>,
    /// `None` unless both texts are known.
    wording: Option<(Resemblance, Alignment, Measures)>,
    likeness: Likeness,
    decision: Decision,
}

/// The answer to the question if two texts are near-duplicates, and the reason.
#[derive(Serialize)]
struct Conclusion {
    near_duplicates: bool,
    because: String,
}

impl TextComparison {
    pub fn new(
        fingerprinter: &Fingerprinter,
        sides: [Side; 2],
        (likeness, decision): (Likeness, Decision),
    ) -> Result<Self> {
        let (mut distance_128, mut features, mut wording) = (None, None, None);
        if let [Some(one), Some(other)] = sides.each_ref().map(|side| side.text.as_deref()) {
            let normaliser = Normaliser::new();
            let weights = decision.weights();
            let resemblance = Resemblance::new(&normaliser, one, other);
            let alignment = Alignment::new(&normaliser, weights, one, other);
            let measures = Measures::new(&normaliser, &resemblance, [one, other]);
            wording = Some((resemblance, alignment, measures));
            if sides.iter().all(|side| side.is_made_of_text) {
                let both = [fingerprinter.features(one)?, fingerprinter.features(other)?];
                features = Some(FeatureComparison::new(both));
                distance_128 = wide_distance(fingerprinter, one, other)?;
            }
        }
        Ok(Self {
            recipe: fingerprinter.recipe().name(),
            sides,
            distance_128,
            features,
            wording,
            likeness,
            decision,
        })
    }

    /// Returns `true` for near-duplicates by their wording or, without texts, by their bits.
    pub fn near_duplicates(&self) -> bool {
        let conclusion = self.similar().unwrap_or_else(|| self.strict());
        conclusion.near_duplicates
    }

    fn distance(&self) -> u32 {
        let [one, other] = &self.sides;
        one.made.fingerprint.distance(other.made.fingerprint)
    }

    /// The decision of a query at the default radius.
    fn strict(&self) -> Conclusion {
        let distance = self.distance();
        let is_near = distance <= STRICT_RADIUS;
        let differ = format!(
            "the fingerprints differ in {}",
            counted(distance.into(), "bit")
        );
        let unreliable = (0..2).filter(|side| !self.sides[*side].made.reliable);
        let unreliable: Vec<_> = unreliable.collect();
        Conclusion {
            near_duplicates: is_near && unreliable.is_empty(),
            because: match unreliable[..] {
                [] if is_near => differ,
                [] => format!("{differ}, more than {STRICT_RADIUS}"),
                [side] => format!(
                    "the fingerprint of {} is unreliable, so it matches no other",
                    NAMES[side]
                ),
                _ => "both fingerprints are unreliable, so they match no other".to_owned(),
            },
        }
    }

    /// The decision of similar search; `None` unless both texts are known.
    fn similar(&self) -> Option<Conclusion> {
        let (found, alignment, _) = self.wording.as_ref()?;
        let Likeness {
            edit_similarity,
            jaccard,
            ..
        } = self.likeness;
        let edits = match found.edit_similarity {
            Some(similarity) => format!("the edit similarity is {similarity:.3}"),
            None => "the texts are too long for an edit similarity".to_owned(),
        };
        let phrases = format!("{:.3} of the phrases are in both", found.jaccard);
        let because = if found.same_wording {
            "the wording is the same".to_owned()
        } else if !found.comparable {
            "a text has so little content that only one of the same wording is its near-duplicate"
                .to_owned()
        } else if found.edit_similarity >= Some(edit_similarity) {
            format!("{edits}, and {edit_similarity} is enough")
        } else if found.jaccard >= jaccard {
            format!("{phrases}, and {jaccard} is enough")
        } else {
            format!(
                "{edits}, where {edit_similarity} would be enough, and {phrases}, where {jaccard} \
                 would"
            )
        };
        let is_alike = found.is_enough(&self.likeness);
        let verdict = alignment.containment.verdict;
        // A search compares the words of alike texts only, so the verdict about other texts decides
        // nothing.
        Some(match self.decision != Decision::Alike && is_alike {
            true => Conclusion {
                near_duplicates: verdict.is_removable(),
                because: match verdict.is_removable() {
                    true => format!("{because}; the verdict is {}", verdict.name()),
                    false => format!("{because}, but {}", not_covered(alignment)),
                },
            },
            false => Conclusion {
                near_duplicates: is_alike,
                because,
            },
        })
    }

    pub fn json(&self, parts: &ComparedParts) -> Value {
        let containment = self
            .wording
            .as_ref()
            .map(|(_, alignment, _)| &alignment.containment);
        let mut json = json!({
            "recipe": self.recipe,
            "a": self.sides[0].json(),
            "b": self.sides[1].json(),
            "distance": self.distance(),
            "distance_128": self.distance_128,
            "verdict": containment.map(|found| found.verdict.name()),
            "missing_in_b": containment.map(|found| rows(&found.missing_in_b)),
            "missing_in_a": containment.map(|found| rows(&found.missing_in_a)),
            "forgiven": containment.map(|found| forgiven_rows(&found.forgiven)),
            "measures": self.wording.as_ref().map(|(_, _, measures)| measures),
            "strict": self.strict(),
            "similar": self.similar(),
            "near_duplicates": self.near_duplicates(),
        });
        let features = self.features.as_ref();
        if parts.bits {
            json["blocks"] = blocks_json(&self.sides);
            json["bits"] = features.map_or(Value::Null, |found| bits_json(&self.sides, found));
        }
        if parts.features {
            json["features"] = features.map_or(Value::Null, FeatureComparison::json);
        }
        json
    }

    pub fn text(&self, parts: &ComparedParts) -> String {
        let mut text = String::new();
        if let Some((_, alignment, _)) = &self.wording {
            let [a, b] = picture(alignment);
            let containment = &alignment.containment;
            text += &format!("{}\n{a}\n{b}\n", verdict_line(alignment));
            if let Some(forgiven) = forgiven_words(containment) {
                text += &format!("{forgiven}\n");
            }
            text += "\n";
        }
        text += &format!("{}\n\n{}", self.decisions(), self.measures());
        if parts.bits {
            text += &format!("\n\n{}", blocks_table(&self.sides));
        }
        if let Some(features) = &self.features {
            if parts.bits && self.distance() > 0 {
                text += &format!("\n\n{}", bits_table(&self.sides, features));
            }
            if parts.features {
                text += &format!("\n\n{}", features.groups_table());
            }
        }
        text
    }

    fn decisions(&self) -> Table {
        let mut table = Table::new(&[Left; 3]);
        for (way, decision) in [("strict", Some(self.strict())), ("similar", self.similar())] {
            let (answer, because) = match &decision {
                Some(decision) => (yes_or_no(decision.near_duplicates), &decision.because[..]),
                None => ("-", "a text is not kept, so its wording is not known"),
            };
            table.row([way, answer, because]);
        }
        table
    }

    fn measures(&self) -> Table {
        let mut table = Table::new(&[Left, Right, Left]);
        let distance = self.distance();
        // A distance of unreliable fingerprints is a number without meaning, however small it is.
        let found = match self.sides.iter().all(|side| side.made.reliable) {
            true => format!(
                "bits differ: found from radius {distance} on (recipe {})",
                self.recipe
            ),
            false => "means nothing: unreliable fingerprints match no other".to_owned(),
        };
        table.row(cells!["SimHash, 64 bits", distance, found]);
        if let Some(wide) = self.distance_128 {
            let halved = f64::from(wide) / 2.0;
            table.row(cells![
                "SimHash, 128 bits",
                wide,
                format!("as many as {halved} of 64")
            ]);
        }
        if let Some((_, _, measures)) = &self.wording {
            measures.rows(&self.likeness, &mut table);
        }
        table
    }
}

/// The sentence about two texts that do not cover each other, with the heaviest word of each that
/// the other lacks.
fn not_covered(alignment: &Alignment) -> String {
    if has_empty_text(alignment) {
        return EMPTY_TEXT.to_owned();
    }
    let found = &alignment.containment;
    let heaviest = |missing: &[Missing]| {
        let heavier = |a: &&Missing, b: &&Missing| a.weight.total_cmp(&b.weight);
        missing
            .iter()
            .max_by(heavier)
            .map(|missing| format!("{:?}", missing.word))
    };
    let sides = [&found.missing_in_b, &found.missing_in_a];
    let [a, b] = sides.map(|missing| {
        let mut words: Vec<&str> = missing.iter().map(|missing| &*missing.word).collect();
        words.sort_unstable();
        words
    });
    let because = match sides.map(|missing| heaviest(missing)) {
        _ if a == b => "the words have another order, or a sentence ends in another way".to_owned(),
        [Some(of_a), Some(of_b)] => format!("A alone has {of_a}, and B alone has {of_b}"),
        [Some(of_a), None] => format!("A alone has {of_a}, which alters a sentence of B"),
        [None, Some(of_b)] => format!("B alone has {of_b}, which alters a sentence of A"),
        [None, None] => unreachable!("two empty lists are equal"),
    };
    format!("neither text covers the other: {because}")
}

/// The distance of the fingerprints of 128 bits; `None` for recipes of 64 bits.
fn wide_distance(fingerprinter: &Fingerprinter, one: &str, other: &str) -> Result<Option<u32>> {
    match fingerprinter.fingerprint128(one) {
        Ok(wide) => Ok(Some(wide.distance(fingerprinter.fingerprint128(other)?))),
        Err(Error::Only64Bits { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
