//! The JSON of matches and of changes. `simdb_tools::wire` has ids and documents.

use serde::Serialize;
use serde_json::Value;
use simdb::{Fingerprint, Outcome, Timestamp};
use simdb_tools::wire::{WireId, ids_to_strings};

use crate::error::ApiError;

/// A [`Match`](simdb::Match) or a [`Similar`](simdb::Similar) as the library serialises it, with a
/// string as id, and with its key if the document has one.
pub fn match_value(found: &impl Serialize, key: Option<String>) -> Value {
    let mut value = serde_json::to_value(found).unwrap_or_default();
    ids_to_strings(&mut value);
    if let Some(key) = key {
        value["key"] = key.into();
    }
    value
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
        of: Value,
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
                of: match_value(&found, key),
            },
            Outcome::Similar(similar) => Self::Similar {
                of: match_value(&similar, key),
            },
            Outcome::Extends(similar) => Self::Extends {
                of: match_value(&similar, key),
            },
            // The key of a removed document is in the outcome.
            Outcome::Supersedes(removed) => Self::Supersedes {
                matches: removed.iter().map(|one| match_value(one, None)).collect(),
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
