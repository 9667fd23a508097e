//! The number of fingerprints per block key, compared with random fingerprints.

use serde::Serialize;
use simdb::diagnosis::{BlockDiagnosis, KeyCount};

/// One bin of a histogram: the block keys with a number of distinct fingerprints in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The least number of fingerprints.
    pub from: u64,
    /// The largest number of fingerprints; `None` if there is no bound.
    pub to: Option<u64>,
    /// Keys in the bin, of 65,536.
    pub keys: u64,
    /// The expected number of keys if fingerprints were random.
    pub keys_if_random: f64,
}

/// The keys of a block: 65,536.
pub const KEYS_PER_BLOCK: usize = 1 << 16;

/// The numbers of distinct fingerprints of the keys of a block.
pub fn fingerprints_per_key(block: &BlockDiagnosis) -> Vec<u64> {
    let count = |key: &KeyCount| key.distinct_fingerprints;
    block.keys.iter().map(count).collect()
}

/// The number of keys by their number of fingerprints, beside the expected number if fingerprints
/// were random: a Poisson distribution.
///
/// Bins are contiguous from 0 on. Below a mean of 16 fingerprints per key their bounds are powers
/// of two; above, standard deviations around the mean, then halves and doubles of the mean.
pub fn histogram(counts: &[u64]) -> Vec<Bin> {
    let mean = mean(counts);
    let starts = bin_starts(mean, counts.iter().copied().max().unwrap_or(0));
    let ends = starts.iter().skip(1).map(|next| Some(next - 1));
    let mut bins: Vec<Bin> = starts
        .iter()
        .zip(ends.chain([None]))
        .map(|(&from, to)| Bin {
            from,
            to,
            keys: 0,
            keys_if_random: KEYS_PER_BLOCK as f64 * poisson(mean, from, to.unwrap_or(u64::MAX)),
        })
        .collect();
    for count in counts {
        bins[starts.partition_point(|from| from <= count) - 1].keys += 1;
    }
    bins
}

/// The variance of the number of fingerprints per key, divided by its mean: 1 ± 0.0055 if
/// fingerprints are random, more if they crowd on some keys. `None` without fingerprints.
pub fn dispersion(counts: &[u64]) -> Option<f64> {
    let mean = mean(counts);
    if mean == 0.0 {
        return None;
    }
    let squares = counts.iter().map(|count| (*count as f64 - mean).powi(2));
    Some(squares.sum::<f64>() / (KEYS_PER_BLOCK - 1) as f64 / mean)
}

fn mean(counts: &[u64]) -> f64 {
    let sum: f64 = counts.iter().map(|count| *count as f64).sum();
    sum / KEYS_PER_BLOCK as f64
}

/// From 16 fingerprints per key on, standard deviations show more than powers of two.
const MIN_MEAN_FOR_DEVIATIONS: f64 = 16.0;

/// Bins end at up to 3 standard deviations around the mean.
const DEVIATIONS: i32 = 3;

/// The least number of fingerprints in each bin, given the mean and the largest number.
fn bin_starts(mean: f64, max: u64) -> Vec<u64> {
    let deviation = mean.sqrt();
    let mut starts = vec![0, 1];
    let mut doubled = 2.0;
    if mean >= MIN_MEAN_FOR_DEVIATIONS {
        starts = vec![0];
        starts.extend([0.25, 0.5].map(|part| (mean * part) as u64));
        let around = (-DEVIATIONS..=DEVIATIONS).map(|times| mean + f64::from(times) * deviation);
        starts.extend(around.map(|start| start.ceil() as u64));
        doubled = mean * 2.0;
    }
    let last = (max as f64).max(mean + f64::from(DEVIATIONS) * deviation);
    while doubled <= last {
        starts.push(doubled as u64);
        doubled *= 2.0;
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Terms beyond 12 standard deviations are too small to show.
const MAX_DEVIATIONS: f64 = 12.0;

/// The probability that a Poisson variable is in `from..=to`.
fn poisson(mean: f64, from: u64, to: u64) -> f64 {
    if mean == 0.0 {
        return if from == 0 { 1.0 } else { 0.0 };
    }
    let reach = MAX_DEVIATIONS * mean.sqrt() + MAX_DEVIATIONS;
    let from = from.max((mean - reach).max(0.0) as u64);
    let to = to.min((mean + reach) as u64);
    let probability = |n: f64| libm::exp(n * libm::log(mean) - mean - libm::lgamma(n + 1.0));
    // Not `sum`, whose value for an empty range is -0.
    (from..=to).fold(0.0, |sum, n| sum + probability(n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_probabilities_equal_their_definition() {
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
    fn bins_are_contiguous_and_count_every_key() {
        for (each, hot) in [
            (0, 0),
            (0, 1),
            (0, 100),
            (1, 1),
            (5, 9),
            (15, 15),
            (16, 16),
            (763, 700),
            (763, 1 << 20),
            (1 << 30, 0),
        ] {
            let mut counts = vec![each; KEYS_PER_BLOCK];
            counts[7] = hot;
            let bins = histogram(&counts);
            assert_eq!(bins[0].from, 0);
            for (bin, next) in bins.iter().zip(&bins[1..]) {
                assert!(
                    bin.to
                        .is_some_and(|to| to >= bin.from && to + 1 == next.from)
                );
            }
            assert_eq!(bins.last().and_then(|last| last.to), None);
            let holds = |bin: &Bin, count| bin.from <= count && bin.to.is_none_or(|to| count <= to);
            for bin in &bins {
                let keys = u64::from(holds(bin, hot))
                    + u64::from(holds(bin, each)) * (KEYS_PER_BLOCK as u64 - 1);
                assert_eq!(bin.keys, keys, "{each} {hot}");
            }
            let expected: f64 = bins.iter().map(|bin| bin.keys_if_random).sum();
            assert!((expected - KEYS_PER_BLOCK as f64).abs() < 1.0, "{expected}");
            assert!(bins.iter().all(|bin| bin.keys_if_random.is_sign_positive()));
            assert!(bins.len() < 40);
        }
    }

    #[test]
    fn dispersion_of_equal_counts_is_zero() {
        assert_eq!(dispersion(&[0; KEYS_PER_BLOCK]), None);
        assert_eq!(dispersion(&[5; KEYS_PER_BLOCK]), Some(0.0));
    }
}
