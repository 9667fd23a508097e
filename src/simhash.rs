//! SimHash: from weighted features to a fingerprint.
//!
//! The Chinese literature teaches SimHash in five steps. A [`Recipe`](crate::Recipe) does the first
//! step, 分词 (segmentation), and chooses the weights. The other four steps need hashes and weights
//! only:
//!
//! | step | function | effect |
//! |---|---|---|
//! | hash | any hash function | a feature becomes bits |
//! | 加权 (weigh) | [`weigh`] | each bit becomes the weight of the feature: positive for a 1, negative for a 0 |
//! | 合并 (merge) | [`merge`] | the weights of all features are added, bit position by bit position |
//! | 降维 (sign) | [`sign`] | each sum becomes a bit: 1 if the sum is greater than 0, otherwise 0 |
//!
//! Two documents that share most of their weight agree in the signs of most sums. The expected
//! share of differing bits is the angle between their feature vectors, divided by π.
//!
//! # Examples
//!
//! A sentence about 51区 (Area 51), reduced to two words and to hashes of 6 bits:
//!
//! ```
//! use simdb::simhash::{merge, sign, weigh};
//!
//! // 1. 分词, segment: words and their weights.
//! let words = [("美国", 4), ("51区", 5)];
//!
//! // 2. hash: each word becomes bits. (A real hash function gives 64 bits.)
//! let hash = |word| if word == "美国" { 0b100101 } else { 0b101011 };
//!
//! // 3. 加权, weigh: a 1 becomes the weight, a 0 the negated weight.
//! let weighed = words.map(|(word, weight)| weigh::<6>(hash(word), weight));
//! assert_eq!(weighed[0], [4, -4, -4, 4, -4, 4]);
//! assert_eq!(weighed[1], [5, -5, 5, -5, 5, 5]);
//!
//! // 4. 合并, merge: the columns are added.
//! let sums = merge(weighed);
//! assert_eq!(sums, [9, -9, 1, -1, 1, 9]);
//!
//! // 5. 降维, sign: a sum greater than 0 becomes a 1.
//! assert_eq!(sign(sums), 0b101011);
//! ```
//!
//! # Source
//! M. Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002, section 3
//! (the method); G. S. Manku, A. Jain, A. Das Sarma, *Detecting near-duplicates for web crawling*,
//! WWW 2007, section 2 (its use for documents, 64 bits and radius 3).

use crate::feature::FeatureWeights;

/// 加权: the vote of one feature for each bit of the fingerprint: `weight` for a 1 in the hash,
/// `-weight` for a 0.
///
/// The votes are ordered from the most significant bit to the least, as fingerprints are written.
/// Only the lowest `BITS` bits of the hash count; `BITS` is at most 128. See the [module](self) for
/// an example.
pub fn weigh<const BITS: usize>(hash: u128, weight: i64) -> [i64; BITS] {
    const { assert!(BITS <= u128::BITS as usize, "a hash has at most 128 bits") };
    std::array::from_fn(|place| {
        let bit = BITS - 1 - place;
        if hash >> bit & 1 == 1 {
            weight
        } else {
            -weight
        }
    })
}

/// 合并: the sums of the votes of all features, one for each bit.
///
/// The sums are integers, so the order of the features does not matter. The weights of one document
/// must sum to less than 2⁶³; a larger sum overflows `i64`. See the [module](self) for an example.
pub fn merge<const BITS: usize>(weighed: impl IntoIterator<Item = [i64; BITS]>) -> [i64; BITS] {
    weighed.into_iter().fold([0; BITS], |mut sums, feature| {
        for (sum, vote) in sums.iter_mut().zip(feature) {
            *sum += vote;
        }
        sums
    })
}

/// 降维: the fingerprint of the sums, one bit for each sum.
///
/// A bit is 1 if its sum is greater than 0, otherwise 0. So a tie gives a 0, and a document without
/// features has the fingerprint 0. See the [module](self) for an example.
pub fn sign<const BITS: usize>(sums: [i64; BITS]) -> u128 {
    const {
        assert!(
            BITS <= u128::BITS as usize,
            "a fingerprint has at most 128 bits"
        )
    };
    sums.into_iter()
        .fold(0, |bits, sum| bits << 1 | u128::from(sum > 0))
}

/// [`weigh`], [`merge`] and [`sign`] for 64 bits, at some hundred million features a second.
///
/// The weights are not negative. Most features of a text occur once, and have the base weight of
/// their kind. So each kind adds its base weight to all its features by counting bits, and only the
/// excess weights are added feature by feature.
pub(crate) fn fingerprint_of(hashes: &[u64], weights: &FeatureWeights) -> u64 {
    debug_assert!(
        weights.kinds.iter().all(|&(_, least)| least >= 0),
        "a feature cannot weigh less than nothing"
    );
    // Only the weights of set bits are added. With the total weight t, and the weight s of the set
    // bits, the sum of the votes is s - (t - s): greater than 0 if s > t - s.
    let mut sums = [0_i64; 64];
    let mut rest = hashes;
    for &(count, least) in &weights.kinds {
        let (kind, others) = rest.split_at(count);
        rest = others;
        if least > 0 {
            for batch in kind.chunks(BATCH) {
                add_equal(&mut sums, batch, least);
            }
        }
    }
    for batch in weights.more.chunks(BATCH) {
        if batch.iter().all(|&(_, more)| more <= MAX_BATCHED_WEIGHT) {
            add_batch(&mut sums, hashes, batch);
        } else {
            for &(index, more) in batch {
                add_one(&mut sums, hashes[index], more);
            }
        }
    }
    let total = weights.total();
    let bits = sums.into_iter().enumerate();
    bits.fold(0, |bits, (bit, sum)| {
        bits | u64::from(sum > total - sum) << bit
    })
}

/// Features per batch: 255, because [`add_equal`] counts set bits in bytes.
const BATCH: usize = u8::MAX as usize;

/// The largest weight in [`add_batch`]: the sum of 255 such weights fits in an `i32`.
const MAX_BATCHED_WEIGHT: i64 = i32::MAX as i64 / BATCH as i64;

fn add_one(sums: &mut [i64; 64], hash: u64, weight: i64) {
    for (bit, sum) in sums.iter_mut().enumerate() {
        *sum += (hash >> bit & 1) as i64 * weight;
    }
}

/// Adds one weight to the sums of the set bits of at most [`BATCH`] hashes.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_equal(sums: &mut [i64; 64], hashes: &[u64], weight: i64) {
    const LOWEST_BITS: u64 = u64::MAX / 0xff;
    // Word i holds eight counters of one byte, for the bits i, 8 + i, 16 + i and so on.
    let mut counts = [0_u64; 8];
    for hash in hashes {
        for (i, count) in counts.iter_mut().enumerate() {
            *count += hash >> i & LOWEST_BITS;
        }
    }
    for (bit, sum) in sums.iter_mut().enumerate() {
        *sum += i64::from(counts[bit % 8].to_le_bytes()[bit / 8]) * weight;
    }
}

/// Adds each weight to the sums of the set bits of its hash, for at most [`BATCH`] hashes.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_batch(sums: &mut [i64; 64], hashes: &[u64], weights: &[(usize, i64)]) {
    const BIT_OF_LANE: [u32; 32] = {
        let mut bits = [0; 32];
        let mut lane = 0;
        while lane < 32 {
            bits[lane] = 1 << lane;
            lane += 1;
        }
        bits
    };
    for (half, sums) in sums.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let mut lanes = [0_i32; 32];
        for &(index, weight) in weights {
            // Compilers vectorise the comparison with a constant mask. A shift by the number of the
            // lane would need AVX2.
            let bits = (hashes[index] >> (32 * half)) as u32;
            for (lane, bit) in lanes.iter_mut().zip(BIT_OF_LANE) {
                *lane += if bits & bit != 0 { weight as i32 } else { 0 };
            }
        }
        for (sum, lane) in sums.iter_mut().zip(lanes) {
            *sum += i64::from(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reference<const BITS: usize>(features: &[(u128, i64)]) -> u128 {
        sign(merge(
            features
                .iter()
                .map(|&(hash, weight)| weigh::<BITS>(hash, weight)),
        ))
    }

    /// The fast fingerprint, after comparing it with the reference, also with two kinds of
    /// features.
    fn fingerprint(features: &[(u64, i64)]) -> u64 {
        let wide: Vec<_> = features
            .iter()
            .map(|&(hash, w)| (u128::from(hash), w))
            .collect();
        let hashes: Vec<_> = features.iter().map(|&(hash, _)| hash).collect();
        let weights = FeatureWeights::new(features.iter().map(|&(_, weight)| weight));
        let fingerprint = fingerprint_of(&hashes, &weights);
        assert_eq!(u128::from(fingerprint), reference::<64>(&wide));

        let least = features
            .iter()
            .map(|&(_, weight)| weight)
            .min()
            .unwrap_or(0);
        let more = features
            .iter()
            .map(|&(_, weight)| weight - least)
            .enumerate();
        let more = more.filter(|&(_, more)| more > 0).collect();
        let kinds = vec![
            (1.min(hashes.len()), least),
            (hashes.len().saturating_sub(1), least),
        ];
        let weights = FeatureWeights { kinds, more };
        assert_eq!(fingerprint_of(&hashes, &weights), fingerprint);
        fingerprint
    }

    #[test]
    fn worked_example_gives_its_sums_and_bits() {
        let sums = merge([weigh::<6>(0b100101, 4), weigh::<6>(0b101011, 5)]);
        assert_eq!(sums, [9, -9, 1, -1, 1, 9]);
        assert_eq!(sign(sums), 0b101011);
    }

    #[test]
    fn tie_gives_zero() {
        assert_eq!(
            sign(merge([weigh::<6>(0b110000, 3), weigh::<6>(0b101000, 3)])),
            0b100000
        );
        assert_eq!(sign(merge::<64>([])), 0);
        assert_eq!(fingerprint(&[(0b110000, 3), (0b101000, 3)]), 0b100000);
        assert_eq!(fingerprint(&[]), 0);
    }

    #[test]
    fn batches_of_any_length_and_weight_are_added_exactly() {
        let most = MAX_BATCHED_WEIGHT;
        for weights in [
            [1; 3],
            [most; 3],
            [most, most + 1, 1 << 40],
            [1 << 50, 0, most],
        ] {
            for count in [1, 254, 255, 256, 511, 1000] {
                let hashes = (0..count).map(|i| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i + 1));
                let features: Vec<_> = hashes.zip(weights.into_iter().cycle()).collect();
                fingerprint(&features);
                let equal: Vec<_> = features.iter().map(|&(_, w)| (u64::MAX, w)).collect();
                assert_eq!(fingerprint(&equal), u64::MAX);
            }
        }
    }

    #[test]
    fn single_feature_is_its_own_fingerprint_at_every_width() {
        let hash = 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978;
        assert_eq!(reference::<128>(&[(hash, 7)]), hash);
        assert_eq!(reference::<64>(&[(hash, 7)]), hash & u128::from(u64::MAX));
    }

    proptest! {
        #[test]
        fn fast_fingerprint_equals_reference_in_any_order(
            weights in prop::sample::select(vec![1..2_i64, 1..3, 0..1 << 20, 0..1 << 36]),
            mut features in prop::collection::vec((any::<u64>(), any::<u32>()), 0..600),
        ) {
            let span = weights.end - weights.start;
            let weigh = |&(hash, draw): &(u64, u32)| (hash, weights.start + i64::from(draw) * 97 % span);
            let forwards = fingerprint(&features.iter().map(weigh).collect::<Vec<_>>());
            features.reverse();
            let backwards = fingerprint(&features.iter().map(weigh).collect::<Vec<_>>());
            prop_assert_eq!(forwards, backwards);
        }
    }
}
