//! [`Vocabulary`]: the words of many texts, each word once.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::FixedState;
use xxhash_rust::xxh3::xxh3_64;

use super::Words;
use super::spellings::Spellings;
use super::tokens::Token;

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
    /// The last word with each hash.
    by_hash: HashMap<u64, u32, FixedState>,
    spellings: Spellings,
    /// The bytes of all words and keys.
    text_bytes: usize,
}

struct Word {
    token: Token<'static>,
    /// The word with the same hash that was added before this one.
    previous: Option<u32>,
    /// The last of the words with this hash of which none has the spelling of another one.
    spelled: u32,
    /// The one before this word.
    previous_spelled: Option<u32>,
}

impl Vocabulary {
    /// The words of one text.
    pub(crate) fn of(text: &Words<'_>) -> Self {
        let mut vocabulary = Self::default();
        vocabulary.numbers(text);
        vocabulary
    }

    /// The number of each word of a text.
    pub(crate) fn numbers(&mut self, text: &Words<'_>) -> Vec<u32> {
        text.tokens.iter().map(|token| self.number(token)).collect()
    }

    fn number(&mut self, token: &Token<'_>) -> u32 {
        let hash = xxh3_64(token.text.as_bytes());
        let last = self.by_hash.get(&hash).copied();
        let of_hash = std::iter::successors(last, |number| self.words[*number as usize].previous);
        let mut compared = of_hash.take(MAX_COMPARED_WORDS);
        if let Some(number) = compared.find(|number| self.words[*number as usize].token == *token) {
            return number;
        }
        let last_spelled = last.map(|last| self.words[last as usize].spelled);
        let is_known = (self.spelled_from(last_spelled).take(MAX_COMPARED_WORDS))
            .any(|other| has_spelling_of(&self.words[other as usize].token, token));
        let number = self.words.len() as u32;
        self.text_bytes += token.text.len() + token.key.len();
        self.key_hashes.push(key_hash(&token.key));
        if !is_known {
            let letters_of = |number: u32| &*self.words[number as usize].token.text;
            self.spellings.push(token, number, letters_of);
        }
        self.words.push(Word {
            token: token.owned(),
            previous: last,
            spelled: last_spelled.filter(|_| is_known).unwrap_or(number),
            previous_spelled: last_spelled,
        });
        self.by_hash.insert(hash, number);
        number
    }

    /// The text with these words.
    #[cfg(test)]
    fn text(&self, numbers: impl Iterator<Item = u32>) -> Words<'_> {
        let mut text = Words::default();
        self.fill(&mut text, numbers);
        text
    }

    /// Replaces the words of a text by these words.
    pub(crate) fn fill<'v>(&'v self, text: &mut Words<'v>, numbers: impl Iterator<Item = u32>) {
        let words = numbers.filter_map(|number| self.words.get(number as usize));
        text.tokens.clear();
        text.ranges.clear();
        text.tokens.extend(words.map(|word| word.token.borrowed()));
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
    pub(crate) fn near(
        &self,
        word: &str,
        is_english: bool,
    ) -> impl Iterator<Item = &Token<'static>> {
        let mut spelled = self.spelled(word);
        let known = spelled.find_map(|number| self.spellings.near_to(number));
        let search = || self.spellings.near(word, is_english).collect();
        let numbers = known.map_or_else(search, <[u32]>::to_vec).into_iter();
        numbers.map(|number| &self.words[number as usize].token)
    }

    /// The words that may be this ASCII word with accents.
    pub(crate) fn accented(&self, word: &str) -> impl Iterator<Item = &Token<'static>> {
        let numbers = self.spellings.accented(word);
        numbers.map(|number| &self.words[number as usize].token)
    }

    /// The words with these letters, one of each spelling, and perhaps others.
    pub(crate) fn words_of(&self, letters: &str) -> impl Iterator<Item = &Token<'static>> {
        let spelled = self.spelled(letters);
        spelled.map(|number| &self.words[number as usize].token)
    }

    fn spelled(&self, letters: &str) -> impl Iterator<Item = u32> {
        let last = self.by_hash.get(&xxh3_64(letters.as_bytes()));
        self.spelled_from(last.map(|last| self.words[*last as usize].spelled))
    }

    /// A word and the words of other spellings before it.
    fn spelled_from(&self, number: Option<u32>) -> impl Iterator<Item = u32> {
        let previous = |number: &u32| self.words[*number as usize].previous_spelled;
        std::iter::successors(number, previous)
    }

    /// The bytes of memory.
    pub(crate) fn len_bytes(&self) -> usize {
        // A place of the hash table has 16 bytes and a byte of control, and one in eight stays
        // empty.
        let by_hash = self.by_hash.capacity() * 8 / 7 * 17;
        let key_hashes = self.key_hashes.capacity() * size_of::<u32>();
        let words = self.words.capacity() * size_of::<Word>() + self.text_bytes;
        words + key_hashes + by_hash + self.spellings.len_bytes()
    }
}

/// Returns `true` for two tokens that other words are matched with alike.
fn has_spelling_of(one: &Token<'_>, other: &Token<'_>) -> bool {
    let flags = |token: &Token<'_>| {
        let of_word = (token.is_english, token.is_name, token.is_in_frame);
        (token.class, token.is_capital, of_word)
    };
    flags(one) == flags(other) && one.text == other.text && one.key == other.key
}

/// The hash by which words with one key are found. Words with one hash may have different keys.
pub(crate) fn key_hash(key: &str) -> u32 {
    xxh3_64(key.as_bytes()) as u32
}

impl Token<'static> {
    fn borrowed(&self) -> Token<'_> {
        Token {
            text: Cow::Borrowed(&self.text),
            key: Cow::Borrowed(&self.key),
            ..*self
        }
    }
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
