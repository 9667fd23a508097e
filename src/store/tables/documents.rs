//! Queries of one document, by its id.

use crate::analysis::Sketch;
use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::record::Record;
use crate::store::tables::edit::StoredDocument;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{FINGERPRINTS, UNRELIABLE};
use crate::store::tables::{Access, Tables, keys, texts};

/// The tables may be out of date for documents that a memtable has edited, see
/// [`View`](crate::store::View).
impl<A: Access> Tables<A> {
    /// The fingerprint of a document.
    pub(crate) fn fingerprint(&self, id: DocId) -> Result<Option<Fingerprint>> {
        let (from, to) = (pair(id.0, 0), pair(id.0, u64::MAX));
        let entry = self.table(FINGERPRINTS).first_in(from, to)?;
        Ok(entry.map(|entry| Fingerprint::from_bits(entry.second())))
    }

    /// A document without its text.
    pub(crate) fn document(&self, id: DocId) -> Result<Option<StoredDocument>> {
        let Some(fingerprint) = self.fingerprint(id)? else {
            return Ok(None);
        };
        Ok(Some(StoredDocument {
            fingerprint,
            reliable: self.table(UNRELIABLE).first_in(id.0, id.0)?.is_none(),
            arrival: self.arrival_of(id)?,
        }))
    }

    /// Decodes the row of a document in table `texts`; `None` without a row.
    fn text_row<T>(&self, id: DocId, decode: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        match &self.texts {
            Some(table) => texts::get_row(table, id.0, &self.db_path, decode),
            None => Ok(None),
        }
    }

    pub(crate) fn has_text(&self, id: DocId) -> Result<bool> {
        let has_text = self.text_row(id, |bytes| Ok(texts::has_text(bytes)))?;
        Ok(has_text.unwrap_or(false))
    }

    /// The record of a document, without its key; `None` if no record is stored.
    pub(crate) fn record(&self, id: DocId) -> Result<Option<Record>> {
        self.text_row(id, |bytes| texts::decode(id, bytes, &self.db_path))
    }

    /// The key of a document; `None` if the document is not stored, or keys are not kept.
    pub(crate) fn key(&self, id: DocId) -> Result<Option<String>> {
        match &self.texts {
            Some(table) if self.keeps.keys => keys::get(table, id, &self.db_path),
            _ => Ok(None),
        }
    }

    /// The record of a document and its sketch; `None` if no record is stored.
    pub(crate) fn record_with_sketch(&self, id: DocId) -> Result<Option<(Record, Option<Sketch>)>> {
        match &self.texts {
            Some(table) => texts::get_with_sketch(table, id, &self.db_path),
            None => Ok(None),
        }
    }

    /// The sketch of the text of a document; `None` if no text is stored, or a text without a
    /// sketch.
    pub(crate) fn sketch(&self, id: DocId) -> Result<Option<Sketch>> {
        let sketch = self.text_row(id, |bytes| texts::decode_sketch(id, bytes, &self.db_path))?;
        Ok(sketch.flatten())
    }

    /// The sketches of a document and of documents with larger ids whose texts are near in the
    /// file, ascending, while `wants` returns `true`.
    pub(crate) fn sketches_from(
        &self,
        id: DocId,
        wants: impl Fn(DocId) -> bool,
    ) -> Vec<(DocId, Option<Sketch>)> {
        match &self.texts {
            Some(table) => texts::get_sketches_from(table, id, &self.db_path, wants),
            None => Vec::new(),
        }
    }
}
