//! JSON Lines: one object a line. Blank lines are skipped.

use std::fmt;

use anyhow::Result;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use simdb::DocId;

use super::counter::Counter;
use super::input::{Line, LineReader, Opened};
use super::score::Score;
use super::time::time_of;
use super::{
    Content, Fields, Item, RELIABLE_FIELD, Records, excerpt, fingerprint_of, id_of, line_too_long,
    text_of, utf8,
};

/// Reads JSON Lines.
pub struct JsonLines {
    lines: LineReader,
    fields: Fields,
    /// The ids of the next objects, if they are counted.
    counted: Counter,
}

impl JsonLines {
    /// Reads the named fields of every object; others are ignored. If objects are counted, their
    /// ids are `counted`.
    pub fn new(input: Opened, fields: Fields, counted: Counter) -> Result<Self> {
        Ok(Self {
            lines: LineReader::new(input, fields.max_line_bytes())?,
            fields,
            counted,
        })
    }
}

impl Records for JsonLines {
    fn next(&mut self) -> Result<Option<Item>> {
        while let Some((number, line)) = self.lines.next()? {
            let bytes = match line {
                Line::Whole(bytes) if bytes.trim_ascii().is_empty() => continue,
                Line::Whole(bytes) => Ok(bytes),
                Line::TooLong => Err(line_too_long(self.fields.max_line_bytes())),
            };
            let parts = bytes
                .and_then(utf8)
                .and_then(|line| parse(line, &self.fields));
            let id = match self.fields.are_counted {
                true => match self.counted.take() {
                    Ok(id) => Some(id),
                    Err(reason) => return Ok(Some(Item::reject(number, None, reason))),
                },
                false => None,
            };
            return Ok(Some(match parts {
                Ok(parts) => item(number, id, parts, &self.fields),
                Err(reason) => Item::reject(number, id, reason),
            }));
        }
        Ok(None)
    }

    fn next_ids(&self) -> Option<Counter> {
        self.fields.are_counted.then_some(self.counted)
    }
}

/// A document, or why it is none.
fn item(number: u64, counted: Option<DocId>, parts: Parts, fields: &Fields) -> Item {
    let id = match (counted, &parts.id) {
        (Some(id), _) => Ok(id),
        (None, None) => Err(format!("there is no field {:?}", fields.id)),
        (None, Some(value)) => {
            id_of(value).map_err(|reason| format!("field {:?}: {reason}", fields.id))
        }
    };
    match id {
        Ok(id) => Item::of(
            number,
            id,
            parts.content(fields, fields.fingerprint.is_none()),
        ),
        Err(reason) => Item::reject(number, None, reason),
    }
}

/// The values of the named fields of one object.
#[derive(Debug, Default)]
pub struct Parts {
    /// The value of the field for the id.
    pub id: Option<Value>,
    /// The value of the field for the text.
    pub text: Option<Value>,
    /// The value of the field for the fingerprint.
    pub fingerprint: Option<Value>,
    /// The value of the field that says whether the fingerprint means anything.
    pub reliable: Option<Value>,
    /// The value of the field for the time of arrival.
    pub time: Option<Value>,
    /// The value of the field for the score.
    pub score: Option<Value>,
}

impl Parts {
    /// The text, the fingerprint and the time, as far as they are named in `fields`. A fingerprint
    /// or a time that is named must be there; a text only if it is required.
    pub fn content(self, fields: &Fields, text_required: bool) -> Result<Content, String> {
        let text = match (&fields.text, self.text) {
            (None, _) => None,
            (Some(_), Some(Value::String(text))) => Some(text_of(text, fields.max_text_bytes)?),
            (Some(_), None | Some(Value::Null)) if !text_required => None,
            (Some(name), None) => return Err(format!("there is no field {name:?}")),
            (Some(name), Some(other)) => return Err(not_a_string(name, &other)),
        };
        let fingerprint = match (&fields.fingerprint, self.fingerprint) {
            (None, _) => None,
            (Some(name), None) => return Err(format!("there is no field {name:?}")),
            (Some(name), Some(Value::String(digits))) => {
                let fingerprint = fingerprint_of(&digits)
                    .map_err(|reason| format!("field {name:?}: {reason}"))?;
                let reliable = match self.reliable {
                    None | Some(Value::Null) => true,
                    Some(Value::Bool(reliable)) => reliable,
                    Some(_) => {
                        return Err(format!(
                            "field {RELIABLE_FIELD:?} is neither true nor false"
                        ));
                    }
                };
                Some((fingerprint, reliable))
            }
            (Some(name), Some(other)) => return Err(not_a_string(name, &other)),
        };
        let arrival = match (&fields.time, self.time) {
            (None, _) => None,
            (Some(name), None) => return Err(format!("there is no field {name:?}")),
            (Some(name), Some(value)) => {
                let time = time_of(&value).map_err(|reason| format!("field {name:?}: {reason}"))?;
                Some(time)
            }
        };
        let score = match (&fields.score, self.score) {
            (None, _) => None,
            (Some(name), None) => return Err(format!("there is no field {name:?}")),
            (Some(name), Some(value)) => {
                let score = match &value {
                    Value::String(digits) => Score::of_digits(digits),
                    other => Score::of_digits(&other.to_string()),
                };
                Some(score.map_err(|reason| format!("field {name:?}: {reason}"))?)
            }
        };
        Ok(Content {
            text,
            fingerprint,
            arrival,
            score,
        })
    }
}

fn not_a_string(field: &str, value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("field {field:?} is {kind}, a string is expected")
}

/// The named fields of the object that a line holds, or what is wrong with the line.
pub fn parse(line: &str, fields: &Fields) -> Result<Parts, String> {
    let mut json = serde_json::Deserializer::from_str(line);
    let parts = Object(fields).deserialize(&mut json);
    parts
        .and_then(|parts| json.end().map(|()| parts))
        .map_err(|error| {
            if line.trim_start().starts_with('[') {
                return NOT_AN_ARRAY.to_owned();
            }
            what_is_wrong(&error)
        })
}

/// The message of an error about one line, without the place that it names. A value that it repeats
/// may be all of the line, and is cut.
pub fn what_is_wrong(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(&place).unwrap_or(&message);
    match error.classify() {
        serde_json::error::Category::Data => match message.rfind(", expected ") {
            Some(end) => format!("{}{}", excerpt(&message[..end]), &message[end..]),
            None => message.to_owned(),
        },
        _ => format!("malformed JSON at column {}: {message}", error.column()),
    }
}

/// What to do about a file that is one array, or a line that is one.
const NOT_AN_ARRAY: &str = "this is an array, where a JSON object is expected, one object a line; \
     `jq -c '.[]'` converts an array";

/// Reads one object and keeps what the fields name, without building the rest.
struct Object<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Parts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parts, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts, A::Error> {
        let mut parts = Parts::default();
        while let Some(key) = map.next_key_seed(KeyOf(self.0))? {
            let (slot, name) = match key {
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Key::Id => (&mut parts.id, self.0.id.as_str()),
                Key::Text => (&mut parts.text, self.0.text.as_deref().unwrap_or_default()),
                Key::Fingerprint => (
                    &mut parts.fingerprint,
                    self.0.fingerprint.as_deref().unwrap_or_default(),
                ),
                Key::Reliable => (&mut parts.reliable, RELIABLE_FIELD),
                Key::Time => (&mut parts.time, self.0.time.as_deref().unwrap_or_default()),
                Key::Score => (
                    &mut parts.score,
                    self.0.score.as_deref().unwrap_or_default(),
                ),
            };
            // Readers of JSON disagree about which of the two counts.
            if slot.is_some() {
                return Err(A::Error::custom(format!("field {name:?} is there twice")));
            }
            *slot = Some(map.next_value()?);
        }
        Ok(parts)
    }
}

/// Which of the wanted fields a key names.
enum Key {
    Id,
    Text,
    Fingerprint,
    Reliable,
    Time,
    Score,
    Other,
}

/// Reads a key without copying it.
struct KeyOf<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for KeyOf<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        Ok(if key == self.0.id {
            Key::Id
        } else if self.0.text.as_deref() == Some(key) {
            Key::Text
        } else if self.0.fingerprint.as_deref() == Some(key) {
            Key::Fingerprint
        } else if self.0.time.as_deref() == Some(key) {
            Key::Time
        } else if self.0.score.as_deref() == Some(key) {
            Key::Score
        } else if key == RELIABLE_FIELD && self.0.fingerprint.is_some() {
            Key::Reliable
        } else {
            Key::Other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{MAX_TEXT_BYTES, Record};
    use simdb::Fingerprint;

    fn texts() -> Fields {
        Fields {
            id: "id".to_owned(),
            text: Some("text".to_owned()),
            fingerprint: None,
            time: None,
            score: None,
            are_counted: false,
            max_text_bytes: MAX_TEXT_BYTES,
        }
    }

    fn fingerprints() -> Fields {
        Fields {
            id: "id".to_owned(),
            text: None,
            fingerprint: Some("fp".to_owned()),
            time: None,
            score: None,
            are_counted: false,
            max_text_bytes: MAX_TEXT_BYTES,
        }
    }

    fn read(bytes: &[u8], fields: Fields) -> Vec<Item> {
        let mut records =
            JsonLines::new(Opened::of_bytes("test", bytes), fields, Counter::new(1)).unwrap();
        std::iter::from_fn(|| records.next().unwrap()).collect()
    }

    fn reason(line: &str, fields: Fields) -> String {
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
            Item::Record(Record {
                number,
                id: DocId(id),
                content: Content {
                    text: Some(text.to_owned()),
                    fingerprint: None,
                    arrival: None,
                    score: None,
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
