//! The nearest match of each of many queries, before they are decided upon one after the other.

use rayon::prelude::*;

use super::batch::within_batch;
use super::single::within;
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::{FingerprintSource, View};

/// Fewer queries are not worth waking other threads for.
const FEW: usize = 4;
/// So many queries pay for walking through the tables together.
const MANY: usize = 4096;

/// The first match of each query, or nothing if there is none: what [`within`] gives first. On all
/// cores.
pub(crate) fn nearest_of_each(
    view: &View,
    queries: &[Fingerprint],
    radius: u32,
) -> Result<Vec<Option<Match>>> {
    let nearest = |query: &Fingerprint| Ok(within(view, *query, radius, 1)?.pop());
    if queries.len() < FEW {
        return queries.iter().map(nearest).collect();
    }
    if queries.len() < MANY {
        let in_parallel = || queries.par_iter().map(nearest).collect();
        return view.tables.in_parallel(in_parallel);
    }
    let mut nearest = Vec::with_capacity(queries.len());
    within_batch(view, queries, radius, 1, &mut |_, mut matches| {
        nearest.push(matches.pop());
        true
    })?;
    Ok(nearest)
}
