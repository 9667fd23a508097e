//! Tokens to weighted, hashed features.

mod counts;
mod idf;
mod unreliable;

pub(crate) use counts::{TokenCounter, TokenCounts};
pub(crate) use idf::{
    Idf, MOST_IDF, STOP_WORDS, UNKNOWN_WORD, WORD_WEIGHTS, for_each_weight, unpacked,
};
pub use unreliable::UnreliableReason;
pub(crate) use unreliable::is_repetitive;

/// What a weight of 1 is in fixed point: weights are integers, so that sums are exact and the
/// order in which they are added never matters.
pub(crate) const WEIGHT_UNIT: i64 = 1024;

/// A feature of a text: what is hashed and carries a weight.
///
/// Made by [`Fingerprinter::features`](crate::Fingerprinter::features).
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// The shingle or word itself, as the recipe hashes it.
    pub token: String,
    /// Its weight, above 0: 1 + ln tf (`ngram`), tf × idf (`jieba`, `cppjieba`), or how often it
    /// occurs. By `ngram` and `jieba` a multiple of 1/1024, so that sums are exact.
    pub weight: f64,
    /// The 64 bits that vote for the bits of the fingerprint.
    pub hash: u64,
}

/// What the features of a text weigh: those of one kind the same, and some of them more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weights {
    /// Kinds of features, in the order of the features: how many there are of each, and what each
    /// of them weighs at least.
    pub(crate) kinds: Vec<(usize, i64)>,
    /// The places of the heavier ones among all features, each once, and what they weigh beyond.
    pub(crate) more: Vec<(usize, i64)>,
}

impl Weights {
    /// Any weights that are not negative.
    pub(crate) fn new(weights: impl Iterator<Item = i64>) -> Self {
        let more: Vec<_> = weights.enumerate().collect();
        Self {
            kinds: vec![(more.len(), 0)],
            more,
        }
    }

    /// How many features there are.
    pub(crate) fn count(&self) -> usize {
        self.kinds.iter().map(|&(count, _)| count).sum()
    }

    /// The weight of each.
    pub(crate) fn each(&self) -> Vec<i64> {
        let kinds = self.kinds.iter();
        let mut weights: Vec<_> = kinds
            .flat_map(|&(count, least)| std::iter::repeat_n(least, count))
            .collect();
        for &(index, more) in &self.more {
            weights[index] += more;
        }
        weights
    }

    /// What all weigh together.
    pub(crate) fn total(&self) -> i64 {
        let least = self
            .kinds
            .iter()
            .map(|&(count, least)| count as i64 * least);
        least.sum::<i64>() + self.more.iter().map(|&(_, more)| more).sum::<i64>()
    }

    /// Whether one of them weighs at least as much as all others together.
    pub(crate) fn one_outweighs_the_rest(&self) -> bool {
        let present = self.kinds.iter().filter(|&&(count, _)| count > 0);
        let mut heaviest = present.map(|&(_, least)| least).max().unwrap_or(0);
        for &(index, more) in &self.more {
            heaviest = heaviest.max(self.least_at(index) + more);
        }
        heaviest >= self.total() - heaviest
    }

    /// What the feature at this place weighs at least.
    fn least_at(&self, index: usize) -> i64 {
        let mut end = 0;
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|&&(count, _)| {
            end += count;
            index < end
        });
        kind.map_or(0, |&(_, least)| least)
    }

    /// Adds features of another kind behind these.
    pub(crate) fn append(&mut self, other: Self) {
        let first = self.count();
        self.kinds.extend(other.kinds);
        let more = other.more.into_iter();
        self.more
            .extend(more.map(|(index, more)| (first + index, more)));
    }
}

/// Fewer distinct shingles than this say nothing.
pub(crate) const LEAST_SHINGLES: usize = 5;

/// With fewer distinct shingles than the first number, shingles that occur as often as the second
/// on average say nothing: a phrase over and over, or a long text over few characters, such as a
/// table of digits, where any two texts have nearly all shingles in common.
pub(crate) const REPETITIVE: [(usize, u64); 3] = [(32, 2), (100, 4), (5000, 8)];

/// The weight 1 + ln tf of a shingle that occurs tf times, without knowledge of other documents.
pub(crate) struct LogWeights {
    /// The weights of the small counts, nearly all there are.
    small: [i64; 64],
}

impl LogWeights {
    pub(crate) fn new() -> Self {
        Self {
            small: std::array::from_fn(|count| log_weight(count as u64)),
        }
    }

    /// The weights of shingles that occur so often, of which a kind has this share, in units of
    /// 1/1024.
    pub(crate) fn weights(&self, counts: &[u64], share: i64) -> Weights {
        let part = |weight: i64| (weight * share + WEIGHT_UNIT / 2) / WEIGHT_UNIT;
        let mut more = vec![(0, 0); counts.len()];
        let mut repeated = 0;
        for (index, &count) in counts.iter().enumerate() {
            // Written and perhaps overwritten, since no branch predictor can tell.
            more[repeated] = (index, count as i64);
            repeated += usize::from(count > 1);
        }
        more.truncate(repeated);
        let least = part(self.weight(1));
        for (_, count) in &mut more {
            *count = part(self.weight(*count as u64)) - least;
        }
        Weights {
            kinds: vec![(counts.len(), least)],
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

/// 1 + ln count in fixed point, rounded. The logarithm is `libm`'s, since the one of the standard
/// library may differ between platforms in its last bit.
fn log_weight(count: u64) -> i64 {
    let weight = 1.0 + libm::log(count.max(1) as f64);
    (weight * WEIGHT_UNIT as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_same_for_ever() {
        let weights = LogWeights::new();
        let counts = [1, 2, 3, 10, 63, 64, 1000, 1 << 40];
        let expected = [1024, 1734, 2149, 3382, 5267, 5283, 8098, 29415];
        assert_eq!(counts.map(|count| weights.weight(count)), expected);
        assert_eq!(weights.weights(&counts, WEIGHT_UNIT).each(), expected);
        let half = expected.map(|weight| (weight + 1) / 2);
        assert_eq!(weights.weights(&counts, WEIGHT_UNIT / 2).each(), half);
    }
}
