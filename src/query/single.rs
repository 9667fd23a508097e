//! The answer to one query by fingerprint: the matches in order, or the nearest documents.

use super::candidates::fingerprints_within;
use super::documents::for_each_in_order;
use crate::document::Match;
use crate::error::Result;
use crate::ids::Fingerprint;
use crate::ids::scope::IdRanges;
use crate::store::{View, ViewAccess};

/// The radius within which all fingerprints lie.
const MAX_RADIUS: u32 = 64;

/// The radii tried in turn for the nearest documents. Radii 3, 7, 11 and 15 are the largest that
/// probe block keys with up to 0, 1, 2 and 3 differing bits. At larger radii a query scans, and
/// larger steps save scans.
const GROWING_RADII: [u32; 6] = [3, 7, 11, 15, 23, 31];

/// The first `limit` documents among some ids within the radius, nearest first, ties by smallest
/// id. Reads no more documents of a fingerprint than needed, even if a million documents share the
/// fingerprint.
pub(crate) fn within(
    view: &View<impl ViewAccess>,
    query: Fingerprint,
    radius: u32,
    among: &IdRanges,
    limit: usize,
) -> Result<Vec<Match>> {
    let mut matches = Vec::new();
    if limit == 0 || among.is_empty() {
        return Ok(matches);
    }
    // Merges the sorted matches of the memtables into the matches of the tables. The tables are
    // read step by step, so that the reads end as soon as the limit is reached.
    let in_memtables = view.in_memtables(query, radius, among, limit);
    let mut in_memtables = in_memtables.into_iter().peekable();
    for_each_in_tables(view, query, radius, among, |found| {
        while matches.len() < limit
            && let Some(nearer) = in_memtables.next_if(|next| *next < found)
        {
            matches.push(nearer);
        }
        if matches.len() < limit {
            matches.push(found);
        }
        matches.len() < limit
    })?;
    let room = limit - matches.len();
    matches.extend(in_memtables.take(room));
    Ok(matches)
}

/// The `count` nearest documents among some ids, ties by smallest id. The answer is exact: the
/// radius grows until `count` documents match.
pub(crate) fn nearest(
    view: &View,
    query: Fingerprint,
    among: &IdRanges,
    count: usize,
) -> Result<Vec<Match>> {
    for radius in GROWING_RADII {
        let matches = within(view, query, radius, among, count)?;
        if matches.len() >= count {
            return Ok(matches);
        }
    }
    within(view, query, MAX_RADIUS, among, count)
}

/// Calls `visitor` with the documents of the tables among some ids within the radius, nearest
/// first, ties by smallest id, until `visitor` returns `false`. Skips expired documents and
/// documents with an edit in a memtable.
fn for_each_in_tables(
    view: &View<impl ViewAccess>,
    query: Fingerprint,
    radius: u32,
    among: &IdRanges,
    mut visitor: impl FnMut(Match) -> bool,
) -> Result<()> {
    let tables = &view.tables;
    let mut found: Vec<(u32, u64)> = fingerprints_within(tables, query, radius)?
        .into_iter()
        .map(|found| (found.distance(query), found.bits()))
        .collect();
    found.sort_unstable();
    // The documents of all fingerprints at one distance are merged by id.
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        let distance = group[0].0;
        let fingerprints: Vec<u64> = group.iter().map(|(_, fingerprint)| *fingerprint).collect();
        let documents = tables.documents_of(&fingerprints)?;
        let visited_all = for_each_in_order(tables, documents, among, |id, fingerprint| {
            let found = Match {
                id,
                fingerprint,
                distance,
            };
            Ok(!view.answers_from_tables(id)? || visitor(found))
        })?;
        if !visited_all {
            break;
        }
    }
    Ok(())
}
