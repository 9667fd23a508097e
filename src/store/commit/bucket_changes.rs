//! [`BucketChanges`]: the changes that a transaction brings to the bucket cache.

use crate::store::cache::buckets::BucketCache;
use crate::store::tables::packed::Op;

/// At most 1 Mi changes, 16 MiB, are collected, and no more bytes than the bucket cache holds. A
/// transaction with more invalidates the whole cache.
const MAX_CHANGES: usize = 1 << 20;

/// The fingerprints that a transaction adds to buckets and removes from them.
#[derive(Default)]
pub(super) struct BucketChanges {
    /// Blocks, each with rotated fingerprints in order.
    by_block: Vec<(usize, Vec<(u64, Op)>)>,
    len: usize,
    /// Any bucket may have changed, and `by_block` is empty.
    is_unknown: bool,
}

impl BucketChanges {
    /// `cache_bytes` is the capacity of the bucket cache.
    pub(super) fn add(&mut self, block: usize, changes: &[(u64, Op)], cache_bytes: u64) {
        if self.is_unknown {
            return;
        }
        self.len += changes.len();
        let bytes = self.len as u64 * size_of::<(u64, Op)>() as u64;
        if self.len > MAX_CHANGES || bytes > cache_bytes {
            self.add_unknown();
        } else {
            self.by_block.push((block, changes.to_vec()));
        }
    }

    /// Adds changes of any buckets.
    pub(super) fn add_unknown(&mut self) {
        self.is_unknown = true;
        self.by_block = Vec::new();
    }

    /// Updates the cache for a commit that is about to be made.
    pub(super) fn apply(&self, buckets: &BucketCache, commit: u64) {
        if self.is_unknown {
            buckets.invalidate_all(commit);
        }
        for (block, changes) in &self.by_block {
            buckets.apply_changes(*block, changes, commit);
        }
    }
}
