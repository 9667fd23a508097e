//! [`WalOverlay`]: the documents that the journals of a damaged database change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::copies::Copies;
use crate::document::Document;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::record::Record;
use crate::store::tables::edit::{DocumentEdit, Refused, StoredDocument, TextEdit};

#[derive(Default)]
pub(super) struct WalOverlay {
    /// By id.
    pub(super) documents: BTreeMap<u64, JournaledDocument>,
    /// The id of the last document with each key. A lost commit may have removed an earlier one.
    pub(super) holders: HashMap<String, u64>,
    /// The refused documents, the last refusal last.
    pub(super) refused: Vec<Refused>,
    pub(super) latest_arrival: Option<Timestamp>,
}

/// The edits of one document, added up.
pub(super) struct JournaledDocument {
    /// `None` if the document is removed.
    pub(super) state: Option<StoredDocument>,
    pub(super) text: TextEdit,
    /// `true` if a lost commit has changed the text.
    has_lost_text: bool,
    /// The fingerprint before the edits, if a lost commit comes before them, until the tables show
    /// that it is their fingerprint: then the text in the tables is the text of the document.
    before: Option<Fingerprint>,
    /// The copies, if an edit sets them.
    pub(super) copies: Option<Arc<Copies>>,
    /// The text or the record in the tables, if `text` keeps that.
    kept_text: Option<Record>,
    /// The key in the tables, if `text` keeps the record.
    kept_key: Option<String>,
}

impl WalOverlay {
    /// Adds an edit behind the edits that were added before. `has_lost_commits` if a commit before
    /// it cannot be read.
    pub(super) fn add(&mut self, edit: DocumentEdit, has_lost_commits: bool) {
        self.refused.extend(edit.refused());
        let fingerprint = |state: Option<StoredDocument>| state.map(|state| state.fingerprint);
        let document = self
            .documents
            .entry(edit.id.0)
            .or_insert(JournaledDocument {
                state: edit.before,
                text: TextEdit::Keep,
                has_lost_text: false,
                before: fingerprint(edit.before).filter(|_| has_lost_commits),
                copies: None,
                kept_text: None,
                kept_key: None,
            });
        let copies = edit.new_copies().cloned();
        if edit.text != TextEdit::Keep {
            document.text = edit.text;
            document.has_lost_text = false;
            document.copies = None;
        } else if has_lost_commits && fingerprint(document.state) != fingerprint(edit.before) {
            document.lose_text();
        }
        document.state = edit.after;
        if let Some(key) = document.text.record().and_then(Record::key) {
            self.holders.insert(key.to_owned(), edit.id.0);
        }
        document.copies = copies.or(document.copies.take());
    }
}

impl JournaledDocument {
    /// Drops a text that a lost commit has replaced.
    fn lose_text(&mut self) {
        if let Some(key) = self.text.record().and_then(Record::key) {
            self.kept_key = Some(key.to_owned());
        }
        self.text = TextEdit::Remove;
        self.has_lost_text = true;
    }

    /// Takes the fingerprint, the record and the key that the tables have, if the edits keep the
    /// text. A journal does not repeat a text that an edit leaves as it was.
    pub(super) fn keep(
        &mut self,
        own: Option<Fingerprint>,
        record: Option<Record>,
        key: Option<String>,
    ) {
        if self.before.is_some() && self.before.take() != own {
            self.lose_text();
        }
        (self.kept_text, self.kept_key) = (record, key);
    }

    /// Returns `true` if the text is lost with a commit.
    pub(super) fn has_lost_text(&self) -> bool {
        self.has_lost_text || self.text == TextEdit::Keep && self.before.is_some()
    }

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
