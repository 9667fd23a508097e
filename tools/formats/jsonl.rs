//! JSON Lines: one object a line. Blank lines are skipped.

use std::fmt;

use anyhow::Result;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::fields::{DocumentFields, DocumentPart, PartValues};
use super::id_sequence::IdSequence;
use super::input::{InputStream, LineReader};
use super::{Item, Records, excerpt, utf8};

/// A reader of JSON Lines.
pub struct JsonLines {
    lines: LineReader,
    fields: DocumentFields,
    /// The ids of the next objects, if objects are counted.
    counted: Option<IdSequence>,
}

impl JsonLines {
    /// Reads the named fields of every object. If objects are counted, their ids are `counted`.
    pub fn new(input: InputStream, fields: DocumentFields, counted: IdSequence) -> Result<Self> {
        Ok(Self {
            lines: LineReader::new(input, fields.max_line_bytes())?,
            counted: fields.are_counted.then_some(counted),
            fields,
        })
    }
}

impl Records for JsonLines {
    fn next(&mut self) -> Result<Option<Item>> {
        let Some((number, line)) = self.lines.next_not_blank()? else {
            return Ok(None);
        };
        let parts = line.and_then(|line| JsonParts::parse(utf8(line)?, &self.fields));
        let counted = self.counted.as_mut().map(IdSequence::take).transpose();
        Ok(Some(match (counted, parts) {
            (Err(reason), _) => Item::reject(number, None, reason),
            (Ok(counted), Err(reason)) => Item::reject(number, counted, reason),
            (Ok(counted), Ok(parts)) => self.fields.item(number, counted, parts),
        }))
    }

    fn next_ids(&self) -> Option<IdSequence> {
        self.counted
    }
}

/// The values of the named fields of one object, by their parts.
#[derive(Debug, Default)]
pub struct JsonParts([Option<Value>; DocumentPart::ALL.len()]);

impl JsonParts {
    /// The named fields of the object that a line holds, or the reason why it holds none.
    pub fn parse(line: &str, fields: &DocumentFields) -> Result<Self, String> {
        let mut json = serde_json::Deserializer::from_str(line);
        json.deserialize_map(ObjectVisitor(fields))
            .and_then(|parts| json.end().map(|()| parts))
            .map_err(|error| {
                if line.trim_start().starts_with('[') {
                    NOT_AN_ARRAY.to_owned()
                } else {
                    reason_of(&error)
                }
            })
    }

    /// Returns `true` if the object has the field of a part, with whatever value.
    pub fn has(&self, part: DocumentPart) -> bool {
        self.0[part as usize].is_some()
    }

    /// Returns `true` if the object lacks the field of a part, or has a `null` there.
    pub fn is_null(&self, part: DocumentPart) -> bool {
        matches!(self.0[part as usize], None | Some(Value::Null))
    }
}

impl PartValues for JsonParts {
    const KIND: &'static str = "field";

    fn take(&mut self, part: DocumentPart) -> Result<Option<Value>, String> {
        Ok(self.0[part as usize].take())
    }
}

/// The message of an error about one line, without the position in it. A value that the message
/// repeats may be all of the line, and is cut.
pub fn reason_of(error: &serde_json::Error) -> String {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(&position).unwrap_or(&message);
    match error.classify() {
        serde_json::error::Category::Data => match message.rfind(", expected ") {
            Some(end) => format!("{}{}", excerpt(&message[..end]), &message[end..]),
            None => message.to_owned(),
        },
        _ => format!("malformed JSON at column {}: {message}", error.column()),
    }
}

const NOT_AN_ARRAY: &str = "this is an array, where a JSON object is expected, one object a line; \
     `jq -c '.[]'` converts an array";

/// Reads one object and keeps the named fields, without building the rest.
struct ObjectVisitor<'f>(&'f DocumentFields);

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = JsonParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonParts, A::Error> {
        let mut parts = JsonParts::default();
        while let Some(part) = map.next_key_seed(PartSeed(self.0))? {
            let Some(part) = part else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = &mut parts.0[part as usize];
            // Readers of JSON disagree about which of two fields counts.
            if value.is_some() {
                let name = self.0.name(part).unwrap_or_default();
                return Err(A::Error::custom(format!("field {name:?} is there twice")));
            }
            *value = Some(map.next_value()?);
        }
        Ok(parts)
    }
}

/// Finds the part that a key names, without copying the key.
struct PartSeed<'f>(&'f DocumentFields);

impl<'de> DeserializeSeed<'de> for PartSeed<'_> {
    type Value = Option<DocumentPart>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Option<DocumentPart>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for PartSeed<'_> {
    type Value = Option<DocumentPart>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<DocumentPart>, E> {
        let is_named = |part: &DocumentPart| self.0.name(*part) == Some(key);
        Ok(DocumentPart::ALL.into_iter().find(is_named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{DocumentContent, InputRecord};
    use simdb::{DocId, Fingerprint};

    fn texts() -> DocumentFields {
        DocumentFields::of_names(Some("text"), None)
    }

    fn fingerprints() -> DocumentFields {
        DocumentFields::of_names(None, Some("fp"))
    }

    fn read(bytes: &[u8], fields: DocumentFields) -> Vec<Item> {
        let mut records = JsonLines::new(
            InputStream::of_bytes("test", bytes),
            fields,
            IdSequence::new(1),
        )
        .unwrap();
        std::iter::from_fn(|| records.next().unwrap()).collect()
    }

    fn reason(line: &str, fields: DocumentFields) -> String {
        match &read(line.as_bytes(), fields)[..] {
            [Item::Reject(reject)] => reject.reason.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_are_read_with_their_line_numbers_and_blank_lines_are_skipped() {
        let items = read(
            b"{\"id\":1,\"text\":\"a\\u4e2d\",\"x\":[{}]}\n\n \t\r\n{\"text\":\"\",\"id\":\"2\"}",
            texts(),
        );
        let record = |number, id, text: &str| {
            Item::Record(InputRecord {
                number,
                id: DocId(id),
                content: DocumentContent {
                    text: Some(text.to_owned()),
                    ..DocumentContent::default()
                },
            })
        };
        assert_eq!(items, [record(1, 1, "a中"), record(4, 2, "")]);
    }

    #[test]
    fn fingerprints_are_read_with_their_reliability() {
        let items = read(
            br#"{"id":1,"fp":"00000000000000ff","text":7}
                {"id":2,"fp":"00000000000000ff","reliable":false}"#,
            fingerprints(),
        );
        let read: Vec<_> = items
            .iter()
            .map(|item| match item {
                Item::Record(record) => (record.id.0, record.content.fingerprint),
                other => panic!("{other:?}"),
            })
            .collect();
        let fingerprint = Fingerprint::from_bits(0xff);
        assert_eq!(
            read,
            [
                (1, Some((fingerprint, true))),
                (2, Some((fingerprint, false)))
            ]
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, expected) in [
            ("{\"id\":1,", "malformed JSON at column 8"),
            ("{\"id\":1,\"text\":\"a\"} x", "malformed JSON"),
            ("[1]", "a JSON object"),
            ("[", "jq -c '.[]'"),
            ("{\"text\":\"a\"}", "there is no field \"id\""),
            ("{\"id\":1}", "there is no field \"text\""),
            ("{\"id\":1,\"text\":null}", "field \"text\" is null"),
            ("{\"id\":1,\"text\":7}", "field \"text\" is a number"),
            (
                "{\"id\":-1,\"text\":\"a\"}",
                "field \"id\": -1 is not an id",
            ),
            (
                "{\"id\":1,\"id\":2,\"text\":\"a\"}",
                "field \"id\" is there twice",
            ),
            ("{\"id\":1,\"text\":\"\\ud800\"}", "malformed JSON"),
        ] {
            let reason = reason(line, texts());
            assert!(reason.contains(expected), "{line}: {reason}");
        }
        let reason = reason("{\"id\":1,\"fp\":\"ff\"}", fingerprints());
        assert!(reason.contains("16 hexadecimal digits"), "{reason}");
        let [Item::Reject(reject)] = &read(b"{\"id\":1,\"text\":\"\xff\"}", texts())[..] else {
            panic!("accepted");
        };
        assert!(
            reject.reason.contains("invalid UTF-8 after 16 bytes"),
            "{}",
            reject.reason
        );
    }

    #[test]
    fn json_nested_beyond_all_bounds_is_refused() {
        let line = format!("{{\"id\":{}1", "[".repeat(100_000));
        assert!(reason(&line, texts()).contains("recursion limit"));
        let ignored = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(reason(&ignored, texts()).contains("malformed JSON"));
    }

    #[test]
    fn the_id_of_a_rejected_line_is_kept_if_it_is_known() {
        let [Item::Reject(reject)] = &read(b"{\"id\":7}", texts())[..] else {
            panic!("accepted");
        };
        assert_eq!((reject.number, reject.id), (1, Some(DocId(7))));
    }
}
