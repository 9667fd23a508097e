//! The stored fingerprints within a radius, found by probing the buckets of near block keys or by
//! scanning all fingerprints, whichever is cheaper.

use crate::block::{self, BLOCK_BITS, Probes};
use crate::error::Result;
use crate::hamming;
use crate::ids::Fingerprint;
use crate::store::{Bucket, SCAN_BLOCK, Tables, ViewAccess, VisitFlow};

/// The distinct reliable fingerprints within the radius, unsorted.
pub(super) fn fingerprints_within(
    source: &Tables<impl ViewAccess>,
    query: Fingerprint,
    radius: u32,
) -> Result<Vec<Fingerprint>> {
    let probes = Probes::for_radius(radius);
    if is_probing_cheaper(source, &probes, 1)? {
        probe(source, query, radius, &probes)
    } else {
        scan(source, query, radius)
    }
}

/// Compares the fingerprints of the probed buckets.
fn probe<A: ViewAccess>(
    source: &Tables<A>,
    query: Fingerprint,
    radius: u32,
    probes: &Probes,
) -> Result<Vec<Fingerprint>> {
    let keys: Vec<(usize, u16)> = probes
        .blocks()
        .flat_map(|block| {
            let own_key = block::front_key(block::rotate(query, block));
            probes
                .keys(block, own_key)
                .into_iter()
                .map(move |key| (block, key))
        })
        .collect();
    source.look_up(&keys, |source, (block, key), bucket, found| {
        let rotated = block::rotate(query, block);
        let mut near = Vec::new();
        match bucket {
            Bucket::Whole(fingerprints) => fingerprints.push_within(rotated, radius, &mut near),
            Bucket::TooLarge => {
                let parts = probes.parts(block, rotated, key, MAX_BUCKET_PARTS);
                let parts = parts.unwrap_or_else(|| vec![block::front_range(key)]);
                push_near_in_parts(source, block, &parts, rotated, radius, &mut near)?;
            }
        }
        let matches = near.into_iter().map(|bits| block::unrotate(bits, block));
        // Several blocks may find a match. Only the block that owns the match keeps it, so no set
        // of the fingerprints found so far is needed.
        found.extend(matches.filter(|each| probes.owner(query, *each) == Some(block)));
        Ok(())
    })
}

/// A bucket that is too large for the cache is read in parts, the ranges that can hold matches
/// owned by the block. If more than 1,024 parts are needed, the bucket is read whole.
pub(super) const MAX_BUCKET_PARTS: u64 = 1024;

/// Up to 4 chunks between two parts of a bucket are read rather than skipped, because a skip costs
/// a descent from the root of the table.
const MAX_CHUNKS_BETWEEN: u64 = 4;

/// Appends the fingerprints within the radius in these parts of a bucket to `near`. One walk visits
/// all parts and reads no chunk twice; it may also append fingerprints between the parts.
pub(super) fn push_near_in_parts(
    source: &Tables<impl ViewAccess>,
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
    source.visit_range(block, *from, *to, &mut |slice| {
        hamming::push_within(slice, rotated, radius, near);
        let (Some(first), Some(last)) = (slice.first(), slice.last()) else {
            return Ok(VisitFlow::Next);
        };
        // The parts that end in this slice are done. The distance to the next part is estimated in
        // chunks, each as wide as this slice.
        parts = &parts[parts.partition_point(|(_, to)| to <= last)..];
        Ok(match parts.first() {
            None => VisitFlow::Stop,
            Some((from, _)) if from <= last => VisitFlow::Next,
            Some((from, _)) if from - last <= (last - first).saturating_mul(MAX_CHUNKS_BETWEEN) => {
                VisitFlow::Next
            }
            Some((from, _)) => VisitFlow::SeekTo(*from),
        })
    })
}

/// Compares every stored fingerprint.
fn scan(
    source: &Tables<impl ViewAccess>,
    query: Fingerprint,
    radius: u32,
) -> Result<Vec<Fingerprint>> {
    // The scanned table holds rotated fingerprints. A rotation keeps distances, so the query is
    // rotated once rather than each fingerprint.
    let rotated = block::rotate(query, SCAN_BLOCK);
    let near = source.scan(|fingerprints, near| {
        fingerprints.push_within(rotated, radius, near);
    })?;
    Ok(near
        .into_iter()
        .map(|bits| block::unrotate(bits, SCAN_BLOCK))
        .collect())
}

/// The cost of the descent to the first chunk of a key, in chunks read.
const DESCENT_COST: f64 = 2.0;
/// The cost of comparing one chunk with one query, in chunks read.
const COMPARISON_COST: f64 = 0.1;
/// The remaining cost of each pair of a query and a probed key, in chunks read.
const PAIR_COST: f64 = 0.02;

/// Returns `true` if probing is cheaper than scanning for this number of queries.
pub(super) fn is_probing_cheaper(
    source: &Tables<impl ViewAccess>,
    probes: &Probes,
    queries: usize,
) -> Result<bool> {
    let keys_per_block = (1_u64 << BLOCK_BITS) as f64;
    let mut probing = 0.0;
    for block in probes.blocks() {
        let probed = probes.count(block) as f64 * queries as f64;
        let chunks_per_key = source.chunks(block)? as f64 / keys_per_block;
        // Queries share buckets, so at most all keys of the block are read. Each read takes one
        // chunk more, because the chunks at both ends of a bucket also hold other keys.
        let reading = probed.min(keys_per_block) * (DESCENT_COST + 1.0 + chunks_per_key);
        probing += reading + probed * (PAIR_COST + chunks_per_key * COMPARISON_COST);
    }
    let chunks = source.chunks(SCAN_BLOCK)? as f64;
    let scanning = DESCENT_COST + chunks + chunks * COMPARISON_COST * queries as f64;
    Ok(probing < scanning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixtures::{CENTRE, SpreadFixture};

    #[test]
    fn probe_and_scan_find_all_fingerprints_within_radius() {
        let fixture = SpreadFixture::new();
        let view = fixture.view();
        for radius in (0..=20).chain([23, 24, 64]) {
            let mut expected = fixture.fingerprints.clone();
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
