//! [`UnreliableReason`]: why a fingerprint says nothing about its text.

use std::fmt;

use super::Weights;

/// The reason why a fingerprint is not reliable.
///
/// Made by [`Fingerprinter::unreliable_reason`](crate::Fingerprinter::unreliable_reason). If several
/// reasons apply, it is the first of this list. `Display` gives a clause: "it has 2 distinct features
/// where 5 are needed".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreliableReason {
    /// Too few distinct features: a changed character would replace most of them.
    TooFewFeatures {
        /// The number of distinct features.
        found: usize,
        /// The least number that the recipe asks for.
        least: usize,
    },
    /// The text repeats itself: few distinct features occur many times.
    Repetitive {
        /// The number of distinct features.
        distinct: usize,
        /// The number of their occurrences in all.
        total: u64,
    },
    /// The text has no letter: numbers that differ in one place are no near-duplicates.
    NoLetter,
    /// The text is one word, perhaps repeated: words that differ in one letter are no
    /// near-duplicates.
    SingleWord,
    /// One feature weighs at least as much as all others together, so it decides every bit.
    OneOutweighs,
}

impl UnreliableReason {
    /// The reason that follows from the number of distinct features and of their occurrences, if
    /// there is one. `least` is the least number of distinct features, `repetitive` the bounds for
    /// [repetition](is_repetitive).
    pub(crate) fn from_counts(
        distinct: usize,
        total: u64,
        least: usize,
        repetitive: &[(usize, u64)],
    ) -> Option<Self> {
        if distinct < least {
            let found = distinct;
            return Some(Self::TooFewFeatures { found, least });
        }
        is_repetitive(distinct, total, repetitive).then_some(Self::Repetitive { distinct, total })
    }

    /// The reason that follows from the weights of the features, if there is one.
    pub(crate) fn from_weights(weights: &Weights) -> Option<Self> {
        let outweighs = weights.one_outweighs_the_rest();
        outweighs.then_some(Self::OneOutweighs)
    }
}

/// Returns `true` if for one of the bounds the distinct elements are fewer than its first number, and
/// occur on average at least as often as its second.
pub(crate) fn is_repetitive(distinct: usize, total: u64, bounds: &[(usize, u64)]) -> bool {
    bounds
        .iter()
        .any(|&(fewer, times)| distinct < fewer && total >= times * distinct as u64)
}

impl fmt::Display for UnreliableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewFeatures { found, least } => write!(
                f,
                "it has {found} distinct features where {least} are needed"
            ),
            Self::Repetitive { distinct, total } => write!(
                f,
                "it repeats itself: {distinct} distinct features occur {total} times in all"
            ),
            Self::NoLetter => f.write_str("there is no letter in it"),
            Self::SingleWord => f.write_str("it is a single word"),
            Self::OneOutweighs => {
                f.write_str("one feature weighs at least as much as all others together")
            }
        }
    }
}
