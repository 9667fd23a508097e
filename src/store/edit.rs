//! What a change does to one document: what was stored of it, and what shall be.

use std::sync::Arc;

use crate::document::{DocId, Timestamp};
use crate::fingerprint::Fingerprint;

/// What is stored of a document beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
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
    pub(crate) before: Option<State>,
    /// What shall be stored, if the document shall be stored.
    pub(crate) after: Option<State>,
    pub(crate) text: TextEdit,
}

/// What is to become of the stored text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextEdit {
    Keep,
    Put(Arc<str>),
    Remove,
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
