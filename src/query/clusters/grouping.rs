//! From a graph to groups: each document gets a keeper, or is one.
//!
//! Both shapes are one walk. The documents are gone through by their priority; each that has no
//! keeper yet becomes one and takes what is near it. In a star it ends there. In a connected
//! component what was taken takes on, until nothing is left that is near anything taken.

use std::collections::VecDeque;

use super::graph::{Graph, NONE};
use crate::error::Result;
use crate::progress::ProgressReporter;

/// Documents that are judged between two reports of progress.
const JUDGED_AT_ONCE: usize = if cfg!(test) { 3 } else { 1024 };
/// Documents whose surroundings are read between two reports of progress.
const LOOKED_AT_ONCE: u64 = if cfg!(test) { 2 } else { 1024 };

/// How often a document may be refused before nothing takes it any more: of very many documents
/// with one fingerprint and all kinds of texts, each would be compared with all others.
pub(super) const MOST_REFUSALS: u16 = 1024;

/// Says which documents, of some that are near one, belong to it.
pub(super) type Judge<'j> = dyn FnMut(u32, &[u32]) -> Result<Vec<bool>> + 'j;

/// How far a keeper reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To what is near it.
    Near,
    /// To what is near anything that it has reached.
    Connected,
}

/// Documents and their keepers.
pub(super) struct Grouping<'g> {
    graph: &'g Graph,
    /// The keeper of each document, itself if it is one.
    keepers: Vec<u32>,
    /// The documents of each node, those that wait to be taken first.
    waiting: Vec<u32>,
    /// How many of each node those are, at most.
    waiting_counts: Vec<u32>,
    /// How often each document was refused, if there is somebody to refuse.
    refusals: Vec<u16>,
    /// Around how many documents was looked.
    looked: u64,
}

impl<'g> Grouping<'g> {
    /// No document has a keeper.
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self::of(graph, vec![NONE; graph.len()])
    }

    fn of(graph: &'g Graph, keepers: Vec<u32>) -> Self {
        let holders = graph.holders();
        let counts = (0..holders.len() as u32).map(|node| holders.range(node).len() as u32);
        Self {
            keepers,
            waiting: holders.items().to_vec(),
            waiting_counts: counts.collect(),
            refusals: Vec::new(),
            looked: 0,
            graph,
        }
    }

    /// The same with these documents anew: they have no keepers.
    pub(super) fn again(self, documents: &[u32]) -> Self {
        let mut keepers = self.keepers;
        for document in documents {
            keepers[*document as usize] = NONE;
        }
        Self::of(self.graph, keepers)
    }

    /// The keeper of each document.
    pub(super) fn keepers(&self) -> &[u32] {
        &self.keepers
    }

    /// Goes through all documents in this order. Without a judge whatever is near belongs together.
    pub(super) fn run(
        &mut self,
        order: impl Iterator<Item = u32>,
        reach: Reach,
        mut judge: Option<&mut Judge<'_>>,
        progress: &mut ProgressReporter,
    ) -> Result<()> {
        if judge.is_some() {
            self.refusals = vec![0; self.graph.len()];
        }
        let all = self.graph.len() as f64;
        for (done, document) in order.enumerate() {
            if self.keepers[document as usize] != NONE {
                continue;
            }
            let mut report = || progress.advance_to_share(done as f64 / all);
            self.reach_from(document, reach, judge.as_deref_mut(), &mut report)?;
        }
        Ok(())
    }

    /// Makes a document a keeper and gives it what it reaches.
    fn reach_from(
        &mut self,
        keeper: u32,
        reach: Reach,
        mut judge: Option<&mut Judge<'_>>,
        report: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.keepers[keeper as usize] = keeper;
        let mut open = VecDeque::from([keeper]);
        while let Some(document) = open.pop_front() {
            self.looked += 1;
            if self.looked.is_multiple_of(LOOKED_AT_ONCE) {
                report()?;
            }
            let mut found = self.waiting_near(document);
            if let Some(judge) = &mut judge {
                let mut taken = Vec::new();
                for some in found.chunks(JUDGED_AT_ONCE) {
                    let verdicts = judge(document, some)?;
                    for (candidate, belongs) in some.iter().zip(verdicts) {
                        if belongs {
                            taken.push(*candidate)
                        } else {
                            self.refusals[*candidate as usize] += 1
                        }
                    }
                    report()?;
                }
                found = taken;
            }
            for document in &found {
                self.keepers[*document as usize] = keeper;
            }
            if reach == Reach::Connected {
                if judge.is_none() {
                    // All of a node were taken together, and all are near the same.
                    found.dedup_by_key(|document| self.graph.node(*document));
                }
                open.extend(found);
            }
        }
        Ok(())
    }

    /// The documents near one, its copies among them, that wait to be taken; those of one node
    /// follow one another.
    fn waiting_near(&mut self, document: u32) -> Vec<u32> {
        let graph = self.graph;
        let own = graph.node(document);
        let mut found = Vec::new();
        for node in std::iter::once(own).chain(graph.near(own).iter().copied()) {
            let of_node = &mut self.waiting[graph.holders().range(node)];
            let mut waiting = self.waiting_counts[node as usize] as usize;
            let mut db_path = 0;
            // What was taken since it was looked at last goes behind those that wait, for good.
            while db_path < waiting {
                let candidate = of_node[db_path];
                let refusals = self.refusals.get(candidate as usize);
                if self.keepers[candidate as usize] == NONE
                    && refusals.is_none_or(|refusals| *refusals < MOST_REFUSALS)
                {
                    db_path += 1;
                } else {
                    waiting -= 1;
                    of_node.swap(db_path, waiting);
                }
            }
            found.extend_from_slice(&of_node[..waiting]);
            self.waiting_counts[node as usize] = waiting as u32;
        }
        found
    }
}
