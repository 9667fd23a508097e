//! [`Prepared`]: a text cut into words, for comparisons with many texts.

use std::cmp::Ordering;

use super::lexicon::Lexicon;
use super::names::Names;
use super::tokens::{Token, tokens, with_currencies};
use crate::text::Normaliser;

/// The words of a text. Most of the time of a comparison is spent on them.
#[derive(Clone, Debug)]
pub(crate) struct Prepared<'t> {
    pub(super) tokens: Vec<Token<'t>>,
}

impl Prepared<'_> {
    pub(crate) fn new(normaliser: &Normaliser, text: &str) -> Prepared<'static> {
        let sentences = normaliser.sentences(&with_currencies(text));
        let tokens = tokens(Lexicon::builtin(), &sentences).into_iter();
        let mut tokens: Vec<_> = tokens.map(Token::into_owned).collect();
        Names::of(text).mark(&mut tokens);
        Prepared { tokens }
    }

    /// The order of two texts by their words.
    pub(super) fn cmp_words(&self, other: &Prepared<'_>) -> Ordering {
        let [one, other] = [&self.tokens, &other.tokens];
        let one = one.iter().map(|token| (&*token.text, token.is_name));
        one.cmp(other.iter().map(|token| (&*token.text, token.is_name)))
    }
}
