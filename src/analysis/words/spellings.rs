//! [`Spellings`]: the words of many texts by their letters, to find other spellings of a word.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use unicode_normalization::UnicodeNormalization;
use xxhash_rust::xxh3::xxh3_64;

use crate::text::is_mark;

/// A misspelling has at most two wrong letters, and two letters may differ for each.
pub(crate) const MAX_WRONG_LETTERS: usize = 2;

/// Words of at least this number of letters may have two wrong letters.
pub(crate) const MIN_LETTERS_OF_TWO: usize = 9;

/// The most wrong letters of a misspelling, by the letters of the shorter of two words.
pub(crate) fn max_wrong_letters(shorter: usize) -> usize {
    match shorter {
        ..MIN_LETTERS_OF_TWO => 1,
        _ => MAX_WRONG_LETTERS,
    }
}

/// Numbers of words by the first letter and the length of the word.
#[derive(Default)]
pub(crate) struct Spellings {
    ascii: HashMap<(u8, usize), Vec<(u32, u32)>, FixedState>,
    /// The hashes of the words with accents, without their accents.
    plain: HashSet<u64, FixedState>,
    len: usize,
}

impl Spellings {
    /// Adds the number of a word.
    pub fn push(&mut self, word: &str, number: u32) {
        match word.as_bytes() {
            [first, ..] if word.is_ascii() => {
                let words = self.ascii.entry((*first, word.len())).or_default();
                words.push((letters(word), number));
                self.len += 1;
            }
            _ => {
                let plain: String = word.nfd().filter(|c| !is_mark(*c)).collect();
                if plain.is_ascii() {
                    self.plain.insert(xxh3_64(plain.as_bytes()));
                }
            }
        }
    }

    /// The numbers of the ASCII words of which an ASCII word may be a misspelling, or the other way
    /// round.
    pub fn near(&self, word: &str) -> impl Iterator<Item = u32> {
        let first = word.as_bytes().first().copied().unwrap_or_default();
        let (own, own_len) = (letters(word), word.len());
        let lengths = own_len.saturating_sub(MAX_WRONG_LETTERS)..=own_len + MAX_WRONG_LETTERS;
        let words = lengths.filter_map(move |len| {
            let most = max_wrong_letters(len.min(own_len));
            let words = self.ascii.get(&(first, len));
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

    /// Returns `true` if a word without its accents may be this ASCII word.
    pub fn has_accented(&self, word: &str) -> bool {
        self.plain.contains(&xxh3_64(word.as_bytes()))
    }

    /// The bytes of memory.
    pub fn len_bytes(&self) -> usize {
        // Lists have up to twice the places that they need.
        2 * self.len * size_of::<(u32, u32)>() + self.plain.capacity() * 8 / 7 * 9
    }
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
        for (number, word) in words.into_iter().enumerate() {
            spellings.push(word, number as u32);
        }
        let near: Vec<u32> = spellings.near("seperate").collect();
        assert!(
            [0, 1, 2, 8].iter().all(|number| near.contains(number)),
            "{near:?}"
        );
        assert!(
            [3, 4, 5, 7].iter().all(|number| !near.contains(number)),
            "{near:?}"
        );
        assert!(spellings.has_accented("cafe") && !spellings.has_accented("coffee"));
        assert_eq!(spellings.near("").count(), 0);
    }
}
