//! [`PackedBucket`]: a bucket of the cache, in 5.2 to 6 bytes a fingerprint.
//!
//! The fingerprints of a bucket share their first 16 bits, the key. The other 48 bits are in three planes.
//! Each plane has a part of every fingerprint:
//!
//! | plane | bits of a fingerprint, from the lowest | stored |
//! |---|---|---|
//! | low | 0 to 31 | 4 bytes for each fingerprint |
//! | middle | 32 to 39 | 1 byte for each fingerprint |
//! | high | 40 to 47 | 1 byte for each fingerprint; or unary, 1 bit for each and 255 bits |
//!
//! The high bytes of sorted fingerprints ascend, as [`unary`] numbers must.
//!
//! The number of differing bits in one plane is a lower bound of the distance. A query compares the low
//! plane, and reads the other planes only for the fingerprints that are near in the low plane: at radius 3
//! one random fingerprint in a million. At larger radii a query compares the low and the middle plane, or
//! all three.

use std::sync::Arc;

use crate::block::{self, BLOCK_BITS};
use crate::hamming;
use crate::store::tables::packed::unary;

/// Up to 8 differing bits, the low plane is compared: at most 0.4 % of random fingerprints are near in it.
const MAX_RADIUS_OF_LOW: u32 = 8;
/// Up to 12 differing bits, the low and the middle plane are compared: at most 0.9 % of random fingerprints
/// are near in both.
const MAX_RADIUS_OF_MIDDLE: u32 = 12;

/// If more than 16 fingerprints and 1/16 of the bucket are near, all planes are compared: reading the high
/// bytes one by one then takes longer. Fingerprints that are not random can all be equal in the low plane.
const MAX_NEAR: usize = 16;
const MAX_NEAR_SHARE: usize = 16;

/// The largest high byte.
const MAX_HIGH: usize = 255;

/// A word of 4 bytes for a fingerprint, and up to 2 bytes in the other planes.
pub(super) const MAX_BYTES_PER_FINGERPRINT: u64 = 6;

/// The fingerprints of a bucket, rotated, in order.
#[derive(Clone, Debug)]
pub(crate) struct PackedBucket {
    /// The low, the middle and the high plane, each from a new word on.
    words: Arc<[u32]>,
    len: u32,
    key: u16,
    is_high_unary: bool,
}

impl PackedBucket {
    /// Packs fingerprints that are in order and have one key. With `may_be_unary` the high plane is unary
    /// if it is then smaller. A scan, which reads all high bytes, is faster without.
    pub(crate) fn new(fingerprints: &[u64], may_be_unary: bool) -> Self {
        let len = fingerprints.len();
        // The unary form is read in units of 8 bytes.
        let unary_bytes = (len + MAX_HIGH).div_ceil(64) * 8;
        let is_high_unary = may_be_unary && unary_bytes < len;
        let high_bytes = if is_high_unary { unary_bytes } else { len };
        let middle_words = len.div_ceil(4);
        let mut words = vec![0; len + middle_words + high_bytes.div_ceil(4)];
        let (low, rest) = words.split_at_mut(len);
        let (middle, high) = rest.split_at_mut(middle_words);
        let middle: &mut [u8] = bytemuck::cast_slice_mut(middle);
        let high: &mut [u8] = bytemuck::cast_slice_mut(high);
        for (index, fingerprint) in fingerprints.iter().enumerate() {
            low[index] = *fingerprint as u32;
            middle[index] = (fingerprint >> 32) as u8;
            let high_byte = (fingerprint >> 40) as u8;
            if is_high_unary {
                unary::set(high, index, usize::from(high_byte));
            } else {
                high[index] = high_byte;
            }
        }
        Self {
            words: words.into(),
            len: len as u32,
            key: fingerprints
                .first()
                .map_or(0, |first| block::front_key(*first)),
            is_high_unary,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// The low plane, and a part of the other planes if the bucket is small.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Appends the fingerprints within `radius` of the rotated `query` to `found`, in order.
    pub(crate) fn push_within(&self, query: u64, radius: u32, found: &mut Vec<u64>) {
        let in_key = (block::front_key(query) ^ self.key).count_ones();
        let Some(radius) = radius.checked_sub(in_key) else {
            return;
        };
        let (low, middle, _) = self.planes();
        let mut near = Vec::new();
        if radius <= MAX_RADIUS_OF_MIDDLE {
            if radius <= MAX_RADIUS_OF_LOW {
                hamming::push_near_32(low, query, radius, &mut near);
            } else {
                hamming::push_near_40(low, middle, query, radius, &mut near);
            }
            if near.is_empty() {
                return;
            }
            if near.len() <= MAX_NEAR + self.len() / MAX_NEAR_SHARE {
                self.push_within_of(&near, query, radius, found);
                return;
            }
            near.clear();
        }
        let mut decoded = Vec::new();
        let high = self.high_bytes(&mut decoded);
        hamming::push_near_48(low, middle, high, query, radius, &mut near);
        found.extend(near.iter().map(|index| {
            let index = *index as usize;
            assemble(self.key, high[index], middle[index], low[index])
        }));
    }

    /// Like [`push_within`](Self::push_within), for the fingerprints with these ascending indices.
    /// `radius` is without the bits in which the keys differ.
    fn push_within_of(&self, indices: &[u32], query: u64, radius: u32, found: &mut Vec<u64>) {
        let (low, middle, high) = self.planes();
        let high_bytes: Vec<u8> = if self.is_high_unary {
            let mut numbers = Vec::with_capacity(indices.len());
            unary::select(high, indices, &mut numbers);
            numbers.into_iter().map(|number| number as u8).collect()
        } else {
            indices.iter().map(|index| high[*index as usize]).collect()
        };
        let candidates = indices.iter().zip(high_bytes).map(|(index, high)| {
            let index = *index as usize;
            assemble(self.key, high, middle[index], low[index])
        });
        found.extend(candidates.filter(|candidate| {
            let differing = (candidate ^ query) << BLOCK_BITS;
            differing.count_ones() <= radius
        }));
    }

    /// Appends all fingerprints to `fingerprints`, in order.
    pub(crate) fn unpack(&self, fingerprints: &mut Vec<u64>) {
        let (low, middle, _) = self.planes();
        let mut decoded = Vec::new();
        let high = self.high_bytes(&mut decoded);
        let parts = low.iter().zip(middle).zip(high);
        fingerprints
            .extend(parts.map(|((low, middle), high)| assemble(self.key, *high, *middle, *low)));
    }

    /// The low, the middle and the high plane.
    fn planes(&self) -> (&[u32], &[u8], &[u8]) {
        let len = self.len();
        let (low, rest) = self.words.split_at(len);
        let (middle, high) = rest.split_at(len.div_ceil(4));
        let middle: &[u8] = bytemuck::cast_slice(middle);
        let high: &[u8] = bytemuck::cast_slice(high);
        let high_len = if self.is_high_unary { high.len() } else { len };
        (low, &middle[..len], &high[..high_len])
    }

    /// The high byte of each fingerprint.
    fn high_bytes<'s>(&'s self, decoded: &'s mut Vec<u8>) -> &'s [u8] {
        let (_, _, high) = self.planes();
        if !self.is_high_unary {
            return high;
        }
        let mut numbers = Vec::new();
        unary::decode(high, self.len(), &mut numbers);
        decoded.extend(numbers.iter().map(|number| *number as u8));
        decoded
    }
}

fn assemble(key: u16, high: u8, middle: u8, low: u32) -> u64 {
    u64::from(key) << 48 | u64::from(high) << 40 | u64::from(middle) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fingerprints of one key, in order.
    fn bucket(key: u16, mut rest: Vec<u64>) -> Vec<u64> {
        rest.iter_mut()
            .for_each(|bits| *bits = *bits << 16 >> 16 | u64::from(key) << 48);
        rest.sort_unstable();
        rest
    }

    fn random(len: usize) -> impl Iterator<Item = u64> {
        (1..=len as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ n << 40)
    }

    /// Buckets that are not random, with a name.
    fn adversarial_buckets(len: usize) -> Vec<(&'static str, Vec<u64>)> {
        let each = |change: fn(u64) -> u64| random(len).map(change).collect::<Vec<u64>>();
        vec![
            ("random", bucket(0x5aa5, each(|bits| bits))),
            ("first key", bucket(0, each(|bits| bits))),
            ("last key", bucket(u16::MAX, each(|bits| bits))),
            ("same high half", bucket(7, each(|bits| bits & 0xffff_ffff))),
            (
                "same low half",
                bucket(7, each(|bits| bits & !0xffff_ffff | 0x55)),
            ),
            (
                "same low 40 bits",
                bucket(7, each(|bits| bits & !0xff_ffff_ffff)),
            ),
            (
                "first high byte",
                bucket(9, each(|bits| bits & !(0xff << 40))),
            ),
            ("last high byte", bucket(9, each(|bits| bits | 0xff << 40))),
            (
                "both ends",
                bucket(9, each(|bits| if bits & 1 == 0 { 0 } else { u64::MAX })),
            ),
            (
                "runs of equal fingerprints",
                bucket(3, each(|bits| bits & (0x7 << 44 | 0x3))),
            ),
            ("all equal", bucket(3, vec![0x1234_5678_9abc; len])),
            ("one bit differs", bucket(3, each(|bits| 1 << (bits % 48)))),
        ]
    }

    fn assert_equals_plain_scan(name: &str, fingerprints: &[u64], query: u64, radii: &[u32]) {
        for may_be_unary in [true, false] {
            let packed = PackedBucket::new(fingerprints, may_be_unary);
            let mut unpacked = Vec::new();
            packed.unpack(&mut unpacked);
            assert!(
                unpacked == fingerprints,
                "{name}, {} fingerprints",
                fingerprints.len()
            );
            for radius in radii {
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                packed.push_within(query, *radius, &mut found);
                let near = |each: &u64| (each ^ query).count_ones() <= *radius;
                expected.extend(fingerprints.iter().copied().filter(near));
                let len = fingerprints.len();
                assert!(
                    found == expected,
                    "{name}, {len} fingerprints, radius {radius}"
                );
            }
        }
    }

    #[test]
    fn packed_bucket_equals_plain_scan_at_every_radius() {
        let radii: Vec<u32> = (0..=64).collect();
        for len in [0, 1, 2, 3, 15, 41, 42, 43, 64, 129, 763, 3_000] {
            for (name, fingerprints) in adversarial_buckets(len) {
                let some = fingerprints.get(len / 2).copied().unwrap_or(0);
                for query in [some, some ^ 0x0101_0001_0010_0001, !some, 0] {
                    assert_equals_plain_scan(name, &fingerprints, query, &radii);
                }
            }
        }
    }

    #[test]
    fn packed_bucket_of_a_million_fingerprints_equals_plain_scan() {
        let shapes = ["random", "same low half", "runs of equal fingerprints"];
        for (name, fingerprints) in adversarial_buckets(1_000_000) {
            if shapes.contains(&name) {
                let query = fingerprints[333_333] ^ 1;
                assert_equals_plain_scan(name, &fingerprints, query, &[0, 3, 10, 20]);
            }
        }
    }

    #[test]
    fn unary_plane_is_used_where_it_is_smaller() {
        for len in 0..2_000 {
            let fingerprints = bucket(1, random(len).collect());
            let packed = PackedBucket::new(&fingerprints, true);
            let plain = PackedBucket::new(&fingerprints, false);
            assert!(packed.bytes() <= plain.bytes(), "{len}");
            assert!(
                plain.bytes() as u64 <= MAX_BYTES_PER_FINGERPRINT * len as u64 + 6,
                "{len}"
            );
            assert_eq!(packed.len(), len);
        }
        let of_50_million = PackedBucket::new(&bucket(1, random(763).collect()), true);
        assert_eq!(of_50_million.bytes(), 763 * 4 + 764 + 128);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn any_bucket_equals_plain_scan(
            rest in proptest::collection::vec(any::<u64>(), 0..400),
            mask in any::<u64>(),
            key in any::<u16>(),
            flips in any::<u64>(),
            sparse in any::<bool>(),
        ) {
            let rest = rest.into_iter().map(|bits| if sparse { bits & mask } else { bits });
            let fingerprints = bucket(key, rest.collect());
            let query = fingerprints.first().copied().unwrap_or(0) ^ (flips & flips >> 7 & flips << 9);
            let radii: Vec<u32> = (0..=64).collect();
            assert_equals_plain_scan("any", &fingerprints, query, &radii);
        }
    }
}
