//! The Hamming kernel: finds the fingerprints within a radius.
//!
//! The kernel compares all fingerprints of a bucket, at about 0.1 ns each without a branch, which
//! is faster than a search in the bucket. The widest population count of the processor is selected
//! at run time, so a portable build has full speed.

use multiversion::multiversion;

use crate::error::{Error, Result};
use crate::ids::Fingerprint;

/// Fingerprints of a batch: 128. A batch is first counted without branches; only a batch with
/// matches, which is rare, is filtered.
const BATCH: usize = 128;

/// Appends the fingerprints within `radius` of `query` to `found`, in order.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_within(fingerprints: &[u64], query: u64, radius: u32, found: &mut Vec<u64>) {
    let is_near = |fingerprint: &u64| (fingerprint ^ query).count_ones() <= radius;
    for batch in fingerprints.chunks(BATCH) {
        let near: u64 = batch.iter().map(|each| u64::from(is_near(each))).sum();
        if near > 0 {
            found.extend(batch.iter().copied().filter(is_near));
        }
    }
}

/// Appends to `found` each pair of a fingerprint of `a` and one of `b` within `radius` of each
/// other. Fastest if `b` is the longer slice: `b` is the vectorised loop.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_pairs_between(a: &[u64], b: &[u64], radius: u32, found: &mut Vec<(u64, u64)>) {
    for each in a {
        push_pairs_with(*each, b, radius, found);
    }
}

/// Appends to `found` each pair of two of the fingerprints within `radius` of each other, once.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_pairs_among(fingerprints: &[u64], radius: u32, found: &mut Vec<(u64, u64)>) {
    let mut rest = fingerprints;
    while let Some((first, others)) = rest.split_first() {
        push_pairs_with(*first, others, radius, found);
        rest = others;
    }
}

// Inlined, so that each version of a caller compiles this loop for its own processor.
#[inline(always)]
fn push_pairs_with(a: u64, others: &[u64], radius: u32, found: &mut Vec<(u64, u64)>) {
    let is_near = |b: &u64| (a ^ b).count_ones() <= radius;
    let near: u64 = others.iter().map(|b| u64::from(is_near(b))).sum();
    if near > 0 {
        found.extend(others.iter().copied().filter(is_near).map(|b| (a, b)));
    }
}

/// Appends the indices of the fingerprints whose low 32 bits differ in at most `radius` bits from
/// the low bits of `query`. `low` has the low 32 bits of each fingerprint.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_near_32(low: &[u32], query: u64, radius: u32, indices: &mut Vec<u32>) {
    push_near_32_portable(low, query, radius, indices);
}

/// Like [`push_near_32`], for the low 40 bits. `middle` has bits 32 to 39 of each fingerprint.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_near_40(
    low: &[u32],
    middle: &[u8],
    query: u64,
    radius: u32,
    indices: &mut Vec<u32>,
) {
    let query = (query as u32, (query >> 32) as u8);
    push_near_above_32_portable(low, middle, query, radius, indices);
}

/// Like [`push_near_32`], for the low 48 bits. `above` has bits 32 to 47 of each fingerprint.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_near_48(
    low: &[u32],
    above: &[u16],
    query: u64,
    radius: u32,
    indices: &mut Vec<u32>,
) {
    let query = (query as u32, (query >> 32) as u16);
    push_near_above_32_portable(low, above, query, radius, indices);
}

#[inline(always)]
fn push_near_32_portable(low: &[u32], query: u64, radius: u32, indices: &mut Vec<u32>) {
    let query = query as u32;
    for (batch, low) in low.chunks(BATCH).enumerate() {
        let is_near = low.iter().map(|low| (low ^ query).count_ones() <= radius);
        push_near_of_batch(batch, is_near, indices);
    }
}

/// Compares the low 32 bits and the bits above them, as many as `U` has.
#[inline(always)]
fn push_near_above_32_portable<U: Copy + Into<u32>>(
    low: &[u32],
    above: &[U],
    (query_low, query_above): (u32, U),
    radius: u32,
    indices: &mut Vec<u32>,
) {
    let batches = low.chunks(BATCH).zip(above.chunks(BATCH));
    for (batch, (low, above)) in batches.enumerate() {
        let is_near = low.iter().zip(above).map(|(low, above)| {
            let in_above = ((*above).into() ^ query_above.into()).count_ones();
            (low ^ query_low).count_ones() + in_above <= radius
        });
        push_near_of_batch(batch, is_near, indices);
    }
}

#[inline(always)]
fn push_near_of_batch(
    batch: usize,
    is_near: impl Iterator<Item = bool> + Clone,
    indices: &mut Vec<u32>,
) {
    let near: u32 = is_near.clone().map(u32::from).sum();
    if near == 0 {
        return;
    }
    let mut flags = [0_u8; BATCH];
    for (flag, is_near) in flags.iter_mut().zip(is_near) {
        *flag = u8::from(is_near);
    }
    let (words, _) = flags.as_chunks::<8>();
    for (word, flags) in words.iter().enumerate() {
        let mut flags = u64::from_le_bytes(*flags);
        while flags != 0 {
            let index = batch * BATCH + word * 8;
            indices.push(index as u32 + flags.trailing_zeros() / 8);
            flags &= flags - 1;
        }
    }
}

/// Refuses a radius above 64, the number of bits of a fingerprint.
pub(crate) fn check_radius(radius: u32) -> Result<()> {
    if radius > Fingerprint::BITS {
        return Err(Error::InvalidRadius { radius });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_equal_two_nested_loops() {
        let query = 0x0123_4567_89ab_cdef_u64;
        let a: Vec<u64> = (0..90).map(|n| query ^ (u64::MAX << (n % 61))).collect();
        let b: Vec<u64> = (0..70).map(|n| query ^ (u64::MAX >> (n % 59))).collect();
        let is_near = |(a, b): &(u64, u64), radius| (a ^ b).count_ones() <= radius;
        for radius in [0, 1, 3, 20, 40, 64] {
            for length in [0, 1, 7, 33, 70] {
                let each = a.iter().flat_map(|a| b[..length].iter().map(|b| (*a, *b)));
                let expected: Vec<_> = each.filter(|pair| is_near(pair, radius)).collect();
                let mut found = Vec::new();
                push_pairs_between(&a, &b[..length], radius, &mut found);
                assert_eq!(found, expected);

                let b = &b[..length];
                let each =
                    (0..length).flat_map(|n| b[n + 1..].iter().map(move |other| (b[n], *other)));
                let expected: Vec<_> = each.filter(|pair| is_near(pair, radius)).collect();
                found.clear();
                push_pairs_among(b, radius, &mut found);
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn push_within_equals_plain_loop_at_every_length_and_radius() {
        let query = 0x0123_4567_89ab_cdef_u64;
        let fingerprints: Vec<u64> = (0..300)
            .map(|n| query ^ (u64::MAX.checked_shl(n % 71).unwrap_or(0)))
            .collect();
        for length in 0..fingerprints.len() {
            let fingerprints = &fingerprints[..length];
            for radius in 0..=64 {
                let expected: Vec<u64> = fingerprints
                    .iter()
                    .copied()
                    .filter(|each| (each ^ query).count_ones() <= radius)
                    .collect();
                let mut found = Vec::new();
                push_within(fingerprints, query, radius, &mut found);
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn near_indices_equal_plain_loop_in_both_versions() {
        let query = 0x0123_4567_89ab_cdef_u64;
        let fingerprints: Vec<u64> = (0..300)
            .map(|n| query ^ (u64::MAX.checked_shl(n * 7 % 71).unwrap_or(0)))
            .collect();
        let low: Vec<u32> = fingerprints.iter().map(|each| *each as u32).collect();
        let above: Vec<u16> = fingerprints
            .iter()
            .map(|each| (each >> 32) as u16)
            .collect();
        let middle: Vec<u8> = above.iter().map(|above| *above as u8).collect();
        for length in (0..40).chain([127, 128, 129, 300]) {
            let (low, middle, above) = (&low[..length], &middle[..length], &above[..length]);
            for radius in 0..=49 {
                let expected = |bits: u32| -> Vec<u32> {
                    let distance = |each: &u64| ((each ^ query) << (64 - bits)).count_ones();
                    let numbered = (0..).zip(&fingerprints[..length]);
                    let near = numbered.filter(|(_, each)| distance(each) <= radius);
                    near.map(|(index, _)| index).collect()
                };
                let mut found: [Vec<u32>; 6] = Default::default();
                push_near_32(low, query, radius, &mut found[0]);
                push_near_32_portable(low, query, radius, &mut found[1]);
                push_near_40(low, middle, query, radius, &mut found[2]);
                let own = (query as u32, (query >> 32) as u8);
                push_near_above_32_portable(low, middle, own, radius, &mut found[3]);
                push_near_48(low, above, query, radius, &mut found[4]);
                let own = (query as u32, (query >> 32) as u16);
                push_near_above_32_portable(low, above, own, radius, &mut found[5]);
                for (found, bits) in found.iter().zip([32, 32, 40, 40, 48, 48]) {
                    assert_eq!(
                        *found,
                        expected(bits),
                        "{length}, {bits} bits, radius {radius}"
                    );
                }
            }
        }
    }
}
