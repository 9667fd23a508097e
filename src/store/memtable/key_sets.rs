//! [`KeySets`]: the keys of texts in the forest, in order.

use std::ops::RangeInclusive;

use super::shards::Shards;
use crate::error::Result;
use crate::minhash::{ForestEntries, ForestEntry, ForestPage, first_level};

/// A chunk has at most 64 entries, 1 KiB: a search in it waits for memory four times, in 256 entries six times. It is read
/// under one lock, and an insertion moves half of it on average.
const MAX_CHUNK_LEN: usize = 64;

/// The key of a text, and the number of its document.
pub(super) type KeyEntry = (u64, u32);

/// The keys that the texts of documents ever had. The documents are numbered by the caller.
///
/// A search reads the keys with a common first level, so these are in one shard.
pub(super) struct KeySets(Shards<KeySet>);

/// A set of entries, in chunks one after the other. A search visits dozens of places in a set and reads a
/// few entries at each of them, which takes a third of the time that a `BTreeSet` takes.
#[derive(Default)]
struct KeySet {
    /// The first entry of each chunk.
    firsts: Vec<KeyEntry>,
    /// Chunks with entries, each in order.
    chunks: Vec<Vec<KeyEntry>>,
}

impl KeySets {
    /// Bytes of an entry: chunks are two thirds full.
    pub(super) const ENTRY_BYTES: usize = 24;

    pub(super) fn new(shards: usize) -> Self {
        Self(Shards::new(shards, |_| KeySet::default()))
    }

    /// Adds a document under a key. Returns `true` if the document is new there.
    pub(super) fn add(&self, key: u64, number: u32) -> bool {
        self.0.write(first_level(key)).insert((key, number))
    }

    /// Adds documents on all cores: each shard is locked once and takes its own keys. Returns the number of
    /// new entries.
    pub(super) fn extend(&self, entries: &[KeyEntry]) -> usize {
        let first_levels = entries.iter().map(|(key, _)| first_level(*key));
        let added = self.0.write_groups(first_levels, |set, group| {
            let entries = group.iter().map(|nth| entries[*nth as usize]);
            entries.filter(|entry| set.insert(*entry)).count()
        });
        added.into_iter().sum()
    }
}

impl KeySet {
    /// Returns `true` if the entry is new.
    fn insert(&mut self, entry: KeyEntry) -> bool {
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
    fn from(&self, entry: KeyEntry) -> Option<&[KeyEntry]> {
        let at = self.chunk_of(entry);
        let chunk = self.chunks.get(at)?;
        let start = chunk.partition_point(|other| *other < entry);
        match &chunk[start..] {
            [] => self.chunks.get(at + 1).map(Vec::as_slice),
            entries => Some(entries),
        }
    }
}

/// The entries of a chunk from the first entry of a node on, and the first key of the next chunk.
struct Page<'s> {
    entries: &'s [KeyEntry],
    next: Option<u64>,
}

impl ForestPage for Page<'_> {
    fn has_all_to(&self, last: u64) -> bool {
        self.next.is_none_or(|next| next > last)
    }

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

    fn push(&self, from: u64, count: usize, entries: &mut Vec<ForestEntry>) {
        let start = self.rank(from);
        let found = self.entries[start..start + count].iter();
        entries.extend(found.map(|(key, number)| (*key, u64::from(*number))));
    }
}

impl ForestEntries for KeySets {
    /// The visitor is called under the lock of a shard.
    fn visit_page(
        &self,
        first: u64,
        visitor: &mut dyn FnMut(&dyn ForestPage) -> Result<()>,
    ) -> Result<()> {
        let set = self.0.read(first_level(first));
        let at = set.chunk_of((first, 0));
        let Some(chunk) = set.chunks.get(at) else {
            return Ok(());
        };
        let entries = &chunk[chunk.partition_point(|entry| entry.0 < first)..];
        let next = set.firsts.get(at + 1).map(|(key, _)| *key);
        visitor(&Page { entries, next })
    }

    fn read(
        &self,
        keys: RangeInclusive<u64>,
        most: usize,
        entries: &mut Vec<ForestEntry>,
    ) -> Result<bool> {
        debug_assert_eq!(first_level(*keys.start()), first_level(*keys.end()));
        let (mut from, to) = ((*keys.start(), 0), (*keys.end(), u32::MAX));
        let end = entries.len().saturating_add(most);
        // The lock is released after each chunk: a reader of a million entries must not keep the appender waiting.
        while from <= to {
            let set = self.0.read(first_level(from.0));
            let Some(chunk) = set.from(from) else {
                break;
            };
            for (key, number) in chunk.iter().take_while(|entry| **entry <= to) {
                if entries.len() == end {
                    return Ok(false);
                }
                entries.push((*key, u64::from(*number)));
            }
            let (key, number) = chunk[chunk.len() - 1];
            from = match number.checked_add(1) {
                Some(next) => (key, next),
                None => (key.saturating_add(1), 0),
            };
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn set_in_chunks_equals_a_sorted_set(
            entries in prop::collection::vec((0..900_u64, 0..4_u32), 0..3_000),
            ranges in prop::collection::vec((0..950_u64, 0..400_u64, 0..900_usize), 1..20),
            is_grouped in any::<bool>(),
        ) {
            let sets = KeySets::new(1);
            let expected: BTreeSet<KeyEntry> = entries.iter().copied().collect();
            let added = match is_grouped {
                true => sets.extend(&entries),
                false => entries.iter().filter(|(key, number)| sets.add(*key, *number)).count(),
            };
            prop_assert_eq!(added, expected.len());
            prop_assert_eq!(sets.extend(&entries), 0);
            for (first, len, most) in ranges {
                let keys = first..=first + len;
                let wanted = expected.iter().filter(|(key, _)| keys.contains(key));
                let wanted: Vec<ForestEntry> =
                    wanted.map(|(key, number)| (*key, u64::from(*number))).collect();
                let mut found = Vec::new();
                let is_whole = sets.read(keys, most, &mut found).unwrap();
                prop_assert_eq!(is_whole, wanted.len() <= most);
                prop_assert_eq!(&found, &wanted[..wanted.len().min(most)]);
                let mut on_page = None;
                sets.visit_page(first, &mut |page| {
                    let start = page.rank(first);
                    let mut found = Vec::new();
                    page.push(first, page.rank(first + len + 1) - start, &mut found);
                    on_page = page.has_all_to(first + len).then_some(found);
                    Ok(())
                }).unwrap();
                prop_assert!(on_page.is_none_or(|found| found == wanted));
            }
        }
    }
}
