//! Text to normalised text to tokens.
//!
//! Two ways to cut a text: [`shingles`], overlapping runs of characters, which need no dictionary
//! and no separators; and [`Words`], the words jieba-rs finds. Both hand out byte ranges, so that
//! no token is copied until someone wants to read it.

mod normalise;

use std::ops::Range;

use jieba_rs::Jieba;

pub(crate) use normalise::{Normaliser, SIMPLIFIED};

/// How many CJK characters make a shingle.
pub(crate) const CJK_SHINGLE: usize = 2;

/// How many other letters or digits make a shingle.
///
/// Measured on English texts, closed F1 at radius 3 / at the best radius up to 12: short edited
/// texts .325/.821 with 4 and .368/.799 with 3; one-line descriptions .127/.668 and .139/.640;
/// quotations .715/.899 and .743/.900. Fours tell texts apart better and threes forgive more.
pub(crate) const LATIN_SHINGLE: usize = 4;

/// The longest shingle there is.
const LONGEST_SHINGLE: usize = 4;

/// How much of a text jieba-rs is given at a time. It takes some forty bytes of memory for each.
pub(crate) const MOST_PIECE_BYTES: usize = 1 << 16;

/// The words of a text, as jieba-rs finds them: the most probable path through its dictionary,
/// and a hidden Markov model for what the dictionary does not know.
///
/// Its dictionary holds simplified Chinese; ASCII words and numbers are tokens as they stand.
/// Letters of other scripts come out one by one, so they give no words.
pub(crate) struct Words {
    jieba: Jieba,
}

impl Words {
    /// Loads the dictionary, which takes about a tenth of a second and 50 MB.
    pub(crate) fn new() -> Self {
        Self {
            jieba: Jieba::new(),
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
            for token in self.jieba.cut(&text[start..end], true) {
                if token.end - token.start > 1 {
                    word(start + token.byte_start..start + token.byte_end);
                }
            }
            start = end;
        }
    }
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
    let mut run = Run {
        cjk: false,
        start: 0,
        length: 0,
    };
    // Where the last characters start, the latest one last. Only constants index it, so that it
    // stays in registers.
    let mut starts = [0; LONGEST_SHINGLE];
    for (at, c) in text.char_indices() {
        let cjk = is_cjk(c);
        if cjk != run.cjk {
            run.finish(at, &mut shingle);
            run = Run {
                cjk,
                start: at,
                length: 0,
            };
        }
        starts = [starts[1], starts[2], starts[3], at];
        run.length += 1;
        if run.length >= run.shingle() {
            let cjk_start = starts[LONGEST_SHINGLE - CJK_SHINGLE];
            let latin_start = starts[LONGEST_SHINGLE - LATIN_SHINGLE];
            shingle(if cjk { cjk_start } else { latin_start }..at + c.len_utf8());
        }
    }
    run.finish(text.len(), &mut shingle);
}

/// Characters in a row that are all CJK, or all not.
struct Run {
    cjk: bool,
    start: usize,
    /// In characters.
    length: usize,
}

impl Run {
    #[inline]
    fn shingle(&self) -> usize {
        if self.cjk { CJK_SHINGLE } else { LATIN_SHINGLE }
    }

    /// A run that is too short for a shingle is one itself.
    #[inline]
    fn finish(self, end: usize, shingle: &mut impl FnMut(Range<usize>)) {
        if (1..self.shingle()).contains(&self.length) {
            shingle(self.start..end);
        }
    }
}

/// Han, kana, bopomofo and Hangul, as normalised text holds them.
#[inline]
fn is_cjk(c: char) -> bool {
    // Nearly every character of ordinary text is decided by the first two comparisons.
    if c < '\u{1100}' {
        return false;
    }
    matches!(c, '\u{4e00}'..='\u{9fff}') || is_rare_cjk(c)
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
        let words = Words::new();
        let text = "我来到北京清华大学 version 3.14";
        let mut found = Vec::new();
        words.for_each(text, |range| found.push(&text[range]));
        assert_eq!(found, ["来到", "北京", "清华大学", "version", "3.14"]);
    }

    #[test]
    fn words_are_the_same_however_long_the_text() {
        let words = Words::new();
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
