//! What a snapshot holds, as a whole.

use std::path::Path;

use super::View;
use crate::document::{DocId, Document, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::{Counts, DocumentEdit, StoredDocument, TextEdit};
use crate::store::view::source::FingerprintSource;

impl View {
    /// How many documents are stored.
    pub(crate) fn len(&self) -> u64 {
        self.counts.documents
    }

    /// What is counted of all that is stored.
    pub(in crate::store) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn path(&self) -> &Path {
        self.tables.db_path.path()
    }

    /// Whether texts are kept.
    pub(crate) fn keeps_texts(&self) -> bool {
        self.tables.tables.texts.is_some()
    }

    /// Whether arrival times are kept.
    pub(crate) fn keeps_arrivals(&self) -> bool {
        self.tables.tables.times.is_some()
    }

    /// The same, unless it is expired.
    fn document(&self, id: DocId) -> Result<Option<StoredDocument>> {
        let stored = self.stored(id)?;
        Ok(stored.filter(|state| !self.expiry.has_passed(state.arrival)))
    }

    /// A document, with its text where one is kept.
    pub(crate) fn whole_document(&self, id: DocId) -> Result<Option<Document>> {
        let Some(state) = self.document(id)? else {
            return Ok(None);
        };
        Ok(Some(Document {
            text: self.text(id)?,
            ..without_text(id, state)
        }))
    }

    /// The documents with an id of at least `from`, in order and without their texts: some of
    /// them, none at the end.
    pub(crate) fn documents_from(&self, from: DocId) -> Result<Vec<Document>> {
        let mut from = Some(from);
        while let Some(first) = from {
            let mut documents = self.tables.documents_from(first)?;
            let is_end = documents.is_empty();
            // The tail speaks for all ids up to the last of these.
            let last = documents.last().map_or(DocId(u64::MAX), |last| last.id);
            documents.retain(|document| !self.expiry.has_passed(document.arrival));
            if !self.tail.is_empty() {
                documents.retain(|document| !self.tail.touches(document.id));
                documents.extend(self.documents_in_tail(first, last));
                documents.sort_unstable_by_key(|document| document.id);
            }
            if !documents.is_empty() || is_end {
                return Ok(documents);
            }
            from = last.0.checked_add(1).map(DocId);
        }
        Ok(Vec::new())
    }

    /// The documents of which the tail speaks, removed ones too, in order.
    pub(crate) fn touched(&self) -> &[DocId] {
        self.touched.get_or_init(|| self.tail.sorted_ids())
    }

    /// Whether a text of the document is kept.
    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        match self.tail.edit(id).map(|current| current.text) {
            Some(TextEdit::Put(_)) => Ok(true),
            Some(TextEdit::Remove) => Ok(false),
            Some(TextEdit::Keep) | None => self.tables.has_text(id),
        }
    }

    /// Whether a reliable document has exactly this fingerprint.
    pub(crate) fn has_fingerprint(&self, fingerprint: Fingerprint) -> Result<bool> {
        let in_tail = self.tail.within_limit(fingerprint, 0, 1, |_| true);
        if !in_tail.is_empty() {
            return Ok(true);
        }
        let mut from = Some(DocId(0));
        while let Some(first) = from {
            let (documents, may_be_more) = self.tables.documents_with(fingerprint.bits(), first)?;
            if documents.iter().any(|id| self.is_in_tables(*id)) {
                return Ok(true);
            }
            let next = documents.last().and_then(|last| last.0.checked_add(1));
            from = next.filter(|_| may_be_more).map(DocId);
        }
        Ok(false)
    }

    fn documents_in_tail(&self, first: DocId, last: DocId) -> impl Iterator<Item = Document> {
        let touched = self.touched();
        let from = touched.partition_point(|id| *id < first);
        let ids = touched[from..].iter().take_while(move |id| **id <= last);
        ids.filter_map(|id| {
            let state = self.tail.edit(*id)?.state?;
            let is_expired = self.expiry.has_passed(state.arrival);
            (!is_expired).then(|| without_text(*id, state))
        })
    }

    /// Each reliable document of which the tail speaks, in order of their ids, and its fingerprint.
    pub(crate) fn reliable_in_tail(&self) -> impl Iterator<Item = (DocId, Fingerprint)> {
        let documents = self.documents_in_tail(DocId(0), DocId(u64::MAX));
        let reliable = documents.filter(|document| document.reliable);
        reliable.map(|document| (document.id, document.fingerprint))
    }

    /// The documents that arrived before `cutoff`, of those of which the tail speaks.
    pub(crate) fn arrived_before_in_tail(&self, cutoff: Timestamp) -> Vec<DocId> {
        let is_older = |id: &&DocId| {
            let state = self.tail.edit(**id).and_then(|current| current.state);
            let arrival = state.and_then(|state| state.arrival);
            arrival.is_some_and(|arrival| arrival < cutoff)
        };
        self.touched().iter().filter(is_older).copied().collect()
    }

    /// What is to be done to the tables so that they hold everything, in batches in which each
    /// document is edited once.
    pub(crate) fn edits_in_tail(&self) -> Vec<Vec<DocumentEdit>> {
        self.tail.net_edits()
    }

    /// Whether the tables hold everything.
    pub(in crate::store) fn is_merged(&self) -> bool {
        self.tail.is_empty()
    }

    /// Changes that the tables do not hold yet.
    pub(crate) fn changes_in_tail(&self) -> u64 {
        self.tail.len()
    }
}

fn without_text(id: DocId, state: StoredDocument) -> Document {
    Document {
        reliable: state.reliable,
        arrival: state.arrival,
        ..Document::new(id, state.fingerprint)
    }
}
