//! [`FeatureList`]: features and weights of a caller, merged by the rules of a recipe.
//!
//! Plain and slow: one feature and one bit after another. The merge of the features of a text is
//! faster and has the same result.

use std::ops::{AddAssign, Neg};

use super::compat::numpy_sums;
use crate::error::{Error, Result};
use crate::feature::UnreliableReason;

/// The binary places of a weight in exact sums; further places are rounded. Part of a description.
pub(super) const FRACTION_BITS: u32 = 40;

/// The largest weight, 2^40. With [`FRACTION_BITS`] binary places, 2^46 features cannot overflow an
/// `i128`.
const MAX_WEIGHT: f64 = (1_u64 << 40) as f64;

/// The arithmetic of the sums, and the rule that turns a sum into a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merging {
    /// Fixed point, so the order of the list does not matter. The bit is 1 if the sum is above 0.
    Exact,
    /// Doubles, in the order of the list. The bit is 1 if the sum is above 0.
    Doubles,
    /// Doubles, in the order of the list. The bit is 1 if the sum is 0 or above.
    DoublesTiesOne,
    /// [`numpy_sums`]. The bit is 1 if the features with this bit have more than half of all
    /// weight.
    Numpy,
}

/// Hashes and weights of features. Each weight is from 0 to [`MAX_WEIGHT`].
pub(super) struct FeatureList(Vec<(u128, f64)>);

impl FeatureList {
    /// Checks the weights.
    ///
    /// # Errors
    /// [`Error::InvalidWeight`] for a weight that is not a number from 0 to [`MAX_WEIGHT`].
    pub(super) fn new(features: impl IntoIterator<Item = (u128, f64)>) -> Result<Self> {
        let features: Vec<_> = features.into_iter().collect();
        for (index, &(_, weight)) in features.iter().enumerate() {
            // Also true for NaN, which no range contains.
            if !(0.0..=MAX_WEIGHT).contains(&weight) {
                let place = index + 1;
                return Err(Error::InvalidWeight { place, weight });
            }
        }
        Ok(Self(features))
    }

    /// The fingerprint of the features, of `BITS` bits.
    pub(super) fn merge<const BITS: usize>(&self, merging: Merging) -> u128 {
        let features = &self.0;
        match merging {
            Merging::Exact => {
                let fixed_point = |weight: f64| (weight * (1_u64 << FRACTION_BITS) as f64).round();
                let features = features.iter();
                let features = features.map(|&(hash, weight)| (hash, fixed_point(weight) as i128));
                sign(sums::<_, BITS>(features), |sum| sum > 0)
            }
            Merging::Doubles => sign(sums::<_, BITS>(features.iter().copied()), |sum| sum > 0.0),
            Merging::DoublesTiesOne => {
                sign(sums::<_, BITS>(features.iter().copied()), |sum| sum >= 0.0)
            }
            Merging::Numpy => {
                let (sums, total) = numpy_sums::<BITS>(features);
                sign(sums, |sum| sum > total / 2.0)
            }
        }
    }

    /// The reason why the fingerprint is not reliable. `None` if the list has `least` distinct
    /// features with a weight above 0, and none of these weighs as much as all others together.
    pub(super) fn unreliable_reason(&self, least: usize) -> Option<UnreliableReason> {
        // Sorted by weight too, so that sums of doubles do not depend on the order of the list.
        let mut sorted = self.0.clone();
        sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let weights: Vec<f64> = sorted
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| same.iter().map(|&(_, weight)| weight).sum())
            .filter(|&weight| weight > 0.0)
            .collect();
        let total: f64 = weights.iter().sum();
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        let outweighs = heaviest >= total - heaviest;
        UnreliableReason::from_counts(weights.len(), weights.len() as u64, least, &[])
            .or_else(|| outweighs.then_some(UnreliableReason::OneOutweighs))
    }
}

/// The sum for each bit, least significant first: the weights of hashes with the bit minus those
/// without.
fn sums<W, const BITS: usize>(features: impl Iterator<Item = (u128, W)>) -> [W; BITS]
where
    W: AddAssign + Copy + Default + Neg<Output = W>,
{
    let mut sums = [W::default(); BITS];
    for (hash, weight) in features {
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 {
                weight
            } else {
                -weight
            };
        }
    }
    sums
}

/// The fingerprint of the sums, which start with the least significant bit.
fn sign<W, const BITS: usize>(sums: [W; BITS], is_one: impl Fn(W) -> bool) -> u128 {
    let sums = sums.into_iter().rev();
    sums.fold(0, |bits, sum| bits << 1 | u128::from(is_one(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge<const BITS: usize>(merging: Merging, features: &[(u128, f64)]) -> u128 {
        FeatureList::new(features.to_vec())
            .unwrap()
            .merge::<BITS>(merging)
    }

    const ALL: [Merging; 4] = [
        Merging::Exact,
        Merging::Doubles,
        Merging::DoublesTiesOne,
        Merging::Numpy,
    ];

    #[test]
    fn fingerprint_of_one_feature_is_its_hash() {
        let hash = 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978;
        for merging in ALL {
            assert_eq!(merge::<128>(merging, &[(hash, 0.5)]), hash, "{merging:?}");
            let lower = hash & u128::from(u64::MAX);
            assert_eq!(merge::<64>(merging, &[(hash, 70.0)]), lower, "{merging:?}");
        }
    }

    #[test]
    fn ties_and_empty_lists_follow_merging_rule() {
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
    fn exact_sums_do_not_depend_on_order_as_doubles_do() {
        let mut features = vec![(0b01, 0.1), (0b01, 0.3), (0b10, 0.4)];
        let forwards = merge::<64>(Merging::Doubles, &features);
        features.rotate_left(1);
        assert_ne!(merge::<64>(Merging::Doubles, &features), forwards);
        let exact = merge::<64>(Merging::Exact, &features);
        features.reverse();
        assert_eq!(merge::<64>(Merging::Exact, &features), exact);
    }

    #[test]
    fn negative_infinite_and_large_weights_are_refused() {
        let check = |weights: &[f64]| FeatureList::new(weights.iter().map(|&weight| (1, weight)));
        assert!(check(&[0.0, 1e-300, MAX_WEIGHT]).is_ok());
        for weight in [-1.0, f64::NAN, f64::INFINITY, MAX_WEIGHT * 2.0] {
            let error = check(&[1.0, weight]).err().unwrap().to_string();
            assert!(error.starts_with("feature 2 has the weight"), "{error}");
        }
    }

    #[test]
    fn lists_of_few_or_dominated_features_are_unreliable() {
        let is_reliable = |features: &[_], least| {
            let list = FeatureList::new(features.to_vec()).unwrap();
            list.unreliable_reason(least).is_none()
        };
        let features = [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)];
        assert!(is_reliable(&features, 4));
        assert!(!is_reliable(&features, 5));
        assert!(!is_reliable(&[], 0));
        assert!(!is_reliable(&[(1, 1.0), (1, 1.0), (2, 1.0), (2, 0.0)], 3));
        assert!(!is_reliable(&[(1, 3.0), (2, 1.0), (3, 1.0), (4, 1.0)], 4));
        assert!(!is_reliable(&[(1, 0.0), (2, 0.0), (3, 1.0), (4, 1.0)], 4));
    }
}
