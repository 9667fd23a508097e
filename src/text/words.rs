//! [`WordSegmenter`]: the words of a text, as jieba-rs finds them.

use std::ops::Range;

use jieba_rs::Jieba;

use super::{DictionaryWord, MAX_PIECE_BYTES, ascii, floor_char_boundary};

/// The dictionary of jieba-rs 0.11.0, byte for byte, compressed with zstd.
///
/// jieba-rs has the same file behind its feature `default-dict`. That feature packs the file anew
/// in each build with a second copy of zstd: 13 crates, and a sixth of the processor time of a
/// build.
const DICTIONARY: &[u8] = include_bytes!("jieba_dictionary.txt.zst");

/// The dictionary decompresses to less than 6 MiB.
const MAX_DICTIONARY_BYTES: usize = 6 << 20;

/// The word segmenter: the most probable path through the dictionary of jieba-rs, and a hidden
/// Markov model for characters that the dictionary does not have.
///
/// The dictionary is simplified Chinese. ASCII words and numbers are words too. jieba-rs returns
/// letters of other scripts one by one, so they give no words.
pub(crate) struct WordSegmenter {
    jieba: Jieba,
    /// `true` if a word that the caller added is plain ASCII: [`ascii`] does not know such words.
    has_plain_words: bool,
}

impl WordSegmenter {
    /// Loads the dictionary, which takes about 0.1 s and 50 MB. An added word replaces the entry
    /// that the dictionary has for it.
    pub(crate) fn new(added: &[DictionaryWord]) -> Self {
        Self {
            jieba: jieba_with(added),
            has_plain_words: added.iter().any(|(word, _)| ascii::is_plain(word)),
        }
    }

    /// Calls `word` with the byte range of each word of two or more characters, in text order.
    ///
    /// Single characters are left out: most are function words (的, 了, 在).
    #[inline]
    pub(crate) fn for_each(&self, text: &str, mut word: impl FnMut(Range<usize>)) {
        let mut start = 0;
        while start < text.len() {
            let end = piece_end(text, start);
            // jieba-rs cuts each block between spaces independently, so plain blocks can be taken
            // out of the text. Other blocks wait, so that neighbours share one call.
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
            // One byte, the space between two plain blocks, or nothing.
            return;
        }
        let tokens = self.jieba.cut(&text[part.clone()], true);
        let mut words = vec![0..0; tokens.len()];
        let mut count = 0;
        for token in &tokens {
            // Written always, and overwritten by the next word if too short: the length of a word
            // is as unpredictable as a coin, and a branch on it cost 6 to 8 % of the segmentation.
            words[count] = part.start + token.byte_start..part.start + token.byte_end;
            count += usize::from(token.end - token.start > 1);
        }
        words.truncate(count);
        words.into_iter().for_each(word);
    }
}

/// jieba-rs with its dictionary and these words.
pub(crate) fn jieba_with(added: &[DictionaryWord]) -> Jieba {
    let dictionary = zstd::bulk::decompress(DICTIONARY, MAX_DICTIONARY_BYTES);
    let dictionary = dictionary.expect("the built-in dictionary is valid zstd");
    let mut jieba =
        Jieba::with_dict(&mut &dictionary[..]).expect("the built-in dictionary is well formed");
    for (word, count) in added {
        jieba.add_word(word, count.map(|count| count as usize), None);
    }
    jieba
}

/// The end of the piece of a text that starts at `start`: after the last space within
/// [`MAX_PIECE_BYTES`], since no word has a space, or at that length if there is no space.
fn piece_end(text: &str, start: usize) -> usize {
    if text.len() - start <= MAX_PIECE_BYTES {
        return text.len();
    }
    let full = floor_char_boundary(text, start + MAX_PIECE_BYTES);
    text[start..full]
        .rfind(' ')
        .map_or(full, |space| start + space + 1)
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn dictionary_has_hash_of_jieba_rs_dictionary() {
        let dictionary = zstd::bulk::decompress(DICTIONARY, MAX_DICTIONARY_BYTES).unwrap();
        assert_eq!(dictionary.len(), 5_071_843);
        assert_eq!(xxh3_64(&dictionary), 0xb3c0_2213_c9d2_22d3);
    }

    #[test]
    fn words_are_jieba_words_of_at_least_two_characters() {
        let words = WordSegmenter::new(&[]);
        let text = "我来到北京清华大学 version 3.14";
        let mut found = Vec::new();
        words.for_each(text, |range| found.push(&text[range]));
        assert_eq!(found, ["来到", "北京", "清华大学", "version", "3.14"]);
    }

    #[test]
    fn words_do_not_depend_on_length_of_text() {
        let words = WordSegmenter::new(&[]);
        let sentence = "海量数据 hamming 相似度计算 ";
        let text = sentence.repeat(MAX_PIECE_BYTES / 10);
        let mut found = Vec::new();
        words.for_each(&text, |range| found.push(&text[range]));
        let mut expected = Vec::new();
        words.for_each(sentence, |range| expected.push(&sentence[range]));
        assert!(found.chunks(expected.len()).all(|chunk| chunk == expected));
        assert_eq!(found.len(), expected.len() * (MAX_PIECE_BYTES / 10));

        let unbroken = "相".repeat(MAX_PIECE_BYTES);
        let mut end = 0;
        words.for_each(&unbroken, |range| end = range.end);
        assert!(unbroken.len() - end <= '相'.len_utf8());
    }
}
