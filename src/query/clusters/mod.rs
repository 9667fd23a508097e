//! Groups of near-duplicates, from all pairs.
//!
//! [`graph`] holds the documents of all pairs in memory. [`grouping`] gives each document a
//! *keeper*, the document of its cluster that is kept, and [`text_filter`] compares texts if the
//! caller requires similar texts. [`mod@exact_copies`] adds equal texts whose fingerprints are
//! unreliable, which no pair names. [`cluster`] then computes the members and the size of each
//! cluster for the visitor.

mod cluster;
mod exact_copies;
mod graph;
mod grouping;
mod priority;
mod text_filter;

use std::cmp::Reverse;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use super::limits::QueryLimits;
use super::pairs::{PairsEvent, pairs};
use crate::error::{Error, Result};
use crate::ids::DocId;
use crate::ids::scope::IdRanges;
use crate::measure::Likeness;
use crate::measure::decision::Decision;
use crate::progress::{ProgressHandler, ProgressReporter, Stage, refuse_break};
use crate::store::View;
pub use cluster::{Cluster, Member};
use exact_copies::exact_copies;
use graph::{CompressedRows, Graph, GraphBuilder};
use grouping::Grouping;
pub(crate) use priority::Priority;
pub(super) use text_filter::TextFilter;

/// The rules by which near-duplicates become clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Clustering {
    /// The largest Hamming distance of two near documents; 3 by default.
    pub radius: u32,
    /// The shape of a cluster; [`Shape::Star`] by default.
    pub shape: Shape,
    /// The document of a cluster that is kept; [`Keep::First`] by default.
    pub keep: Keep,
    /// The least likeness of the texts of two near documents; `None`, the default, compares no
    /// texts. With a likeness, a document without a text is near no document.
    pub likeness: Option<Likeness>,
    /// With a likeness, the measure that decides about texts which are alike. With
    /// [`Decision::Contained`], the default, a document joins a cluster only if its text is
    /// contained in the text of the keeper or, in a connected cluster, of the member that it is
    /// near to.
    pub decision: Decision,
}

impl Default for Clustering {
    fn default() -> Self {
        Self {
            radius: 3,
            shape: Shape::Star,
            keep: Keep::First,
            likeness: None,
            decision: Decision::default(),
        }
    }
}

/// The shape of a cluster: the rule by which documents belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Shape {
    /// A keeper and the documents near the keeper. Documents are visited in order of their
    /// priority. Each document that has no cluster yet becomes the keeper of a new cluster, and
    /// takes all near documents that have no cluster yet. So every member is within the radius of
    /// its keeper, and two members are within twice the radius of each other.
    Star,
    /// All documents that are connected by a chain of near documents, even if the ends of the chain
    /// are far from each other.
    Connected {
        /// A component of more documents is reported ([`ClustersEvent::Split`]) and split into
        /// stars, because long chains connect documents that have nothing in common. 0 for no
        /// limit; 1,000 is usual.
        most_documents: u64,
    },
}

/// The rule for the document of a cluster that is kept, ties by smallest id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The document with the smallest id.
    #[default]
    First,
    /// The document that arrived first.
    Oldest,
    /// The document with the longest text, in characters.
    Longest,
    /// The document with the shortest text, in characters. Of texts that cover each other, it has
    /// the least around its body.
    Cleanest,
}

impl Keep {
    const ALL: [Self; 4] = [Self::First, Self::Oldest, Self::Longest, Self::Cleanest];

    const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Oldest => "oldest",
            Self::Longest => "longest",
            Self::Cleanest => "cleanest",
        }
    }
}

/// Writes `first`, `oldest`, `longest` or `cleanest`.
impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads the names that `Display` writes.
///
/// # Errors
/// [`Error::UnknownKeep`].
impl FromStr for Keep {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|keep| keep.name() == name);
        found.ok_or_else(|| Error::UnknownKeep {
            name: name.to_owned(),
            known: "first, oldest, longest, cleanest",
        })
    }
}

/// An event that [`Snapshot::clusters`](crate::Snapshot::clusters) passes to its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ClustersEvent<'c> {
    /// A component with more documents than `most_documents` of [`Shape::Connected`], which is
    /// split into stars. All such components are passed before the first cluster, in order of their
    /// ids.
    Split {
        /// The smallest document id of the component.
        id: DocId,
        /// The number of documents of the component.
        documents: u64,
    },
    /// A search of texts continues from its checkpoint, which is of the same texts and rules.
    /// Passed before any cluster.
    Resumed {
        /// The share of the texts that are decided, from 0 to 1.
        share: f64,
    },
    /// A cluster of two documents or more. Clusters are passed in order of their ids.
    Cluster(&'c Cluster),
}

/// Calls `visitor` with all clusters of documents among some ids. `Break` of the visitor is
/// [`Error::Interrupted`].
pub(crate) fn clusters(
    view: &View,
    clustering: &Clustering,
    among: &IdRanges,
    priority: Priority<'_>,
    limits: &QueryLimits,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
) -> Result<()> {
    // Refused before the search for pairs, which reads every block table.
    refuse_if_not_kept(view, clustering, &priority)?;
    let graph = build_graph(view, clustering.radius, among, limits, progress)?;
    // The first document in this order keeps its neighbours, so the answer does not depend on the
    // order of inserts.
    let order = priority_order(view, &graph, priority)?;
    let mut progress = ProgressReporter::new_shares(progress, Stage::Clusters, view.path());
    let text_filter = clustering
        .likeness
        .map(|likeness| TextFilter::new(view, likeness, clustering.decision));
    let mut grouping = Grouping::new(&graph, text_filter, limits);
    grouping.run(&order, clustering.shape, &mut progress)?;
    let mut members = grouping.members();

    // The documents of a component that is too large lose their keeper, and are grouped again as
    // stars. All other documents keep their keeper, so no star takes them.
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

    // Visited last: a slow visitor delays no other work, and progress is complete.
    for (id, documents) in too_large {
        refuse_break(visitor(ClustersEvent::Split { id, documents }), view.path())?;
    }
    let document = |document: u32| (graph.id(document), graph.fingerprint(document));
    for (keeper, documents) in by_first_document(grouping.keepers(), &members) {
        if documents.len() > 1 {
            let documents: Vec<_> = documents.iter().map(|each| document(*each)).collect();
            let cluster = Cluster::new(document(keeper), &documents, limits);
            refuse_break(visitor(ClustersEvent::Cluster(&cluster)), view.path())?;
        }
    }
    Ok(())
}

/// Returns each keeper and the documents of its cluster, in order of the smallest id of each
/// cluster.
fn by_first_document<'m>(
    keepers: &'m [u32],
    members: &'m CompressedRows,
) -> impl Iterator<Item = (u32, &'m [u32])> {
    (0..)
        .zip(keepers)
        .map(|(document, keeper)| (document, *keeper, members.row(*keeper)))
        // Each cluster is listed once, at its smallest id, which is the first of its row.
        .filter(|(document, _, documents)| documents.first() == Some(document))
        .map(|(_, keeper, documents)| (keeper, documents))
}

/// Refuses a clustering that needs texts or arrivals which the database does not keep.
fn refuse_if_not_kept(view: &View, clustering: &Clustering, priority: &Priority<'_>) -> Result<()> {
    if clustering.likeness.is_some() {
        view.refuse_without_texts()?;
    }
    priority.refuse_if_not_kept(view)
}

fn build_graph(
    view: &View,
    radius: u32,
    among: &IdRanges,
    limits: &QueryLimits,
    progress: &ProgressHandler,
) -> Result<Graph> {
    let mut builder = GraphBuilder::default();
    let outcome = pairs(view, radius, among, limits, progress, &mut |event| {
        match event {
            PairsEvent::Copies {
                fingerprint,
                documents,
            } => builder.add_copies(fingerprint, documents),
            PairsEvent::Pairs(pairs) => pairs.iter().for_each(|pair| builder.add_pair(pair)),
        }
        // Checked after each event: the graph has 32-bit document numbers.
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
    for (fingerprint, documents) in exact_copies(view, among)? {
        builder.add_exact_copies(fingerprint, &documents);
    }
    Ok(builder.build())
}

/// Returns all documents of the graph in order of their priority, highest first.
fn priority_order(view: &View, graph: &Graph, mut priority: Priority<'_>) -> Result<Vec<u32>> {
    let ids = graph.ids.iter();
    let scores: Result<Vec<u64>> = ids.map(|id| priority.score(view, *id)).collect();
    let scores = scores?;
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_unstable_by_key(|document| (Reverse(scores[*document as usize]), *document));
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Fingerprint;
    use crate::query::fixtures::store_with_texts;

    #[test]
    fn displayed_keep_parses_to_itself() {
        for keep in Keep::ALL {
            assert_eq!(keep.to_string().parse::<Keep>().unwrap(), keep);
        }
        let error = "last".parse::<Keep>().unwrap_err().to_string();
        assert!(
            error.contains("known are first, oldest, longest, cleanest"),
            "{error}"
        );
    }

    /// The id and size of each split component, and the keeper and members of each cluster.
    fn groups(view: &View, clustering: &Clustering, limits: &QueryLimits) -> Vec<Vec<u64>> {
        let mut groups = Vec::new();
        let progress = ProgressHandler::default();
        let keep = Priority::Keep(clustering.keep);
        clusters(
            view,
            clustering,
            &IdRanges::ALL,
            keep,
            limits,
            &progress,
            &mut |event| {
                groups.push(match event {
                    ClustersEvent::Split { id, documents } => vec![id.0, documents],
                    ClustersEvent::Resumed { .. } => unreachable!("no texts are searched"),
                    ClustersEvent::Cluster(cluster) => {
                        let members = cluster.members.iter().map(|member| member.id.0);
                        std::iter::once(cluster.keeper.0).chain(members).collect()
                    }
                });
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        groups
    }

    #[test]
    fn clusters_do_not_depend_on_limits() {
        let mut bits = 0_u64;
        let documents: Vec<(Fingerprint, String)> = (0..600_u64)
            .map(|number| {
                // A chain of near fingerprints with copies. Every fortieth document starts a new
                // chain.
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
}
