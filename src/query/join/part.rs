//! [`JoinPart`]: some nodes in an index in memory.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::SimilarJoin;
use super::keepers::Containers;
use super::pair::SimilarPair;
use super::text_nodes::TextNodes;
use crate::analysis::Analysed;
use crate::dedup::quotations::QuotationIndex;
use crate::dedup::text_index::{Preparation, SimilarIndex, SimilarText, Sought};
use crate::error::Result;
use crate::measure::Resemblance;
use crate::measure::containment::{Containment, Verdict};
use crate::measure::quotation::quoted_in;
use crate::store::View;

/// The most nodes of a batch.
const BATCH_NODES: usize = 1 << 13;

/// The texts of a batch have at most 2 MiB, or are one text: at most some 70 MiB of prepared texts,
/// and as much for the batch that is prepared meanwhile.
const BATCH_BYTES: usize = 1 << 21;

/// The most nodes that a thread searches together.
const SEARCHED_NODES: usize = 1 << 11;

/// The most texts with the verdict `same` that a search for a text with more passes.
const MAX_EQUAL: usize = 8;

/// The least number of searches of each thread for a batch: some texts take longer than others.
const SHARES: usize = 2;

/// Some nodes, and an index of their texts.
pub(super) struct JoinPart<'j> {
    view: &'j View,
    nodes: &'j TextNodes,
    is_across: bool,
    memory_bytes: usize,
    index: SimilarIndex,
    /// The index of the texts that may quote a text, and the largest ratio of the lengths of both
    /// texts; `None` if the join finds no quotations.
    quotations: Option<(QuotationIndex, f64)>,
    /// The node at each position of the index. Nodes ascend.
    indexed: Vec<u32>,
    /// The first node of the next batch, and the texts of that batch.
    ahead: Option<(u32, Vec<Analysed>)>,
}

/// Some nodes with their texts, which are compared with the nodes of a part.
pub(super) struct TextBatch<'p> {
    part: &'p JoinPart<'p>,
    nodes: Vec<u32>,
    texts: Vec<Analysed>,
}

impl<'j> JoinPart<'j> {
    /// A part without nodes, with an index without texts.
    pub(super) fn new(
        view: &'j View,
        join: &SimilarJoin<'_>,
        nodes: &'j TextNodes,
        index: SimilarIndex,
    ) -> Self {
        Self {
            view,
            nodes,
            is_across: join.groups.is_across(),
            memory_bytes: join.memory_bytes,
            index,
            quotations: (join.finds_quotations())
                .then(|| (QuotationIndex::default(), join.contained_up_to)),
            indexed: Vec::new(),
            ahead: None,
        }
    }

    /// Returns `true` if the indexes take the memory of the join.
    pub(super) fn is_full(&self) -> bool {
        let quotations = self.quotations.as_ref();
        let quotation_bytes = quotations.map_or(0, |(index, _)| index.len_bytes());
        self.index.peak_bytes() + 2 * quotation_bytes >= self.memory_bytes
    }

    /// Adds a batch of the first of these nodes, which ascend and come after the nodes of the part.
    pub(super) fn add(&mut self, nodes: &[u32]) -> Result<TextBatch<'_>> {
        let ahead = self.ahead.take();
        let ahead = ahead.filter(|(first, _)| nodes.first() == Some(first));
        let texts = match ahead {
            Some((_, texts)) => texts,
            None => self.prepare(nodes)?,
        };
        let (nodes, rest) = nodes.split_at(texts.len());
        // One thread adds these texts, the others prepare the next.
        let next = self.next_batch(rest);
        let source = self.source();
        let (index, quotations) = (&mut self.index, &mut self.quotations);
        let add = || {
            index.extend_prepared(texts.iter());
            if let Some((quotations, _)) = quotations {
                quotations.extend(&texts);
            }
        };
        let ((), prepared) = rayon::join(add, || source.prepare(next));
        self.ahead = next.first().copied().zip(Some(prepared?));
        self.indexed.extend_from_slice(nodes);
        Ok(self.batch_of(nodes, texts))
    }

    /// The nodes of the batch that is prepared beside another batch: the first of these nodes; none
    /// if the first text is longer than the texts of a batch.
    fn next_batch<'n>(&self, nodes: &'n [u32]) -> &'n [u32] {
        let next = self.first_batch(nodes);
        match self.nodes.len_bytes(next) <= self.max_batch_bytes() {
            true => next,
            false => &[],
        }
    }

    /// The nodes of the batch of the first of these nodes.
    fn first_batch<'n>(&self, nodes: &'n [u32]) -> &'n [u32] {
        let nodes = &nodes[..nodes.len().min(BATCH_NODES)];
        self.nodes.first_within(nodes, self.max_batch_bytes())
    }

    /// A batch of the first of these nodes, which are not added.
    pub(super) fn batch(&self, nodes: &[u32]) -> Result<TextBatch<'_>> {
        let texts = self.prepare(nodes)?;
        Ok(self.batch_of(&nodes[..texts.len()], texts))
    }

    fn batch_of(&self, nodes: &[u32], texts: Vec<Analysed>) -> TextBatch<'_> {
        TextBatch {
            part: self,
            nodes: nodes.to_vec(),
            texts,
        }
    }

    /// The texts of the first of these nodes, prepared.
    fn prepare(&self, nodes: &[u32]) -> Result<Vec<Analysed>> {
        self.source().prepare(self.first_batch(nodes))
    }

    fn max_batch_bytes(&self) -> usize {
        BATCH_BYTES.min(self.memory_bytes / 128)
    }

    fn source(&self) -> TextSource<'j> {
        TextSource {
            view: self.view,
            nodes: self.nodes,
            preparation: self.index.preparation(),
        }
    }

    fn text(&self, node: u32) -> Result<String> {
        self.source().text(node)
    }
}

/// The texts of all nodes.
struct TextSource<'j> {
    view: &'j View,
    nodes: &'j TextNodes,
    preparation: Preparation,
}

impl TextSource<'_> {
    /// The texts of these nodes, prepared.
    fn prepare(&self, nodes: &[u32]) -> Result<Vec<Analysed>> {
        let prepare = |node: &u32| Ok(self.preparation.prepare(&self.text(*node)?));
        nodes.par_iter().map(prepare).collect()
    }

    fn text(&self, node: u32) -> Result<String> {
        let text = self.view.text(self.nodes.documents(node)[0])?;
        // The text was there when the nodes were made of the same snapshot.
        Ok(text.unwrap_or_default())
    }
}

impl Drop for TextBatch<'_> {
    /// A text is many pieces of memory, so one thread would take a while to free them.
    fn drop(&mut self) {
        std::mem::take(&mut self.texts)
            .into_par_iter()
            .for_each(drop);
    }
}

impl TextBatch<'_> {
    /// The nodes, ascending.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Calls `take` with the search for each of these nodes of the batch, on all cores.
    fn search<T: Send>(
        &self,
        nodes: &[u32],
        take: impl Fn(Search<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let part = self.part;
        // A batch of long texts has fewer nodes than a thread may search together.
        let share = nodes.len().div_ceil(SHARES * rayon::current_num_threads());
        let share = share.clamp(1, SEARCHED_NODES);
        let found = nodes.par_chunks(share).map(|nodes| {
            let text = |node: &u32| {
                let at = self.nodes.binary_search(node).ok()?;
                let end = part.indexed.partition_point(|other| other < node) as u32;
                Some((&self.texts[at], end))
            };
            let texts: Vec<(&Analysed, u32)> = nodes.iter().filter_map(text).collect();
            let candidates = part.index.candidates_of_all(&texts);
            let searches = nodes.iter().zip(texts).zip(candidates);
            let taken = searches.map(|((node, (text, end)), candidates)| {
                take(Search {
                    part,
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

    /// The pairs of the nodes with the nodes of the part that are before each of them.
    pub(super) fn pairs(&self) -> Result<Vec<SimilarPair>> {
        Ok(self.search(&self.nodes, |search| search.pairs())?.concat())
    }
}

/// The search for the nodes of a part that are before a node, and that are like the node or quote
/// it.
struct Search<'s> {
    part: &'s JoinPart<'s>,
    node: u32,
    text: &'s Analysed,
    /// The position in the index of the first node that is not before the node.
    end: u32,
    candidates: Vec<u32>,
}

impl Search<'_> {
    /// Returns `true` if the text at a position may be compared with the node.
    fn is_compared(&self, position: u32) -> bool {
        let nodes = self.part.nodes;
        let other = self.part.indexed[position as usize];
        !self.part.is_across || nodes.group(other) != nodes.group(self.node)
    }

    /// Calls `visitor` with the nodes that `accepts` accepts and that are like the node, until it
    /// breaks. With `only_containers`, nodes that contain the node suffice if the texts decide.
    fn visit<B>(
        &mut self,
        accepts: &dyn Fn(u32) -> bool,
        only_containers: bool,
        mut visitor: impl FnMut(u32, SimilarText) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let candidates = std::mem::take(&mut self.candidates);
        let part = self.part;
        let accepts =
            |position: u32| self.is_compared(position) && accepts(part.indexed[position as usize]);
        let sought = Sought {
            positions: 0..self.end,
            accepts: &accepts,
            only_containers,
        };
        (part.index).visit_candidates(self.text, candidates, &sought, |similar| {
            visitor(part.indexed[similar.position as usize], similar)
        })
    }

    /// Calls `visitor` with the nodes that `accepts` accepts and that quote the node, with their
    /// texts, until it breaks.
    fn visit_quoting<B>(
        &self,
        accepts: &dyn Fn(u32) -> bool,
        mut visitor: impl FnMut(u32, &Analysed, Containment) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>> {
        let Some((quotations, max_ratio)) = &self.part.quotations else {
            return Ok(ControlFlow::Continue(()));
        };
        for position in quotations.candidates(self.text, self.end, *max_ratio) {
            let other = self.part.indexed[position as usize];
            if !(self.is_compared(position) && accepts(other)) {
                continue;
            }
            let longer = Analysed::lazy(self.part.text(other)?);
            if let Some(found) = quoted_in(self.text, &longer, *max_ratio)
                && let ControlFlow::Break(found) = visitor(other, &longer, found)
            {
                return Ok(ControlFlow::Break(found));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn pairs(mut self) -> Result<Vec<SimilarPair>> {
        let (view, nodes) = (self.part.view, self.part.nodes);
        let own = nodes.documents(self.node)[0];
        let pair = |other: u32, resemblance, verdict: Option<Verdict>| {
            let other = nodes.documents(other)[0];
            SimilarPair {
                a: own.min(other),
                b: own.max(other),
                distance: 0,
                resemblance,
                verdict: match own < other {
                    true => verdict,
                    false => verdict.map(Verdict::swapped),
                },
            }
        };
        let (mut pairs, mut alike) = (Vec::new(), Vec::new());
        let found = self.visit(&|_| true, false, |other, similar| {
            pairs.push(pair(other, similar.resemblance, similar.verdict()));
            alike.push(other);
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(found.is_continue());
        alike.sort_unstable();
        let is_new = |other: u32| alike.binary_search(&other).is_err();
        let found = self.visit_quoting(&is_new, |other, longer, found| {
            let resemblance = Resemblance::of(self.text, longer);
            pairs.push(pair(other, resemblance, Some(found.verdict)));
            ControlFlow::<()>::Continue(())
        })?;
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

impl Containers for TextBatch<'_> {
    fn find(
        &self,
        nodes: &[u32],
        accepts: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Vec<Option<u32>>> {
        self.search(nodes, |mut search| {
            // A text with more is preferred to a text that this text covers too: of a star of the
            // latter, this text may be selected to stay, and the text with more covers it. With
            // thresholds alone, a text stands for each text that is alike.
            let mut equal = Vec::new();
            let found = search.visit(accepts, true, |other, similar| {
                let is_equal = similar.verdict() == Some(Verdict::Same);
                equal.extend(is_equal.then_some(other));
                match is_equal && equal.len() < MAX_EQUAL {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(other),
                }
            });
            let found = match found {
                ControlFlow::Continue(()) => {
                    search.visit_quoting(accepts, |other, _, _| ControlFlow::Break(other))?
                }
                found => found,
            };
            Ok(found.break_value().or(equal.first().copied()))
        })
    }
}
