//! A read transaction with its tables open.

use std::sync::Arc;

use super::Handle;
use super::chunk::{Entry, pair};
use super::fault::Place;
use super::packed::Step;
use super::schema::{self, Counters};
use super::tables::{Index, ReadTables};
use super::texts;
use crate::document::{DocId, Document};
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The database as of one commit.
pub(crate) struct ReadView {
    pub(crate) tables: ReadTables,
    pub(crate) texts: Option<redb::ReadOnlyTable<u64, &'static [u8]>>,
    pub(crate) counters: Counters,
    pub(crate) place: Place,
    /// Keeps the file open for as long as it is looked at.
    _handle: Arc<Handle>,
}

impl ReadView {
    pub(crate) fn of(
        transaction: redb::ReadTransaction,
        handle: Arc<Handle>,
        place: &Place,
        keep_texts: bool,
    ) -> Result<Self> {
        let reading = |cause: redb::TableError| place.reading(cause);
        let meta = transaction.open_table(schema::META).map_err(reading)?;
        let texts = keep_texts
            .then(|| transaction.open_table(schema::TEXTS).map_err(reading))
            .transpose()?;
        Ok(Self {
            tables: ReadTables::of(&transaction, place)?,
            texts,
            counters: schema::read_counters(&meta, place)?,
            place: place.clone(),
            _handle: handle,
        })
    }

    /// A document, with its text where one is kept.
    pub(crate) fn document(&self, id: DocId) -> Result<Option<Document>> {
        let Some((fingerprint, reliable)) = self.tables.document(id)? else {
            return Ok(None);
        };
        Ok(Some(Document {
            id,
            fingerprint,
            reliable,
            text: self.text(id)?,
        }))
    }

    /// The documents with an id of at least `from`, in order and without their texts: one chunk
    /// of them, none at the end.
    pub(crate) fn documents_from(&self, from: DocId) -> Result<Vec<Document>> {
        let (from, to) = (pair(from.0, 0), u128::MAX);
        let mut documents: Vec<Document> = Vec::new();
        self.tables.fingerprints.visit(from, to, |_, chunk| {
            documents.extend(chunk.entries_from(from).map(|entry| {
                let fingerprint = Fingerprint::from_bits(entry.second());
                Document::new(DocId(entry.first()), fingerprint)
            }));
            Ok(if documents.is_empty() {
                Step::Next
            } else {
                Step::Stop
            })
        })?;
        if let (Some(first), Some(last)) = (documents.first(), documents.last()) {
            let (first, last) = (first.id.0, last.id.0);
            let mut rest = documents.iter_mut();
            self.tables.unreliable.visit_entries(first, last, |id| {
                if let Some(document) = rest.find(|document| document.id.0 == id) {
                    document.reliable = false;
                }
                true
            })?;
        }
        Ok(documents)
    }

    /// The text of a document, where one is kept.
    pub(crate) fn text(&self, id: DocId) -> Result<Option<String>> {
        match &self.texts {
            Some(table) => texts::get(table, id, &self.place),
            None => Ok(None),
        }
    }
}
