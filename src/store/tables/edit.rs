//! The stored state of a document, and the edit of one document: the states before and after.

use std::sync::{Arc, OnceLock};

use crate::analysis::Sketch;
use crate::ids::Timestamp;
use crate::ids::{DocId, Fingerprint};
use crate::measure::{PackedWording, Wording};
use crate::store::tables::text_keys::KeyMaker;
use crate::text::Normaliser;

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
}

/// The change of the stored text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextEdit {
    Keep,
    Put(Arc<KeyedText>),
    Remove,
}

/// A text to be stored, with its text keys.
#[derive(Debug)]
pub(crate) struct KeyedText {
    pub(crate) text: Box<str>,
    /// Ascending and distinct; empty in a database that keeps no text keys.
    keys: Box<[u64]>,
    /// Made with the keys, or by the first use.
    sketch: OnceLock<Option<Sketch>>,
    /// The packed wording, made by a query for the text or by the first comparison.
    packed: OnceLock<Option<Box<[u8]>>>,
}

impl PartialEq for KeyedText {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.keys == other.keys
    }
}

impl Eq for KeyedText {}

impl KeyedText {
    /// Sorts the keys and removes duplicates.
    pub(crate) fn new(text: impl Into<Box<str>>, keys: Vec<u64>) -> Arc<Self> {
        Self::with_cells(text, keys, OnceLock::new(), OnceLock::new())
    }

    /// A text with its keys and its sketch.
    pub(crate) fn with_keys(text: String, maker: &KeyMaker) -> Arc<Self> {
        let (keys, sketch) = maker.keys_and_sketch(&text);
        Self::with_cells(text, keys, sketch.into(), OnceLock::new())
    }

    /// A text with its keys, its sketch and its packed wording, made by a query for the text.
    pub(crate) fn with_parts(
        text: String,
        (keys, sketch): (Vec<u64>, Option<Sketch>),
        packed: Option<Vec<u8>>,
    ) -> Arc<Self> {
        let packed = packed.map(Vec::into_boxed_slice);
        Self::with_cells(text, keys, sketch.into(), packed.into())
    }

    fn with_cells(
        text: impl Into<Box<str>>,
        mut keys: Vec<u64>,
        sketch: OnceLock<Option<Sketch>>,
        packed: OnceLock<Option<Box<[u8]>>>,
    ) -> Arc<Self> {
        keys.sort_unstable();
        keys.dedup();
        Arc::new(Self {
            text: text.into(),
            keys: keys.into(),
            sketch,
            packed,
        })
    }

    /// The sketch of the text; `None` in a database that keeps no text keys, and for a text with
    /// too little content.
    pub(crate) fn sketch(&self) -> Option<Sketch> {
        let has_minima = self.keys.len() > 1;
        let make = || KeyMaker::shared().keys_and_sketch(&self.text).1;
        has_minima.then(|| *self.sketch.get_or_init(make)).flatten()
    }

    /// The packed wording; `None` for a text that is compared as a whole.
    pub(crate) fn packed(&self, normaliser: &Normaliser) -> Option<PackedWording<'_>> {
        let pack = || {
            Wording::new(normaliser, &self.text)
                .pack()
                .map(Vec::into_boxed_slice)
        };
        PackedWording::new(self.packed.get_or_init(pack).as_deref()?)
    }

    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub(crate) fn has_key(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }
}

impl TextEdit {
    /// Bytes of the new text; 0 without a new text.
    pub(crate) fn len_bytes(&self) -> usize {
        match self {
            Self::Put(keyed) => keyed.text.len(),
            Self::Keep | Self::Remove => 0,
        }
    }

    /// Bytes of the packed wording of the new text; 0 before it is made.
    pub(crate) fn packed_bytes(&self) -> usize {
        match self {
            Self::Put(keyed) => keyed
                .packed
                .get()
                .into_iter()
                .flatten()
                .map(|packed| packed.len())
                .sum(),
            Self::Keep | Self::Remove => 0,
        }
    }

    /// The sketch of the new text; `None` without one.
    pub(crate) fn sketch(&self) -> Option<Sketch> {
        match self {
            Self::Put(keyed) => keyed.sketch(),
            Self::Keep | Self::Remove => None,
        }
    }

    /// The keys of the new text; empty without a new text.
    pub(crate) fn keys(&self) -> &[u64] {
        match self {
            Self::Put(keyed) => keyed.keys(),
            Self::Keep | Self::Remove => &[],
        }
    }
}

impl DocumentEdit {
    /// Returns `false` if the edit leaves the document as it is.
    pub(crate) fn changes_something(&self) -> bool {
        self.before != self.after || self.text != TextEdit::Keep
    }
}

/// Totals of a database that the journal records with each commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) documents: u64,
    pub(crate) latest_arrival: Option<Timestamp>,
}

impl Counts {
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
