//! A quick test that rejects most pairs of texts of one template, without an alignment.

use super::forgive::{MAX_GLUED, can_be_acronym, end_of_glued, is_misspelling, spelled_out};
use super::lexicon::{Class, Lexicon};
use super::prepared::Prepared;
use super::tokens::Token;
use super::weights::Weights;
use super::{MAX_MISSING, MIN_STRONG};

/// The most tokens of a text that are tested. The test of a longer text takes as long as an alignment.
const MAX_TOKENS: usize = 256;

/// Returns `true` only if neither of two texts is contained in the other.
pub(super) fn are_apart(weights: &Weights, a: &Prepared<'_>, b: &Prepared<'_>) -> bool {
    a.tokens.len().max(b.tokens.len()) <= MAX_TOKENS
        && certainly_loses(weights, &a.tokens, &b.tokens)
        && certainly_loses(weights, &b.tokens, &a.tokens)
}

/// Returns `true` only if one word of a text weighs more than may be lost, and no rule finds it in the other
/// text.
fn certainly_loses(weights: &Weights, text: &[Token<'_>], other: &[Token<'_>]) -> bool {
    let lexicon = Lexicon::builtin();
    (0..text.len()).any(|at| {
        let token = &text[at];
        loss(weights, token) > MAX_MISSING
            && other.iter().all(|each| each.key != token.key)
            && !is_glued(lexicon, text, at, other)
            && !other
                .iter()
                .any(|each| is_misspelling(weights, token, each))
            && !is_acronym(text, at, other)
    })
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
    let spells = |acronym: &Token<'_>, tokens, from| spelled_out(&acronym.text, tokens, from);
    let is_of_other = can_be_acronym(&text[at])
        && (0..other.len()).any(|from| spells(&text[at], other, from).is_some());
    let first_letter = text[at].text.chars().next();
    is_of_other
        || other.iter().any(|acronym| {
            first_letter.is_some_and(|letter| acronym.text.contains(letter))
                && can_be_acronym(acronym)
                && (0..=at).any(|from| {
                    spells(acronym, text, from).is_some_and(|words| words.contains(&at))
                })
        })
}
