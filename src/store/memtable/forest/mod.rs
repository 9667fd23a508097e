//! [`MemtableForest`]: the keys that the texts of documents ever had in the forest.
//!
//! A search visits dozens of nodes of the first level, and most of them have a few entries. A small
//! node is a [block](blocks) of words, which is read without a lock, so the processor fetches many
//! of them from memory at the same time: a fifth of the time of ordered sets, in which each step of
//! a search waits for the one before. The entries of a node that outgrows its block go to an
//! [ordered set](key_set), where a search reads a part of the node.

mod blocks;
mod key_set;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::shards::{KeyHasher, Shards};
use crate::error::Result;
use crate::forest::{
    FIRST_LEVEL_SHIFT, ForestEntries, ForestEntry, ForestSpan, behind_first_level, first_level,
};
use blocks::{AddedWords, Blocks};
use key_set::KeySet;

/// The key of a text, and the number of its document.
type KeyEntry = (u64, u32);

/// Entries by key. The documents are numbered by the caller. One thread adds entries, any number of
/// threads read.
pub(super) struct MemtableForest {
    /// `None` in a forest for few texts: the places of all nodes take 3 MiB.
    blocks: Option<Blocks>,
    /// The entries of the nodes that are not in blocks, by node; without blocks, all entries in one
    /// set.
    sets: Shards<HashMap<u64, KeySet, KeyHasher>>,
    set_entries: AtomicUsize,
}

impl MemtableForest {
    pub(super) fn new(shards: usize) -> Self {
        Self {
            blocks: Some(Blocks::new()),
            ..Self::in_sets(shards)
        }
    }

    pub(super) fn for_few_texts() -> Self {
        Self::in_sets(1)
    }

    fn in_sets(shards: usize) -> Self {
        Self {
            blocks: None,
            sets: Shards::new(shards, HashMap::with_hasher),
            set_entries: AtomicUsize::new(0),
        }
    }

    /// An estimate of the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.as_ref().map_or(0, Blocks::bytes)
            + self.set_entries.load(Ordering::Relaxed) * KeySet::ENTRY_BYTES
    }

    /// Adds a document under a key, unless it is there.
    pub(super) fn add(&self, key: u64, number: u32) {
        let (node, entry) = (first_level(key), (key, number));
        match &self.blocks {
            Some(blocks) if blocks.add(node, word_of(entry)).is_ok() => return,
            Some(blocks) => self.move_to_set(node, blocks),
            None => {}
        }
        self.add_to_set(entry);
    }

    fn move_to_set(&self, node: u64, blocks: &Blocks) {
        if let Ok(words) = blocks.read(node) {
            let span = MemtableSpan { node, words };
            span.entries().for_each(|entry| self.add_to_set(entry));
            blocks.give_up(node);
        }
    }

    fn add_to_set(&self, entry: KeyEntry) {
        let number = self.set_of(first_level(entry.0));
        let mut sets = self.sets.write(number);
        let is_new = sets.entry(number).or_default().insert(entry);
        self.set_entries
            .fetch_add(usize::from(is_new), Ordering::Relaxed);
    }

    /// The number of the set with the entries of a node.
    fn set_of(&self, node: u64) -> u64 {
        self.blocks.as_ref().map_or(0, |_| node)
    }

    /// `None` if the node is in a set.
    fn span(&self, node: u64) -> Option<MemtableSpan> {
        let words = self.blocks.as_ref()?.read(node).ok()?;
        Some(MemtableSpan { node, words })
    }
}

/// An entry without the first level of its key.
fn word_of((key, number): KeyEntry) -> u64 {
    u64::from(behind_first_level(key)) << u32::BITS | u64::from(number)
}

/// All entries of a node of the first level.
struct MemtableSpan {
    node: u64,
    words: AddedWords,
}

impl MemtableSpan {
    fn entries(&self) -> impl Iterator<Item = KeyEntry> {
        let words = self.words.upper.iter().zip(&self.words.lower);
        let key = |upper| self.node << FIRST_LEVEL_SHIFT | u64::from(upper);
        words.map(move |(upper, lower)| (key(*upper), *lower))
    }
}

impl ForestSpan for MemtableSpan {
    fn has_all_to(&self, last: u64) -> bool {
        first_level(last) == self.node
    }

    // A comparison of 256 numbers takes less time than some reads of memory that wait for each
    // other.
    fn count(&self, keys: &RangeInclusive<u64>) -> usize {
        debug_assert_eq!(first_level(*keys.start()), first_level(*keys.end()));
        let (first, last) = (
            behind_first_level(*keys.start()),
            behind_first_level(*keys.end()),
        );
        let is_wanted = |upper: &u32| u32::from((first <= *upper) & (*upper <= last));
        self.words.upper.iter().map(is_wanted).sum::<u32>() as usize
    }

    fn push(&self, keys: &RangeInclusive<u64>, entries: &mut Vec<ForestEntry>) {
        let wanted = self.entries().filter(|(key, _)| keys.contains(key));
        entries.extend(wanted.map(|(key, number)| (key, u64::from(number))));
    }
}

impl ForestEntries for MemtableForest {
    fn fetch(&self, keys: &[u64]) {
        if let Some(blocks) = &self.blocks {
            let mut nodes: Vec<u64> = keys.iter().map(|key| first_level(*key)).collect();
            // The keys of a node follow each other.
            nodes.dedup();
            blocks.touch(&nodes);
        }
    }

    /// The visitor is called under the lock of a shard if the node is large.
    fn visit_span(
        &self,
        first: u64,
        visitor: &mut dyn FnMut(&dyn ForestSpan) -> Result<()>,
    ) -> Result<()> {
        let node = first_level(first);
        if let Some(span) = self.span(node) {
            return visitor(&span);
        }
        let number = self.set_of(node);
        let sets = self.sets.read(number);
        match sets.get(&number).and_then(|set| set.span(first)) {
            Some(span) => visitor(&span),
            None => Ok(()),
        }
    }

    fn read(
        &self,
        keys: RangeInclusive<u64>,
        most: usize,
        entries: &mut Vec<ForestEntry>,
    ) -> Result<bool> {
        let node = first_level(*keys.start());
        debug_assert_eq!(node, first_level(*keys.end()));
        if let Some(span) = self.span(node) {
            let start = entries.len();
            span.push(&keys, entries);
            entries[start..].sort_unstable();
            let is_whole = entries.len() - start <= most;
            entries.truncate(start.saturating_add(most));
            return Ok(is_whole);
        }
        let number = self.set_of(node);
        let (mut from, to) = ((*keys.start(), 0), (*keys.end(), u32::MAX));
        let end = entries.len().saturating_add(most);
        // The lock is released after each chunk: a reader of a million entries must not keep the
        // appender waiting.
        while from <= to {
            let sets = self.sets.read(number);
            let Some(chunk) = sets.get(&number).and_then(|set| set.from(from)) else {
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

    fn forest(has_blocks: bool) -> MemtableForest {
        match has_blocks {
            true => MemtableForest::new(1),
            false => MemtableForest::for_few_texts(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn forest_equals_a_sorted_set(
            entries in prop::collection::vec((0..900_u64, 0..4_u32), 0..3_000),
            nodes in prop::sample::select(vec![1_u64, 5, 200, 900]),
            ranges in prop::collection::vec((0..950_u64, 0..400_u64, 0..900_usize), 1..20),
            has_blocks in any::<bool>(),
        ) {
            let forest = forest(has_blocks);
            let key = |n: u64| ((n % nodes) << FIRST_LEVEL_SHIFT) | (n / nodes);
            let entries: Vec<KeyEntry> =
                entries.iter().map(|(n, number)| (key(*n), *number)).collect();
            for (key, number) in entries.iter().chain(&entries) {
                forest.add(*key, *number);
            }
            let expected: BTreeSet<KeyEntry> = entries.into_iter().collect();
            forest.fetch(&[0, 3, 7 << FIRST_LEVEL_SHIFT]);
            for (n, len, most) in ranges {
                let first = key(n);
                let last = (first + len).min(((first_level(first) + 1) << FIRST_LEVEL_SHIFT) - 1);
                let wanted = expected.iter().filter(|(key, _)| (first..=last).contains(key));
                let wanted: Vec<ForestEntry> =
                    wanted.map(|(key, number)| (*key, u64::from(*number))).collect();
                let mut found = Vec::new();
                let is_whole = forest.read(first..=last, most, &mut found).unwrap();
                prop_assert_eq!(is_whole, wanted.len() <= most);
                prop_assert_eq!(&found, &wanted[..wanted.len().min(most)]);
                let mut on_span = None;
                forest.visit_span(first, &mut |span| {
                    let mut found = Vec::new();
                    span.push(&(first..=last), &mut found);
                    assert_eq!(span.count(&(first..=last)), found.len());
                    found.sort_unstable();
                    on_span = span.has_all_to(last).then_some(found);
                    Ok(())
                }).unwrap();
                prop_assert!(on_span.is_none_or(|found| found == wanted));
            }
        }
    }

    #[test]
    fn reader_finds_all_entries_that_were_added_before() {
        let (forest, added) = (MemtableForest::new(1), AtomicUsize::new(0));
        let key = |n: u64| ((n % 40) << FIRST_LEVEL_SHIFT) | n;
        const ENTRIES: u64 = 4_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..ENTRIES {
                    forest.add(key(n), n as u32);
                    added.store(n as usize + 1, Ordering::Release);
                }
            });
            let mut known = 0;
            while known < ENTRIES {
                known = added.load(Ordering::Acquire) as u64;
                for node in 0..40 {
                    let first = node << FIRST_LEVEL_SHIFT;
                    let keys = first..=first + (1 << FIRST_LEVEL_SHIFT) - 1;
                    let mut found = Vec::new();
                    forest.read(keys, usize::MAX, &mut found).unwrap();
                    let all = (0..known).filter(|n| n % 40 == node);
                    let expected: Vec<ForestEntry> = all.map(|n| (key(n), n)).collect();
                    assert!(found.starts_with(&expected));
                }
            }
        });
    }
}
