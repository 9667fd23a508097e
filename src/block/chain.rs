//! [`Chain`]: the block that owns a pair in a join, and a bound of the differing bits from it on.
//!
//! A query uses the first two partial sums of the cycle lemma (see [`block`](super)). A join
//! compares all pairs, so it uses the whole lemma to discard a pair early: from some block on,
//! *every* partial sum of differing bits, of one block, two, three and all four, is below the sum
//! of the allowances of these blocks. At radius 3 that block is equal in both fingerprints, the
//! first two blocks differ in at most 1 bit and the first three in at most 2 (Qin, Xiao,
//! *Pigeonring*, VLDB 2018, section 4, which calls the blocks a chain). The first block from which
//! all sums hold owns the pair.

use super::{BLOCK_BITS, BLOCKS, Probes, rotate};
use crate::ids::Fingerprint;

/// The block of a single pass over all pairs. Table `block1`, unlike `block0`, has each distinct
/// fingerprint once.
const SINGLE_PASS_BLOCK: usize = 1;

/// The bounds that a pair must satisfy to be owned by one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The block that is rotated to the front.
    pub(crate) block: usize,
    /// The most differing bits in the first block, the first two, three, and all four, counted from
    /// `block`.
    max_distances: [u32; BLOCKS],
}

impl Chain {
    /// The most bits in which a pair may differ from the front up to the end of the block that
    /// holds `bit`. Bits are counted from 0 at the front.
    pub(crate) fn max_distance_up_to(&self, bit: u32) -> u32 {
        let block = (bit / BLOCK_BITS) as usize;
        self.max_distances[block.min(BLOCKS - 1)]
    }

    /// Returns `true` if a pair with these differing bits satisfies all bounds.
    fn contains(&self, differing: Fingerprint) -> bool {
        let rotated = rotate(differing, self.block);
        (0..BLOCKS as u32).all(|block| {
            let behind = 64 - (block + 1) * BLOCK_BITS;
            (rotated >> behind).count_ones() <= self.max_distances[block as usize]
        })
    }
}

/// The chains of a radius. Every pair within the radius is owned by exactly one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chains {
    chains: Vec<Chain>,
}

impl Chains {
    pub(crate) fn for_radius(radius: u32) -> Self {
        let probes = Probes::for_radius(radius.min(64));
        let keys: u64 = probes.blocks().map(|block| probes.count(block)).sum();
        if keys >= 1 << BLOCK_BITS {
            // The blocks together would compare more pairs than a single pass over all pairs.
            let chain = Chain {
                block: SINGLE_PASS_BLOCK,
                max_distances: [radius; BLOCKS],
            };
            return Self {
                chains: vec![chain],
            };
        }
        let chain = |block: usize| {
            let mut allowed = 0;
            let max_distances = std::array::from_fn(|next| {
                allowed += probes.allowance((block + next) % BLOCKS);
                // Less than the sum of the allowances.
                allowed.saturating_sub(1)
            });
            Chain {
                block,
                max_distances,
            }
        };
        Self {
            chains: probes.blocks().map(chain).collect(),
        }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Chain> {
        self.chains.iter()
    }

    /// Returns `true` if `chain` owns the pair: it is the first chain that contains the pair. A
    /// join may also find a pair in a chain that does not own it.
    pub(crate) fn is_owner(&self, chain: &Chain, a: Fingerprint, b: Fingerprint) -> bool {
        let differing = Fingerprint::from_bits(a.bits() ^ b.bits());
        // Several blocks may satisfy all bounds; the first of them reports the pair.
        let owner = self.chains.iter().find(|chain| chain.contains(differing));
        owner == Some(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chains that contain a pair with these numbers of differing bits in each block.
    fn containing(chains: &Chains, spread: [u32; BLOCKS]) -> Vec<usize> {
        let flips = spread.iter().fold(0, |flips, count| {
            flips << BLOCK_BITS | ((1_u64 << count) - 1)
        });
        let differing = Fingerprint::from_bits(flips);
        let numbered = chains.iter().enumerate();
        let containing = numbered.filter(|(_, chain)| chain.contains(differing));
        containing.map(|(number, _)| number).collect()
    }

    #[test]
    fn every_pair_within_the_radius_is_in_a_chain() {
        for radius in 0..=64_u32 {
            let chains = Chains::for_radius(radius);
            for w in 0..=radius.min(16) {
                for x in 0..=(radius - w).min(16) {
                    for y in 0..=(radius - w - x).min(16) {
                        for z in [0, (radius - w - x - y).min(16)] {
                            let found = containing(&chains, [w, x, y, z]);
                            assert!(!found.is_empty(), "radius {radius}: {w} {x} {y} {z}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn no_chain_contains_a_pair_beyond_the_radius() {
        for radius in 0..64_u32 {
            let chains = Chains::for_radius(radius);
            for w in 0..=16 {
                for x in 0..=16 {
                    for y in 0..=16 {
                        let so_far = w + x + y;
                        let z = (radius + 1).saturating_sub(so_far);
                        if z <= 16 {
                            assert!(containing(&chains, [w, x, y, z]).is_empty());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn chains_of_radius_three_start_at_an_equal_block() {
        let chains = Chains::for_radius(3);
        assert_eq!(chains.iter().count(), 4);
        for chain in chains.iter() {
            assert_eq!(chain.max_distances, [0, 1, 2, 3]);
        }
        assert_eq!(containing(&chains, [0, 2, 1, 0]), [3]);
        assert_eq!(containing(&chains, [0, 1, 1, 1]), [0]);
        assert_eq!(Chains::for_radius(64).iter().count(), 1);
    }
}
