//! JSON Lines: one object a line. Blank lines are skipped.

use std::borrow::Cow;
use std::fmt;

use anyhow::Result;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::fields::{DocumentFields, DocumentPart, FieldValue, PartValues};
use super::id_sequence::IdSequence;
use super::input::{InputStream, LineReader};
use super::{Item, Records, excerpt, utf8};

/// A reader of JSON Lines.
pub struct JsonLines {
    lines: LineReader,
    fields: DocumentFields,
    /// The ids of the next objects; `None` if objects have ids.
    counted: Option<IdSequence>,
}

impl JsonLines {
    /// Reads the named fields of every object.
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
        let values = line.and_then(|line| JsonParts::parse(utf8(line)?, &self.fields));
        Ok(Some(self.fields.item(
            number,
            self.counted.as_mut(),
            values,
        )))
    }

    fn next_ids(&self) -> Option<IdSequence> {
        self.counted
    }
}

/// The values of the named fields of one object, by part.
#[derive(Debug, Default)]
pub struct JsonParts([Option<Value>; DocumentPart::ALL.len()]);

impl JsonParts {
    /// The named fields of the object in a line, or the reason why the line is not one object.
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

    /// Returns `true` if the object has the field of a part, even a `null`.
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

    fn take(&mut self, part: DocumentPart) -> Result<Option<FieldValue>, String> {
        Ok(self.0[part as usize].take().map(FieldValue::Json))
    }
}

/// The message of an error in one line, without "at line 1", which every such error has. A quoted
/// value, which may be the whole line, is shortened.
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

const NOT_AN_ARRAY: &str = "the line is an array; a JSON object is expected, one object a line; \
     convert the array with `jq -c '.[]'`";

/// A key, borrowed from the line unless it has escapes.
#[derive(Deserialize)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

/// Reads one object and keeps the named fields.
struct ObjectVisitor<'f>(&'f DocumentFields);

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = JsonParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonParts, A::Error> {
        let mut parts = JsonParts::default();
        while let Some(Key(key)) = map.next_key()? {
            let is_named = |part: &DocumentPart| self.0.name(*part) == Some(&*key);
            let Some(part) = DocumentPart::ALL.into_iter().find(is_named) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = &mut parts.0[part as usize];
            // JSON parsers disagree about which of two equal keys counts.
            if value.is_some() {
                return Err(A::Error::custom(format!("field {key:?} is there twice")));
            }
            *value = Some(map.next_value()?);
        }
        Ok(parts)
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
    fn objects_have_line_numbers_and_blank_lines_are_skipped() {
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
    fn reliable_flag_of_fingerprint_is_read() {
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
    fn bad_line_is_rejected_with_reason() {
        for (line, expected) in [
            ("{\"id\":1,", "malformed JSON at column 8"),
            ("{\"id\":1,\"text\":\"a\"} x", "malformed JSON"),
            ("[1]", "a JSON object"),
            ("[", "jq -c '.[]'"),
            ("{\"text\":\"a\"}", "there is no field \"id\""),
            ("{\"id\":1}", "there is no field \"text\""),
            ("{\"id\":1,\"text\":null}", "field \"text\": it is null"),
            ("{\"id\":1,\"text\":7}", "field \"text\": it is a number"),
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
    fn deeply_nested_json_is_rejected() {
        let line = format!("{{\"id\":{}1", "[".repeat(100_000));
        assert!(reason(&line, texts()).contains("recursion limit"));
        let ignored = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(reason(&ignored, texts()).contains("malformed JSON"));
    }

    #[test]
    fn rejected_line_keeps_its_id() {
        let [Item::Reject(reject)] = &read(b"{\"id\":7}", texts())[..] else {
            panic!("accepted");
        };
        assert_eq!((reject.number, reject.id), (1, Some(DocId(7))));
    }
}
