//! The documents whose texts share a band.

use super::View;
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::edit::{StoredDocument, TextEdit};
use crate::store::view::source::FingerprintSource;

/// Between 64 and 4,096 documents of a band key are read from the tables at a time.
const MIN_PER_PAGE: usize = 64;
const MAX_PER_PAGE: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BandDocuments {
    pub(crate) key: u64,
    /// The first documents, by id.
    pub(crate) documents: Vec<DocId>,
    pub(crate) has_more: bool,
}

impl<T: FingerprintSource> View<T> {
    /// The first `limit` documents of each band key. The results ascend by key, each key once.
    ///
    /// A key with millions of documents costs no more than other keys: only the first documents are
    /// read, and documents before them that were removed or have expired.
    pub(crate) fn documents_in_bands(
        &self,
        keys: &[u64],
        limit: usize,
    ) -> Result<Vec<BandDocuments>> {
        // Sorted, so that neighbouring keys are read from the same page of the table.
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter()
            .map(|key| {
                let (documents, has_more) = self.documents_in_band(key, limit)?;
                Ok(BandDocuments {
                    key,
                    documents,
                    has_more,
                })
            })
            .collect()
    }

    /// The first `limit` documents whose text has this band key, by id, and `true` if there are more.
    pub(crate) fn documents_in_band(&self, key: u64, limit: usize) -> Result<(Vec<DocId>, bool)> {
        // One document more than the limit shows that there are more.
        let wanted = limit.saturating_add(1);
        let is_current = |state: StoredDocument| !self.expiry.is_expired(state.arrival);
        let mut documents = self.memtables.in_band(key, wanted, is_current);
        // The smallest ids may be all in the memtables or all in the tables, so both give `wanted`.
        let max_collected = documents.len().saturating_add(wanted);
        let per_page = wanted.clamp(MIN_PER_PAGE, MAX_PER_PAGE);
        for id in self.tables.documents_in_band(key, per_page) {
            let id = id?;
            if self.has_text_in_tables(id)? {
                documents.push(id);
            }
            if documents.len() == max_collected {
                break;
            }
        }
        documents.sort_unstable();
        let has_more = documents.len() > limit;
        documents.truncate(limit);
        Ok((documents, has_more))
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
