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

/// Nodes whose texts are read and indexed together.
const BATCH_NODES: usize = 1 << 14;

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
        for batch in wanted.chunks(BATCH_NODES) {
            let texts: Result<Vec<String>> =
                batch.par_iter().map(|node| part.text(*node)).collect();
            part.index.extend(&texts?);
            part.indexed.extend_from_slice(batch);
            if part.index.len_bytes() >= join.memory_bytes {
                break;
            }
            report()?;
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

    /// Calls `visitor` with the texts before `node` that `accepts` accepts and that may be compared with
    /// `node`, until it breaks.
    fn visit<B>(
        &self,
        node: u32,
        accepts: &dyn Fn(u32) -> bool,
        mut visitor: impl FnMut(u32, SimilarText) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>> {
        let text = PreparedText::new(&self.text(node)?);
        let end = self.indexed.partition_point(|other| *other < node) as u32;
        let group = self.nodes.group(node);
        let node_at = |position: u32| self.indexed[position as usize];
        let is_compared = |position: u32| {
            let other = node_at(position);
            let is_other_group = !self.is_across || self.nodes.group(other) != group;
            is_other_group && accepts(other)
        };
        Ok(
            (self.index).visit_accepted(&text, 0..end, &is_compared, |similar| {
                visitor(node_at(similar.position), similar)
            }),
        )
    }

    /// The pairs of a node with the nodes before it.
    pub(super) fn pairs(&self, node: u32) -> Result<Vec<SimilarPair>> {
        let mut pairs = Vec::new();
        let own = self.nodes.documents(node)[0];
        let found = self.visit(node, &|_| true, |other, similar| {
            let other = self.nodes.documents(other)[0];
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
        })?;
        debug_assert!(found.is_continue());
        for pair in &mut pairs {
            let fingerprint =
                |id| -> Result<_> { Ok(self.view.stored(id)?.map(|stored| stored.fingerprint)) };
            if let (Some(a), Some(b)) = (fingerprint(pair.a)?, fingerprint(pair.b)?) {
                pair.distance = a.distance(b);
            }
        }
        Ok(pairs)
    }
}

impl Containers for Part<'_> {
    fn find(&self, node: u32, accepts: &(dyn Fn(u32) -> bool + Sync)) -> Result<Option<u32>> {
        let found = self.visit(node, accepts, |other, similar| {
            // With thresholds alone, a text stands for each text that is alike.
            match similar.verdict().is_none_or(Verdict::is_a_in_b) {
                true => ControlFlow::Break(other),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(found.break_value())
    }
}
