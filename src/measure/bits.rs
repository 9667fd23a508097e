//! [`BitVector`]: the features of a text in a Bloom filter, and how alike two of them are.

use std::num::NonZeroU32;

use xxhash_rust::xxh3::xxh3_128;

use super::tokens::jaccard;

/// The features of a text as a Bloom filter: each sets some bits of a vector, chosen by its hash.
///
/// Two texts are compared by the bits that both have set. That estimates the Jaccard index of their
/// sets of features in a fixed number of bits, and on average too high, because different features set
/// the same bits: with n features in each of two texts that share none, m bits and k hashes the
/// Jaccard index of the bits comes to p / (2 − p), where p = 1 − e^(−kn/m) is the share of bits
/// that are set. That is 0.24 with two bits for each feature, 0.03 with sixteen.
///
/// # Cost
/// A hash of each feature; comparing two looks at m / 64 words.
///
/// # Source
/// B. H. Bloom, *Space/time trade-offs in hash coding with allowable errors*, Communications of
/// the ACM 13, 1970 (the filter); N. Jain, M. Dahlin, R. Tewari, *Using Bloom filters to refine web
/// search results*, WebDB 2005 (the comparison); A. Kirsch, M. Mitzenmacher, *Less hashing, same
/// performance: building a better Bloom filter*, ESA 2006 (k hashes out of two). The article on
/// short quotes that this project grew from advises twice as many bits as the longest text has
/// shingles, and more than SimHash has, and does not say how two vectors are compared.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use simdb::measure::{BitVector, tokens};
///
/// let one_hash = NonZeroU32::MIN;
/// let bits = NonZeroU32::new(1024).unwrap();
/// let of = |text| BitVector::of(tokens(text), bits, one_hash);
/// let (one, other) = (of("the cat sat on the mat"), of("the cat sat on a mat"));
/// assert_eq!(one.jaccard(&other), Some(5.0 / 6.0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitVector {
    bits: NonZeroU32,
    hashes: NonZeroU32,
    words: Vec<u64>,
}

/// The least bits for which [`BitVector::bits_for`] asks: more than a fingerprint has.
const LEAST_BITS: u32 = 128;

impl BitVector {
    /// A vector of so many bits, in which each feature sets as many as there are hashes, some
    /// perhaps twice.
    pub fn of<F: AsRef<[u8]>>(
        features: impl IntoIterator<Item = F>,
        bits: NonZeroU32,
        hashes: NonZeroU32,
    ) -> Self {
        let width = u64::from(bits.get());
        let mut words = vec![0; width.div_ceil(64) as usize];
        for feature in features {
            let hash = xxh3_128(feature.as_ref());
            let (mut place, step) = (hash as u64, (hash >> 64) as u64 | 1);
            for _ in 0..hashes.get() {
                let bit = place % width;
                words[(bit / 64) as usize] |= 1 << (bit % 64);
                place = place.wrapping_add(step);
            }
        }
        Self {
            bits,
            hashes,
            words,
        }
    }

    /// How many bits the article advises for texts of up to so many features: two for each, and
    /// at least 128.
    pub fn bits_for(features: usize) -> NonZeroU32 {
        let bits = u32::try_from(features.saturating_mul(2)).unwrap_or(u32::MAX);
        NonZeroU32::new(bits.max(LEAST_BITS)).unwrap_or(NonZeroU32::MIN)
    }

    /// How many bits are set.
    pub fn ones(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The Jaccard index of two vectors: the bits that both have set, of those that one has. From
    /// 0 to 1; 1 for two without a set bit, 0 for one without and one with. Nothing if they differ
    /// in their number of bits or of hashes, and so cannot be compared.
    pub fn jaccard(&self, other: &Self) -> Option<f64> {
        let both = self.both(other)?;
        let either = self.ones() as usize + other.ones() as usize - both;
        Some(jaccard(both, either))
    }

    /// The cosine of two vectors: the bits that both have set, divided by the geometric mean of how
    /// many each has. Defined where [`jaccard`](Self::jaccard) is, and never less.
    pub fn cosine(&self, other: &Self) -> Option<f64> {
        let both = self.both(other)?;
        let (a, b) = (f64::from(self.ones()), f64::from(other.ones()));
        Some(if a == b {
            jaccard(both, self.ones() as usize)
        } else if a * b == 0.0 {
            0.0
        } else {
            both as f64 / (a * b).sqrt()
        })
    }

    fn both(&self, other: &Self) -> Option<usize> {
        if (self.bits, self.hashes) != (other.bits, other.hashes) {
            return None;
        }
        let pairs = self.words.iter().zip(&other.words);
        Some(pairs.map(|(a, b)| (a & b).count_ones() as usize).sum())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::tokens;

    fn number(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn with_room_enough_it_is_the_index_of_the_sets() {
        let of = |text| BitVector::of(tokens(text), number(1 << 20), NonZeroU32::MIN);
        let [mum, other_mum, cat, other_cat, scream] = [
            "你妈妈喊你回家吃饭哦，回家罗回家罗",
            "你妈妈叫你回家吃饭啦，回家罗回家罗",
            "the cat sat on the mat",
            "the cat sat on a mat",
            "we all scream for ice cream",
        ]
        .map(of);
        assert_eq!(mum.jaccard(&other_mum), Some(7.0 / 11.0));
        assert_eq!(mum.cosine(&other_mum), Some(7.0 / 9.0));
        assert_eq!(cat.jaccard(&other_cat), Some(5.0 / 6.0));
        assert_eq!(cat.cosine(&other_cat), Some(5.0 / 30.0_f64.sqrt()));
        assert_eq!(cat.jaccard(&scream), Some(0.0));
    }

    /// The articles rank the methods twice, and the two rankings contradict each other: the
    /// filter is said to be less exact than shingles and more exact than SimHash in one line, the
    /// other way round in the next. What it overestimates is the formula of the documentation.
    #[test]
    fn without_room_it_says_too_much_by_as_much_as_is_documented() {
        let features = |from: u32| (from..from + 10_000).map(|n| n.to_string());
        for (bits_per_feature, hashes, expected) in [(2, 1, 0.245), (16, 1, 0.031), (16, 4, 0.124)]
        {
            let vector = |from| {
                let bits = number(10_000 * bits_per_feature);
                BitVector::of(features(from), bits, number(hashes))
            };
            let found = vector(0).jaccard(&vector(1_000_000)).unwrap();
            assert!((found - expected).abs() < 0.01, "{found} is not {expected}");
        }
    }

    #[test]
    fn vectors_without_a_bit_are_alike_and_like_no_other() {
        let of = |features: &[&str]| BitVector::of(features, number(64), number(2));
        let (nothing, something) = (of(&[]), of(&["a"]));
        for measure in [BitVector::jaccard, BitVector::cosine] {
            assert_eq!(measure(&nothing, &nothing), Some(1.0));
            assert_eq!(measure(&nothing, &something), Some(0.0));
            assert_eq!(measure(&something, &nothing), Some(0.0));
            assert_eq!(measure(&something, &something), Some(1.0));
        }
    }

    #[test]
    fn vectors_that_were_made_differently_cannot_be_compared() {
        let of = |bits, hashes| BitVector::of(["a"], number(bits), number(hashes));
        assert_eq!(of(64, 2).jaccard(&of(65, 2)), None);
        assert_eq!(of(64, 2).cosine(&of(64, 3)), None);
    }

    #[test]
    fn room_is_two_bits_a_feature_and_never_less_than_a_fingerprint() {
        for (features, bits) in [(0, 128), (64, 128), (65, 130), (usize::MAX, u32::MAX)] {
            assert_eq!(BitVector::bits_for(features).get(), bits);
        }
    }

    proptest! {
        #[test]
        fn it_is_symmetric_and_bounded_and_a_part_sets_no_other_bits(
            a in prop::collection::btree_set(0..40_u8, 0..30),
            b in prop::collection::btree_set(0..40_u8, 0..30),
            bits in 1..500_u32,
            hashes in 1..5_u32,
        ) {
            let of = |set: &std::collections::BTreeSet<u8>| {
                BitVector::of(set.iter().map(|n| [*n]), number(bits), number(hashes))
            };
            let (x, y) = (of(&a), of(&b));
            prop_assert!(x.ones() <= hashes * a.len() as u32);
            for measure in [BitVector::jaccard, BitVector::cosine] {
                let found = measure(&x, &y).unwrap();
                prop_assert!((0.0..=1.0).contains(&found));
                prop_assert_eq!(measure(&y, &x), Some(found));
                prop_assert_eq!(measure(&x, &x), Some(1.0));
            }
            prop_assert!(x.cosine(&y) >= x.jaccard(&y));
            if a.is_subset(&b) && !a.is_empty() {
                prop_assert_eq!(x.both(&y), Some(x.ones() as usize));
            }
        }
    }
}
