//! Similar texts of a whole database: pairs, and stars around the texts that cover all others.
//!
//! [`text_nodes`] has the documents of each distinct text, the longest text first. [`part`] holds
//! some of the texts in an index in memory, and later texts are compared with it: a database of any
//! size is compared in parts. With [`SimilarJoin::contained_up_to`], an index of phrases finds the
//! longer texts that quote a text. [`keepers`] decides which texts are kept, and [`stars`] which
//! document of each star stays. [`mod@checkpoint`] has the decisions of an interrupted join.

mod checkpoint;
mod keepers;
mod pair;
mod pairs;
mod part;
mod stars;
mod text_nodes;

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use rayon::prelude::*;

use super::clusters::{Cluster, ClustersEvent, Priority, TextFilter};
use super::limits::QueryLimits;
use crate::dedup::text_index::SimilarIndex;
use crate::error::{Error, Result};
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint};
use crate::measure::Likeness;
use crate::measure::decision::Decision;
use crate::progress::{ProgressHandler, ProgressReporter, Stage, refuse_break};
use crate::store::View;
use checkpoint::Position;
use part::JoinPart;
use stars::{Star, Stars};
use text_nodes::TextNodes;

pub use checkpoint::{Checkpoints, JoinCheckpoint};
pub use pair::{SimilarPair, SimilarPairsEvent};
pub(crate) use pairs::similar_pairs;

/// The number that stands for no node. There are fewer nodes.
const NONE: u32 = u32::MAX;

/// Stars whose keepers are selected together, on all cores.
const STARS_AT_ONCE: usize = 1024;

/// The rules by which all texts of a database are compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SimilarJoin<'g> {
    /// The least likeness of two texts; `None`, the default, for [`Decision::join_likeness`].
    pub likeness: Option<Likeness>,
    /// The measure that decides about texts which are alike.
    pub decision: Decision,
    /// The largest ratio of the numbers of words of a text and of a text that it quotes. A text
    /// that quotes another text, or of which another text is a short version, contains the other
    /// text and is not alike. 10 finds nearly all quoted, abridged and wrapped texts that say
    /// enough: see [the guide](crate::guide::matching). With 1, the default, only texts that are
    /// alike are compared. More than 1 needs a decision by words. The index of the phrases
    /// takes some 4 bytes for each word of the indexed texts, a part of
    /// [`memory_bytes`](Self::memory_bytes).
    pub contained_up_to: f64,
    /// The documents that are compared with each other; [`Groups::All`] by default.
    pub groups: Groups<'g>,
    /// Bytes of the texts that are indexed at a time; 512 MiB by default. Larger databases are
    /// compared in parts, and each part is compared with all texts after it.
    pub memory_bytes: usize,
    /// The checkpoints of [`Snapshot::similar_clusters`](crate::Snapshot::similar_clusters);
    /// `None`, the default, for no checkpoints.
    pub checkpoints: Option<Checkpoints<'g>>,
    /// The checkpoint from which [`Snapshot::similar_clusters`](crate::Snapshot::similar_clusters)
    /// continues; `None`, the default, to compare all texts. The documents, the texts and the rules
    /// of the join must be as they were for the checkpoint.
    pub resume: Option<&'g JoinCheckpoint>,
}

impl Default for SimilarJoin<'_> {
    fn default() -> Self {
        Self {
            likeness: None,
            decision: Decision::default(),
            contained_up_to: 1.0,
            groups: Groups::All,
            memory_bytes: 512 << 20,
            checkpoints: None,
            resume: None,
        }
    }
}

impl SimilarJoin<'_> {
    /// Refuses thresholds and ratios that are not possible.
    pub(crate) fn check(&self) -> Result<()> {
        self.least_likeness().check()?;
        let most = match self.decision {
            Decision::Contained | Decision::News => f64::MAX,
            Decision::Alike => 1.0,
        };
        let ratio = self.contained_up_to;
        // NaN is in no range.
        match (1.0..=most).contains(&ratio) {
            true => Ok(()),
            false => Err(Error::InvalidContainedUpTo { ratio }),
        }
    }

    fn least_likeness(&self) -> Likeness {
        self.likeness
            .unwrap_or_else(|| self.decision.join_likeness())
    }

    fn finds_quotations(&self) -> bool {
        self.contained_up_to > 1.0
    }
}

/// The documents that are compared with each other, by groups that the caller gives. The scopes of
/// a database are in the ids.
#[derive(Clone, Copy)]
pub enum Groups<'g> {
    /// All documents.
    All,
    /// Documents of one group, such as a tenant. The function gives the group of a document.
    Within(&'g (dyn Fn(DocId) -> u64 + Sync + 'g)),
    /// Documents of different groups, such as sources.
    Across(&'g (dyn Fn(DocId) -> u64 + Sync + 'g)),
}

impl std::fmt::Debug for Groups<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::All => "All",
            Self::Within(_) => "Within",
            Self::Across(_) => "Across",
        })
    }
}

impl<'g> Groups<'g> {
    fn group(&self) -> Option<&'g (dyn Fn(DocId) -> u64 + Sync)> {
        match self {
            Self::All => None,
            Self::Within(group) | Self::Across(group) => Some(*group),
        }
    }

    fn is_within(&self) -> bool {
        matches!(self, Self::Within(_))
    }

    fn is_across(&self) -> bool {
        matches!(self, Self::Across(_))
    }
}

/// Calls `visitor` with the star of each text of documents among some ids that contains others, in
/// order of the ids of the clusters.
pub(crate) fn similar_clusters(
    view: &View,
    join: &SimilarJoin<'_>,
    among: &IdRanges,
    mut priority: Priority<'_>,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
) -> Result<()> {
    view.refuse_without_texts()?;
    priority.refuse_if_not_kept(view)?;
    let nodes = TextNodes::read(view, &join.groups, among, progress)?;
    let mut state = match join.resume {
        Some(checkpoint) if checkpoint.is_of(&nodes, join) => {
            let share = checkpoint.share();
            refuse_break(visitor(ClustersEvent::Resumed { share }), view.path())?;
            checkpoint.clone()
        }
        Some(_) => {
            let path = view.path().to_path_buf();
            return Err(Error::OtherCheckpoint { path });
        }
        None => JoinCheckpoint::new(&nodes, join),
    };
    let mut reporter = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
    let mut last_saved = Instant::now();
    let mut save = |state: &JoinCheckpoint| {
        if let Some(checkpoints) = &join.checkpoints
            && last_saved.elapsed() >= checkpoints.every
        {
            refuse_break((checkpoints.save)(state), view.path())?;
            last_saved = Instant::now();
        }
        Ok(())
    };
    for range in nodes.ranges(&join.groups) {
        decide(
            view,
            join,
            &nodes,
            range,
            &mut state,
            &mut reporter,
            &mut save,
        )?;
    }
    reporter.finish()?;

    let is_across = join.groups.is_across();
    let stars = Stars::new(&nodes, is_across, &state.keepers);
    drop(state);
    let texts = TextFilter::new(view, join.least_likeness(), join.decision)
        .with_quotations(join.contained_up_to);
    let limits = QueryLimits::default();
    let mut reporter = ProgressReporter::new_shares(progress, Stage::Clusters, view.path());
    let all = stars.stars();
    for (number, batch) in all.chunks(STARS_AT_ONCE).enumerate() {
        let ranked: Result<Vec<_>> = (batch.iter())
            .map(|star| Ok((*star, stars.ranked(view, star, &mut priority)?)))
            .collect();
        let ranked = ranked?;
        let selected: Result<Vec<Star>> = view.tables.in_parallel(|| {
            let selected = ranked.par_iter();
            selected
                .map(|(star, ranked)| stars.select(&texts, star, ranked))
                .collect()
        });
        for star in selected? {
            let cluster = cluster_of(view, &star, &limits)?;
            let flow = visitor(ClustersEvent::Cluster(&cluster));
            refuse_break(flow, view.path())?;
        }
        reporter.advance_to_share((number * STARS_AT_ONCE) as f64 / all.len() as f64)?;
    }
    reporter.finish()
}

/// Decides the nodes of a range that are not decided, part by part. Calls `save` after each batch.
fn decide(
    view: &View,
    join: &SimilarJoin<'_>,
    nodes: &TextNodes,
    range: Range<u32>,
    state: &mut JoinCheckpoint,
    reporter: &mut ProgressReporter,
    save: &mut dyn FnMut(&JoinCheckpoint) -> Result<()>,
) -> Result<()> {
    let share = |node: u32| f64::from(node) / nodes.len() as f64;
    let next = |nodes: &[u32], at: usize| nodes.get(at).copied().unwrap_or(range.end);
    while state.position.first < range.end {
        let Position { first, end, .. } = state.position;
        let index = SimilarIndex::of_containers(join.least_likeness(), join.decision)?;
        let mut part = JoinPart::new(view, join, nodes, index);
        // The nodes of the part of a checkpoint. They come in the batches in which they were
        // decided.
        let decided = state.part();
        let mut added = 0;
        while added < decided.len() {
            reporter.advance_to_share(share(first))?;
            let add = || part.add(&decided[added..]).map(|batch| batch.nodes().len());
            added += view.tables.in_parallel(add)?;
        }
        let rest = state.undecided(end..range.end);
        let mut added = 0;
        // A part that was compared with later nodes takes no more of them.
        let is_complete = state.position.compared > 0;
        while added < rest.len() && !is_complete && !part.is_full() {
            reporter.advance_to_share(share(rest[added]))?;
            added += view.tables.in_parallel(|| -> Result<usize> {
                let batch = part.add(&rest[added..])?;
                state.keepers.decide(batch.nodes(), &batch)?;
                Ok(batch.nodes().len())
            })?;
            state.position.end = next(&rest, added);
            save(state)?;
        }
        let end = match rest.is_empty() {
            true => range.end,
            false => state.position.end,
        };
        let later = state.undecided(end.max(state.position.compared)..range.end);
        let mut compared = 0;
        while compared < later.len() {
            reporter.advance_to_share(share(end))?;
            compared += view.tables.in_parallel(|| -> Result<usize> {
                let batch = part.batch(&later[compared..])?;
                state.keepers.remove_contained(batch.nodes(), &batch)?;
                Ok(batch.nodes().len())
            })?;
            state.position.compared = next(&later, compared);
            save(state)?;
        }
        state.position = Position {
            first: end,
            end,
            compared: 0,
        };
    }
    Ok(())
}

fn cluster_of(view: &View, star: &Star, limits: &QueryLimits) -> Result<Cluster> {
    let document = |id: DocId| -> Result<(DocId, Fingerprint)> {
        let stored = view.stored(id)?;
        let fingerprint = stored.map_or(Fingerprint::from_bits(0), |stored| stored.fingerprint);
        Ok((id, fingerprint))
    };
    let documents: Result<Vec<_>> = star.documents.iter().map(|id| document(*id)).collect();
    Ok(Cluster::new(document(star.keeper)?, &documents?, limits))
}
