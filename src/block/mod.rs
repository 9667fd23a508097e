//! The block keys to probe for a radius, so that no match is missed.
//!
//! A fingerprint has four *blocks* of 16 bits, counted from the most significant bit. The value of
//! a block is its *key*.
//!
//! **Shares.** If two fingerprints differ in at most r bits, some block differs in at most ⌊r/4⌋
//! bits; for r up to 3 some block is equal (Manku, Jain, Das Sarma, WWW 2007, section 3). A sharper
//! bound: let r = 4a + b, and take the blocks in any order. One of the first b + 1 blocks differs
//! in at most a bits, or one of the other blocks in at most a − 1. Otherwise the fingerprints would
//! differ in at least (b + 1)(a + 1) + (3 − b)a = 4a + b + 1 bits (Norouzi, Punjani, Fleet, CVPR
//! 2012, section 3). This number, a or a − 1, is the *share* of a block. A query probes, in each
//! block, all keys that differ from its own key in at most the share. A block with share −1 is not
//! probed.
//!
//! **Owner.** Several blocks may find one match; one block must report it. Let the *allowance* of a
//! block be its share plus 1, so that all allowances sum to r + 1, more than the differing bits of
//! a match. Take the blocks as a ring. By the cycle lemma there is a block from which every partial
//! sum of differing bits is below the sum of the allowances of the same blocks. That block differs
//! in at most its share, and together with the next block in at most both shares plus 1 (Qin, Xiao,
//! *Pigeonring*, VLDB 2018, section 4). The first such block *owns* the match. Within a key, a
//! table is sorted by the next block, so a query need not read all fingerprints of a key that very
//! many have.

mod chain;

use crate::ids::Fingerprint;

pub(crate) use chain::{Chain, Chains};

/// Blocks of a fingerprint.
pub(crate) const BLOCKS: usize = 4;

/// Bits of a block: 16.
pub(crate) const BLOCK_BITS: u32 = 64 / BLOCKS as u32;

/// The blocks in the order in which the larger share is given to them. Block 0 is last, because its
/// table stores ids too, and a read of a key reads twice the bytes.
const PROBE_ORDER: [usize; BLOCKS] = [1, 2, 3, 0];

/// Rotates the bits so that `block` is in front.
pub(crate) fn rotate(fingerprint: Fingerprint, block: usize) -> u64 {
    fingerprint.bits().rotate_left(block as u32 * BLOCK_BITS)
}

/// The inverse of [`rotate`].
pub(crate) fn unrotate(rotated: u64, block: usize) -> Fingerprint {
    Fingerprint::from_bits(rotated.rotate_right(block as u32 * BLOCK_BITS))
}

/// The key of the block in front.
pub(crate) fn front_key(rotated: u64) -> u16 {
    (rotated >> (64 - BLOCK_BITS)) as u16
}

/// The smallest and the largest rotated fingerprint with this key in front.
pub(crate) fn front_range(key: u16) -> (u64, u64) {
    let from = u64::from(key) << (64 - BLOCK_BITS);
    (from, from | (u64::MAX >> BLOCK_BITS))
}

/// The smallest and the largest rotated fingerprint with these two keys in front.
fn second_range(key: u16, second: u16) -> (u64, u64) {
    let from = u64::from(key) << (64 - BLOCK_BITS) | u64::from(second) << (64 - 2 * BLOCK_BITS);
    (from, from | (u64::MAX >> (2 * BLOCK_BITS)))
}

/// The block keys to probe for a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probes {
    /// The share of each block; `None` if the block is not probed.
    shares: [Option<u32>; BLOCKS],
}

impl Probes {
    pub(crate) fn for_radius(radius: u32) -> Self {
        let (share, more) = (radius / BLOCKS as u32, radius as usize % BLOCKS);
        let mut shares = [None; BLOCKS];
        for (rank, block) in PROBE_ORDER.into_iter().enumerate() {
            // r = 4a + b: the first b + 1 blocks have the share a, the others a - 1.
            shares[block] = if rank <= more {
                Some(share)
            } else {
                share.checked_sub(1)
            };
        }
        Self { shares }
    }

    /// The blocks to probe.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = usize> {
        let shares = self.shares;
        (0..BLOCKS).filter(move |block| shares[*block].is_some())
    }

    /// The number of keys of a block to probe.
    pub(crate) fn count(&self, block: usize) -> u64 {
        self.shares[block].map_or(0, keys_within)
    }

    /// The keys of a block to probe for a query with block key `key`, in ascending order.
    pub(crate) fn keys(&self, block: usize, key: u16) -> Vec<u16> {
        let mut keys = Vec::new();
        if let Some(share) = self.shares[block] {
            push_keys_near(key, share.min(BLOCK_BITS), 0, &mut keys);
            keys.sort_unstable();
        }
        keys
    }

    /// The ranges within a key that hold all matches owned by `block`, as smallest and largest
    /// rotated fingerprint, in ascending order; `None` if there are more than `most`. `rotated` is
    /// the rotated query, and `key` one of its [`keys`](Self::keys).
    pub(crate) fn parts(
        &self,
        block: usize,
        rotated: u64,
        key: u16,
        most: u64,
    ) -> Option<Vec<(u64, u64)>> {
        // The owner and the next block together differ in less than both allowances.
        let distance = (front_key(rotated) ^ key).count_ones();
        let share = (self.allowance(block) + self.allowance(next(block)))
            .checked_sub(distance + 1)?
            .min(BLOCK_BITS);
        if keys_within(share) > most {
            return None;
        }
        let mut seconds = Vec::new();
        push_keys_near(front_key(rotated << BLOCK_BITS), share, 0, &mut seconds);
        seconds.sort_unstable();
        let parts = seconds.into_iter().map(|second| second_range(key, second));
        Some(parts.collect())
    }

    /// The block that reports a match; `None` only if the distance is above the radius.
    pub(crate) fn owner(&self, a: Fingerprint, b: Fingerprint) -> Option<usize> {
        let differing = Fingerprint::from_bits(a.bits() ^ b.bits());
        let distance = |block: usize| front_key(rotate(differing, block)).count_ones();
        self.blocks().find(|&block| {
            let (first, second) = (distance(block), distance(next(block)));
            first < self.allowance(block)
                && first + second < self.allowance(block) + self.allowance(next(block))
        })
    }

    /// The share of a block plus 1; 0 if the block is not probed.
    fn allowance(&self, block: usize) -> u32 {
        self.shares[block].map_or(0, |share| share + 1)
    }
}

/// The block that follows `block` in a rotated fingerprint.
fn next(block: usize) -> usize {
    (block + 1) % BLOCKS
}

/// The number of keys that differ from a key in at most `share` bits.
fn keys_within(share: u32) -> u64 {
    let choose =
        |taken: u32| (0..taken).fold(1, |n, i| n * u64::from(BLOCK_BITS - i) / u64::from(i + 1));
    (0..=share.min(BLOCK_BITS)).map(choose).sum()
}

/// Appends `key` and every key that differs from it in at most `share` of the bits from `bit` on.
fn push_keys_near(key: u16, share: u32, bit: u32, keys: &mut Vec<u16>) {
    keys.push(key);
    if share > 0 {
        for flipped in bit..BLOCK_BITS {
            push_keys_near(key ^ (1 << flipped), share - 1, flipped + 1, keys);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_brings_block_key_to_front_and_inverts() {
        let fingerprint = Fingerprint::from_bits(0x0011_2233_4455_6677);
        for (block, key) in [0x0011, 0x2233, 0x4455, 0x6677].into_iter().enumerate() {
            let rotated = rotate(fingerprint, block);
            assert_eq!(front_key(rotated), key);
            assert_eq!(unrotate(rotated, block), fingerprint);
            let (from, to) = front_range(key);
            assert!((from..=to).contains(&rotated));
            assert_eq!((front_key(from), front_key(to)), (key, key));
            assert_eq!(to - from, u64::MAX >> 16);
        }
    }

    #[test]
    fn keys_are_all_keys_within_the_share() {
        for radius in 0..=64 {
            let probes = Probes::for_radius(radius);
            for block in 0..BLOCKS {
                let keys = probes.keys(block, 0x5aa5);
                assert_eq!(keys.len() as u64, probes.count(block));
                assert!(keys.is_sorted_by(|a, b| a < b));
                let share = probes.shares[block];
                let near =
                    |key: &u16| share.is_some_and(|share| (key ^ 0x5aa5).count_ones() <= share);
                assert_eq!(keys.len(), (0..=u16::MAX).filter(near).count());
                assert!(keys.iter().all(near));
            }
        }
        assert_eq!(Probes::for_radius(0).blocks().count(), 1);
        assert_eq!(Probes::for_radius(3).blocks().count(), 4);
    }

    #[test]
    fn every_pair_within_the_radius_has_an_owner() {
        let a = Fingerprint::from_bits(0x9e37_79b9_7f4a_7c15);
        let low_bits = |count: u32| (1_u64 << count) - 1;
        for radius in 0..=64_u32 {
            let probes = Probes::for_radius(radius);
            for w in 0..=radius.min(16) {
                for x in 0..=(radius - w).min(16) {
                    for y in 0..=(radius - w - x).min(16) {
                        let z = (radius - w - x - y).min(16);
                        let flips =
                            low_bits(w) << 48 | low_bits(x) << 32 | low_bits(y) << 16 | low_bits(z);
                        let b = Fingerprint::from_bits(a.bits() ^ flips);
                        let owner = probes.owner(a, b);
                        assert!(owner.is_some(), "radius {radius}: {w} {x} {y} {z}");
                    }
                }
            }
        }
    }

    #[test]
    fn four_differing_bits_can_avoid_all_probes_of_radius_three() {
        let a = Fingerprint::from_bits(0x9e37_79b9_7f4a_7c15);
        let b = Fingerprint::from_bits(a.bits() ^ 0x0001_0001_0001_0001);
        assert_eq!(Probes::for_radius(3).owner(a, b), None);
        assert!(Probes::for_radius(4).owner(a, b).is_some());
    }
}
