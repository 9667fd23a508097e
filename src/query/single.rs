//! One query: its matches in order, or the nearest.

use super::candidates::fingerprints_within;
use super::documents::for_each_document;
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::Index;

/// The largest distance there is: at this radius everything matches.
const MAX_RADIUS: u32 = 64;

/// The radii at which the nearest documents are looked for, in turn: the largest ones before a
/// block takes on another bit, then what scans tell apart.
const GROWING_RADII: [u32; 6] = [3, 7, 11, 15, 23, 31];

/// Every document within the radius, nearest first, then smallest id; at most `limit` of them.
pub(crate) fn within(
    index: &impl Index,
    query: Fingerprint,
    radius: u32,
    limit: usize,
) -> Result<Vec<Match>> {
    let mut matches = Vec::new();
    if limit == 0 {
        return Ok(matches);
    }
    for_each_match(index, query, radius, |found| {
        matches.push(found);
        matches.len() < limit
    })?;
    Ok(matches)
}

/// The `count` nearest documents, ties by id: exact, by growing the radius until they are found.
pub(crate) fn nearest(index: &impl Index, query: Fingerprint, count: usize) -> Result<Vec<Match>> {
    for radius in GROWING_RADII {
        let matches = within(index, query, radius, count)?;
        if matches.len() >= count {
            return Ok(matches);
        }
    }
    within(index, query, MAX_RADIUS, count)
}

/// Calls `visitor` with every document within the radius, nearest first, then smallest id, until
/// it says `false`. The documents of a fingerprint are read as they are asked for, so a million
/// copies of one text cost no more than those that are looked at.
pub(crate) fn for_each_match(
    index: &impl Index,
    query: Fingerprint,
    radius: u32,
    mut visitor: impl FnMut(Match) -> bool,
) -> Result<()> {
    let mut found: Vec<(u32, u64)> = fingerprints_within(index, query, radius)?
        .into_iter()
        .map(|found| (found.distance(query), found.bits()))
        .collect();
    found.sort_unstable();
    for class in found.chunk_by(|a, b| a.0 == b.0) {
        let distance = class[0].0;
        let fingerprints: Vec<u64> = class.iter().map(|(_, fingerprint)| *fingerprint).collect();
        let goes_on = for_each_document(index, &fingerprints, |id, fingerprint| {
            visitor(Match {
                id,
                fingerprint,
                distance,
            })
        })?;
        if !goes_on {
            break;
        }
    }
    Ok(())
}
