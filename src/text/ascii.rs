//! The words that jieba-rs finds between two spaces where all is ASCII, without asking it.
//!
//! Its dictionary has two such words in lower case, `c#` and `c++`. Any other such text is for
//! it a run of characters it does not know, and its rule for those looks at nothing but the
//! characters themselves.

use std::ops::Range;

/// Whether [`words`] can be asked: letters in lower case, digits, and characters that
/// connect, but none that a word of the dictionary has.
pub(super) fn is_plain(block: &str) -> bool {
    block
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'%'))
}

/// Hands out the words of two characters and more of a block that is plain.
///
/// A word is a run of letters and digits, or several with one of `.`, `_` and `-` between two of
/// them, and perhaps a `%`. What is left between words is one too.
#[inline]
pub(super) fn words(block: &str, mut word: impl FnMut(Range<usize>)) {
    let bytes = block.as_bytes();
    let is_alphanumeric = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut start = 0;
    while start < bytes.len() {
        let mut end = start;
        if is_alphanumeric(start) {
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
    use jieba_rs::Jieba;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_of_plain_blocks_are_those_of_jieba() {
        let jieba = Jieba::new();
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
