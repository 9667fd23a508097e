//! The documents of a view by id, its totals and its unflushed changes.

use std::path::Path;
use std::sync::Arc;

use super::View;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::store::portions::{Portion, in_portions};
use crate::store::tables::edit::{DocumentEdit, StoredDocument, TextEdit, Totals};
use crate::store::tables::packed::VisitFlow;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{FINGERPRINTS, TIMES, UNRELIABLE};
use crate::store::view::access::SnapshotTables;

impl View {
    /// The number of documents, including expired ones that are not removed yet.
    pub(crate) fn stored_len(&self) -> u64 {
        self.counts.documents
    }

    pub(crate) fn counts(&self) -> Totals {
        self.counts
    }

    pub(crate) fn path(&self) -> &Path {
        self.tables.db_path.path()
    }

    pub(crate) fn keeps_texts(&self) -> bool {
        self.tables.keeps.texts
    }

    /// [`Error::KeepsNoTexts`] if the database keeps no texts.
    pub(crate) fn refuse_without_texts(&self) -> Result<()> {
        if self.keeps_texts() {
            return Ok(());
        }
        let path = self.path().to_path_buf();
        Err(Error::KeepsNoTexts { path })
    }

    pub(crate) fn keeps_arrivals(&self) -> bool {
        self.tables.kept(TIMES).is_some()
    }

    /// A document with its text; `None` if the document is not stored or is expired.
    pub(crate) fn document(&self, id: DocId) -> Result<Option<Document>> {
        let state = self.stored(id)?;
        let Some(state) = state.filter(|state| !self.expiry.is_expired(state.arrival)) else {
            return Ok(None);
        };
        self.with_record(without_text(id, state)).map(Some)
    }

    /// A document with its text, its key, its fields and its copies.
    pub(crate) fn with_record(&self, document: Document) -> Result<Document> {
        let (record, key) = (self.record(document.id)?, self.key(document.id)?);
        let mut document = document.with_record(record);
        if let Some(copies) = self.edited_copies(document.id) {
            document.copies = copies.map(Arc::unwrap_or_clone);
        }
        self.set_scope(&mut document);
        Ok(Document { key, ..document })
    }

    /// Returns `true` if the document is stored and not expired.
    pub(crate) fn contains(&self, id: DocId) -> Result<bool> {
        let state = self.stored(id)?;
        Ok(state.is_some_and(|state| !self.expiry.is_expired(state.arrival)))
    }

    /// The documents from id `first` on, by id and without their texts.
    pub(crate) fn documents_from(&self, first: DocId) -> impl Iterator<Item = Result<Document>> {
        in_portions(first, |from| self.documents_portion(from))
    }

    /// Some of the documents from id `from` on, by id and without their texts; empty only after the
    /// last document.
    pub(crate) fn documents_portion(&self, from: DocId) -> Result<Portion<Document>> {
        let mut from = from;
        loop {
            let mut portion = self.tables.stored_documents_portion(from)?;
            let documents = &mut portion.items;
            // A portion of the tables ends at its last document, and takes the documents of the
            // memtables up to that id. An empty portion is the last one and takes all remaining.
            let last = documents.last().map_or(DocId(u64::MAX), |last| last.id);
            documents.retain(|document| !self.expiry.is_expired(document.arrival));
            if !self.memtables.is_empty() {
                documents.retain(|document| self.is_in_tables(document.id));
                documents.extend(self.documents_in_memtables(from, last));
                documents.sort_unstable_by_key(|document| document.id);
            }
            for document in &mut *documents {
                self.set_scope(document);
            }
            match portion.next {
                // All documents of this portion were removed or have expired.
                Some(next) if portion.items.is_empty() => from = next,
                _ => return Ok(portion),
            }
        }
    }

    /// The ids of the documents that the memtables have edited or removed, ascending.
    pub(crate) fn ids_in_memtables(&self) -> &[DocId] {
        self.ids_in_memtables
            .get_or_init(|| self.memtables.sorted_ids())
    }

    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        match self.memtables.latest(id).map(|latest| latest.text) {
            Some(TextEdit::Put(text)) => Ok(text.record().has_text()),
            Some(TextEdit::Remove) => Ok(false),
            Some(TextEdit::Keep) | None => self.tables.has_text(id),
        }
    }

    /// Returns `true` if a reliable document has exactly this fingerprint, even if it is expired.
    pub(crate) fn has_fingerprint(&self, fingerprint: Fingerprint) -> Result<bool> {
        let in_memtables =
            (self.memtables).within_limit(fingerprint, 0, &IdRanges::ALL, 1, |_| true);
        if !in_memtables.is_empty() {
            return Ok(true);
        }
        // Ends at the first document, unless many with this fingerprint were removed in the
        // memtables.
        for id in self
            .tables
            .documents_with(fingerprint.bits(), &IdRanges::ALL)
        {
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
                let state = self.memtables.latest(*id)?.state?;
                let is_expired = self.expiry.is_expired(state.arrival);
                (!is_expired).then(|| without_text(*id, state))
            })
    }

    /// The reliable documents in the memtables, by id, with their fingerprints.
    pub(crate) fn reliable_in_memtables(&self) -> impl Iterator<Item = (DocId, Fingerprint)> {
        self.documents_in_memtables(DocId(0), DocId(u64::MAX))
            .filter(|document| document.reliable)
            .map(|document| (document.id, document.fingerprint))
    }

    /// The unreliable documents with their fingerprints.
    pub(crate) fn unreliable(&self) -> Result<Vec<(Fingerprint, DocId)>> {
        let in_memtables = self.documents_in_memtables(DocId(0), DocId(u64::MAX));
        let mut unreliable: Vec<(Fingerprint, DocId)> = in_memtables
            .filter(|document| !document.reliable)
            .map(|document| (document.fingerprint, document.id))
            .collect();
        let mut ids = Vec::new();
        self.tables
            .table(UNRELIABLE)
            .visit_entries(0, u64::MAX, |id| {
                ids.push(DocId(id));
                true
            })?;
        for id in ids.into_iter().filter(|id| self.is_in_tables(*id)) {
            let state = self.stored(id)?;
            let current = state.filter(|state| !self.expiry.is_expired(state.arrival));
            unreliable.extend(current.map(|state| (state.fingerprint, id)));
        }
        Ok(unreliable)
    }

    pub(crate) fn arrived_before_in_memtables(&self, cutoff: Timestamp) -> Vec<DocId> {
        let is_older = |id: &&DocId| {
            let state = self.memtables.latest(**id).and_then(|latest| latest.state);
            let arrival = state.and_then(|state| state.arrival);
            arrival.is_some_and(|arrival| arrival < cutoff)
        };
        let ids = self.ids_in_memtables();
        ids.iter().filter(is_older).copied().collect()
    }

    /// The edits that the tables lack: one batch for each memtable, oldest first, with one edit for
    /// each document.
    pub(crate) fn unflushed_edits(&self) -> Vec<Vec<DocumentEdit>> {
        self.memtables.coalesced_edits()
    }

    /// Returns `true` if the tables hold every commit.
    pub(in crate::store) fn is_flushed(&self) -> bool {
        self.memtables.is_empty()
    }

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

impl SnapshotTables {
    /// The documents from id `from` on in the first chunk that has one, by id and without their
    /// texts.
    fn stored_documents_portion(&self, from: DocId) -> Result<Portion<Document>> {
        let (from, to) = (pair(from.0, 0), u128::MAX);
        let mut documents: Vec<Document> = Vec::new();
        self.table(FINGERPRINTS).visit(from, to, |_, chunk| {
            documents.extend(chunk.entries_from(from).map(|entry| {
                let fingerprint = Fingerprint::from_bits(entry.second());
                Document::new(DocId(entry.first()), fingerprint)
            }));
            Ok(if documents.is_empty() {
                VisitFlow::Next
            } else {
                VisitFlow::Stop
            })
        })?;
        let (Some(first), Some(last)) = (documents.first(), documents.last()) else {
            return Ok(Portion::new(documents, None, false));
        };
        let (first, last) = (first.id, last.id);
        // Both the documents and the unreliable ids ascend, so one pass over both is enough.
        let mut rest = documents.iter_mut();
        self.table(UNRELIABLE)
            .visit_entries(first.0, last.0, |id| {
                if let Some(document) = rest.find(|document| document.id.0 == id) {
                    document.reliable = false;
                }
                true
            })?;
        self.fill_in_arrivals(&mut documents, first, last)?;
        Ok(Portion::new(documents, Some(last), true))
    }

    /// Sets the arrival times of documents. The documents ascend by id within `first..=last`.
    fn fill_in_arrivals(
        &self,
        documents: &mut [Document],
        first: DocId,
        last: DocId,
    ) -> Result<()> {
        let Some(times) = self.kept(TIMES) else {
            return Ok(());
        };
        let (from, to) = (pair(first.0, 0), pair(last.0, u64::MAX));
        times.visit_entries(from, to, |entry| {
            let index = documents.binary_search_by_key(&entry.first(), |document| document.id.0);
            if let Ok(index) = index {
                documents[index].arrival = Some(Timestamp(entry.second()));
            }
            true
        })?;
        match documents.iter().find(|document| document.arrival.is_none()) {
            None => Ok(()),
            Some(Document { id, .. }) => Err(self
                .db_path
                .corrupt(format!("table times lacks document {id}"))),
        }
    }
}
