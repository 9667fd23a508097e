//! [`Grouping`]: the keeper of each document of a graph.
//!
//! Both shapes are one walk. The documents are visited in order of priority. A document without a
//! keeper becomes a keeper and takes the documents near it. A star ends there. In a connected
//! component, each taken document takes the documents near it in turn, until no near document is
//! left.

use std::collections::VecDeque;

use super::Shape;
use super::graph::{CompressedRows, Graph, NONE};
use super::text_filter::TextFilter;
use crate::error::Result;
use crate::ids::DocId;
use crate::progress::ProgressReporter;
use crate::query::limits::QueryLimits;

/// After 1,024 comparisons with texts that are not alike, a document joins no cluster as a member.
/// Without this limit, n documents with one fingerprint and different texts would take n²
/// comparisons.
const MAX_REFUSALS: u16 = 1024;

/// The keepers of the documents of a graph.
pub(super) struct Grouping<'g> {
    graph: &'g Graph,
    text_filter: Option<TextFilter<'g>>,
    limits: &'g QueryLimits,
    /// The keeper of each document: a keeper has itself, a document that is not grouped yet
    /// [`NONE`].
    keepers: Vec<u32>,
    /// The documents of each node. The first `candidate_counts` of a node may still be taken, the
    /// rest may not.
    candidates: Vec<u32>,
    /// The number of candidates of each node; some may have been taken since the last visit.
    candidate_counts: Vec<u32>,
    /// The number of times that the text filter refused each document; empty without a text filter.
    refusals: Vec<u16>,
    /// The number of documents whose neighbours have been visited.
    expanded: u64,
}

impl<'g> Grouping<'g> {
    /// Creates a grouping in which no document has a keeper. Without a text filter, texts are not
    /// compared.
    pub(super) fn new(
        graph: &'g Graph,
        text_filter: Option<TextFilter<'g>>,
        limits: &'g QueryLimits,
    ) -> Self {
        let mut grouping = Self {
            graph,
            text_filter,
            limits,
            keepers: vec![NONE; graph.ids.len()],
            candidates: Vec::new(),
            candidate_counts: Vec::new(),
            refusals: Vec::new(),
            expanded: 0,
        };
        grouping.reset(&[]);
        grouping
    }

    /// Removes the keepers of these documents, and all refusals.
    pub(super) fn reset(&mut self, documents: &[u32]) {
        for document in documents {
            self.keepers[*document as usize] = NONE;
        }
        let nodes = &self.graph.documents;
        self.candidates = nodes.items.clone();
        self.candidate_counts = (0..nodes.len() as u32)
            .map(|node| nodes.row(node).len() as u32)
            .collect();
        if self.text_filter.is_some() {
            self.refusals = vec![0; self.keepers.len()];
        }
    }

    pub(super) fn keepers(&self) -> &[u32] {
        &self.keepers
    }

    /// The documents of each keeper, including the keeper, in order of their ids. The row of a
    /// document that is not a keeper is empty.
    pub(super) fn members(&self) -> CompressedRows {
        CompressedRows::new(self.keepers.len(), || self.keepers.iter().copied().zip(0..))
    }

    /// Groups the documents that have no keeper yet, in this order.
    pub(super) fn run(
        &mut self,
        order: &[u32],
        shape: Shape,
        progress: &mut ProgressReporter,
    ) -> Result<()> {
        let all = self.keepers.len() as f64;
        for (done, document) in order.iter().enumerate() {
            if self.keepers[*document as usize] == NONE {
                let mut report = || progress.advance_to_share(done as f64 / all);
                self.grow_cluster(*document, shape, &mut report)?;
            }
        }
        Ok(())
    }

    fn grow_cluster(
        &mut self,
        keeper: u32,
        shape: Shape,
        report: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        // A breadth-first search; a star ends after its first document.
        self.keepers[keeper as usize] = keeper;
        let mut frontier = VecDeque::from([keeper]);
        while let Some(document) = frontier.pop_front() {
            self.expanded += 1;
            if self
                .expanded
                .is_multiple_of(self.limits.documents_per_report)
            {
                report()?;
            }
            let near = self.candidates_near(document);
            let mut taken = self.filter_by_text(document, near, report)?;
            for document in &taken {
                self.keepers[*document as usize] = keeper;
            }
            if matches!(shape, Shape::Connected { .. }) {
                if self.text_filter.is_none() {
                    // All candidates of a node were taken together and have the same neighbours, so
                    // one visit for each node is enough. With a text filter, texts make neighbours
                    // differ.
                    taken.dedup_by_key(|document| self.graph.node(*document));
                }
                frontier.extend(taken);
            }
        }
        Ok(())
    }

    /// Returns the documents near `document` that may still be taken, including its copies. The
    /// documents of a node are adjacent.
    fn candidates_near(&mut self, document: u32) -> Vec<u32> {
        let graph = self.graph;
        let own = graph.node(document);
        let mut found = Vec::new();
        for node in std::iter::once(own).chain(graph.near.row(own).iter().copied()) {
            let node_documents = &mut self.candidates[graph.documents.range(node)];
            let mut count = self.candidate_counts[node as usize] as usize;
            let mut index = 0;
            // Documents that were taken or refused too often since the last visit are moved behind
            // the candidates for good. Otherwise each document of a large node would read the whole
            // node.
            while index < count {
                let candidate = node_documents[index] as usize;
                let refusals = self.refusals.get(candidate).copied().unwrap_or(0);
                if self.keepers[candidate] == NONE && refusals < MAX_REFUSALS {
                    index += 1;
                } else {
                    count -= 1;
                    node_documents.swap(index, count);
                }
            }
            found.extend_from_slice(&node_documents[..count]);
            self.candidate_counts[node as usize] = count as u32;
        }
        found
    }

    /// Returns the candidates that the text of a document covers; all candidates without a
    /// text filter. Counts the refusals of the other candidates.
    fn filter_by_text(
        &mut self,
        document: u32,
        candidates: Vec<u32>,
        report: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Vec<u32>> {
        let Some(text_filter) = &self.text_filter else {
            return Ok(candidates);
        };
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let text = text_filter.text(self.graph.id(document))?;
        let mut taken = Vec::new();
        // A node may have a million documents, whose texts take long to compare: report in between.
        for candidates in candidates.chunks(self.limits.texts_per_report) {
            let ids: Vec<DocId> = candidates.iter().map(|each| self.graph.id(*each)).collect();
            let are_covered = text_filter.are_covered(text.as_ref(), &ids)?;
            for (candidate, is_covered) in candidates.iter().zip(are_covered) {
                if is_covered {
                    taken.push(*candidate);
                } else {
                    self.refusals[*candidate as usize] += 1;
                }
            }
            report()?;
        }
        Ok(taken)
    }
}
