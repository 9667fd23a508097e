//! [`Change`] and [`Outcome`]: a change of a document, and its result.

use std::fmt;

use crate::document::{Document, Match};
use crate::error::Result;
use crate::hamming::check_radius;
use crate::ids::{DocId, DocRef, Fingerprint, Timestamp};
use crate::measure::decision::SimilarRule;
use crate::query::Similar;

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
    ///
    /// An unreliable document matches no document by its fingerprint. In a database with a forest
    /// ([`Builder::similar`](crate::Builder::similar)), an unreliable document with a text is not
    /// stored if a stored text has the same normalised letters and digits: see
    /// [`Resemblance::same_wording`](crate::similarity::Resemblance::same_wording).
    InsertUnique {
        /// The document.
        document: Document,
        /// The largest Hamming distance at which another document is a duplicate.
        radius: u32,
    },
    /// Stores the document unless its id is taken or a stored text covers its text: see
    /// [`SimilarRule`]. The document must have a text, and the database must keep texts.
    ///
    /// A stored text that the new text covers is no reason to refuse the new text, which has more.
    /// The outcome names such documents ([`Outcome::Extends`]), or the change removes them
    /// ([`OnExtended::Replace`](crate::OnExtended::Replace), [`Outcome::Supersedes`]).
    ///
    /// Unless a copy of its text is stored, the document is compared with all candidates of
    /// [`Snapshot::similar`](crate::Snapshot::similar), so an insert into a collection of many
    /// texts of one template takes longer.
    InsertUnlessSimilar {
        /// The document, with its text.
        document: Document,
        /// The rule by which another text is a duplicate.
        rule: SimilarRule,
    },
    /// Stores the document, and replaces a stored document with its id. The text is replaced too:
    /// if the new document has no text, the stored text is removed.
    Upsert(Document),
    /// Removes the document with this id.
    Remove(DocId),
    /// Removes the document with this key.
    RemoveKey(String),
    /// Removes the document with this id if it arrived before a time.
    RemoveOlder {
        /// The id of the document.
        id: DocId,
        /// The time, exclusive: a document that arrived at exactly this time stays.
        than: Timestamp,
    },
}

impl Change {
    /// The removal of a document.
    pub fn remove(document: impl Into<DocRef>) -> Self {
        match document.into() {
            DocRef::Id(id) => Self::Remove(id),
            DocRef::Key(key) => Self::RemoveKey(key),
        }
    }

    /// The key of the document to be changed, or else the id.
    pub fn doc_ref(&self) -> DocRef {
        match self {
            Self::Remove(id) | Self::RemoveOlder { id, .. } => DocRef::Id(*id),
            Self::RemoveKey(key) => DocRef::Key(key.clone()),
            Self::Insert(document)
            | Self::Upsert(document)
            | Self::InsertUnique { document, .. }
            | Self::InsertUnlessSimilar { document, .. } => document.doc_ref(),
        }
    }

    /// Refuses a radius above 64, and thresholds that are not from 0 to 1.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::InsertUnique { radius, .. } => check_radius(*radius),
            Self::InsertUnlessSimilar { rule, .. } => rule.likeness.check(),
            _ => Ok(()),
        }
    }

    /// Returns `true` if the change is decided by a search for duplicates.
    pub(super) fn searches(&self) -> bool {
        matches!(
            self,
            Self::InsertUnique { .. } | Self::InsertUnlessSimilar { .. }
        )
    }

    /// The document to be stored; `None` for a removal.
    pub(super) fn document(&self) -> Option<&Document> {
        match self {
            Self::Insert(document)
            | Self::Upsert(document)
            | Self::InsertUnique { document, .. }
            | Self::InsertUnlessSimilar { document, .. } => Some(document),
            Self::Remove(_) | Self::RemoveKey(_) | Self::RemoveOlder { .. } => None,
        }
    }

    /// [`document`](Self::document), to be completed.
    pub(super) fn document_mut(&mut self) -> Option<&mut Document> {
        match self {
            Self::Insert(document)
            | Self::Upsert(document)
            | Self::InsertUnique { document, .. }
            | Self::InsertUnlessSimilar { document, .. } => Some(document),
            Self::Remove(_) | Self::RemoveKey(_) | Self::RemoveOlder { .. } => None,
        }
    }
}

/// The result of a [`Change`]. `Display` writes a short sentence without the id of the change.
///
/// A document whose id is taken is [`Exists`](Self::Exists), even if the document is also expired
/// or a duplicate. An expired document is [`Expired`](Self::Expired), even if it is also a
/// duplicate.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[must_use = "a document may not have been stored"]
#[non_exhaustive]
pub enum Outcome {
    /// The document is new and stored.
    Inserted {
        /// [`Document::reliable`]: if `false`, no query by fingerprint finds the document.
        reliable: bool,
    },
    /// The id is taken; nothing changed, unless [`Document::on_exists`] replaces the document. If
    /// `stored` is the fingerprint of the change, the change was a repetition.
    Exists {
        /// The fingerprint stored under the id.
        stored: Fingerprint,
    },
    /// The document was not stored: a match lies within the radius. The nearest match, ties by
    /// smallest id.
    Duplicate(Match),
    /// The document was not stored: a stored text covers its text or, with
    /// [`Decision::Alike`](crate::Decision::Alike), is like its text. The first such document in
    /// the order of [`Similar`]. From [`Change::InsertUnlessSimilar`], and from
    /// [`Change::InsertUnique`] of an unreliable document whose wording is stored.
    Similar(Similar),
    /// The document is new and stored, and covers stored texts, which stay. The first such document
    /// in the order of [`Similar`]. From [`Change::InsertUnlessSimilar`] with
    /// [`OnExtended::KeepBoth`](crate::OnExtended::KeepBoth).
    Extends(Similar),
    /// The document is new and stored, and covers these documents, which were removed. From
    /// [`Change::InsertUnlessSimilar`] with [`OnExtended::Replace`](crate::OnExtended::Replace).
    Supersedes(Vec<Similar>),
    /// The document was not stored: its key or id is known as the key or id of a copy that was
    /// refused before, in a database with [copies](crate::Builder::copies). Nothing changed, and
    /// the copy is not counted again. From [`Change::InsertUnique`] and
    /// [`Change::InsertUnlessSimilar`].
    Seen,
    /// The document was not stored: it arrived before the retention window. An upsert leaves the
    /// stored document as it is.
    Expired {
        /// The time before which documents are expired.
        cutoff: Timestamp,
    },
    /// The document replaced a stored document with its id: an upsert, or an insert by
    /// [`Document::on_exists`].
    Replaced {
        /// The fingerprint of the replaced document.
        stored: Fingerprint,
    },
    /// The document was removed.
    Removed {
        /// The fingerprint of the removed document.
        stored: Fingerprint,
    },
    /// No document has the id, or for [`Change::RemoveOlder`] the document did not arrive before
    /// the time. An expired document counts as missing.
    Missing,
}

impl Outcome {
    /// Returns `true` if the document is new and stored.
    pub fn is_inserted(&self) -> bool {
        matches!(
            self,
            Self::Inserted { .. } | Self::Extends(_) | Self::Supersedes(_)
        )
    }

    /// The stored document that decided: a match, or a document with a similar text, which stays.
    pub fn decided_by(&self) -> Option<DocId> {
        match self {
            Self::Duplicate(found) => Some(found.id),
            Self::Similar(found) | Self::Extends(found) => Some(found.id),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inserted { reliable: true } => f.write_str("inserted"),
            Self::Inserted { reliable: false } => f.write_str("inserted, fingerprint unreliable"),
            Self::Exists { stored } => {
                write!(f, "id taken by a document with fingerprint {stored}")
            }
            Self::Duplicate(Match { id, distance, .. }) => {
                write!(f, "duplicate of document {id} at distance {distance}")
            }
            Self::Similar(Similar { id, .. }) => write!(f, "text similar to document {id}"),
            Self::Extends(Similar { id, .. }) => write!(f, "inserted, extends document {id}"),
            Self::Supersedes(removed) => {
                f.write_str("inserted, removed extended documents")?;
                let mut ids = removed.iter().map(|removed| removed.id);
                ids.try_for_each(|id| write!(f, " {id}"))
            }
            Self::Seen => f.write_str("refused before as a copy"),
            Self::Expired { cutoff } => write!(f, "expired, arrived before {cutoff}"),
            Self::Replaced { stored } => write!(f, "replaced fingerprint {stored}"),
            Self::Removed { stored } => write!(f, "removed, fingerprint {stored}"),
            Self::Missing => f.write_str("no such document"),
        }
    }
}

/// The outcome of a call with one change.
pub(crate) fn one(mut outcomes: Vec<Outcome>) -> Outcome {
    match (outcomes.pop(), outcomes.len()) {
        (Some(outcome), 0) => outcome,
        (_, others) => unreachable!("one change has {others} more outcomes"),
    }
}
