//! What a change does to one document: what was stored of it, and what shall be.

use std::sync::Arc;

use crate::document::{DocId, Timestamp};
use crate::fingerprint::Fingerprint;

/// What is stored of a document beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredDocument {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) reliable: bool,
    /// Nothing in a database that keeps no arrival times.
    pub(crate) arrival: Option<Timestamp>,
}

/// The net change of one document in one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentEdit {
    pub(crate) id: DocId,
    /// What is stored, if the document is stored.
    pub(crate) before: Option<StoredDocument>,
    /// What shall be stored, if the document shall be stored.
    pub(crate) after: Option<StoredDocument>,
    pub(crate) text: TextEdit,
}

/// What is to become of the stored text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextEdit {
    Keep,
    Put(Arc<BandedText>),
    Remove,
}

/// A text that is to be stored, and the band keys under which it is to be found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BandedText {
    pub(crate) text: Box<str>,
    /// Ascending, each once; none in a database that keeps no bands.
    keys: Box<[u64]>,
}

impl BandedText {
    /// A text with its keys, in any order and perhaps repeated.
    pub(crate) fn new(text: impl Into<Box<str>>, mut keys: Vec<u64>) -> Arc<Self> {
        keys.sort_unstable();
        keys.dedup();
        Arc::new(Self {
            text: text.into(),
            keys: keys.into(),
        })
    }

    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub(crate) fn has_key(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }
}

impl TextEdit {
    /// Bytes of the text it brings.
    pub(crate) fn len_bytes(&self) -> usize {
        match self {
            Self::Put(banded) => banded.text.len(),
            Self::Keep | Self::Remove => 0,
        }
    }

    /// The keys of the text it brings.
    pub(crate) fn keys(&self) -> &[u64] {
        match self {
            Self::Put(banded) => banded.keys(),
            Self::Keep | Self::Remove => &[],
        }
    }
}

impl DocumentEdit {
    /// Whether it changes anything.
    pub(crate) fn changes_something(&self) -> bool {
        self.before != self.after || self.text != TextEdit::Keep
    }
}

/// Totals of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) documents: u64,
    pub(crate) latest_arrival: Option<Timestamp>,
}

impl Counts {
    /// What they are after these edits, the latest arrival among which is `latest`.
    pub(crate) fn after(mut self, edits: &[DocumentEdit], latest: Option<Timestamp>) -> Self {
        for edit in edits {
            let after = u64::from(edit.after.is_some());
            let before = u64::from(edit.before.is_some());
            // What a damaged file says of itself may be any number.
            let documents = self.documents.saturating_add(after);
            self.documents = documents.saturating_sub(before);
        }
        self.latest_arrival = self.latest_arrival.max(latest);
        self
    }
}
