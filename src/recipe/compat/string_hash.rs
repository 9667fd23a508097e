//! [`string_hash`]: the hash function of the recipe `java-string-hash`.

/// The factor between two code units.
const FACTOR: u128 = 1_000_003;

/// How far the first code unit is shifted.
const FIRST_SHIFT: u32 = 7;

/// The hash of a token, 128 bits of it; its lower half is the hash of 64 bits.
///
/// It is the string hash of Python 2 for UTF-16 code units: a character outside the basic
/// multilingual plane counts as two. The hash of a short token is small, so its upper bits are 0.
///
/// # Source
/// The class `SimHash` of the article 海量数据相似度计算之simhash短文本查找, method `hash`.
pub(crate) fn string_hash(token: &str) -> u128 {
    let mut units = token.encode_utf16().peekable();
    let first = units.peek().copied().unwrap_or_default();
    let mut length = 0;
    let mut hash = u128::from(first) << FIRST_SHIFT;
    for unit in units {
        hash = hash.wrapping_mul(FACTOR) ^ u128::from(unit);
        length += 1;
    }
    hash ^ length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_the_class_prints() {
        assert_eq!(string_hash("of"), 14_208_085_359_128_297);
        assert_eq!(
            string_hash("China"),
            8_576_128_707_772_734_319_844_482_442_091_188
        );
        assert_eq!(string_hash("China") as u64, 319_310_003_528_555_188);
    }

    #[test]
    fn a_character_outside_the_basic_plane_is_two_units() {
        let (high, low) = (0xd83d_u128, 0xde00_u128);
        let by_hand = ((high << 7).wrapping_mul(FACTOR) ^ high).wrapping_mul(FACTOR) ^ low;
        assert_eq!(string_hash("😀"), by_hand ^ 2);
        assert_eq!(string_hash(""), 0);
    }
}
