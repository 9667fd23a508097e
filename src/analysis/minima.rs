//! [`Minima`]: the smallest and the second smallest value of each hash function over the shingles
//! of a text.

use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64;

use super::shingle_length::ShingleLength;
use super::sketch::Sketch;
use crate::text::floor_char_boundary;

/// The most trees of a forest. More trees find more texts and take more memory.
pub(crate) const TREES: usize = 32;

/// Minima of a tree, each a level.
pub(crate) const LEVELS: usize = 5;

/// The bits of a key for each level. The first level separates most texts; the last two separate
/// texts of one template.
pub(crate) const LEVEL_BITS: [u32; LEVELS] = [15, 10, 7, 4, 2];

/// The number of hash functions.
const ROWS: usize = TREES * LEVELS;

/// The second factor of all hash functions of the minima.
pub(super) const LAST_FACTOR: u32 = 0x2c1b_3c6d;

/// The minima of the hash functions over the shingles of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Minima {
    smallest: [u32; ROWS],
    /// The second smallest value of each hash function, `u32::MAX` for a single shingle. A text
    /// that has lost the shingle of a minimum has this value in its place.
    second: [u32; ROWS],
}

impl Minima {
    /// The minima over the shingles with these hashes.
    pub(crate) fn new(hashes: &[u64]) -> Self {
        let mut minima = Self {
            smallest: [u32::MAX; ROWS],
            second: [u32::MAX; ROWS],
        };
        minima.add(hashes);
        minima
    }

    /// Lowers the minima to those over more shingles. A shingle may be added several times.
    fn add(&mut self, hashes: &[u64]) {
        static FACTORS: OnceLock<[u32; ROWS]> = OnceLock::new();
        let factors = FACTORS.get_or_init(|| std::array::from_fn(factor));
        lower(&mut self.smallest, &mut self.second, factors, hashes);
    }

    /// The part of a key for a level of a tree, by the smallest value.
    #[inline]
    pub(crate) fn part(&self, tree: usize, level: usize) -> u64 {
        part(self.smallest[tree * LEVELS + level], level)
    }

    /// The part of a key for a level of a tree, by the second smallest value.
    #[inline]
    pub(crate) fn second_part(&self, tree: usize, level: usize) -> u64 {
        part(self.second[tree * LEVELS + level], level)
    }

    pub(crate) fn sketch(&self) -> Sketch {
        Sketch::new(&self.smallest)
    }
}

/// The minima over the shingles of a length, and the number of shingles.
#[derive(Clone, Debug)]
pub(super) struct CountedMinima {
    pub(super) minima: Minima,
    /// The largest number of distinct shingles in a part of the text.
    pub(super) most_distinct: usize,
}

impl CountedMinima {
    /// Returns `true` if normalised letters are one part.
    pub(super) fn fits(letters: &str) -> bool {
        letters.len() <= PART_BYTES
    }

    /// The minima of letters in one part, by the hashes of the distinct shingles.
    pub(super) fn of_shingles(hashes: &[u64]) -> Self {
        Self {
            minima: Minima::new(hashes),
            most_distinct: hashes.len(),
        }
    }

    /// The minima over the shingles of normalised letters.
    pub(super) fn of_letters(letters: &str, length: ShingleLength) -> Self {
        let mut counted = Self::of_shingles(&[]);
        // Minima can be taken part by part, so memory does not grow with the text. Parts overlap,
        // so that no shingle is lost at their borders.
        for part in parts(letters) {
            let hashes = length.count(part).hashes;
            counted.minima.add(&hashes);
            counted.most_distinct = counted.most_distinct.max(hashes.len());
        }
        counted
    }
}

/// A text is cut into parts of at most 1 MiB, to bound the memory for its shingles.
pub(super) const PART_BYTES: usize = 1 << 20;

/// The parts of a text. Two parts overlap by one character less than a shingle, so each shingle is
/// in a part.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        if text.len() <= PART_BYTES {
            return Some(text);
        }
        let end = floor_char_boundary(text, PART_BYTES);
        let overlap = text[..end]
            .char_indices()
            .rev()
            .nth(ShingleLength::Five.letters() - 2);
        let next = overlap.map_or(end, |(at, _)| at);
        rest = Some(&text[next..]);
        Some(&text[..end])
    })
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

/// The first factor of the hash function of a row.
fn factor(row: usize) -> u32 {
    xxh3_64(&(row as u64).to_le_bytes()) as u32 | 1
}

/// The hash function of a factor.
#[inline(always)]
fn mixed(hash: u32, factor: u32) -> u32 {
    // With one multiplication, all small factors would have their minimum at the smallest hash.
    let mixed = hash.wrapping_mul(factor);
    (mixed ^ mixed >> 15).wrapping_mul(LAST_FACTOR)
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

    #[test]
    fn minima_of_parts_equal_minima_of_whole_text() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32
        };
        for alphabet in ['a', '一'] {
            let letter = |n: u32| char::from_u32(alphabet as u32 + n % 20).unwrap_or('x');
            let text: String = (0..PART_BYTES * 5 / 2 / alphabet.len_utf8())
                .map(|_| letter(draw()))
                .collect();
            assert!(parts(&text).count() >= 3);
            let whole = Minima::new(&ShingleLength::Five.count(&text).hashes);
            let counted = CountedMinima::of_letters(&text, ShingleLength::Five);
            assert!(counted.minima == whole);
        }
    }
}
