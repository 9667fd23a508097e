//! [`Change`] and [`Outcome`]: a change of a document, and its result.

use crate::document::{DocId, Document, Match, Timestamp};
use crate::fingerprint::Fingerprint;
use crate::query::Similar;
use crate::similarity::Likeness;

/// A change of one document.
///
/// [`Database::apply`](crate::Database::apply) and
/// [`Transaction::apply`](crate::Transaction::apply) take many changes at once; each change sees
/// those before it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Stores the document unless its id is taken.
    Insert(Document),
    /// Stores the document unless its id is taken or a reliable document lies within the radius.
    /// A document that is not reliable itself is stored whatever lies near.
    InsertUnique {
        /// The document.
        document: Document,
        /// The largest Hamming distance at which another document is a duplicate.
        radius: u32,
    },
    /// Stores the document unless its id is taken or its text is like the text of another document.
    /// The document must have a text, and the database must keep texts.
    ///
    /// The bounds of [`Snapshot::similar`](crate::Snapshot::similar) hold twice: once for the
    /// documents stored before the call, and once for those that the call has brought. Documents
    /// that the call removes, or that expire during the call, may still count among the 1,024 of a
    /// band: so after thousands of removals that share bands with the document, hand the document
    /// over in a call of its own.
    InsertUnlessSimilar {
        /// The document, with its text.
        document: Document,
        /// The least likeness at which another text is a duplicate.
        likeness: Likeness,
    },
    /// Stores the document, in place of the stored document with its id if there is one. The text
    /// is replaced too: if the new document has no text, none is kept.
    Upsert(Document),
    /// Removes the document with this id.
    Remove(DocId),
    /// Removes the document with this id if it arrived before a time.
    RemoveOlder {
        /// The id of the document.
        id: DocId,
        /// The time. A document that arrived at exactly this time stays.
        than: Timestamp,
    },
}

impl Change {
    /// The id of the document that the change is about.
    pub fn id(&self) -> DocId {
        match self {
            Self::Remove(id) | Self::RemoveOlder { id, .. } => *id,
            Self::Insert(document)
            | Self::Upsert(document)
            | Self::InsertUnique { document, .. }
            | Self::InsertUnlessSimilar { document, .. } => document.id,
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
    /// The id is taken; nothing changed. If the fingerprint stored under the id is that of the
    /// change, the change was a repetition.
    Exists {
        /// The fingerprint stored under the id.
        stored: Fingerprint,
    },
    /// This document lies within the radius: the nearest, then the one with the smallest id.
    /// Nothing changed.
    Duplicate(Match),
    /// The text of this document is like that of the change, more than any other text. Nothing
    /// changed.
    Similar(Similar),
    /// The document is stored in place of another with its id.
    Replaced {
        /// The fingerprint of the replaced document.
        stored: Fingerprint,
    },
    /// The document is removed.
    Removed {
        /// The fingerprint of the removed document.
        stored: Fingerprint,
    },
    /// No document has the id, or for [`Change::RemoveOlder`] none that arrived before the time.
    Missing,
}
