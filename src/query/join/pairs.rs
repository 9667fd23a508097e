//! All pairs of similar texts.

use std::ops::ControlFlow;

use super::SimilarJoin;
use super::pair::SimilarPairsEvent;
use super::part::JoinPart;
use super::text_nodes::TextNodes;
use crate::dedup::text_index::SimilarIndex;
use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::View;

/// Calls `visitor` with all copies and pairs of documents among some ids, until `visitor` breaks.
/// Returns `Break` if `visitor` did.
pub(crate) fn similar_pairs(
    view: &View,
    join: &SimilarJoin<'_>,
    among: &IdRanges,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(SimilarPairsEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    view.refuse_without_texts()?;
    let nodes = TextNodes::read(view, &join.groups, among, progress)?;
    let mut reporter = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
    for node in 0..nodes.len() as u32 {
        let documents = nodes.documents(node);
        let are_compared = documents.len() > 1 && !join.groups.is_across();
        if are_compared && visitor(SimilarPairsEvent::Copies(documents)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    for range in nodes.ranges(&join.groups) {
        let range: Vec<u32> = range.collect();
        let mut rest = &range[..];
        while !rest.is_empty() {
            let index = SimilarIndex::new(join.least_likeness(), join.decision)?;
            let mut part = JoinPart::new(view, join, &nodes, index);
            let mut searched = 0;
            // The nodes of the part are compared with those before them, later nodes with the whole
            // part.
            let mut added = 0;
            while searched < rest.len() {
                reporter.advance_to_share(f64::from(rest[added]) / nodes.len() as f64)?;
                let is_added = added == searched && !part.is_full();
                let (found, len) = view.tables.in_parallel(|| {
                    let batch = match is_added {
                        true => part.add(&rest[searched..])?,
                        false => part.batch(&rest[searched..])?,
                    };
                    Ok((batch.pairs()?, batch.nodes().len()))
                })?;
                if !found.is_empty() && visitor(SimilarPairsEvent::Pairs(&found)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                searched += len;
                added += if is_added { len } else { 0 };
            }
            rest = &rest[added..];
        }
    }
    reporter.finish()?;
    Ok(ControlFlow::Continue(()))
}
