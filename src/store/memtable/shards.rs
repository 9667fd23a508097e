//! [`Shards`]: a map cut into shards by key, with a lock for each shard.

use std::hash::BuildHasher;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rayon::prelude::*;

/// With 256 shards a reader seldom waits for the appender.
pub(super) const SHARDS: usize = 256;

/// A fast hash with a random seed: ids and fingerprints come from outside and could be chosen to
/// collide.
pub(super) type KeyHasher = foldhash::fast::RandomState;

/// One `T`, usually a hash table, for each shard.
pub(super) struct Shards<T> {
    shards: Box<[RwLock<T>]>,
    hasher: KeyHasher,
}

impl<T> Shards<T> {
    pub(super) fn new(count: usize, empty: impl Fn(KeyHasher) -> T) -> Self {
        let hasher = KeyHasher::default();
        let shards = (0..count)
            .map(|_| RwLock::new(empty(hasher.clone())))
            .collect();
        Self { shards, hasher }
    }

    pub(super) fn read(&self, key: u64) -> RwLockReadGuard<'_, T> {
        self.shards[self.shard_of(key)].read()
    }

    pub(super) fn write(&self, key: u64) -> RwLockWriteGuard<'_, T> {
        self.shards[self.shard_of(key)].write()
    }

    fn shard_of(&self, key: u64) -> usize {
        // Multiplied, because one in twenty random seeds puts up to eight times the mean of the
        // multiples of 2^32 into one shard. The hash table in the shard uses the lowest and the
        // highest bits of the hash itself. With those bits here, the keys of a shard would collide
        // in its table.
        let mixed = self
            .hasher
            .hash_one(key)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (((mixed >> 32) * self.shards.len() as u64) >> 32) as usize
    }
}

impl<T: Send + Sync> Shards<T> {
    /// Calls `write` for each shard, on all cores, with the indices in `keys` of the keys of the
    /// shard, ascending.
    pub(super) fn write_groups<R: Send>(
        &self,
        keys: impl Iterator<Item = u64> + Clone,
        write: impl Fn(&mut T, &[u32]) -> R + Sync,
    ) -> Vec<R> {
        // Each shard belongs to one task, so the tasks never wait for each other's locks.
        let groups = GroupedIndices::new(keys.map(|key| self.shard_of(key)), self.shards.len());
        self.shards
            .par_iter()
            .enumerate()
            .map(|(number, shard)| write(&mut shard.write(), groups.group(number)))
            .collect()
    }
}

/// The indices of items, sorted by group with a counting sort.
pub(super) struct GroupedIndices {
    indices: Vec<u32>,
    /// The end of each group in `indices`.
    ends: Vec<usize>,
}

impl GroupedIndices {
    /// `group_of` yields the group of each item, below `groups`.
    pub(super) fn new(group_of: impl Iterator<Item = usize> + Clone, groups: usize) -> Self {
        let mut ends = vec![0; groups];
        for group in group_of.clone() {
            ends[group] += 1;
        }
        let mut count = 0;
        for end in &mut ends {
            // The start of the group. The loop below advances it to the end.
            count += std::mem::replace(end, count);
        }
        let mut indices = vec![0; count];
        for (index, group) in group_of.enumerate() {
            indices[ends[group]] = index as u32;
            ends[group] += 1;
        }
        Self { indices, ends }
    }

    pub(super) fn group(&self, group: usize) -> &[u32] {
        let from = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.indices[from..self.ends[group]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_each_index_once_in_order() {
        let group_of = [3, 0, 3, 1, 0, 3];
        let groups = GroupedIndices::new(group_of.into_iter(), 5);
        assert_eq!(groups.group(0), [1, 4]);
        assert_eq!(groups.group(1), [3]);
        assert!(groups.group(2).is_empty());
        assert_eq!(groups.group(3), [0, 2, 5]);
        assert!(groups.group(4).is_empty());
    }

    #[test]
    fn multiples_of_powers_of_two_spread_over_shards() {
        for step in [1_u64, 1 << 12, 1 << 32, 1 << 48] {
            let shards = Shards::new(SHARDS, |_| 0_usize);
            (0..SHARDS as u64 * 64).for_each(|n| *shards.write(n.wrapping_mul(step)) += 1);
            let most = shards.shards.iter().map(|shard| *shard.read()).max();
            assert!(most < Some(64 * 4), "step {step}: {most:?}");
        }
    }
}
