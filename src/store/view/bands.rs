//! The documents whose texts share a band.

use super::View;
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::edit::{StoredDocument, TextEdit};
use crate::store::view::source::FingerprintSource;

/// Documents of a key that are read from the tables at a time, at least and at most.
const LEAST_PIECE: usize = 64;
const MOST_PIECE: usize = 4096;

/// The documents of one band key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InBand {
    pub(crate) key: u64,
    /// The first of them, in order of their ids.
    pub(crate) documents: Vec<DocId>,
    /// Whether there are others.
    pub(crate) has_more: bool,
}

impl<T: FingerprintSource> View<T> {
    /// The documents of each of some band keys, at most `most` of each. The answers ascend by key,
    /// each key once, and the table is walked in that order.
    ///
    /// A key that very many have costs no more than others: what is not wanted is not read. Only
    /// what is not merged or swept yet is passed over, all of it: it must not hide what is there.
    pub(crate) fn documents_in_bands(&self, keys: &[u64], most: usize) -> Result<Vec<InBand>> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let of = |key: u64| {
            let (documents, has_more) = self.documents_in_band(key, most)?;
            Ok(InBand {
                key,
                documents,
                has_more,
            })
        };
        keys.into_iter().map(of).collect()
    }

    /// The documents whose text has this band key, in order of their ids: at most `most`, and
    /// whether there are more.
    pub(crate) fn documents_in_band(&self, key: u64, most: usize) -> Result<(Vec<DocId>, bool)> {
        // One more tells whether there are more.
        let wanted = most.saturating_add(1);
        let is_current = |state: StoredDocument| !self.expiry.has_passed(state.arrival);
        let mut documents = self.tail.in_band(key, wanted, is_current);
        let from_tail = documents.len();
        let mut from = Some(DocId(0));
        while let Some(first) = from
            && documents.len() - from_tail < wanted
        {
            let missing = wanted - (documents.len() - from_tail);
            let piece = missing.clamp(LEAST_PIECE, MOST_PIECE);
            let (found, has_more) = self.tables.documents_in_band(key, first, piece)?;
            let next = found.last().and_then(|last| last.0.checked_add(1));
            from = next.filter(|_| has_more).map(DocId);
            for id in found {
                if self.has_text_of_tables(id)? {
                    documents.push(id);
                }
            }
        }
        documents.sort_unstable();
        let has_more = documents.len() > most;
        documents.truncate(most);
        Ok((documents, has_more))
    }

    /// Whether a document has the text that the tables keep of it, and answers queries.
    fn has_text_of_tables(&self, id: DocId) -> Result<bool> {
        let Some(current) = self.tail.edit(id) else {
            return self.answers_from_tables(id);
        };
        let state = current.state.filter(|_| current.text == TextEdit::Keep);
        Ok(state.is_some_and(|state| !self.expiry.has_passed(state.arrival)))
    }
}
