//! The recipe `ngram`: overlapping runs of characters.
//!
//! The lengths and weights were chosen on labelled Chinese and English near-duplicates (bench
//! `accuracy`). The criteria were the share of near-duplicates within 12 bits, the share of
//! unrelated texts within 12 bits, and the smallest distance between unrelated long texts.
//!
//! - CJK: pairs of characters, and single characters with 0.7 of the weight of a pair. In a text of
//!   ten characters, one changed character changes two of nine pairs, but only one of ten single
//!   characters.
//! - Other scripts, short texts: runs of 3. Runs of 6 change too much with one edit.
//! - Other scripts, long texts: runs of 6. Beyond some thousand letters any two English texts share
//!   most runs of 3: unrelated texts of 50,000 letters were as near as 1 bit. With runs of 6 they
//!   are 15 bits apart.
//! - In between, the weight moves from runs of 3 to runs of 6 with the logarithm of the length, so
//!   texts of nearly the same length have nearly the same weights.

mod shingle_tables;

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::weighted_features::WeightedFeatures;
use super::{Constants, SIMHASH};
use crate::feature::{
    FeatureWeights, LogWeights, MIN_SHINGLES, REPETITIVE, TokenCounter, TokenCounts,
    UnreliableReason, WEIGHT_UNIT,
};
use crate::text::{
    CJK_SHINGLE, Normaliser, Traditional, count_non_cjk, has_letter, is_informative, shingles,
};

use shingle_tables::ShingleCounts;

/// Letters or digits per shingle in short texts.
const SHORT_SHINGLE: usize = 3;

/// Letters or digits per shingle in long texts.
const LONG_SHINGLE: usize = 6;

/// The weight of a single CJK character in 1/1024 of the weight of a pair: 0.7.
const CHARACTER_SHARE: i64 = 717;

/// A text with at most 1024 characters that are not CJK is short.
const SHORT_CHARACTERS: usize = 1024;

/// A text with at least 8 times as many is long.
const LONG_TIMES: usize = 8;

pub(super) const CONSTANTS: Constants = Constants {
    name: "ngram",
    version: 2,
    min_features: MIN_SHINGLES,
    weight_unit: WEIGHT_UNIT,
    ..Constants::OWN
};

pub(super) const TRADITIONAL: Constants = Constants {
    name: "ngram-traditional",
    traditional: Traditional::Kept,
    ..CONSTANTS
};

/// The description without the name. Databases store it, so it must never change.
pub(super) fn description(traditional: Traditional) -> String {
    let repetitive = REPETITIVE
        .map(|(fewer, times)| format!("below {fewer} distinct occurring {times} times each"));
    format!(
        "{}; letters, digits and marks of one script; shingles of {CJK_SHINGLE} in runs of CJK, \
         and of 1 at {CHARACTER_SHARE}/1024; of {SHORT_SHINGLE} and {LONG_SHINGLE} in other runs, \
         short runs whole, the share of the latter growing with the logarithm of the other \
         characters from {SHORT_CHARACTERS} to {LONG_TIMES} times as many; weight \
         round(1024 (1 + ln tf)), ln by libm 0.2.16, times the share in 1024ths, rounded; \
         {SIMHASH}; unreliable without two different words and a letter, below {MIN_SHINGLES} \
         distinct, if one outweighs the rest, or {}",
        traditional.normalisation(),
        repetitive.join(", ")
    )
}

pub(super) struct Ngram {
    pub(super) normaliser: Normaliser,
    weights: LogWeights,
}

impl Ngram {
    pub(super) fn new(traditional: Traditional) -> Self {
        Self {
            normaliser: Normaliser::with_traditional(traditional),
            weights: LogWeights::new(),
        }
    }

    /// The features of a text. `position_of` converts the byte range of each first occurrence.
    pub(super) fn weigh<P>(
        &self,
        text: &str,
        position_of: impl Fn(Range<usize>) -> P,
    ) -> WeightedFeatures<P> {
        let normalised = self.normaliser.letters(text);
        let (characters, others) = match normalised.is_ascii() {
            true => (normalised.len(), normalised.len()),
            false => (normalised.chars().count(), count_non_cjk(&normalised)),
        };
        let cjk = characters - others;
        // A kind of shingles with weight 0 is not counted: a short text has no long shingles.
        let long_share = long_share(others);
        let (max_short, max_long) = (
            others * usize::from(long_share < WEIGHT_UNIT),
            others * usize::from(long_share > 0),
        );

        let counted = shingle_tables::count(&normalised, max_short > 0, &position_of);
        let ShingleCounts {
            pairs,
            single,
            short,
        } = counted.unwrap_or_else(|| ShingleCounts {
            pairs: count::<CJK_SHINGLE, 0, P>(&normalised, cjk, &position_of),
            single: count::<1, 0, P>(&normalised, cjk, &position_of),
            short: count::<0, SHORT_SHINGLE, P>(&normalised, max_short, &position_of),
        });
        let long = (max_long > 0).then(|| shingle_tables::count_long(&normalised, &position_of));
        let long = long
            .flatten()
            .unwrap_or_else(|| count::<0, LONG_SHINGLE, P>(&normalised, max_long, &position_of));

        // The reliability is computed from one kind of shingle for each script, the heavier kind.
        // Single characters repeat where pairs repeat. In some thousand letters of prose in a small
        // alphabet, such as Tagalog, runs of 3 repeat as often as in a table of digits.
        let others = if long_share * 2 < WEIGHT_UNIT {
            &short
        } else {
            &long
        };
        let distinct = pairs.hashes.len() + others.hashes.len();
        let total = pairs.total + others.total;
        let unreliable = UnreliableReason::from_counts(distinct, total, MIN_SHINGLES, &REPETITIVE)
            .or_else(|| {
                let sentences = || self.normaliser.sentences(text);
                if is_informative(text, &normalised, sentences) {
                    None
                } else if has_letter(&normalised) {
                    Some(UnreliableReason::SingleWord)
                } else {
                    Some(UnreliableReason::NoLetter)
                }
            });

        // The order of the kinds does not matter for the fingerprint, since sums are exact. A CJK
        // character without CJK neighbours is a short pair and a single character, with equal
        // hashes: both vote.
        let mut weights = FeatureWeights::default();
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

/// Counts the shingles of one kind, at most `max_distinct`. Most texts have one or two of the four
/// kinds; no table is allocated for the other kinds.
fn count<const CJK: usize, const OTHER: usize, P>(
    normalised: &str,
    max_distinct: usize,
    position_of: &impl Fn(Range<usize>) -> P,
) -> TokenCounts<P> {
    if max_distinct == 0 {
        return TokenCounts::EMPTY;
    }
    let mut counter = TokenCounter::new(max_distinct);
    shingles::<CJK, OTHER>(normalised, |range| {
        let hash = xxh3_64(&normalised.as_bytes()[range.clone()]);
        counter.add((hash, position_of(range)));
    });
    counter.finish()
}

/// The share of long shingles in units of 1/1024, for a text with this many characters that are not
/// CJK.
fn long_share(characters: usize) -> i64 {
    // The logarithm of `libm`, which is the same on all platforms.
    let times = characters.max(1) as f64 / SHORT_CHARACTERS as f64;
    let share = libm::log(times) / libm::log(LONG_TIMES as f64) * WEIGHT_UNIT as f64;
    (share.round() as i64).clamp(0, WEIGHT_UNIT)
}
