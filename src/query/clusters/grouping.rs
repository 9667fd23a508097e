//! The keeper of each document of a graph.
//!
//! Both shapes are one walk. The documents are visited by their priority; each that has no keeper yet
//! becomes one and takes the documents near it. A star ends there. In a connected component each
//! document that was taken takes those near it, until none is left.

use std::collections::VecDeque;

use super::Shape;
use super::graph::{CompressedRows, Graph, NONE};
use super::text_filter::TextFilter;
use crate::document::DocId;
use crate::error::Result;
use crate::progress::ProgressReporter;
use crate::query::limits::QueryLimits;

/// A document that was found unlike in this many comparisons of texts joins no cluster any more. Without
/// this limit each of very many documents with one fingerprint and all kinds of texts would be compared
/// with all others.
const MAX_REFUSALS: u16 = 1024;

/// Documents and their keepers.
pub(super) struct Grouping<'g> {
    graph: &'g Graph,
    text_filter: Option<TextFilter<'g>>,
    limits: &'g QueryLimits,
    /// The keeper of each document, itself if it is one, [`NONE`] if it has none yet.
    keepers: Vec<u32>,
    /// The documents of each node, those that may still be taken first.
    candidates: Vec<u32>,
    /// The number of these in each node, at most.
    candidate_counts: Vec<u32>,
    /// The number of times that the text filter refused each document; empty without a text filter.
    refusals: Vec<u16>,
    /// The number of documents whose neighbours were looked at.
    expanded: u64,
}

impl<'g> Grouping<'g> {
    /// A grouping in which no document has a keeper. Without a text filter all documents that are near
    /// each other belong together.
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

    /// Takes the keepers from these documents, and forgets all refusals.
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

    /// The keeper of each document.
    pub(super) fn keepers(&self) -> &[u32] {
        &self.keepers
    }

    /// The documents of each keeper, itself among them, in order of their ids. The row of a document
    /// that is no keeper is empty.
    pub(super) fn members(&self) -> CompressedRows {
        CompressedRows::new(self.keepers.len(), || self.keepers.iter().copied().zip(0..))
    }

    /// Makes clusters of the documents that have no keeper yet, in this order.
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
        self.keepers[keeper as usize] = keeper;
        let mut open = VecDeque::from([keeper]);
        while let Some(document) = open.pop_front() {
            self.expanded += 1;
            if self
                .expanded
                .is_multiple_of(self.limits.documents_per_report)
            {
                report()?;
            }
            let near = self.candidates_near(document);
            let mut taken = self.refuse_unlike(document, near, report)?;
            for document in &taken {
                self.keepers[*document as usize] = keeper;
            }
            if matches!(shape, Shape::Connected { .. }) {
                if self.text_filter.is_none() {
                    // All candidates of a node were taken together, and have the same neighbours.
                    taken.dedup_by_key(|document| self.graph.node(*document));
                }
                open.extend(taken);
            }
        }
        Ok(())
    }

    /// Returns the documents near one, its copies among them, that may still be taken. Those of one
    /// node follow one another.
    fn candidates_near(&mut self, document: u32) -> Vec<u32> {
        let graph = self.graph;
        let own = graph.node(document);
        let mut found = Vec::new();
        for node in std::iter::once(own).chain(graph.near.row(own).iter().copied()) {
            let of_node = &mut self.candidates[graph.documents.range(node)];
            let mut count = self.candidate_counts[node as usize] as usize;
            let mut index = 0;
            // Documents taken or refused since the last visit move behind the candidates for good, so
            // that a node with very many documents is not walked through for each of them.
            while index < count {
                let candidate = of_node[index] as usize;
                let refusals = self.refusals.get(candidate).copied().unwrap_or(0);
                if self.keepers[candidate] == NONE && refusals < MAX_REFUSALS {
                    index += 1;
                } else {
                    count -= 1;
                    of_node.swap(index, count);
                }
            }
            found.extend_from_slice(&of_node[..count]);
            self.candidate_counts[node as usize] = count as u32;
        }
        found
    }

    /// Returns the candidates whose texts are like that of a document: all without a text filter.
    fn refuse_unlike(
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
        let wording = text_filter.wording(self.graph.id(document))?;
        let mut alike = Vec::new();
        for candidates in candidates.chunks(self.limits.texts_per_report) {
            let ids: Vec<DocId> = candidates.iter().map(|each| self.graph.id(*each)).collect();
            let are_alike = text_filter.are_alike(wording.as_ref(), &ids)?;
            for (candidate, is_alike) in candidates.iter().zip(are_alike) {
                if is_alike {
                    alike.push(*candidate);
                } else {
                    self.refusals[*candidate as usize] += 1;
                }
            }
            report()?;
        }
        Ok(alike)
    }
}
