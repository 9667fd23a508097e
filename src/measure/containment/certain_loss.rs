//! A quick test that rejects most pairs of texts of one template, without an alignment.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use super::forgive::{MAX_GLUED, forgiven, is_glued, may_be_misspelled};
use crate::analysis::words::tokens::Token;
use crate::analysis::words::vocabulary::key_hash;
use crate::analysis::words::weights::Weights;
use crate::analysis::words::{KeyFilter, Vocabulary, Words};

/// The most tokens of a short text.
const MAX_TOKENS: usize = 256;

/// The counters of hashes for each token, so one of four hashes that a text does not have is
/// counted.
const COUNTERS_PER_TOKEN: usize = 4;

/// The most missing words of a long text that are searched in other letters. Each search reads the
/// other text.
const MAX_SEARCHED: usize = 8;

/// Returns `true` only if neither of two texts covers the other.
pub(super) fn are_apart(weights: &Weights, a: &Words<'_>, b: &Words<'_>) -> bool {
    is_lost(weights, a, b, None) && is_lost(weights, b, a, None)
}

/// Returns `true` only if another text does not cover a text.
pub(crate) fn is_lost(
    weights: &Weights,
    text: &Words<'_>,
    other: &Words<'_>,
    known: Option<KnownWords<'_>>,
) -> bool {
    let key_hashes = other.tokens.iter().map(|token| key_hash(&token.key));
    HeavyWords::new(text).are_lost(weights, text, known, key_hashes, || other)
}

/// Returns `true` if a rule may match a token without an equal key in the other text.
fn may_be_forgiven(weights: &Weights, text: &[Token<'_>], at: usize, other: &[Token<'_>]) -> bool {
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

/// The words of a text that may not be absent, for comparisons with many texts.
pub(crate) struct HeavyWords {
    /// The words that may be a misspelling come last: their matches take longest to find.
    words: Vec<HeavyWord>,
    /// The index of the last word that was certainly lost. Texts of one template often lack the
    /// same word.
    last_lost: Cell<Option<usize>>,
}

struct HeavyWord {
    at: usize,
    key_hash: u32,
    matches: OnceCell<PossibleMatches>,
}

/// The words of a vocabulary that a rule may match with a word, beside the words with its key.
enum PossibleMatches {
    /// Words with these hashes of their keys; perhaps also others.
    Keys(Vec<u32>),
    /// Any word.
    Any,
}

impl HeavyWords {
    pub(crate) fn new(text: &Words<'_>) -> Self {
        let words = text.tokens.iter().enumerate();
        let heavy = words.filter(|(_, token)| !token.is_light());
        let heavy = heavy.map(|(at, token)| HeavyWord {
            at,
            key_hash: key_hash(&token.key),
            matches: OnceCell::new(),
        });
        let mut words: Vec<HeavyWord> = heavy.collect();
        words.sort_by_key(|word| may_be_misspelled(&text.tokens[word.at]));
        Self {
            words,
            last_lost: Cell::default(),
        }
    }

    /// Returns `true` only if another text, with these hashes of its keys, does not cover the text
    /// of these words. The vocabulary is the same in all calls.
    pub(crate) fn are_lost<'o, 't: 'o>(
        &self,
        weights: &Weights,
        text: &Words<'_>,
        known: Option<KnownWords<'_>>,
        key_hashes: impl ExactSizeIterator<Item = u32>,
        other: impl FnOnce() -> &'o Words<'t>,
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
        let mut counters = HashCounters::new(key_hashes);
        let missing = self.words.iter();
        let missing = missing.filter(|word| !counters.take(word.key_hash));
        let missing: Vec<u32> = missing.map(|word| word.key_hash).take(most).collect();
        if missing.is_empty() {
            return false;
        }
        let other = other();
        // Of several equal words, the alignment may match any.
        let equal = |hash| self.words.iter().filter(move |word| word.key_hash == hash);
        missing.into_iter().any(|hash| {
            equal(hash).all(|word| !may_be_forgiven(weights, &text.tokens, word.at, &other.tokens))
        })
    }

    /// The hashes of the keys of which each other text has one, unless the text of these words is
    /// certainly not covered: the keys that the last lost word needs. `None` before a loss.
    pub(crate) fn needed_keys(&self) -> Option<Vec<u32>> {
        let word = self.words.get(self.last_lost.get()?)?;
        match word.matches.get()? {
            PossibleMatches::Keys(keys) => Some([&[word.key_hash], &keys[..]].concat()),
            PossibleMatches::Any => None,
        }
    }

    /// Returns `true` only if another text has neither one of the words nor a word that a rule may
    /// match with it.
    fn has_lost_word(&self, weights: &Weights, text: &Words<'_>, other: KnownWords<'_>) -> bool {
        let is_lost = |at: &usize| {
            let word = &self.words[*at];
            let matches = || PossibleMatches::new(weights, &text.tokens, word.at, other.vocabulary);
            !other.keys.has(word.key_hash)
                && match word.matches.get_or_init(matches) {
                    PossibleMatches::Keys(keys) => !keys.iter().any(|key| other.keys.has(*key)),
                    PossibleMatches::Any => false,
                }
        };
        let mut order = self.last_lost.get().into_iter().chain(0..self.words.len());
        let lost = order.find(is_lost);
        self.last_lost.set(lost.or(self.last_lost.get()));
        lost.is_some()
    }
}

impl PossibleMatches {
    fn new(weights: &Weights, text: &[Token<'_>], at: usize, vocabulary: &Vocabulary) -> Self {
        let (token, word) = (&text[at], &*text[at].text);
        if !word.is_ascii() || vocabulary.has_accented(word) {
            return Self::Any;
        }
        let is_forgiven = |other: &&Token<'_>| forgiven(weights, token, other).is_some();
        // No other rule matches two ASCII words.
        let words = may_be_misspelled(token).then(|| vocabulary.near(word));
        let near = words.into_iter().flatten().filter(is_forgiven);
        let near = near.map(|other| key_hash(&other.key));
        // The first of the words that are written as one.
        let firsts = (1..word.len()).flat_map(|end| vocabulary.keys_of(&word[..end]));
        let wholes = runs_with(text, at).flat_map(|run| {
            let parts: Vec<&str> = text[run].iter().map(|part| &*part.text).collect();
            vocabulary.keys_of(&parts.concat()).collect::<Vec<_>>()
        });
        Self::Keys(near.chain(firsts).chain(wholes).collect())
    }
}

/// The number of tokens of a text with each hash; more where hashes share a counter. A token that
/// is lost in spite of it is lost in the alignment.
struct HashCounters {
    short: [u8; MAX_TOKENS * COUNTERS_PER_TOKEN],
    long: Vec<u8>,
}

impl HashCounters {
    fn new(hashes: impl ExactSizeIterator<Item = u32>) -> Self {
        let mut counters = Self {
            short: [0; MAX_TOKENS * COUNTERS_PER_TOKEN],
            long: Vec::new(),
        };
        if hashes.len() > MAX_TOKENS {
            let counters_of_all = hashes.len().next_power_of_two() * COUNTERS_PER_TOKEN;
            counters.long.resize(counters_of_all, 0);
        }
        for hash in hashes {
            let counter = counters.of(hash);
            *counter = counter.saturating_add(1);
        }
        counters
    }

    fn of(&mut self, hash: u32) -> &mut u8 {
        let counters = match self.long.is_empty() {
            true => &mut self.short[..],
            false => &mut self.long[..],
        };
        let mask = counters.len() - 1;
        &mut counters[hash as usize & mask]
    }

    /// Takes a token. Returns `false` if the text has no more tokens with this hash.
    fn take(&mut self, hash: u32) -> bool {
        let counter = self.of(hash);
        let is_there = *counter > 0;
        // A full counter may have lost some of its tokens.
        if is_there && *counter != u8::MAX {
            *counter -= 1;
        }
        is_there
    }
}

/// The runs of tokens with a token that another text may write as one.
fn runs_with(text: &[Token<'_>], at: usize) -> impl Iterator<Item = Range<usize>> {
    let len = text.len();
    let firsts = (at + 1).saturating_sub(MAX_GLUED)..=at;
    firsts.flat_map(move |from| {
        let ends = at.max(from + 1)..(from + MAX_GLUED).min(len);
        ends.map(move |last| from..last + 1)
    })
}

/// Returns `true` if a token may be several tokens of the other text, or a part of one.
fn is_written_otherwise(text: &[Token<'_>], at: usize, other: &[Token<'_>]) -> bool {
    let whole = &*text[at].text;
    let begins_here = |from: usize| {
        let first = &*other[from].text;
        let has_same_start = whole.as_bytes().first() == first.as_bytes().first();
        has_same_start && first.len() < whole.len() && whole.starts_with(first) && {
            let most = MAX_GLUED.min(other.len() - from);
            (2..=most).any(|count| is_glued(&text[at], &other[from..from + count]))
        }
    };
    let is_part_of = |parts: &[Token<'_>]| {
        let length: usize = parts.iter().map(|part| part.text.len()).sum();
        let mut wholes = other.iter().filter(|whole| whole.text.len() == length);
        wholes.any(|whole| is_glued(whole, parts))
    };
    let mut runs = runs_with(text, at);
    (0..other.len()).any(begins_here) || runs.any(|run| is_part_of(&text[run]))
}
