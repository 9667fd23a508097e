//! Recipes that imitate other software: the same fingerprints, bit for bit.
//!
//! Odd rules in this folder, such as an unstable order of ties or a sum in batches, come from
//! the imitated software. A cleaner rule would give other fingerprints.
//!
//! | recipe | what it imitates | exact |
//! |---|---|---|
//! | `python-simhash` | the Python package simhash 2.1.2, `Simhash(text)` and `Simhash(features)`, with numpy 2.4 on Python 3.11 | everything, for characters that Python's Unicode tables know |
//! | `cppjieba` | <https://github.com/yanyiwu/simhash> at commit 30c243be with cppjieba b3602bef, and gosimhash | hashes, weights, choice of keywords and sums; words nearly always, since dictionary and model come from jieba-rs 0.11.0 |
//! | `java-string-hash` | the class `SimHash` of Chinese articles about SimHash, on OpenJDK 17, with 64 and 128 bits | everything |
//!
//! Fingerprints that were made by this software are in `tests/data/vectors`. Code and tables for
//! these recipes alone are in this folder, with their licences. Only `recipe` itself uses the
//! folder.

mod character_class;
pub(super) mod cppjieba;
#[cfg(feature = "jieba")]
mod exact_idf;
#[cfg(feature = "jieba")]
mod hmm;
pub(super) mod java_string_hash;
mod lookup3;
mod lower;
#[cfg(feature = "jieba")]
mod mix_segmenter;
mod numpy;
pub(super) mod python_simhash;
#[cfg(feature = "jieba")]
mod top_k;

use std::ops::Range;

use super::Constants;
use super::weighted_features::WeightedFeatures;
use crate::feature::{FeatureWeights, TokenCounts, UnreliableReason};

pub(super) use character_class::CharacterClass;
pub(super) use numpy::numpy_sums;

/// Features weighted by their numbers of occurrences. `repetitive` are the bounds of
/// [`is_repetitive`](crate::feature::is_repetitive).
fn weigh_by_counts(
    normalised: String,
    counts: TokenCounts<Range<usize>>,
    constants: &Constants,
    repetitive: &[(usize, u64)],
) -> WeightedFeatures {
    let TokenCounts {
        counts,
        positions,
        total,
        ..
    } = counts;
    let weights = FeatureWeights::new(counts.iter().map(|&count| count as i64));
    let (distinct, least) = (positions.len(), constants.min_features);
    // The tokens were counted by xxh3_64, and only distinct tokens are hashed with the slow or weak
    // hash of the recipe.
    let hash = |range: &Range<usize>| (constants.hash)(&normalised[range.clone()]);
    WeightedFeatures {
        hashes: positions.iter().map(hash).collect(),
        unreliable: UnreliableReason::from_counts(distinct, total, least, repetitive)
            .or_else(|| UnreliableReason::from_weights(&weights)),
        weights,
        positions,
        normalised,
    }
}
