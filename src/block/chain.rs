//! Which block owns a pair of stored fingerprints, and how far the two may differ from there on.
//!
//! A query looks at one fingerprint's neighbours; a join looks at all pairs, so whatever can be
//! told of a pair early saves more. The cycle lemma (see [`block`](super)) says more than queries
//! use: from some block on *every* partial sum of the differing bits, of the first block, of the
//! first two, three and all, falls short of what these blocks are allowed. At radius 3 that is a
//! block that is equal, the next one with at most one differing bit, the two next ones with at
//! most two (Qin, Xiao, *Pigeonring*, VLDB 2018, section 4). The first block of which that is true
//! owns the pair.

use super::{BLOCK_BITS, BLOCKS, Probes, rotate};
use crate::fingerprint::Fingerprint;

/// The block to whose front the fingerprints are brought where all pairs are looked for in one pass:
/// as for a scan, its table has each distinct fingerprint once.
const BLOCK_OF_ONE_PASS: usize = 1;

/// A way to look for pairs: those that one block owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The block that is brought to the front.
    pub(crate) block: usize,
    /// In how many bits the two may differ in the first block, the first two, three, and in all.
    most: [u32; BLOCKS],
}

impl Chain {
    /// In how many bits a pair may differ up to the block, counted from 0 at the front, that holds
    /// this bit, counted from 0 at the front too.
    pub(crate) fn most_up_to(&self, bit: u32) -> u32 {
        let block = (bit / BLOCK_BITS) as usize;
        self.most[block.min(BLOCKS - 1)]
    }

    /// Whether a pair that differs in these bits keeps to all of that.
    fn has(&self, differing: Fingerprint) -> bool {
        let rotated = rotate(differing, self.block);
        (0..BLOCKS as u32).all(|block| {
            let behind = 64 - (block + 1) * BLOCK_BITS;
            (rotated >> behind).count_ones() <= self.most[block as usize]
        })
    }
}

/// The chains that together own every pair within a radius, each pair once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chains {
    chains: Vec<Chain>,
}

impl Chains {
    pub(crate) fn for_radius(radius: u32) -> Self {
        let probes = Probes::for_radius(radius.min(64));
        let keys: u64 = probes.blocks().map(|block| probes.count(block)).sum();
        if keys >= 1 << BLOCK_BITS {
            // The blocks together would look at more than there is: at everything once is less.
            let chain = Chain {
                block: BLOCK_OF_ONE_PASS,
                most: [radius; BLOCKS],
            };
            return Self {
                chains: vec![chain],
            };
        }
        let chain = |block: usize| {
            let mut allowed = 0;
            let most = std::array::from_fn(|next| {
                allowed += probes.allowance((block + next) % BLOCKS);
                allowed.saturating_sub(1)
            });
            Chain { block, most }
        };
        Self {
            chains: probes.blocks().map(chain).collect(),
        }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Chain> {
        self.chains.iter()
    }

    /// Whether a chain owns a pair that was found by it: perhaps it has it, but an earlier one has it
    /// too, or it was found by chance.
    pub(crate) fn is_owner(&self, chain: &Chain, a: Fingerprint, b: Fingerprint) -> bool {
        let differing = Fingerprint::from_bits(a.bits() ^ b.bits());
        let owner = self.chains.iter().find(|chain| chain.has(differing));
        owner == Some(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chains that have a pair with these numbers of differing bits in each block.
    fn having(chains: &Chains, spread: [u32; BLOCKS]) -> Vec<usize> {
        let flips = spread.iter().fold(0, |flips, count| {
            flips << BLOCK_BITS | ((1_u64 << count) - 1)
        });
        let differing = Fingerprint::from_bits(flips);
        let numbered = chains.iter().enumerate();
        let having = numbered.filter(|(_, chain)| chain.has(differing));
        having.map(|(number, _)| number).collect()
    }

    #[test]
    fn every_spread_of_the_differing_bits_within_the_radius_has_a_first_chain() {
        for radius in 0..=64_u32 {
            let chains = Chains::for_radius(radius);
            for w in 0..=radius.min(16) {
                for x in 0..=(radius - w).min(16) {
                    for y in 0..=(radius - w - x).min(16) {
                        for z in [0, (radius - w - x - y).min(16)] {
                            let having = having(&chains, [w, x, y, z]);
                            assert!(!having.is_empty(), "radius {radius}: {w} {x} {y} {z}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn no_chain_has_a_pair_beyond_the_radius() {
        for radius in 0..64_u32 {
            let chains = Chains::for_radius(radius);
            for w in 0..=16 {
                for x in 0..=16 {
                    for y in 0..=16 {
                        let so_far = w + x + y;
                        let z = (radius + 1).saturating_sub(so_far);
                        if z <= 16 {
                            assert!(having(&chains, [w, x, y, z]).is_empty());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn at_radius_three_a_block_is_equal_and_the_next_differs_in_one_bit() {
        let chains = Chains::for_radius(3);
        assert_eq!(chains.iter().count(), 4);
        for chain in chains.iter() {
            assert_eq!(chain.most, [0, 1, 2, 3]);
        }
        assert_eq!(having(&chains, [0, 2, 1, 0]), [3]);
        assert_eq!(having(&chains, [0, 1, 1, 1]), [0]);
        assert_eq!(Chains::for_radius(64).iter().count(), 1);
    }
}
