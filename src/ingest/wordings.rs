//! The texts of a batch, to be found by what they have in common.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rayon::prelude::*;

use crate::document::DocId;
use crate::query::{self, Similar, TextQuery};
use crate::store::{BandedText, FingerprintSource, View};

/// Documents of one band key that are looked at, those that came first.
const MOST_IN_BAND: usize = 256;

/// Documents of a batch whose texts are compared with one that comes, those that share most bands.
/// One thread does that while others wait.
const MOST_COMPARED: usize = 256;

/// The texts that documents have received in this batch, and what was found before it.
#[derive(Default)]
pub(super) struct Wordings {
    /// The documents, as they came, some more than once.
    documents: Vec<DocId>,
    /// The first `indexed` of them by the keys of their texts: only a batch that asks pays for that.
    /// Nearly all of the forty keys of a text are its own, and a list for each would take more room
    /// than all else.
    first_by_key: HashMap<u64, DocId>,
    others_by_key: HashMap<u64, Vec<DocId>>,
    indexed: usize,
    /// What was like a text before the batch, by the id of the document that brings it.
    ahead: HashMap<DocId, Ahead>,
}

/// What was like a text before the batch.
pub(super) struct Ahead {
    /// The most alike of them, in their order.
    pub(super) found: Vec<Similar>,
    /// Whether there are no others.
    pub(super) is_all: bool,
}

/// What is kept of what was found for one text: the first of them decides, unless it is gone by
/// then. Thousands of documents may be like one text, and tens of thousands of texts wait together.
const KEPT_AHEAD: usize = 8;

impl Wordings {
    /// Looks, on all cores, for what is like each of these texts.
    pub(super) fn look_ahead(&mut self, texts: &[(DocId, &TextQuery)], view: &View) {
        if texts.is_empty() {
            return;
        }
        // Of two texts under one id nobody could tell later which was looked for.
        let mut times = HashMap::new();
        for (id, _) in texts {
            *times.entry(*id).or_insert(0) += 1;
        }
        let find = |&(id, query): &(DocId, &TextQuery)| {
            if times.get(&id) != Some(&1) {
                return None;
            }
            // What fails now will fail again when it is decided upon.
            let mut found = query::similar(view, query, |id| view.text(id)).ok()?;
            let is_all = found.len() <= KEPT_AHEAD;
            found.truncate(KEPT_AHEAD);
            found.shrink_to_fit();
            Some((id, Ahead { found, is_all }))
        };
        let found: Vec<_> = view
            .tables
            .in_parallel(|| texts.par_iter().filter_map(find).collect());
        // What was found for others before was of no use, and must not be taken for these.
        self.ahead = found.into_iter().collect();
    }

    /// What was found ahead, once.
    pub(super) fn take_ahead(&mut self, id: DocId) -> Option<Ahead> {
        self.ahead.remove(&id)
    }

    /// A document has received a text.
    pub(super) fn add(&mut self, id: DocId) {
        self.documents.push(id);
    }

    /// The documents that share most of these keys, and perhaps some that did when they came.
    /// `text_of` gives the text that a document has now.
    pub(super) fn sharing(
        &mut self,
        keys: &[u64],
        text_of: impl Fn(&DocId) -> Option<Arc<BandedText>>,
    ) -> Vec<DocId> {
        for id in &self.documents[self.indexed..] {
            for key in text_of(id).iter().flat_map(|banded| banded.keys()) {
                if *self.first_by_key.entry(*key).or_insert(*id) == *id {
                    continue;
                }
                let others = self.others_by_key.entry(*key).or_default();
                if others.last() != Some(id) && others.len() + 1 < MOST_IN_BAND {
                    others.push(*id);
                }
            }
        }
        self.indexed = self.documents.len();
        let mut shared: BTreeMap<DocId, usize> = BTreeMap::new();
        for key in keys {
            let others = self.others_by_key.get(key).into_iter().flatten();
            for id in self.first_by_key.get(key).into_iter().chain(others) {
                *shared.entry(*id).or_default() += 1;
            }
        }
        let mut sharing: Vec<_> = shared.into_iter().collect();
        sharing.sort_by_key(|&(_, count)| Reverse(count));
        sharing.truncate(MOST_COMPARED);
        sharing.into_iter().map(|(id, _)| id).collect()
    }
}
