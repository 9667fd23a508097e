//! [`Spellings`]: the words of many texts by their letters, to find other spellings of a word.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use rapidfuzz::distance::osa;
use unicode_normalization::UnicodeNormalization;
use xxhash_rust::xxh3::xxh3_64;

use super::english::English;
use super::lexicon::Class;
use super::token::Token;
use crate::text::is_mark;

/// A misspelling has at most two wrong letters, and two letters may differ for each.
pub(crate) const MAX_WRONG_LETTERS: usize = 2;

/// Words of at least this number of letters may have two wrong letters.
pub(crate) const MIN_LETTERS_OF_TWO: usize = 9;

/// Words of fewer letters are not misspelled: too many are words themselves.
const MIN_MISSPELLED_LETTERS: usize = 5;

/// Months and days. No other name has nearly the same letters, as Munday has of Monday.
const CALENDAR: [&str; 10] = [
    "january",
    "february",
    "september",
    "october",
    "november",
    "december",
    "tuesday",
    "wednesday",
    "thursday",
    "saturday",
];

/// Returns `true` for a word that is spelled right: an English word, a month, a day.
pub(crate) fn is_word(word: &str) -> bool {
    CALENDAR.contains(&word.strip_suffix('s').unwrap_or(word)) || English::builtin().knows(word)
}

/// The month or day that a word is or may be a misspelling of.
pub(crate) fn calendar_name(word: &str) -> Option<&'static str> {
    let word = word.strip_suffix('s').unwrap_or(word);
    let is_near = |name: &&str| {
        name.as_bytes().first() == word.as_bytes().first() && has_few_wrong_letters(name, word)
    };
    CALENDAR.into_iter().find(is_near)
}

/// Returns `true` for a token that may be a misspelling or be misspelled.
pub(crate) fn may_be_misspelled(token: &Token) -> bool {
    token.class != Class::Light
        && token.is_english
        && !token.is_exact
        && token.text.len() >= MIN_MISSPELLED_LETTERS
        && token
            .text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && (!token.is_name || calendar_name(&token.text).is_some())
}

/// The most wrong letters of a misspelling, by the letters of the shorter of two words.
fn max_wrong_letters(shorter: usize) -> usize {
    match shorter {
        ..MIN_LETTERS_OF_TWO => 1,
        _ => MAX_WRONG_LETTERS,
    }
}

/// Numbers of words by the first letter and the length of the word, beside their letters.
type ByLength = HashMap<(u8, usize), Vec<(u32, u32)>, FixedState>;

/// The words of many texts that may be a misspelling or be misspelled, and words with accents.
#[derive(Default)]
pub(crate) struct Spellings {
    english: ByLength,
    others: ByLength,
    /// The words of which each word may be a misspelling, and its misspellings.
    near: HashMap<u32, Vec<u32>, FixedState>,
    /// The words with accents, by the hash of the word without its accents.
    plain: HashMap<u64, Vec<u32>, FixedState>,
    len: usize,
}

impl Spellings {
    /// Adds the number of a word. `letters_of` returns the letters of a word that was added.
    pub fn push<'w>(&mut self, token: &Token, number: u32, letters_of: impl Fn(u32) -> &'w str) {
        let word = &*token.text;
        match word.as_bytes() {
            [first, ..] if may_be_misspelled(token) => {
                let is_english = is_word(word);
                let near = self.near(word, is_english);
                let near: Vec<u32> = near
                    .filter(|other| are_near(word, letters_of(*other)))
                    .collect();
                for other in &near {
                    self.near.entry(*other).or_default().push(number);
                }
                self.len += near.len();
                self.near.insert(number, near);
                let words = match is_english {
                    true => &mut self.english,
                    false => &mut self.others,
                };
                let words = words.entry((*first, word.len())).or_default();
                words.push((letters(word), number));
                self.len += 1;
            }
            _ if word.is_ascii() => {}
            _ => {
                for plain in without_accents(word) {
                    let words = self.plain.entry(xxh3_64(plain.as_bytes()));
                    words.or_default().push(number);
                }
            }
        }
    }

    /// The numbers of [`near`](Self::near) for a word that was added.
    pub fn near_to(&self, number: u32) -> Option<&[u32]> {
        self.near.get(&number).map(Vec::as_slice)
    }

    /// The numbers of the words of which a word may be a misspelling; the numbers of its
    /// misspellings for an English word.
    pub fn near(&self, word: &str, is_english: bool) -> impl Iterator<Item = u32> {
        let by_length = match is_english {
            true => &self.others,
            false => &self.english,
        };
        let first = word.as_bytes().first().copied().unwrap_or_default();
        let (own, own_len) = (letters(word), word.len());
        let lengths = own_len.saturating_sub(MAX_WRONG_LETTERS)..=own_len + MAX_WRONG_LETTERS;
        let words = lengths.filter_map(move |len| {
            let most = max_wrong_letters(len.min(own_len));
            let words = by_length.get(&(first, len));
            words.map(|words| (most, words))
        });
        words.flat_map(move |(most, words)| {
            let is_near = move |other: u32| {
                let differing = own ^ other;
                // Digits in the place of letters may be more than the wrong letters.
                let most = match differing & HAS_DIGIT {
                    0 => most,
                    _ => MAX_WRONG_LETTERS,
                };
                (differing & !HAS_DIGIT).count_ones() as usize <= 2 * most
            };
            let near = words.iter().filter(move |(other, _)| is_near(*other));
            near.map(|(_, number)| *number)
        })
    }

    /// The numbers of the words that may be this ASCII word with accents.
    pub fn accented(&self, word: &str) -> impl Iterator<Item = u32> {
        let numbers = self.plain.get(&xxh3_64(word.as_bytes()));
        numbers.into_iter().flatten().copied()
    }

    /// The bytes of memory.
    pub fn len_bytes(&self) -> usize {
        // Lists have up to twice the places that they need.
        let list = size_of::<u64>() + size_of::<Vec<u32>>() + 2 * size_of::<u32>();
        let lists = self.plain.capacity() + self.near.capacity();
        2 * self.len * size_of::<(u32, u32)>() + lists * 8 / 7 * list
    }
}

/// Returns `true` if one of two words, of which only one is English, may be a misspelling of the
/// other one.
fn are_near(one: &str, other: &str) -> bool {
    // A word with digits in the place of letters is compared by their shapes.
    (letters(one) | letters(other)) & HAS_DIGIT != 0 || has_few_wrong_letters(one, other)
}

/// Returns `true` if two words differ in no more letters than a misspelling has.
pub(crate) fn has_few_wrong_letters(one: &str, other: &str) -> bool {
    let most = max_wrong_letters(one.len().min(other.len()));
    let args = osa::Args::default().score_cutoff(most);
    osa::distance_with_args(one.chars(), other.chars(), &args).is_some()
}

/// Letters that writers replace by two letters.
#[rustfmt::skip]
const UMLAUTS: [(char, &str); 5] = [
    ('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('ø', "oe"), ('å', "aa"),
];

/// The letter without the stroke or the dot that is no mark of Unicode.
fn without_stroke(c: char) -> char {
    match c {
        'ø' => 'o',
        'ł' => 'l',
        'đ' | 'ð' => 'd',
        'ħ' => 'h',
        'ı' => 'i',
        c => c,
    }
}

/// The forms of a word in ASCII letters: without its accents, and with the letters of [`UMLAUTS`]:
/// `müller`, `muller`, `mueller`. None if other letters are left.
pub(crate) fn without_accents(word: &str) -> impl Iterator<Item = String> {
    let replace = |word: String, (c, letters): &(char, &str)| word.replace(*c, letters);
    let spelled = UMLAUTS.iter().fold(word.to_owned(), replace);
    let spelled = (spelled != word).then_some(spelled);
    let words = [Some(word.to_owned()), spelled].into_iter().flatten();
    let plain = words.map(|word| {
        let letters = word.nfd().filter(|c| !is_mark(*c));
        letters.map(without_stroke).collect()
    });
    plain.filter(|word: &String| word.is_ascii())
}

/// The bit of [`letters`] that no letter and no digit has.
const HAS_DIGIT: u32 = 1;

/// A bit for each letter and digit of a word, and [`HAS_DIGIT`].
fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, byte| {
        let digit = match byte {
            b'0'..=b'9' => HAS_DIGIT,
            _ => 0,
        };
        letters | 1 << (byte % 32) | digit
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_have_few_other_letters() {
        let mut spellings = Spellings::default();
        let words = [
            "separate",
            "seperate",
            "separated",
            "desperate",
            "library",
            "sep",
            "café",
            "seporotu",
            "sepa1a1e",
        ];
        for (number, word) in words.iter().copied().enumerate() {
            let token = Token {
                text: word.into(),
                class: Class::Word,
                is_english: true,
                ..Token::default()
            };
            spellings.push(&token, number as u32, |number| words[number as usize]);
        }
        let near = |word, is_english| -> Vec<u32> { spellings.near(word, is_english).collect() };
        assert_eq!(near("seperate", false), [0, 2]);
        assert_eq!(near("separate", true), [1, 8]);
        assert_eq!(spellings.near_to(0), Some(&[1, 8][..]));
        assert_eq!(spellings.near_to(1), Some(&[0][..]));
        assert_eq!(spellings.near_to(6), None);
        assert!(spellings.accented("cafe").eq([6]) && spellings.accented("coffee").count() == 0);
        assert!(near("", false).is_empty());
    }
}
