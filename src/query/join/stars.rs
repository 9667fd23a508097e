//! [`Stars`]: the removed nodes of each kept node, and the document of each star that stays.

use std::cmp::Reverse;

use super::keepers::Keepers;
use super::text_nodes::TextNodes;
use crate::error::Result;
use crate::ids::DocId;
use crate::query::clusters::{Priority, TextFilter};
use crate::store::View;

/// Documents tried as the keeper of a star before the longest text stays. A try compares a text
/// with all others of the star.
const MAX_TRIES: usize = 8;

/// The stars, in order of the smallest ids of their documents.
pub(super) struct Stars<'s> {
    nodes: &'s TextNodes,
    /// `true` if only texts of different groups are compared.
    is_across: bool,
    /// Each kept node and the nodes that it contains, by node; nodes of one star are adjacent.
    members: Vec<(u32, u32)>,
}

/// The documents of a star.
pub(super) struct Star {
    pub(super) keeper: DocId,
    /// All documents, including the keeper, in order of their ids.
    pub(super) documents: Vec<DocId>,
}

impl<'s> Stars<'s> {
    pub(super) fn new(nodes: &'s TextNodes, is_across: bool, keepers: &Keepers) -> Self {
        let all = 0..nodes.len() as u32;
        let mut members: Vec<(u32, u32)> = all.map(|node| (keepers.of(node), node)).collect();
        members.sort_unstable();
        Self {
            nodes,
            is_across,
            members,
        }
    }

    /// The nodes of each star of two documents or more, the kept node first, in order of the
    /// smallest document of each star.
    pub(super) fn stars(&self) -> Vec<&[(u32, u32)]> {
        let stars = self.members.chunk_by(|a, b| a.0 == b.0);
        let has_members = |star: &&[(u32, u32)]| {
            // Equal texts of one group stay if only texts of other groups are compared.
            star.len() > 1 || !self.is_across && self.nodes.documents(star[0].1).len() > 1
        };
        let mut stars: Vec<&[(u32, u32)]> = stars.filter(has_members).collect();
        let first = |star: &&[(u32, u32)]| {
            let firsts = star.iter().map(|(_, node)| self.nodes.documents(*node)[0]);
            firsts.min()
        };
        stars.sort_by_cached_key(first);
        stars
    }

    /// The scores of the documents of a star, which are computed on one thread.
    pub(super) fn ranked(
        &self,
        view: &View,
        star: &[(u32, u32)],
        priority: &mut Priority<'_>,
    ) -> Result<Vec<(Reverse<u64>, DocId, u32)>> {
        let mut ranked = Vec::new();
        for (_, node) in star {
            for id in self.nodes.documents(*node) {
                ranked.push((Reverse(priority.score(view, *id)?), *id, *node));
            }
        }
        ranked.sort_unstable();
        Ok(ranked)
    }

    /// Selects the keeper: the first ranked document whose text contains all texts of the star. The
    /// longest text does.
    pub(super) fn select(
        &self,
        texts: &TextFilter<'_>,
        star: &[(u32, u32)],
        ranked: &[(Reverse<u64>, DocId, u32)],
    ) -> Result<Star> {
        let longest = star[0].1;
        let mut tried = Vec::new();
        let mut kept = longest;
        for (.., node) in ranked {
            if *node == longest || tried.len() >= MAX_TRIES {
                break;
            }
            if !tried.contains(node) {
                tried.push(*node);
                if self.covers_all(texts, *node, star)? {
                    kept = *node;
                    break;
                }
            }
        }
        let keeper = ranked.iter().find(|(.., node)| *node == kept);
        let keeper = keeper.map_or(self.nodes.documents(kept)[0], |(_, id, _)| *id);
        let is_in = |(_, id, node): &&(Reverse<u64>, DocId, u32)| {
            // Copies of the kept text in its own group stay too, in no cluster.
            !self.is_across || *node != kept || *id == keeper
        };
        let documents = ranked.iter().filter(is_in).map(|(_, id, _)| *id);
        let mut documents: Vec<DocId> = documents.collect();
        documents.sort_unstable();
        Ok(Star { keeper, documents })
    }

    /// Returns `true` if the text of a node covers the texts of all other nodes of the star.
    fn covers_all(&self, texts: &TextFilter<'_>, node: u32, star: &[(u32, u32)]) -> Result<bool> {
        let others = star.iter().map(|(_, other)| *other);
        let others: Vec<u32> = others.filter(|other| *other != node).collect();
        let group = self.nodes.group(node);
        if self.is_across && others.iter().any(|other| self.nodes.group(*other) == group) {
            return Ok(false);
        }
        let text = texts.text(self.nodes.documents(node)[0])?;
        let others = others.iter().map(|other| self.nodes.documents(*other)[0]);
        let others: Vec<DocId> = others.collect();
        let are_covered = texts.are_covered(text.as_ref(), &others)?;
        Ok(are_covered.into_iter().all(|is_covered| is_covered))
    }
}
