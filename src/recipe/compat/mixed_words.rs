//! [`MixedWords`]: the words of a text, as cppjieba's mixed segmenter finds them.

use std::ops::Range;

use jieba_rs::Jieba;

use super::hmm;
use crate::text::{DictionaryWord, MOST_PIECE_BYTES, dictionary};

/// How often cppjieba takes a word to have been seen whose entry does not say so: as often as the
/// words of the dictionary in the median.
const USUAL_COUNT: u32 = 3;

/// The words of the user dictionary that cppjieba loads unless another one is named.
pub(crate) const USER_WORDS: [(&str, u32); 3] = [
    ("云计算", USUAL_COUNT),
    ("蓝翔", USUAL_COUNT),
    ("区块链", 10),
];

/// The words of a text: the most probable path through the dictionary of jieba-rs, and a hidden
/// Markov model for the runs of single characters on that path.
///
/// The rules are those of cppjieba's `MixSegment`, the words and the model those of jieba-rs. Unlike
/// [`Words`](crate::text::Words) it joins characters whose word the path went by, and knows ASCII only as
/// letters, digits after letters, and numbers. What may differ from cppjieba: its dictionary has some
/// sixty words less, and a logarithm computed otherwise may decide between equal paths.
pub(crate) struct MixedWords {
    jieba: Jieba,
}

impl MixedWords {
    /// Loads the dictionary, which takes about a tenth of a second and 50 MB, with these words
    /// in the place of the usual user dictionary.
    pub(crate) fn new(added: Option<&[DictionaryWord]>) -> Self {
        let added: Vec<_> = match added {
            Some(added) => added
                .iter()
                .map(|(word, count)| (word.clone(), Some(count.unwrap_or(USUAL_COUNT))))
                .collect(),
            None => USER_WORDS
                .iter()
                .map(|&(word, count)| (word.to_owned(), Some(count)))
                .collect(),
        };
        Self {
            jieba: dictionary(&added),
        }
    }

    /// Hands out the byte ranges of all words in the text's order, single characters among them,
    /// but not the white space and the punctuation at which cppjieba cuts first: space, tab, line
    /// feed, full-width comma and full stop.
    pub(crate) fn for_each(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut start = 0;
        let separators = text.match_indices([' ', '\t', '\n', '，', '。']);
        for (end, separator) in separators.chain([(text.len(), "")]) {
            while start < end {
                let mut piece = end.min(start + MOST_PIECE_BYTES);
                while !text.is_char_boundary(piece) {
                    piece -= 1;
                }
                self.cut(text, start..piece, &mut word);
                start = piece;
            }
            start = end + separator.len();
        }
    }

    /// The words of a part between separators: those on the most probable path, and what the model
    /// makes of the single characters between them.
    fn cut(&self, text: &str, part: Range<usize>, word: &mut impl FnMut(Range<usize>)) {
        let mut singles = part.start..part.start;
        for token in self.jieba.cut(&text[part.clone()], false) {
            let range = part.start + token.byte_start..part.start + token.byte_end;
            // jieba-rs joins ASCII that its path went through one by one.
            let is_word = token.end - token.start > 1 && self.jieba.has_word(token.word);
            if is_word {
                self.cut_singles(text, singles, word);
                singles = range.end..range.end;
                word(range);
            } else {
                singles.end = range.end;
            }
        }
        self.cut_singles(text, singles, word);
    }

    /// The words in a run of single characters: names and numbers in ASCII, and what the model finds
    /// between them.
    fn cut_singles(&self, text: &str, run: Range<usize>, word: &mut impl FnMut(Range<usize>)) {
        let bytes = text.as_bytes();
        let mut at = run.start;
        while at < run.end {
            let rest = &bytes[at..run.end];
            let mut length = ascii_word(rest);
            if length == 0 {
                length = rest.iter().take_while(|byte| !byte.is_ascii()).count();
                hmm::cut(&text[at..at + length], |found| {
                    word(at + found.start..at + found.end)
                });
            } else {
                word(at..at + length);
            }
            at += length;
        }
    }
}

/// How long the word is that starts here with an ASCII character: a letter and the letters and
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

    fn words<'t>(mixed: &MixedWords, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        mixed.for_each(text, |range| found.push(&text[range]));
        found
    }

    #[test]
    fn words_are_those_of_cppjieba() {
        let mixed = MixedWords::new(None);
        assert_eq!(
            words(&mixed, "我是蓝翔技工，当上总经理。出任CEO"),
            ["我", "是", "蓝翔", "技工", "当上", "总经理", "出任", "CEO"]
        );
        assert_eq!(
            words(&mixed, "v2 3.5.6% x86_64"),
            ["v2", "3.5.6", "%", "x86", "_", "64"]
        );
    }

    #[test]
    fn a_user_dictionary_takes_the_place_of_the_usual_one() {
        let text = "蓝翔和海康云";
        let mixed = MixedWords::new(Some(&[("海康云".to_owned(), None)]));
        assert_eq!(words(&mixed, text).last(), Some(&"海康云"));
    }

    #[test]
    fn words_cover_any_text_but_its_separators() {
        let mixed = MixedWords::new(None);
        proptest!(|(text in prop_oneof![any::<String>(), "([一-龥]|[a-zA1.%_#é ，。！\\t])*"])| {
            let mut left = text.clone();
            left.retain(|c| ![' ', '\t', '\n', '，', '。'].contains(&c));
            prop_assert_eq!(words(&mixed, &text).concat(), left);
        });
    }
}
