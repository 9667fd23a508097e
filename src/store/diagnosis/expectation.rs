//! What would be if fingerprints were random, and what a query meets as they are.

use super::{BlockDiagnosis, Count, Diagnosis};
use crate::block::{self, Probes};
use crate::store::runs::{KEYS, RUN_LIMIT};

/// The radius that is usual.
const RADIUS: u32 = 3;

/// What a query at radius 3 meets on average.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueryLoad {
    /// Distinct fingerprints that have a block key in common with the query, those of each block
    /// counted. They are all compared with it, but for those of a key that more than 16,384 have.
    pub candidates: f64,
    /// How many candidates there would be if fingerprints were random.
    pub candidates_if_random: f64,
    /// Stretches of the tables to be found: one for each block, but 17 where more than 16,384
    /// fingerprints have the key.
    pub look_ups: f64,
}

impl Diagnosis {
    /// What a query meets on average that is drawn like the stored documents, so that a key that
    /// many documents have is asked for often: the sum over the keys of n² / N, where n of N have
    /// a key. `growth` is how many times as many documents there are, spread as they are now.
    ///
    /// Without documents, and for a growth that is not a number greater than 0, nothing is met.
    pub fn query_load(&self, growth: f64) -> QueryLoad {
        if self.documents == 0 || growth.is_nan() || growth <= 0.0 {
            return QueryLoad {
                candidates: 0.0,
                candidates_if_random: 0.0,
                look_ups: 0.0,
            };
        }
        // The query's own fingerprint does not become more.
        let grown = |others: f64| 1.0 + others * growth;
        let mut load = QueryLoad {
            candidates: 0.0,
            candidates_if_random: self.blocks.len() as f64
                * grown((self.distinct_fingerprints - 1) as f64 / KEYS as f64),
            look_ups: 0.0,
        };
        for (block, diagnosis) in self.blocks.iter().enumerate() {
            let mut in_long_runs = 0;
            for count in diagnosis.counts.iter().filter(|count| count.documents > 0) {
                let share = count.documents as f64 / self.documents as f64;
                let fingerprints = grown((count.distinct_fingerprints - 1) as f64);
                load.candidates += share * fingerprints;
                if fingerprints > RUN_LIMIT as f64 {
                    in_long_runs += count.documents;
                }
            }
            let more = parts_of_long_run(block) - 1.0;
            load.look_ups += 1.0 + more * in_long_runs as f64 / self.documents as f64;
        }
        load
    }
}

/// How many parts of a key are read that too many fingerprints have to read them all.
fn parts_of_long_run(block: usize) -> f64 {
    let parts = Probes::for_radius(RADIUS).parts(block, 0, block::front_key(0), u64::MAX);
    parts.map_or(1.0, |parts| parts.len() as f64)
}

impl BlockDiagnosis {
    /// What [`histogram`](Self::histogram) would be on average if so many fingerprints were random:
    /// then the number of them that have a key has a Poisson distribution.
    pub fn expected_histogram(&self) -> Vec<f64> {
        let mean = self.mean();
        let mut expected = Vec::new();
        let mut left = KEYS as f64;
        // What is so rare that no key is to be expected is not listed, unless there are some.
        while left > 0.5 || expected.len() < self.histogram.len() {
            let bits = expected.len() as u32;
            let (from, to) = match bits {
                0 => (0, 0),
                _ => (1_u64 << (bits - 1), (1 << bits) - 1),
            };
            let keys = KEYS as f64 * poisson(mean, from, to);
            left -= keys;
            expected.push(keys);
            if bits + 1 == u64::BITS {
                break;
            }
        }
        expected
    }

    /// The variance of how many fingerprints a key has, divided by their mean: 1 if they are
    /// random, with a standard deviation of 0.0055; more if they crowd on some keys. Nothing
    /// without fingerprints.
    pub fn dispersion(&self) -> Option<f64> {
        let mean = self.mean();
        if mean == 0.0 {
            return None;
        }
        let squares = self.counts.iter().map(|count| {
            let off = count.distinct_fingerprints as f64 - mean;
            off * off
        });
        Some(squares.sum::<f64>() / (KEYS - 1) as f64 / mean)
    }

    fn mean(&self) -> f64 {
        let counts = self.counts.iter();
        counts
            .map(|count| count.distinct_fingerprints as f64)
            .sum::<f64>()
            / KEYS as f64
    }
}

/// At index i, how many of the keys have a count of i bits.
pub(super) fn histogram(counts: &[Count]) -> Vec<u64> {
    let mut histogram = Vec::new();
    for count in counts {
        let bits = (u64::BITS - count.distinct_fingerprints.leading_zeros()) as usize;
        if histogram.len() <= bits {
            histogram.resize(bits + 1, 0);
        }
        histogram[bits] += 1;
    }
    histogram
}

/// Beyond so many standard deviations from the mean nothing adds to a probability that is shown.
const FAR: f64 = 12.0;

/// The probability that a Poisson variable is from `from` to `to`.
fn poisson(mean: f64, from: u64, to: u64) -> f64 {
    if mean == 0.0 {
        return if from == 0 { 1.0 } else { 0.0 };
    }
    let reach = FAR * mean.sqrt() + FAR;
    let from = from.max((mean - reach).max(0.0) as u64);
    let to = to.min((mean + reach) as u64);
    (from..=to)
        .map(|n| {
            let n = n as f64;
            libm::exp(n * libm::log(mean) - mean - libm::lgamma(n + 1.0))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_probabilities_are_those_of_the_definition() {
        for mean in [0.01, 0.5, 3.0, 20.0_f64] {
            let mut term = (-mean).exp();
            for n in 0..60 {
                assert!((poisson(mean, n, n) - term).abs() < 1e-9, "{mean} {n}");
                term *= mean / (n + 1) as f64;
            }
        }
        for mean in [0.0, 0.3, 763.0, 1e6] {
            assert!((poisson(mean, 0, u64::MAX) - 1.0).abs() < 1e-6, "{mean}");
        }
        assert_eq!(poisson(763.0, 5_000, 10_000), 0.0);
    }

    #[test]
    fn an_expected_histogram_has_all_keys() {
        for each in [0, 1, 5, 763] {
            let mut counts = vec![Count::default(); KEYS];
            counts.fill(Count {
                distinct_fingerprints: each,
                documents: each,
            });
            let block = BlockDiagnosis::of(counts.into_boxed_slice());
            let expected = block.expected_histogram();
            assert!(expected.len() >= block.histogram.len());
            assert!(
                (expected.iter().sum::<f64>() - KEYS as f64).abs() < 1.0,
                "{expected:?}"
            );
            // All keys have the same, which is more even than chance.
            assert_eq!(block.dispersion(), (each > 0).then_some(0.0));
        }
    }

    #[test]
    fn a_long_run_is_read_in_seventeen_parts() {
        assert_eq!(parts_of_long_run(2), 17.0);
    }
}
