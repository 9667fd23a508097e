//! [`Score`]: the number by which `dedup --score` chooses a keeper.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::excerpt;

/// A number in exact order. 64-bit integers differ even if they round to the same `f64`, as times
/// in nanoseconds do.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    /// The nearest `f64`.
    rounded: f64,
    /// The rounding error of an integer. Rounding is monotonic, so the error orders integers that
    /// round to the same `f64`.
    rest: i16,
}

impl Score {
    /// Parses a finite number, or a 64-bit integer with or without a sign.
    pub fn of_digits(digits: &str) -> Result<Self, String> {
        let digits = digits.trim();
        // An i128 holds both i64 and u64.
        let is_64_bits = |integer: &i128| (i64::MIN.into()..=u64::MAX.into()).contains(integer);
        if let Some(integer) = digits.parse().ok().filter(is_64_bits) {
            let rounded = integer as f64;
            // The error is at most half of the distance of two `f64` near 2^64.
            let rest = (integer - rounded as i128) as i16;
            return Ok(Self { rounded, rest });
        }
        match digits.parse::<f64>() {
            // Adding 0 turns -0 into 0.
            Ok(number) if number.is_finite() => Ok(Self {
                rounded: number + 0.0,
                rest: 0,
            }),
            _ => Err(format!(
                "{} is not a number",
                excerpt(&format!("{digits:?}"))
            )),
        }
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

/// The rank of each document's score, from 0 for the lowest score. Equal scores have equal ranks.
/// An `f64` holds every rank exactly, unlike the scores.
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
    fn scores_are_in_exact_numeric_order_in_any_notation() {
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
    }

    #[test]
    fn text_without_a_finite_number_is_refused_as_score() {
        for bad in ["", "x", "NaN", "inf", "1e999", "1,5"] {
            assert!(Score::of_digits(bad).is_err(), "{bad}");
        }
    }
}
