//! The JSON of `simdb-serve`, which `remote` reads. An id is a string in answers, because a
//! JavaScript number holds 53 bits; requests may send a number or a string.

use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use simdb::copies::Copies;
use simdb::{DocId, DocRef, Document, Fingerprint, Timestamp};

use crate::formats::id_of;

/// An id in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireId(pub DocId);

impl Serialize for WireId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WireId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        id_of(&value).map(Self).map_err(D::Error::custom)
    }
}

/// A stored document.
#[derive(Serialize, Deserialize)]
pub struct WireDocument {
    id: WireId,
    fingerprint: Fingerprint,
    reliable: bool,
    arrival: Option<Timestamp>,
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// As they are stored: a number that is read and written again may be rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<Copies>,
}

impl From<Document> for WireDocument {
    fn from(document: Document) -> Self {
        let Document {
            id,
            fingerprint,
            reliable,
            arrival,
            text,
            key,
            fields,
            mut copies,
            scope,
            within: _,
            on_exists: _,
        } = document;
        for sighting in copies.iter_mut().flat_map(|copies| &mut copies.newest) {
            if let DocRef::Id(id) = &sighting.document {
                sighting.document = id.to_string().into();
            }
        }
        let object = |fields: String| {
            let text = |_| to_raw_value(&fields).ok();
            RawValue::from_string(fields.clone()).map_or_else(text, Some)
        };
        Self {
            id: WireId(id),
            fingerprint,
            reliable,
            arrival,
            text,
            key,
            scope,
            fields: fields.and_then(object),
            copies,
        }
    }
}

impl From<WireDocument> for Document {
    fn from(wire: WireDocument) -> Self {
        let mut copies = wire.copies;
        // A document without a key is in a database without keys, whose copies have ids.
        if wire.key.is_none() {
            for sighting in copies.iter_mut().flat_map(|copies| &mut copies.newest) {
                if let DocRef::Key(digits) = &sighting.document
                    && let Ok(id) = digits.parse::<DocId>()
                {
                    sighting.document = id.into();
                }
            }
        }
        Self {
            reliable: wire.reliable,
            arrival: wire.arrival,
            text: wire.text,
            key: wire.key,
            scope: wire.scope,
            fields: wire.fields.map(|fields| fields.get().to_owned()),
            copies,
            ..Self::new(wire.id.0, wire.fingerprint)
        }
    }
}

/// Turns the number in each field `id` into a string.
pub fn ids_to_strings(value: &mut Value) {
    replace_ids(value, |id| Some(id.as_u64()?.to_string().into()));
}

/// Turns the digits in each field `id` into a number.
pub fn ids_to_numbers(value: &mut Value) {
    replace_ids(value, |id| Some(id.as_str()?.parse::<u64>().ok()?.into()));
}

/// Replaces the value of each field `id` for which `replaced` returns another value.
fn replace_ids(value: &mut Value, replaced: fn(&Value) -> Option<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name == "id").then(|| replaced(field)).flatten() {
                    Some(id) => *field = id,
                    None => replace_ids(field, replaced),
                }
            }
        }
        Value::Array(items) => (items.iter_mut()).for_each(|item| replace_ids(item, replaced)),
        _ => {}
    }
}

/// A text of JSON with a number in place of the digits in each field `id`.
pub fn with_numbers_as_ids(json: &str) -> String {
    // Within a string, a quotation mark is escaped: what follows is a field.
    let mut parts = json.split("\"id\":\"");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('"') {
            Some((digits, rest)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                text += &format!("\"id\":{digits}{rest}");
            }
            _ => text += &format!("\"id\":\"{part}"),
        }
    }
    text
}
