//! The Hamming kernel: which of many fingerprints lie within a radius.
//!
//! Fingerprints come as the bytes of a chunk: little-endian `u64`s without alignment. Comparing
//! all of a chunk (under 2 ns a fingerprint, with no branch) is faster than searching inside it,
//! so nothing here knows about order. The widest vector population count of the processor is
//! chosen at run time; an ordinary build runs at full speed.

use multiversion::multiversion;

/// How many of the fingerprints lie within `radius` of `query`.
///
/// `fingerprints` holds 8 bytes for each; a remainder is not looked at.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+sse4.2+popcnt",
    "aarch64+neon",
))]
pub(crate) fn count_within(fingerprints: &[u8], query: u64, radius: u32) -> usize {
    let (fingerprints, _) = fingerprints.as_chunks::<8>();
    fingerprints
        .iter()
        .map(|bytes| u64::from((u64::from_le_bytes(*bytes) ^ query).count_ones() <= radius))
        .sum::<u64>() as usize
}

/// Calls `found` with position and fingerprint of each that lies within `radius` of `query`.
///
/// Nearly every chunk has none, and is done after [`count_within`].
pub(crate) fn for_each_within(
    fingerprints: &[u8],
    query: u64,
    radius: u32,
    mut found: impl FnMut(usize, u64),
) {
    let mut remaining = count_within(fingerprints, query, radius);
    let (fingerprints, _) = fingerprints.as_chunks::<8>();
    for (position, bytes) in fingerprints.iter().enumerate() {
        if remaining == 0 {
            return;
        }
        let fingerprint = u64::from_le_bytes(*bytes);
        if (fingerprint ^ query).count_ones() <= radius {
            remaining -= 1;
            found(position, fingerprint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_plain_loop_finds_at_every_length_and_radius() {
        let query = 0x0123_4567_89ab_cdef_u64;
        let fingerprints: Vec<u64> = (0..=70)
            .map(|n| query ^ (u64::MAX.checked_shl(n).unwrap_or(0)))
            .collect();
        for length in 0..fingerprints.len() {
            let bytes: Vec<u8> = fingerprints[..length]
                .iter()
                .flat_map(|f| f.to_le_bytes())
                .collect();
            for radius in 0..=64 {
                let expected: Vec<(usize, u64)> = fingerprints[..length]
                    .iter()
                    .copied()
                    .enumerate()
                    .filter(|(_, f)| (f ^ query).count_ones() <= radius)
                    .collect();
                let mut found = Vec::new();
                for_each_within(&bytes, query, radius, |position, f| {
                    found.push((position, f))
                });
                assert_eq!(found, expected);
                assert_eq!(count_within(&bytes, query, radius), expected.len());
            }
        }
    }
}
