//! What becomes of each document that is not simply kept.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::Result;
use simdb::{
    Change, ClustersEvent, Database, DocId, Document, Fingerprint, Snapshot, TextFingerprint,
};

use super::mark::Removed;
use super::options::Dedup;
use crate::console::interrupt::Interrupt;
use crate::console::note;
use crate::console::progress::handler;

/// Documents that are compared with another database at a time, and bytes of their texts.
const AT_ONCE: usize = 1 << 16;
const AT_ONCE_BYTES: usize = 64 << 20;

/// What becomes of documents, by their ids.
#[derive(Default)]
pub struct Fates {
    pub removed: HashMap<u64, Removed>,
    /// The documents that others are left out for, and the cluster of each.
    pub keepers: HashMap<u64, u64>,
    /// Documents whose ids are taken in the database that they are to be added to, and by what.
    pub taken: HashMap<u64, Fingerprint>,
    pub clusters: u64,
    pub largest: u64,
    pub split: u64,
}

impl Fates {
    /// Removes from a corpus what is near a document of another database.
    pub fn compare_with(
        &mut self,
        against: &Database,
        corpus: &Database,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let bar = options.progress.work();
        bar.set_prefix("comparing");
        let (stored, snapshot) = (against.snapshot()?, corpus.snapshot()?);
        bar.set_length(snapshot.len());
        let mut some = Vec::new();
        let mut bytes = 0;
        let mut documents = snapshot.documents();
        loop {
            let next = documents.next().transpose()?;
            let is_end = next.is_none();
            if let Some(document) = next {
                bytes += document.text.as_ref().map_or(0, String::len);
                some.push(document);
            }
            if is_end || some.len() >= AT_ONCE || bytes >= AT_ONCE_BYTES {
                interrupt.check()?;
                bar.inc(some.len() as u64);
                self.compare_some(against, &stored, &some, options)?;
                some.clear();
                bytes = 0;
            }
            if is_end {
                break;
            }
        }
        drop(documents);
        drop(snapshot);
        let gone = self.removed.keys().chain(self.taken.keys());
        let changes: Vec<Change> = gone.map(|id| Change::Remove(DocId(*id))).collect();
        for some in changes.chunks(AT_ONCE) {
            interrupt.check()?;
            corpus.apply(some.iter().cloned())?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn compare_some(
        &mut self,
        against: &Database,
        stored: &Snapshot,
        documents: &[Document],
        options: &Dedup,
    ) -> Result<()> {
        let reliable: Vec<&Document> = documents.iter().filter(|each| each.reliable).collect();
        let queries: Vec<Fingerprint> = reliable.iter().map(|each| each.fingerprint).collect();
        let radius = options.clustering.radius();
        let mut near = Vec::new();
        stored.within_batch_with(&queries, radius, 1, |number, matches| {
            near.extend(matches.first().map(|nearest| (number, *nearest)));
            ControlFlow::Continue(())
        })?;
        for (number, nearest) in near {
            let document = reliable[number];
            let keeper = match options.clustering.likeness() {
                None => Some((nearest.id.0, nearest.distance)),
                Some(likeness) => {
                    let text = document.text.as_deref().unwrap_or_default();
                    let made = TextFingerprint {
                        fingerprint: document.fingerprint,
                        reliable: true,
                    };
                    let query = against.text_query(text)?.with_fingerprint(made);
                    let query = query.likeness(likeness).without_bands().radius(radius);
                    let alike = stored.similar(&query)?;
                    let distance = |id: Fingerprint| document.fingerprint.distance(id);
                    alike
                        .first()
                        .map(|found| (found.id.0, distance(found.fingerprint)))
                }
            };
            if let Some((keeper, distance)) = keeper {
                let removed = Removed {
                    keeper,
                    distance: Some(distance),
                    cluster: None,
                };
                self.removed.insert(document.id.0, removed);
            }
        }
        if !options.add {
            return Ok(());
        }
        for document in documents {
            if self.removed.contains_key(&document.id.0) {
                continue;
            }
            if let Some(other) = stored.get(document.id)?
                && other.fingerprint != document.fingerprint
            {
                self.taken.insert(document.id.0, other.fingerprint);
            }
        }
        Ok(())
    }

    /// Removes near-duplicates within a corpus.
    pub fn cluster(
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
                    note(options.clustering.split(id, documents));
                }
                ClustersEvent::Cluster(cluster) => {
                    self.clusters += 1;
                    self.largest = self.largest.max(cluster.members.len() as u64);
                    self.keepers.insert(cluster.keeper.0, cluster.id.0);
                    for member in &cluster.members {
                        if member.id != cluster.keeper {
                            let removed = Removed {
                                keeper: cluster.keeper.0,
                                distance: Some(member.distance),
                                cluster: Some(cluster.id.0),
                            };
                            self.removed.insert(member.id.0, removed);
                        }
                    }
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
