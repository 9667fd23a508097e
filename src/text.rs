//! Text to normalised text to tokens.
//!
//! Two ways to cut a text: [`shingles`], overlapping runs of characters, which need no dictionary
//! and no separators; and [`Words`], the words jieba-rs finds, or [`MixedWords`], those that
//! cppjieba would. All hand out byte ranges, so that no token is copied until someone wants to
//! read it.

mod ascii;
mod character_class;
mod lower;
mod mixed;
mod model;
mod normalise;

use std::ops::Range;

use jieba_rs::Jieba;

pub(crate) use character_class::CharacterClass;
pub(crate) use lower::{LOWER, Lower, is_word_character};
pub(crate) use mixed::{MixedWords, USER_WORDS};
pub(crate) use normalise::{Normaliser, SIMPLIFIED};

/// How many CJK characters make a shingle.
pub(crate) const CJK_SHINGLE: usize = 2;

/// How many other letters or digits make a shingle.
///
/// Measured on English texts, closed F1 at radius 3 / at the best radius up to 12: short edited
/// texts .325/.821 with 4 and .368/.799 with 3; one-line descriptions .127/.668 and .139/.640;
/// quotations .715/.899 and .743/.900. Fours tell texts apart better and threes forgive more.
pub(crate) const LATIN_SHINGLE: usize = 4;

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
fn dictionary(added: &[DictionaryWord]) -> Jieba {
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

/// Hands out the byte ranges of the shingles of a text, in the text's order.
///
/// A run of CJK characters gives its overlapping pairs, a run of other characters every
/// [`LATIN_SHINGLE`] in a row. A run that is too short for one is a shingle itself.
///
/// CJK are the scripts in which a character carries about as much as two to four Latin letters:
/// Han, kana, bopomofo and Hangul.
#[inline]
pub(crate) fn shingles(text: &str, mut shingle: impl FnMut(Range<usize>)) {
    let mut start = 0;
    while start < text.len() {
        let run = &text[start..];
        // Nearly all runs are of one of these two kinds; when the length of a shingle is known,
        // compilers make much less of hashing one.
        let ascii = ascii_end(run);
        let han = if ascii > 0 { 0 } else { han_end(run) };
        let length = if ascii + han < run.len() {
            run_end(run)
        } else {
            ascii + han
        };
        let end = start + length;
        if length == ascii {
            shingles_of_width::<LATIN_SHINGLE, 1>(start..end, &mut shingle);
        } else if length == han {
            shingles_of_width::<{ CJK_SHINGLE * HAN_BYTES }, HAN_BYTES>(start..end, &mut shingle);
        } else {
            shingles_of_run(text, start..end, &mut shingle);
        }
        start = end;
    }
}

/// The shingles of a run of characters that have `WIDTH` bytes each; a shingle has `BYTES`.
#[inline]
fn shingles_of_width<const BYTES: usize, const WIDTH: usize>(
    run: Range<usize>,
    shingle: &mut impl FnMut(Range<usize>),
) {
    if run.len() < BYTES {
        return shingle(run);
    }
    for start in (run.start..run.end - BYTES + 1).step_by(WIDTH) {
        shingle(start..start + BYTES);
    }
}

/// The shingles of any run.
fn shingles_of_run(text: &str, run: Range<usize>, shingle: &mut impl FnMut(Range<usize>)) {
    let chars = text[run.clone()].char_indices();
    let length = if chars.clone().any(|(_, c)| is_cjk(c)) {
        CJK_SHINGLE
    } else {
        LATIN_SHINGLE
    };
    let starts = chars.map(|(at, _)| run.start + at);
    let ends = starts.clone().skip(length).chain([run.end]);
    if starts.clone().count() < length {
        return shingle(run);
    }
    for (start, end) in starts.zip(ends) {
        shingle(start..end);
    }
}

/// The bytes of a Han character, but for the rare ones.
const HAN_BYTES: usize = '一'.len_utf8();

fn ascii_end(text: &str) -> usize {
    text.bytes()
        .position(|byte| !byte.is_ascii())
        .unwrap_or(text.len())
}

/// The end of the common Han characters a text starts with.
fn han_end(text: &str) -> usize {
    let mut chars = text.char_indices();
    chars
        .find(|&(_, c)| !is_common_han(c))
        .map_or(text.len(), |(at, _)| at)
}

/// The end of the characters a text starts with that are all CJK, or all not.
fn run_end(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else {
        return 0;
    };
    let cjk = is_cjk(first);
    chars
        .find(|&(_, c)| is_cjk(c) != cjk)
        .map_or(text.len(), |(at, _)| at)
}

/// Han, kana, bopomofo and Hangul, as normalised text holds them.
#[inline]
fn is_cjk(c: char) -> bool {
    // Nearly every character of ordinary text is decided by the first two comparisons.
    c >= '\u{1100}' && (is_common_han(c) || is_rare_cjk(c))
}

#[inline]
fn is_common_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

fn is_rare_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'         // Hangul that joins to syllables
            | '\u{2e80}'..='\u{2fdf}'   // radicals
            | '\u{3005}'..='\u{3007}'   // the iteration mark and zero
            | '\u{3021}'..='\u{303c}'
            | '\u{3040}'..='\u{31ff}'   // kana, bopomofo
            | '\u{3400}'..='\u{4dbf}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'   // Hangul syllables
            | '\u{f900}'..='\u{faff}'
            | '\u{1b000}'..='\u{1b16f}' // historic kana
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shingles_of(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        shingles(text, |range| found.push(&text[range]));
        found
    }

    #[test]
    fn cjk_gives_pairs_and_the_rest_fours() {
        assert_eq!(shingles_of("你妈妈喊"), ["你妈", "妈妈", "妈喊"]);
        assert_eq!(shingles_of("hello"), ["hell", "ello"]);
        assert_eq!(shingles_of("каша1"), ["каша", "аша1"]);
        assert_eq!(
            shingles_of("ひらカナ한글"),
            ["ひら", "らカ", "カナ", "ナ한", "한글"]
        );
    }

    #[test]
    fn a_run_too_short_is_itself() {
        assert_eq!(shingles_of("a股上abc"), ["a", "股上", "abc"]);
        assert_eq!(shingles_of("股"), ["股"]);
        assert!(shingles_of("").is_empty());
    }

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

    proptest! {
        #[test]
        fn shingles_of_any_text_equal_the_definition(
            text in prop_oneof![any::<String>(), "([a-f]{0,9}|[一-十]{0,5}|[éк]|[㐀ガ한])*"],
        ) {
            let mut expected = Vec::new();
            for run in text.chars().collect::<Vec<_>>().chunk_by(|a, b| is_cjk(*a) == is_cjk(*b)) {
                let length = if is_cjk(run[0]) { CJK_SHINGLE } else { LATIN_SHINGLE };
                let windows = run.windows(length.min(run.len()));
                expected.extend(windows.map(String::from_iter));
            }
            prop_assert_eq!(shingles_of(&text), expected);
        }

        #[test]
        fn shingles_cover_any_text_in_order(text: String) {
            let mut covered = 0;
            shingles(&text, |range| {
                assert!(range.start <= covered && range.end > covered);
                covered = range.end;
            });
            prop_assert_eq!(covered, text.len());
        }
    }
}
