//! [`DocId`], the number a document is known by, and [`Document`], what is kept for it.

use std::fmt;

use crate::fingerprint::Fingerprint;

/// The number a document is known by: any `u64`, chosen by the caller, unique in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u64);

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment, in milliseconds since the beginning of 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// A document as a database keeps it: its id, its fingerprint, and its text if texts are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The number it is known by.
    pub id: DocId,
    /// The fingerprint of its text.
    pub fingerprint: Fingerprint,
    /// Whether the fingerprint says anything: `false` for a text with too few features. Such a
    /// document is kept and found by its id, but is never a match of a query by fingerprint,
    /// and is never refused as a near-duplicate of another.
    pub reliable: bool,
    /// Its text. Kept only by a database that keeps texts.
    pub text: Option<String>,
}

impl Document {
    /// A document of which only the fingerprint is known. It is taken to be reliable.
    pub fn new(id: DocId, fingerprint: Fingerprint) -> Self {
        Self {
            id,
            fingerprint,
            reliable: true,
            text: None,
        }
    }
}

/// A document whose fingerprint lies within the radius of a query: a claim about bits, not about
/// meaning.
///
/// Matches are ordered by distance, then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    /// The document found.
    pub id: DocId,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The Hamming distance from the query.
    pub distance: u32,
}

impl Match {
    /// What matches are ordered by.
    pub(crate) fn order(&self) -> (u32, DocId) {
        (self.distance, self.id)
    }
}
