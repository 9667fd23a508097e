//! The recipe `java-string-hash`: what the Java class of the articles makes of a text.

use xxhash_rust::xxh3::xxh3_64;

use super::weighed::{Weighed, first_tally};
use crate::feature::{Counted, Doubt, Weights, string_hash};

/// Where tokens end: white space as `java.util.StringTokenizer` has it.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

/// Fewer distinct tokens than this say nothing.
pub(super) const LEAST_TOKENS: usize = 4;

/// What the description says after the name.
pub(super) fn description() -> String {
    format!(
        "as the class SimHash in Java; tokens between space, \\t, \\n, \\r, \\f; weight 1 each \
         time; string hash of UTF-16 by 1000003, first unit shifted by 7, xor length, modulo 2^64 \
         (128 bits: 2^128); a bit is 1 if its sum is 0 or above; unreliable below {LEAST_TOKENS} \
         distinct or if one outweighs the rest"
    )
}

/// The features of a text, each with where it first occurs.
pub(super) fn weigh(text: &str) -> Weighed {
    let mut tally = first_tally(text.len() / 4);
    let mut start = 0;
    for token in text.split(SEPARATORS) {
        let end = start + token.len();
        if start < end {
            // The class's own hash is weak: tokens are told apart by another one.
            tally.add((xxh3_64(token.as_bytes()), start..end));
        }
        // Each separator is one byte.
        start = end + 1;
    }
    let Counted {
        counts,
        places,
        total,
        ..
    } = tally.finish();
    let weights = Weights::of(counts.iter().map(|&count| count as i64));
    Weighed {
        hashes: places
            .iter()
            .map(|place| string_hash(&text[place.clone()]) as u64)
            .collect(),
        doubt: Doubt::of_counts(places.len(), total, LEAST_TOKENS, &[])
            .or_else(|| Doubt::of_weights(&weights)),
        weights,
        places,
        normalised: text.to_owned(),
    }
}
