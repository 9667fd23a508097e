//! Fingerprint and radius to the stored fingerprints within it: by probing the keys that are near
//! enough, or by looking at all there are, whichever is cheaper.

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

/// Looks at the fingerprints whose block keys are near enough to the query's.
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
        let near = index.look_up(block, &keys, |index, key, run, near| {
            push_near(index, probes, block, (key, run), rotated, radius, near)
        })?;
        let candidates = near.into_iter().map(|near| block::unrotate(near, block));
        // What another block owns is found there.
        found.extend(candidates.filter(|near| probes.owner(query, *near) == Some(block)));
    }
    Ok(found)
}

/// Of a key that more parts of it would have to be looked for, all is read instead.
const MOST_PARTS: u64 = 1024;

/// Appends those of a run that are within the radius of a query to `near`. Of a long run, only
/// those need be among them that its block owns.
fn push_near(
    index: &impl FingerprintSource,
    probes: &Probes,
    block: usize,
    (key, run): (u16, Bucket<'_>),
    rotated: u64,
    radius: u32,
    near: &mut Vec<u64>,
) -> Result<()> {
    match run {
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

/// The parts of a key that must be read, in order; nothing if it is all of it.
pub(super) fn parts_to_read(
    probes: &Probes,
    block: usize,
    key: u16,
    rotated: u64,
) -> Option<Vec<(u64, u64)>> {
    probes.parts(block, rotated, key, MOST_PARTS)
}

/// A part that begins within so many pieces of a walk, if fingerprints are spread there as they
/// are here, is walked to: to leap is to descend from the root again.
const PIECES_WALKED: u64 = 4;

/// Appends to `near` what is within the radius of a query in these parts of a block, in one walk
/// that reads nothing twice, and perhaps something between them.
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
        // What lies behind the last of the piece is still to be read.
        parts = &parts[parts.partition_point(|(_, to)| to <= last)..];
        Ok(match parts.first() {
            None => Step::Stop,
            Some((from, _)) if from <= last => Step::Next,
            Some((from, _)) if from - last <= (last - first).saturating_mul(PIECES_WALKED) => {
                Step::Next
            }
            Some((from, _)) => Step::SeekTo(*from),
        })
    })
}

/// Looks at every fingerprint.
fn scan(
    index: &impl FingerprintSource,
    query: Fingerprint,
    radius: u32,
) -> Result<Vec<Fingerprint>> {
    let rotated = block::rotate(query, SCANNED);
    let near = index.scan(|fingerprints, near| {
        hamming::push_within(fingerprints, rotated, radius, near);
    })?;
    let found = near.into_iter().map(|near| block::unrotate(near, SCANNED));
    Ok(found.collect())
}

/// What finding the first chunk of a key costs, in chunks read.
const DESCENT_COST: f64 = 2.0;
/// What comparing a chunk with one more query costs, in chunks read.
const COMPARISON_COST: f64 = 0.1;
/// What it costs besides to bring a query and a key together, in chunks read.
const PAIR_COST: f64 = 0.02;

/// Whether so many queries cost less by probing than by looking at every fingerprint for each.
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
        // The chunks at both ends hold other keys too.
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
    use crate::query::spreads::{CENTRE, Spreads};

    /// Probing and scanning find the same, and what the plain scan finds: no match at exactly the
    /// radius is missed, and none beyond it is taken.
    #[test]
    fn probing_and_scanning_find_every_spread_of_the_differing_bits() {
        let spreads = Spreads::stored();
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
