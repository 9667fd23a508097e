//! Posting lists of the memtable: the documents that ever had a fingerprint or a band key.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::Version;
use super::shards::KeyHasher;
use crate::document::DocId;
use crate::store::memtable::seqno_log::SeqnoLog;

/// Documents that are read from a posting list at a time.
pub(super) const PAGE: usize = 256;

/// The posting list of each number. A document stands in it with the seqno at which it first had the
/// number.
pub(super) struct Postings {
    /// The document with the smallest id.
    first: HashMap<u64, u32, KeyHasher>,
    /// The others by their ids.
    others: HashMap<u64, BTreeMap<DocId, u32>, KeyHasher>,
}

/// The effect of adding a document to a posting list.
pub(super) enum Posted {
    /// The number is new.
    Distinct,
    /// One other document had the number.
    Shared,
    /// Several other documents had the number.
    Copy,
    /// The document had the number before.
    Known,
}

impl Postings {
    pub(super) fn new(hasher: KeyHasher) -> Self {
        Self {
            first: HashMap::with_hasher(hasher.clone()),
            others: HashMap::with_hasher(hasher),
        }
    }

    /// Reserves capacity for `count` new numbers.
    pub(super) fn reserve(&mut self, count: usize) {
        self.first.reserve(count);
    }

    /// Adds a document, which has the number from `seqno` on.
    pub(super) fn add(
        &mut self,
        versions: &SeqnoLog<Version>,
        number: u64,
        id: DocId,
        seqno: u32,
    ) -> Posted {
        let Some(first) = self.first.get_mut(&number) else {
            self.first.insert(number, seqno);
            return Posted::Distinct;
        };
        let Some(smallest) = versions.get(*first).map(|version| version.id) else {
            return Posted::Known;
        };
        if smallest == id {
            return Posted::Known;
        }
        let others = self.others.entry(number).or_default();
        let known = others.len();
        if id < smallest {
            others.insert(smallest, *first);
            *first = seqno;
        } else {
            others.entry(id).or_insert(seqno);
        }
        match others.len() - known {
            0 => Posted::Known,
            _ if known == 0 => Posted::Shared,
            _ => Posted::Copy,
        }
    }

    /// Replaces `seqnos` by the next page of documents that ever had the number, in order of their ids;
    /// returns `true` if there are more. Paged, so that no lock is held while a million documents are
    /// visited.
    pub(super) fn read(&self, number: u64, after: Option<DocId>, seqnos: &mut Vec<u32>) -> bool {
        seqnos.clear();
        let from = match after {
            Some(after) => Bound::Excluded(after),
            None => {
                seqnos.extend(self.first.get(&number));
                Bound::Unbounded
            }
        };
        let Some(others) = self.others.get(&number) else {
            return false;
        };
        let mut others = others.range((from, Bound::Unbounded));
        seqnos.extend(others.by_ref().take(PAGE).map(|(_, seqno)| *seqno));
        others.next().is_some()
    }
}
