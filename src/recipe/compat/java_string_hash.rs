//! The recipe `java-string-hash`: what the Java class of the articles makes of a text.

use xxhash_rust::xxh3::xxh3_64;

use super::string_hash::string_hash;
use crate::feature::Tally;
use crate::recipe::weighed_features::Weighed;

/// Where tokens end: white space as `java.util.StringTokenizer` has it.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

/// Fewer distinct tokens than this say nothing.
pub(in crate::recipe) const LEAST_TOKENS: usize = 4;

/// What the description says after the name.
pub(in crate::recipe) fn description() -> String {
    format!(
        "as the class SimHash in Java; tokens between space, \\t, \\n, \\r, \\f; weight 1 each \
         time; string hash of UTF-16 by 1000003, first unit shifted by 7, xor length, modulo 2^64 \
         (128 bits: 2^128); a bit is 1 if its sum is 0 or above; unreliable below {LEAST_TOKENS} \
         distinct or if one outweighs the rest"
    )
}

/// The features of a text, each with where it first occurs.
pub(in crate::recipe) fn weigh(text: &str) -> Weighed {
    let mut tally = Tally::for_at_most(text.len() / 4);
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
    let hash = |token: &str| string_hash(token) as u64;
    Weighed::by_counts(text.to_owned(), tally.finish(), hash, LEAST_TOKENS, &[])
}
