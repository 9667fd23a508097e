//! What would be if fingerprints were random, and what a query meets as they are.

use super::{BlockDiagnosis, Diagnosis};
use crate::block::{self, Probes};
use crate::store::view::bucket_cache::KEYS_PER_BLOCK;
use crate::store::view::limits::MAX_BUCKET_LEN;

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

/// One bin of a histogram: keys that so many distinct fingerprints have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bin {
    /// At least so many.
    pub from: u64,
    /// At most so many; nothing if there is no bound.
    pub to: Option<u64>,
    /// How many of the 65,536 keys they are.
    pub keys: u64,
    /// How many they would be on average if fingerprints were random.
    pub keys_if_random: f64,
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
                * grown((self.distinct_fingerprints - 1) as f64 / KEYS_PER_BLOCK as f64),
            look_ups: 0.0,
        };
        for (block, diagnosis) in self.blocks.iter().enumerate() {
            let mut in_long_runs = 0;
            for count in diagnosis.counts.iter().filter(|count| count.documents > 0) {
                let share = count.documents as f64 / self.documents as f64;
                let fingerprints = grown((count.distinct_fingerprints - 1) as f64);
                load.candidates += share * fingerprints;
                if fingerprints > MAX_BUCKET_LEN as f64 {
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
    /// How many keys so many fingerprints have, beside what is to be expected if fingerprints were
    /// random: then the number of them that have a key has a Poisson distribution.
    ///
    /// The bins follow each other from 0 on. While there are few fingerprints for each key, their
    /// bounds are powers of two; where there are many, the mean and the standard deviations around
    /// it, and beyond them its halves and doubles.
    ///
    /// # Cost
    /// Looks at each of the 65,536 keys.
    pub fn histogram(&self) -> Vec<Bin> {
        let counts = self.counts.iter().map(|count| count.distinct_fingerprints);
        let mean = self.mean();
        let starts = bin_starts(mean, counts.clone().max().unwrap_or(0));
        let mut bins: Vec<Bin> = starts
            .iter()
            .enumerate()
            .map(|(bin, &from)| {
                let to = starts.get(bin + 1).map(|next| next - 1);
                Bin {
                    from,
                    to,
                    keys: 0,
                    keys_if_random: KEYS_PER_BLOCK as f64
                        * poisson(mean, from, to.unwrap_or(u64::MAX)),
                }
            })
            .collect();
        for count in counts {
            let bin = starts.partition_point(|from| *from <= count) - 1;
            bins[bin].keys += 1;
        }
        bins
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
        Some(squares.sum::<f64>() / (KEYS_PER_BLOCK - 1) as f64 / mean)
    }

    fn mean(&self) -> f64 {
        let counts = self.counts.iter();
        counts
            .map(|count| count.distinct_fingerprints as f64)
            .sum::<f64>()
            / KEYS_PER_BLOCK as f64
    }
}

/// With more fingerprints a key than this, standard deviations say more than powers of two.
const FEW: f64 = 16.0;

/// Standard deviations around the mean that bound bins.
const NEAR: i32 = 3;

/// Where the bins of a histogram begin, given the mean and the largest count.
fn bin_starts(mean: f64, most: u64) -> Vec<u64> {
    let deviation = mean.sqrt();
    let mut starts = vec![0, 1];
    let mut doubled = 2.0;
    if mean >= FEW {
        starts = vec![0];
        starts.extend([0.25, 0.5].map(|part| (mean * part) as u64));
        let near = (-NEAR..=NEAR).map(|times| mean + f64::from(times) * deviation);
        starts.extend(near.map(|start| start.ceil() as u64));
        doubled = mean * 2.0;
    }
    let last = (most as f64).max(mean + f64::from(NEAR) * deviation);
    while doubled <= last {
        starts.push(doubled as u64);
        doubled *= 2.0;
    }
    starts.sort_unstable();
    starts.dedup();
    starts
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
    let of = |n: f64| libm::exp(n * libm::log(mean) - mean - libm::lgamma(n + 1.0));
    // A `sum` of nothing would be -0.
    (from..=to).fold(0.0, |sum, n| sum + of(n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::maintenance::diagnosis::Count;

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
    fn bins_follow_each_other_and_hold_all_keys() {
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
            let mut counts = vec![Count::default(); KEYS_PER_BLOCK].into_boxed_slice();
            counts.fill(Count {
                distinct_fingerprints: each,
                documents: each,
            });
            counts[7].distinct_fingerprints = hot;
            let block = BlockDiagnosis::from_counts(counts);
            let bins = block.histogram();
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
    fn keys_that_all_have_the_same_are_more_even_than_chance() {
        let counts = |each| {
            let count = Count {
                distinct_fingerprints: each,
                documents: each,
            };
            BlockDiagnosis::from_counts(vec![count; KEYS_PER_BLOCK].into_boxed_slice())
        };
        assert_eq!(counts(0).dispersion(), None);
        assert_eq!(counts(5).dispersion(), Some(0.0));
    }

    #[test]
    fn a_long_run_is_read_in_seventeen_parts() {
        assert_eq!(parts_of_long_run(2), 17.0);
    }
}
