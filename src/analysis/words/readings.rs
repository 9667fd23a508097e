//! Readings in brackets behind the Chinese characters that they read: 龟兹（qiū cí）, 水獺（ㄊㄚˋ）. A text
//! without a reading is covered by the text with it, and does not cover it. Kana and hanja in
//! brackets are words: they may be a name or a remark, 長女（さくら）, 무료(禁止).

use crate::text::{floor_char_boundary, is_cjk};

/// A longer text in brackets is no reading.
const MAX_READING_BYTES: usize = 64;

const BRACKETS: [(char, char); 3] = [('（', '）'), ('(', ')'), ('《', '》')];

/// The vowels of Pinyin with a tone.
const TONED: &str = "āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ";

/// Returns `true` for the text of a token that is a reading. No other token begins with a bracket
/// and goes on.
pub(crate) fn is_reading(token: &str) -> bool {
    token.len() > '（'.len_utf8() && token.starts_with(BRACKETS.map(|(open, _)| open))
}

/// A reading in its common form: brackets of ASCII, without spaces.
pub(super) fn common_form(reading: &str) -> String {
    let inner = reading.chars().skip(1).filter(|c| *c != ' ');
    let inner: String = inner
        .take_while(|c| !BRACKETS.iter().any(|(_, close)| close == c))
        .collect();
    format!("({})", inner.to_lowercase())
}

/// The length of the reading in brackets that begins here, behind some text.
pub(super) fn len_of_reading(before: &str, text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let (_, close) = BRACKETS.into_iter().find(|(own, _)| *own == open)?;
    let limit = floor_char_boundary(text, MAX_READING_BYTES);
    let end = text[..limit].find(close)?;
    let inner = &text[open.len_utf8()..end];
    let is_read = match inner.chars().next()? {
        c if is_bopomofo(c) => inner
            .chars()
            .all(|c| is_bopomofo(c) || " ˊˇˋ˙ˉ".contains(c)),
        _ => syllables(inner).is_some_and(|count| count <= trailing_han(before)),
    };
    is_read.then_some(end + close.len_utf8())
}

fn is_bopomofo(c: char) -> bool {
    matches!(c, '\u{3105}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}')
}

fn is_han(c: char) -> bool {
    // Hiragana, katakana, Hangul.
    let is_other =
        matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a0}'..='\u{30ff}' | '\u{ac00}'..='\u{d7a3}');
    is_cjk(c) && !is_bopomofo(c) && !is_other
}

/// The number of Chinese characters at the end of a text, at most as many as a reading has.
fn trailing_han(text: &str) -> usize {
    let characters = text.chars().rev().take(MAX_READING_BYTES);
    characters.take_while(|c| is_han(*c)).count()
}

/// The number of syllables of a reading in Latin letters, of which each has a tone: "qiū cí",
/// "zǎoshù", "king1 gai2". A syllable with a number alone may be a version: "gen2".
fn syllables(reading: &str) -> Option<usize> {
    let is_toned = |c: char| TONED.contains(c);
    let mut count = 0;
    for word in reading.to_lowercase().split([' ', '\'', '’', '-']) {
        let is_numbered = word.ends_with(|c: char| matches!(c, '1'..='6'));
        let ends = |c: char| is_toned(c) && !is_numbered || c.is_ascii_digit() && is_numbered;
        let tones = word.chars().filter(|c| ends(*c)).count();
        let is_own = |c: char| ends(c) || c.is_ascii_lowercase() && c != 'v' || c == 'ü';
        if tones == 0
            || word.len() < 2
            || !word.chars().all(is_own)
            || !are_syllables(word, is_numbered)
        {
            return None;
        }
        count += tones;
    }
    let is_version = count == 1 && reading.ends_with(|c: char| c.is_ascii_digit());
    (!is_version).then_some(count)
}

/// Returns `true` for syllables with one tone each: consonants, vowels and a final consonant.
fn are_syllables(word: &str, is_numbered: bool) -> bool {
    let is_vowel = |c: char| "aeiouü".contains(c) || TONED.contains(c);
    let mut vowels = word
        .split(|c| !is_vowel(c))
        .filter(|vowels| !vowels.is_empty());
    let mut consonants = word.split(is_vowel);
    let first = consonants.next().unwrap_or_default();
    let mut others = consonants.filter(|letters| !letters.is_empty());
    let initials = [
        "", "b", "p", "m", "f", "d", "t", "n", "l", "g", "k", "h", "j", "q", "x", "zh", "ch", "sh",
        "r", "z", "c", "s", "y", "w", "ng", "gw", "kw",
    ];
    let finals = ["", "n", "ng", "r", "m", "p", "t", "k"];
    let is_digit = |c: char| c.is_ascii_digit();
    let has_one_tone = |vowels: &str| vowels.chars().filter(|c| TONED.contains(*c)).count() == 1;
    let is_boundary = |letters: &str| {
        let (last, next) = match letters.split_once(is_digit) {
            Some(parts) => parts,
            None if is_numbered => return false,
            None => {
                let mut cuts = (0..=letters.len()).filter_map(|at| letters.split_at_checked(at));
                return cuts.any(|(last, next)| finals.contains(&last) && initials.contains(&next));
            }
        };
        finals.contains(&last) && initials.contains(&next)
    };
    initials.contains(&first)
        && vowels.all(|vowels| vowels.chars().count() <= 3 && (is_numbered || has_one_tone(vowels)))
        && others.all(is_boundary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_told_from_glosses() {
        for (before, text) in [
            ("蝈", "（guō）"),
            ("龟兹", "（qiū cí）"),
            ("一棵枣树", "（zǎoshù）"),
            ("傾偈", "（king1 gai2）"),
            ("水獺", "（ㄊㄚˋ）"),
        ] {
            assert!(len_of_reading(before, text).is_some(), "{before}{text}");
        }
        for (before, text) in [
            ("森", "（もり）"),
            ("향교", "(鄕校)"),
            ("犬", "（ペット）"),
            ("森", "（もり"),
            ("森", "（）"),
            ("もり", "（もり）"),
            ("手机", "（gen2）"),
            ("苹果手机", "（pro）"),
            ("我的简历", "（résumé）"),
            ("一杯咖啡", "（café）"),
            ("样品", "（a1）"),
            ("系统", "（win7）"),
            ("我", "（qiū cí）"),
            ("대표", "(李)"),
            ("사람", "(鄕校堂)"),
            ("森", "("),
            ("森", ""),
        ] {
            assert_eq!(len_of_reading(before, text), None, "{before}{text}");
        }
    }
}
