//! [`Part`]: some nodes in an index in memory.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::SimilarJoin;
use super::keepers::Containers;
use super::nodes::Nodes;
use super::pairs::SimilarPair;
use crate::containment::Verdict;
use crate::error::Result;
use crate::similar_index::{PreparedText, SimilarIndex, SimilarText};
use crate::store::View;

/// Nodes whose texts are read together.
const READ_NODES: usize = 1 << 12;

/// Nodes that a thread searches together: some 10 MiB of prepared short texts.
const SEARCHED_NODES: usize = 1 << 11;

/// The least bytes of a node in an index.
const NODE_BYTES: usize = 1 << 9;

/// Some nodes, and an index of their texts.
pub(super) struct Part<'j> {
    view: &'j View,
    nodes: &'j Nodes,
    is_across: bool,
    index: SimilarIndex,
    /// The node at each position of the index. Nodes ascend.
    indexed: Vec<u32>,
}

impl<'j> Part<'j> {
    /// Indexes these nodes, which ascend, up to the memory of the join. Returns the part and the node
    /// after its last node.
    pub(super) fn fill(
        view: &'j View,
        join: &SimilarJoin<'_>,
        nodes: &'j Nodes,
        wanted: &[u32],
        report: &mut dyn FnMut() -> Result<()>,
    ) -> Result<(Self, u32)> {
        let mut part = Self {
            view,
            nodes,
            is_across: join.scope.is_across(),
            index: SimilarIndex::new(join.likeness, join.decision)?,
            indexed: Vec::new(),
        };
        // Few long batches make an index of few sorted runs, and a search reads each run.
        let batch_nodes = (join.memory_bytes / NODE_BYTES).max(1);
        for batch in wanted.chunks(batch_nodes) {
            let mut texts = Vec::with_capacity(batch.len());
            for nodes in batch.chunks(READ_NODES) {
                let read: Result<Vec<String>> =
                    nodes.par_iter().map(|node| part.text(*node)).collect();
                texts.extend(read?);
                report()?;
                if texts.iter().map(String::len).sum::<usize>() > join.memory_bytes / 8 {
                    break;
                }
            }
            part.indexed.extend_from_slice(&batch[..texts.len()]);
            part.index.extend(&texts);
            if texts.len() < batch.len() || part.index.len_bytes() >= join.memory_bytes / 2 {
                break;
            }
        }
        let end = part.indexed.last().map_or(u32::MAX, |last| last + 1);
        Ok((part, end))
    }

    /// The nodes, ascending.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.indexed
    }

    fn text(&self, node: u32) -> Result<String> {
        let text = self.view.text(self.nodes.documents(node)[0])?;
        // The text was there when the nodes were made of the same snapshot.
        Ok(text.unwrap_or_default())
    }

    /// Calls `take` with the search for each of these nodes, on all cores.
    fn search<T: Send>(
        &self,
        nodes: &[u32],
        take: impl Fn(Search<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let found = nodes.par_chunks(SEARCHED_NODES).map(|nodes| {
            let prepare = |node: &u32| {
                let end = self.indexed.partition_point(|other| other < node) as u32;
                Ok((PreparedText::new(&self.text(*node)?), end))
            };
            let texts: Result<Vec<_>> = nodes.iter().map(prepare).collect();
            let texts = texts?;
            let candidates = self.index.candidates_of_all(&texts);
            let searches = nodes.iter().zip(texts).zip(candidates);
            let taken = searches.map(|((node, (text, end)), candidates)| {
                take(Search {
                    part: self,
                    node: *node,
                    text,
                    end,
                    candidates,
                })
            });
            taken.collect()
        });
        let found: Result<Vec<Vec<T>>> = found.collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// The pairs of these nodes with the nodes before each of them.
    pub(super) fn pairs(&self, nodes: &[u32]) -> Result<Vec<SimilarPair>> {
        Ok(self.search(nodes, |search| search.pairs())?.concat())
    }
}

/// The search for the nodes of a part that are before a node and like it.
struct Search<'s> {
    part: &'s Part<'s>,
    node: u32,
    text: PreparedText,
    /// The position in the index of the first node that is not before the node.
    end: u32,
    candidates: Vec<u32>,
}

impl Search<'_> {
    /// Calls `visitor` with the nodes that `accepts` accepts and that may be compared with the node,
    /// until it breaks.
    fn visit<B>(
        self,
        accepts: &dyn Fn(u32) -> bool,
        mut visitor: impl FnMut(u32, SimilarText) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let part = self.part;
        let group = part.nodes.group(self.node);
        let is_compared = |position: u32| {
            let other = part.indexed[position as usize];
            let is_other_group = !part.is_across || part.nodes.group(other) != group;
            is_other_group && accepts(other)
        };
        let positions = 0..self.end;
        let (index, text, candidates) = (&part.index, &self.text, self.candidates);
        index.visit_candidates(text, candidates, positions, &is_compared, |similar| {
            visitor(part.indexed[similar.position as usize], similar)
        })
    }

    fn pairs(self) -> Result<Vec<SimilarPair>> {
        let (view, nodes) = (self.part.view, self.part.nodes);
        let mut pairs = Vec::new();
        let own = nodes.documents(self.node)[0];
        let found = self.visit(&|_| true, |other, similar| {
            let other = nodes.documents(other)[0];
            let verdict = similar.verdict();
            pairs.push(SimilarPair {
                a: own.min(other),
                b: own.max(other),
                distance: 0,
                resemblance: similar.resemblance,
                verdict: match own < other {
                    true => verdict,
                    false => verdict.map(Verdict::swapped),
                },
            });
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(found.is_continue());
        let fingerprint =
            |id| -> Result<_> { Ok(view.stored(id)?.map(|stored| stored.fingerprint)) };
        for pair in &mut pairs {
            if let (Some(a), Some(b)) = (fingerprint(pair.a)?, fingerprint(pair.b)?) {
                pair.distance = a.distance(b);
            }
        }
        Ok(pairs)
    }
}

impl Containers for Part<'_> {
    fn find(
        &self,
        nodes: &[u32],
        accepts: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Vec<Option<u32>>> {
        self.search(nodes, |search| {
            let found = search.visit(accepts, |other, similar| {
                // With thresholds alone, a text stands for each text that is alike.
                match similar.verdict().is_none_or(Verdict::is_a_in_b) {
                    true => ControlFlow::Break(other),
                    false => ControlFlow::Continue(()),
                }
            });
            Ok(found.break_value())
        })
    }
}
