//! Analysis: everything that is known about one text.
//!
//! MinHash: texts with many common shingles have equal minima, however short they are. The smallest
//! hash of all shingles is equal in two texts with a probability equal to the Jaccard index of
//! their shingle sets.
//!
//! Short texts have shingles of 3 letters, tiny texts of 2, so that some survive a misspelling.
//! Long texts have shingles of 5 letters, of which unrelated texts share fewer. A text is stored by
//! the shingles for its length; a query near the border of two lengths searches by both.
//!
//! | file | responsibility |
//! |---|---|
//! | `analysed` | a text and its facets, each computed once |
//! | `shingle_length` | the length of the shingles of a text |
//! | `minima` | the two smallest values of each hash function |
//! | `sketch` | a bit of each minimum |
//! | `length_class` | lengths of near-duplicates |
//! | `phrases` | shingles of three words |
//! | `packed` | a text in the bytes in which it is compared |
//! | `frames` | the lines and sentences around the bodies of many texts |
//! | `words/` | a text cut into words with classes and weights |
//!
//! # Source
//! A. Broder, *On the resemblance and containment of documents*, SEQUENCES 1997.

mod analysed;
pub(crate) mod frames;
mod length_class;
mod minima;
mod packed;
mod phrases;
mod shingle_length;
mod sketch;
pub(crate) mod words;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::text::CJK_SHINGLE;

pub use analysed::Analysed;
pub(crate) use length_class::{LENGTH_CLASSES, LengthClasses, length_class};
pub(crate) use minima::{LEVEL_BITS, LEVELS, Minima, TREES};
pub(crate) use packed::{
    CLASSES, HEADER_BYTES, PackedHeader, PackedWording, PackedWordings, class_counts, code,
    phrase_bits,
};
pub(crate) use shingle_length::ShingleLength;
pub(crate) use sketch::{SKETCH_BITS, SKETCH_FACTOR, Sketch};

/// The seed of the key of a whole text.
pub(crate) const WORDING_SEED: u64 = 1;
/// The seed of the key of a text without letters and digits.
pub(crate) const RAW_SEED: u64 = 2;

/// The part of a description that determines minima.
pub(crate) fn minima_description() -> String {
    format!(
        "shingles of {CJK_SHINGLE} in runs of CJK, in other runs {}, in parts of {} bytes, by the \
         upper half of xxh3_64 seed 0; minima of h ^ h >> 15 times {}, where h is that times the lower half \
         of xxh3_64 of the row, made odd",
        ShingleLength::description(),
        minima::PART_BYTES,
        minima::LAST_FACTOR
    )
}

/// The hash of a whole text: of its normalised letters, or of the text itself if it has no letters.
pub(crate) fn wording_hash(text: &str, normalised: &str) -> u64 {
    match normalised {
        "" => xxh3_64_with_seed(text.as_bytes(), RAW_SEED),
        normalised => xxh3_64_with_seed(normalised.as_bytes(), WORDING_SEED),
    }
}
