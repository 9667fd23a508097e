//! The stored fingerprints within a radius: by probing the buckets whose keys are near enough, or by
//! scanning all fingerprints, whichever is cheaper.

use crate::block::{self, BLOCK_BITS, Probes};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::hamming;
use crate::store::{Bucket, FingerprintSource, SCANNED, Step};

/// The distinct reliable fingerprints within the radius, each once, in no order.
pub(super) fn fingerprints_within(
    index: &impl FingerprintSource,
    query: Fingerprint,
    radius: u32,
) -> Result<Vec<Fingerprint>> {
    let probes = Probes::for_radius(radius);
    if is_probing_cheaper(index, &probes, 1)? {
        probe(index, query, radius, &probes)
    } else {
        scan(index, query, radius)
    }
}

/// Compares the fingerprints whose block keys are near enough to those of the query.
fn probe<I: FingerprintSource>(
    index: &I,
    query: Fingerprint,
    radius: u32,
    probes: &Probes,
) -> Result<Vec<Fingerprint>> {
    let mut found = Vec::new();
    for block in probes.blocks() {
        let rotated = block::rotate(query, block);
        let keys = probes.keys(block, block::front_key(rotated));
        let near = index.look_up(block, &keys, |index, key, bucket, near| {
            push_near(index, probes, block, (key, bucket), rotated, radius, near)
        })?;
        let candidates = near.into_iter().map(|near| block::unrotate(near, block));
        // A fingerprint is near in several blocks, and taken from the one that owns it.
        found.extend(candidates.filter(|near| probes.owner(query, *near) == Some(block)));
    }
    Ok(found)
}

/// If a bucket splits into more parts than this, read it whole.
const MAX_PARTS: u64 = 1024;

/// Appends the fingerprints of a bucket within the radius of a query to `near`. Of a bucket too large
/// for the cache, those that another block owns may be left out.
fn push_near(
    index: &impl FingerprintSource,
    probes: &Probes,
    block: usize,
    (key, bucket): (u16, Bucket<'_>),
    rotated: u64,
    radius: u32,
    near: &mut Vec<u64>,
) -> Result<()> {
    match bucket {
        Bucket::Whole(fingerprints) => {
            hamming::push_within(fingerprints, rotated, radius, near);
            Ok(())
        }
        Bucket::TooLarge => {
            let parts = parts_to_read(probes, block, key, rotated)
                .unwrap_or_else(|| vec![block::front_range(key)]);
            push_near_in_parts(index, block, &parts, rotated, radius, near)
        }
    }
}

/// The parts of a bucket that must be read, in order; `None` if the whole bucket must be.
pub(super) fn parts_to_read(
    probes: &Probes,
    block: usize,
    key: u16,
    rotated: u64,
) -> Option<Vec<(u64, u64)>> {
    probes.parts(block, rotated, key, MAX_PARTS)
}

/// Chunks between two parts that are read rather than skipped: to skip is to descend from the root
/// again.
const MAX_CHUNKS_BETWEEN: u64 = 4;

/// Appends the fingerprints within the radius of a query in these parts of a block to `near`, in one
/// walk that reads no chunk twice. Fingerprints between the parts may be among them.
pub(super) fn push_near_in_parts(
    index: &impl FingerprintSource,
    block: usize,
    parts: &[(u64, u64)],
    rotated: u64,
    radius: u32,
    near: &mut Vec<u64>,
) -> Result<()> {
    let (Some((from, _)), Some((_, to))) = (parts.first(), parts.last()) else {
        return Ok(());
    };
    let mut parts = parts;
    index.visit_range(block, *from, *to, &mut |piece| {
        hamming::push_within(piece, rotated, radius, near);
        let (Some(first), Some(last)) = (piece.first(), piece.last()) else {
            return Ok(Step::Next);
        };
        // The parts that end behind this piece are still to be read.
        parts = &parts[parts.partition_point(|(_, to)| to <= last)..];
        Ok(match parts.first() {
            None => Step::Stop,
            Some((from, _)) if from <= last => Step::Next,
            Some((from, _)) if from - last <= (last - first).saturating_mul(MAX_CHUNKS_BETWEEN) => {
                Step::Next
            }
            Some((from, _)) => Step::SeekTo(*from),
        })
    })
}

/// Compares every fingerprint.
fn scan(
    index: &impl FingerprintSource,
    query: Fingerprint,
    radius: u32,
) -> Result<Vec<Fingerprint>> {
    let rotated = block::rotate(query, SCANNED);
    let near = index.scan(|fingerprints, near| {
        hamming::push_within(fingerprints, rotated, radius, near);
    })?;
    Ok(near
        .into_iter()
        .map(|near| block::unrotate(near, SCANNED))
        .collect())
}

/// The cost of finding the first chunk of a key, in chunks read.
const DESCENT_COST: f64 = 2.0;
/// The cost of comparing a chunk with one more query, in chunks read.
const COMPARISON_COST: f64 = 0.1;
/// The other cost of each pair of a query and a key, in chunks read.
const PAIR_COST: f64 = 0.02;

/// Returns `true` if probing costs less than scanning for this number of queries.
pub(super) fn is_probing_cheaper(
    index: &impl FingerprintSource,
    probes: &Probes,
    queries: usize,
) -> Result<bool> {
    let keys_in_all = (1_u64 << BLOCK_BITS) as f64;
    let mut probing = 0.0;
    for block in probes.blocks() {
        let probed = probes.count(block) as f64 * queries as f64;
        let chunks_a_key = index.chunks(block)? as f64 / keys_in_all;
        // One chunk more: those at both ends hold other keys too.
        let reading = probed.min(keys_in_all) * (DESCENT_COST + 1.0 + chunks_a_key);
        probing += reading + probed * (PAIR_COST + chunks_a_key * COMPARISON_COST);
    }
    let chunks = index.chunks(SCANNED)? as f64;
    let scanning = DESCENT_COST + chunks + chunks * COMPARISON_COST * queries as f64;
    Ok(probing < scanning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{CENTRE, SpreadFixture};

    /// No match at exactly the radius is missed, and none beyond it is found.
    #[test]
    fn probing_and_scanning_find_every_spread_of_the_differing_bits() {
        let spreads = SpreadFixture::new();
        let view = spreads.view();
        for radius in (0..=20).chain([23, 24, 64]) {
            let mut expected = spreads.fingerprints.clone();
            expected.retain(|each| each.distance(CENTRE) <= radius);
            expected.sort_unstable();
            let probes = Probes::for_radius(radius);
            let probed = probe(&view.tables, CENTRE, radius, &probes).unwrap();
            let scanned = scan(&view.tables, CENTRE, radius).unwrap();
            for mut found in [probed, scanned] {
                found.sort_unstable();
                assert_eq!(found.len(), expected.len(), "radius {radius}");
                assert!(found == expected, "radius {radius}");
            }
        }
    }
}
