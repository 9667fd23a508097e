//! A quick test that rejects most pairs of texts of one template, without an alignment.

use super::forgive::{MAX_GLUED, forgiven, is_glued};
use crate::analysis::words::Words;
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

/// Returns `true` only if a text has one word that may not be absent, and no rule finds it in the
/// other text.
fn certainly_loses(weights: &Weights, text: &[Token<'_>], other: &[Token<'_>]) -> bool {
    (0..text.len()).any(|at| {
        !text[at].is_light()
            && other.iter().all(|each| each.key != text[at].key)
            && !may_be_forgiven(weights, text, at, other)
    })
}

/// Returns `true` if a rule may match a token without an equal key in the other text.
fn may_be_forgiven(weights: &Weights, text: &[Token<'_>], at: usize, other: &[Token<'_>]) -> bool {
    is_written_otherwise(text, at, other)
        || other
            .iter()
            .any(|each| forgiven(weights, &text[at], each).is_some())
}

/// The words of a text that may not be absent, for comparisons with many texts.
pub(crate) struct HeavyWords(Vec<HeavyWord>);

struct HeavyWord {
    at: usize,
    key_hash: u32,
}

impl HeavyWords {
    pub(crate) fn new(text: &Words<'_>) -> Self {
        let words = text.tokens.iter().enumerate();
        let heavy = words.filter(|(_, token)| !token.is_light());
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
        missing.any(|word| !may_be_forgiven(weights, &text.tokens, word.at, &other.tokens))
    }
}

fn bit(hash: u32) -> u64 {
    1 << (hash % 64)
}

/// Returns `true` if a token may be several tokens of the other text, or a part of one.
fn is_written_otherwise(text: &[Token<'_>], at: usize, other: &[Token<'_>]) -> bool {
    let begins_whole = |whole: &Token<'_>, parts: &[Token<'_>]| {
        (2..=MAX_GLUED.min(parts.len())).any(|count| is_glued(whole, &parts[..count]))
    };
    let first = (at + 1).saturating_sub(MAX_GLUED);
    (0..other.len()).any(|from| begins_whole(&text[at], &other[from..]))
        || (first..=at).any(|from| other.iter().any(|whole| begins_whole(whole, &text[from..])))
}
