//! [`Words`]: a text cut into words.
//!
//! | file | responsibility |
//! |---|---|
//! | `tokens` | cuts a normalised text into tokens with classes and keys: `names` |
//! | `lexicon` | the words that a comparison treats in a particular way |
//! | `weights` | the information of a word |
//! | `vocabulary` | the words of many texts, each word once |

pub(crate) mod lexicon;
mod names;
pub(crate) mod tokens;
pub(crate) mod vocabulary;
pub(crate) mod weights;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::text::Normaliser;
use lexicon::{Class, Lexicon};
use names::Names;
use tokens::{Token, tokens, with_currencies};
pub(crate) use vocabulary::Vocabulary;
use weights::Weights;

/// The letters at each end of a word by which a misspelling is recognised.
const END_LETTERS: usize = 3;

/// The words of a text. Most of the time of a comparison is spent on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words<'t> {
    pub(crate) tokens: Vec<Token<'t>>,
}

impl Words<'_> {
    pub(crate) fn new(normaliser: &Normaliser, text: &str) -> Words<'static> {
        Self::of(normaliser, text, || normaliser.sentences(text).into())
    }

    /// The words of a text, given its normalised sentences.
    pub(super) fn of<'s>(
        normaliser: &Normaliser,
        text: &str,
        sentences: impl FnOnce() -> Cow<'s, str>,
    ) -> Words<'static> {
        let sentences = match with_currencies(text) {
            Cow::Borrowed(_) => sentences(),
            // Normalisation removes currency signs, so the text with their names is normalised
            // again.
            Cow::Owned(text) => normaliser.sentences(&text).into(),
        };
        let tokens = tokens(Lexicon::builtin(), &sentences).into_iter();
        let mut tokens: Vec<_> = tokens.map(Token::into_owned).collect();
        Names::of(text).mark(&mut tokens);
        Words { tokens }
    }

    /// The number of words.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The order of two texts by their words.
    pub(crate) fn cmp_words(&self, other: &Words<'_>) -> Ordering {
        let [one, other] = [&self.tokens, &other.tokens];
        let one = one.iter().map(|token| (&*token.text, token.is_name));
        one.cmp(other.iter().map(|token| (&*token.text, token.is_name)))
    }

    /// Returns `true` for a word that is neither a stop word nor a filler.
    pub(crate) fn is_content(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(Token::is_content)
    }
}

/// The roots of the words of a text that have a weight.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    /// The roots of the distinct words, the heaviest first, without stop words, fillers and words
    /// of the lexicon.
    pub(crate) roots: Vec<Root>,
    /// The sum of the weights, in nats.
    pub(crate) information: f64,
}

impl Roots {
    pub(crate) fn new(words: &Words<'_>, weights: &Weights) -> Self {
        let has_weight = |token: &&Token<'_>| matches!(token.class, Class::Word | Class::Number);
        let mut seen: HashSet<&str, FixedState> = HashSet::default();
        let mut roots: Vec<Root> = (words.tokens.iter())
            .filter(|token| has_weight(token) && token.entry.is_none() && seen.insert(&token.key))
            .map(|token| Root::new(token, weights))
            .collect();
        roots.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        Self {
            information: roots.iter().map(|root| root.weight).sum(),
            roots,
        }
    }
}

/// The letters by which a word is recognised in another text, whatever its form.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// The beginning that all forms share.
    text: String,
    /// A space and the first letters, and the last letters and a space. A misspelled word keeps its
    /// first or its last letters. `None` for a word that is too short to be misspelled.
    ends: Option<[String; 2]>,
    /// The weight of the word, in nats.
    pub(crate) weight: f64,
}

impl Root {
    fn new(token: &Token<'_>, weights: &Weights) -> Self {
        let letters: Vec<char> = token.text.chars().collect();
        let shared = token.text.chars().zip(token.key.chars());
        let shared = shared.take_while(|(a, b)| a == b);
        let ends = || {
            let first: String = letters[..END_LETTERS].iter().collect();
            let last: String = letters[letters.len() - END_LETTERS..].iter().collect();
            [format!(" {first}"), format!("{last} ")]
        };
        Self {
            text: shared.map(|(letter, _)| letter).collect(),
            ends: (letters.len() > END_LETTERS + 1).then(ends),
            weight: weights.of_token(token),
        }
    }

    /// Returns `false` if a normalised text with a space before and after each word has neither the
    /// word nor another form or a misspelling of it.
    pub(crate) fn may_be_in(&self, sentences: &str) -> bool {
        let mut ends = self.ends.iter().flatten();
        sentences.contains(&self.text) || ends.any(|end| sentences.contains(end))
    }
}
