//! [`ShingleLength`]: the length of the shingles of a text.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::feature::{TokenCounter, TokenCounts};
use crate::text::{CJK_SHINGLE, shingles};

/// A text of less than 14 normalised characters is tiny. A larger bound finds hardly more texts and
/// takes longer: a query of up to twice as many characters searches by both lengths.
const SHORT_CHARACTERS: usize = 14;

/// A text of at least 100 normalised characters is long.
const LONG_CHARACTERS: usize = 100;

/// Near-duplicates differ in length by at most this factor, as a rule: the default thresholds of
/// [`Likeness`](crate::similarity::Likeness) need about two thirds of the longer text in the other.
const MAX_LENGTH_RATIO: usize = 2;

/// The letters or digits of a shingle, by the length of the text. A run of CJK characters has
/// shingles of two characters in each text.
///
/// An edit changes as many shingles as a shingle has letters, so shorter shingles find edits in
/// shorter texts. Unrelated texts have fewer long shingles in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShingleLength {
    /// The shingles of tiny texts.
    Two,
    Three,
    /// The shingles of long texts.
    Five,
}

impl ShingleLength {
    /// All lengths, in order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Two, Self::Three, Self::Five];

    /// The length for a text of this number of normalised characters.
    pub(crate) fn of(characters: usize) -> Self {
        match characters {
            ..SHORT_CHARACTERS => Self::Two,
            LONG_CHARACTERS.. => Self::Five,
            _ => Self::Three,
        }
    }

    /// The length for the comparison of a text of this number of characters with another text.
    pub(crate) fn of_comparison(characters: usize) -> Self {
        Self::of(characters).max(Self::Three)
    }

    /// The other length that a near-duplicate of a text of this number of characters may have.
    pub(crate) fn other_of(characters: usize) -> Option<Self> {
        let own = Self::of(characters);
        let ends = [characters / MAX_LENGTH_RATIO, characters * MAX_LENGTH_RATIO];
        ends.map(Self::of).into_iter().find(|other| *other != own)
    }

    /// The letters or digits of a shingle.
    pub(crate) const fn letters(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Three => 3,
            Self::Five => 5,
        }
    }

    /// The part of a description that determines the lengths.
    pub(super) fn description() -> String {
        let [two, three, five] = Self::ALL.map(Self::letters);
        format!(
            "of {two} in texts below {SHORT_CHARACTERS} characters, {three} below {LONG_CHARACTERS}, {five} in others"
        )
    }

    /// Counts the shingles of a normalised text.
    pub(crate) fn count(self, normalised: &str) -> TokenCounts<()> {
        let bytes = normalised.as_bytes();
        let mut counter = TokenCounter::new(bytes.len());
        let add = |range: Range<usize>| counter.add((xxh3_64(&bytes[range]), ()));
        match self {
            Self::Two => shingles::<CJK_SHINGLE, { Self::Two.letters() }>(normalised, add),
            Self::Three => shingles::<CJK_SHINGLE, { Self::Three.letters() }>(normalised, add),
            Self::Five => shingles::<CJK_SHINGLE, { Self::Five.letters() }>(normalised, add),
        }
        counter.finish()
    }
}

// A near-duplicate has at most one other length of shingles.
const _: () = assert!(SHORT_CHARACTERS * MAX_LENGTH_RATIO * MAX_LENGTH_RATIO < LONG_CHARACTERS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_duplicates_near_a_border_may_have_another_length() {
        use ShingleLength::{Five, Three, Two};
        let lengths = |characters| {
            (
                ShingleLength::of(characters),
                ShingleLength::other_of(characters),
            )
        };
        for (characters, expected) in [
            (0, (Two, None)),
            (6, (Two, None)),
            (7, (Two, Some(Three))),
            (13, (Two, Some(Three))),
            (14, (Three, Some(Two))),
            (27, (Three, Some(Two))),
            (28, (Three, None)),
            (49, (Three, None)),
            (50, (Three, Some(Five))),
            (99, (Three, Some(Five))),
            (100, (Five, Some(Three))),
            (199, (Five, Some(Three))),
            (200, (Five, None)),
        ] {
            assert_eq!(lengths(characters), expected, "{characters}");
        }
        assert_eq!(ShingleLength::of_comparison(5), Three);
        assert_eq!(ShingleLength::of_comparison(100), Five);
    }

    #[test]
    fn shingles_are_counted_by_their_letters() {
        for (length, expected) in ShingleLength::ALL.into_iter().zip([5, 4, 2]) {
            assert_eq!(length.letters() + expected, 7);
            assert_eq!(length.count("abcdef").hashes.len(), expected);
            assert_eq!(length.count("漢語漢字").hashes.len(), 3);
        }
    }
}
