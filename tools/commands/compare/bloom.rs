//! [`BloomFilter`]: an estimate of the Jaccard index of two sets of features.

use xxhash_rust::xxh3::xxh3_128;

/// The least number of bits of a filter: twice the bits of a fingerprint.
const LEAST_BITS: u32 = 128;

/// A Bloom filter of the features of a text, with one hash function: each feature sets one bit.
///
/// The Jaccard index of the bits estimates the Jaccard index of the features. The estimate is too
/// high on average, because different features set the same bit. Two texts with n features each and
/// none in common have an estimate of p / (2 − p) with m bits, where p = 1 − e^(−n/m) is the share
/// of set bits: 0.24 with two bits per feature, 0.03 with sixteen.
///
/// # Source
/// B. H. Bloom, *Space/time trade-offs in hash coding with allowable errors*, Communications of
/// the ACM 13, 1970 (the filter); N. Jain, M. Dahlin, R. Tewari, *Using Bloom filters to refine web
/// search results*, WebDB 2005 (the comparison). The article on short quotes that this project grew
/// from advises twice as many bits as the longest text has shingles, and more than SimHash has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    words: Vec<u64>,
}

impl BloomFilter {
    /// A filter of `bits` bits. Only filters with the same number of bits can be compared.
    pub fn new<F: AsRef<[u8]>>(features: &[F], bits: u32) -> Self {
        let mut words = vec![0; bits.div_ceil(u64::BITS) as usize];
        for feature in features {
            // A text without features asks for a filter of any size, so no size divides by 0.
            let bit = xxh3_128(feature.as_ref()) as u64 % u64::from(bits.max(1));
            words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        Self { words }
    }

    /// The number of bits that the article advises for texts of up to `features` features: two per
    /// feature, at least 128.
    pub fn bits_for(features: usize) -> u32 {
        u32::try_from(features.saturating_mul(2))
            .unwrap_or(u32::MAX)
            .max(LEAST_BITS)
    }

    /// The Jaccard index of the bits that are set; 1 if none is set in either filter.
    pub fn jaccard(&self, other: &Self) -> f64 {
        let count = |merge: fn(u64, u64) -> u64| -> u32 {
            let pairs = self.words.iter().zip(&other.words);
            pairs.map(|(a, b)| merge(*a, *b).count_ones()).sum()
        };
        match count(|a, b| a | b) {
            0 => 1.0,
            either => f64::from(count(|a, b| a & b)) / f64::from(either),
        }
    }
}

#[cfg(test)]
mod tests {
    use simdb::similarity::tokens;

    use super::*;

    #[test]
    fn estimate_of_sparse_filters_is_exact() {
        let filter = |text| BloomFilter::new(&tokens(text), 1 << 20);
        let mum = filter("你妈妈喊你回家吃饭哦，回家罗回家罗");
        let other_mum = filter("你妈妈叫你回家吃饭啦，回家罗回家罗");
        let cat = filter("the cat sat on the mat");
        assert_eq!(mum.jaccard(&other_mum), 7.0 / 11.0);
        assert_eq!(cat.jaccard(&filter("the cat sat on a mat")), 5.0 / 6.0);
        assert_eq!(cat.jaccard(&filter("we all scream for ice cream")), 0.0);
    }

    #[test]
    fn estimate_of_full_filters_is_too_high_as_documented() {
        for (bits_per_feature, expected) in [(2, 0.245), (16, 0.031)] {
            let filter = |from: u32| {
                let features: Vec<_> = (from..from + 10_000).map(|n| n.to_string()).collect();
                BloomFilter::new(&features, 10_000 * bits_per_feature)
            };
            let found = filter(0).jaccard(&filter(1_000_000));
            assert!((found - expected).abs() < 0.01, "{found} is not {expected}");
        }
    }

    #[test]
    fn empty_filters_are_alike_and_like_no_other() {
        let [nothing, something] =
            [&[][..], &["a"]].map(|features: &[&str]| BloomFilter::new(features, 64));
        assert_eq!(nothing.jaccard(&nothing), 1.0);
        assert_eq!(nothing.jaccard(&something), 0.0);
        assert_eq!(something.jaccard(&nothing), 0.0);
        assert_eq!(something.jaccard(&something), 1.0);
    }

    #[test]
    fn bits_are_two_per_feature_and_at_least_128() {
        for (features, bits) in [(0, 128), (64, 128), (65, 130), (usize::MAX, u32::MAX)] {
            assert_eq!(BloomFilter::bits_for(features), bits);
        }
    }
}
