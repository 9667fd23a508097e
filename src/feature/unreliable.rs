//! [`UnreliableReason`]: the reasons why a fingerprint says too little about its text.

use std::fmt;

use super::FeatureWeights;

/// The reason why a fingerprint is not reliable.
///
/// Returned by [`Fingerprinter::unreliable_reason`](crate::Fingerprinter::unreliable_reason): the
/// first reason of this list that applies. `Display` writes a clause: "it has 2 distinct features
/// where 5 are needed".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreliableReason {
    /// Too few distinct features: a changed character would replace most of them.
    TooFewFeatures {
        /// The number of distinct features.
        found: usize,
        /// The least number for a reliable fingerprint, set by the recipe.
        least: usize,
    },
    /// Few distinct features occur many times. Any two texts that repeat the same phrase would
    /// match.
    Repetitive {
        /// The number of distinct features.
        distinct: usize,
        /// The number of features, repetitions included.
        total: u64,
    },
    /// The text has no letter. Numbers that differ in one digit are no near-duplicates.
    NoLetter,
    /// The text is one word and its repetitions. Words that differ in one letter are no
    /// near-duplicates.
    SingleWord,
    /// One feature weighs at least as much as all others together, so it decides every bit.
    OneOutweighs,
}

impl UnreliableReason {
    /// The reason that follows from the numbers of distinct features and of all features, if any. A
    /// text needs `least` distinct features; `repetitive` are the bounds of [`is_repetitive`].
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

    /// The reason that follows from the weights of the features, if any.
    pub(crate) fn from_weights(weights: &FeatureWeights) -> Option<Self> {
        let outweighs = weights.one_outweighs_the_rest();
        outweighs.then_some(Self::OneOutweighs)
    }
}

/// Returns `true` if, for one of the bounds, the number of distinct elements is below the first
/// number and their mean number of occurrences is at least the second.
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
