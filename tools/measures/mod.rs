//! Measures of two texts that `simdb-cli compare` shows beside those of the library.
//!
//! | measure | made of | by | says |
//! |---|---|---|---|
//! | Jaccard index of shingles, estimated | any features | [`BloomFilter::jaccard`] | the Jaccard index from two bits a feature, mostly too high |
//! | cosine, vector space model | tokens or words | [`Vector::cosine`] | whether the same words weigh most |
//! | longest sentences | [`sentences`] | [`longest_sentences`] | whether the longest sentences are the same |
//!
//! All are symmetric. The first two are from 0, nothing in common, to 1, alike. Two texts with
//! nothing to compare give 1; one of them and another text give 0.

mod bloom;
mod sentences;
mod vector;

pub use bloom::BloomFilter;
pub use sentences::{longest_sentences, sentences};
pub use vector::Vector;
