//! What is kept by a number, cut into shards with a lock each; and many things sorted by where
//! they go.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use rayon::prelude::*;

/// So many that a reader seldom meets the writer.
const SHARDS: usize = 256;

/// A part of the keys in each shard.
pub(super) struct Shards<T> {
    shards: Box<[RwLock<T>]>,
    mixing: Mixing,
}

impl<T> Shards<T> {
    pub(super) fn new(empty: impl Fn(Mixing) -> T) -> Self {
        let mixing = Mixing(RandomState::new().hash_one(SHARDS));
        let shards = (0..SHARDS).map(|_| RwLock::new(empty(mixing))).collect();
        Self { shards, mixing }
    }

    pub(super) fn read(&self, key: u64) -> RwLockReadGuard<'_, T> {
        let shard = &self.shards[self.shard_of(key)];
        shard.read()
    }

    pub(super) fn write(&self, key: u64) -> RwLockWriteGuard<'_, T> {
        let shard = &self.shards[self.shard_of(key)];
        shard.write()
    }

    fn shard_of(&self, key: u64) -> usize {
        // A hash table takes the lowest and the highest bits.
        (self.mixing.hash_one(key) >> 40) as usize % SHARDS
    }
}

impl<T: Send + Sync> Shards<T> {
    /// Hands each shard the numbers, in ascending order, of those keys that go to it: on all cores.
    pub(super) fn write_groups<R: Send>(
        &self,
        keys: impl Iterator<Item = u64> + Clone,
        write: impl Fn(&mut T, &[u32]) -> R + Sync,
    ) -> Vec<R> {
        let groups = Groups::of(keys.map(|key| self.shard_of(key)), SHARDS);
        let shards = self.shards.par_iter().enumerate();
        let written = shards.map(|(number, shard)| {
            let mut shard = shard.write();
            write(&mut shard, groups.group(number))
        });
        written.collect()
    }
}

/// The numbers 0, 1, 2 and so on of some things, sorted by which group each belongs to.
pub(super) struct Groups {
    numbers: Vec<u32>,
    /// Where the numbers of each group end.
    ends: Vec<usize>,
}

impl Groups {
    /// `group_of` has the group of each thing, one of `groups`.
    pub(super) fn of(group_of: impl Iterator<Item = usize> + Clone, groups: usize) -> Self {
        let mut ends = vec![0; groups];
        for group in group_of.clone() {
            ends[group] += 1;
        }
        let mut count = 0;
        for end in &mut ends {
            // Where the group begins; it moves to its end below.
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

/// Hashes numbers fast, and differently in every tail, so that nobody can choose ids that collide.
#[derive(Clone, Copy)]
pub(super) struct Mixing(u64);

pub(super) struct Mixer(u64);

/// An odd number with no pattern in its bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl BuildHasher for Mixing {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

impl Hasher for Mixer {
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * u128::from(MULTIPLIER);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_each_number_once_in_order() {
        let group_of = [3, 0, 3, 1, 0, 3];
        let groups = Groups::of(group_of.into_iter(), 5);
        assert_eq!(groups.group(0), [1, 4]);
        assert_eq!(groups.group(1), [3]);
        assert!(groups.group(2).is_empty());
        assert_eq!(groups.group(3), [0, 2, 5]);
        assert!(groups.group(4).is_empty());
    }

    #[test]
    fn keys_with_a_pattern_are_spread_over_the_shards() {
        for step in [1_u64, 1 << 12, 1 << 32, 1 << 48] {
            let shards = Shards::new(|_| 0_usize);
            (0..SHARDS as u64 * 64).for_each(|n| *shards.write(n.wrapping_mul(step)) += 1);
            let most = shards.shards.iter().map(|shard| *shard.read()).max();
            assert!(most < Some(64 * 4), "step {step}: {most:?}");
        }
    }
}
