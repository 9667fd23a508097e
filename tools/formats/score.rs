//! [`Score`]: a number by which a document is preferred to others.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::excerpt;

/// A number in its exact order: integers of 64 bits differ even where they are the same `f64`, as times
/// in nanoseconds are.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    /// The nearest `f64`.
    rounded: f64,
    /// The difference of an integer from that. Rounding keeps the order, so the difference decides
    /// between numbers that are rounded to the same one.
    rest: i16,
}

impl Score {
    /// A finite number.
    pub fn of_number(number: f64) -> Option<Self> {
        // -0 becomes 0.
        let rounded = number + 0.0;
        number.is_finite().then_some(Self { rounded, rest: 0 })
    }

    /// A number in digits.
    pub fn of_digits(digits: &str) -> Result<Self, String> {
        let digits = digits.trim();
        let integer = digits.parse().map(i64::into);
        let integer = integer.or_else(|_| digits.parse().map(u64::into));
        if let Ok(integer) = integer {
            return Ok(Self::of_wide(integer));
        }
        let number = digits.parse().ok().and_then(Self::of_number);
        number.ok_or_else(|| format!("{} is not a number", excerpt(&format!("{digits:?}"))))
    }

    /// An integer of 64 bits, with or without a sign.
    fn of_wide(integer: i128) -> Self {
        let rounded = integer as f64;
        Self {
            rounded,
            // At most half of the distance of two `f64` near 2^64.
            rest: (integer - rounded as i128) as i16,
        }
    }
}

impl From<i64> for Score {
    fn from(integer: i64) -> Self {
        Self::of_wide(integer.into())
    }
}

impl From<u64> for Score {
    fn from(integer: u64) -> Self {
        Self::of_wide(integer.into())
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        let rounded = self.rounded.total_cmp(&other.rounded);
        rounded.then(self.rest.cmp(&other.rest))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}

/// For each document the rank of its score, the lowest first, the same for equal scores: the same order
/// in numbers that an `f64` holds exactly.
pub fn ranks(scores: HashMap<u64, Score>) -> HashMap<u64, f64> {
    let mut ranked: Vec<Score> = scores.values().copied().collect();
    ranked.sort_unstable();
    ranked.dedup();
    let rank = |score: Score| ranked.partition_point(|other| *other < score) as f64;
    scores
        .into_iter()
        .map(|(id, score)| (id, rank(score)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_exact_order_however_they_are_written() {
        let ascending = [
            "-1e300",
            "-9223372036854775808",
            "-9223372036854775807",
            "-0.5",
            "0",
            "1e-300",
            "1",
            "1.5",
            "9007199254740992",
            "9007199254740993",
            "1700000000000000001",
            "1700000000000000099",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551614",
            "18446744073709551615",
            "1e20",
        ];
        let scores = ascending.map(|digits| Score::of_digits(digits).unwrap());
        assert!(scores.is_sorted_by(|a, b| a < b), "{scores:?}");
        let ranks = ranks((0..).zip(scores).collect());
        for place in 0..scores.len() as u64 {
            assert_eq!(ranks[&place], place as f64);
        }
        for (a, b) in [("-0", "0"), ("-0.0", "0"), (" 7 ", "7.0"), ("+7", "7e0")] {
            assert_eq!(Score::of_digits(a), Score::of_digits(b), "{a} {b}");
        }
        assert_eq!(Score::from(u64::MAX), scores[15]);
        assert_eq!(Score::from(i64::MIN), scores[1]);
    }

    #[test]
    fn what_has_no_order_is_no_score() {
        for bad in ["", "x", "NaN", "inf", "1e999", "1,5"] {
            assert!(Score::of_digits(bad).is_err(), "{bad}");
        }
        assert_eq!(Score::of_number(f64::NAN), None);
    }
}
