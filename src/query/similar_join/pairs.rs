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
        let range: Vec<u32> = range.collect();
        let mut rest = &range[..];
        while !rest.is_empty() {
            let mut part = Part::new(view, join, &nodes)?;
            let mut searched = 0;
            // The nodes of the part are compared with those before them, later nodes with the whole part.
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
