//! Runs, the distinct fingerprints of one block key, and a cache of those read before.
//!
//! A query reads a run for each key it probes. Read from the file, a run is some pages to be
//! found and checked; kept here, it is one piece of memory that holds what the Hamming kernel
//! wants and nothing else, in less room than its pages.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};

use crate::block::{self, BLOCK_BITS, BLOCKS};
use crate::store::tables::packed::Op;

/// The most fingerprints a run is read whole with: 128 KiB. With more it is long. (In unit tests
/// few are, so that both kinds occur in small databases.)
pub(crate) const BUCKET_LIMIT: usize = if cfg!(test) { 1 << 10 } else { 16 << 10 };

/// How many keys a block has.
pub(crate) const KEYS: usize = 1 << BLOCK_BITS;

/// The distinct reliable fingerprints that have a key in front of their rotation by a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bucket<'r> {
    /// All of them, rotated, in order.
    Whole(&'r [u64]),
    /// More than [`BUCKET_LIMIT`]: to be read in parts, where that can be avoided never whole.
    Long,
}

/// A run that is kept.
#[derive(Clone)]
pub(crate) struct CachedBucket {
    /// The commit as of which it was read.
    commit: u64,
    /// Nothing if it is long.
    fingerprints: Option<Arc<[u64]>>,
}

impl CachedBucket {
    pub(crate) fn run(&self) -> Bucket<'_> {
        match &self.fingerprints {
            Some(fingerprints) => Bucket::Whole(fingerprints),
            None => Bucket::Long,
        }
    }
}

impl std::fmt::Debug for BucketCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BucketCache")
            .field("runs", &self.kept.len())
            .field("bytes", &self.kept.weight())
            .finish()
    }
}

/// What a run that is kept costs beside its fingerprints: its place in the cache, its counts.
const OVERHEAD_BYTES: u64 = 96;

/// The least a part of the cache with a lock of its own has room for: some of the largest runs.
const LEAST_SHARD_BYTES: u64 = 16 * (8 * BUCKET_LIMIT as u64 + OVERHEAD_BYTES);
const MOST_SHARDS: u64 = 64;

#[derive(Clone)]
struct Bytes;

impl Weighter<u32, CachedBucket> for Bytes {
    fn weight(&self, _: &u32, kept: &CachedBucket) -> u64 {
        let fingerprints = kept.fingerprints.as_ref().map_or(0, |run| run.len());
        OVERHEAD_BYTES + 8 * fingerprints as u64
    }
}

/// Runs read from one file, for all who look at it as of whatever commit: a run is given only to
/// those for whom it has not changed.
pub(crate) struct BucketCache {
    kept: Cache<u32, CachedBucket, Bytes>,
    changes: Changes,
}

impl BucketCache {
    /// A cache of up to so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let most_runs = (BLOCKS * KEYS).min((bytes / OVERHEAD_BYTES) as usize);
        let shards = (bytes / LEAST_SHARD_BYTES).clamp(1, MOST_SHARDS);
        let options = OptionsBuilder::new()
            .shards(1 << shards.ilog2())
            .estimated_items_capacity(most_runs)
            .weight_capacity(bytes)
            .build();
        let kept = match options {
            Ok(options) => {
                Cache::with_options(options, Bytes, Default::default(), Default::default())
            }
            Err(_) => Cache::with_weighter(most_runs, bytes, Bytes),
        };
        Self {
            kept,
            changes: Changes::default(),
        }
    }

    /// The run as of this commit, if it is kept.
    pub(crate) fn get(&self, block: usize, key: u16, commit: u64) -> Option<CachedBucket> {
        let index = index(block, key);
        let kept = self.kept.get(&index)?;
        // Looked at after the run: a change of what was just given was told of before.
        let last_change = self.changes.last(index);
        if kept.commit < last_change {
            // Nobody will be given this one again.
            self.kept
                .remove_if(&index, |stored| stored.commit < last_change);
        }
        (last_change <= kept.commit.min(commit)).then_some(kept)
    }

    /// Keeps a run as of this commit, unless it has changed since.
    pub(crate) fn keep(&self, block: usize, key: u16, commit: u64, run: Bucket<'_>) {
        let index = index(block, key);
        if self.changes.last(index) <= commit {
            let fingerprints = match run {
                Bucket::Whole(fingerprints) => Some(fingerprints.into()),
                Bucket::Long => None,
            };
            let kept = CachedBucket {
                commit,
                fingerprints,
            };
            self.kept.insert(index, kept);
        }
    }

    /// Forgets all runs.
    pub(crate) fn clear(&self) {
        self.kept.clear();
    }

    /// Whether there is room for a run without another one giving way to it.
    pub(crate) fn has_room(&self) -> bool {
        self.kept.weight() + 8 * (BUCKET_LIMIT as u64) < self.kept.capacity()
    }

    /// These fingerprints, rotated by `block` and in order, come or go with this commit. To be
    /// said before others can see the commit. Runs that are kept are brought up to it, for those
    /// who look later; those who look now read theirs from the file.
    pub(crate) fn change(&self, block: usize, changes: &[(u64, Op)], commit: u64) {
        let last_changes = self.changes.keys();
        let key_of = |change: &(u64, Op)| block::front_key(change.0);
        for of_one in changes.chunk_by(|a, b| key_of(a) == key_of(b)) {
            let index = index(block, key_of(&of_one[0]));
            let last_change = last_changes[index as usize].fetch_max(commit, Ordering::AcqRel);
            let last_change = last_change.max(self.changes.all.load(Ordering::Acquire));
            let Some(kept) = self.kept.get(&index) else {
                continue;
            };
            if kept.commit >= last_change {
                let fingerprints = kept
                    .fingerprints
                    .map(|run| changed(&run, of_one))
                    .filter(|run| run.len() <= BUCKET_LIMIT)
                    .map(Arc::from);
                let kept = CachedBucket {
                    commit,
                    fingerprints,
                };
                self.kept.insert(index, kept);
            }
        }
    }

    /// Any run may change with this commit. To be said before others can see the commit.
    pub(crate) fn change_all(&self, commit: u64) {
        self.changes.all.fetch_max(commit, Ordering::Release);
        self.kept.clear();
    }
}

/// A run with these changes made.
fn changed(run: &[u64], changes: &[(u64, Op)]) -> Vec<u64> {
    let mut changed = Vec::with_capacity(run.len() + changes.len());
    let mut rest = run;
    for (fingerprint, op) in changes {
        let (before, from) = rest.split_at(rest.partition_point(|each| each < fingerprint));
        changed.extend_from_slice(before);
        if *op == Op::Put {
            changed.push(*fingerprint);
        }
        rest = from.strip_prefix(&[*fingerprint]).unwrap_or(from);
    }
    changed.extend_from_slice(rest);
    changed
}

/// The number of a key among those of all blocks.
fn index(block: usize, key: u16) -> u32 {
    (block * KEYS) as u32 + u32::from(key)
}

/// The commits that changed runs last.
#[derive(Default)]
struct Changes {
    all: AtomicU64,
    /// For each key of each block; nothing while nothing was changed.
    keys: OnceLock<Box<[AtomicU64]>>,
}

impl Changes {
    fn keys(&self) -> &[AtomicU64] {
        let unchanged = || (0..BLOCKS * KEYS).map(|_| AtomicU64::new(0)).collect();
        self.keys.get_or_init(unchanged)
    }

    fn last(&self, index: u32) -> u64 {
        let keys = self.keys.get();
        let key = keys.map_or(0, |keys| keys[index as usize].load(Ordering::Acquire));
        key.max(self.all.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_given_only_to_those_for_whom_it_has_not_changed() {
        let cache = BucketCache::new(1 << 20);
        let run = [0x2233_0000_0000_0001_u64, 0x2233_0000_0000_0005];
        cache.keep(1, 0x2233, 5, Bucket::Whole(&run));
        cache.keep(0, 0x9999, 5, Bucket::Long);
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
        cache.change(1, &changes, 6);
        // Who looks at what was before the change reads it from the file, and it is not kept.
        assert!(cache.get(1, 0x2233, 5).is_none());
        cache.keep(1, 0x2233, 5, Bucket::Whole(&run));
        assert!(cache.get(1, 0x2233, 5).is_none());
        // Who looks later is given what it came to, where it was kept.
        for commit in [6, 7] {
            let kept = cache.get(1, 0x2233, commit).unwrap();
            let Bucket::Whole(run) = kept.run() else {
                panic!("a short run is whole");
            };
            assert_eq!(run, [0x2233_0000_0000_0003, 0x2233_0000_0000_0005]);
        }
        assert!(cache.get(1, 0x2234, 6).is_none());
        let other = cache.get(0, 0x9999, 7).unwrap();
        assert!(matches!(other.run(), Bucket::Long));

        cache.change_all(8);
        assert!(cache.get(0, 0x9999, 8).is_none());
        assert!(cache.get(1, 0x2233, 7).is_none());
        // What was read before everything changed is no base for changes.
        cache.keep(0, 0x9999, 8, Bucket::Long);
        cache.change(0, &[(0x9999_0000_0000_0000, Op::Put)], 9);
        assert!(cache.get(0, 0x9999, 9).is_some());
    }

    #[test]
    fn a_cache_keeps_to_its_bytes() {
        for bytes in [0, 1, 100, 1 << 20] {
            let cache = BucketCache::new(bytes);
            let run = vec![7; 800];
            for key in 0..2_000 {
                cache.keep(2, key, 0, Bucket::Whole(&run));
            }
            assert!(cache.kept.weight() <= bytes, "{bytes}");
            assert_eq!(bytes >= 1 << 20, cache.kept.len() > 50, "{bytes}");
            assert!(bytes >= 1 << 20 || !cache.has_room());
        }
    }
}
