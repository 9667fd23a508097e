//! The values that name and place a document: [`DocId`], [`DocRef`], [`Fingerprint`],
//! [`Timestamp`]; and [`scope`], the part of an id that is the scope of the document.
//!
//! Values only, without errors: `parse` reads them from text.

mod doc_ref;
mod fingerprint;
pub(crate) mod scope;
mod timestamp;

use std::fmt;

pub use doc_ref::DocRef;
pub(crate) use doc_ref::KEY_LIMIT_BYTES;
pub use fingerprint::{Fingerprint, Fingerprint128, TextFingerprint};
pub use timestamp::Timestamp;
pub(crate) use timestamp::{CYCLE_MS, whole_ms};

/// The id of a document, unique in a database: any `u64`, chosen by the caller; in a database with
/// [keys](crate::Builder::keys), given by simdb, ascending; with [scopes](crate::Builder::scopes),
/// ascending within each scope.
///
/// `Display` writes and `FromStr` reads decimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct DocId(pub u64);

impl From<u64> for DocId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

impl From<DocId> for u64 {
    fn from(id: DocId) -> Self {
        id.0
    }
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
