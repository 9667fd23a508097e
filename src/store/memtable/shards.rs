//! [`Shards`]: a map by number, cut into shards with a lock each.

use std::hash::BuildHasher;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rayon::prelude::*;

/// So many that a reader seldom meets the appender.
pub(super) const SHARDS: usize = 256;

/// A fast hash, seeded at random, so that ids cannot be chosen to collide.
pub(super) type KeyHasher = foldhash::fast::RandomState;

/// Values by key, in shards.
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
        // The middle bits: the hash table of the shard uses the lowest and the highest.
        (self.hasher.hash_one(key) >> 40) as usize % self.shards.len()
    }
}

impl<T: Send + Sync> Shards<T> {
    /// Calls `write` for each shard, on all cores, with the ascending indices of its keys.
    pub(super) fn write_groups<R: Send>(
        &self,
        keys: impl Iterator<Item = u64> + Clone,
        write: impl Fn(&mut T, &[u32]) -> R + Sync,
    ) -> Vec<R> {
        let groups = Grouped::new(keys.map(|key| self.shard_of(key)), self.shards.len());
        self.shards
            .par_iter()
            .enumerate()
            .map(|(number, shard)| write(&mut shard.write(), groups.group(number)))
            .collect()
    }
}

/// The indices of items, sorted by group: a counting sort.
pub(super) struct Grouped {
    numbers: Vec<u32>,
    /// The end of each group in `numbers`.
    ends: Vec<usize>,
}

impl Grouped {
    /// `group_of` yields the group of each item, below `groups`.
    pub(super) fn new(group_of: impl Iterator<Item = usize> + Clone, groups: usize) -> Self {
        let mut ends = vec![0; groups];
        for group in group_of.clone() {
            ends[group] += 1;
        }
        let mut count = 0;
        for end in &mut ends {
            // The begin of the group; the loop below moves it to the end.
            count += std::mem::replace(end, count);
        }
        let mut numbers = vec![0; count];
        for (number, group) in group_of.enumerate() {
            numbers[ends[group]] = number as u32;
            ends[group] += 1;
        }
        Self { numbers, ends }
    }

    pub(super) fn group(&self, group: usize) -> &[u32] {
        let from = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.numbers[from..self.ends[group]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_each_number_once_in_order() {
        let group_of = [3, 0, 3, 1, 0, 3];
        let groups = Grouped::new(group_of.into_iter(), 5);
        assert_eq!(groups.group(0), [1, 4]);
        assert_eq!(groups.group(1), [3]);
        assert!(groups.group(2).is_empty());
        assert_eq!(groups.group(3), [0, 2, 5]);
        assert!(groups.group(4).is_empty());
    }

    #[test]
    fn keys_with_a_pattern_are_spread_over_the_shards() {
        for step in [1_u64, 1 << 12, 1 << 32, 1 << 48] {
            let shards = Shards::new(SHARDS, |_| 0_usize);
            (0..SHARDS as u64 * 64).for_each(|n| *shards.write(n.wrapping_mul(step)) += 1);
            let most = shards.shards.iter().map(|shard| *shard.read()).max();
            assert!(most < Some(64 * 4), "step {step}: {most:?}");
        }
    }
}
