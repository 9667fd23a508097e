//! A quick test that rejects most pairs of texts of one template, without an alignment.

use super::forgive::{
    MAX_GLUED, MAX_SPELLED, can_be_acronym, end_of_glued, has_first_letter_of, is_misspelling,
    spelled_out,
};
use super::{MAX_MISSING, MIN_STRONG};
use crate::analysis::words::Words;
use crate::analysis::words::lexicon::{Class, Lexicon};
use crate::analysis::words::tokens::Token;
use crate::analysis::words::vocabulary::key_hash;
use crate::analysis::words::weights::Weights;

/// The most tokens of a short text. A test of all words of a longer text would take as long as an
/// alignment.
const MAX_TOKENS: usize = 256;

/// The bits of a set of hashes for each token, so one of 16 hashes that a text does not have is in
/// its set.
const BITS_PER_TOKEN: usize = 16;

/// The most missing words of a long text that are searched in other letters. Each search reads the
/// other text.
const MAX_SEARCHED: usize = 8;

/// Returns `true` only if neither of two texts is contained in the other.
pub(super) fn are_apart(weights: &Weights, a: &Words<'_>, b: &Words<'_>) -> bool {
    a.tokens.len().max(b.tokens.len()) <= MAX_TOKENS
        && certainly_loses(weights, &a.tokens, &b.tokens)
        && certainly_loses(weights, &b.tokens, &a.tokens)
}

/// Returns `true` only if one word of a text weighs more than may be lost, and no rule finds it in
/// the other text.
fn certainly_loses(weights: &Weights, text: &[Token<'_>], other: &[Token<'_>]) -> bool {
    (0..text.len()).any(|at| {
        loss(weights, &text[at]) > MAX_MISSING
            && other.iter().all(|each| each.key != text[at].key)
            && !is_said_in_other_letters(weights, text, at, other)
    })
}

/// Returns `true` if a rule may find a token without an equal key in the other text.
fn is_said_in_other_letters(
    weights: &Weights,
    text: &[Token<'_>],
    at: usize,
    other: &[Token<'_>],
) -> bool {
    let mut others = other.iter();
    is_glued(Lexicon::builtin(), text, at, other)
        || others.any(|each| is_misspelling(weights, &text[at], each))
        || is_acronym(text, at, other)
}

/// The words of a text that weigh more than may be lost, for comparisons with many texts.
pub(crate) struct HeavyWords(Vec<HeavyWord>);

struct HeavyWord {
    at: usize,
    key_hash: u32,
}

impl HeavyWords {
    pub(crate) fn new(weights: &Weights, text: &Words<'_>) -> Self {
        let words = text.tokens.iter().enumerate();
        let heavy = words.filter(|(_, token)| loss(weights, token) > MAX_MISSING);
        let heavy = heavy.map(|(at, token)| HeavyWord {
            at,
            key_hash: key_hash(&token.key),
        });
        Self(heavy.collect())
    }

    /// Returns `true` only if the text of these words is not contained in another text, with these
    /// hashes of its keys.
    pub(crate) fn are_lost<'o, 't: 'o>(
        &self,
        weights: &Weights,
        text: &Words<'_>,
        key_hashes: impl ExactSizeIterator<Item = u32>,
        other: impl FnOnce() -> &'o Words<'t>,
    ) -> bool {
        if self.0.is_empty() {
            return false;
        }
        // The set may have more hashes than the other text. A lost word that it has is lost in the
        // alignment.
        let (mut short, mut long) = ([0; MAX_TOKENS * BITS_PER_TOKEN / 64], Vec::new());
        let is_short = key_hashes.len() <= MAX_TOKENS;
        let set = match is_short {
            true => &mut short[..],
            false => {
                let bits = key_hashes.len().next_power_of_two() * BITS_PER_TOKEN;
                long.resize(bits / 64, 0);
                &mut long[..]
            }
        };
        let mask = set.len() - 1;
        let place = |hash: u32| (hash as usize / 64) & mask;
        for hash in key_hashes {
            set[place(hash)] |= bit(hash);
        }
        let is_in_set = |word: &&HeavyWord| set[place(word.key_hash)] & bit(word.key_hash) != 0;
        let mut missing = self.0.iter().filter(|word| !is_in_set(word)).peekable();
        if missing.peek().is_none() {
            return false;
        }
        let most = if is_short { usize::MAX } else { MAX_SEARCHED };
        let other = other();
        let mut missing = missing.take(most);
        missing.any(|word| !is_said_in_other_letters(weights, &text.tokens, word.at, &other.tokens))
    }
}

fn bit(hash: u32) -> u64 {
    1 << (hash % 64)
}

/// The least weight of a token without a counterpart.
fn loss(weights: &Weights, token: &Token<'_>) -> f64 {
    match token.class {
        Class::Stop | Class::Filler | Class::Kind(_) => 0.0,
        Class::Number | Class::Strong | Class::Not => MIN_STRONG,
        Class::Word => weights.of_token(token),
    }
}

/// Returns `true` if a token may be several tokens of the other text, or a part of one.
fn is_glued(lexicon: &Lexicon, text: &[Token<'_>], at: usize, other: &[Token<'_>]) -> bool {
    let end = |glued, tokens, from| end_of_glued(lexicon, glued, tokens, from);
    let first = (at + 1).saturating_sub(MAX_GLUED);
    (0..other.len()).any(|from| end(&text[at], other, from).is_some())
        || (first..=at).any(|from| {
            let is_part = |glued| end(glued, text, from).is_some_and(|end| end > at);
            other.iter().any(is_part)
        })
}

/// Returns `true` if a token may be an acronym in the other text, or a word of one.
fn is_acronym(text: &[Token<'_>], at: usize, other: &[Token<'_>]) -> bool {
    let spells = |acronym: &Token<'_>, tokens: &[Token<'_>], from: usize| {
        has_first_letter_of(&tokens[from], acronym)
            .then(|| spelled_out(&acronym.text, tokens, from))
            .flatten()
    };
    let is_of_other = can_be_acronym(&text[at])
        && (0..other.len()).any(|from| spells(&text[at], other, from).is_some());
    let first_letter = text[at].text.chars().next();
    let first = at.saturating_sub(MAX_SPELLED - 1);
    is_of_other
        || other.iter().any(|acronym| {
            first_letter.is_some_and(|letter| acronym.text.contains(letter))
                && can_be_acronym(acronym)
                && (first..=at).any(|from| {
                    spells(acronym, text, from).is_some_and(|words| words.contains(&at))
                })
        })
}
