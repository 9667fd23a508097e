//! [`Doubt`]: why a fingerprint says nothing about its text.

use std::fmt;

use super::Weights;

/// Why a fingerprint is not reliable.
///
/// Made by [`Fingerprinter::doubt`](crate::Fingerprinter::doubt). Where there are several reasons
/// it is the first of this list. Shown, it is a clause: "it has 2 features where 5 are needed".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// There are too few distinct features: a changed character would replace most of them.
    TooFewFeatures {
        /// How many there are.
        found: usize,
        /// How many the recipe asks for.
        least: usize,
    },
    /// The text repeats itself: few distinct features occur many times.
    Repetitive {
        /// How many distinct features there are.
        distinct: usize,
        /// How often they occur in all.
        total: u64,
    },
    /// There is no letter in it: numbers that differ in one place are no near-duplicates.
    NoLetter,
    /// It is one word, be it repeated: words that differ in one letter are no near-duplicates.
    SingleWord,
    /// One feature weighs at least as much as all others together, so it decides every bit.
    OneOutweighs,
}

impl Doubt {
    /// What there is to doubt about so many distinct features, which occur so often in all, if the
    /// recipe asks for `least` and takes what is as in `repetitive` for
    /// [repetition](is_repetitive).
    pub(crate) fn of_counts(
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

    /// What there is to doubt about features that weigh so much.
    pub(crate) fn of_weights(weights: &Weights) -> Option<Self> {
        weights
            .one_outweighs_the_rest()
            .then_some(Self::OneOutweighs)
    }
}

/// Whether so many distinct ones, which occur so often in all, are fewer than the first number of a
/// bound and occur as often as its second on average.
pub(crate) fn is_repetitive(distinct: usize, total: u64, bounds: &[(usize, u64)]) -> bool {
    bounds
        .iter()
        .any(|&(fewer, times)| distinct < fewer && total >= times * distinct as u64)
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewFeatures { found, least } => {
                write!(
                    f,
                    "it has {found} distinct features where {least} are needed"
                )
            }
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
