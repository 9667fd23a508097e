//! Runs of CJK characters as tokens: numerals, magnitudes, listed words, single characters.

use super::lexicon::Class;
use super::misread;
use super::number;
use super::scanner::{Break, Lexeme};
use super::tokens::Cutter;
use crate::text::{is_cjk, is_mark};

/// A longer run of Chinese numerals is no number.
const MAX_NUMERALS: usize = 32;

/// Returns `true` for a magnitude that is written apart from its number: 1500 亿.
fn is_spaced_magnitude(text: &str) -> bool {
    let mut characters = text.chars();
    matches!(characters.next(), Some('万' | '亿'))
        && !matches!(
            characters.next(),
            Some('能' | '一' | '分' | '里' | '物' | '达' | '科' | '宝' | '象')
        )
}

/// The numerals at the start of a run. 千 behind 十 or 百 is no magnitude: 四十千瓦.
fn numeral(run: &str) -> &str {
    let mut is_behind_smaller = false;
    let numerals = run.chars().take(MAX_NUMERALS).take_while(|c| {
        let is_kilo = is_behind_smaller && *c == '千';
        is_behind_smaller = match c {
            '十' | '百' | '万' | '亿' => true,
            _ => is_behind_smaller,
        };
        number::is_cjk_numeral(*c) && !is_kilo
    });
    &run[..numerals.map(char::len_utf8).sum()]
}

impl Cutter {
    /// Cuts a run of CJK characters: numerals, the longest listed words, single characters.
    pub(super) fn cjk(&mut self, lexeme: &Lexeme, text: &str) {
        let written = &lexeme.text;
        let corrected = misread::corrected(written);
        let run = corrected.as_deref().unwrap_or(written);
        let original = &text[lexeme.range.clone()];
        // Normalisation keeps the number of characters, but joins the letters of a Hangul syllable.
        let is_in_syllable =
            |c: char| matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}');
        let offsets = original
            .char_indices()
            .filter(|(_, c)| (is_cjk(*c) || is_mark(*c)) && !is_in_syllable(*c));
        let offsets = offsets.map(|(at, _)| lexeme.range.start + at);
        let offsets: Vec<usize> = offsets.chain([lexeme.range.end]).collect();
        let is_aligned = offsets.len() == run.chars().count() + 1;
        let mut before = lexeme.before;
        let mut at = 0;
        let mut index = 0;
        while at < run.len() {
            let rest = &run[at..];
            let is_behind = before == Break::None && (lexeme.is_joined || at > 0);
            if is_behind || before == Break::None && is_spaced_magnitude(rest) {
                // 5千克
                let is_unit =
                    rest.starts_with('千') && self.listed_or_character(rest) > '千'.len_utf8();
                let magnitude = rest.chars().next();
                let end = offsets.get(index + 1).filter(|_| is_aligned);
                let end = end.copied().unwrap_or(lexeme.range.end);
                let magnitude = magnitude.filter(|c| !is_unit && self.scales(*c, end));
                if let Some(magnitude) = magnitude {
                    at += magnitude.len_utf8();
                    index += 1;
                    continue;
                }
            }
            let numeral = numeral(rest);
            let is_number = numeral.chars().count() > 1;
            let value = is_number.then(|| number::of_cjk(numeral)).flatten();
            let value = value.map(|value| (numeral.len(), value));
            let (length, class, token) = match value.or_else(|| number::of_formal(rest)) {
                Some((length, value)) => (length, Class::Number, value.into()),
                None => {
                    let length = self.listed_or_character(rest);
                    let word = &rest[..length];
                    (length, self.lexicon.class(word), word.into())
                }
            };
            let count = rest[..length].chars().count();
            let range = match is_aligned {
                true => offsets[index]..offsets[(index + count).min(offsets.len() - 1)],
                // The first token has the bytes of all.
                false if index == 0 => lexeme.range.clone(),
                false => lexeme.range.end..lexeme.range.end,
            };
            self.push_part(range, class, token, std::mem::take(&mut before));
            // A misread word equals the word that is meant, and is shown as it is written.
            if let Some((last, _)) = self.tokens.last_mut()
                && rest[..length] != written[at..at + length]
            {
                last.text = written[at..at + length].into();
            }
            at += length;
            // 两月 are two months, 二月 is the second one.
            if let Some((last, _)) = self.tokens.last_mut()
                && last.text == "两"
                && run[at..].starts_with(['月', '楼', '号', '层', '班', '章'])
            {
                last.is_exact = true;
            }
            index += count;
        }
    }

    /// Multiplies the number before a magnitude, which ends at a byte of the text. `false` for
    /// other characters.
    fn scales(&mut self, c: char, end: usize) -> bool {
        number::magnitude(c)
            .is_some_and(|power| self.is_after_number() && self.scale_last(power, end))
    }

    /// The length of the longest listed word, or of the character and its marks.
    fn listed_or_character(&self, text: &str) -> usize {
        let mut longest = 0;
        let mut end = 0;
        for (count, c) in text.chars().take(self.lexicon.longest_han()).enumerate() {
            end += c.len_utf8();
            if count == 0 || self.lexicon.entry(&text[..end]).is_some() {
                longest = end;
            }
        }
        let marks = text[longest..].find(is_cjk).unwrap_or(text.len() - longest);
        longest + marks
    }
}
