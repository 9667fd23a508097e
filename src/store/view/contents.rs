//! The content of a snapshot as a whole: its documents, counts and unflushed changes.

use std::path::Path;

use super::View;
use crate::document::{DocId, Document, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::tables::edit::{Counts, DocumentEdit, StoredDocument, TextEdit};
use crate::store::view::pages::{Page, paged};
use crate::store::view::source::FingerprintSource;

impl View {
    /// The number of stored documents.
    pub(crate) fn len(&self) -> u64 {
        self.counts.documents
    }

    /// The counts of all that is stored.
    pub(in crate::store) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn path(&self) -> &Path {
        self.tables.db_path.path()
    }

    /// Returns `true` if the database keeps texts.
    pub(crate) fn keeps_texts(&self) -> bool {
        self.tables.texts.is_some()
    }

    /// Returns `true` if the database keeps arrival times.
    pub(crate) fn keeps_arrivals(&self) -> bool {
        self.tables.times.is_some()
    }

    /// A document with its text; `None` if it is not stored, or expired.
    pub(crate) fn document(&self, id: DocId) -> Result<Option<Document>> {
        let state = self.stored(id)?;
        let Some(state) = state.filter(|state| !self.expiry.has_passed(state.arrival)) else {
            return Ok(None);
        };
        Ok(Some(Document {
            text: self.text(id)?,
            ..without_text(id, state)
        }))
    }

    /// All documents in order of their ids, without their texts.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Result<Document>> {
        paged(DocId(0), |from| self.documents_page(from))
    }

    /// The documents with an id of at least `from`, in order and without their texts: some of them,
    /// at least one unless there is none.
    pub(crate) fn documents_page(&self, from: DocId) -> Result<Page<Document>> {
        let mut from = from;
        loop {
            let mut page = self.tables.stored_documents_page(from)?;
            let documents = &mut page.items;
            // The memtables' documents up to the last one of the page belong to this page, and
            // after the last page all that are left.
            let last = documents.last().map_or(DocId(u64::MAX), |last| last.id);
            documents.retain(|document| !self.expiry.has_passed(document.arrival));
            if !self.memtables.is_empty() {
                documents.retain(|document| self.is_in_tables(document.id));
                documents.extend(self.documents_in_memtables(from, last));
                documents.sort_unstable_by_key(|document| document.id);
            }
            match page.next {
                Some(next) if page.items.is_empty() => from = next,
                _ => return Ok(page),
            }
        }
    }

    /// The ids in the memtables, in order, those of removed documents among them.
    pub(crate) fn ids_in_memtables(&self) -> &[DocId] {
        self.ids_in_memtables
            .get_or_init(|| self.memtables.sorted_ids())
    }

    /// Returns `true` if a text of the document is stored.
    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        match self.memtables.edit(id).map(|current| current.text) {
            Some(TextEdit::Put(_)) => Ok(true),
            Some(TextEdit::Remove) => Ok(false),
            Some(TextEdit::Keep) | None => self.tables.has_text(id),
        }
    }

    /// Returns `true` if a reliable document has exactly this fingerprint, even if it is expired.
    pub(crate) fn has_fingerprint(&self, fingerprint: Fingerprint) -> Result<bool> {
        let in_memtables = self.memtables.within_limit(fingerprint, 0, 1, |_| true);
        if !in_memtables.is_empty() {
            return Ok(true);
        }
        for id in self.tables.documents_with(fingerprint.bits()) {
            if self.is_in_tables(id?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn documents_in_memtables(&self, first: DocId, last: DocId) -> impl Iterator<Item = Document> {
        let ids = self.ids_in_memtables();
        ids[ids.partition_point(|id| *id < first)..]
            .iter()
            .take_while(move |id| **id <= last)
            .filter_map(|id| {
                let state = self.memtables.edit(*id)?.state?;
                let is_expired = self.expiry.has_passed(state.arrival);
                (!is_expired).then(|| without_text(*id, state))
            })
    }

    /// Each reliable document in the memtables, in order of their ids, and its fingerprint.
    pub(crate) fn reliable_in_memtables(&self) -> impl Iterator<Item = (DocId, Fingerprint)> {
        self.documents_in_memtables(DocId(0), DocId(u64::MAX))
            .filter(|document| document.reliable)
            .map(|document| (document.id, document.fingerprint))
    }

    /// The documents in the memtables that arrived before `cutoff`.
    pub(crate) fn arrived_before_in_memtables(&self, cutoff: Timestamp) -> Vec<DocId> {
        let is_older = |id: &&DocId| {
            let state = self.memtables.edit(**id).and_then(|current| current.state);
            let arrival = state.and_then(|state| state.arrival);
            arrival.is_some_and(|arrival| arrival < cutoff)
        };
        let ids = self.ids_in_memtables();
        ids.iter().filter(is_older).copied().collect()
    }

    /// The edits that the tables lack, one batch for each memtable, oldest first; each batch edits a
    /// document at most once.
    pub(crate) fn unflushed_edits(&self) -> Vec<Vec<DocumentEdit>> {
        self.memtables.net_edits()
    }

    /// Returns `true` if the tables hold everything.
    pub(in crate::store) fn is_flushed(&self) -> bool {
        self.memtables.is_empty()
    }

    /// The number of changes that the tables lack.
    pub(crate) fn unflushed_changes(&self) -> u64 {
        self.memtables.len()
    }
}

fn without_text(id: DocId, state: StoredDocument) -> Document {
    Document {
        reliable: state.reliable,
        arrival: state.arrival,
        ..Document::new(id, state.fingerprint)
    }
}
