//! Lists of features that a caller gives: checked, merged by the rules of a recipe, and judged.
//!
//! Slow but plain: every feature and every bit one after the other. What a recipe makes of a text
//! by faster ways is what these make of its features.

use crate::error::{Error, Result};
use crate::feature::Doubt;

/// How many binary places of a weight count where sums are exact.
pub(super) const FRACTION_BITS: u32 = 40;

/// The largest weight. So many binary places and 2^46 features cannot overflow an `i128`.
const MOST_WEIGHT: f64 = (1_u64 << 40) as f64;

/// How weights are added up, and what becomes of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merging {
    /// In fixed point, so that no order matters; a 1 if the sum is above 0.
    Exact,
    /// In doubles, in the order of the list; a 1 if the sum is above 0.
    Doubles,
    /// The same; a 1 if the sum is 0 or above.
    DoublesTiesOne,
    /// As the Python package simhash 2.1.2 and numpy do it: in doubles, the weights of the bits that
    /// are set; a 1 if that is more than half of all weight. Of weights that are whole numbers up to
    /// 50 the sum of each 200 is added as one.
    Numpy,
}

/// Above this weight, the package adds whole numbers one by one too.
const LARGE_WEIGHT_CUTOFF: f64 = 50.0;

/// So many small whole numbers the package adds up before it adds them to the rest.
const NUMPY_BATCH: usize = 200;

/// Refuses weights with which nothing can be reckoned.
pub(super) fn check(weights: impl Iterator<Item = f64>) -> Result<()> {
    for (index, weight) in weights.enumerate() {
        if !(0.0..=MOST_WEIGHT).contains(&weight) {
            let place = index + 1;
            return Err(Error::InvalidWeight { place, weight });
        }
    }
    Ok(())
}

/// The fingerprint of features, by their hashes and weights, as wide as `BITS`.
pub(super) fn merge<const BITS: usize>(merging: Merging, features: &[(u128, f64)]) -> u128 {
    match merging {
        Merging::Exact => {
            let mut sums = [0_i128; BITS];
            for &(hash, weight) in features {
                let weight = (weight * (1_u64 << FRACTION_BITS) as f64).round() as i128;
                for_each_bit(hash, &mut sums, |sum, is_set| {
                    *sum += if is_set { weight } else { -weight };
                });
            }
            sign(sums.map(|sum| sum > 0))
        }
        Merging::Doubles => sign(doubles::<BITS>(features).map(|sum| sum > 0.0)),
        Merging::DoublesTiesOne => sign(doubles::<BITS>(features).map(|sum| sum >= 0.0)),
        Merging::Numpy => numpy::<BITS>(features),
    }
}

fn doubles<const BITS: usize>(features: &[(u128, f64)]) -> [f64; BITS] {
    let mut sums = [0.0; BITS];
    for &(hash, weight) in features {
        for_each_bit(hash, &mut sums, |sum, is_set| {
            *sum += if is_set { weight } else { -weight };
        });
    }
    sums
}

fn numpy<const BITS: usize>(features: &[(u128, f64)]) -> u128 {
    let mut total = 0.0;
    let mut sums = [0.0; BITS];
    let mut batch = [0.0; BITS];
    let mut batched = 0;
    for &(hash, weight) in features {
        total += weight;
        if weight > LARGE_WEIGHT_CUTOFF || weight.fract() != 0.0 {
            for_each_bit(hash, &mut sums, |sum, is_set| {
                *sum += if is_set { weight } else { 0.0 };
            });
            continue;
        }
        for_each_bit(hash, &mut batch, |sum, is_set| {
            *sum += if is_set { weight } else { 0.0 };
        });
        batched += 1;
        if batched == NUMPY_BATCH {
            flush(&mut sums, &mut batch);
            batched = 0;
        }
    }
    flush(&mut sums, &mut batch);
    let half: f64 = total / 2.0;
    sign(sums.map(|sum| sum > half))
}

fn flush<const BITS: usize>(sums: &mut [f64; BITS], batch: &mut [f64; BITS]) {
    for (sum, batched) in sums.iter_mut().zip(batch) {
        *sum += *batched;
        *batched = 0.0;
    }
}

/// Place `i` of the sums belongs to bit `i`, the least significant first.
fn for_each_bit<T>(hash: u128, sums: &mut [T], mut add: impl FnMut(&mut T, bool)) {
    for (bit, sum) in sums.iter_mut().enumerate() {
        add(sum, hash >> bit & 1 == 1);
    }
}

fn sign<const BITS: usize>(bits: [bool; BITS]) -> u128 {
    let bits = bits.into_iter().rev();
    bits.fold(0, |all, bit| all << 1 | u128::from(bit))
}

/// What there is to doubt about features: they say something if there are so many distinct ones that
/// weigh something, and none weighs as much as all others together.
pub(super) fn doubt(features: &[(u128, f64)], least: usize) -> Option<Doubt> {
    let mut sorted = features.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let distinct = sorted.chunk_by(|a, b| a.0 == b.0);
    let weights = distinct.map(|same| same.iter().map(|&(_, weight)| weight).sum::<f64>());
    let weights: Vec<f64> = weights.filter(|&weight| weight > 0.0).collect();
    let total: f64 = weights.iter().sum();
    let heaviest = weights.iter().copied().fold(0.0, f64::max);
    let distinct = weights.len();
    Doubt::of_counts(distinct, distinct as u64, least, &[])
        .or_else(|| (heaviest >= total - heaviest).then_some(Doubt::OneOutweighs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Merging; 4] = [
        Merging::Exact,
        Merging::Doubles,
        Merging::DoublesTiesOne,
        Merging::Numpy,
    ];

    #[test]
    fn a_single_feature_is_its_own_fingerprint() {
        let hash = 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978;
        for merging in ALL {
            assert_eq!(merge::<128>(merging, &[(hash, 0.5)]), hash, "{merging:?}");
            let lower = hash & u128::from(u64::MAX);
            assert_eq!(merge::<64>(merging, &[(hash, 70.0)]), lower, "{merging:?}");
        }
    }

    #[test]
    fn ties_and_nothing_give_what_each_rule_says() {
        let tie = [(0b1100, 1.5), (0b1010, 1.5)];
        let expected = [0b1000, 0b1000, u128::from(u64::MAX) - 1, 0b1000];
        for (merging, expected) in ALL.into_iter().zip(expected) {
            let tie = merge::<64>(merging, &tie);
            if merging == Merging::DoublesTiesOne {
                assert_eq!(tie & 0b1111, 0b1110);
                assert_eq!(merge::<64>(merging, &[]), u128::from(u64::MAX));
            } else {
                assert_eq!(tie, expected, "{merging:?}");
                assert_eq!(merge::<64>(merging, &[]), 0);
            }
        }
    }

    #[test]
    fn exact_sums_know_no_order_where_doubles_do() {
        let mut features = vec![(0b01, 0.1), (0b01, 0.3), (0b10, 0.4)];
        let forwards = merge::<64>(Merging::Doubles, &features);
        features.rotate_left(1);
        assert_ne!(merge::<64>(Merging::Doubles, &features), forwards);
        let exact = merge::<64>(Merging::Exact, &features);
        features.reverse();
        assert_eq!(merge::<64>(Merging::Exact, &features), exact);
    }

    #[test]
    fn weights_that_are_no_weights_are_refused() {
        assert!(check([0.0, 1e-300, MOST_WEIGHT].into_iter()).is_ok());
        for weight in [-1.0, f64::NAN, f64::INFINITY, MOST_WEIGHT * 2.0] {
            let error = check([1.0, weight].into_iter()).unwrap_err().to_string();
            assert!(error.starts_with("feature 2 has the weight"), "{error}");
        }
    }

    #[test]
    fn few_features_and_dominated_ones_are_unreliable() {
        let is_reliable = |features: &[_], least| doubt(features, least).is_none();
        let features = [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)];
        assert!(is_reliable(&features, 4));
        assert!(!is_reliable(&features, 5));
        assert!(!is_reliable(&[], 0));
        assert!(!is_reliable(&[(1, 1.0), (1, 1.0), (2, 1.0), (2, 0.0)], 3));
        assert!(!is_reliable(&[(1, 3.0), (2, 1.0), (3, 1.0), (4, 1.0)], 4));
        assert!(!is_reliable(&[(1, 0.0), (2, 0.0), (3, 1.0), (4, 1.0)], 4));
    }
}
