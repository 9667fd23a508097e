//! Containment: the words of one text that another text does not say.
//!
//! Two texts of one template resemble each other, and neither may be deleted: "MongoDB integration
//! component" and "Memcached integration component". The measures of
//! [`similarity`](crate::similarity) count characters or phrases, and a name is few of them.
//! [`Containment`] aligns the words of two texts, forgives differences that say the same, and adds
//! the information of the words that remain. A text is *contained* in another text if its missing
//! words weigh at most [`MAX_MISSING`].
//!
//! | difference | treatment |
//! |---|---|
//! | case, width, punctuation, traditional characters | forgiven |
//! | word forms (`file`, `files`; English) and words with one meaning (`create`, `build`) | forgiven |
//! | misspelled words of at least five letters, glued words, acronyms | forgiven |
//! | order of words | forgiven, except for numbers, and after `to`, `from`, `than` and the like |
//! | stop words; fillers such as `simple`; `library` or `tool` | weigh nothing or little |
//! | other words | weigh their information ([`Weights`]) |
//! | a word in the place of another word | weighs at least [`MIN_REPLACED`] |
//! | numbers, versions, numerals, opposites, negations | weigh at least [`MIN_STRONG`] |
//!
//! The rules know English and Chinese. In other languages the alignment and the weights work, and
//! more texts are kept apart.
//!
//! # Limits
//! The verdict is a claim about words. "The package X" is contained in "Documentation of the
//! package X", though the two are different things. A paraphrase is not recognised.
//!
//! # Examples
//!
//! ```
//! use simdb::Normaliser;
//! use simdb::containment::{Containment, Verdict, Weights};
//!
//! let normaliser = Normaliser::new();
//! let compare = |a, b| Containment::new(&normaliser, Weights::builtin(), a, b);
//!
//! let found = compare(
//!     "MongoDB integration component for Plone",
//!     "Memcached integration component for Plone",
//! );
//! assert_eq!(found.verdict, Verdict::Template);
//! assert_eq!(found.missing_in_b[0].word, "mongodb");
//! assert_eq!(found.missing_in_a[0].word, "memcached");
//!
//! let found = compare(
//!     "Convert files of the MongoDB dump format",
//!     "A simple tool to convert file of the MongoDB-dump fromat, with progress bars",
//! );
//! assert_eq!(found.verdict, Verdict::AInB);
//! assert!(found.missing_in_b.is_empty());
//!
//! let found = compare("The ferry was cancelled.", "The ferry was not cancelled.");
//! assert_eq!(found.verdict, Verdict::Template);
//! ```

mod align;
mod alignment;
mod certain_loss;
mod forgive;
mod side;

use std::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::analysis::words::Words;
use crate::analysis::words::lexicon::Lexicon;
use crate::measure::Resemblance;
use crate::text::Normaliser;
use side::Sides;

pub use crate::analysis::words::weights::Weights;
pub use alignment::{AlignedWord, Alignment};
pub(crate) use certain_loss::HeavyWords;

/// The largest weight, in nats, that the words of a contained text may lose: less than one ordinary
/// word.
pub const MAX_MISSING: f64 = 3.0;

/// The least weight, in nats, of a word with another word in its place. Above [`MAX_MISSING`].
pub const MIN_REPLACED: f64 = 4.0;

/// The least weight, in nats, of a number, a numeral, a negation or an opposite. Above
/// [`MAX_MISSING`].
pub const MIN_STRONG: f64 = 5.0;

/// The least share of the words of the shorter text that two texts of a template have in common.
const MIN_FRAME: f64 = 0.5;

/// The decision about two texts.
///
/// The order is the order of answers to a query for text A: texts with nothing to add, texts that
/// say all of A, texts that say a part of A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// Each text says what the other says.
    Same,
    /// The second text says what the first says, and more.
    AInB,
    /// The first text says what the second says, and more.
    BInA,
    /// Both texts say something of their own, and at least half of the words of the shorter text
    /// are common.
    Template,
    /// Both texts say something of their own, and have less in common.
    Different,
}

impl Verdict {
    /// Returns `true` if one of the two texts may be deleted.
    pub fn is_removable(self) -> bool {
        matches!(self, Self::Same | Self::AInB | Self::BInA)
    }

    /// Returns `true` if the second text says all that the first text says.
    pub fn is_a_in_b(self) -> bool {
        matches!(self, Self::Same | Self::AInB)
    }

    /// Returns `true` if the first text says all that the second text says.
    pub fn is_b_in_a(self) -> bool {
        matches!(self, Self::Same | Self::BInA)
    }

    /// The verdict about the texts in the other order.
    pub fn swapped(self) -> Self {
        match self {
            Self::AInB => Self::BInA,
            Self::BInA => Self::AInB,
            other => other,
        }
    }

    /// The name in outputs: `same`, `a_in_b`, `b_in_a`, `template` or `different`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::AInB => "a_in_b",
            Self::BInA => "b_in_a",
            Self::Template => "template",
            Self::Different => "different",
        }
    }
}

/// A word of one text that the other text does not say.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Missing {
    /// The word as it is in the normalised text.
    pub word: String,
    /// Its weight in nats, more than 0.
    pub weight: f64,
}

/// The words that two texts do not have in common, and the verdict.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Containment {
    /// The decision.
    pub verdict: Verdict,
    /// The words of the first text that the second does not say, in text order.
    pub missing_in_b: Vec<Missing>,
    /// The words of the second text that the first does not say, in text order.
    pub missing_in_a: Vec<Missing>,
}

impl Containment {
    /// Compares two texts. The verdict of swapped texts is the swapped verdict.
    ///
    /// # Cost
    /// 35 µs for two texts of ten words, some 0.2 ms for two of a hundred. The alignment takes the
    /// product of the numbers of words up to a million cells; longer texts are cut at words that
    /// occur once.
    pub fn new(normaliser: &Normaliser, weights: &Weights, a: &str, b: &str) -> Self {
        let [a, b] = [a, b].map(|text| Words::new(normaliser, text));
        Self::between(weights, &a, &b)
    }

    /// Compares two prepared texts.
    pub(crate) fn between(weights: &Weights, a: &Words<'_>, b: &Words<'_>) -> Self {
        with_sides(weights, a, b, Self::of)
    }

    /// Compares two prepared texts; `None` if neither may be deleted.
    pub(crate) fn of_removable(weights: &Weights, a: &Words<'_>, b: &Words<'_>) -> Option<Self> {
        if certain_loss::are_apart(weights, a, b) {
            return None;
        }
        Some(Self::between(weights, a, b)).filter(|found| found.verdict.is_removable())
    }

    /// Compares two texts, and gives their resemblance too.
    pub fn with_resemblance(
        normaliser: &Normaliser,
        weights: &Weights,
        a: &str,
        b: &str,
    ) -> (Self, Resemblance) {
        let containment = Self::new(normaliser, weights, a, b);
        (containment, Resemblance::new(normaliser, a, b))
    }

    /// The weight of all missing words of the first text, in nats.
    pub fn weight_missing_in_b(&self) -> f64 {
        total(&self.missing_in_b)
    }

    /// The weight of all missing words of the second text, in nats.
    pub fn weight_missing_in_a(&self) -> f64 {
        total(&self.missing_in_a)
    }

    /// The comparison of the texts in the other order.
    pub fn swapped(self) -> Self {
        Self {
            verdict: self.verdict.swapped(),
            missing_in_b: self.missing_in_a,
            missing_in_a: self.missing_in_b,
        }
    }

    fn of([a, b]: [usize; 2], sides: &Sides<'_, '_>) -> Self {
        let [missing_in_b, missing_in_a] = [a, b].map(|side| sides.missing(side));
        let is_contained = |side: usize, missing: &[Missing]| {
            total(missing) <= MAX_MISSING && sides.has_enough_in_common(side)
        };
        let verdict = match (
            is_contained(a, &missing_in_b),
            is_contained(b, &missing_in_a),
        ) {
            (true, true) => Verdict::Same,
            (true, false) => Verdict::AInB,
            (false, true) => Verdict::BInA,
            _ if sides.common_share() >= MIN_FRAME => Verdict::Template,
            _ => Verdict::Different,
        };
        Self {
            verdict,
            missing_in_b,
            missing_in_a,
        }
    }
}

/// Compares two texts, and passes the indexes of both texts among the sides, and the sides.
fn with_sides<R>(
    weights: &Weights,
    a: &Words<'_>,
    b: &Words<'_>,
    then: impl FnOnce([usize; 2], &Sides<'_, '_>) -> R,
) -> R {
    // Several alignments can have the same weight, and the order of the texts then selects one.
    // The lesser text comes first, so the answer does not depend on the order of the arguments.
    let order = match a.cmp_words(b) {
        Ordering::Greater => [1, 0],
        _ => [0, 1],
    };
    let texts = order.map(|index| [a, b][index]);
    let mut numbers: HashMap<&str, u32, FixedState> = HashMap::default();
    let mut number = |key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    };
    let keys = texts.map(|text| {
        let keys = text.tokens.iter().map(|token| number(token.key.as_ref()));
        keys.collect::<Vec<_>>()
    });
    let tokens = texts.map(|text| &text.tokens[..]);
    let mut sides = Sides::new(Lexicon::builtin(), weights, tokens, &keys);
    sides.align();
    sides.match_moved();
    sides.match_forgiven();
    sides.find_said_elsewhere();
    sides.weigh();
    then(order, &sides)
}

fn total(missing: &[Missing]) -> f64 {
    // The sum of no numbers is -0.0.
    missing.iter().fold(0.0, |sum, word| sum + word.weight)
}

#[cfg(test)]
mod tests;
