//! [`Spellings`]: the words of many texts by their letters, to find other spellings of a word.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use unicode_normalization::UnicodeNormalization;
use xxhash_rust::xxh3::xxh3_64;

use crate::text::is_mark;

/// A misspelling has at most two wrong letters, and two letters may differ for each.
pub(crate) const MAX_WRONG_LETTERS: usize = 2;

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

    /// The numbers of ASCII words that may be an ASCII word with at most two wrong letters.
    pub fn near(&self, word: &str) -> impl Iterator<Item = u32> {
        let first = word.as_bytes().first().copied().unwrap_or_default();
        let own = letters(word);
        let least = word.len().saturating_sub(MAX_WRONG_LETTERS);
        let lengths = least..=word.len() + MAX_WRONG_LETTERS;
        let words = lengths.filter_map(move |length| self.ascii.get(&(first, length)));
        let is_near = move |(other, _): &&(u32, u32)| {
            (own ^ other).count_ones() as usize <= 2 * MAX_WRONG_LETTERS
        };
        words.flatten().filter(is_near).map(|(_, number)| *number)
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

/// A bit for each letter of a word.
fn letters(word: &str) -> u32 {
    word.bytes()
        .fold(0, |letters, byte| letters | 1 << (byte % 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_have_two_other_letters_at_most() {
        let mut spellings = Spellings::default();
        let words = [
            "separate",
            "seperate",
            "separated",
            "desperate",
            "library",
            "sep",
            "café",
        ];
        for (number, word) in words.into_iter().enumerate() {
            spellings.push(word, number as u32);
        }
        let near: Vec<u32> = spellings.near("seperate").collect();
        assert!(
            [0, 1, 2].iter().all(|number| near.contains(number)),
            "{near:?}"
        );
        assert!(
            [3, 4, 5].iter().all(|number| !near.contains(number)),
            "{near:?}"
        );
        assert!(spellings.has_accented("cafe") && !spellings.has_accented("coffee"));
        assert_eq!(spellings.near("").count(), 0);
    }
}
