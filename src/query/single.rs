//! One query: its matches in order, or the nearest.

use super::candidates::fingerprints_within;
use super::documents::for_each_document;
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::{FingerprintSource, View};

/// The largest Hamming distance of two fingerprints.
const MAX_RADIUS: u32 = 64;

/// The radii tried in turn for the nearest documents: the largest before a probe of one more bit in
/// each block, then larger steps, at which a query scans.
const GROWING_RADII: [u32; 6] = [3, 7, 11, 15, 23, 31];

/// The first `limit` documents within the radius, nearest first, then smallest id. Reads the
/// documents of a fingerprint only as far as they are needed, even if a million share it.
pub(crate) fn within(
    view: &View<impl FingerprintSource>,
    query: Fingerprint,
    radius: u32,
    limit: usize,
) -> Result<Vec<Match>> {
    let mut matches = Vec::new();
    if limit == 0 {
        return Ok(matches);
    }
    let in_memtables = view.in_memtables(query, radius, limit);
    let mut in_memtables = in_memtables.into_iter().peekable();
    for_each_in_tables(view, query, radius, |found| {
        while matches.len() < limit
            && let Some(nearer) = in_memtables.next_if(|next| next.order() < found.order())
        {
            matches.push(nearer);
        }
        if matches.len() < limit {
            matches.push(found);
        }
        matches.len() < limit
    })?;
    let left = limit - matches.len();
    matches.extend(in_memtables.take(left));
    Ok(matches)
}

/// The `count` nearest documents, ties by id. Exact: grows the radius until enough are found.
pub(crate) fn nearest(view: &View, query: Fingerprint, count: usize) -> Result<Vec<Match>> {
    for radius in GROWING_RADII {
        let matches = within(view, query, radius, count)?;
        if matches.len() >= count {
            return Ok(matches);
        }
    }
    within(view, query, MAX_RADIUS, count)
}

/// Calls `visitor` with the documents of the tables within the radius, nearest first, then smallest
/// id, until it returns `false`. Leaves out documents that the memtables have edited, and expired ones.
fn for_each_in_tables(
    view: &View<impl FingerprintSource>,
    query: Fingerprint,
    radius: u32,
    mut visitor: impl FnMut(Match) -> bool,
) -> Result<()> {
    let tables = &view.tables;
    let mut found: Vec<(u32, u64)> = fingerprints_within(tables, query, radius)?
        .into_iter()
        .map(|found| (found.distance(query), found.bits()))
        .collect();
    found.sort_unstable();
    let mut failed = Ok(());
    for class in found.chunk_by(|a, b| a.0 == b.0) {
        let distance = class[0].0;
        let fingerprints: Vec<u64> = class.iter().map(|(_, fingerprint)| *fingerprint).collect();
        let goes_on = for_each_document(tables, &fingerprints, |id, fingerprint| {
            let found = Match {
                id,
                fingerprint,
                distance,
            };
            match view.answers_from_tables(id) {
                Ok(answers) => !answers || visitor(found),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        })?;
        if !goes_on {
            break;
        }
    }
    failed
}
