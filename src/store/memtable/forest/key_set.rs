//! [`KeySet`]: the entries of large nodes, in order.

use std::ops::{Range, RangeInclusive};

use super::KeyEntry;
use crate::forest::{ForestEntry, ForestSpan};

/// A chunk has at most 64 entries, 1 KiB: a search in it waits for memory four times, in 256
/// entries six times. It is read under one lock, and an insertion moves half of it on average.
const MAX_CHUNK_LEN: usize = 64;

/// A set of entries, in chunks one after the other. A search visits several places in a set and
/// reads a few entries at each of them, which takes a third of the time that a `BTreeSet` takes.
#[derive(Default)]
pub(super) struct KeySet {
    /// The first entry of each chunk.
    firsts: Vec<KeyEntry>,
    /// Chunks with entries, each in order.
    chunks: Vec<Vec<KeyEntry>>,
}

impl KeySet {
    /// Bytes of an entry: chunks are two thirds full.
    pub(super) const ENTRY_BYTES: usize = 24;

    /// Returns `true` if the entry is new.
    pub(super) fn insert(&mut self, entry: KeyEntry) -> bool {
        let mut at = self.chunk_of(entry);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.firsts.push(entry);
            self.chunks.push(vec![entry]);
            return true;
        };
        let Err(mut index) = chunk.binary_search(&entry) else {
            return false;
        };
        if chunk.len() == MAX_CHUNK_LEN {
            let upper = chunk.split_off(MAX_CHUNK_LEN / 2);
            self.firsts.insert(at + 1, upper[0]);
            self.chunks.insert(at + 1, upper);
            if let Some(in_upper) = index.checked_sub(MAX_CHUNK_LEN / 2) {
                (at, index) = (at + 1, in_upper);
            }
        }
        let chunk = &mut self.chunks[at];
        chunk.insert(index, entry);
        self.firsts[at] = chunk[0];
        true
    }

    /// The index of the chunk where an entry belongs.
    fn chunk_of(&self, entry: KeyEntry) -> usize {
        let behind = self.firsts.partition_point(|first| *first <= entry);
        behind.saturating_sub(1)
    }

    /// The entries from an entry on in the first chunk that has any; `None` if there are none.
    pub(super) fn from(&self, entry: KeyEntry) -> Option<&[KeyEntry]> {
        let at = self.chunk_of(entry);
        let chunk = self.chunks.get(at)?;
        let start = chunk.partition_point(|other| *other < entry);
        match &chunk[start..] {
            [] => self.chunks.get(at + 1).map(Vec::as_slice),
            entries => Some(entries),
        }
    }

    /// The span that may have the first entry with a key of at least `first`; `None` in an empty
    /// set.
    pub(super) fn span(&self, first: u64) -> Option<ChunkSpan<'_>> {
        let at = self.chunk_of((first, 0));
        let chunk = self.chunks.get(at)?;
        Some(ChunkSpan {
            entries: &chunk[chunk.partition_point(|entry| entry.0 < first)..],
            next: self.firsts.get(at + 1).map(|(key, _)| *key),
        })
    }
}

/// The entries of a chunk from the first entry of a node on, and the first key of the next chunk.
pub(super) struct ChunkSpan<'s> {
    entries: &'s [KeyEntry],
    next: Option<u64>,
}

impl ForestSpan for ChunkSpan<'_> {
    fn has_all_to(&self, last: u64) -> bool {
        self.next.is_none_or(|next| next > last)
    }

    fn count(&self, keys: &RangeInclusive<u64>) -> usize {
        self.range(keys).len()
    }

    fn push(&self, keys: &RangeInclusive<u64>, entries: &mut Vec<ForestEntry>) {
        let found = self.entries[self.range(keys)].iter();
        entries.extend(found.map(|(key, number)| (*key, u64::from(*number))));
    }
}

impl ChunkSpan<'_> {
    /// The places of the entries with a key of a range.
    fn range(&self, keys: &RangeInclusive<u64>) -> Range<usize> {
        // Keys are below the largest number.
        self.rank(*keys.start())..self.rank(keys.end() + 1)
    }

    /// The number of entries with a key below `key`.
    fn rank(&self, key: u64) -> usize {
        // Most nodes have few entries, so the search begins at the first of them.
        let mut end = 1;
        while self.entries.get(end - 1).is_some_and(|entry| entry.0 < key) {
            end *= 2;
        }
        let start = end / 2;
        let entries = &self.entries[start..self.entries.len().min(end)];
        start + entries.partition_point(|entry| entry.0 < key)
    }
}
