//! Similarity measures of two texts, and the decision if they are near-duplicates.
//!
//! A Hamming distance is fast and says little about the texts. The measures of this module compare
//! the texts themselves. They are pure functions and need no database.
//!
//! | measure | of | function | result |
//! |---|---|---|---|
//! | edit similarity | characters | [`edit_similarity`], [`edit_similarity_at_least`] | share of the longer text that stays as it is |
//! | Jaccard index of shingles | [`tokens`] | [`shingle_jaccard`] | share of the phrases that are in both texts |
//! | both | normalised letters and digits | [`Resemblance`] | near-duplicates or not |
//! | SimHash | features of a recipe | [`Fingerprinter`](crate::Fingerprinter), [`Fingerprint::distance`](crate::Fingerprint::distance) | an estimate of the angle between the features |
//!
//! All measures are symmetric. Edit similarity and Jaccard index are from 0, nothing in common, to
//! 1 for equal texts. Two texts without content (empty, or, for tokens, punctuation only) give 1; a
//! text without content and any other text give 0.
//!
//! # Normalisation
//! [`edit_similarity`] and [`shingle_jaccard`] take texts as they are, with case and punctuation.
//! The recipes ignore width, case, punctuation, white space, and the difference between traditional
//! and simplified characters. To compare texts in this way, normalise both first: with
//! [`Normaliser::letters`](crate::Normaliser::letters) for characters, with
//! [`Normaliser::sentences`](crate::Normaliser::sentences) for tokens.
//! [`Resemblance`] normalises its texts.
//!
//! # Examples
//!
//! ```
//! use std::num::NonZeroUsize;
//! use simdb::Normaliser;
//! use simdb::similarity::shingle_jaccard;
//!
//! let normaliser = Normaliser::new();
//! let one = normaliser.sentences("The cat sat on the mat!");
//! let other = normaliser.sentences("the cat sat on a mat");
//!
//! let pairs = NonZeroUsize::new(2).unwrap();
//! // In both: the cat, cat sat, sat on. In one: on the, the mat, on a, a mat.
//! assert_eq!(shingle_jaccard(&one, &other, pairs), 3.0 / 7.0);
//! ```

pub use super::edit::{edit_similarity, edit_similarity_at_least};
pub use super::jaccard::{shingle_jaccard, shingles};
pub use super::{Likeness, Resemblance};
pub use crate::text::tokens;
