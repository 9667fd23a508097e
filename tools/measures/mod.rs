//! Measures of two texts that `simdb-cli compare` shows beside those of the library.
//!
//! | measure | of | function | meaning |
//! |---|---|---|---|
//! | estimated Jaccard index | any features | [`BloomFilter::jaccard`] | Jaccard index from two bits a feature, mostly too high |
//! | cosine, vector space model | tokens or words | [`Vector::cosine`] | the same words have the same weights |
//! | longest sentences | [`sentences`] | [`longest_sentences`] | the longest sentences are equal |
//!
//! All are symmetric. The first two range from 0, nothing in common, to 1, alike. Two texts without
//! features give 1; a text with and a text without features give 0.

mod bloom;
mod sentences;
mod vector;

pub use bloom::BloomFilter;
pub use sentences::{longest_sentences, sentences};
pub use vector::Vector;
