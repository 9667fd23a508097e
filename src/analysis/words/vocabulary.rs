//! [`Vocabulary`]: the words of many texts, each word once.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use smol_str::SmolStr;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Words;
use super::spellings::Spellings;
use super::stamps::Stamp;
use super::token::{Possessive, Token};

/// A word is compared with at most 16 words of the same hash. More words with one hash were made to
/// have it, and each further one takes a new number every time.
const MAX_COMPARED_WORDS: usize = 16;

/// The distinct words of many texts. A text is a list of their numbers, so a comparison with a
/// stored text does not cut the text again, which takes longer than most comparisons.
#[derive(Default)]
pub(crate) struct Vocabulary {
    words: Vec<Word>,
    /// The hash of the key of each word.
    key_hashes: Vec<u32>,
    /// The last word with each [`token_hash`].
    by_token: HashMap<u64, u32, FixedState>,
    /// The last word with each [`LettersHash`], among words of which none has the spelling of
    /// another one.
    by_letters: HashMap<u64, u32, FixedState>,
    spellings: Spellings,
    /// At most the bytes of the words and keys that are too long for their token.
    text_bytes: usize,
}

struct Word {
    token: Token,
    /// The word before this one in the list of [`Vocabulary::by_token`].
    previous: Option<u32>,
    /// The word before this one in the list of [`Vocabulary::by_letters`].
    previous_spelled: Option<u32>,
}

impl Vocabulary {
    /// The words of one text.
    pub(crate) fn of(text: &Words) -> Self {
        let mut vocabulary = Self::default();
        vocabulary.numbers(text);
        vocabulary
    }

    /// The number of each word of a text.
    pub(crate) fn numbers(&mut self, text: &Words) -> Vec<u32> {
        text.tokens.iter().map(|token| self.number(token)).collect()
    }

    fn number(&mut self, token: &Token) -> u32 {
        let hash = token_hash(token);
        let last = self.by_token.get(&hash).copied();
        let of_hash = std::iter::successors(last, |number| self.words[*number as usize].previous);
        let mut compared = of_hash.take(MAX_COMPARED_WORDS);
        if let Some(number) = compared.find(|number| self.words[*number as usize].token == *token) {
            return number;
        }
        let number = self.words.len() as u32;
        let letters = LettersHash::of(&token.text);
        let previous_spelled = self.by_letters.get(&letters.0).copied();
        let is_known = (self.spelled(letters).take(MAX_COMPARED_WORDS))
            .any(|other| has_spelling_of(&self.words[other as usize].token, token));
        if !is_known {
            let letters_of = |number: u32| &*self.words[number as usize].token.text;
            self.spellings.push(token, number, letters_of);
            self.by_letters.insert(letters.0, number);
        }
        let texts = [&token.text, &token.key].into_iter();
        let long = texts.filter(|text| text.is_heap_allocated());
        self.text_bytes += long.map(SmolStr::len).sum::<usize>();
        self.key_hashes.push(key_hash(&token.key));
        self.words.push(Word {
            token: token.clone(),
            previous: last,
            previous_spelled,
        });
        self.by_token.insert(hash, number);
        number
    }

    /// The text with these words.
    #[cfg(test)]
    fn text(&self, numbers: impl Iterator<Item = u32>) -> Words {
        let mut text = Words::default();
        self.fill(&mut text, numbers);
        text
    }

    /// Replaces the words of a text by these words.
    pub(crate) fn fill(&self, text: &mut Words, numbers: impl Iterator<Item = u32>) {
        let words = numbers.filter_map(|number| self.words.get(number as usize));
        text.tokens.clear();
        text.ranges.clear();
        text.tokens.extend(words.map(|word| word.token.clone()));
    }

    /// The hash of the key of each of these words.
    pub(crate) fn key_hashes<N>(
        &self,
        numbers: N,
    ) -> impl ExactSizeIterator<Item = u32> + Clone + use<'_, N>
    where
        N: ExactSizeIterator<Item = u32> + Clone,
    {
        numbers.map(|number| {
            let hash = self.key_hashes.get(number as usize);
            hash.copied().unwrap_or_default()
        })
    }

    /// The words of which a word may be a misspelling; the misspellings of an English word.
    pub(crate) fn near(&self, word: &str, is_english: bool) -> impl Iterator<Item = &Token> {
        let mut spelled = self.spelled(LettersHash::of(word));
        let known = spelled.find_map(|number| self.spellings.near_to(number));
        let search = || self.spellings.near(word, is_english).collect();
        let numbers = known.map_or_else(search, <[u32]>::to_vec).into_iter();
        numbers.map(|number| &self.words[number as usize].token)
    }

    /// The words that may be this ASCII word with accents.
    pub(crate) fn accented(&self, word: &str) -> impl Iterator<Item = &Token> {
        let numbers = self.spellings.accented(word);
        numbers.map(|number| &self.words[number as usize].token)
    }

    /// The words with these letters, one of each spelling, and perhaps others.
    pub(crate) fn words_of(&self, letters: LettersHash) -> impl Iterator<Item = &Token> {
        let spelled = self.spelled(letters);
        spelled.map(|number| &self.words[number as usize].token)
    }

    fn spelled(&self, letters: LettersHash) -> impl Iterator<Item = u32> {
        let last = self.by_letters.get(&letters.0).copied();
        std::iter::successors(last, |number| self.words[*number as usize].previous_spelled)
    }

    /// The bytes of memory.
    pub(crate) fn len_bytes(&self) -> usize {
        // A place of a hash table has 16 bytes and a byte of control, and one in eight stays empty.
        let tables = (self.by_token.capacity() + self.by_letters.capacity()) * 8 / 7 * 17;
        let key_hashes = self.key_hashes.capacity() * size_of::<u32>();
        let words = self.words.capacity() * size_of::<Word>() + self.text_bytes;
        words + key_hashes + tables + self.spellings.len_bytes()
    }
}

/// The hash by which words with some letters are found. The hash of letters that follow each other
/// takes a step for each byte, so all parts of a word are found in one pass.
#[derive(Clone, Copy, Default)]
pub(crate) struct LettersHash(u64);

impl LettersHash {
    pub(crate) fn of(letters: &str) -> Self {
        Self::default().with(letters)
    }

    /// The hash of the letters of this hash and the letters behind them.
    pub(crate) fn with(self, letters: &str) -> Self {
        // A multiplier of L'Ecuyer, "Tables of linear congruential generators", 1999.
        const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;
        Self(letters.bytes().fold(self.0, |hash, byte| {
            (hash.rotate_left(23) ^ (u64::from(byte) + 1)).wrapping_mul(MULTIPLIER)
        }))
    }
}

/// The hash of the text of a token and its other fields but the key, which the text nearly always
/// decides.
fn token_hash(token: &Token) -> u64 {
    let flags = [
        token.is_name,
        token.is_cut,
        token.is_label,
        token.is_english,
        token.is_exact,
        token.has_accents,
        token.is_capital,
        token.is_proper,
        token.is_in_frame,
        token.is_traditional,
        token.stamp.is_some(),
        token.stamp == Some(Stamp::Fact),
        token.is_cased,
        token.possessive == Possessive::Singular,
        token.possessive == Possessive::Plural,
    ];
    let flags = (flags.into_iter()).fold(0, |bits, flag| bits << 1 | u64::from(flag));
    let of_place = u64::from(token.capitals) << 32
        | (token.class as u64) << 28
        | (token.before as u64) << 20
        | (token.end as u64) << 12;
    xxh3_64_with_seed(token.text.as_bytes(), of_place | flags)
}

/// Returns `true` for two tokens that other words are matched with alike.
fn has_spelling_of(one: &Token, other: &Token) -> bool {
    let flags = |token: &Token| {
        let of_word = (token.is_english, token.is_name, token.is_in_frame);
        let of_letters = (token.is_capital, token.is_proper, token.capitals);
        (token.class, of_letters, of_word)
    };
    flags(one) == flags(other) && one.text == other.text && one.key == other.key
}

/// The hash by which words with one key are found. Words with one hash may have different keys.
pub(crate) fn key_hash(key: &str) -> u32 {
    xxh3_64(key.as_bytes()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Normaliser;

    #[test]
    fn a_text_of_numbers_has_the_words_of_the_text() {
        let normaliser = Normaliser::new();
        let texts = [
            "Qt Quick is a simple and quick toolkit",
            "a quick toolkit of 5 g",
            "the g of 5 toolkits is simple",
            "",
            "渡轮 was not cancelled, and 渡轮 runs",
        ];
        let mut vocabulary = Vocabulary::default();
        let prepared = texts.map(|text| Words::new(&normaliser, text));
        let numbers = prepared.each_ref().map(|text| vocabulary.numbers(text));
        for (text, numbers) in prepared.iter().zip(&numbers) {
            let stored = vocabulary.text(numbers.iter().copied());
            assert_eq!(format!("{:?}", stored.tokens), format!("{:?}", text.tokens));
            assert_eq!(*numbers, vocabulary.numbers(text));
        }
        let words: usize = numbers.iter().map(Vec::len).sum();
        assert!(vocabulary.words.len() < words);
    }
}
