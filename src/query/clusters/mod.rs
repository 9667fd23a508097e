//! Groups of near-duplicates, from all pairs.
//!
//! What takes part in a pair is gathered into a graph in memory ([`graph`]); each document gets a
//! keeper or is one ([`grouping`]), where texts decide after they were compared ([`judge`]); what came
//! of it is told in order ([`told`]).

mod graph;
mod grouping;
mod judge;
mod told;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::ControlFlow;

use super::limits::QueryLimits;
use super::pairs::{PairsEvent, pairs};
use crate::document::{DocId, Timestamp};
use crate::error::{Error, Result};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::similarity::Likeness;
use crate::store::View;
use graph::{Gathered, Graph};
use grouping::{Grouping, Judge, Reach};
use judge::Texts;
pub use told::{Cluster, Member};

/// How near-duplicates are put together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// In how many bits two documents differ at most that are near each other: 3.
    pub radius: u32,
    /// What belongs together: [`Shape::Star`].
    pub shape: Shape,
    /// Which document of a cluster is kept: [`Keep::First`].
    pub keep: Keep,
    /// If something is given, documents are near each other only if their texts are alike, too. One
    /// without a text is like none. Nothing unless said otherwise.
    pub likeness: Option<Likeness>,
}

impl Default for Clustering {
    fn default() -> Self {
        Self {
            radius: 3,
            shape: Shape::Star,
            keep: Keep::First,
            likeness: None,
        }
    }
}

/// What belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// What is near the keeper: documents in order of their priority, of which the first that no
    /// cluster has yet is the keeper of the next one, and takes all that are near it and in no
    /// cluster yet. So every member is within the radius of its keeper, any two within twice that.
    Star,
    /// What is connected by a chain of documents that are near each other, however far its ends are
    /// from each other.
    Connected {
        /// A component of more documents is told of ([`ClustersEvent::Split`]), and split into
        /// stars: chains run away. 0 for no limit; 1,000 is usual.
        most_documents: u64,
    },
}

/// Which document of a cluster is kept. Of several to which that applies, the one with the smallest
/// id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The one with the smallest id.
    #[default]
    First,
    /// The one that arrived first.
    Oldest,
    /// The one whose text has most characters.
    Longest,
}

/// What [`Snapshot::clusters`](crate::Snapshot::clusters) tells its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ClustersEvent<'c> {
    /// A component with more documents than a component may have is split into stars. All of them
    /// are told of before the first cluster, in order of their ids.
    Split {
        /// The smallest id of its documents.
        id: DocId,
        /// How many there are.
        documents: u64,
    },
    /// A cluster of two documents or more, in order of their ids.
    Cluster(&'c Cluster),
}

/// What decides which document is kept.
pub(crate) enum Priority<'p> {
    Keep(Keep),
    /// The one with the highest score.
    Score(&'p mut dyn FnMut(DocId) -> f64),
}

/// Tells `visitor` of all clusters until it breaks; whether it did.
pub(crate) fn clusters(
    view: &View,
    clustering: &Clustering,
    priority: Priority<'_>,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    refuse_unkept(view, clustering, &priority)?;
    let graph = gather(view, clustering.radius, progress)?;
    let order = in_order(view, &graph, priority)?;
    let mut texts = clustering
        .likeness
        .map(|likeness| Texts::new(view, likeness));
    let mut judge = texts.as_mut().map(|texts| {
        |document: u32, candidates: &[u32]| {
            let ids: Vec<DocId> = candidates.iter().map(|each| graph.id(*each)).collect();
            texts.alike(graph.id(document), &ids)
        }
    });
    let mut judge: Option<&mut Judge<'_>> = match &mut judge {
        Some(judge) => Some(judge),
        None => None,
    };
    let mut progress = ProgressReporter::new_shares(progress, Stage::Clusters, view.path());
    let mut grouping = Grouping::new(&graph);
    let reach = match clustering.shape {
        Shape::Star => Reach::Near,
        Shape::Connected { .. } => Reach::Connected,
    };
    let documents = order.iter().copied();
    grouping.run(documents, reach, judge.as_deref_mut(), &mut progress)?;
    let mut split = Vec::new();
    if let Shape::Connected { most_documents } = clustering.shape
        && most_documents > 0
    {
        split = too_large(grouping.keepers(), most_documents);
    }
    if !split.is_empty() {
        let components: HashSet<u32> = split.iter().map(|(_, keeper, _)| *keeper).collect();
        let of_component = |document: &u32| {
            let keeper = grouping.keepers()[*document as usize];
            components.contains(&keeper)
        };
        let again: Vec<u32> = order.iter().copied().filter(of_component).collect();
        grouping = grouping.again(&again);
        let documents = again.iter().copied();
        grouping.run(documents, Reach::Near, judge, &mut progress)?;
    }
    progress.finish()?;
    for (first, _, documents) in split {
        let event = ClustersEvent::Split {
            id: graph.id(first),
            documents,
        };
        if visitor(event).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let mut tell = |cluster: &Cluster| visitor(ClustersEvent::Cluster(cluster));
    Ok(told::tell(&graph, grouping.keepers(), &mut tell))
}

fn refuse_unkept(view: &View, clustering: &Clustering, priority: &Priority<'_>) -> Result<()> {
    let path = || view.path().to_path_buf();
    let needs_texts =
        clustering.likeness.is_some() || matches!(priority, Priority::Keep(Keep::Longest));
    if needs_texts && !view.keeps_texts() {
        return Err(Error::KeepsNoTexts { path: path() });
    }
    if matches!(priority, Priority::Keep(Keep::Oldest)) && !view.keeps_arrivals() {
        return Err(Error::NoArrivals { path: path() });
    }
    Ok(())
}

/// The graph of all pairs.
fn gather(view: &View, radius: u32, progress: &ProgressHandler) -> Result<Graph> {
    let mut gathered = Gathered::default();
    let limits = QueryLimits::default();
    let outcome = pairs(view, radius, &limits, progress, &mut |event| {
        let fits = match event {
            PairsEvent::Copies {
                fingerprint,
                documents,
            } => gathered.copies(fingerprint, documents),
            PairsEvent::Pairs(pairs) => pairs.iter().all(|pair| {
                let [a, b] = pair.fingerprints;
                gathered.pair([(pair.a, a), (pair.b, b)])
            }),
        };
        if fits {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    if outcome.is_break() {
        let path = view.path().to_path_buf();
        return Err(Error::TooManyNear { path, radius });
    }
    Ok(gathered.graph())
}

/// All documents of the graph, those first that are to be kept before others.
fn in_order(view: &View, graph: &Graph, priority: Priority<'_>) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..graph.len() as u32).collect();
    let mut score: Box<dyn FnMut(DocId) -> Result<u64> + '_> = match priority {
        Priority::Keep(Keep::First) => return Ok(order),
        Priority::Keep(Keep::Oldest) => Box::new(|id| {
            let arrival = view.stored(id)?.and_then(|state| state.arrival);
            Ok(arrival.map_or(0, |Timestamp(ms)| u64::MAX - ms))
        }),
        Priority::Keep(Keep::Longest) => Box::new(|id| {
            let text = view.text(id)?.unwrap_or_default();
            Ok(text.chars().count() as u64)
        }),
        Priority::Score(score) => Box::new(|id| Ok(in_order_of(score(id)))),
    };
    let scores = order
        .iter()
        .map(|document| score(graph.id(*document)))
        .collect::<Result<Vec<u64>>>()?;
    order.sort_unstable_by_key(|document| (Reverse(scores[*document as usize]), *document));
    Ok(order)
}

/// A number that is the larger the larger the score is; what is no number is below all.
fn in_order_of(score: f64) -> u64 {
    if score.is_nan() {
        return 0;
    }
    // Zero has one sign only.
    let bits = (score + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// Of each component with more documents its first document, its keeper, and how many it has.
fn too_large(keepers: &[u32], most_documents: u64) -> Vec<(u32, u32, u64)> {
    let sizes = told::sizes(keepers);
    let mut met = HashSet::new();
    let mut found = Vec::new();
    for (document, keeper) in (0..).zip(keepers) {
        let size = u64::from(sizes[*keeper as usize]);
        if size > most_documents && met.insert(*keeper) {
            found.push((document, *keeper, size));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_in_order_and_what_is_no_number_is_the_least() {
        let ascending = [
            f64::NAN,
            f64::NEG_INFINITY,
            -1e300,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            f64::MIN_POSITIVE,
            0.5,
            7.0,
            1e300,
            f64::INFINITY,
        ];
        let numbers = ascending.map(in_order_of);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert_eq!(in_order_of(-0.0), in_order_of(0.0));
        assert_eq!(in_order_of(-f64::NAN), 0);
    }
}
