//! [`Decisions`]: the documents to remove, each with the reason.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::{Result, bail};
use rayon::prelude::*;
use simdb::clusters::ClustersEvent;
use simdb::containment::Verdict;
use simdb::join::{Checkpoints, JoinCheckpoint};
use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Snapshot, Timestamp};

use super::checkpoint::CheckpointFile;
use super::columns::DecisionColumns;
use super::load::LoadedCorpus;
use super::options::Dedup;
use crate::commands::given_clusters::{GivenClusters, RemovedMember};
use crate::console::interrupt::Interrupt;
use crate::console::progress::handler;
use crate::console::{counted, note};

/// At most 65,536 documents are compared with another database at a time.
const CHUNK_DOCUMENTS: usize = 1 << 16;
/// At most 64 MiB of texts, and one more text, are compared at a time.
const CHUNK_BYTES: usize = 64 << 20;

/// The reason why a document is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The document to keep instead.
    pub keeper: u64,
    /// The distance of both; `None` if the keeper of given clusters is not in the inputs.
    pub distance: Option<u32>,
    /// The cluster of both; `None` if the keeper is in another database.
    pub cluster: Option<u64>,
}

impl Removal {
    fn new(keeper: DocId, distance: u32, cluster: Option<u64>) -> Self {
        let (keeper, distance) = (keeper.0, Some(distance));
        Self {
            keeper,
            distance,
            cluster,
        }
    }
}

/// The copies of a keeper.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyCount {
    pub count: u64,
    /// The times of the first and the last copy; `None` if documents have no times.
    pub seen: Option<[Timestamp; 2]>,
}

/// The documents to remove, by their ids. All other documents are kept.
#[derive(Default)]
pub struct Decisions {
    pub removed: HashMap<u64, Removal>,
    /// The cluster of each keeper.
    pub keepers: HashMap<u64, u64>,
    /// Documents whose ids are taken in the database of `--add`, with the stored fingerprints.
    pub taken: HashMap<u64, Fingerprint>,
    pub clusters: u64,
    pub largest: u64,
    pub split: u64,
    /// Documents that stay for a paragraph that was not compared.
    pub restored: u64,
}

impl Decisions {
    /// Removes the members of clusters that were found elsewhere.
    pub fn from_given(
        clusters: &GivenClusters,
        corpus: &LoadedCorpus,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let mut decisions = Self::default();
        let (mut without_keeper, mut kept) = (0, 0);
        // The number of documents in the corpus, for each keeper.
        let mut sizes: HashMap<u64, u64> = HashMap::new();
        let snapshot = corpus.database.snapshot()?;
        let progress = options.copy.progress;
        let absent = clusters.for_each_removed(&snapshot, progress, interrupt, &mut |member| {
            let RemovedMember {
                id,
                keeper,
                distance,
            } = member;
            // If the keeper is a bad record, no document of the cluster would remain.
            if distance.is_none() && corpus.rejected.may_be(keeper) {
                kept += 1;
                return;
            }
            let size = sizes.entry(keeper).or_default();
            *size += 1;
            if distance.is_some() {
                *size += u64::from(decisions.keepers.insert(keeper, keeper).is_none());
            } else {
                without_keeper += 1;
            }
            let cluster = Some(keeper);
            decisions.removed.insert(
                id,
                Removal {
                    keeper,
                    distance,
                    cluster,
                },
            );
        })?;
        decisions.clusters = sizes.len() as u64;
        decisions.largest = sizes.values().copied().max().unwrap_or(0);
        let all = format!(" of the {} in the clusters", clusters.len());
        for (count, reason, of) in [
            (absent, "not in the inputs", &all[..]),
            (kept, "kept, because their keeper may be a bad record", ""),
            (
                without_keeper,
                "left out for keepers that are not in the inputs, so not compared with them",
                "",
            ),
        ] {
            if count > 0 {
                note(format_args!("{reason}: {}{of}", counted(count, "document")));
            }
        }
        Ok(decisions)
    }

    /// Removes near-duplicates of the documents of another database. Also deletes them from the
    /// temporary database, so that they are in no cluster.
    pub fn remove_near(
        &mut self,
        against: &Database,
        corpus: &Database,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (stored, snapshot) = (against.snapshot()?, corpus.snapshot()?);
        let bar = options.copy.progress.steps("comparing", snapshot.len()?);
        let mut documents = snapshot.documents();
        loop {
            let (mut chunk, mut bytes) = (Vec::new(), 0);
            while chunk.len() < CHUNK_DOCUMENTS && bytes < CHUNK_BYTES {
                let Some(document) = documents.next().transpose()? else {
                    break;
                };
                bytes += document.text.as_ref().map_or(0, String::len);
                chunk.push(document);
            }
            if chunk.is_empty() {
                break;
            }
            interrupt.check()?;
            bar.inc(chunk.len() as u64);
            self.remove_chunk(against, &stored, &chunk, options)?;
        }
        drop(documents);
        drop(snapshot);
        let gone = self.removed.keys().chain(self.taken.keys());
        let changes: Vec<Change> = gone.map(|id| Change::Remove(DocId(*id))).collect();
        for changes in changes.chunks(CHUNK_DOCUMENTS) {
            interrupt.check()?;
            corpus.apply(changes.iter().cloned())?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn remove_chunk(
        &mut self,
        against: &Database,
        stored: &Snapshot,
        documents: &[Document],
        options: &Dedup,
    ) -> Result<()> {
        if options.compares_texts() {
            self.remove_covered(against, stored, documents, options)?;
        } else {
            self.remove_within(against, stored, documents, options)?;
        }
        if !options.add {
            return Ok(());
        }
        let kept = (documents.iter()).filter(|each| !self.removed.contains_key(&each.id.0));
        for document in kept {
            let Some(other) = stored.get(document.id)? else {
                continue;
            };
            let has_other_text = other.text.is_some() && other.text != document.text;
            if has_other_text || other.fingerprint != document.fingerprint {
                self.taken.insert(document.id.0, other.fingerprint);
            }
        }
        Ok(())
    }

    /// Removes the documents that a stored text covers.
    fn remove_covered(
        &mut self,
        against: &Database,
        stored: &Snapshot,
        documents: &[Document],
        options: &Dedup,
    ) -> Result<()> {
        let find = |document: &Document| -> Result<Option<(u64, Removal)>> {
            let keeper = covered_by(against, stored, document, options, None)?;
            Ok(keeper.map(|keeper| (document.id.0, keeper)))
        };
        let found: Result<Vec<_>> = documents.par_iter().with_max_len(16).map(find).collect();
        self.removed.extend(found?.into_iter().flatten());
        Ok(())
    }

    /// Removes the documents within the radius of a stored document; with `--verify`, those that
    /// its text covers.
    fn remove_within(
        &mut self,
        against: &Database,
        stored: &Snapshot,
        documents: &[Document],
        options: &Dedup,
    ) -> Result<()> {
        let reliable: Vec<&Document> = documents.iter().filter(|each| each.reliable).collect();
        let queries: Vec<Fingerprint> = reliable.iter().map(|each| each.fingerprint).collect();
        let radius = options.clustering.radius();
        let mut nearest = Vec::new();
        stored.within_batch_with(&queries, radius, 1, |index, matches| {
            nearest.extend(matches.first().map(|nearest| (reliable[index], *nearest)));
            ControlFlow::Continue(())
        })?;
        for (document, nearest) in nearest {
            let removal = match options.clustering.verify {
                true => covered_by(against, stored, document, options, Some(radius))?,
                false => Some(Removal::new(nearest.id, nearest.distance, None)),
            };
            if let Some(removal) = removal {
                self.removed.insert(document.id.0, removal);
            }
        }
        Ok(())
    }

    /// Removes near-duplicates within the corpus. With scores, the document with the highest score
    /// is kept.
    pub fn remove_clustered(
        &mut self,
        corpus: &Database,
        options: &Dedup,
        columns: DecisionColumns,
        checkpoint: &CheckpointFile,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let bar = options.copy.progress.work();
        let visitor = |event: ClustersEvent<'_>| {
            match event {
                ClustersEvent::Resumed { share } => note(format_args!(
                    "continues from {}, where {} % of the texts are decided",
                    checkpoint.path().display(),
                    (share * 100.0) as u32
                )),
                event => self.take(event, options),
            }
            interrupt.flow()
        };
        let snapshot = corpus.snapshot()?.on_progress(handler(&bar, interrupt));
        let DecisionColumns { scores, groups } = &columns;
        let score = |id: DocId| {
            let score = scores.as_ref().and_then(|scores| scores.get(&id.0));
            score.copied().unwrap_or(f64::NAN)
        };
        let outcome = if options.compares_texts() {
            // Each record has a group: a record without one is a bad record.
            let group = |id: DocId| groups.get(&id.0).copied().unwrap_or_default();
            let save = |state: &JoinCheckpoint| {
                checkpoint.save(state);
                interrupt.flow()
            };
            let mut join = options.join(&group);
            join.checkpoints = Some(Checkpoints {
                every: options.checkpoint_interval(),
                save: &save,
            });
            join.resume = checkpoint.found();
            match scores {
                None => snapshot.similar_clusters(&join, options.keep.keep(), visitor),
                Some(_) => snapshot.similar_clusters_by_score(&join, score, visitor),
            }
        } else {
            let clustering = options.clustering.clustering(options.keep);
            match scores {
                None => snapshot.clusters(&clustering, visitor),
                Some(_) => snapshot.clusters_by_score(&clustering, score, visitor),
            }
        };
        bar.finish_and_clear();
        if interrupt.is_set() && checkpoint.is_own() && options.compares_texts() {
            note(format_args!(
                "repeat the command to continue from {}",
                checkpoint.path().display()
            ));
        }
        interrupt.check()?;
        if let Err(Error::OtherCheckpoint { .. }) = outcome {
            bail!(
                "{} is the checkpoint of other inputs or options, or of another version of simdb; repeat \
                 the command that wrote it, or remove it to begin anew",
                checkpoint.path().display()
            );
        }
        Ok(outcome?)
    }

    /// The copies of each keeper in the corpus.
    pub fn copies(
        &self,
        corpus: &Snapshot,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<HashMap<u64, CopyCount>> {
        let mut copies: HashMap<u64, CopyCount> = HashMap::new();
        let has_times = options.copy.input.fields.time.is_some();
        let mut removed: Vec<_> = self.removed.iter().collect();
        // In the order of the table.
        removed.sort_unstable_by_key(|(id, _)| **id);
        for (id, removal) in removed {
            if removal.cluster.is_none() {
                continue;
            }
            let copies = copies.entry(removal.keeper).or_default();
            copies.count += 1;
            if !has_times {
                continue;
            }
            interrupt.check()?;
            let document = corpus.get(DocId(*id))?;
            if let Some(time) = document.and_then(|document| document.arrival) {
                let [first, last] = copies.seen.unwrap_or([time; 2]);
                copies.seen = Some([first.min(time), last.max(time)]);
            }
        }
        Ok(copies)
    }

    fn take(&mut self, event: ClustersEvent<'_>, options: &Dedup) {
        match event {
            ClustersEvent::Split { id, documents } => {
                self.split += 1;
                note(options.clustering.split_warning(id, documents));
            }
            ClustersEvent::Cluster(cluster) => {
                self.clusters += 1;
                self.largest = self.largest.max(cluster.members.len() as u64);
                self.keepers.insert(cluster.keeper.0, cluster.id.0);
                let members = cluster.members.iter();
                let removed = members.filter(|member| member.id != cluster.keeper);
                let id = Some(cluster.id.0);
                self.removed.extend(removed.map(|member| {
                    let removal = Removal::new(cluster.keeper, member.distance, id);
                    (member.id.0, removal)
                }));
            }
            _ => {}
        }
    }
}

/// The stored document whose text covers the text of a document: among the candidates of a similar
/// query, or within a radius.
fn covered_by(
    against: &Database,
    stored: &Snapshot,
    document: &Document,
    options: &Dedup,
    radius: Option<u32>,
) -> Result<Option<Removal>> {
    let text = document.text.as_deref().unwrap_or_default();
    let query = against
        .text_query(text)?
        .with_fingerprint(document.text_fingerprint());
    let query = query
        .likeness(options.clustering.join_likeness())
        .decision(options.clustering.decision());
    let query = match radius {
        Some(radius) => query.without_forest().radius(radius),
        None => query,
    };
    let similar = stored.similar(&query)?;
    let mut covering = similar
        .iter()
        .filter(|similar| similar.verdict().is_none_or(Verdict::is_a_in_b));
    Ok(covering.next().map(|similar| {
        let distance = document.fingerprint.distance(similar.fingerprint);
        Removal::new(similar.id, distance, None)
    }))
}
