//! [`Change`] and [`Outcome`]: a change of a document, and its result.

use crate::document::{DocId, Document, Match};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, check_radius};
use crate::query::Similar;
use crate::similarity::Likeness;
use crate::timestamp::Timestamp;

/// A change of one document.
///
/// [`Database::apply`](crate::Database::apply) and
/// [`Transaction::apply`](crate::Transaction::apply) take many changes at once; each change sees
/// the changes before it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Stores the document unless its id is taken.
    Insert(Document),
    /// Stores the document unless its id is taken or a reliable document lies within the radius.
    /// An unreliable document is compared with no other document.
    InsertUnique {
        /// The document.
        document: Document,
        /// The largest Hamming distance at which another document is a duplicate.
        radius: u32,
    },
    /// Stores the document unless its id is taken or its text is like the text of another document.
    /// The document must have a text, and the database must keep texts.
    ///
    /// The bounds of [`Snapshot::similar`](crate::Snapshot::similar) apply twice: to the documents
    /// stored before the call, and to the documents that the call stores. Documents that the call
    /// removes, or that expire during the call, may still fill the 1,024 candidates of a band. After
    /// thousands of removals that share bands with the document, insert it in a separate call.
    InsertUnlessSimilar {
        /// The document, with its text.
        document: Document,
        /// The least likeness at which another text is a duplicate.
        likeness: Likeness,
    },
    /// Stores the document, and replaces a stored document with its id. The text is replaced too: if
    /// the new document has no text, the stored text is removed.
    Upsert(Document),
    /// Removes the document with this id.
    Remove(DocId),
    /// Removes the document with this id if it arrived before a time.
    RemoveOlder {
        /// The id of the document.
        id: DocId,
        /// The time, exclusive: a document that arrived at exactly this time stays.
        than: Timestamp,
    },
}

impl Change {
    /// The id of the document to be changed.
    pub fn id(&self) -> DocId {
        match self {
            Self::Remove(id) | Self::RemoveOlder { id, .. } => *id,
            Self::Insert(document)
            | Self::Upsert(document)
            | Self::InsertUnique { document, .. }
            | Self::InsertUnlessSimilar { document, .. } => document.id,
        }
    }

    /// Refuses a radius above 64, and thresholds that are not from 0 to 1.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::InsertUnique { radius, .. } => check_radius(*radius),
            Self::InsertUnlessSimilar { likeness, .. } => likeness.check(),
            Self::Insert(_) | Self::Upsert(_) | Self::Remove(_) | Self::RemoveOlder { .. } => {
                Ok(())
            }
        }
    }

    /// The document to be stored; `None` for a removal.
    pub(super) fn document_mut(&mut self) -> Option<&mut Document> {
        match self {
            Self::Insert(document)
            | Self::Upsert(document)
            | Self::InsertUnique { document, .. }
            | Self::InsertUnlessSimilar { document, .. } => Some(document),
            Self::Remove(_) | Self::RemoveOlder { .. } => None,
        }
    }
}

/// The result of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The document is new and stored.
    Inserted,
    /// The id is taken; nothing changed. If `stored` is the fingerprint of the change, the change was
    /// a repetition.
    Exists {
        /// The fingerprint stored under the id.
        stored: Fingerprint,
    },
    /// The document was not stored: a match lies within the radius. The nearest match, ties by
    /// smallest id.
    Duplicate(Match),
    /// The document was not stored: a stored text is like its text. The document with the most
    /// similar text.
    Similar(Similar),
    /// The document replaced a stored document with its id.
    Replaced {
        /// The fingerprint of the replaced document.
        stored: Fingerprint,
    },
    /// The document was removed.
    Removed {
        /// The fingerprint of the removed document.
        stored: Fingerprint,
    },
    /// No document has the id, or for [`Change::RemoveOlder`] the document did not arrive before the
    /// time. An expired document counts as missing.
    Missing,
}
