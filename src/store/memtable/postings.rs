//! Which documents ever had something that is found by a number: a fingerprint, or a band key.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::Version;
use super::shards::Mixing;
use crate::document::DocId;
use crate::store::memtable::seqno_log::Log;

/// Documents of a number that are read at a time.
pub(super) const PIECE: usize = 256;

/// Which documents ever had each number. A document is given by the slot at which it first had it.
pub(super) struct Postings {
    /// The document with the smallest id.
    first: HashMap<u64, u32, Mixing>,
    /// The others by their ids.
    others: HashMap<u64, BTreeMap<DocId, u32>, Mixing>,
}

/// What a number of a document is among those of the tail.
pub(super) enum Posted {
    /// No document had it.
    Distinct,
    /// One other document had it.
    Shared,
    /// Several others had it.
    Copy,
    /// The document had it before.
    Known,
}

impl Postings {
    pub(super) fn new(mixing: Mixing) -> Self {
        Self {
            first: HashMap::with_hasher(mixing),
            others: HashMap::with_hasher(mixing),
        }
    }

    /// Makes room for so many new numbers.
    pub(super) fn reserve(&mut self, count: usize) {
        self.first.reserve(count);
    }

    /// From the version in a slot on a document has the number.
    pub(super) fn add(
        &mut self,
        versions: &Log<Version>,
        number: u64,
        id: DocId,
        slot: u32,
    ) -> Posted {
        let Some(first) = self.first.get_mut(&number) else {
            self.first.insert(number, slot);
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
            *first = slot;
        } else {
            others.entry(id).or_insert(slot);
        }
        match others.len() - known {
            0 => Posted::Known,
            _ if known == 0 => Posted::Shared,
            _ => Posted::Copy,
        }
    }

    /// Puts the next documents that ever had a number into `slots`, in order of their ids, and
    /// says whether there are more. So no lock is held for as long as a million are looked at.
    pub(super) fn read(&self, number: u64, after: Option<DocId>, slots: &mut Vec<u32>) -> bool {
        slots.clear();
        let from = match after {
            Some(after) => Bound::Excluded(after),
            None => {
                slots.extend(self.first.get(&number));
                Bound::Unbounded
            }
        };
        let Some(others) = self.others.get(&number) else {
            return false;
        };
        let mut others = others.range((from, Bound::Unbounded));
        slots.extend(others.by_ref().take(PIECE).map(|(_, slot)| *slot));
        others.next().is_some()
    }
}
