//! Tokens to weighted features: counts, weights, and the tests for unreliable fingerprints.
//!
//! Weights are integers in fixed point. This folder uses no other folder.

mod counts;
#[cfg(feature = "jieba")]
mod idf;
mod unreliable;

pub(crate) use counts::{TokenCounter, TokenCounts};
#[cfg(feature = "jieba")]
pub(crate) use idf::{Idf, decompress_table, for_each_weight};
#[cfg(all(test, feature = "jieba"))]
pub(crate) use idf::{STOP_WORDS, WORD_WEIGHTS};
pub use unreliable::UnreliableReason;
pub(crate) use unreliable::is_repetitive;

/// The weight 1 in fixed point. Weights are integers, so sums are exact and do not depend on
/// the order of the features.
pub(crate) const WEIGHT_UNIT: i64 = 1024;

/// The weight of a word that is not in the table: the median of the table, as in jieba.
pub(crate) const UNKNOWN_WORD_WEIGHT: u16 = 12_242;

/// The largest inverse document frequency that 16 bits of fixed point can hold.
pub(crate) const MAX_IDF: f64 = 63.0;

/// A feature of a text: a token with its hash and weight.
///
/// Returned by [`Fingerprinter::features`](crate::Fingerprinter::features).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Feature {
    /// The shingle or word, in the form that the recipe hashes.
    pub token: String,
    /// The weight, above 0: 1 + ln tf (`ngram`), tf × idf (`jieba`, `cppjieba`), or the number of
    /// occurrences. FeatureWeights of `ngram` and `jieba` are multiples of 1/1024, so their sums
    /// are exact.
    pub weight: f64,
    /// The hash of the token, whose bits vote for the bits of the fingerprint.
    pub hash: u64,
}

/// The weights of the features of a text.
///
/// Most features of a text occur once, and the features of one kind then have the same weight. So a
/// kind has a base weight, and `more` lists the features that weigh more: `fingerprint_of` adds
/// equal weights by counting bits, which is faster than adding one weight after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FeatureWeights {
    /// Per kind of features, in the order of the features: their number and their base weight.
    pub(crate) kinds: Vec<(usize, i64)>,
    /// The index among all features of each heavier feature, and its weight above the base weight.
    pub(crate) more: Vec<(usize, i64)>,
}

impl FeatureWeights {
    /// One kind of features with base weight 0. The weights are not negative.
    pub(crate) fn new(weights: impl Iterator<Item = i64>) -> Self {
        let more: Vec<_> = weights.enumerate().collect();
        Self {
            kinds: vec![(more.len(), 0)],
            more,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.kinds.iter().map(|&(count, _)| count).sum()
    }

    pub(crate) fn each(&self) -> Vec<i64> {
        let kinds = self.kinds.iter();
        let mut weights: Vec<_> = kinds
            .flat_map(|&(count, base)| std::iter::repeat_n(base, count))
            .collect();
        for &(index, more) in &self.more {
            weights[index] += more;
        }
        weights
    }

    pub(crate) fn total(&self) -> i64 {
        let base = self.kinds.iter().map(|&(count, base)| count as i64 * base);
        base.sum::<i64>() + self.more.iter().map(|&(_, more)| more).sum::<i64>()
    }

    /// Returns `true` if one feature weighs at least as much as all others together. Such a feature
    /// decides every bit.
    pub(crate) fn one_outweighs_the_rest(&self) -> bool {
        let present = self.kinds.iter().filter(|&&(count, _)| count > 0);
        let mut heaviest = present.map(|&(_, base)| base).max().unwrap_or(0);
        for &(index, more) in &self.more {
            heaviest = heaviest.max(self.base_at(index) + more);
        }
        heaviest >= self.total() - heaviest
    }

    /// The base weight of the feature with this index.
    fn base_at(&self, index: usize) -> i64 {
        let mut end = 0;
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|&&(count, _)| {
            end += count;
            index < end
        });
        kind.map_or(0, |&(_, base)| base)
    }

    /// Appends the kinds of other features.
    pub(crate) fn append(&mut self, other: Self) {
        let first = self.count();
        self.kinds.extend(other.kinds);
        let more = other.more.into_iter();
        self.more
            .extend(more.map(|(index, more)| (first + index, more)));
    }
}

/// A text with fewer than 5 distinct shingles has an unreliable fingerprint: one changed character
/// replaces most of them.
pub(crate) const MIN_SHINGLES: usize = 5;

/// Pairs of a number of distinct shingles and a mean number of occurrences. A text with fewer
/// distinct shingles, each of which occurs at least as often, has an unreliable fingerprint: it
/// repeats a phrase, or is long and has few different characters, such as a table of digits. Any
/// two such texts have nearly all shingles in common.
pub(crate) const REPETITIVE: [(usize, u64); 3] = [(32, 2), (100, 4), (5000, 8)];

/// The weight 1 + ln tf of a shingle that occurs tf times. Other documents do not matter.
pub(crate) struct LogWeights {
    /// The weights of counts below 64, nearly all that occur.
    small: [i64; 64],
}

impl LogWeights {
    pub(crate) fn new() -> Self {
        Self {
            small: std::array::from_fn(|count| log_weight(count as u64)),
        }
    }

    /// The weights of shingles of one kind with these counts, multiplied by `share` / 1024.
    pub(crate) fn weights(&self, counts: &[u64], share: i64) -> FeatureWeights {
        // Rounded to the nearest, and part of the description of `ngram`.
        let part = |weight: i64| (weight * share + WEIGHT_UNIT / 2) / WEIGHT_UNIT;
        let mut more = vec![(0, 0); counts.len()];
        let mut repeated = 0;
        for (index, &count) in counts.iter().enumerate() {
            // Written always, and overwritten if the shingle occurs once: a branch on the count of
            // a shingle is not predictable.
            more[repeated] = (index, count as i64);
            repeated += usize::from(count > 1);
        }
        more.truncate(repeated);
        let base = part(self.weight(1));
        for (_, count) in &mut more {
            *count = part(self.weight(*count as u64)) - base;
        }
        FeatureWeights {
            kinds: vec![(counts.len(), base)],
            more,
        }
    }

    #[inline]
    fn weight(&self, count: u64) -> i64 {
        match self.small.get(count as usize) {
            Some(&weight) => weight,
            None => log_weight(count),
        }
    }
}

/// 1 + ln count in fixed point, rounded. The logarithm comes from the package `libm`: the logarithm
/// of the standard library may differ between platforms in the last bit, and so may then
/// fingerprints.
fn log_weight(count: u64) -> i64 {
    let weight = 1.0 + libm::log(count.max(1) as f64);
    (weight * WEIGHT_UNIT as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_weights_equal_golden_values() {
        let weights = LogWeights::new();
        let counts = [1, 2, 3, 10, 63, 64, 1000, 1 << 40];
        let expected = [1024, 1734, 2149, 3382, 5267, 5283, 8098, 29415];
        assert_eq!(counts.map(|count| weights.weight(count)), expected);
        assert_eq!(weights.weights(&counts, WEIGHT_UNIT).each(), expected);
        let half = expected.map(|weight| (weight + 1) / 2);
        assert_eq!(weights.weights(&counts, WEIGHT_UNIT / 2).each(), half);
    }
}
