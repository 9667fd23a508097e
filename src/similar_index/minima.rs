//! [`Minima`]: the smallest and the second smallest value of each hash function over the shingles of a
//! text.

use std::sync::OnceLock;

use crate::minhash::{factor, mixed};

/// The most trees of a forest. More trees find more texts and take more memory.
pub(super) const TREES: usize = 32;

/// Minima of a tree, each a level.
pub(super) const LEVELS: usize = 5;

/// The bits of a key for each level. The first level separates most texts; the last two separate texts
/// of one template.
pub(super) const LEVEL_BITS: [u32; LEVELS] = [15, 10, 7, 4, 2];

/// The number of hash functions.
const ROWS: usize = TREES * LEVELS;

/// The bits of a sketch, one for each of the first minima.
pub(super) const SKETCH_BITS: usize = 128;

/// A bit of each of the first 128 minima. Two sketches differ in about half of the bits of unrelated
/// texts, and in fewer bits the more shingles the texts have in common.
pub(super) type Sketch = [u64; SKETCH_BITS / 64];

/// The minima of the hash functions over the shingles of a text.
#[derive(Clone, PartialEq)]
pub(super) struct Minima {
    smallest: [u32; ROWS],
    /// The second smallest value of each hash function, `u32::MAX` for a single shingle. A text that has
    /// lost the shingle of a minimum has this value in its place.
    second: [u32; ROWS],
}

impl Minima {
    /// The minima over the shingles with these hashes.
    pub(super) fn new(hashes: &[u64]) -> Self {
        static FACTORS: OnceLock<[u32; ROWS]> = OnceLock::new();
        let factors = FACTORS.get_or_init(|| std::array::from_fn(factor));
        let mut minima = Self {
            smallest: [u32::MAX; ROWS],
            second: [u32::MAX; ROWS],
        };
        lower(&mut minima.smallest, &mut minima.second, factors, hashes);
        minima
    }

    /// The part of a key for a level of a tree, by the smallest value.
    #[inline]
    pub(super) fn part(&self, tree: usize, level: usize) -> u64 {
        part(self.smallest[tree * LEVELS + level], level)
    }

    /// The part of a key for a level of a tree, by the second smallest value.
    #[inline]
    pub(super) fn second_part(&self, tree: usize, level: usize) -> u64 {
        part(self.second[tree * LEVELS + level], level)
    }

    pub(super) fn sketch(&self) -> Sketch {
        let mut sketch = [0; 2];
        for (at, minimum) in self.smallest.iter().take(SKETCH_BITS).enumerate() {
            let bit = minimum.wrapping_mul(0x9e37_79b1) >> 31;
            sketch[at / 64] |= u64::from(bit) << (at % 64);
        }
        sketch
    }
}

/// Lowers the minima to the smallest values for `hashes`.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn lower(
    smallest: &mut [u32; ROWS],
    second: &mut [u32; ROWS],
    factors: &[u32; ROWS],
    hashes: &[u64],
) {
    for hash in hashes {
        let hash = (hash >> 32) as u32;
        for ((smallest, second), factor) in smallest.iter_mut().zip(&mut *second).zip(factors) {
            let value = mixed(hash, *factor);
            // Two shingles with one hash count once.
            let larger = match value == *smallest {
                true => u32::MAX,
                false => value.max(*smallest),
            };
            *second = (*second).min(larger);
            *smallest = (*smallest).min(value);
        }
    }
}

/// The top bits of a hash of a minimum: minima themselves are small numbers.
#[inline]
fn part(minimum: u32, level: usize) -> u64 {
    let minimum = u64::from(minimum).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (minimum ^ minimum >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed >> (64 - LEVEL_BITS[level])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn minima_equal_the_two_smallest_distinct_values(
            hashes in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            let minima = Minima::new(&[hashes.clone(), hashes.clone()].concat());
            for row in 0..ROWS {
                let values = hashes.iter().map(|hash| mixed((hash >> 32) as u32, factor(row)));
                let mut values: Vec<u32> = values.chain([u32::MAX, u32::MAX]).collect();
                values.sort_unstable();
                prop_assert_eq!(minima.smallest[row], values[0]);
                values.dedup();
                let second = values.get(1).copied().unwrap_or(u32::MAX);
                prop_assert_eq!(minima.second[row], second);
            }
        }
    }
}
