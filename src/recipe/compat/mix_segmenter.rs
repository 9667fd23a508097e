//! [`MixSegmenter`]: the words of a text, as cppjieba's mixed segmenter finds them.

use std::ops::Range;

use jieba_rs::Jieba;

use super::hmm;
use crate::text::{DictionaryWord, MOST_PIECE_BYTES, floor_char_boundary, jieba_with};

/// The count that cppjieba gives a word whose entry has none: the median of the dictionary.
const USUAL_COUNT: u32 = 3;

/// The words of the user dictionary that cppjieba loads unless another one is named.
pub(super) const USER_WORDS: [(&str, u32); 3] = [
    ("云计算", USUAL_COUNT),
    ("蓝翔", USUAL_COUNT),
    ("区块链", 10),
];

/// The characters at which cppjieba cuts first, and which belong to no word.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '，', '。'];

/// The words of a text: the most probable path through the dictionary of jieba-rs, and a hidden
/// Markov model for the runs of single characters on that path.
///
/// The rules are those of cppjieba's `MixSegment`, the words and the model those of jieba-rs. Unlike a
/// [`WordSegmenter`](crate::text::WordSegmenter) it joins characters whose word is not on the path,
/// and knows ASCII only as letters, digits after letters, and numbers. Two things may differ from
/// cppjieba: its dictionary has some sixty words less, and a logarithm computed otherwise may decide
/// between equal paths.
pub(super) struct MixSegmenter {
    jieba: Jieba,
}

impl MixSegmenter {
    /// Loads the dictionary, which takes about a tenth of a second and 50 MB, with these words
    /// in the place of the usual user dictionary.
    pub(super) fn new(added: Option<&[DictionaryWord]>) -> Self {
        let added: Vec<_> = match added {
            Some(added) => added
                .iter()
                .map(|(word, count)| (word.clone(), Some(count.unwrap_or(USUAL_COUNT))))
                .collect(),
            None => USER_WORDS
                .map(|(word, count)| (word.to_owned(), Some(count)))
                .into(),
        };
        Self {
            jieba: jieba_with(&added),
        }
    }

    /// Hands out the byte ranges of all words in text order, single characters and punctuation among
    /// them, without the separators.
    pub(super) fn for_each(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut start = 0;
        let separators = text.match_indices(SEPARATORS);
        for (end, separator) in separators.chain([(text.len(), "")]) {
            while start < end {
                let piece = floor_char_boundary(text, end.min(start + MOST_PIECE_BYTES));
                self.cut(text, start..piece, &mut word);
                start = piece;
            }
            start = end + separator.len();
        }
    }

    /// Hands out the words of a part between separators: those on the most probable path, and those
    /// that the model makes of the single characters between them.
    fn cut(&self, text: &str, part: Range<usize>, word: &mut impl FnMut(Range<usize>)) {
        let mut singles = part.start..part.start;
        for token in self.jieba.cut(&text[part.clone()], false) {
            let range = part.start + token.byte_start..part.start + token.byte_end;
            // jieba-rs joins ASCII characters that are single on its path.
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

/// Hands out the words in a run of single characters: names and numbers in ASCII, and those that the
/// model finds between them.
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

/// The length of the word that starts here with an ASCII character: a letter and the letters and
/// digits after it, or a digit and the digits and points after it, or any other character.
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
    fn words_are_those_of_cppjieba() {
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
    fn a_user_dictionary_takes_the_place_of_the_usual_one() {
        let text = "蓝翔和海康云";
        let segmenter = MixSegmenter::new(Some(&[("海康云".to_owned(), None)]));
        assert_eq!(words(&segmenter, text).last(), Some(&"海康云"));
    }

    #[test]
    fn words_cover_any_text_but_its_separators() {
        let segmenter = MixSegmenter::new(None);
        proptest!(|(text in prop_oneof![any::<String>(), "([一-龥]|[a-zA1.%_#é ，。！\\t])*"])| {
            let mut left = text.clone();
            left.retain(|c| ![' ', '\t', '\n', '，', '。'].contains(&c));
            prop_assert_eq!(words(&segmenter, &text).concat(), left);
        });
    }
}
