//! [`Prepared`]: a text cut into words, for comparisons with many texts.

use super::lexicon::Lexicon;
use super::names::Names;
use super::tokens::{Token, tokens, with_currencies};
use crate::text::Normaliser;

/// The words of a text. Most of the time of a comparison is spent on them.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The normalised text, which orders two texts.
    pub(super) sentences: String,
    pub(super) names: Names,
    pub(super) tokens: Vec<Token<'static>>,
}

impl Prepared {
    pub(crate) fn new(normaliser: &Normaliser, text: &str) -> Self {
        let names = Names::of(text);
        let sentences = normaliser.sentences(&with_currencies(text));
        let tokens = tokens(Lexicon::builtin(), &sentences).into_iter();
        let mut tokens: Vec<_> = tokens.map(Token::into_owned).collect();
        names.restore(&mut tokens);
        Self {
            sentences,
            names,
            tokens,
        }
    }
}
