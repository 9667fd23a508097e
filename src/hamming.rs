//! The Hamming kernel: which of many fingerprints lie within a radius.
//!
//! Comparing all of a run (about a tenth of a nanosecond a fingerprint, with no branch) is faster
//! than searching inside it, so nothing here knows about order. The widest vector population
//! count of the processor is chosen at run time; an ordinary build runs at full speed.

use multiversion::multiversion;

/// Fingerprints counted at a time; only where some are near are they looked at one by one.
const COUNTED: usize = 128;

/// Appends each of the fingerprints that lies within `radius` of `query` to `found`, in order.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn push_within(fingerprints: &[u64], query: u64, radius: u32, found: &mut Vec<u64>) {
    let is_near = |fingerprint: &u64| (fingerprint ^ query).count_ones() <= radius;
    for part in fingerprints.chunks(COUNTED) {
        let near: u64 = part.iter().map(|each| u64::from(is_near(each))).sum();
        if near > 0 {
            found.extend(part.iter().copied().filter(is_near));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_plain_loop_finds_at_every_length_and_radius() {
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
