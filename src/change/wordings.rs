//! The texts of a batch, to be found by what they have in common.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;

use crate::document::DocId;
use crate::query::{self, Similar, TextQuery};
use crate::store::{Index, KeyedText, View};

/// Documents of one band key that are looked at, those that came first.
const MOST_IN_BAND: usize = 1024;

/// The texts that documents have received in this batch, and what was found before it.
#[derive(Default)]
pub(super) struct Wordings {
    /// The documents, as they came, some more than once.
    documents: Vec<DocId>,
    /// The first `indexed` of them by the keys of their texts: only a batch that asks pays for that.
    by_key: HashMap<u64, Vec<DocId>>,
    indexed: usize,
    /// What was like a text before the batch, by the id of the document that brings it.
    ahead: HashMap<DocId, Vec<Similar>>,
}

impl Wordings {
    /// Looks, on all cores, for what is like each of these texts.
    pub(super) fn look_ahead(&mut self, texts: &[(DocId, &TextQuery)], view: &View) {
        let find = |&(id, query): &(DocId, &TextQuery)| {
            // What fails now will fail again when it is decided upon.
            let found = query::similar(view, query, |id| view.text(id)).ok()?;
            Some((id, found))
        };
        let found: Vec<_> = view
            .tables
            .in_parallel(|| texts.par_iter().filter_map(find).collect());
        self.ahead.extend(found);
    }

    /// What was found ahead, once.
    pub(super) fn take_ahead(&mut self, id: DocId) -> Option<Vec<Similar>> {
        self.ahead.remove(&id)
    }

    /// A document has received a text.
    pub(super) fn add(&mut self, id: DocId) {
        self.documents.push(id);
    }

    /// The documents that share one of these keys, and perhaps some that did when they came.
    /// `text_of` gives the text that a document has now.
    pub(super) fn sharing(
        &mut self,
        keys: &[u64],
        text_of: impl Fn(&DocId) -> Option<Arc<KeyedText>>,
    ) -> BTreeSet<DocId> {
        for id in &self.documents[self.indexed..] {
            for key in text_of(id).iter().flat_map(|keyed| keyed.keys()) {
                let documents = self.by_key.entry(*key).or_default();
                if documents.len() < MOST_IN_BAND {
                    documents.push(*id);
                }
            }
        }
        self.indexed = self.documents.len();
        let sharing = keys.iter().filter_map(|key| self.by_key.get(key));
        sharing.flatten().copied().collect()
    }
}
