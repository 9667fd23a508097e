//! [`WalOverlay`]: the documents that the journals of a damaged database change.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::copies::Copies;
use crate::document::Document;
use crate::ids::{DocId, Timestamp};
use crate::record::Record;
use crate::store::tables::edit::{DocumentEdit, Refused, StoredDocument, TextEdit};

#[derive(Default)]
pub(super) struct WalOverlay {
    /// By id.
    pub(super) documents: BTreeMap<u64, JournaledDocument>,
    /// The refused documents, the last refusal last.
    pub(super) refused: Vec<Refused>,
    pub(super) latest_arrival: Option<Timestamp>,
}

/// The edits of one document, added up.
pub(super) struct JournaledDocument {
    /// `None` if the document is removed.
    pub(super) state: Option<StoredDocument>,
    pub(super) text: TextEdit,
    /// The copies, if an edit sets them.
    pub(super) copies: Option<Arc<Copies>>,
    /// The text or the record in the tables, if `text` keeps that.
    pub(super) kept_text: Option<Record>,
    /// The key in the tables, if `text` keeps the record.
    pub(super) kept_key: Option<String>,
}

impl WalOverlay {
    /// Adds an edit behind the edits that were added before.
    pub(super) fn add(&mut self, edit: DocumentEdit) {
        self.refused.extend(edit.refused());
        let document = self
            .documents
            .entry(edit.id.0)
            .or_insert(JournaledDocument {
                state: None,
                text: TextEdit::Keep,
                copies: None,
                kept_text: None,
                kept_key: None,
            });
        document.state = edit.after;
        let copies = edit.new_copies().cloned();
        if edit.text != TextEdit::Keep {
            document.text = edit.text;
            document.copies = None;
        }
        document.copies = copies.or(document.copies.take());
    }
}

impl JournaledDocument {
    /// The document; `None` if it is removed.
    pub(super) fn into_document(self, id: DocId) -> Option<Document> {
        let state = self.state?;
        let record = match self.text {
            TextEdit::Put(keyed) => Some(keyed.record().clone()),
            TextEdit::Keep => self.kept_text,
            TextEdit::Remove => None,
        };
        let document = Document {
            reliable: state.reliable,
            arrival: state.arrival,
            ..Document::new(id, state.fingerprint)
        };
        let mut document = document.with_record(record);
        document.key = document.key.or(self.kept_key);
        document.copies = self.copies.map(Arc::unwrap_or_clone).or(document.copies);
        Some(document)
    }
}
