//! Text to normalised text to tokens.
//!
//! Two ways to cut a text: [`shingles`], overlapping runs of characters, which need no dictionary
//! and no separators; and [`Words`], the words jieba-rs finds. Both hand out byte ranges, so that no token is copied until someone wants to
//! read it.

mod ascii;
mod normalise;
mod shingles;
mod substance;

use std::ops::Range;

use jieba_rs::Jieba;

pub use normalise::Normaliser;
pub(crate) use normalise::{SIMPLIFIED, is_letter_or_digit, is_mark};
pub(crate) use shingles::{
    CJK_SHINGLE, cjk_characters, cjk_shingles, count_other_characters, is_cjk, other_shingles,
    shingles,
};
pub(crate) use substance::{MOST_WORD_BYTES, has_letter, is_south_east_asian, says_something};

/// How much of a text jieba-rs is given at a time. It takes some forty bytes of memory for each.
pub(crate) const MOST_PIECE_BYTES: usize = 1 << 16;

/// The words of a text, as jieba-rs finds them: the most probable path through its dictionary,
/// and a hidden Markov model for what the dictionary does not know.
///
/// Its dictionary holds simplified Chinese; ASCII words and numbers are tokens as they stand.
/// Letters of other scripts come out one by one, so they give no words.
pub(crate) struct Words {
    jieba: Jieba,
    /// Whether some of the words are such that what is plain ASCII must be looked up as well.
    has_plain_words: bool,
}

/// A word of a dictionary, and how often it was seen; without a number, as often as it takes to
/// find the word whole.
pub(crate) type DictionaryWord = (String, Option<u32>);

impl Words {
    /// Loads the dictionary, which takes about a tenth of a second and 50 MB, and adds these words
    /// to it. What the dictionary says of them goes.
    pub(crate) fn new(added: &[DictionaryWord]) -> Self {
        Self {
            jieba: dictionary(added),
            has_plain_words: added.iter().any(|(word, _)| ascii::is_plain(word)),
        }
    }

    /// Hands out the byte ranges of the words of two characters and more, in the text's order.
    ///
    /// Single characters say little about a text: most are function words (的, 了, 在).
    #[inline]
    pub(crate) fn for_each(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut start = 0;
        while start < text.len() {
            let end = piece_end(text, start);
            // jieba-rs looks at what stands between spaces one by one.
            let mut waiting = start;
            let mut at = start;
            for block in text[start..end].split(' ') {
                if ascii::is_plain(block) && !self.has_plain_words {
                    self.cut(text, waiting..at, &mut word);
                    waiting = at + block.len();
                    ascii::words(block, |range| word(at + range.start..at + range.end));
                }
                at += block.len() + 1;
            }
            self.cut(text, waiting..end, &mut word);
            start = end;
        }
    }

    /// The words that jieba-rs finds in a part of the text.
    #[inline]
    fn cut(&self, text: &str, part: Range<usize>, word: &mut impl FnMut(Range<usize>)) {
        if part.len() < 2 {
            return;
        }
        let tokens = self.jieba.cut(&text[part.clone()], true);
        let mut words = vec![0..0; tokens.len()];
        let mut count = 0;
        for token in &tokens {
            // Written and perhaps overwritten, since no branch predictor can tell.
            words[count] = part.start + token.byte_start..part.start + token.byte_end;
            count += usize::from(token.end - token.start > 1);
        }
        words.truncate(count);
        words.into_iter().for_each(word);
    }
}

/// The dictionary of jieba-rs and these words.
pub(crate) fn dictionary(added: &[DictionaryWord]) -> Jieba {
    let mut jieba = Jieba::new();
    for (word, count) in added {
        jieba.add_word(word, count.map(|count| count as usize), None);
    }
    jieba
}

/// Where the piece of a text that starts at `start` ends: after the last space that fits, since no
/// word reaches across a space; without one, wherever the piece is full.
fn piece_end(text: &str, start: usize) -> usize {
    if text.len() - start <= MOST_PIECE_BYTES {
        return text.len();
    }
    let mut full = start + MOST_PIECE_BYTES;
    while !text.is_char_boundary(full) {
        full -= 1;
    }
    text[start..full]
        .rfind(' ')
        .map_or(full, |space| start + space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_jieba_words_of_two_characters_and_more() {
        let words = Words::new(&[]);
        let text = "我来到北京清华大学 version 3.14";
        let mut found = Vec::new();
        words.for_each(text, |range| found.push(&text[range]));
        assert_eq!(found, ["来到", "北京", "清华大学", "version", "3.14"]);
    }

    #[test]
    fn words_are_the_same_however_long_the_text() {
        let words = Words::new(&[]);
        let sentence = "海量数据 hamming 相似度计算 ";
        let text = sentence.repeat(MOST_PIECE_BYTES / 10);
        let mut found = Vec::new();
        words.for_each(&text, |range| found.push(&text[range]));
        let mut expected = Vec::new();
        words.for_each(sentence, |range| expected.push(&sentence[range]));
        assert!(found.chunks(expected.len()).all(|chunk| chunk == expected));
        assert_eq!(found.len(), expected.len() * (MOST_PIECE_BYTES / 10));

        let unbroken = "相".repeat(MOST_PIECE_BYTES);
        let mut end = 0;
        words.for_each(&unbroken, |range| end = range.end);
        assert!(unbroken.len() - end <= '相'.len_utf8());
    }
}
