//! All pairs of similar texts.

use std::ops::ControlFlow;

use super::nodes::Nodes;
use super::part::Part;
use super::{SimilarJoin, refuse_without_texts};
use crate::containment::Verdict;
use crate::document::DocId;
use crate::error::Result;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::similarity::Resemblance;
use crate::store::{FingerprintSource, View};

/// Texts that are searched between two calls of the visitor.
const BATCH_NODES: usize = 1 << 14;

/// Two documents with similar texts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimilarPair {
    /// The smaller id.
    pub a: DocId,
    /// The larger id.
    pub b: DocId,
    /// The Hamming distance of the fingerprints.
    pub distance: u32,
    /// The likeness of the texts.
    pub resemblance: Resemblance,
    /// The verdict about the texts of `a` and `b`; `None` with [`Decision::Alike`](crate::Decision).
    pub verdict: Option<Verdict>,
}

/// An event that [`Snapshot::similar_pairs`](crate::Snapshot::similar_pairs) passes to its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SimilarPairsEvent<'p> {
    /// The documents of a text that several documents have, in order of their ids. All such texts are
    /// passed before the first pair. Pairs name only the first of these documents.
    Copies(&'p [DocId]),
    /// Some pairs of documents with different texts, in no order. Each pair of texts is passed once, with
    /// the smallest document id of each text.
    Pairs(&'p [SimilarPair]),
}

/// Calls `visitor` with all copies and pairs, until `visitor` breaks. Returns `Break` if `visitor` did.
pub(crate) fn similar_pairs(
    view: &View,
    join: &SimilarJoin<'_>,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(SimilarPairsEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    refuse_without_texts(view)?;
    let nodes = Nodes::read(view, &join.scope, progress)?;
    let mut reporter = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
    for node in 0..nodes.len() as u32 {
        let documents = nodes.documents(node);
        let are_compared = documents.len() > 1 && !join.scope.is_across();
        if are_compared && visitor(SimilarPairsEvent::Copies(documents)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    for range in nodes.ranges(&join.scope) {
        let mut first = range.start;
        while first < range.end {
            let share = f64::from(first) / nodes.len() as f64;
            let (part, end) = view.tables.in_parallel(|| {
                let rest: Vec<u32> = (first..range.end).collect();
                Part::fill(view, join, &nodes, &rest, &mut || {
                    reporter.advance_to_share(share)
                })
            })?;
            let searched: Vec<u32> = (first..range.end).collect();
            for batch in searched.chunks(BATCH_NODES) {
                let found = view.tables.in_parallel(|| part.pairs(batch))?;
                if !found.is_empty() && visitor(SimilarPairsEvent::Pairs(&found)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                reporter.advance_to_share(f64::from(batch[0]) / nodes.len() as f64)?;
            }
            first = end.min(range.end);
        }
    }
    reporter.finish()?;
    Ok(ControlFlow::Continue(()))
}
