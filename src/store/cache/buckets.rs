//! [`BucketCache`]: buckets in memory. A bucket is the distinct fingerprints of one block key.
//!
//! A query reads one bucket for each key that it probes. In the file, a bucket is a range of chunks
//! to find and verify. In the cache, a bucket is one [`PackedBucket`], smaller than the pages of
//! that range.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::{self, BLOCK_BITS, BLOCKS};
use crate::hamming;
use crate::store::cache::clock::ClockCache;
use crate::store::cache::commit_stamps::CommitStamps;
use crate::store::cache::packed_bucket::{MAX_BYTES_PER_FINGERPRINT, PackedBucket};
use crate::store::tables::packed::Op;

/// The changes of one block: its number, and rotated fingerprints in order.
pub(super) type BlockChanges = (usize, Vec<(u64, Op)>);

pub(crate) const KEYS_PER_BLOCK: usize = 1 << BLOCK_BITS;

/// The block whose table a scan reads.
// This table has 5 to 7 bytes for each distinct fingerprint; `block0` has 8 to 17 bytes for each
// document.
pub(crate) const SCAN_BLOCK: usize = 1;

/// The distinct reliable fingerprints whose rotation by a block begins with one key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bucket<'b> {
    Whole(Fingerprints<'b>),
    /// More than [`Limits::max_bucket_len`](crate::store::limits::Limits::max_bucket_len)
    /// fingerprints: queries read the parts that they need.
    TooLarge,
}

/// Rotated fingerprints in order, from the file or from the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fingerprints<'b> {
    Unpacked(&'b [u64]),
    Packed(&'b PackedBucket),
}

impl<'b> Fingerprints<'b> {
    /// Appends the fingerprints within `radius` of the rotated `query` to `found`, in order.
    pub(crate) fn push_within(self, query: u64, radius: u32, found: &mut Vec<u64>) {
        match self {
            Self::Unpacked(fingerprints) => {
                hamming::push_within(fingerprints, query, radius, found);
            }
            Self::Packed(packed) => packed.push_within(query, radius, found),
        }
    }

    /// The fingerprints as a slice, unpacked into `unpacked` if they are packed.
    pub(crate) fn as_slice<'s>(self, unpacked: &'s mut Vec<u64>) -> &'s [u64]
    where
        'b: 's,
    {
        match self {
            Self::Unpacked(fingerprints) => fingerprints,
            Self::Packed(packed) => {
                unpacked.clear();
                packed.unpack(unpacked);
                unpacked
            }
        }
    }
}

/// A bucket in memory; `None` inside if the bucket is too large.
#[derive(Clone)]
pub(crate) struct CachedBucket(Option<PackedBucket>);

impl CachedBucket {
    pub(crate) fn bucket(&self) -> Bucket<'_> {
        match &self.0 {
            Some(packed) => Bucket::Whole(Fingerprints::Packed(packed)),
            None => Bucket::TooLarge,
        }
    }
}

/// Cache lines of a bucket that a query with few keys touches.
// Measured with 50 million documents, a query at radius 3: one line of each bucket saves 28 % of
// its time, 8 lines 31 %, 16 lines 24 %, all lines 23 %.
const TOUCHED_LINES: usize = 8;
const WORDS_PER_LINE: usize = 16;

/// Reads a word of each of the first cache lines of all these buckets. No read waits for another,
/// so the processor fetches the lines of all buckets from memory at the same time.
pub(crate) fn touch<'c>(buckets: impl Iterator<Item = &'c CachedBucket>) {
    touch_lines(buckets, TOUCHED_LINES);
}

/// Reads a word of each of the first `most` cache lines of these buckets.
fn touch_lines<'c>(buckets: impl Iterator<Item = &'c CachedBucket>, most: usize) {
    let words = buckets.filter_map(|cached| cached.0.as_ref().map(PackedBucket::words));
    let first_words = words.flat_map(|words| words.iter().step_by(WORDS_PER_LINE).take(most));
    // The compiler would remove the reads of an unused sum.
    black_box(first_words.fold(0, |sum, word| sum ^ word));
}

/// The reference counts of a cached bucket and the header of its allocation, at most.
const ALLOCATION_BYTES: u64 = 32;

/// Bytes of all buckets besides their fingerprints: 17 MB.
// Most of the bytes that the buckets of a small database take.
pub(crate) const MAX_BOOKKEEPING_BYTES: u64 =
    (BLOCKS * KEYS_PER_BLOCK) as u64 * (ClockCache::<CachedBucket>::SLOT_BYTES + ALLOCATION_BYTES);

fn bytes_of(cached: &CachedBucket) -> u64 {
    let packed = cached.0.as_ref();
    packed.map_or(0, |packed| packed.bytes() as u64 + ALLOCATION_BYTES)
}

/// Buckets of one file, shared by all snapshots, by the rule of [`CommitStamps`].
pub(crate) struct BucketCache {
    cache: ClockCache<CachedBucket>,
    stamps: CommitStamps,
    max_bucket_len: usize,
    pub(super) misses: AtomicU64,
}

impl BucketCache {
    pub(crate) fn new(bytes: u64, max_bucket_len: usize) -> Self {
        Self {
            cache: ClockCache::new(BLOCKS * KEYS_PER_BLOCK, bytes, bytes_of),
            stamps: CommitStamps::new(BLOCKS * KEYS_PER_BLOCK),
            max_bucket_len,
            misses: AtomicU64::new(0),
        }
    }

    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.cache.capacity_bytes()
    }

    /// Visits the buckets of these keys as of a commit, until a bucket is not cached or too large.
    /// Returns the number of visited buckets. Neighbouring keys are visited under one lock, without
    /// a count of references.
    pub(crate) fn visit_cached(
        &self,
        keys: &[(usize, u16)],
        commit: u64,
        mut visitor: impl FnMut((usize, u16), Fingerprints<'_>),
    ) -> usize {
        let mut rest = keys.iter();
        let indices = keys.iter().map(|(block, key)| index(*block, *key));
        // Reads a word of each cache line first: a scan then takes a third less time. The
        // comparison alone reads the planes of a bucket in turns, which is too irregular for the
        // processor to fetch ahead.
        self.cache.visit_while(indices.clone(), |cached| {
            touch_lines(std::iter::once(cached), usize::MAX);
            true
        });
        self.cache.visit_while(indices, |cached| {
            let (Some(packed), Some((block, key))) = (&cached.0, rest.next()) else {
                return false;
            };
            // Race: see `get`.
            if !self.stamps.is_unchanged_since(index(*block, *key), commit) {
                return false;
            }
            visitor((*block, *key), Fingerprints::Packed(packed));
            true
        })
    }

    /// The bucket as of a commit, if it is cached.
    pub(crate) fn get(&self, block: usize, key: u16, commit: u64) -> Option<CachedBucket> {
        let index = index(block, key);
        let cached = self.cache.get(index)?;
        // Race: read after the cache. A commit is recorded before its bucket is cached, so a bucket
        // of a later commit comes with the stamp of that commit.
        let is_valid = self.stamps.is_unchanged_since(index, commit);
        is_valid.then_some(cached)
    }

    /// Caches a bucket that was read as of a commit, unless a later commit has changed the bucket.
    pub(crate) fn insert(&self, block: usize, key: u16, commit: u64, bucket: Bucket<'_>) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        let index = index(block, key);
        if !self.stamps.is_unchanged_since(index, commit) {
            return;
        }
        let packed = match bucket {
            Bucket::Whole(fingerprints) => {
                let mut unpacked = Vec::new();
                let fingerprints = fingerprints.as_slice(&mut unpacked);
                Some(PackedBucket::new(fingerprints, may_be_split(block)))
            }
            Bucket::TooLarge => None,
        };
        // Race: checked again under the lock, under which a commit is recorded.
        let is_valid = || self.stamps.is_unchanged_since(index, commit);
        self.cache.insert_if(index, CachedBucket(packed), is_valid);
    }

    pub(crate) fn clear(&self) {
        self.cache.clear();
    }

    /// Returns `true` if the largest bucket fits without an eviction.
    pub(crate) fn has_room(&self) -> bool {
        let max_bucket_bytes = MAX_BYTES_PER_FINGERPRINT * self.max_bucket_len as u64;
        self.cache.bytes() + max_bucket_bytes < self.cache.capacity_bytes()
    }

    /// Applies the changes of a commit; `None` invalidates all buckets. Each item has a block, and
    /// fingerprints rotated by the block, in order. Must be called before a snapshot can see the
    /// commit.
    pub(super) fn apply(&self, changes: Option<&[BlockChanges]>, commit: u64) {
        let Some(changes) = changes else {
            self.stamps.record_all(commit);
            return self.cache.clear();
        };
        for (block, changes) in changes {
            self.apply_to_block(*block, changes, commit);
        }
    }

    /// Updated buckets serve later snapshots; earlier snapshots read these buckets from the file.
    fn apply_to_block(&self, block: usize, changes: &[(u64, Op)], commit: u64) {
        let key_of = |change: &(u64, Op)| block::front_key(change.0);
        let mut unpacked = Vec::new();
        for changes in changes.chunk_by(|a, b| key_of(a) == key_of(b)) {
            let index = index(block, key_of(&changes[0]));
            let record = || self.stamps.record(index, commit);
            let Some(CachedBucket(packed)) = self.cache.take(index, record) else {
                continue;
            };
            let packed = packed.and_then(|packed| {
                let fingerprints = Fingerprints::Packed(&packed).as_slice(&mut unpacked);
                let changed = with_changes(fingerprints, changes);
                // A bucket that is now too large is cached without fingerprints.
                let is_whole = changed.len() <= self.max_bucket_len;
                is_whole.then(|| PackedBucket::new(&changed, may_be_split(block)))
            });
            self.cache.insert_if(index, CachedBucket(packed), || true);
        }
    }
}

/// The fingerprints of a bucket after changes; both are in order.
fn with_changes(fingerprints: &[u64], changes: &[(u64, Op)]) -> Vec<u64> {
    let mut changed = Vec::with_capacity(fingerprints.len() + changes.len());
    let mut rest = fingerprints;
    for (fingerprint, op) in changes {
        let (before, from) = rest.split_at(rest.partition_point(|each| each < fingerprint));
        changed.extend_from_slice(before);
        if *op == Op::Put {
            changed.push(*fingerprint);
        }
        // Removes the fingerprint, or keeps it from being there twice after `Op::Put`.
        rest = from.strip_prefix(&[*fingerprint]).unwrap_or(from);
    }
    changed.extend_from_slice(rest);
    changed
}

/// A scan reads all planes of every bucket of its block.
fn may_be_split(block: usize) -> bool {
    block != SCAN_BLOCK
}

/// The number of a bucket among the buckets of all blocks.
fn index(block: usize, key: u16) -> usize {
    block * KEYS_PER_BLOCK + usize::from(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_bucket_is_not_returned_to_older_snapshot() {
        let cache = BucketCache::new(1 << 20, 1 << 10);
        let bucket = [0x2233_0000_0000_0001_u64, 0x2233_0000_0000_0005];
        cache.insert(1, 0x2233, 5, Bucket::Whole(Fingerprints::Unpacked(&bucket)));
        cache.insert(0, 0x9999, 5, Bucket::TooLarge);
        assert!(cache.get(1, 0x2233, 5).is_some());
        assert!(cache.get(1, 0x2233, 4).is_some());
        assert!(cache.get(1, 0x2233, 9).is_some());
        assert!(cache.get(0, 0x2233, 5).is_none());

        let changes = [
            (0x2233_0000_0000_0001, Op::Remove),
            (0x2233_0000_0000_0003, Op::Put),
            (0x2233_0000_0000_0005, Op::Put),
            (0x2233_0000_0000_0009, Op::Remove),
            (0x2234_0000_0000_0000, Op::Put),
        ];
        cache.apply_to_block(1, &changes, 6);
        // An older snapshot reads the bucket from the file, and must not put it back into the
        // cache.
        assert!(cache.get(1, 0x2233, 5).is_none());
        cache.insert(1, 0x2233, 5, Bucket::Whole(Fingerprints::Unpacked(&bucket)));
        assert!(cache.get(1, 0x2233, 5).is_none());
        // A later snapshot gets the updated bucket, if the bucket was cached.
        let mut unpacked = Vec::new();
        for commit in [6, 7] {
            let cached = cache.get(1, 0x2233, commit).unwrap();
            let Bucket::Whole(fingerprints) = cached.bucket() else {
                panic!("the bucket is small");
            };
            let fingerprints = fingerprints.as_slice(&mut unpacked);
            assert_eq!(fingerprints, [0x2233_0000_0000_0003, 0x2233_0000_0000_0005]);
        }
        assert!(cache.get(1, 0x2234, 6).is_none());
        let other = cache.get(0, 0x9999, 7).unwrap();
        assert!(matches!(other.bucket(), Bucket::TooLarge));

        cache.apply(None, 8);
        assert!(cache.get(0, 0x9999, 8).is_none());
        assert!(cache.get(1, 0x2233, 7).is_none());
        // A bucket that was read after the invalidation can be updated again.
        cache.insert(0, 0x9999, 8, Bucket::TooLarge);
        cache.apply_to_block(0, &[(0x9999_0000_0000_0000, Op::Put)], 9);
        assert!(cache.get(0, 0x9999, 9).is_some());
    }

    #[test]
    fn visit_of_cached_buckets_ends_at_a_missing_a_changed_and_a_too_large_bucket() {
        let cache = BucketCache::new(1 << 20, 1 << 10);
        let fingerprint = |key: u16| u64::from(key) << 48 | 7;
        let insert = |key: u16| {
            let bucket = [fingerprint(key)];
            cache.insert(1, key, 5, Bucket::Whole(Fingerprints::Unpacked(&bucket)));
        };
        let visited = |first: u16, commit: u64| {
            let keys: Vec<(usize, u16)> = (first..first + 200).map(|key| (1, key)).collect();
            let mut visited = Vec::new();
            let len = cache.visit_cached(&keys, commit, |key, fingerprints| {
                let mut unpacked = Vec::new();
                visited.push((key, fingerprints.as_slice(&mut unpacked)[0]));
            });
            let expected = keys[..len]
                .iter()
                .map(|(_, key)| ((1, *key), fingerprint(*key)));
            assert_eq!(visited, expected.collect::<Vec<_>>());
            len
        };
        (100..250).for_each(insert);
        assert_eq!(
            (visited(99, 5), visited(100, 5), visited(110, 9)),
            (0, 150, 140)
        );
        cache.insert(1, 240, 5, Bucket::TooLarge);
        assert_eq!(visited(110, 9), 130);
        // The bucket of the later commit is not for an older snapshot.
        cache.apply_to_block(1, &[(fingerprint(130), Op::Put)], 6);
        assert_eq!((visited(110, 5), visited(110, 6)), (20, 130));
    }

    #[test]
    fn cache_stays_within_its_bytes() {
        for bytes in [0, 1, 100, 1 << 20] {
            let cache = BucketCache::new(bytes, 1 << 10);
            let bucket = vec![7; 800];
            for key in 0..2_000 {
                let fingerprints = Fingerprints::Unpacked(&bucket);
                cache.insert(2, key, 0, Bucket::Whole(fingerprints));
            }
            assert!(cache.cache.bytes() <= bytes, "{bytes}");
            let kept = (0..2_000).filter(|key| cache.get(2, *key, 0).is_some());
            assert_eq!(bytes >= 1 << 20, kept.count() > 50, "{bytes}");
            assert!(bytes >= 1 << 20 || !cache.has_room());
        }
    }
}
