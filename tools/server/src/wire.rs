//! The JSON of requests and answers. An id is a string in answers, because a JavaScript number
//! holds 53 bits; requests may send a number or a string.

use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use simdb::copies::Copies;
use simdb::{DocId, Document, Fingerprint, Match, Outcome, Similar, Timestamp};
use simdb_tools::formats::id_of;

use crate::error::ApiError;

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
#[derive(Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<Value>,
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
            copies,
            scope,
            within: _,
            on_exists: _,
        } = document;
        // As they are stored: a number that is read and written again may be rounded.
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
            copies: copies.as_ref().map(copies_value),
        }
    }
}

/// A document within a radius.
#[derive(Serialize)]
pub struct WireMatch {
    id: WireId,
    fingerprint: Fingerprint,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl From<Match> for WireMatch {
    fn from(found: Match) -> Self {
        let Match {
            id,
            fingerprint,
            distance,
        } = found;
        Self {
            id: WireId(id),
            fingerprint,
            distance,
            key: None,
            text: None,
        }
    }
}

/// The copies of a document, as the library serialises them, with strings as ids.
pub fn copies_value(copies: &Copies) -> Value {
    let mut value = serde_json::to_value(copies).unwrap_or_default();
    let newest = value.get_mut("newest").and_then(Value::as_array_mut);
    for document in newest
        .into_iter()
        .flatten()
        .filter_map(|one| one.get_mut("document"))
    {
        if document.is_u64() {
            *document = Value::String(document.to_string());
        }
    }
    value
}

/// A document with a similar text, as the library serialises it, with a string as id, and with its
/// key if the document has one.
pub fn similar_value(similar: &Similar, key: Option<String>) -> Value {
    let mut value = serde_json::to_value(similar).unwrap_or_default();
    ids_to_strings(&mut value);
    if let Some(key) = key {
        value["key"] = key.into();
    }
    value
}

/// Turns the number in each field `id` into a string.
pub fn ids_to_strings(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "id" && field.is_u64() {
                    *field = Value::String(field.to_string());
                } else {
                    ids_to_strings(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(ids_to_strings),
        _ => {}
    }
}

/// The answer to one change.
#[derive(Serialize)]
pub struct ChangeAnswer {
    /// The number of the line, from 1, in a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// `None` for a line without a readable id, and for a document with a key.
    pub id: Option<WireId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reliable: Option<bool>,
    #[serde(flatten)]
    pub outcome: WireOutcome,
}

/// The outcome of a change, by the names of [`Outcome`].
#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum WireOutcome {
    Inserted,
    Exists {
        stored: Fingerprint,
        /// `true` if the change has the fingerprint that is stored.
        repeated: bool,
    },
    Duplicate {
        #[serde(rename = "match")]
        of: WireMatch,
    },
    Similar {
        #[serde(rename = "match")]
        of: Value,
    },
    Extends {
        #[serde(rename = "match")]
        of: Value,
    },
    Supersedes {
        matches: Vec<Value>,
    },
    /// The document was refused before as a copy.
    Seen,
    Expired {
        cutoff: Timestamp,
    },
    Replaced {
        stored: Fingerprint,
    },
    Removed {
        stored: Fingerprint,
    },
    Missing,
    /// The document is refused, and the others of the request are not.
    Rejected {
        error: ApiError,
    },
}

impl WireOutcome {
    /// `made` is the fingerprint of the document of the change, `key` the key of the document that
    /// the outcome names.
    pub fn new(outcome: Outcome, made: Option<Fingerprint>, key: Option<String>) -> Self {
        match outcome {
            Outcome::Inserted { .. } => Self::Inserted,
            Outcome::Exists { stored } => Self::Exists {
                stored,
                repeated: made == Some(stored),
            },
            Outcome::Duplicate(found) => Self::Duplicate {
                of: WireMatch {
                    key,
                    ..found.into()
                },
            },
            Outcome::Similar(similar) => Self::Similar {
                of: similar_value(&similar, key),
            },
            Outcome::Extends(similar) => Self::Extends {
                of: similar_value(&similar, key),
            },
            // The key of a removed document is in the outcome.
            Outcome::Supersedes(removed) => Self::Supersedes {
                matches: removed.iter().map(|one| similar_value(one, None)).collect(),
            },
            Outcome::Seen => Self::Seen,
            Outcome::Expired { cutoff } => Self::Expired { cutoff },
            Outcome::Replaced { stored } => Self::Replaced { stored },
            Outcome::Removed { stored } => Self::Removed { stored },
            Outcome::Missing => Self::Missing,
            other => Self::Rejected {
                error: ApiError::internal(format!("unknown outcome: {other}")),
            },
        }
    }
}
