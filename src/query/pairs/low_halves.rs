//! [`LowHalves`]: the low halves of fingerprints, for a first comparison of all with all.
//!
//! The number of differing bits in the low halves is a lower bound of the distance. A vector has
//! twice as many low halves as fingerprints. Of random fingerprints, one pair in 18,000 is within 5
//! bits in the low halves, and one in 800,000 within 3.

use std::ops::Range;

use multiversion::multiversion;

/// The largest radius at which few pairs are near in their low halves.
pub(super) const MAX_RADIUS: u32 = 5;

/// Low halves that are compared at a time.
const LANES: usize = 16;

/// The low halves of a list of fingerprints.
pub(super) struct LowHalves {
    /// [`LANES`] zeros follow the last low half, because whole groups of lanes are read.
    padded: Vec<u32>,
}

impl LowHalves {
    pub(super) fn new(fingerprints: &[u64]) -> Self {
        let low = fingerprints.iter().map(|fingerprint| *fingerprint as u32);
        Self {
            padded: low.chain([0; LANES]).collect(),
        }
    }
}

/// Appends the indices of each two of a range that are within `radius` of each other in their low
/// halves.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(super) fn push_near_among(
    low: &LowHalves,
    range: Range<usize>,
    radius: u32,
    near: &mut Vec<(usize, usize)>,
) {
    push_near_among_portable(&low.padded, range, radius, near);
}

/// Appends each index of range `a` and index of range `b` that are within `radius` of each other in
/// their low halves.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(super) fn push_near_between(
    low_a: &LowHalves,
    a: Range<usize>,
    low_b: &LowHalves,
    b: Range<usize>,
    radius: u32,
    near: &mut Vec<(usize, usize)>,
) {
    push_near_between_portable(&low_a.padded, a, &low_b.padded, b, radius, near);
}

// Inlined, so that each version of the caller compiles these loops for its own processor.
#[inline(always)]
fn push_near_among_portable(
    padded: &[u32],
    range: Range<usize>,
    radius: u32,
    near: &mut Vec<(usize, usize)>,
) {
    for start in range.clone().step_by(LANES) {
        let lanes = lanes_at(padded, start);
        // The lanes are compared with themselves, shifted by one index more at a time. So each two
        // indices are compared once, and no index with itself.
        let mut least = [u32::BITS; LANES];
        for shifted in padded[start + 1..range.end + LANES - 1].windows(LANES) {
            for lane in 0..LANES {
                least[lane] = least[lane].min((lanes[lane] ^ shifted[lane]).count_ones());
            }
        }
        for index in near_lanes(&least, radius).map(|lane| start + lane) {
            if index >= range.end {
                break;
            }
            let others = index + 1..range.end;
            push_near_to(padded, index, padded, others, radius, near);
        }
    }
}

#[inline(always)]
fn push_near_between_portable(
    padded_a: &[u32],
    a: Range<usize>,
    padded_b: &[u32],
    b: Range<usize>,
    radius: u32,
    near: &mut Vec<(usize, usize)>,
) {
    for start in a.clone().step_by(LANES) {
        let lanes = lanes_at(padded_a, start);
        // Only the least distance of a lane is kept: nearly all lanes have no near pair, and so
        // need no branch for each pair.
        let mut least = [u32::BITS; LANES];
        for low in &padded_b[b.clone()] {
            for lane in 0..LANES {
                least[lane] = least[lane].min((lanes[lane] ^ low).count_ones());
            }
        }
        for index in near_lanes(&least, radius).map(|lane| start + lane) {
            if index >= a.end {
                break;
            }
            push_near_to(padded_a, index, padded_b, b.clone(), radius, near);
        }
    }
}

#[inline(always)]
fn lanes_at(padded: &[u32], start: usize) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    lanes.copy_from_slice(&padded[start..start + LANES]);
    lanes
}

/// The lanes whose least distance is within `radius`.
#[inline(always)]
fn near_lanes(least: &[u32; LANES], radius: u32) -> impl Iterator<Item = usize> {
    let mut lanes = 0_u32;
    for (lane, least) in least.iter().enumerate() {
        // Without a branch: the lanes become bits, and only set bits are visited.
        lanes |= u32::from(*least <= radius) << lane;
    }
    std::iter::from_fn(move || {
        let lane = (lanes != 0).then_some(lanes.trailing_zeros() as usize)?;
        lanes &= lanes - 1;
        Some(lane)
    })
}

/// Appends the index in `padded_a` with each index of `b` that is near.
fn push_near_to(
    padded_a: &[u32],
    index: usize,
    padded_b: &[u32],
    b: Range<usize>,
    radius: u32,
    near: &mut Vec<(usize, usize)>,
) {
    let is_near = |other: &usize| (padded_a[index] ^ padded_b[*other]).count_ones() <= radius;
    near.extend(b.filter(is_near).map(|other| (index, other)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Asserts that the kernels and their portable versions find the pairs of two nested loops.
    fn assert_equals_nested_loops(
        list: &[u64],
        other: &[u64],
        range: Range<usize>,
        other_range: Range<usize>,
        radius: u32,
    ) {
        let (low, low_of_other) = (LowHalves::new(list), LowHalves::new(other));
        let is_near = |a: u64, b: u64| (a as u32 ^ b as u32).count_ones() <= radius;
        let sorted = |mut near: Vec<(usize, usize)>| {
            near.sort_unstable();
            near
        };

        let mut expected = Vec::new();
        for index in range.clone() {
            let behind = index + 1..range.end;
            expected.extend(
                behind
                    .filter(|other| is_near(list[index], list[*other]))
                    .map(|other| (index, other)),
            );
        }
        let (mut near, mut portable) = (Vec::new(), Vec::new());
        push_near_among(&low, range.clone(), radius, &mut near);
        push_near_among_portable(&low.padded, range.clone(), radius, &mut portable);
        assert_eq!(sorted(near), expected, "{range:?}, radius {radius}");
        assert_eq!(sorted(portable), expected, "{range:?}, radius {radius}");

        expected.clear();
        for index in range.clone() {
            expected.extend(
                other_range
                    .clone()
                    .filter(|number| is_near(list[index], other[*number]))
                    .map(|number| (index, number)),
            );
        }
        let (mut near, mut portable) = (Vec::new(), Vec::new());
        let (a, b) = (range.clone(), other_range.clone());
        push_near_between(&low, a.clone(), &low_of_other, b.clone(), radius, &mut near);
        let (padded_a, padded_b) = (&low.padded, &low_of_other.padded);
        push_near_between_portable(padded_a, a, padded_b, b, radius, &mut portable);
        assert_eq!(sorted(near), expected, "{range:?}, {other_range:?}");
        assert_eq!(sorted(portable), expected, "{range:?}, {other_range:?}");
    }

    #[test]
    fn near_pairs_equal_nested_loops_at_every_length() {
        // Low halves with all distances, equal ones included; zeros are near the padding.
        let list: Vec<u64> = (0..70).map(|n| u64::MAX >> (n * 7 % 65).min(63)).collect();
        let other: Vec<u64> = (0..70).map(|n| u64::MAX << (n * 5 % 64)).collect();
        for radius in [0, 1, 5, 32] {
            for length in 0..70 {
                assert_equals_nested_loops(&list, &other, 0..length, 70 - length..70, radius);
                assert_equals_nested_loops(&list, &other, 70 - length..70, 0..length, radius);
            }
        }
    }

    proptest! {
        #[test]
        fn near_pairs_of_any_ranges_equal_nested_loops(
            list in prop::collection::vec(any::<u64>(), 1..100),
            other in prop::collection::vec(any::<u64>(), 1..100),
            mask in any::<u64>(),
            ends in any::<[prop::sample::Index; 4]>(),
            radius in 0..=32_u32,
        ) {
            let masked = |list: Vec<u64>| -> Vec<u64> {
                list.into_iter().map(|bits| bits & mask).collect()
            };
            let range = |a: prop::sample::Index, b: prop::sample::Index, len: usize| {
                let (a, b) = (a.index(len + 1), b.index(len + 1));
                a.min(b)..a.max(b)
            };
            let range_of_list = range(ends[0], ends[1], list.len());
            let range_of_other = range(ends[2], ends[3], other.len());
            let (list, other) = (masked(list), masked(other));
            assert_equals_nested_loops(&list, &other, range_of_list, range_of_other, radius);
        }
    }
}
