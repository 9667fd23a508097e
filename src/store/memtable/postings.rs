//! [`FingerprintPostings`]: the documents that ever had a fingerprint.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::Version;
use super::shards::KeyHasher;
use crate::ids::DocId;
use crate::store::memtable::seqno_log::SeqnoLog;

/// At most 256 documents, and the first one, are read under one lock.
// A reader of a million documents must not keep the appender waiting.
pub(super) const PAGE: usize = 256;

/// The posting list of each fingerprint. A posting is the seqno of the version in
/// which a document first had the key.
pub(super) struct FingerprintPostings {
    /// The posting with the smallest document id. Most keys have this posting only, and so no tree.
    first: HashMap<u64, u32, KeyHasher>,
    /// The other postings, by document id.
    others: HashMap<u64, BTreeMap<DocId, u32>, KeyHasher>,
}

/// The result of adding a document to a posting list, by the number of documents before.
pub(super) enum Posted {
    /// The key is new.
    First,
    /// The key had one other document.
    Second,
    /// The key had several other documents.
    Further,
    /// The key had this document already.
    Known,
}

impl FingerprintPostings {
    pub(super) fn new(hasher: KeyHasher) -> Self {
        Self {
            first: HashMap::with_hasher(hasher.clone()),
            others: HashMap::with_hasher(hasher),
        }
    }

    pub(super) fn reserve(&mut self, count: usize) {
        self.first.reserve(count);
    }

    /// Adds a document that has the key from `seqno` on. The version must be in `versions` already.
    pub(super) fn add(
        &mut self,
        versions: &SeqnoLog<Version>,
        key: u64,
        id: DocId,
        seqno: u32,
    ) -> Posted {
        let Some(first) = self.first.get_mut(&key) else {
            self.first.insert(key, seqno);
            return Posted::First;
        };
        let Some(smallest) = versions.get(*first).map(|version| version.id) else {
            return Posted::Known;
        };
        if smallest == id {
            return Posted::Known;
        }
        let others = self.others.entry(key).or_default();
        let len_before = others.len();
        if id < smallest {
            others.insert(smallest, *first);
            *first = seqno;
        } else {
            others.entry(id).or_insert(seqno);
        }
        match others.len() - len_before {
            0 => Posted::Known,
            _ if len_before == 0 => Posted::Second,
            _ => Posted::Further,
        }
    }

    /// Reads a page of a posting list into `seqnos`: documents from an id on, by id. The first
    /// page, which is not from `Excluded` on, begins with the smallest id of the list. Returns
    /// `true` if there are more.
    pub(super) fn read(&self, key: u64, from: Bound<DocId>, seqnos: &mut Vec<u32>) -> bool {
        seqnos.clear();
        if !matches!(from, Bound::Excluded(_)) {
            seqnos.extend(self.first.get(&key));
        }
        let Some(others) = self.others.get(&key) else {
            return false;
        };
        let mut others = others.range((from, Bound::Unbounded));
        seqnos.extend(others.by_ref().take(PAGE).map(|(_, seqno)| *seqno));
        others.next().is_some()
    }
}
