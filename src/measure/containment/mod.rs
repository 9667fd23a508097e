//! Containment: the decision if a text may be removed because another text covers it.
//!
//! Two texts of one template resemble each other, and neither may be removed: "MongoDB integration
//! component" and "Memcached integration component". The measures of
//! [`similarity`](crate::similarity) count characters or phrases, and a name is few of them.
//! [`Containment`] aligns the tokens of two texts. Text B *covers* text A if B has every token of
//! A, in the order of A.
//!
//! 1. A token is matched by an equal token, or by a token of the same class of equals: case, width,
//!    ligatures, typography, traditional and simplified characters, words of Taiwan; regular forms
//!    of one English word, proved by a word list; British and American spellings; forms of one
//!    number; listed abbreviations; accents that a text does not write; letters of the shape of
//!    another script; contractions without their apostrophes; a misspelling whose neighbours are
//!    equal.
//! 2. A light word, such as an article, may be absent, and so may a tag of HTML, of a forum or of
//!    LaTeX, the mark of a note, the number of an item, a second "the", and a first sentence that
//!    repeats its headline. A reading of Chinese characters may be added: 龟兹（qiū cí）. A light word
//!    with another word in its place is exchanged, and an exchange is never free: "US" and "UK".
//! 3. A word that turns a sentence is neither absent, nor added, nor exchanged: negations,
//!    conditions, quantities, directions, modal verbs, pronouns of persons.
//! 4. A number is one value, as a price, a date, a time, an ordinal and in groups of digits too:
//!    12, twelve and 十二 are equal; 1,5 is not 15, and 5-7 is not 57. A unit behind it has one name.
//! 5. A symbol with a meaning is a token: `==` and `!=`, emoji, currencies.
//! 6. Whole sentences, lines and the items of an enumeration may stand elsewhere, except answers,
//!    parallel lists, lines below headings and lines that change places around others. A clause
//!    stays in its sentence, a cell in its row, a word in its clause, and the end of a sentence
//!    does not move. A token matches once.
//! 7. Words inserted between two words of a clause name another thing, and so do at most three
//!    content words behind a comma, a bracket or a dash: "queue" and "priority queue".
//! 8. A text without content covers nothing, and nothing covers it, except a copy of its bytes.
//!
//! Passages without information may be absent at the head and the tail: stamps and counters on a
//! line of their own, credits, datelines, marks of reposts and of truncation. Times and counters
//! are also exchanged, the others are not. The words of a short line or sentence about the page,
//! such as a copyright, are light words there, and so is the name of a site behind a headline.
//!
//! # Limits
//! A paraphrase and a synonym are not recognised: precision comes before recall. Word forms and
//! misspellings are English, except some misread characters of Chinese words. Of words that turn a
//! sentence the table has the negations of some thirty languages, and more in English and Chinese.
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
//!     "The ferry was cancelled.",
//!     "THE FERRY WAS CANCELED! A refund is offered.",
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
mod cover;
mod ends;
mod findings;
mod forgive;
mod gaps;
mod insertions;
mod matching;

use std::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::analysis::words::Words;
use crate::measure::Resemblance;
use crate::text::Normaliser;
use cover::Sides;

pub use crate::analysis::words::weights::Weights;
pub use alignment::{AlignedWord, Alignment};
pub(crate) use certain_loss::{CoveringWords, HeavyWords, KnownWords, TOKENS_AROUND, is_lost};

/// The least weight of a missing word, in nats.
pub const MIN_REPLACED: f64 = 4.0;

/// The least share of the words of the shorter text that two texts of a template have in common.
const MIN_FRAME: f64 = 0.5;

/// The decision about two texts.
///
/// The order is the order of answers to a query for text A: texts with nothing to add, texts that
/// cover A, texts that A covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// Each text covers the other.
    Same,
    /// The second text covers the first, and has more.
    AInB,
    /// Each text covers the body of the other, and the texts have other headlines, or other facts
    /// before or after the body. By [`Weights::news`] alone.
    SameBody,
    /// The first text covers the second, and has more.
    BInA,
    /// Both texts have words of their own, and at least half of the words of the shorter text
    /// are common.
    Template,
    /// Both texts have words of their own, and have less in common.
    Different,
}

impl Verdict {
    /// Returns `true` if one of the two texts may be deleted.
    pub fn is_removable(self) -> bool {
        self.is_a_in_b() || self.is_b_in_a()
    }

    /// Returns `true` if the second text covers the first.
    pub fn is_a_in_b(self) -> bool {
        matches!(self, Self::Same | Self::AInB | Self::SameBody)
    }

    /// Returns `true` if the first text covers the second.
    pub fn is_b_in_a(self) -> bool {
        matches!(self, Self::Same | Self::SameBody | Self::BInA)
    }

    /// The verdict about the texts in the other order.
    pub fn swapped(self) -> Self {
        match self {
            Self::AInB => Self::BInA,
            Self::BInA => Self::AInB,
            other => other,
        }
    }

    /// The name in outputs: `same`, `a_in_b`, `same_body`, `b_in_a`, `template` or `different`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::AInB => "a_in_b",
            Self::SameBody => "same_body",
            Self::BInA => "b_in_a",
            Self::Template => "template",
            Self::Different => "different",
        }
    }
}

/// A word of one text that the other text does not have.
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
    /// The words of the first text that the second does not have, in text order.
    pub missing_in_b: Vec<Missing>,
    /// The words of the second text that the first does not have, in text order.
    pub missing_in_a: Vec<Missing>,
    /// The differences that the verdict forgives, if one of the texts may be removed: unequal
    /// tokens that are taken for equal, and light words that one text does not have.
    pub forgiven: Vec<Forgiven>,
}

/// A difference between two texts that a verdict forgives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Forgiven {
    /// The token of the first text; empty if the first text does not have it.
    pub a: String,
    /// The token of the second text; empty if the second text does not have it.
    pub b: String,
    /// The class that makes the tokens equal.
    pub class: Equality,
}

impl Forgiven {
    /// A frame that one of the texts has.
    pub(crate) fn frame(a: &str, b: &str) -> Self {
        Self {
            a: a.to_owned(),
            b: b.to_owned(),
            class: Equality::Frame,
        }
    }
}

/// The classes of tokens that are taken for equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Equality {
    /// A light word that is absent.
    Absent,
    /// Regular forms or spellings of one word: `ferry`, `ferries`; `colour`, `color`.
    Form,
    /// Forms of one number: 12, twelve.
    Number,
    /// A listed abbreviation or variant: `docs`, `documentation`.
    Doublet,
    /// Words that are written as one or apart: `website`, "web site".
    Compound,
    /// A word without its accents.
    Accent,
    /// A word of Taiwan and the word of the mainland.
    Regional,
    /// A misspelled word.
    Misspelling,
    /// A passage before or after the body: see [`Weights::news`].
    Passage,
    /// A line or a sentence around the bodies of many texts: see
    /// [`Database::set_frames`](crate::Database::set_frames).
    Frame,
    /// A passage without information: a time, a counter, a dateline, a credit, a short link.
    Stamp,
}

impl Equality {
    /// The name in outputs, such as `absent` or `misspelling`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Form => "form",
            Self::Number => "number",
            Self::Doublet => "doublet",
            Self::Compound => "compound",
            Self::Accent => "accent",
            Self::Regional => "regional",
            Self::Misspelling => "misspelling",
            Self::Passage => "passage",
            Self::Frame => "frame",
            Self::Stamp => "stamp",
        }
    }
}

impl Containment {
    /// Compares two texts. The verdict of swapped texts is the swapped verdict.
    ///
    /// # Cost
    /// 35 µs for two texts of ten words, some 0.2 ms for two of a hundred. The alignment takes the
    /// product of the numbers of words up to a million cells; longer texts are cut at words that
    /// occur once.
    pub fn new(normaliser: &Normaliser, weights: &Weights, a: &str, b: &str) -> Self {
        if a == b && !a.trim().is_empty() {
            return Self::identical();
        }
        let [a, b] = [a, b].map(|text| Words::new(normaliser, text));
        Self::between(weights, &a, &b)
    }

    /// The comparison of a text with itself. Also a text without a token is a copy of its bytes.
    pub(crate) fn identical() -> Self {
        Self {
            verdict: Verdict::Same,
            missing_in_b: Vec::new(),
            missing_in_a: Vec::new(),
            forgiven: Vec::new(),
        }
    }

    /// Compares two prepared texts.
    pub(crate) fn between(weights: &Weights, a: &Words, b: &Words) -> Self {
        with_sides(weights, a, b, Self::of)
    }

    /// Compares two prepared texts; `None` if neither may be deleted.
    pub(crate) fn of_removable(weights: &Weights, a: &Words, b: &Words) -> Option<Self> {
        if !weights.are_ends_free && certain_loss::are_apart(weights, a, b) {
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
            forgiven: self.forgiven.into_iter().map(Forgiven::swapped).collect(),
        }
    }

    fn of([a, b]: [usize; 2], sides: &Sides<'_>) -> Self {
        let [missing_in_b, missing_in_a] = [a, b].map(|side| sides.missing(side));
        let verdict = match (sides.is_covered(a), sides.is_covered(b)) {
            (true, true) if sides.has_other_facts() => Verdict::SameBody,
            (true, true) => Verdict::Same,
            (true, false) => Verdict::AInB,
            (false, true) => Verdict::BInA,
            _ if sides.common_share() >= MIN_FRAME => Verdict::Template,
            _ => Verdict::Different,
        };
        let forgiven = match verdict.is_removable() {
            true => sides.forgiven([a, b]),
            false => Vec::new(),
        };
        Self {
            verdict,
            missing_in_b,
            missing_in_a,
            forgiven,
        }
    }
}

impl Forgiven {
    fn swapped(self) -> Self {
        Self {
            a: self.b,
            b: self.a,
            ..self
        }
    }
}

/// Compares two texts, and passes the indexes of both texts among the sides, and the sides.
fn with_sides<R>(
    weights: &Weights,
    a: &Words,
    b: &Words,
    then: impl FnOnce([usize; 2], &Sides<'_>) -> R,
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
    let sides = Sides::new(weights, tokens, &keys);
    then(order, &sides)
}

fn total(missing: &[Missing]) -> f64 {
    // The sum of no numbers is -0.0.
    missing.iter().fold(0.0, |sum, word| sum + word.weight)
}

#[cfg(test)]
mod tests;
