//! One query: its matches in order, or the nearest.

use super::candidates::fingerprints_within;
use super::documents::for_each_document;
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::{FingerprintSource, View};

/// The largest distance there is: at this radius everything matches.
const MAX_RADIUS: u32 = 64;

/// The radii at which the nearest documents are looked for, in turn: the largest ones before a
/// block takes on another bit, then what scans tell apart.
const GROWING_RADII: [u32; 6] = [3, 7, 11, 15, 23, 31];

/// Every document within the radius, nearest first, then smallest id; at most `limit` of them. The
/// documents of a fingerprint are read as they are taken, so a million copies of one text cost no
/// more than those that are asked for.
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
    let in_tail = view.in_memtables(query, radius, limit);
    let mut in_tail = in_tail.into_iter().peekable();
    for_each_in_tables(view, query, radius, |found| {
        while matches.len() < limit
            && let Some(nearer) = in_tail.next_if(|next| next.order() < found.order())
        {
            matches.push(nearer);
        }
        if matches.len() < limit {
            matches.push(found);
        }
        matches.len() < limit
    })?;
    let left = limit - matches.len();
    matches.extend(in_tail.take(left));
    Ok(matches)
}

/// The `count` nearest documents, ties by id: exact, by growing the radius until they are found.
pub(crate) fn nearest(view: &View, query: Fingerprint, count: usize) -> Result<Vec<Match>> {
    for radius in GROWING_RADII {
        let matches = within(view, query, radius, count)?;
        if matches.len() >= count {
            return Ok(matches);
        }
    }
    within(view, query, MAX_RADIUS, count)
}

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
