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

use super::weighed_features::Weighed;
use super::{SIMHASH, Script, normaliser};
use crate::feature::{
    Counted, Doubt, LEAST_SHINGLES, LogWeights, REPETITIVE, Tally, WEIGHT_UNIT, Weights,
};
use crate::text::{
    CJK_SHINGLE, Normaliser, cjk_characters, cjk_shingles, count_other_characters, has_letter,
    other_shingles, says_something,
};

/// How many letters or digits of a short text make a shingle.
const SHORT_SHINGLE: usize = 3;

/// How many letters or digits of a long text make a shingle.
const LONG_SHINGLE: usize = 6;

/// The weight of a single CJK character, of that of a pair.
const CHARACTER_SHARE: i64 = 717;

/// A text of up to so many characters that are not CJK is short.
const SHORT_CHARACTERS: usize = 1024;

/// So many times as long, it is long.
const LONG_TIMES: usize = 8;

/// What the description says after the name.
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
        normaliser(script),
        repetitive.join(", ")
    )
}

/// The features of a text, each with what `place_of` makes of where it first occurs.
pub(super) fn weigh<P: Clone>(
    normaliser: &Normaliser,
    weights: &LogWeights,
    text: &str,
    place_of: impl Fn(Range<usize>) -> P,
) -> Weighed<P> {
    let normalised = normaliser.letters(text);
    let bytes = normalised.as_bytes();
    let characters = normalised.chars().count();
    let others = count_other_characters(&normalised);
    let long_share = long_share(others);
    let hashed = |range: Range<usize>| (xxh3_64(&bytes[range.clone()]), place_of(range));

    // Most texts have one or two of the four kinds, and short ones show what a tally costs.
    let [mut pairs, mut single, mut short, mut long] = [const { Counted::NONE }; 4];
    if characters > others {
        let mut tally = Tally::for_at_most(characters - others);
        cjk_shingles(&normalised, |range| tally.add(hashed(range)));
        pairs = tally.finish();
        let mut tally = Tally::for_at_most(characters - others);
        cjk_characters(&normalised, |range| tally.add(hashed(range)));
        single = tally.finish();
    }
    if others > 0 && long_share < WEIGHT_UNIT {
        let mut tally = Tally::for_at_most(others);
        other_shingles::<SHORT_SHINGLE>(&normalised, |range| tally.add(hashed(range)));
        short = tally.finish();
    }
    if others > 0 && long_share > 0 {
        let mut tally = Tally::for_at_most(others);
        other_shingles::<LONG_SHINGLE>(&normalised, |range| tally.add(hashed(range)));
        long = tally.finish();
    }
    // Long ones say what short ones say, and characters what their pairs say.
    let runs = if long_share < WEIGHT_UNIT {
        &short
    } else {
        &long
    };
    let distinct = pairs.hashes.len() + runs.hashes.len();
    let total = pairs.total + runs.total;
    let of_counts = Doubt::of_counts(distinct, total, LEAST_SHINGLES, &REPETITIVE);
    let mut weighed = Weighed {
        doubt: of_counts.or_else(|| match says_something(normaliser, text, &normalised) {
            true => None,
            false if has_letter(&normalised) => Some(Doubt::SingleWord),
            false => Some(Doubt::NoLetter),
        }),
        normalised,
        hashes: Vec::with_capacity(distinct + single.hashes.len()),
        weights: Weights::default(),
        places: Vec::with_capacity(distinct + single.hashes.len()),
    };
    for (kind, share) in [
        (pairs, WEIGHT_UNIT),
        (single, CHARACTER_SHARE),
        (short, WEIGHT_UNIT - long_share),
        (long, long_share),
    ] {
        weighed.weights.append(weights.weights(&kind.counts, share));
        weighed.hashes.extend(kind.hashes);
        weighed.places.extend(kind.places);
    }
    weighed.doubt = weighed
        .doubt
        .or_else(|| Doubt::of_weights(&weighed.weights));
    weighed
}

/// The share of long shingles in a text of so many characters that are not CJK, in units of 1/1024.
fn long_share(characters: usize) -> i64 {
    let times = characters.max(1) as f64 / SHORT_CHARACTERS as f64;
    let share = libm::log(times) / libm::log(LONG_TIMES as f64) * WEIGHT_UNIT as f64;
    (share.round() as i64).clamp(0, WEIGHT_UNIT)
}
