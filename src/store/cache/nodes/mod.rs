//! [`NodeCache`]: nodes of the first level of the forest in memory.
//!
//! A search walks down two nodes of each tree. In the file, a node is a range of chunks to find and
//! verify, which takes a microsecond or two. In the cache, a node is one array of words, which is
//! read without a lock. So the processor fetches the nodes of all trees from memory at the same
//! time.
//!
//! A full cache keeps its nodes until commits have changed a quarter of its words. Then all nodes
//! are removed.

mod node;
mod place;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use parking_lot::Mutex;

use crate::error::Result;
use crate::forest::{FIRST_LEVELS, ForestEntry, ForestSpan, behind_first_level, first_level};
use crate::store::cache::commit_stamps::CommitStamps;
use crate::store::prefetch::{load, touch};
pub(in crate::store) use node::MAX_ENTRIES;
use node::{MAX_NODE_WORDS, NodeSpan, NodeWords};
use place::{Generation, Place};

/// Words that are allocated together, 4 MiB. A node is in one segment.
const SEGMENT_LEN: usize = 1 << 19;

/// Places that are allocated together, 8 KiB.
const PLACE_SEGMENT_LEN: usize = 1024;

/// Stamps of all nodes, 128 KiB.
// Few enough to stay in the cache of the processor: a visit reads the stamp of its node.
const STAMPS: usize = 1 << 14;

/// Nodes of one file, shared by all snapshots, by the rule of [`CommitStamps`].
pub(crate) struct NodeCache {
    /// A [`Place`] for each node.
    places: Box<[OnceLock<Box<[AtomicU64]>>]>,
    segments: Box<[OnceLock<Box<[AtomicU64]>>]>,
    /// Words of all segments.
    capacity: usize,
    /// The words of all nodes, including removed ones.
    len: AtomicUsize,
    /// The words of removed nodes.
    removed: AtomicUsize,
    stamps: CommitStamps,
    writer: Mutex<Generation>,
    pub(super) misses: AtomicU64,
}

/// The number of the node with a key; `None` for the key of a wording, which is in no tree.
pub(super) fn node_of(key: u64) -> Option<u32> {
    let node = first_level(key);
    (node < FIRST_LEVELS as u64).then_some(node as u32)
}

/// The result of a visit.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Visit {
    Done,
    /// The node is not in the cache, or was removed during the visit. The visitor may have seen a
    /// wrong span.
    Missing,
    /// A later commit has changed the node.
    Outdated,
    /// The node has more than [`MAX_ENTRIES`].
    TooLarge,
}

impl NodeCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let place_bytes = (FIRST_LEVELS + STAMPS) * size_of::<u64>();
        let capacity = (bytes - place_bytes.min(bytes / 2)) / size_of::<u64>();
        let capacity = capacity.min(1 << (u64::BITS - Place::START_SHIFT));
        let place_segments = FIRST_LEVELS.div_ceil(PLACE_SEGMENT_LEN);
        Self {
            places: (0..place_segments).map(|_| OnceLock::new()).collect(),
            segments: (0..capacity.div_ceil(SEGMENT_LEN))
                .map(|_| OnceLock::new())
                .collect(),
            capacity,
            len: AtomicUsize::new(0),
            removed: AtomicUsize::new(0),
            stamps: CommitStamps::new(STAMPS),
            writer: Mutex::new(Generation(1)),
            misses: AtomicU64::new(0),
        }
    }

    /// Visits the node with a key as of a commit.
    pub(in crate::store) fn visit(
        &self,
        key: u64,
        commit: u64,
        visitor: &mut dyn FnMut(&dyn ForestSpan) -> Result<()>,
    ) -> Result<Visit> {
        let node = first_level(key);
        let Some(own) = self.place(node) else {
            return Ok(Visit::Missing);
        };
        let place = Place(own.load(Ordering::Acquire));
        // Race: read after the place. A commit is recorded before the node of a later commit is
        // placed.
        if !self.stamps.is_unchanged_since(node as usize, commit) {
            return Ok(Visit::Outdated);
        }
        if place == Place::MISSING {
            return Ok(Visit::Missing);
        }
        if place == Place::TOO_LARGE {
            return Ok(Visit::TooLarge);
        }
        visitor(&self.span(node, place))?;
        // Race: words are overwritten only after the places of all nodes were removed.
        fence(Ordering::Acquire);
        match own.load(Ordering::Relaxed) == place.0 {
            true => Ok(Visit::Done),
            false => Ok(Visit::Missing),
        }
    }

    /// Fetches the entries from some keys on into the cache of the processor: first the places of
    /// all nodes, then the ends of buckets, then the entries.
    pub(in crate::store) fn touch(&self, keys: &[u64]) {
        let place = |key: &u64| {
            let own = self.place(first_level(*key))?;
            Some((*key, Place(load(own))))
        };
        let places: Vec<(u64, Place)> = keys.iter().filter_map(place).collect();
        let places = places.iter().filter(|(_, place)| place.is_node());
        let entries = places.map(|(key, place)| {
            let span = self.span(first_level(*key), *place);
            span.entries_from_bucket(behind_first_level(*key))
        });
        let entries: Vec<&[AtomicU64]> = entries.collect();
        touch(entries.into_iter());
    }

    /// Returns `true` if the largest node fits, or will fit when the cache begins anew.
    pub(in crate::store) fn has_room(&self) -> bool {
        self.fits(MAX_NODE_WORDS) || self.may_begin_anew()
    }

    /// Returns `true` if the cache is large enough for any node.
    fn is_used(&self) -> bool {
        MAX_NODE_WORDS <= self.capacity
    }

    fn may_begin_anew(&self) -> bool {
        let (removed, len) = (&self.removed, &self.len);
        self.is_used() && removed.load(Ordering::Relaxed) >= len.load(Ordering::Relaxed) / 4
    }

    fn fits(&self, words: usize) -> bool {
        self.start_for(words) + words <= self.capacity
    }

    /// Caches the node with a key, which was read as of a commit, unless a later commit has changed
    /// the node. `None` for a node of more than [`MAX_ENTRIES`].
    pub(in crate::store) fn insert(&self, key: u64, commit: u64, entries: Option<&[ForestEntry]>) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        if !self.is_used() {
            return;
        }
        let new = entries.map(NodeWords::new);
        let mut generation = self.writer.lock();
        let node = first_level(key) as usize;
        let own = self.place_to_change(node);
        if !self.stamps.is_unchanged_since(node, commit) || load(own) != Place::MISSING.0 {
            return;
        }
        let place = match &new {
            Some(new) => self.write(new, &mut generation),
            None => Some(Place::TOO_LARGE),
        };
        if let Some(place) = place {
            own.store(place.0, Ordering::Release);
        }
    }

    /// Removes the nodes that a commit changes, by the first levels of their keys; `None` removes
    /// all. Must be called before a snapshot can see the commit.
    pub(in crate::store) fn apply(&self, first_levels: Option<&[u32]>, commit: u64) {
        let mut generation = self.writer.lock();
        let Some(first_levels) = first_levels else {
            self.stamps.record_all(commit);
            return self.remove_all(&mut generation);
        };
        if !self.is_used() {
            return;
        }
        for node in first_levels {
            self.stamps.record(*node as usize, commit);
            let own = self.place_to_change(*node as usize);
            let place = Place(own.swap(Place::MISSING.0, Ordering::Release));
            if place.is_node() {
                let words: usize = place.parts().iter().sum();
                self.removed.fetch_add(words, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn clear(&self) {
        self.remove_all(&mut self.writer.lock());
    }

    fn remove_all(&self, generation: &mut Generation) {
        for own in self.places.iter().filter_map(OnceLock::get).flatten() {
            own.store(Place::MISSING.0, Ordering::Release);
        }
        generation.0 = generation.0 % ((1 << Place::GENERATION_BITS) - 1) + 1;
        self.len.store(0, Ordering::Relaxed);
        self.removed.store(0, Ordering::Relaxed);
    }

    /// Writes the words of a node; `None` if there is no room.
    fn write(&self, new: &NodeWords, generation: &mut Generation) -> Option<Place> {
        let len = new.words.len();
        if !self.fits(len) && self.may_begin_anew() {
            self.remove_all(generation);
        }
        if !self.fits(len) {
            return None;
        }
        // An empty node has no segment.
        let start = if len == 0 { 0 } else { self.start_for(len) };
        let segment = start / SEGMENT_LEN;
        self.segments.get(segment)?.get_or_init(|| {
            let rest = self.capacity - segment * SEGMENT_LEN;
            let words = 0..rest.min(SEGMENT_LEN);
            words.map(|_| AtomicU64::new(0)).collect()
        });
        // Race: a thread that reads one of the new words sees that the node which it visits was
        // removed.
        fence(Ordering::Release);
        for (place, word) in self.words(start, len).iter().zip(&new.words) {
            place.store(*word, Ordering::Relaxed);
        }
        self.len.fetch_max(start + len, Ordering::Relaxed);
        Some(Place::new(start, new.len, new.has_high, generation))
    }

    /// The start of the next node, which has `len` words.
    fn start_for(&self, len: usize) -> usize {
        let start = self.len.load(Ordering::Relaxed);
        match start % SEGMENT_LEN + len {
            ..=SEGMENT_LEN => start,
            _ => start.next_multiple_of(SEGMENT_LEN),
        }
    }

    fn span(&self, node: u64, place: Place) -> NodeSpan<'_> {
        let [ends, entries, high] = place.parts();
        let start = place.start();
        NodeSpan {
            node,
            ends: self.words(start, ends),
            entries: self.words(start + ends, entries),
            high: self.words(start + ends + entries, high),
        }
    }

    /// Words of a node.
    fn words(&self, start: usize, len: usize) -> &[AtomicU64] {
        let segment = self.segments.get(start / SEGMENT_LEN);
        let segment = segment.and_then(OnceLock::get);
        let start = start % SEGMENT_LEN;
        let words = segment.and_then(|words| words.get(start..start + len));
        words.unwrap_or_default()
    }

    /// The place of a node; `None` if no node near it was cached or changed.
    fn place(&self, node: u64) -> Option<&AtomicU64> {
        let node = usize::try_from(node).ok()?;
        self.places
            .get(node / PLACE_SEGMENT_LEN)?
            .get()?
            .get(node % PLACE_SEGMENT_LEN)
    }

    fn place_to_change(&self, node: usize) -> &AtomicU64 {
        let missing = || AtomicU64::new(Place::MISSING.0);
        let segment = self.places[node / PLACE_SEGMENT_LEN]
            .get_or_init(|| (0..PLACE_SEGMENT_LEN).map(|_| missing()).collect());
        &segment[node % PLACE_SEGMENT_LEN]
    }
}

const _: () = assert!(MAX_NODE_WORDS <= SEGMENT_LEN);

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;
    use crate::forest::FIRST_LEVEL_SHIFT;

    const NODE: u64 = 77 << FIRST_LEVEL_SHIFT;

    /// The bytes of a cache for 600,000 words.
    const BYTES: u64 = 2 * 4_800_000;

    fn entries(
        cache: &NodeCache,
        keys: RangeInclusive<u64>,
        commit: u64,
    ) -> Option<Vec<ForestEntry>> {
        let mut entries = Vec::new();
        let mut visitor = |span: &dyn ForestSpan| {
            entries.clear();
            span.push(&keys, &mut entries);
            assert!(span.has_all_to(*keys.end()) && !span.has_all_to(NODE << 1));
            Ok(())
        };
        let visit = cache.visit(*keys.start(), commit, &mut visitor).unwrap();
        (visit == Visit::Done).then_some(entries)
    }

    fn has(cache: &NodeCache, commit: u64) -> bool {
        entries(cache, NODE..=NODE, commit).is_some()
    }

    #[test]
    fn cached_node_has_the_entries_of_each_range() {
        for (high, len) in [
            (0, 0),
            (0, 5),
            (7 << 40, 64),
            (0, 65),
            (7 << 40, 500),
            (0, 5000),
        ] {
            let all: Vec<ForestEntry> = (0..len)
                .map(|n| (NODE + n * n / 3 * 10, high + n % 10))
                .collect();
            let cache = NodeCache::new(BYTES);
            cache.insert(NODE + 3, 5, Some(&all));
            cache.touch(&[NODE, NODE + 70, NODE << 1, 5]);
            let last = NODE + (1 << FIRST_LEVEL_SHIFT) - 1;
            let ends = all.iter().step_by(37).map(|(key, _)| *key);
            let ends: Vec<u64> = ends.chain([NODE, NODE + 9, last]).collect();
            for from in &ends {
                for to in ends.iter().filter(|to| *to >= from) {
                    let wanted = all.iter().filter(|(key, _)| (*from..=*to).contains(key));
                    let expected: Vec<ForestEntry> = wanted.copied().collect();
                    assert_eq!(entries(&cache, *from..=*to, 5), Some(expected));
                }
            }
        }
    }

    #[test]
    fn changed_node_is_not_returned_and_not_inserted_for_older_commits() {
        let cache = NodeCache::new(BYTES);
        let node = [(NODE, 1), (NODE + 9, 2)];
        assert!(!has(&cache, 9));
        cache.insert(NODE, 5, Some(&node));
        assert!([4, 5, 9].iter().all(|commit| has(&cache, *commit)));
        cache.apply(Some(&[77]), 6);
        cache.insert(NODE, 5, Some(&node));
        assert!([5, 6].iter().all(|commit| !has(&cache, *commit)));
        cache.insert(NODE, 6, None);
        let visit = |commit| cache.visit(NODE, commit, &mut |_| Ok(())).unwrap();
        assert_eq!(visit(6), Visit::TooLarge);
        assert_eq!(visit(5), Visit::Outdated);
        cache.apply(None, 8);
        cache.insert(NODE, 7, Some(&node));
        assert!(!has(&cache, 8));
    }

    #[test]
    fn full_cache_keeps_its_nodes_until_a_quarter_of_them_is_removed() {
        let cache = NodeCache::new(BYTES);
        let node: Vec<ForestEntry> = (0..5_000).map(|n| (n, n)).collect();
        let key = |n: u32| u64::from(n) << FIRST_LEVEL_SHIFT;
        let has = |n: u32| entries(&cache, key(n)..=key(n), 9).is_some();
        let mut cached = 0;
        while cache.has_room() {
            cache.insert(key(cached), 1, Some(&node));
            cached += 1;
        }
        assert!((20..80).contains(&cached) && (0..cached).all(has));
        cache.apply(Some(&[0, 1]), 2);
        assert!(!cache.has_room());
        let removed: Vec<u32> = (2..cached / 2).collect();
        cache.apply(Some(&removed), 3);
        assert!(cache.has_room() && has(cached - 1));
        for n in removed {
            cache.insert(key(n), 3, Some(&node));
            assert!(has(n));
        }
        let small = NodeCache::new(1 << 20);
        small.insert(NODE, 1, Some(&node));
        assert!(!small.has_room() && small.place(first_level(NODE)).is_none());
    }

    #[test]
    fn nodes_of_any_size_fill_a_cache_to_its_last_word() {
        let cache = NodeCache::new(BYTES);
        let all: Vec<ForestEntry> = (0..MAX_ENTRIES as u64).map(|n| (n, n)).collect();
        let key = |n: u64| n << FIRST_LEVEL_SHIFT;
        for (n, len) in (0_u64..).zip([131_072, 131_072, 131_072, 131_072, 4_000, 60, 9, 5, 1, 0]) {
            cache.insert(key(n), 1, Some(&all[..len]));
        }
        let rest = cache.capacity - cache.len.load(Ordering::Relaxed);
        for n in 0..rest as u64 {
            cache.insert(key(20 + n), 1, Some(&[(1, 1)]));
        }
        assert_eq!(cache.len.load(Ordering::Relaxed), cache.capacity);
        cache.insert(key(10), 1, Some(&[]));
        cache.insert(key(11), 1, Some(&[(1, 1)]));
        let has = |n| entries(&cache, key(n)..=key(n) + 1, 1).is_some();
        assert!(has(0) && has(20) && has(10) && !has(11) && !cache.has_room());
    }

    #[test]
    fn reader_never_sees_words_of_another_node() {
        let (cache, seen) = (NodeCache::new(BYTES), AtomicUsize::new(0));
        let node = |n: u64| -> Vec<ForestEntry> { vec![(n << FIRST_LEVEL_SHIFT | n, n); 9_000] };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in (0..20).cycle() {
                    let key = n << FIRST_LEVEL_SHIFT;
                    let keys = key..=key + 100;
                    if let Some(found) = entries(&cache, keys, u64::MAX) {
                        assert!(found == node(n));
                        if seen.fetch_add(1, Ordering::Relaxed) > 2_000 {
                            break;
                        }
                    }
                }
            });
            let mut commit = 1;
            while seen.load(Ordering::Relaxed) <= 2_000 {
                for n in 0..20 {
                    cache.insert(n << FIRST_LEVEL_SHIFT, commit, Some(&node(n)));
                }
                commit += 1;
                cache.apply(Some(&[commit as u32 % 20, 7]), commit);
            }
        });
    }
}
