//! The documents whose texts share a band.

use super::View;
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::edit::{StoredDocument, TextEdit};
use crate::store::view::source::FingerprintSource;

impl<T: FingerprintSource> View<T> {
    /// The documents with at least one of the band keys, ascending by id, each once.
    ///
    /// Memory: 8 bytes for each document of each key.
    pub(crate) fn candidates_in_bands(&self, keys: &[u64]) -> Result<Vec<DocId>> {
        let mut documents = self.tables.as_tables().documents_in_bands(keys)?;
        // The list is made of ascending lists, which the stable sort merges.
        documents.sort();
        documents.dedup();
        let mut failed = Ok(());
        documents.retain(|id| match self.has_text_in_tables(*id) {
            Ok(has_text) => has_text,
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed?;
        let is_current = |state: StoredDocument| !self.expiry.is_expired(state.arrival);
        let in_tables = documents.len();
        for key in keys.iter().filter(|_| !self.memtables.is_empty()) {
            documents.extend(self.memtables.in_band(*key, usize::MAX, is_current));
        }
        if documents.len() > in_tables {
            documents.sort();
            documents.dedup();
        }
        Ok(documents)
    }

    /// Returns `true` if the document is stored and not expired, and its text is the text in the tables.
    fn has_text_in_tables(&self, id: DocId) -> Result<bool> {
        let Some(latest) = self.memtables.latest(id) else {
            return self.answers_from_tables(id);
        };
        let state = latest.state.filter(|_| latest.text == TextEdit::Keep);
        Ok(state.is_some_and(|state| !self.expiry.is_expired(state.arrival)))
    }
}
