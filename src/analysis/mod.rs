//! Analysis: everything that is known about one text.
//!
//! MinHash: texts with many common shingles have equal minima, however short they are. The smallest hash of
//! all shingles is equal in two texts with a probability equal to the Jaccard index of their shingle sets.
//!
//! Short texts have shingles of 3 letters, tiny texts of 2, so that some survive a misspelling. Long texts have
//! shingles of 5 letters, of which unrelated texts share fewer. A text is stored by the shingles for
//! its length; a query near the border of two lengths searches by both.
//!
//! | file | responsibility |
//! |---|---|
//! | `shingle_length` | the length of the shingles of a text |
//! | `minima` | the two smallest values of each hash function |
//! | `sketch` | a bit of each minimum |
//! | `length_class` | lengths of near-duplicates |
//!
//! # Source
//! A. Broder, *On the resemblance and containment of documents*, SEQUENCES 1997.

mod length_class;
mod minima;
mod shingle_length;
mod sketch;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::feature::MIN_SHINGLES;
use crate::text::{CJK_SHINGLE, floor_char_boundary};

pub(crate) use length_class::{LENGTH_CLASSES, LengthClasses, length_class};
pub(crate) use minima::{LEVEL_BITS, LEVELS, Minima, TREES};
pub(crate) use shingle_length::ShingleLength;
pub(crate) use sketch::{SKETCH_BITS, SKETCH_FACTOR, Sketch};

/// The seed of the key of a whole text.
pub(crate) const WORDING_SEED: u64 = 1;
/// The seed of the key of a text without letters and digits.
pub(crate) const RAW_SEED: u64 = 2;

/// The part of a description that determines minima.
pub(crate) fn minima_description() -> String {
    format!(
        "shingles of {CJK_SHINGLE} in runs of CJK, in other runs {}, in parts of {PART_BYTES} bytes, by the \
         upper half of xxh3_64 seed 0; minima of h ^ h >> 15 times {}, where h is that times the lower half \
         of xxh3_64 of the row, made odd",
        ShingleLength::description(),
        minima::LAST_FACTOR
    )
}

/// The minima over the shingles of a length; `None` below [`MIN_SHINGLES`] distinct shingles.
pub(crate) fn minima(normalised: &str, length: ShingleLength) -> Option<Minima> {
    let mut minima = Minima::new(&[]);
    let mut most_distinct = 0;
    // Minima can be taken part by part, so memory does not grow with the text. Parts overlap,
    // so that no shingle is lost at their borders.
    for part in parts(normalised) {
        let hashes = length.count(part).hashes;
        minima.add(&hashes);
        most_distinct = most_distinct.max(hashes.len());
    }
    (most_distinct >= MIN_SHINGLES).then_some(minima)
}

/// The hash of a whole text: of its normalised letters, or of the text itself if it has no letters.
pub(crate) fn wording_hash(text: &str, normalised: &str) -> u64 {
    match normalised {
        "" => xxh3_64_with_seed(text.as_bytes(), RAW_SEED),
        normalised => xxh3_64_with_seed(normalised.as_bytes(), WORDING_SEED),
    }
}

/// A text is cut into parts of at most 1 MiB, to bound the memory for its shingles.
const PART_BYTES: usize = 1 << 20;

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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(minima(&text, ShingleLength::Five) == Some(whole));
        }
    }
}
