//! How the bits of a fingerprint are cut so that no match within the radius is missed.
//!
//! A fingerprint has four blocks of 16 bits, counted from the most significant one. Of two
//! fingerprints that differ in at most r bits, some block differs in at most ⌊r/4⌋: so for r up
//! to 3 some block is equal (Manku, Jain, Das Sarma, WWW 2007, section 3). More sharply, with
//! r = 4a + b, one of the first b + 1 blocks differs in at most a bits or one of the others in at
//! most a − 1, whichever order the blocks are taken in: else the differing bits were at least
//! (b + 1)(a + 1) + (3 − b)a = 4a + b + 1 (Norouzi, Punjani, Fleet, CVPR 2012, section 3). So it is
//! enough to look at the fingerprints whose block keys differ that little from the query's.
//!
//! Taken in a ring, the blocks say more. Let each block be allowed one bit more than its share:
//! these allowances sum to r + 1, so what the blocks differ in falls short of them in sum, and
//! (the cycle lemma) there is a block to start at from which every partial sum falls short. That
//! block differs in at most its share, and together with the next block in at most the two
//! shares and one bit (Qin, Xiao, *Pigeonring*, VLDB 2018, section 4). It owns the match. Since
//! the next block is what a table is sorted by within a key, a key that very many fingerprints
//! have need not be read whole.

mod chain;

use crate::fingerprint::Fingerprint;

pub(crate) use chain::{Chain, Chains};

/// Into how many blocks a fingerprint is cut.
pub(crate) const BLOCKS: usize = 4;

/// Bits in a block.
pub(crate) const BLOCK_BITS: u32 = 64 / BLOCKS as u32;

/// Blocks in the order in which they take on more of the radius. Block 0 is the last: its table
/// takes twice the room of the others.
const PROBE_ORDER: [usize; BLOCKS] = [1, 2, 3, 0];

/// The permutation that brings `block` to the front: the bits of `fingerprint`, rotated.
pub(crate) fn rotate(fingerprint: Fingerprint, block: usize) -> u64 {
    fingerprint.bits().rotate_left(block as u32 * BLOCK_BITS)
}

/// What [`rotate`] was given to make `rotated`.
pub(crate) fn unrotate(rotated: u64, block: usize) -> Fingerprint {
    Fingerprint::from_bits(rotated.rotate_right(block as u32 * BLOCK_BITS))
}

/// The block key in front of a rotated fingerprint.
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

/// Which block keys to probe for a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probes {
    /// For each block, in how many bits its key may differ from the query's; nothing if the block
    /// need not be probed at all.
    shares: [Option<u32>; BLOCKS],
}

impl Probes {
    pub(crate) fn for_radius(radius: u32) -> Self {
        let (share, more) = (radius / BLOCKS as u32, radius as usize % BLOCKS);
        let mut shares = [None; BLOCKS];
        for (rank, block) in PROBE_ORDER.into_iter().enumerate() {
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

    /// How many keys of a block are to be probed.
    pub(crate) fn count(&self, block: usize) -> u64 {
        self.shares[block].map_or(0, keys_within)
    }

    /// The keys of a block to probe for a query with this key, in ascending order.
    pub(crate) fn keys(&self, block: usize, key: u16) -> Vec<u16> {
        let mut keys = Vec::new();
        if let Some(share) = self.shares[block] {
            push_keys_near(key, share.min(BLOCK_BITS), 0, &mut keys);
            keys.sort_unstable();
        }
        keys
    }

    /// The parts of a key that hold all matches which `block` owns, if they are at most `most`:
    /// the smallest and the largest rotated fingerprint of each, in ascending order. `rotated` is
    /// the query, and the key one of its [`keys`](Self::keys).
    pub(crate) fn parts(
        &self,
        block: usize,
        rotated: u64,
        key: u16,
        most: u64,
    ) -> Option<Vec<(u64, u64)>> {
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

    /// The first block that differs in at most its share, and with the next one in less than
    /// both are allowed: the one that reports the match, so that each is reported once. There is
    /// one for every pair within the radius.
    pub(crate) fn owner(&self, a: Fingerprint, b: Fingerprint) -> Option<usize> {
        let differing = Fingerprint::from_bits(a.bits() ^ b.bits());
        let distance = |block: usize| front_key(rotate(differing, block)).count_ones();
        self.blocks().find(|&block| {
            let (first, second) = (distance(block), distance(next(block)));
            first < self.allowance(block)
                && first + second < self.allowance(block) + self.allowance(next(block))
        })
    }

    /// One more than the share of a block; nothing if it need not be probed.
    fn allowance(&self, block: usize) -> u32 {
        self.shares[block].map_or(0, |share| share + 1)
    }
}

/// The block that follows another when it is rotated to the front.
fn next(block: usize) -> usize {
    (block + 1) % BLOCKS
}

/// How many keys differ from a key in up to `share` bits.
fn keys_within(share: u32) -> u64 {
    let choose =
        |taken: u32| (0..taken).fold(1, |n, i| n * u64::from(BLOCK_BITS - i) / u64::from(i + 1));
    (0..=share.min(BLOCK_BITS)).map(choose).sum()
}

/// The key and every key that differs from it in up to `share` of the bits from `bit` on.
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
    fn a_block_in_front_is_the_key_and_comes_back() {
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
    fn keys_are_all_those_within_the_share() {
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

    /// However r flips are spread over the blocks, some block's probes meet the pair.
    #[test]
    fn every_spread_of_the_flips_has_an_owner() {
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
    fn four_flips_can_avoid_all_probes_of_radius_three() {
        let a = Fingerprint::from_bits(0x9e37_79b9_7f4a_7c15);
        let b = Fingerprint::from_bits(a.bits() ^ 0x0001_0001_0001_0001);
        assert_eq!(Probes::for_radius(3).owner(a, b), None);
        assert!(Probes::for_radius(4).owner(a, b).is_some());
    }
}
