//! The stored state of a document, and the edit of one document: the states before and after.

use std::sync::Arc;

use crate::analysis::{Analysed, Sketch};
use crate::copies::Copies;
use crate::ids::Timestamp;
use crate::ids::{DocId, Fingerprint};
use crate::record::{Record, key_hash};

/// The stored state of a document, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredDocument {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) reliable: bool,
    /// `None` in a database that keeps no arrival times.
    pub(crate) arrival: Option<Timestamp>,
}

/// The change of one document by one batch, with all changes of the batch combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentEdit {
    pub(crate) id: DocId,
    /// The stored state before the change, or `None` if the document was not stored.
    pub(crate) before: Option<StoredDocument>,
    /// The state after the change, or `None` if the document is removed.
    pub(crate) after: Option<StoredDocument>,
    pub(crate) text: TextEdit,
    /// `None` unless the batch refused copies of the document, or put it with its copies.
    pub(crate) copies: Option<Box<CopiesEdit>>,
}

/// The change of the copies of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CopiesEdit {
    /// The copies after the change. With `None`, a kept text keeps its copies, and a new record has
    /// its own.
    pub(crate) state: Option<Arc<Copies>>,
    /// The documents that were refused.
    pub(crate) refused: Vec<Refused>,
}

/// An entry of table `refused`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The [hash](crate::copies::refused_hash) of the refused key or id.
    pub(crate) hash: u64,
    /// In a database with a window, the time of the refused document in ms. In other databases, the
    /// id of the document that it repeats.
    pub(crate) value: u64,
}

impl CopiesEdit {
    /// `None` for an edit that changes nothing.
    pub(crate) fn new(state: Option<Arc<Copies>>, refused: Vec<Refused>) -> Option<Box<Self>> {
        let is_empty = state.is_none() && refused.is_empty();
        (!is_empty).then(|| Box::new(Self { state, refused }))
    }

    /// Bytes in memory.
    fn len_bytes(&self) -> usize {
        let state = self.state.as_ref().map_or(0, |copies| copies.len_bytes());
        size_of::<Self>() + size_of_val(self.refused.as_slice()) + state
    }
}

/// The change of the stored text of a document; in a database with keys, fields or copies, of its
/// record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextEdit {
    Keep,
    /// The new text with its [keys](Analysed::text_keys), which are empty in a database that
    /// keeps no text keys.
    Put(Arc<Analysed>),
    Remove,
}

impl TextEdit {
    /// A new text of a database that keeps no text keys, or whose keys are not made yet.
    pub(crate) fn put_without_keys(text: impl Into<Record>) -> Self {
        Self::Put(Arc::new(Analysed::with_keys(text, Vec::new())))
    }

    /// The new text.
    pub(crate) fn text(&self) -> Option<&Analysed> {
        match self {
            Self::Put(text) => Some(text),
            Self::Keep | Self::Remove => None,
        }
    }

    /// The new record; `None` without a new text.
    pub(crate) fn record(&self) -> Option<&Record> {
        Some(self.text()?.record())
    }

    /// The hash of the key of the new record; `None` without a key.
    pub(crate) fn key_hash(&self) -> Option<u64> {
        Some(key_hash(self.record()?.key()?))
    }

    /// Bytes of the new record; 0 without a new text.
    pub(crate) fn len_bytes(&self) -> usize {
        self.record().map_or(0, |record| record.content().len())
    }

    /// Bytes of the packed wording of the new text; 0 before it is made.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.text().map_or(0, |text| text.packed_bytes().len())
    }

    /// The sketch of the new text; `None` without one.
    pub(crate) fn sketch(&self) -> Option<Sketch> {
        self.text()?.sketch()
    }

    /// The keys of the new text; empty without a new text.
    pub(crate) fn keys(&self) -> &[u64] {
        self.text().map_or(&[], Analysed::text_keys)
    }
}

impl DocumentEdit {
    /// Returns `false` if the edit leaves the document as it is.
    pub(crate) fn changes_something(&self) -> bool {
        self.before != self.after || self.text != TextEdit::Keep || self.copies.is_some()
    }

    /// The copies after the edit, if the edit sets them.
    pub(crate) fn new_copies(&self) -> Option<&Arc<Copies>> {
        self.copies.as_ref()?.state.as_ref()
    }

    /// The documents that were refused as copies of the document.
    pub(crate) fn refused(&self) -> &[Refused] {
        self.copies.as_ref().map_or(&[], |copies| &copies.refused)
    }

    /// Bytes in memory of the copies.
    pub(crate) fn copies_bytes(&self) -> usize {
        self.copies.as_ref().map_or(0, |copies| copies.len_bytes())
    }
}

/// Totals of a database that the journal records with each commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) documents: u64,
    pub(crate) latest_arrival: Option<Timestamp>,
}

impl Totals {
    /// The totals after `edits`; `latest` is the latest arrival of the batch.
    pub(crate) fn after(mut self, edits: &[DocumentEdit], latest: Option<Timestamp>) -> Self {
        for edit in edits {
            let after = u64::from(edit.after.is_some());
            let before = u64::from(edit.before.is_some());
            // Saturating: the count of a damaged file may be any number.
            let documents = self.documents.saturating_add(after);
            self.documents = documents.saturating_sub(before);
        }
        self.latest_arrival = self.latest_arrival.max(latest);
        self
    }
}
