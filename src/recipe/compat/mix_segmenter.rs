//! [`MixSegmenter`]: the words of a text by the rules of cppjieba's mixed segmenter.

use std::ops::Range;

use jieba_rs::Jieba;

use super::cppjieba::{DEFAULT_COUNT, USER_WORDS};
use super::hmm;
use crate::text::{DictionaryWord, MAX_PIECE_BYTES, floor_char_boundary, jieba_with};

/// The characters at which cppjieba cuts first. They are part of no word.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '，', '。'];

/// The segmenter: the most probable path through the dictionary, and a hidden Markov model for runs
/// of single characters on that path.
///
/// The rules equal cppjieba's `MixSegment`. Dictionary and model come from jieba-rs. The
/// words may differ from the words of cppjieba for two reasons: the dictionary of cppjieba has some
/// sixty words less, and a logarithm with another last bit may decide between equal paths.
///
/// Unlike a [`WordSegmenter`](crate::text::WordSegmenter), this segmenter may join single
/// characters to a dictionary word that is not on the path, and its ASCII words are names and
/// numbers only.
pub(super) struct MixSegmenter {
    jieba: Jieba,
}

impl MixSegmenter {
    /// Loads the dictionary, which takes about 0.1 s and 50 MB, with these words instead of the
    /// default user dictionary.
    pub(super) fn new(added: Option<&[DictionaryWord]>) -> Self {
        let added: Vec<_> = match added {
            Some(added) => added
                .iter()
                .map(|(word, count)| (word.clone(), Some(count.unwrap_or(DEFAULT_COUNT))))
                .collect(),
            None => USER_WORDS
                .map(|(word, count)| (word.to_owned(), Some(count)))
                .into(),
        };
        Self {
            jieba: jieba_with(&added),
        }
    }

    /// Calls `word` with the byte range of each word in text order. Single characters and
    /// punctuation are words, [`SEPARATORS`] are not.
    pub(super) fn for_each(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut start = 0;
        let separators = text.match_indices(SEPARATORS);
        for (end, separator) in separators.chain([(text.len(), "")]) {
            // In pieces, since jieba-rs takes some 40 bytes of memory per byte of text.
            while start < end {
                let piece = floor_char_boundary(text, end.min(start + MAX_PIECE_BYTES));
                self.cut(text, start..piece, &mut word);
                start = piece;
            }
            start = end + separator.len();
        }
    }

    /// The words of a part without separators: the words on the most probable path, and the words
    /// of the model in the single characters between.
    fn cut(&self, text: &str, part: Range<usize>, word: &mut impl FnMut(Range<usize>)) {
        let mut singles = part.start..part.start;
        for token in self.jieba.cut(&text[part.clone()], false) {
            let range = part.start + token.byte_start..part.start + token.byte_end;
            // jieba-rs joins ASCII characters that are single on its path, so a token of several
            // characters is a word of the path only if the dictionary has it.
            let is_word = token.end - token.start > 1 && self.jieba.has_word(token.word);
            if is_word {
                cut_singles(text, singles, word);
                singles = range.end..range.end;
                word(range);
            } else {
                singles.end = range.end;
            }
        }
        cut_singles(text, singles, word);
    }
}

/// The words in a run of single characters: ASCII names and numbers, and the words of the model
/// between.
fn cut_singles(text: &str, run: Range<usize>, word: &mut impl FnMut(Range<usize>)) {
    let mut at = run.start;
    while at < run.end {
        let rest = &text.as_bytes()[at..run.end];
        let mut length = ascii_word(rest);
        if length > 0 {
            word(at..at + length);
        } else {
            length = rest.iter().take_while(|byte| !byte.is_ascii()).count();
            hmm::cut(&text[at..at + length], |found| {
                word(at + found.start..at + found.end)
            });
        }
        at += length;
    }
}

/// The length of the ASCII word at the start of `bytes`: a letter with following letters and
/// digits, a digit with following digits and points, or one other ASCII character. 0 if the first
/// character is not ASCII.
fn ascii_word(bytes: &[u8]) -> usize {
    let continues: fn(&u8) -> bool = match bytes.first() {
        Some(first) if first.is_ascii_alphabetic() => u8::is_ascii_alphanumeric,
        Some(first) if first.is_ascii_digit() => |byte| byte.is_ascii_digit() || *byte == b'.',
        Some(first) => return usize::from(first.is_ascii()),
        None => return 0,
    };
    bytes.iter().take_while(|byte| continues(byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words<'t>(segmenter: &MixSegmenter, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        segmenter.for_each(text, |range| found.push(&text[range]));
        found
    }

    #[test]
    fn words_equal_those_of_cppjieba() {
        let segmenter = MixSegmenter::new(None);
        assert_eq!(
            words(&segmenter, "我是蓝翔技工，当上总经理。出任CEO"),
            ["我", "是", "蓝翔", "技工", "当上", "总经理", "出任", "CEO"]
        );
        assert_eq!(
            words(&segmenter, "v2 3.5.6% x86_64"),
            ["v2", "3.5.6", "%", "x86", "_", "64"]
        );
    }

    #[test]
    fn given_dictionary_replaces_default_user_dictionary() {
        let text = "蓝翔和海康云";
        let segmenter = MixSegmenter::new(Some(&[("海康云".to_owned(), None)]));
        assert_eq!(words(&segmenter, text).last(), Some(&"海康云"));
    }

    #[test]
    fn words_cover_any_text_except_separators() {
        let segmenter = MixSegmenter::new(None);
        proptest!(|(text in prop_oneof![any::<String>(), "([一-龥]|[a-zA1.%_#é ，。！\\t])*"])| {
            let mut left = text.clone();
            left.retain(|c| ![' ', '\t', '\n', '，', '。'].contains(&c));
            prop_assert_eq!(words(&segmenter, &text).concat(), left);
        });
    }
}
