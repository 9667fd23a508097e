//! [`NodeCache`]: nodes of the first level of the forest in memory.
//!
//! A search walks down two nodes of each tree. In the file, a node is a range of chunks to find and verify,
//! which takes a microsecond or two. In the cache, a node is one array. A full cache keeps its nodes until a
//! commit changes them.

use std::sync::Arc;

use crate::minhash::{FIRST_LEVEL_SHIFT, FIRST_LEVELS, ForestEntry, ForestPage, first_level};
use crate::store::view::clock_cache::ClockCache;
use crate::store::view::last_changes::LastChanges;

/// A node of more entries is not kept, 1 MiB, since it is as large as thousands of others, and queries read only parts
/// of it.
pub(super) const MAX_ENTRIES: usize = 1 << 17;

/// The reference counts of a cached node and the header of its allocation, at most.
const ALLOCATION_BYTES: u64 = 32;

/// Nodes of one file, shared by all snapshots. A snapshot gets a cached node only if no commit between the
/// read of the node and the snapshot has changed the node.
pub(crate) struct NodeCache {
    cache: ClockCache<CachedNode>,
    last_changes: LastChanges,
}

/// A node as of one commit.
#[derive(Clone)]
pub(super) struct CachedNode {
    commit: u64,
    /// `None` if the node is too large.
    pub(super) entries: Option<NodeEntries>,
}

/// The entries of a node: their number; the end of each bucket of keys with equal upper bits; the low halves of
/// the keys in order, those of the ids, and the high halves of the ids unless all are 0.
///
/// A search in a bucket reads one or two cache lines of keys, a search in a large node a line for each step.
#[derive(Clone)]
pub(super) struct NodeEntries {
    first_level: u64,
    words: Arc<[u32]>,
}

/// A bucket has 8 to 16 keys on average.
const BUCKET_LEN: u32 = 8;

/// The upper bits of a key that are equal in a bucket, in a node of so many entries.
fn bucket_bits(len: usize) -> u32 {
    (len as u32 / BUCKET_LEN).checked_ilog2().unwrap_or(0)
}

fn bucket_of(key: u64, bits: u32) -> usize {
    ((key as u32 & LOW_BITS) >> (FIRST_LEVEL_SHIFT - bits)) as usize
}

impl NodeCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes_of = |node: &CachedNode| {
            let entries = node.entries.as_ref();
            entries.map_or(0, |entries| {
                size_of_val(&*entries.words) as u64 + ALLOCATION_BYTES
            })
        };
        Self {
            cache: ClockCache::new(FIRST_LEVELS, bytes, bytes_of),
            last_changes: LastChanges::new(FIRST_LEVELS),
        }
    }

    /// The node with a key as of a commit, if the node is cached.
    pub(super) fn get(&self, key: u64, commit: u64) -> Option<CachedNode> {
        let index = first_level(key) as usize;
        let cached = self.cache.get(index)?;
        // Race: read after the cache. `apply_changes` records the commit before it removes the node.
        let last_change = self.last_changes.last_change(index);
        (last_change <= cached.commit.min(commit)).then_some(cached)
    }

    /// Returns `true` if the largest node fits without an eviction.
    pub(super) fn has_room(&self) -> bool {
        let most = (4 * size_of::<u32>() * MAX_ENTRIES) as u64;
        self.cache.bytes() + most < self.cache.capacity_bytes()
    }

    /// Caches the node with a key, which was read as of a commit, unless a later commit has changed the node.
    /// `None` for a node of more than [`MAX_ENTRIES`].
    pub(super) fn insert(
        &self,
        key: u64,
        commit: u64,
        entries: Option<&[ForestEntry]>,
    ) -> CachedNode {
        let index = first_level(key) as usize;
        let entries = entries.map(|entries| NodeEntries::new(first_level(key), entries));
        let node = CachedNode { commit, entries };
        // A commit between this check and the insert is harmless: `get` checks again.
        if self.last_changes.last_change(index) <= commit {
            self.cache.insert(index, node.clone());
        }
        node
    }

    /// Removes nodes, by the first levels of their keys, that a commit changes. Must be called before a
    /// snapshot can see the commit.
    pub(crate) fn apply_changes(&self, first_levels: &[u32], commit: u64) {
        for index in first_levels {
            let index = *index as usize;
            self.last_changes.record(index, commit);
            self.cache.remove_if(index, |node| node.commit < commit);
        }
    }

    /// Invalidates all nodes from this commit on. Must be called before a snapshot can see the commit.
    pub(crate) fn invalidate_all(&self, commit: u64) {
        self.last_changes.record_all(commit);
        self.cache.clear();
    }

    pub(crate) fn clear(&self) {
        self.cache.clear();
    }
}

impl NodeEntries {
    fn new(first_level: u64, entries: &[ForestEntry]) -> Self {
        let is_wide = entries.iter().any(|(_, id)| id >> 32 != 0);
        let len = [entries.len() as u32];
        let keys = entries.iter().map(|(key, _)| *key as u32 & LOW_BITS);
        let low = entries.iter().map(|(_, id)| *id as u32);
        let high = entries.iter().map(|(_, id)| (id >> 32) as u32);
        let high = high.take(if is_wide { entries.len() } else { 0 });
        let bits = bucket_bits(entries.len());
        // Counted, so that the ends ascend also if the entries of a damaged page are in no order.
        let mut ends = vec![0; 1 << bits];
        for (key, _) in entries {
            ends[bucket_of(*key, bits)] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let words = len.into_iter().chain(ends).chain(keys).chain(low);
        let words = words.chain(high);
        Self {
            first_level,
            // Collected twice, because the length of a chain is not known in advance.
            words: words.collect::<Vec<u32>>().into(),
        }
    }

    fn len(&self) -> usize {
        self.words[0] as usize
    }

    /// The ends of the buckets.
    fn ends(&self) -> &[u32] {
        &self.words[1..=1 << bucket_bits(self.len())]
    }

    /// The words behind the ends of the buckets.
    fn key_words(&self) -> &[u32] {
        &self.words[1 + self.ends().len()..]
    }
}

impl ForestPage for NodeEntries {
    fn has_all_to(&self, last: u64) -> bool {
        first_level(last) == self.first_level
    }

    fn rank(&self, key: u64) -> usize {
        match first_level(key) {
            level if level < self.first_level => 0,
            level if level > self.first_level => self.len(),
            // No key is smaller. Most nodes are taken whole, so this saves most searches.
            _ if key as u32 & LOW_BITS == 0 => 0,
            _ => {
                let bucket = bucket_of(key, bucket_bits(self.len()));
                let start = bucket.checked_sub(1).map_or(0, |last| self.ends()[last]);
                let keys = &self.key_words()[start as usize..self.ends()[bucket] as usize];
                start as usize + keys.partition_point(|each| *each < key as u32 & LOW_BITS)
            }
        }
    }

    fn push(&self, from: u64, count: usize, entries: &mut Vec<ForestEntry>) {
        let (start, len) = (self.rank(from), self.len());
        let (keys, ids) = self.key_words().split_at(len);
        let (low, high) = ids.split_at(len);
        let all = start..start + count;
        for (at, (key, low)) in keys[all.clone()].iter().zip(&low[all]).enumerate() {
            let key = self.first_level << FIRST_LEVEL_SHIFT | u64::from(*key);
            let high = high
                .get(start + at)
                .map_or(0, |high| u64::from(*high) << 32);
            entries.push((key, high | u64::from(*low)));
        }
    }
}

/// The bits of a key behind its first level.
const LOW_BITS: u32 = (1 << FIRST_LEVEL_SHIFT) - 1;

const _: () = assert!(FIRST_LEVEL_SHIFT < u32::BITS && FIRST_LEVELS < u32::MAX as usize);

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: u64 = 77 << FIRST_LEVEL_SHIFT;

    fn entries(page: &dyn ForestPage, from: u64, to: u64) -> Vec<ForestEntry> {
        let mut entries = Vec::new();
        let start = page.rank(from);
        page.push(from, page.rank(to) - start, &mut entries);
        entries
    }

    #[test]
    fn cached_node_has_the_entries_of_each_range() {
        for high in [0, 7 << 40] {
            let all: Vec<ForestEntry> = (0..500)
                .map(|n| (NODE + n * n / 3 * 1_000, high + n % 10))
                .collect();
            let node = NodeEntries::new(77, &all);
            assert!(node.has_all_to(NODE + 5) && !node.has_all_to(78 << FIRST_LEVEL_SHIFT));
            let ends = all.iter().step_by(37).map(|(key, _)| *key);
            let ends: Vec<u64> = ends.chain([NODE - 1, 78 << FIRST_LEVEL_SHIFT]).collect();
            for from in &ends {
                for to in ends.iter().filter(|to| *to >= from) {
                    let wanted = all.iter().filter(|(key, _)| (*from..*to).contains(key));
                    let expected: Vec<ForestEntry> = wanted.copied().collect();
                    assert_eq!(entries(&node, *from, *to), expected);
                }
            }
        }
    }

    #[test]
    fn changed_node_is_not_returned_and_not_inserted_for_older_commits() {
        let cache = NodeCache::new(1 << 20);
        let node = [(NODE, 1), (NODE + 9, 2)];
        cache.insert(NODE, 5, Some(&node));
        for commit in [4, 5, 9] {
            assert!(cache.get(NODE + 3, commit).is_some());
        }
        cache.apply_changes(&[77], 6);
        cache.insert(NODE, 5, Some(&node));
        assert!(
            [5, 6]
                .iter()
                .all(|commit| cache.get(NODE, *commit).is_none())
        );
        cache.insert(NODE, 6, None);
        assert!(
            cache
                .get(NODE, 6)
                .is_some_and(|node| node.entries.is_none())
        );
        assert!(cache.get(NODE, 5).is_none());
        cache.invalidate_all(8);
        cache.insert(NODE, 7, Some(&node));
        assert!(cache.get(NODE, 8).is_none());
    }
}
