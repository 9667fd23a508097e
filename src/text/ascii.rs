//! The words that jieba-rs finds in plain ASCII text, without a call of jieba-rs.
//!
//! The dictionary of jieba-rs has two lower-case ASCII words, `c#` and `c++`. Every other
//! lower-case ASCII text is a run of unknown characters, which jieba-rs cuts by a rule that depends
//! on nothing but these characters. This module is that rule. Three quarters of the time of the
//! recipe `jieba` are spent inside jieba-rs, so each call that is saved counts.

use std::ops::Range;

/// Returns `true` if [`words`] cuts the block as jieba-rs does: the block has only lower-case
/// letters, digits, and connecting characters that no ASCII word of the dictionary has.
pub(super) fn is_plain(block: &str) -> bool {
    block
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'%'))
}

/// Calls `word` with the byte range of each word of two or more characters of a plain block.
///
/// A word is a sequence of alphanumeric runs with one `.`, `_` or `-` between two runs, and an
/// optional `%` at the end. A run of connecting characters between words is a word too.
#[inline]
pub(super) fn words(block: &str, mut word: impl FnMut(Range<usize>)) {
    let bytes = block.as_bytes();
    let is_alphanumeric = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut start = 0;
    while start < bytes.len() {
        let mut end = start;
        if is_alphanumeric(start) {
            // A connecting character belongs to the word if an alphanumeric one follows: `3.14`,
            // `x-ray`. A `%` ends the word: `50%off` is `50%` and `off`.
            while is_alphanumeric(end)
                || (bytes.get(end).is_some_and(|&byte| byte != b'%') && is_alphanumeric(end + 1))
            {
                end += 1;
            }
            end += usize::from(bytes.get(end) == Some(&b'%'));
        } else {
            while end < bytes.len() && !is_alphanumeric(end) {
                end += 1;
            }
        }
        if end - start > 1 {
            word(start..end);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::jieba_with;

    #[test]
    fn words_of_plain_blocks_equal_those_of_jieba() {
        let jieba = jieba_with(&[]);
        proptest!(|(block in "[a-z0-9._%-]{1,12}|[ab1._%-]{1,8}|[a-z]{1,20}")| {
            prop_assert!(is_plain(&block));
            let mut found = Vec::new();
            words(&block, |range| found.push(&block[range]));
            let cut = jieba.cut(&block, true);
            let expected: Vec<_> = cut.iter().map(|token| token.word).filter(|word| word.len() > 1).collect();
            prop_assert_eq!(found, expected);
        });
    }

    #[test]
    fn blocks_with_words_of_the_dictionary_are_not_plain() {
        for block in ["c++", "c#", "at&t", "A", "é", "a b", "中"] {
            assert!(!is_plain(block), "{block}");
        }
    }
}
