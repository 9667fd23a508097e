//! [`WordSegmenter`]: the words of a text, as jieba-rs finds them.

use std::ops::Range;

use jieba_rs::Jieba;

use super::ascii;

/// Bytes of text handed to jieba-rs at a time. It takes some forty bytes of memory for each.
pub(crate) const MOST_PIECE_BYTES: usize = 1 << 16;

/// The words of a text: the most probable path through the dictionary of jieba-rs, and a hidden
/// Markov model for characters that the dictionary does not know.
///
/// The dictionary holds simplified Chinese; ASCII words and numbers are tokens as they stand.
/// Letters of other scripts are handed out one by one, so they give no words.
pub(crate) struct WordSegmenter {
    jieba: Jieba,
    /// `true` if plain ASCII must be looked up too, because of a word that was added.
    has_plain_words: bool,
}

/// A word of a dictionary, and how often it was seen; without a number, often enough for the word to
/// be found whole.
pub(crate) type DictionaryWord = (String, Option<u32>);

impl WordSegmenter {
    /// Loads the dictionary, which takes about a tenth of a second and 50 MB, and adds these words,
    /// in place of the dictionary's own entries for them.
    pub(crate) fn new(added: &[DictionaryWord]) -> Self {
        Self {
            jieba: jieba_with(added),
            has_plain_words: added.iter().any(|(word, _)| ascii::is_plain(word)),
        }
    }

    /// Hands out the byte ranges of the words of two characters and more, in text order.
    ///
    /// Single characters say little about a text: most are function words (的, 了, 在).
    #[inline]
    pub(crate) fn for_each(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut start = 0;
        while start < text.len() {
            let end = piece_end(text, start);
            // jieba-rs cuts each block between spaces by itself.
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

    /// Hands out the words that jieba-rs finds in a part of the text.
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

/// The dictionary of jieba-rs with these words added.
pub(crate) fn jieba_with(added: &[DictionaryWord]) -> Jieba {
    let mut jieba = Jieba::new();
    for (word, count) in added {
        jieba.add_word(word, count.map(|count| count as usize), None);
    }
    jieba
}

/// The end of the piece of a text that starts at `start`: after the last space that fits, since no
/// word reaches across a space; without a space, where the piece is full.
fn piece_end(text: &str, start: usize) -> usize {
    if text.len() - start <= MOST_PIECE_BYTES {
        return text.len();
    }
    let full = floor_char_boundary(text, start + MOST_PIECE_BYTES);
    text[start..full]
        .rfind(' ')
        .map_or(full, |space| start + space + 1)
}

/// The last character boundary of a text at or before an offset within the text.
pub(crate) fn floor_char_boundary(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_jieba_words_of_two_characters_and_more() {
        let words = WordSegmenter::new(&[]);
        let text = "我来到北京清华大学 version 3.14";
        let mut found = Vec::new();
        words.for_each(text, |range| found.push(&text[range]));
        assert_eq!(found, ["来到", "北京", "清华大学", "version", "3.14"]);
    }

    #[test]
    fn words_are_the_same_however_long_the_text() {
        let words = WordSegmenter::new(&[]);
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
