//! The documents whose texts share a band.

use super::View;
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::edit::{StoredDocument, TextEdit};
use crate::store::view::source::FingerprintSource;

/// Documents of a band key that are read from the tables at a time.
const MIN_PAGE: usize = 64;
const MAX_PAGE: usize = 4096;

/// The documents of one band key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InBand {
    pub(crate) key: u64,
    /// The first documents, in order of their ids.
    pub(crate) documents: Vec<DocId>,
    /// `true` if there are more.
    pub(crate) has_more: bool,
}

impl<T: FingerprintSource> View<T> {
    /// The documents of some band keys, at most `most` of each key. The answers ascend by key, each
    /// key once, and the table is read in that order.
    ///
    /// A key of very many documents costs no more than another: only wanted documents are read, and
    /// those before them that were removed or have expired since.
    pub(crate) fn documents_in_bands(&self, keys: &[u64], most: usize) -> Result<Vec<InBand>> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter()
            .map(|key| {
                let (documents, has_more) = self.documents_in_band(key, most)?;
                Ok(InBand {
                    key,
                    documents,
                    has_more,
                })
            })
            .collect()
    }

    /// The first `most` documents whose text has this band key, in order of their ids, and `true`
    /// if there are more.
    pub(crate) fn documents_in_band(&self, key: u64, most: usize) -> Result<(Vec<DocId>, bool)> {
        // One more document tells if there are more.
        let wanted = most.saturating_add(1);
        let is_current = |state: StoredDocument| !self.expiry.has_passed(state.arrival);
        let mut documents = self.memtables.in_band(key, wanted, is_current);
        // Whichever of the memtables and the tables has smaller ids, each gives enough.
        let enough = documents.len().saturating_add(wanted);
        let per_page = wanted.clamp(MIN_PAGE, MAX_PAGE);
        for id in self.tables.documents_in_band(key, per_page) {
            let id = id?;
            if self.has_text_of_tables(id)? {
                documents.push(id);
            }
            if documents.len() == enough {
                break;
            }
        }
        documents.sort_unstable();
        let has_more = documents.len() > most;
        documents.truncate(most);
        Ok((documents, has_more))
    }

    /// Returns `true` if the text of a document is the one in the tables, and the document is
    /// stored and not expired.
    fn has_text_of_tables(&self, id: DocId) -> Result<bool> {
        let Some(current) = self.memtables.edit(id) else {
            return self.answers_from_tables(id);
        };
        let state = current.state.filter(|_| current.text == TextEdit::Keep);
        Ok(state.is_some_and(|state| !self.expiry.has_passed(state.arrival)))
    }
}
