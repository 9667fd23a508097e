//! Changes of documents: what can be asked for, and what becomes of it.

mod batch;
pub(crate) mod group_commit;
mod prepared;
mod recent;
pub(crate) mod ticket;
mod wordings;

use crate::document::{DocId, Document, Match, Timestamp};
use crate::fingerprint::Fingerprint;
use crate::query::Similar;
use crate::similarity::Likeness;

pub(crate) use batch::Batch;
pub(crate) use prepared::{Prepared, next_prepared, prepared_all};

/// One change of a database.
///
/// Changes are handed over many at once, to [`Database::apply`](crate::Database::apply) or
/// [`Transaction::apply`](crate::Transaction::apply); each sees those before it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Store the document, unless its id is taken.
    Insert(Document),
    /// Store the document, unless its id is taken or a reliable document lies within the radius.
    /// A document that is not reliable itself is stored whatever lies near.
    InsertUnique {
        /// The document.
        document: Document,
        /// The largest Hamming distance at which another document forbids this one.
        radius: u32,
    },
    /// Store the document, unless its id is taken or the text of a document is like its own. It
    /// must have a text, and the database must keep texts.
    ///
    /// Of the documents that are handed over in the same call, at most 256 that share a band are
    /// compared, and 256 in all. Of those that were stored before, the first 1,024 of a band are
    /// compared, and documents that this call removes still count among them: so after thousands
    /// of removals that share its bands, hand the document over in a call of its own.
    InsertUnlessSimilar {
        /// The document, with its text.
        document: Document,
        /// From where on another text forbids this one.
        likeness: Likeness,
    },
    /// Store the document in the place of the one that has its id now, if there is one. Its
    /// text goes with it: without a new one, no text is kept.
    Upsert(Document),
    /// Remove the document with this id.
    Remove(DocId),
    /// Remove the document with this id if it arrived before this moment.
    RemoveOlder {
        /// The document.
        id: DocId,
        /// The moment; what arrived then stays.
        than: Timestamp,
    },
}

impl Change {
    /// The document that it is about.
    pub fn id(&self) -> DocId {
        match self {
            Self::Insert(document) | Self::Upsert(document) => document.id,
            Self::InsertUnique { document, .. } | Self::InsertUnlessSimilar { document, .. } => {
                document.id
            }
            Self::Remove(id) | Self::RemoveOlder { id, .. } => *id,
        }
    }

    /// The document that it brings.
    fn document(&self) -> Option<&Document> {
        match self {
            Self::Insert(document) | Self::Upsert(document) => Some(document),
            Self::InsertUnique { document, .. } | Self::InsertUnlessSimilar { document, .. } => {
                Some(document)
            }
            Self::Remove(_) | Self::RemoveOlder { .. } => None,
        }
    }

    /// The same, to be made what the database can take.
    fn document_mut(&mut self) -> Option<&mut Document> {
        match self {
            Self::Insert(document) | Self::Upsert(document) => Some(document),
            Self::InsertUnique { document, .. } | Self::InsertUnlessSimilar { document, .. } => {
                Some(document)
            }
            Self::Remove(_) | Self::RemoveOlder { .. } => None,
        }
    }

    /// When what it brings arrives.
    fn arrival(&self) -> Option<Timestamp> {
        self.document()?.arrival
    }
}

/// What became of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The document is new, and stored.
    Inserted,
    /// The id is taken; nothing changed. If the fingerprint stored under it is the one given,
    /// the change was a repetition.
    Exists {
        /// The fingerprint stored under the id.
        stored: Fingerprint,
    },
    /// This document lies within the radius, the nearest and then the one with the smallest id;
    /// nothing changed.
    Duplicate(Match),
    /// The text of this document is like that of the one given, more than any other; nothing
    /// changed.
    Similar(Similar),
    /// The document is stored in the place of one that had its id.
    Replaced {
        /// The fingerprint that document had.
        stored: Fingerprint,
    },
    /// The document is removed.
    Removed {
        /// The fingerprint it had.
        stored: Fingerprint,
    },
    /// There was no document to remove, or none that is so old.
    Missing,
}
