//! The words of a node, and the search in them.

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::AtomicU64;

use crate::forest::{FIRST_LEVEL_SHIFT, ForestEntry, ForestSpan, behind_first_level, first_level};
use crate::store::prefetch::{TOUCHED_WORDS, load};

/// Nodes above 131,072 entries, 1 MiB, are not cached.
// One such node would displace thousands of others, and queries read only parts of it.
pub(in crate::store) const MAX_ENTRIES: usize = 1 << 17;

/// The words of the largest node: ends of buckets, entries, and high parts of ids.
pub(super) const MAX_NODE_WORDS: usize = MAX_ENTRIES / BUCKET_LEN + MAX_ENTRIES + MAX_ENTRIES / 2;

/// A node with more entries has buckets.
// A binary search in a smaller node reads only lines that were fetched ahead.
const MAX_LEN_WITHOUT_BUCKETS: usize = TOUCHED_WORDS;

/// A bucket has 8 to 16 keys on average.
const BUCKET_LEN: usize = 8;

/// The bits of an id in the word of an entry. The other bits are the part of the key behind its
/// first level.
const ID_BITS: u32 = u64::BITS - FIRST_LEVEL_SHIFT;

/// The words of a node: the end of each bucket of keys with equal upper bits, in a large node; the
/// entries; and the high parts of the ids, two in a word, if any id has one.
pub(super) struct NodeWords {
    pub(super) words: Vec<u64>,
    /// The number of entries.
    pub(super) len: usize,
    pub(super) has_high: bool,
}

/// A node in the cache.
///
/// A writer may change the words of a removed node during a visit, so no word leads outside of
/// them.
pub(super) struct NodeSpan<'c> {
    pub(super) node: u64,
    pub(super) ends: &'c [AtomicU64],
    pub(super) entries: &'c [AtomicU64],
    pub(super) high: &'c [AtomicU64],
}

/// The number of buckets of a node with `len` entries.
pub(super) fn buckets(len: usize) -> usize {
    match len {
        0..=MAX_LEN_WITHOUT_BUCKETS => 0,
        _ => 1 << (len / BUCKET_LEN).ilog2(),
    }
}

/// The bucket of a part of a key. `buckets` is a power of two.
fn bucket_of(part: u32, buckets: usize) -> usize {
    ((u64::from(part) * buckets as u64) >> FIRST_LEVEL_SHIFT) as usize
}

impl NodeWords {
    pub(super) fn new(entries: &[ForestEntry]) -> Self {
        let has_high = entries.iter().any(|(_, id)| id >> ID_BITS != 0);
        let mut words = vec![0; buckets(entries.len())];
        let buckets = words.len();
        for (key, _) in entries.iter().filter(|_| buckets > 0) {
            words[bucket_of(behind_first_level(*key), buckets)] += 1;
        }
        let mut end = 0;
        for count in &mut words {
            end += *count;
            *count = end;
        }
        let word = |(key, id): &ForestEntry| {
            (u64::from(behind_first_level(*key)) << ID_BITS) | (id % (1 << ID_BITS))
        };
        words.extend(entries.iter().map(word));
        if has_high {
            let high = entries.chunks(2).map(|pair| {
                let parts = pair.iter().map(|(_, id)| id >> ID_BITS);
                parts.rev().fold(0, |word, part| (word << u32::BITS) | part)
            });
            words.extend(high);
        }
        Self {
            words,
            len: entries.len(),
            has_high,
        }
    }
}

impl<'c> NodeSpan<'c> {
    /// The entries from the bucket of a part on.
    pub(super) fn entries_from_bucket(&self, part: u32) -> &'c [AtomicU64] {
        let start = self.bucket(part).start;
        self.entries.get(start..).unwrap_or_default()
    }

    /// The places of the entries in the bucket of a part; all places without buckets.
    fn bucket(&self, part: u32) -> Range<usize> {
        if self.ends.is_empty() {
            return 0..self.entries.len();
        }
        let bucket = bucket_of(part, self.ends.len());
        let start = bucket
            .checked_sub(1)
            .map_or(0, |last| load(&self.ends[last]));
        start as usize..load(&self.ends[bucket]) as usize
    }

    /// The places of the entries with a key of a range of this node.
    fn range(&self, keys: &RangeInclusive<u64>) -> Range<usize> {
        let start = match behind_first_level(*keys.start()) {
            // No key is smaller. Most nodes are taken whole, so this saves most searches.
            0 => 0,
            first => self.rank(first),
        };
        let end = match behind_first_level(keys.end() + 1) {
            0 => self.entries.len(),
            behind => self.rank(behind),
        };
        start..end.max(start)
    }

    /// The number of entries with a part of the key below a part.
    fn rank(&self, part: u32) -> usize {
        let all = self.bucket(part);
        let start = all.start;
        let entries = self.entries.get(all).unwrap_or_default();
        start + entries.partition_point(|word| load(word) >> ID_BITS < u64::from(part))
    }
}

impl ForestSpan for NodeSpan<'_> {
    fn has_all_to(&self, last: u64) -> bool {
        first_level(last) == self.node
    }

    fn count(&self, keys: &RangeInclusive<u64>) -> usize {
        debug_assert_eq!(first_level(*keys.start()), first_level(*keys.end()));
        self.range(keys).len()
    }

    fn push(&self, keys: &RangeInclusive<u64>, entries: &mut Vec<ForestEntry>) {
        let range = self.range(keys);
        let words = self.entries.get(range.clone()).unwrap_or_default();
        entries.extend(range.zip(words).map(|(at, word)| {
            let word = load(word);
            let key = self.node << FIRST_LEVEL_SHIFT | word >> ID_BITS;
            let high = self.high.get(at / 2).map_or(0, load) >> (at % 2 * 32);
            (
                key,
                (u64::from(high as u32) << ID_BITS) | (word % (1 << ID_BITS)),
            )
        }));
    }
}

// A high part has 32 bits.
const _: () = assert!(u64::BITS - ID_BITS <= u32::BITS);
