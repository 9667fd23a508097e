//! Groups of near-duplicates, from all pairs.
//!
//! The documents of all pairs are gathered into a graph in memory ([`graph`]); each document gets a
//! keeper or is one ([`grouping`]), after a comparison of texts if one is asked for ([`text_filter`]);
//! then the clusters are reported in order ([`cluster`]).

mod cluster;
mod graph;
mod grouping;
mod text_filter;

use std::cmp::Reverse;
use std::ops::ControlFlow;

use super::limits::QueryLimits;
use super::pairs::{PairsEvent, pairs};
use crate::document::{DocId, Timestamp};
use crate::error::{Error, Result};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::similarity::Likeness;
use crate::store::View;
pub use cluster::{Cluster, Member};
use graph::{CompressedRows, Graph, GraphBuilder};
use grouping::Grouping;
use text_filter::TextFilter;

/// The rules by which near-duplicates become clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// The largest number of bits in which two documents differ that are near each other: 3.
    pub radius: u32,
    /// The shape of a cluster: [`Shape::Star`].
    pub shape: Shape,
    /// The document of a cluster that is kept: [`Keep::First`].
    pub keep: Keep,
    /// If this is set, documents are near each other only if their texts are alike, too. A document
    /// without a text is like none. `None` unless set.
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

/// The shape of a cluster: which documents belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A keeper and the documents near it. Documents are visited in order of their priority; the first
    /// that is in no cluster yet is the keeper of the next one, and takes all documents that are near
    /// it and in no cluster yet. So every member is within the radius of its keeper, any two within
    /// twice that.
    Star,
    /// All documents that are connected by a chain of documents that are near each other, however far
    /// its ends are from each other.
    Connected {
        /// A component of more documents is reported ([`ClustersEvent::Split`]), and split into stars:
        /// chains run away. 0 for no limit; 1,000 is usual.
        most_documents: u64,
    },
}

/// The document of a cluster that is kept. If that applies to several, it is the one with the smallest
/// id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The document with the smallest id.
    #[default]
    First,
    /// The document that arrived first.
    Oldest,
    /// The document whose text has most characters.
    Longest,
}

/// An event that [`Snapshot::clusters`](crate::Snapshot::clusters) passes to its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ClustersEvent<'c> {
    /// A component with more documents than a component may have is split into stars. All such
    /// components come before the first cluster, in order of their ids.
    Split {
        /// The smallest id of its documents.
        id: DocId,
        /// The number of its documents.
        documents: u64,
    },
    /// A cluster of two documents or more, in order of their ids.
    Cluster(&'c Cluster),
}

/// The rule that decides which document of a cluster is kept.
pub(crate) enum Priority<'p> {
    Keep(Keep),
    /// The document with the highest score.
    Score(&'p mut dyn FnMut(DocId) -> f64),
}

/// Calls `visitor` with all clusters until it breaks.
pub(crate) fn clusters(
    view: &View,
    clustering: &Clustering,
    priority: Priority<'_>,
    limits: &QueryLimits,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
) -> Result<()> {
    refuse_unkept(view, clustering, &priority)?;
    let graph = gather(view, clustering.radius, limits, progress)?;
    let order = priority_order(view, &graph, priority)?;
    let mut progress = ProgressReporter::new_shares(progress, Stage::Clusters, view.path());
    let text_filter = clustering
        .likeness
        .map(|likeness| TextFilter::new(view, likeness));
    let mut grouping = Grouping::new(&graph, text_filter, limits);
    grouping.run(&order, clustering.shape, &mut progress)?;
    let mut members = grouping.members();

    // A component that is too large becomes stars of its own documents. All others keep their keepers,
    // so no star takes them.
    let max_documents = match clustering.shape {
        Shape::Connected { most_documents } if most_documents > 0 => most_documents,
        _ => u64::MAX,
    };
    let is_too_large = |documents: &[u32]| documents.len() as u64 > max_documents;
    let too_large: Vec<(DocId, u64)> = by_first_document(grouping.keepers(), &members)
        .filter(|(_, documents)| is_too_large(documents))
        .map(|(_, documents)| (graph.id(documents[0]), documents.len() as u64))
        .collect();
    if !too_large.is_empty() {
        let keeper = |document: u32| grouping.keepers()[document as usize];
        let split: Vec<u32> = order
            .into_iter()
            .filter(|document| is_too_large(members.row(keeper(*document))))
            .collect();
        grouping.reset(&split);
        grouping.run(&split, Shape::Star, &mut progress)?;
        members = grouping.members();
    }
    progress.finish()?;

    // All work is done, so a visitor that takes long holds up nothing but itself.
    for (id, documents) in too_large {
        if visitor(ClustersEvent::Split { id, documents }).is_break() {
            return Ok(());
        }
    }
    for (keeper, documents) in by_first_document(grouping.keepers(), &members) {
        if documents.len() > 1 {
            let cluster = Cluster::new(&graph, keeper, documents, limits);
            if visitor(ClustersEvent::Cluster(&cluster)).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns each keeper with the documents of its cluster, in order of the first of these.
fn by_first_document<'m>(
    keepers: &'m [u32],
    members: &'m CompressedRows,
) -> impl Iterator<Item = (u32, &'m [u32])> {
    (0..)
        .zip(keepers)
        .map(|(document, keeper)| (document, *keeper, members.row(*keeper)))
        .filter(|(document, _, documents)| documents.first() == Some(document))
        .map(|(_, keeper, documents)| (keeper, documents))
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

/// Returns the graph of all pairs.
fn gather(
    view: &View,
    radius: u32,
    limits: &QueryLimits,
    progress: &ProgressHandler,
) -> Result<Graph> {
    let mut builder = GraphBuilder::default();
    let outcome = pairs(view, radius, limits, progress, &mut |event| {
        match event {
            PairsEvent::Copies {
                fingerprint,
                documents,
            } => builder.add_copies(fingerprint, documents),
            PairsEvent::Pairs(pairs) => pairs.iter().for_each(|pair| builder.add_pair(pair)),
        }
        if builder.is_too_large() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if outcome.is_break() {
        let path = view.path().to_path_buf();
        return Err(Error::TooManyNear { path, radius });
    }
    Ok(builder.build())
}

/// Returns all documents of the graph in the order in which they become keepers.
fn priority_order(view: &View, graph: &Graph, priority: Priority<'_>) -> Result<Vec<u32>> {
    let ids = graph.ids.iter();
    let scores: Vec<u64> = match priority {
        Priority::Keep(Keep::First) => return Ok((0..graph.ids.len() as u32).collect()),
        Priority::Keep(Keep::Oldest) => ids
            .map(|id| {
                let arrival = view.stored(*id)?.and_then(|state| state.arrival);
                Ok(arrival.map_or(0, |Timestamp(ms)| u64::MAX - ms))
            })
            .collect::<Result<_>>()?,
        Priority::Keep(Keep::Longest) => ids
            .map(|id| {
                let text = view.text(*id)?.unwrap_or_default();
                Ok(text.chars().count() as u64)
            })
            .collect::<Result<_>>()?,
        Priority::Score(score) => ids.map(|id| sort_key(score(*id))).collect(),
    };
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_unstable_by_key(|document| (Reverse(scores[*document as usize]), *document));
    Ok(order)
}

/// Returns a number that is the larger the larger the score is. NaN is below all scores.
fn sort_key(score: f64) -> u64 {
    if score.is_nan() {
        return 0;
    }
    // The sum is 0.0 for both zeros: -0.0 is no smaller score.
    let bits = (score + 0.0).to_bits();
    // The bits of positive numbers are in order behind the sign, those of negative ones reversed.
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::query::fixtures::store_with_texts;

    /// Each split component, and each cluster: its keeper and its other members.
    fn groups(view: &View, clustering: &Clustering, limits: &QueryLimits) -> Vec<Vec<u64>> {
        let mut groups = Vec::new();
        let progress = ProgressHandler::default();
        let keep = Priority::Keep(clustering.keep);
        clusters(view, clustering, keep, limits, &progress, &mut |event| {
            groups.push(match event {
                ClustersEvent::Split { id, documents } => vec![id.0, documents],
                ClustersEvent::Cluster(cluster) => {
                    let members = cluster.members.iter().map(|member| member.id.0);
                    std::iter::once(cluster.keeper.0).chain(members).collect()
                }
            });
            ControlFlow::Continue(())
        })
        .unwrap();
        groups
    }

    #[test]
    fn clusters_do_not_depend_on_limits() {
        let mut bits = 0_u64;
        let documents: Vec<(Fingerprint, String)> = (0..600_u64)
            .map(|number| {
                // A chain of near fingerprints with copies, and now and then a jump.
                bits ^= match number % 40 {
                    0 => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                    1..30 => 0,
                    _ => 1 << (number * 7 % 64),
                };
                let text = format!("{} is a text of kind {}", "long ".repeat(20), number % 3);
                (Fingerprint::from_bits(bits), text)
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let store = store_with_texts(&folder, &documents);
        let view = store.read().unwrap();
        let alike = Likeness {
            edit_similarity: 1.0,
            jaccard: 1.0,
        };
        for most_documents in [None, Some(0), Some(30)] {
            for likeness in [None, Some(alike)] {
                let clustering = Clustering {
                    shape: most_documents.map_or(Shape::Star, |most_documents| Shape::Connected {
                        most_documents,
                    }),
                    likeness,
                    keep: Keep::Longest,
                    ..Clustering::default()
                };
                let expected = groups(&view, &clustering, &QueryLimits::default());
                let found = groups(&view, &clustering, &QueryLimits::small());
                assert!(found == expected, "{clustering:?}");
                assert!(found.len() >= 15);
            }
        }
    }

    #[test]
    fn sort_keys_are_in_order_of_scores_and_nan_is_least() {
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
        let numbers = ascending.map(sort_key);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert_eq!(sort_key(-0.0), sort_key(0.0));
        assert_eq!(sort_key(-f64::NAN), 0);
    }
}
