//! The Hamming kernel: finds the fingerprints within a radius.
//!
//! The kernel compares all fingerprints of a bucket, at about 0.1 ns each without a branch, which
//! is faster than a search in the bucket. The widest population count of the processor is selected
//! at run time, so a portable build has full speed.

use multiversion::multiversion;

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
}
