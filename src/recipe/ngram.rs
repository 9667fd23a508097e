//! The recipe `ngram`: overlapping runs of characters.
//!
//! Which runs, was chosen on labelled near-duplicates, Chinese and English, by what share of them
//! lies within 12 bits, what of unrelated texts does, and how near unrelated long texts come (the
//! bench `accuracy` prints the tables):
//!
//! - Pairs of CJK characters, and single ones at seven tenths. With pairs alone a changed character
//!   in ten takes two of nine features away; with singles as well, one in ten more.
//! - Threes of other characters for short texts, where sixes forgive too little, and sixes for long
//!   ones: after some thousand letters any two English texts have most of their threes in common,
//!   and unrelated texts of 50,000 come within 1 bit of each other. With sixes it is 15. In between
//!   the weight moves from threes to sixes with the logarithm of the length, so that texts of nearly
//!   the same length have nearly the same weights.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::weighted_features::WeightedFeatures;
use super::{Constants, SIMHASH};
use crate::feature::{
    LEAST_SHINGLES, LogWeights, REPETITIVE, TokenCounter, TokenCounts, UnreliableReason,
    WEIGHT_UNIT, Weights,
};
use crate::text::{
    CJK_SHINGLE, Normaliser, Script, count_other_characters, has_letter, is_informative, shingles,
};

/// Letters or digits per shingle of a short text.
const SHORT_SHINGLE: usize = 3;

/// Letters or digits per shingle of a long text.
const LONG_SHINGLE: usize = 6;

/// The weight of a single CJK character, in 1024ths of that of a pair.
const CHARACTER_SHARE: i64 = 717;

/// A text of at most this many characters that are not CJK is short.
const SHORT_CHARACTERS: usize = 1024;

/// A text at least this many times as long as the longest short text is long.
const LONG_TIMES: usize = 8;

pub(super) const CONSTANTS: Constants = Constants {
    name: "ngram",
    version: 2,
    least_features: LEAST_SHINGLES,
    weight_unit: WEIGHT_UNIT,
    ..Constants::OWN
};

pub(super) const TRADITIONAL: Constants = Constants {
    name: "ngram-traditional",
    script: Script::Apart,
    ..CONSTANTS
};

/// The part of the description after the name.
pub(super) fn description(script: Script) -> String {
    let repetitive = REPETITIVE
        .map(|(fewer, times)| format!("below {fewer} distinct occurring {times} times each"));
    format!(
        "{}; letters, digits and marks of one script; shingles of {CJK_SHINGLE} in runs of CJK, \
         and of 1 at {CHARACTER_SHARE}/1024; of {SHORT_SHINGLE} and {LONG_SHINGLE} in other runs, \
         short runs whole, the share of the latter growing with the logarithm of the other \
         characters from {SHORT_CHARACTERS} to {LONG_TIMES} times as many; weight \
         round(1024 (1 + ln tf)), ln by libm 0.2.16, times the share in 1024ths, rounded; \
         {SIMHASH}; unreliable without two different words and a letter, below {LEAST_SHINGLES} \
         distinct, if one outweighs the rest, or {}",
        script.normalisation(),
        repetitive.join(", ")
    )
}

/// The tables of the recipe.
pub(super) struct Ngram {
    pub(super) normaliser: Normaliser,
    weights: LogWeights,
}

impl Ngram {
    pub(super) fn new(script: Script) -> Self {
        Self {
            normaliser: Normaliser::with_script(script),
            weights: LogWeights::new(),
        }
    }

    /// The features of a text, each with the position that `position_of` makes of its first
    /// occurrence.
    pub(super) fn weigh<P>(
        &self,
        text: &str,
        position_of: impl Fn(Range<usize>) -> P,
    ) -> WeightedFeatures<P> {
        let normalised = self.normaliser.letters(text);
        let characters = normalised.chars().count();
        let others = count_other_characters(&normalised);
        let cjk = characters - others;
        let long_share = long_share(others);
        let (shorts, longs) = (
            others * usize::from(long_share < WEIGHT_UNIT),
            others * usize::from(long_share > 0),
        );

        let pairs = count::<CJK_SHINGLE, 0, P>(&normalised, cjk, &position_of);
        let single = count::<1, 0, P>(&normalised, cjk, &position_of);
        let short = count::<0, SHORT_SHINGLE, P>(&normalised, shorts, &position_of);
        let long = count::<0, LONG_SHINGLE, P>(&normalised, longs, &position_of);

        // Long shingles say what short ones say, and characters what their pairs say.
        let others = if shorts > 0 { &short } else { &long };
        let distinct = pairs.hashes.len() + others.hashes.len();
        let total = pairs.total + others.total;
        let unreliable =
            UnreliableReason::from_counts(distinct, total, LEAST_SHINGLES, &REPETITIVE).or_else(
                || {
                    if is_informative(&self.normaliser, text, &normalised) {
                        None
                    } else if has_letter(&normalised) {
                        Some(UnreliableReason::SingleWord)
                    } else {
                        Some(UnreliableReason::NoLetter)
                    }
                },
            );

        let mut weights = Weights::default();
        let mut hashes = Vec::with_capacity(distinct + single.hashes.len());
        let mut positions = Vec::with_capacity(distinct + single.hashes.len());
        for (counts, share) in [
            (pairs, WEIGHT_UNIT),
            (single, CHARACTER_SHARE),
            (short, WEIGHT_UNIT - long_share),
            (long, long_share),
        ] {
            weights.append(self.weights.weights(&counts.counts, share));
            hashes.extend(counts.hashes);
            positions.extend(counts.positions);
        }
        WeightedFeatures {
            unreliable: unreliable.or_else(|| UnreliableReason::from_weights(&weights)),
            normalised,
            hashes,
            weights,
            positions,
        }
    }
}

/// Counts the shingles of one kind, of which there are `most` at most. Most texts have one or two of
/// the four kinds; for the others no table is made.
fn count<const CJK: usize, const OTHER: usize, P>(
    normalised: &str,
    most: usize,
    position_of: &impl Fn(Range<usize>) -> P,
) -> TokenCounts<P> {
    if most == 0 {
        return TokenCounts::EMPTY;
    }
    let mut counter = TokenCounter::new(most);
    shingles::<CJK, OTHER>(normalised, |range| {
        let hash = xxh3_64(&normalised.as_bytes()[range.clone()]);
        counter.add((hash, position_of(range)));
    });
    counter.finish()
}

/// The share of long shingles in a text of this many characters that are not CJK, in units of 1/1024.
fn long_share(characters: usize) -> i64 {
    let times = characters.max(1) as f64 / SHORT_CHARACTERS as f64;
    let share = libm::log(times) / libm::log(LONG_TIMES as f64) * WEIGHT_UNIT as f64;
    (share.round() as i64).clamp(0, WEIGHT_UNIT)
}
