//! The recipe `java-string-hash`: the features of the Java class `SimHash` in Chinese articles.

use xxhash_rust::xxh3::xxh3_64;

use super::weigh_by_counts;
use crate::feature::TokenCounter;
use crate::recipe::Constants;
use crate::recipe::feature_list::Merging;
use crate::recipe::weighted_features::WeightedFeatures;

/// The separators of tokens: the default of `java.util.StringTokenizer`.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

/// The multiplier of the hash, applied once per code unit.
const FACTOR: u128 = 1_000_003;

/// The hash starts as the first code unit, shifted left by 7 bits.
const FIRST_UNIT_SHIFT: u32 = 7;

pub(in crate::recipe) const CONSTANTS: Constants = Constants {
    name: "java-string-hash",
    merging: Merging::DoublesTiesOne,
    hash: |token| string_hash(token) as u64,
    hash128: Some(string_hash),
    ..Constants::OWN
};

/// The description without the name. Databases store it, so it must never change.
pub(in crate::recipe) fn description() -> String {
    format!(
        "as the class SimHash in Java; tokens between space, \\t, \\n, \\r, \\f; weight 1 each \
         time; string hash of UTF-16 by 1000003, first unit shifted by 7, xor length, modulo 2^64 \
         (128 bits: 2^128); a bit is 1 if its sum is 0 or above; unreliable below {} distinct or if \
         one outweighs the rest",
        CONSTANTS.min_features
    )
}

pub(in crate::recipe) fn weigh(text: &str) -> WeightedFeatures {
    let mut counter = TokenCounter::new(text.len() / 4);
    let mut start = 0;
    for token in text.split(SEPARATORS) {
        let end = start + token.len();
        if start < end {
            // Counted by xxh3_64: the hash of the class is weak, and different tokens with an equal
            // hash are different features.
            counter.add((xxh3_64(token.as_bytes()), start..end));
        }
        // Each separator is one byte.
        start = end + 1;
    }
    weigh_by_counts(text.to_owned(), counter.finish(), &CONSTANTS, &[])
}

/// The 128-bit hash of a token. The lower half is the 64-bit hash.
///
/// This is the string hash of Python 2 on UTF-16 code units: a character outside the basic
/// multilingual plane is two units. Short tokens have small hashes, whose upper bits are 0.
///
/// # Source
/// The class `SimHash` of the article 海量数据相似度计算之simhash短文本查找, method `hash`.
fn string_hash(token: &str) -> u128 {
    let first = token.encode_utf16().next().unwrap_or_default();
    let mut length = 0;
    let mut hash = u128::from(first) << FIRST_UNIT_SHIFT;
    for unit in token.encode_utf16() {
        hash = hash.wrapping_mul(FACTOR) ^ u128::from(unit);
        length += 1;
    }
    hash ^ length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_those_of_java_class() {
        assert_eq!(string_hash("of"), 14_208_085_359_128_297);
        assert_eq!(
            string_hash("China"),
            8_576_128_707_772_734_319_844_482_442_091_188
        );
        assert_eq!(string_hash("China") as u64, 319_310_003_528_555_188);
    }

    #[test]
    fn character_outside_basic_plane_is_two_units() {
        let (high, low) = (0xd83d_u128, 0xde00_u128);
        let by_hand = ((high << 7).wrapping_mul(FACTOR) ^ high).wrapping_mul(FACTOR) ^ low;
        assert_eq!(string_hash("😀"), by_hand ^ 2);
        assert_eq!(string_hash(""), 0);
    }
}
