//! What SimHash is compared with: other measures of how alike two texts are.
//!
//! A Hamming distance is quick and says little about what differs. These measures read both texts,
//! and each says something else. They are values in, values out: nothing is stored, nothing is
//! looked up in a database.
//!
//! | measure | made of | by | says |
//! |---|---|---|---|
//! | edit similarity | characters | [`edit_similarity`], [`edit_similarity_at_least`] | how much of the longer text stays as it is |
//! | Jaccard index of shingles | [`tokens`] | [`shingle_jaccard`] | how many phrases both have, of those that one has |
//! | the same, estimated | any features | [`BitVector::jaccard`] | the same in a few bits for each feature, mostly too high |
//! | cosine, vector space model | [`tokens`] or [`Words`] | [`Vector::cosine`] | whether the same words weigh most |
//! | longest sentences | [`sentences`] | [`longest_sentences_hash`] | whether the three longest sentences are the same |
//! | SimHash | features of a recipe | [`Fingerprinter`](crate::Fingerprinter), [`Fingerprint::distance`](crate::Fingerprint::distance) | the angle between the features, roughly |
//!
//! All are symmetric. All but the last two answer from 0, nothing in common, to 1, alike; two
//! equal texts give 1. **Where there is nothing to compare**, in an empty text, or one of nothing
//! but punctuation where that is no token: two such texts give 1, one of them and another text
//! give 0.
//!
//! # Which text
//! The measures take texts as they are: an edit similarity that is asked about a comma counts the
//! comma. Whoever means what the recipes mean, that width, case, punctuation, white space, and
//! traditional against simplified characters make no difference, normalises first, with
//! [`Normaliser::letters`] for characters and [`Normaliser::sentences`] for tokens. ([`Words`]
//! always normalise, since the dictionary of jieba-rs is made of simplified characters.)
//!
//! # Examples
//!
//! ```
//! use std::num::NonZeroUsize;
//! use simdb::measure::{self, Normaliser, Vector, tokens};
//!
//! let normaliser = Normaliser::new();
//! let one = normaliser.sentences("The cat sat on the mat!");
//! let other = normaliser.sentences("the cat sat on a mat");
//!
//! let pairs = NonZeroUsize::new(2).unwrap();
//! // the cat, cat sat, sat on; not on the, the mat, on a, a mat.
//! assert_eq!(measure::shingle_jaccard(&one, &other, pairs), 3.0 / 7.0);
//! // (2 1 1 1 1 0) and (1 1 1 1 1 1): an angle of 30 degrees.
//! let cosine = Vector::of(tokens(&one)).cosine(&Vector::of(tokens(&other)));
//! assert!((cosine - 0.75_f64.sqrt()).abs() < 1e-12);
//! ```

mod bits;
mod edit;
mod frequencies;
mod sentences;
mod tokens;
mod vector;
mod words;

pub use bits::BitVector;
pub use edit::{edit_similarity, edit_similarity_at_least};
pub use frequencies::DocumentFrequencies;
pub use sentences::{longest_sentences_hash, sentences};
pub use tokens::{shingle_jaccard, shingles, tokens};
pub use vector::Vector;
pub use words::Words;

pub use crate::text::Normaliser;
