//! [`BucketCache`]: buckets in memory. A bucket is the distinct fingerprints of one block key.
//!
//! A query reads one bucket for each key that it probes. In the file, a bucket is a range of chunks to
//! find and verify. In the cache, a bucket is one [`PackedBucket`], smaller than the pages of that range.

use std::hint::black_box;

use crate::block::{self, BLOCK_BITS, BLOCKS};
use crate::hamming;
use crate::store::cache::clock::ClockCache;
use crate::store::cache::last_changes::LastChanges;
use crate::store::cache::packed_bucket::{MAX_BYTES_PER_FINGERPRINT, PackedBucket};
use crate::store::tables::packed::Op;

pub(crate) const KEYS_PER_BLOCK: usize = 1 << BLOCK_BITS;

/// The block whose table a scan reads. The table has 5 to 7 bytes for each distinct fingerprint;
/// `block0` has 8 to 17 bytes for each document.
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

/// A bucket as of one commit.
#[derive(Clone)]
pub(crate) struct CachedBucket {
    commit: u64,
    /// `None` if the bucket is too large.
    packed: Option<PackedBucket>,
}

impl CachedBucket {
    pub(crate) fn bucket(&self) -> Bucket<'_> {
        match &self.packed {
            Some(packed) => Bucket::Whole(Fingerprints::Packed(packed)),
            None => Bucket::TooLarge,
        }
    }
}

/// Cache lines of a bucket that a query with few keys touches. Measured with 50 million documents, a query at
/// radius 3: one line of each bucket saves 28 % of its time, 8 lines 31 %, 16 lines 24 %, all lines 23 %.
const TOUCHED_LINES: usize = 8;
const WORDS_PER_LINE: usize = 16;

/// Reads a word of each of the first cache lines of all these buckets. No read waits for another, so the
/// processor fetches the lines of all buckets from memory at the same time.
pub(crate) fn touch<'c>(buckets: impl Iterator<Item = &'c CachedBucket>) {
    touch_lines(buckets, TOUCHED_LINES);
}

/// Reads a word of each of the first `most` cache lines of these buckets.
fn touch_lines<'c>(buckets: impl Iterator<Item = &'c CachedBucket>, most: usize) {
    let words = buckets.filter_map(|cached| cached.packed.as_ref().map(PackedBucket::words));
    let first_words = words.flat_map(|words| words.iter().step_by(WORDS_PER_LINE).take(most));
    // The compiler would remove the reads of an unused sum.
    black_box(first_words.fold(0, |sum, word| sum ^ word));
}

/// The reference counts of a cached bucket and the header of its allocation, at most.
const ALLOCATION_BYTES: u64 = 32;

/// All buckets take 19 MB besides their fingerprints: most of what the buckets of a small database take.
pub(crate) const MAX_BOOKKEEPING_BYTES: u64 =
    (BLOCKS * KEYS_PER_BLOCK) as u64 * (ClockCache::<CachedBucket>::SLOT_BYTES + ALLOCATION_BYTES);

fn bytes_of(cached: &CachedBucket) -> u64 {
    let packed = cached.packed.as_ref();
    packed.map_or(0, |packed| packed.bytes() as u64 + ALLOCATION_BYTES)
}

/// Buckets of one file, shared by all snapshots. A snapshot gets a cached bucket only if no commit
/// between the read of the bucket and the snapshot has changed the bucket.
pub(crate) struct BucketCache {
    cache: ClockCache<CachedBucket>,
    last_changes: LastChanges,
    max_bucket_len: usize,
}

impl BucketCache {
    pub(crate) fn new(bytes: u64, max_bucket_len: usize) -> Self {
        Self {
            cache: ClockCache::new(BLOCKS * KEYS_PER_BLOCK, bytes, bytes_of),
            last_changes: LastChanges::new(BLOCKS * KEYS_PER_BLOCK),
            max_bucket_len,
        }
    }

    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.cache.capacity_bytes()
    }

    /// Visits the buckets of these keys as of a commit, until a bucket is not cached or too large. Returns the
    /// number of visited buckets. Neighbouring keys are visited under one lock, without a count of references.
    ///
    /// First reads a word of each cache line of all these buckets: a scan then takes a third less time. It
    /// compares the planes of a bucket in turns, which alone is too irregular for the processor to fetch ahead.
    pub(crate) fn visit_cached(
        &self,
        keys: &[(usize, u16)],
        commit: u64,
        mut visitor: impl FnMut((usize, u16), Fingerprints<'_>),
    ) -> usize {
        let mut rest = keys.iter();
        let indices = keys.iter().map(|(block, key)| index(*block, *key));
        self.cache.visit_while(indices.clone(), |cached| {
            touch_lines(std::iter::once(cached), usize::MAX);
            true
        });
        self.cache.visit_while(indices, |cached| {
            let (Some(packed), Some(key)) = (&cached.packed, rest.next()) else {
                return false;
            };
            // Race: see `get`.
            let last_change = self.last_changes.last_change(index(key.0, key.1));
            if last_change > cached.commit.min(commit) {
                return false;
            }
            visitor(*key, Fingerprints::Packed(packed));
            true
        })
    }

    /// The bucket as of a commit, if it is cached.
    pub(crate) fn get(&self, block: usize, key: u16, commit: u64) -> Option<CachedBucket> {
        let index = index(block, key);
        let cached = self.cache.get(index)?;
        // Race: read after the cache. `apply_changes` records the commit before it replaces the bucket,
        // so a bucket that was replaced for a later commit comes with that commit as its last change.
        let last_change = self.last_changes.last_change(index);
        if cached.commit < last_change {
            // The bucket lacks a change: no later snapshot can use it. `remove_if`, because a newer
            // bucket may have been inserted meanwhile.
            self.cache
                .remove_if(index, |stored| stored.commit < last_change);
        }
        (last_change <= cached.commit.min(commit)).then_some(cached)
    }

    /// Caches a bucket that was read as of a commit, unless a later commit has changed the bucket.
    pub(crate) fn insert(&self, block: usize, key: u16, commit: u64, bucket: Bucket<'_>) {
        let index = index(block, key);
        // A commit between this check and the insert is harmless: `get` checks again.
        if self.last_changes.last_change(index) <= commit {
            let packed = match bucket {
                Bucket::Whole(fingerprints) => {
                    let mut unpacked = Vec::new();
                    let fingerprints = fingerprints.as_slice(&mut unpacked);
                    Some(PackedBucket::new(fingerprints, may_be_split(block)))
                }
                Bucket::TooLarge => None,
            };
            self.cache.insert(index, CachedBucket { commit, packed });
        }
    }

    pub(crate) fn clear(&self) {
        self.cache.clear();
    }

    /// Returns `true` if the largest bucket fits without an eviction.
    pub(crate) fn has_room(&self) -> bool {
        let max_bucket_bytes = MAX_BYTES_PER_FINGERPRINT * self.max_bucket_len as u64;
        self.cache.bytes() + max_bucket_bytes < self.cache.capacity_bytes()
    }

    /// Applies the changes of a commit to the cached buckets of one block. `changes` are rotated by
    /// `block`, in order. Must be called before a snapshot can see the commit.
    ///
    /// Updated buckets serve later snapshots; earlier snapshots read these buckets from the file.
    pub(crate) fn apply_changes(&self, block: usize, changes: &[(u64, Op)], commit: u64) {
        let key_of = |change: &(u64, Op)| block::front_key(change.0);
        let mut unpacked = Vec::new();
        for changes in changes.chunk_by(|a, b| key_of(a) == key_of(b)) {
            let index = index(block, key_of(&changes[0]));
            let last_change = self.last_changes.record(index, commit);
            let Some(cached) = self.cache.get(index) else {
                continue;
            };
            // A bucket from before the previous change lacks that change. It stays out of date, and
            // `get` removes it.
            if cached.commit >= last_change {
                let packed = cached.packed.and_then(|packed| {
                    let fingerprints = Fingerprints::Packed(&packed).as_slice(&mut unpacked);
                    let changed = with_changes(fingerprints, changes);
                    // A bucket that is now too large is cached without fingerprints.
                    let is_whole = changed.len() <= self.max_bucket_len;
                    is_whole.then(|| PackedBucket::new(&changed, may_be_split(block)))
                });
                self.cache.insert(index, CachedBucket { commit, packed });
            }
        }
    }

    /// Invalidates all buckets from this commit on. Must be called before a snapshot can see the commit.
    pub(crate) fn invalidate_all(&self, commit: u64) {
        self.last_changes.record_all(commit);
        self.cache.clear();
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

/// The number of a bucket among those of all blocks.
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
        cache.apply_changes(1, &changes, 6);
        // An older snapshot reads the bucket from the file, and must not put it back into the cache.
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

        cache.invalidate_all(8);
        assert!(cache.get(0, 0x9999, 8).is_none());
        assert!(cache.get(1, 0x2233, 7).is_none());
        // A bucket that was read after the invalidation can be updated again.
        cache.insert(0, 0x9999, 8, Bucket::TooLarge);
        cache.apply_changes(0, &[(0x9999_0000_0000_0000, Op::Put)], 9);
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
        cache.apply_changes(1, &[(fingerprint(130), Op::Put)], 6);
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
