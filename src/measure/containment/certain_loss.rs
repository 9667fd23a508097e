//! A quick test that rejects most pairs of texts of one template, without an alignment.

use std::cell::{Cell, LazyCell, OnceCell};
use std::ops::Range;

use super::forgive::{
    MAX_GLUED, forgiven, is_glued, is_misspelled_as, may_be_letters_of_part, may_be_part,
};
use crate::analysis::words::lexicon::Lexicon;
use crate::analysis::words::spellings::{is_word, may_be_misspelled, without_accents};
use crate::analysis::words::token::Token;
use crate::analysis::words::vocabulary::{LettersHash, key_hash};
use crate::analysis::words::weights::Weights;
use crate::analysis::words::{KeyFilter, Vocabulary, Words};

/// The most tokens of a short text.
const MAX_TOKENS: usize = 256;

/// The most missing words of a long text that are searched in other letters. Each search reads the
/// other text.
const MAX_SEARCHED: usize = 8;

/// Returns `true` only if neither of two texts covers the other.
pub(super) fn are_apart(weights: &Weights, a: &Words, b: &Words) -> bool {
    is_lost(weights, a, b, None) && is_lost(weights, b, a, None)
}

/// Returns `true` only if another text does not cover a text.
pub(crate) fn is_lost(
    weights: &Weights,
    text: &Words,
    other: &Words,
    known: Option<KnownWords<'_>>,
) -> bool {
    let key_hashes = other.tokens.iter().map(|token| key_hash(&token.key));
    HeavyWords::new(text).are_lost(weights, text, known, key_hashes, || other)
}

/// Returns `true` if a rule may match a token without an equal key in the other text.
fn may_be_forgiven(weights: &Weights, text: &[Token], at: usize, other: &[Token]) -> bool {
    is_written_otherwise(text, at, other)
        || other
            .iter()
            .any(|each| forgiven(weights, &text[at], each).is_some())
}

/// The words of a text that an index knows.
#[derive(Clone, Copy)]
pub(crate) struct KnownWords<'k> {
    /// All words of the text, and others.
    pub(crate) vocabulary: &'k Vocabulary,
    pub(crate) keys: KeyFilter<'k>,
}

impl KnownWords<'_> {
    /// Returns `true` only if the text has no key with one of these hashes.
    fn lack(&self, key_hashes: &[u32]) -> bool {
        !key_hashes.iter().any(|hash| self.keys.has(*hash))
    }
}

/// The words of a text that is compared with many texts that it may cover.
pub(crate) struct CoveringWords {
    vocabulary: Vocabulary,
    keys: Vec<u8>,
    groups: KeyGroups,
}

impl CoveringWords {
    pub(crate) fn new(text: &Words) -> Self {
        let key_hashes = text.tokens.iter().map(|token| key_hash(&token.key));
        Self {
            vocabulary: Vocabulary::of(text),
            keys: KeyFilter::bytes(key_hashes.clone()),
            groups: KeyGroups::new(key_hashes),
        }
    }

    pub(crate) fn known(&self) -> Option<KnownWords<'_>> {
        Some(KnownWords {
            vocabulary: &self.vocabulary,
            keys: KeyFilter::new(&self.keys)?,
        })
    }

    /// Returns `true` only if the text lacks a word of another text, with these hashes of its keys.
    /// `around` returns the words around a place of the other text, and the place among them.
    pub(crate) fn lack(
        &self,
        weights: &Weights,
        key_hashes: impl Iterator<Item = u32> + Clone,
        around: impl Fn(usize) -> (Words, usize),
    ) -> bool {
        let Some(known) = self.known() else {
            return false;
        };
        let is_lost = |place: usize| {
            let (words, at) = around(place);
            !(words.tokens[at].is_light() || words.tokens[at].is_cut)
                && known.lack(&possible_matches(
                    weights,
                    &words.tokens,
                    at,
                    known.vocabulary,
                ))
        };
        let mut left = self.groups.counts.clone();
        let missing = key_hashes.clone().filter(|hash| {
            let left = self.groups.of(*hash).map(|group| &mut left[group]);
            match left.filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    false
                }
                None => true,
            }
        });
        // Of several equal words, the alignment may match any.
        missing.take(MAX_SEARCHED).any(|hash| {
            let places = key_hashes.clone().enumerate();
            let mut equal = places.filter(|(_, other)| *other == hash);
            equal.all(|(place, _)| is_lost(place))
        })
    }
}

/// The words of a text that may not be absent, for comparisons with many texts.
pub(crate) struct HeavyWords {
    /// The words that may be a misspelling come last: their matches take longest to find.
    words: Vec<HeavyWord>,
    /// The index of the last word that was certainly lost. Texts of one template often lack the
    /// same word.
    last_lost: Cell<Option<usize>>,
    groups: OnceCell<KeyGroups>,
}

struct HeavyWord {
    at: usize,
    key_hash: u32,
    matches: OnceCell<Vec<u32>>,
}

impl HeavyWord {
    /// The [`possible_matches`]. The vocabulary is the same in all calls.
    fn matches(&self, weights: &Weights, text: &Words, vocabulary: &Vocabulary) -> &[u32] {
        let matches = || possible_matches(weights, &text.tokens, self.at, vocabulary);
        self.matches.get_or_init(matches)
    }
}

impl HeavyWords {
    pub(crate) fn new(text: &Words) -> Self {
        let words = text.tokens.iter().enumerate();
        // A word that is cut may be the start of any word.
        let heavy = words.filter(|(_, token)| !token.is_light() && !token.is_cut);
        let heavy = heavy.map(|(at, token)| HeavyWord {
            at,
            key_hash: key_hash(&token.key),
            matches: OnceCell::new(),
        });
        let mut words: Vec<HeavyWord> = heavy.collect();
        words.sort_by_cached_key(|word| may_be_misspelled(&text.tokens[word.at]));
        Self {
            words,
            last_lost: Cell::default(),
            groups: OnceCell::new(),
        }
    }

    /// Returns `true` only if another text, with these hashes of its keys, does not cover the text
    /// of these words. The vocabulary is the same in all calls.
    pub(crate) fn are_lost<'o>(
        &self,
        weights: &Weights,
        text: &Words,
        known: Option<KnownWords<'_>>,
        key_hashes: impl ExactSizeIterator<Item = u32>,
        other: impl FnOnce() -> &'o Words,
    ) -> bool {
        if self.words.is_empty() {
            return false;
        }
        if known.is_some_and(|known| self.has_lost_word(weights, text, known)) {
            return true;
        }
        let most = match key_hashes.len() {
            ..=MAX_TOKENS => usize::MAX,
            _ => MAX_SEARCHED,
        };
        let own_hashes = || self.words.iter().map(|word| word.key_hash);
        let groups = self.groups.get_or_init(|| KeyGroups::new(own_hashes()));
        let found = groups.counts_in(key_hashes);
        let is_missing = |word: &&HeavyWord| {
            let group = groups.of(word.key_hash);
            group.is_some_and(|group| found[group] < groups.counts[group])
        };
        let missing = self.words.iter().filter(is_missing);
        let missing: Vec<u32> = missing.map(|word| word.key_hash).take(most).collect();
        if missing.is_empty() {
            return false;
        }
        let other = LazyCell::new(other);
        let is_lost = |word: &HeavyWord| {
            known.is_some_and(|known| known.lack(word.matches(weights, text, known.vocabulary)))
                || !may_be_forgiven(weights, &text.tokens, word.at, &other.tokens)
        };
        // Of several equal words, the alignment may match any.
        let equal = |hash| self.words.iter().filter(move |word| word.key_hash == hash);
        missing.into_iter().any(|hash| equal(hash).all(is_lost))
    }

    /// Hashes of keys. A text without any of them certainly does not cover the text of these words.
    /// They are the keys that the last lost word needs; `None` before a loss.
    pub(crate) fn needed_keys(&self) -> Option<Vec<u32>> {
        let word = self.words.get(self.last_lost.get()?)?;
        Some([&[word.key_hash], &word.matches.get()?[..]].concat())
    }

    /// The hash of the key of each word.
    pub(crate) fn key_hashes(&self) -> impl Iterator<Item = u32> {
        self.words.iter().map(|word| word.key_hash)
    }

    /// Hashes of the keys that a word needs. A text of a vocabulary without any of them certainly
    /// does not cover the text of these words.
    pub(crate) fn keys_needed_by(
        &self,
        word: usize,
        weights: &Weights,
        text: &Words,
        vocabulary: &Vocabulary,
    ) -> Vec<u32> {
        let word = &self.words[word];
        [&[word.key_hash], word.matches(weights, text, vocabulary)].concat()
    }

    /// Returns `true` only if another text has neither one of the words nor a word that a rule may
    /// match with it. The word is remembered.
    fn has_lost_word(&self, weights: &Weights, text: &Words, other: KnownWords<'_>) -> bool {
        let is_lost = |at: &usize| {
            let word = &self.words[*at];
            !other.keys.has(word.key_hash)
                && other.lack(word.matches(weights, text, other.vocabulary))
        };
        let mut order = self.last_lost.get().into_iter().chain(0..self.words.len());
        let lost = order.find(is_lost);
        self.last_lost.set(lost.or(self.last_lost.get()));
        lost.is_some()
    }
}

/// The hashes of the keys of the words of a vocabulary that a rule may match with a word of a text,
/// beside the words with its key; perhaps also of others.
fn possible_matches(
    weights: &Weights,
    text: &[Token],
    at: usize,
    vocabulary: &Vocabulary,
) -> Vec<u32> {
    let (token, word) = (&text[at], &*text[at].text);
    let near = may_be_misspelled(token).then(|| {
        let is_english = is_word(word);
        let near = vocabulary.near(word, is_english);
        near.filter(move |other| match is_english {
            true => is_misspelled_as(weights, token, other),
            false => is_misspelled_as(weights, other, token),
        })
    });
    let accented = word.is_ascii().then(|| vocabulary.accented(word));
    let plain = (!word.is_ascii()).then(|| without_accents(word));
    let words_of = |letters: &str| vocabulary.words_of(LettersHash::of(letters));
    let plain = plain.into_iter().flatten();
    let plain = plain.flat_map(|plain| words_of(&plain));
    let regional = Lexicon::builtin().other_regions(word);
    let regional = regional.flat_map(words_of);
    let wholes = runs_with(text, at).filter(|run| text[run.clone()].iter().all(may_be_part));
    let wholes = wholes.flat_map(|run| {
        let parts = text[run].iter();
        vocabulary.words_of(parts.fold(LettersHash::default(), |hash, part| hash.with(&part.text)))
    });
    let others = near
        .into_iter()
        .flatten()
        .chain(accented.into_iter().flatten());
    let others = others.chain(plain).chain(regional).chain(wholes);
    others
        .chain(first_parts(word, vocabulary))
        .map(|other| key_hash(&other.key))
        .collect()
}

/// The words of a vocabulary that may be the first of the words that a text writes as one word.
fn first_parts<'v>(word: &'v str, vocabulary: &'v Vocabulary) -> impl Iterator<Item = &'v Token> {
    splits(word).flat_map(move |(first, rest)| {
        let parts = vocabulary.words_of(first).filter(|part| may_be_part(part));
        parts.filter(move |_| is_made_of(rest, MAX_GLUED - 1, vocabulary))
    })
}

/// Returns `true` if a word may be at most some words of a vocabulary.
fn is_made_of(word: &str, most: usize, vocabulary: &Vocabulary) -> bool {
    let has_part = |word| vocabulary.words_of(word).any(may_be_part);
    has_part(LettersHash::of(word))
        || most > 1
            && splits(word)
                .any(|(first, rest)| has_part(first) && is_made_of(rest, most - 1, vocabulary))
}

/// A word, split before each character where two words may meet: the hash of the letters before the
/// character, and the rest.
fn splits(word: &str) -> impl Iterator<Item = (LettersHash, &str)> {
    let mut hashed = (LettersHash::default(), 0);
    let ends = word.char_indices().skip(1).map(|(at, _)| word.split_at(at));
    let ends =
        ends.filter(|(first, rest)| may_be_letters_of_part(first) && may_be_letters_of_part(rest));
    ends.map(move |(first, rest)| {
        hashed = (hashed.0.with(&first[hashed.1..]), first.len());
        (hashed.0, rest)
    })
}

/// The tokens of a text by the hash of their keys.
struct KeyGroups {
    /// Places by hash: the hash and the group, [`NO_GROUP`] at an empty place. At least half of the
    /// places are empty.
    places: Vec<(u32, u32)>,
    /// The number of tokens of each group.
    counts: Vec<u32>,
}

const NO_GROUP: u32 = u32::MAX;

impl KeyGroups {
    fn new(hashes: impl ExactSizeIterator<Item = u32>) -> Self {
        let places = (2 * hashes.len()).next_power_of_two();
        let mut groups = Self {
            places: vec![(0, NO_GROUP); places],
            counts: Vec::with_capacity(hashes.len()),
        };
        for hash in hashes {
            let place = groups.place_of(hash);
            let (_, group) = groups.places[place];
            match groups.counts.get_mut(group as usize) {
                Some(count) => *count += 1,
                None => {
                    groups.places[place] = (hash, groups.counts.len() as u32);
                    groups.counts.push(1);
                }
            }
        }
        groups
    }

    /// The place of a hash, or the empty place for it.
    fn place_of(&self, hash: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        while self.places[place].1 != NO_GROUP && self.places[place].0 != hash {
            place = (place + 1) & mask;
        }
        place
    }

    fn of(&self, hash: u32) -> Option<usize> {
        let (_, group) = self.places[self.place_of(hash)];
        (group != NO_GROUP).then_some(group as usize)
    }

    /// The number of tokens of each group that another text has.
    fn counts_in(&self, key_hashes: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut counts = vec![0; self.counts.len()];
        for group in key_hashes.filter_map(|hash| self.of(hash)) {
            counts[group] += 1;
        }
        counts
    }
}

/// The tokens around a token on which the runs with the token depend.
pub(crate) const TOKENS_AROUND: usize = MAX_GLUED - 1;

/// The runs of tokens with a token that another text may write as one.
fn runs_with(text: &[Token], at: usize) -> impl Iterator<Item = Range<usize>> {
    let len = text.len();
    let firsts = (at + 1).saturating_sub(MAX_GLUED)..=at;
    firsts.flat_map(move |from| {
        let ends = at.max(from + 1)..(from + MAX_GLUED).min(len);
        ends.map(move |last| from..last + 1)
    })
}

/// Returns `true` if a token may be several tokens of the other text, or a part of one.
fn is_written_otherwise(text: &[Token], at: usize, other: &[Token]) -> bool {
    let whole = &*text[at].text;
    let begins_here = |from: usize| {
        let first = &*other[from].text;
        let has_same_start = whole.as_bytes().first() == first.as_bytes().first();
        has_same_start && first.len() < whole.len() && whole.starts_with(first) && {
            let most = MAX_GLUED.min(other.len() - from);
            (2..=most).any(|count| is_glued(&text[at], &other[from..from + count]))
        }
    };
    let is_part_of = |parts: &[Token]| {
        let length: usize = parts.iter().map(|part| part.text.len()).sum();
        let mut wholes = other.iter().filter(|whole| whole.text.len() == length);
        wholes.any(|whole| is_glued(whole, parts))
    };
    let mut runs = runs_with(text, at);
    (0..other.len()).any(begins_here) || runs.any(|run| is_part_of(&text[run]))
}
