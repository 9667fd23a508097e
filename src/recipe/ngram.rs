//! The recipe `ngram`: overlapping runs of characters.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::weighed::{Weighed, first_tally};
use super::{SIMHASH, Script, normaliser};
use crate::feature::{Counted, LogWeights};
use crate::text::{CJK_SHINGLE, LATIN_SHINGLE, Normaliser, shingles};

/// Fewer distinct shingles than this say nothing.
pub(super) const LEAST_SHINGLES: usize = 5;

/// With fewer distinct shingles than the first number, shingles that occur as often as the second
/// on average say nothing: a phrase over and over, or a long text over few characters, such as a
/// table of digits, where any two texts have nearly all shingles in common.
const REPETITIVE: [(usize, u64); 2] = [(32, 2), (300, 4)];

/// What the description says after the name.
pub(super) fn description(script: Script) -> String {
    format!(
        "{}; letters, digits and marks of one script; shingles of \
         {CJK_SHINGLE} in runs of CJK, {LATIN_SHINGLE} in other runs, short runs whole; \
         weight round(1024 (1 + ln tf)), ln by \
         libm 0.2.16; {SIMHASH}; unreliable below {LEAST_SHINGLES} \
         distinct, if one outweighs the rest, below {} distinct occurring {} times each, \
         or below {} distinct occurring {} times each",
        normaliser(script),
        REPETITIVE[0].0,
        REPETITIVE[0].1,
        REPETITIVE[1].0,
        REPETITIVE[1].1,
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
    let mut tally = first_tally(normalised.chars().count());
    shingles(&normalised, |range| {
        tally.add(xxh3_64(&bytes[range.clone()]), place_of(range))
    });

    let Counted {
        hashes,
        counts,
        places,
        total,
    } = tally.finish();
    let weights = weights.weights(&counts);
    let distinct = hashes.len();
    let repetitive = REPETITIVE
        .iter()
        .any(|&(fewer, times)| distinct < fewer && total >= times * distinct as u64);
    let reliable =
        distinct >= LEAST_SHINGLES && !repetitive && !weights.one_outweighs_the_rest(distinct);
    Weighed {
        normalised,
        hashes,
        weights,
        places,
        reliable,
    }
}
