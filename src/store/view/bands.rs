//! The documents whose texts share a band.

use super::View;
use crate::document::DocId;
use crate::error::Result;
use crate::minhash::Sketch;
use crate::store::tables::edit::TextEdit;
use crate::store::view::source::FingerprintSource;

impl<T: FingerprintSource> View<T> {
    /// The documents with at least one of the band keys and a sketch that `accepts` accepts, ascending by
    /// id, each once. The sketch of a text without one is `None`.
    ///
    /// Memory: 8 bytes for each document of each key.
    pub(crate) fn candidates_in_bands(
        &self,
        keys: &[u64],
        accepts: impl Fn(Option<Sketch>) -> bool,
    ) -> Result<Vec<DocId>> {
        let mut documents = self.tables.as_tables().documents_in_bands(keys)?;
        // The list is made of ascending lists, which the stable sort merges.
        documents.sort();
        documents.dedup();
        let mut documents = self.accepted_in_tables(&documents, &accepts)?;
        let mut failed = Ok(());
        documents.retain(|id| match self.has_text_in_tables(*id) {
            Ok(has_text) => has_text,
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed?;
        documents.extend(self.memtables.in_bands(keys, |banded, state| {
            !self.expiry.is_expired(state.arrival) && accepts(banded.sketch())
        }));
        documents.sort_unstable();
        documents.dedup();
        Ok(documents)
    }

    /// The documents whose sketch in the tables is accepted. A sketch that is read from the tables is kept in
    /// memory.
    fn accepted_in_tables(
        &self,
        documents: &[DocId],
        accepts: impl Fn(Option<Sketch>) -> bool,
    ) -> Result<Vec<DocId>> {
        let mut accepted = Vec::new();
        let mut visit = |id, sketch| {
            if accepts(sketch) {
                accepted.push(id);
            }
        };
        let cache = self.tables.wordings();
        let missing = match cache {
            Some((cache, commit)) => cache.visit_sketches(documents, commit, &mut visit),
            None => documents.to_vec(),
        };
        for id in missing {
            let sketch = self.tables.sketch(id)?;
            if let Some((cache, commit)) = cache {
                cache.insert_sketch(id, commit, sketch);
            }
            visit(id, sketch);
        }
        Ok(accepted)
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
