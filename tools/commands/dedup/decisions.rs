//! [`Decisions`]: the documents that are removed, and the reason of each.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::Result;
use simdb::{
    Change, ClustersEvent, Database, DocId, Document, Fingerprint, Snapshot, TextFingerprint,
};

use super::load::LoadedCorpus;
use super::options::Dedup;
use crate::commands::external_clusters::ExternalClusters;
use crate::console::interrupt::Interrupt;
use crate::console::progress::handler;
use crate::console::{counted, note};

/// The most documents that are compared with another database at a time.
const CHUNK_DOCUMENTS: usize = 1 << 16;
/// A chunk with this many bytes of texts is full.
const CHUNK_BYTES: usize = 64 << 20;

/// The reason why a document is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The document that is kept instead.
    pub keeper: u64,
    /// The number of bits in which both differ. External clusters may not say it.
    pub distance: Option<u32>,
    /// The cluster of both; `None` if the keeper is in another database.
    pub cluster: Option<u64>,
}

/// The decisions about documents, by their ids. A document that is not in them is kept.
#[derive(Default)]
pub struct Decisions {
    pub removed: HashMap<u64, Removal>,
    /// The cluster of each document that others are removed for.
    pub keepers: HashMap<u64, u64>,
    /// Documents whose ids are taken in the database of `--add`, and the fingerprints there.
    pub taken: HashMap<u64, Fingerprint>,
    pub clusters: u64,
    /// The number of documents in the largest cluster.
    pub largest: u64,
    /// The number of clusters that were split.
    pub split: u64,
}

impl Decisions {
    /// Removes the documents of a corpus that external clusters remove. An error if the clusters are
    /// of another corpus.
    pub fn from_external(
        clusters: &ExternalClusters,
        corpus: &LoadedCorpus,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let mut decisions = Self::default();
        let (mut without_keeper, mut kept) = (0, 0);
        // The number of documents of each cluster that are in the corpus.
        let mut sizes: HashMap<u64, u64> = HashMap::new();
        let snapshot = corpus.database.snapshot()?;
        let progress = options.progress;
        let absent = clusters.for_each_removed(&snapshot, progress, interrupt, &mut |member| {
            let (keeper, cluster) = (member.keeper, member.cluster);
            // If the keeper is a bad record, no document of the cluster would be left.
            if !member.has_keeper && corpus.rejected.may_be(keeper) {
                kept += 1;
                return;
            }
            let size = sizes.entry(cluster).or_default();
            *size += 1;
            if member.has_keeper {
                *size += u64::from(decisions.keepers.insert(keeper, cluster).is_none());
            } else {
                without_keeper += 1;
            }
            let removal = Removal {
                keeper,
                distance: member.distance,
                cluster: Some(cluster),
            };
            decisions.removed.insert(member.id, removal);
        })?;
        decisions.clusters = sizes.len() as u64;
        decisions.largest = sizes.values().copied().max().unwrap_or(0);
        if absent > 0 {
            let absent = counted(absent, "document");
            let all = clusters.len();
            note(format_args!(
                "not in the inputs: {absent} of the {all} in the clusters"
            ));
        }
        if kept > 0 {
            note(format_args!(
                "kept, since what would be kept for them may be a bad record: {}",
                counted(kept, "document")
            ));
        }
        if without_keeper > 0 {
            note(format_args!(
                "left out for keepers that are not in the inputs, so not compared with them: {}",
                counted(without_keeper, "document")
            ));
        }
        Ok(decisions)
    }

    /// Removes the documents of a corpus that are near a document of another database, from the corpus
    /// too, so that they are in no cluster.
    pub fn remove_near(
        &mut self,
        against: &Database,
        corpus: &Database,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let bar = options.progress.work();
        bar.set_prefix("comparing");
        let (stored, snapshot) = (against.snapshot()?, corpus.snapshot()?);
        bar.set_length(snapshot.len()?);
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
        let reliable: Vec<&Document> = documents.iter().filter(|each| each.reliable).collect();
        let queries: Vec<Fingerprint> = reliable.iter().map(|each| each.fingerprint).collect();
        let radius = options.clustering.radius();
        let mut nearest = Vec::new();
        stored.within_batch_with(&queries, radius, 1, |index, matches| {
            nearest.extend(matches.first().map(|nearest| (reliable[index], *nearest)));
            ControlFlow::Continue(())
        })?;
        for (document, nearest) in nearest {
            let keeper = match options.clustering.likeness() {
                None => Some((nearest.id, nearest.distance)),
                Some(likeness) => {
                    let text = document.text.as_deref().unwrap_or_default();
                    let fingerprint = TextFingerprint {
                        fingerprint: document.fingerprint,
                        reliable: true,
                    };
                    let query = against.text_query(text)?.with_fingerprint(fingerprint);
                    let query = query.likeness(likeness).without_bands().radius(radius);
                    let similar = stored.similar(&query)?;
                    similar.first().map(|similar| {
                        let distance = document.fingerprint.distance(similar.fingerprint);
                        (similar.id, distance)
                    })
                }
            };
            if let Some((keeper, distance)) = keeper {
                let removal = Removal {
                    keeper: keeper.0,
                    distance: Some(distance),
                    cluster: None,
                };
                self.removed.insert(document.id.0, removal);
            }
        }
        if !options.add {
            return Ok(());
        }
        let kept = (documents.iter()).filter(|each| !self.removed.contains_key(&each.id.0));
        for document in kept {
            if let Some(other) = stored.get(document.id)?
                && other.fingerprint != document.fingerprint
            {
                self.taken.insert(document.id.0, other.fingerprint);
            }
        }
        Ok(())
    }

    /// Removes near-duplicates within a corpus. With `scores`, the document with the highest is kept.
    pub fn remove_clustered(
        &mut self,
        corpus: &Database,
        options: &Dedup,
        scores: Option<HashMap<u64, f64>>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let bar = options.progress.work();
        let clustering = options.clustering.clustering(options.keep);
        let visitor = |event: ClustersEvent<'_>| {
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
                    self.removed.extend(removed.map(|member| {
                        let removal = Removal {
                            keeper: cluster.keeper.0,
                            distance: Some(member.distance),
                            cluster: Some(cluster.id.0),
                        };
                        (member.id.0, removal)
                    }));
                }
                _ => {}
            }
            interrupt.flow()
        };
        let snapshot = corpus.snapshot()?.on_progress(handler(&bar, interrupt));
        let outcome = match scores {
            None => snapshot.clusters(&clustering, visitor),
            Some(scores) => {
                let score = |id: DocId| scores.get(&id.0).copied().unwrap_or(f64::NAN);
                snapshot.clusters_by_score(&clustering, score, visitor)
            }
        };
        bar.finish_and_clear();
        interrupt.check()?;
        Ok(outcome?)
    }
}
