//! The keys of documents.

use super::View;
use crate::error::Result;
use crate::ids::DocId;
use crate::ids::scope::LAST_SEQUENCE;
use crate::record::key_hash;
use crate::store::tables::edit::TextEdit;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::KEYS;
use crate::store::view::access::ViewAccess;

impl<A: ViewAccess> View<A> {
    pub(crate) fn keeps_keys(&self) -> bool {
        self.tables.keeps.keys
    }

    /// The key of a stored document, even if the document is expired; `None` in a database without
    /// keys.
    pub(crate) fn key(&self, id: DocId) -> Result<Option<String>> {
        if !self.keeps_keys() {
            return Ok(None);
        }
        match self.memtables.latest(id).map(|latest| latest.text) {
            Some(TextEdit::Put(text)) => Ok(text.record().key().map(str::to_owned)),
            Some(TextEdit::Remove) => Ok(None),
            Some(TextEdit::Keep) | None => self.tables.key(id),
        }
    }

    /// The stored document with a key, even if the document is expired.
    pub(crate) fn id_of(&self, key: &str) -> Result<Option<DocId>> {
        let Some(table) = self.tables.kept(KEYS) else {
            return Ok(None);
        };
        let hash = key_hash(key);
        let mut ids = self.memtables.with_key_hash(hash);
        table.visit_entries(pair(hash, 0), pair(hash, u64::MAX), |entry| {
            ids.push(DocId(entry.second()));
            true
        })?;
        for id in ids {
            // The entry of a document that was removed is in the table until the flush. A document
            // with another key of this hash is passed over.
            let is_removed =
                matches!(self.memtables.latest(id), Some(latest) if latest.state.is_none());
            if !is_removed && self.key(id)?.as_deref() == Some(key) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The [sequence](crate::ids::scope::sequence) of the id that the next new document gets:
    /// greater than the sequences of all documents, also of documents that were removed.
    pub(crate) fn next_sequence(&self) -> Result<u64> {
        let last = self.tables.last_id.0.max(self.memtables.last_sequence());
        // The last id of a scope is the end of its range, and is not given.
        if last + 1 >= LAST_SEQUENCE {
            let what = format!("it had document {last}, so no id is left");
            return Err(self.tables.db_path.corrupt(what));
        }
        Ok(last + 1)
    }
}
