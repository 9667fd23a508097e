//! [`PackedBucket`]: a bucket of the cache, in 5.2 to 6 bytes a fingerprint.
//!
//! The fingerprints of a bucket share their first 16 bits, the key. The other 48 bits are in
//! planes. Each plane has a part of every fingerprint. The upper part of small buckets, and of all
//! buckets that a scan reads, is one plane:
//!
//! | plane | bits of a fingerprint, from the lowest | stored |
//! |---|---|---|
//! | low | 0 to 31 | 4 bytes for each fingerprint |
//! | upper | 32 to 47 | 2 bytes for each fingerprint |
//!
//! Other buckets have two smaller planes instead of the upper plane:
//!
//! | plane | bits of a fingerprint, from the lowest | stored |
//! |---|---|---|
//! | middle | 32 to 39 | 1 byte for each fingerprint |
//! | high | 40 to 47 | unary, 1 bit for each fingerprint and 255 bits |
//!
//! The high bytes of sorted fingerprints ascend, as [`unary`] numbers must.
//!
//! The number of differing bits in some of the planes is a lower bound of the distance. A query
//! compares the low plane, and reads the other planes only for the fingerprints that are near in
//! the low plane: at radius 3 one random fingerprint in a million. At larger radii a query compares
//! the low and the middle plane, or all planes.

use std::sync::Arc;

use crate::block::{self, BLOCK_BITS};
use crate::hamming;
use crate::store::tables::packed::unary;

/// Up to 8 differing bits, the low plane is compared first.
// At most 0.4 % of random fingerprints are near in the low plane.
const MAX_RADIUS_OF_LOW: u32 = 8;
/// Up to 12 differing bits, the low and the middle plane are compared first.
// At most 0.9 % of random fingerprints are near in both planes.
const MAX_RADIUS_OF_MIDDLE: u32 = 12;

/// If more than 16 fingerprints and 1/16 of the bucket are near, all planes are compared.
// Reading the high bytes one by one then takes longer. Fingerprints that are not random can all be
// equal in the low plane.
const MAX_NEAR: usize = 16;
const MAX_NEAR_SHARE: usize = 16;

/// The largest high byte.
const MAX_HIGH: usize = 255;

/// 4 bytes in the low plane, and up to 2 bytes in the other planes.
pub(super) const MAX_BYTES_PER_FINGERPRINT: u64 = 6;

/// The fingerprints of a bucket, rotated, in order.
#[derive(Clone, Debug)]
pub(crate) struct PackedBucket {
    /// The planes, the low plane first, each from a new word on.
    words: Arc<[u32]>,
    len: u32,
    key: u16,
    is_split: bool,
}

/// The planes above the low plane.
#[derive(Clone, Copy)]
enum Above<'b> {
    Upper(&'b [u16]),
    /// The middle plane and the unary high plane.
    Split(&'b [u8], &'b [u8]),
}

impl PackedBucket {
    /// Packs fingerprints that are in order and have one key. With `may_be_split` the upper plane
    /// is split if that is smaller. A scan, which reads all planes, is faster without.
    pub(crate) fn new(fingerprints: &[u64], may_be_split: bool) -> Self {
        let len = fingerprints.len();
        // The unary form is read in units of 8 bytes.
        let unary_bytes = (len + MAX_HIGH).div_ceil(64) * 8;
        let is_split = may_be_split && unary_bytes < len;
        let above_words = if is_split {
            len.div_ceil(4) + unary_bytes / 4
        } else {
            len.div_ceil(2)
        };
        let mut words = vec![0; len + above_words];
        let (low, above) = words.split_at_mut(len);
        for (low, fingerprint) in low.iter_mut().zip(fingerprints) {
            *low = *fingerprint as u32;
        }
        if is_split {
            let (middle, high) = above.split_at_mut(len.div_ceil(4));
            let middle: &mut [u8] = bytemuck::cast_slice_mut(middle);
            let high: &mut [u8] = bytemuck::cast_slice_mut(high);
            for (index, fingerprint) in fingerprints.iter().enumerate() {
                middle[index] = (fingerprint >> 32) as u8;
                unary::set(high, index, usize::from((fingerprint >> 40) as u8));
            }
        } else {
            let upper: &mut [u16] = bytemuck::cast_slice_mut(above);
            for (upper, fingerprint) in upper.iter_mut().zip(fingerprints) {
                *upper = (fingerprint >> 32) as u16;
            }
        }
        Self {
            words: words.into(),
            len: len as u32,
            key: fingerprints
                .first()
                .map_or(0, |first| block::front_key(*first)),
            is_split,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// All planes, the low plane first.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Appends the fingerprints within `radius` of the rotated `query` to `found`, in order.
    pub(crate) fn push_within(&self, query: u64, radius: u32, found: &mut Vec<u64>) {
        let in_key = (block::front_key(query) ^ self.key).count_ones();
        let Some(radius) = radius.checked_sub(in_key) else {
            return;
        };
        let (low, above) = self.planes();
        let mut near = Vec::new();
        if radius <= MAX_RADIUS_OF_LOW {
            hamming::push_near_32(low, query, radius, &mut near);
        } else {
            match above {
                Above::Split(middle, _) if radius <= MAX_RADIUS_OF_MIDDLE => {
                    hamming::push_near_40(low, middle, query, radius, &mut near);
                }
                _ => return self.push_within_all_planes(query, radius, found),
            }
        }
        if near.len() > MAX_NEAR + self.len() / MAX_NEAR_SHARE {
            self.push_within_all_planes(query, radius, found);
        } else if !near.is_empty() {
            let candidates = self.select(&near);
            found.extend(candidates.filter(|candidate| {
                let differing = (candidate ^ query) << BLOCK_BITS;
                differing.count_ones() <= radius
            }));
        }
    }

    /// Like [`push_within`](Self::push_within). `radius` is without the bits in which the keys
    /// differ.
    fn push_within_all_planes(&self, query: u64, radius: u32, found: &mut Vec<u64>) {
        let mut joined = Vec::new();
        let (low, upper) = self.low_and_upper(&mut joined);
        let mut near = Vec::new();
        hamming::push_near_48(low, upper, query, radius, &mut near);
        found.extend(near.iter().map(|index| {
            let index = *index as usize;
            assemble(self.key, upper[index], low[index])
        }));
    }

    /// The fingerprints with these ascending indices.
    fn select(&self, indices: &[u32]) -> impl Iterator<Item = u64> {
        let (low, above) = self.planes();
        let mut high_bytes = Vec::new();
        if let Above::Split(_, high) = above {
            unary::select(high, indices, &mut high_bytes);
        }
        indices.iter().enumerate().map(move |(nth, index)| {
            let index = *index as usize;
            let upper = match above {
                Above::Upper(upper) => upper[index],
                Above::Split(middle, _) => high_bytes[nth] << 8 | u16::from(middle[index]),
            };
            assemble(self.key, upper, low[index])
        })
    }

    /// Appends all fingerprints to `fingerprints`, in order.
    pub(crate) fn unpack(&self, fingerprints: &mut Vec<u64>) {
        let mut joined = Vec::new();
        let (low, upper) = self.low_and_upper(&mut joined);
        let parts = upper.iter().zip(low);
        fingerprints.extend(parts.map(|(upper, low)| assemble(self.key, *upper, *low)));
    }

    fn planes(&self) -> (&[u32], Above<'_>) {
        let len = self.len();
        let (low, above) = self.words.split_at(len);
        if self.is_split {
            let (middle, high) = above.split_at(len.div_ceil(4));
            let middle: &[u8] = bytemuck::cast_slice(middle);
            (
                low,
                Above::Split(&middle[..len], bytemuck::cast_slice(high)),
            )
        } else {
            let upper: &[u16] = bytemuck::cast_slice(above);
            (low, Above::Upper(&upper[..len]))
        }
    }

    /// The low and the upper plane, which is joined in `joined` if it is split.
    fn low_and_upper<'s>(&'s self, joined: &'s mut Vec<u16>) -> (&'s [u32], &'s [u16]) {
        let (low, above) = self.planes();
        match above {
            Above::Upper(upper) => (low, upper),
            Above::Split(middle, high) => {
                unary::decode(high, self.len(), joined);
                for (upper, middle) in joined.iter_mut().zip(middle) {
                    *upper = *upper << 8 | u16::from(*middle);
                }
                (low, joined)
            }
        }
    }
}

fn assemble(key: u16, upper: u16, low: u32) -> u64 {
    u64::from(key) << 48 | u64::from(upper) << 32 | u64::from(low)
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
        for may_be_split in [true, false] {
            let packed = PackedBucket::new(fingerprints, may_be_split);
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
    fn upper_plane_is_split_where_that_is_smaller() {
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
