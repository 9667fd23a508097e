//! [`DocRef`]: the id or the key of a document.

use std::fmt;

use super::DocId;

/// The most bytes of a key; a key has at least one byte.
pub(crate) const KEY_LIMIT_BYTES: usize = 1024;

/// The id or the key of a document. Methods that take a document take `impl Into<DocRef>`: an id,
/// or a string as a key.
///
/// `Display` writes the id, or the key in quotation marks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum DocRef {
    /// The id.
    Id(DocId),
    /// The key, in a database with [keys](crate::Builder::keys).
    Key(String),
}

impl From<DocId> for DocRef {
    fn from(id: DocId) -> Self {
        Self::Id(id)
    }
}

impl From<u64> for DocRef {
    fn from(id: u64) -> Self {
        Self::Id(DocId(id))
    }
}

impl From<&str> for DocRef {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<String> for DocRef {
    fn from(key: String) -> Self {
        Self::Key(key)
    }
}

impl fmt::Display for DocRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Key(key) => write!(f, "{key:?}"),
        }
    }
}
