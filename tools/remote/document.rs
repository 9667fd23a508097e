//! [`WireDocument`]: a stored document in an answer.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use simdb::copies::Copies;
use simdb::{DocId, DocRef, Document, Fingerprint, Timestamp};

use crate::formats::id_of;

/// A stored document in an answer: ids are strings, and fields are an object.
#[derive(Deserialize)]
pub struct WireDocument {
    #[serde(deserialize_with = "wire_id")]
    id: DocId,
    fingerprint: Fingerprint,
    reliable: bool,
    arrival: Option<Timestamp>,
    text: Option<String>,
    key: Option<String>,
    scope: Option<String>,
    /// As they are stored: a number that is read and written again may be rounded.
    fields: Option<Box<RawValue>>,
    copies: Option<Copies>,
}

fn wire_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DocId, D::Error> {
    id_of(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

impl From<WireDocument> for Document {
    fn from(wire: WireDocument) -> Self {
        let mut copies = wire.copies;
        // A document without a key is in a database without keys, whose copies have ids.
        if wire.key.is_none() {
            let sightings = copies.iter_mut().flat_map(|copies| &mut copies.newest);
            for sighting in sightings {
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
            ..Self::new(wire.id, wire.fingerprint)
        }
    }
}
