//! [`ExternalClusters`]: clusters that were found elsewhere, and say which documents to remove here.
//!
//! - [`reader`]: the files of `simdb-cli clusters` and of Spark
//! - [`distance_check`]: whether the clusters are those of the documents here

mod distance_check;
mod reader;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use simdb::{DocId, Snapshot};

use self::distance_check::DistanceCheck;
use self::reader::{ClusterReader, ClusterRow};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;

/// Clusters that were found elsewhere. 32 bytes for each document in them.
pub struct ExternalClusters {
    path: PathBuf,
    /// In order of the ids of documents.
    rows: Vec<ClusterRow>,
}

/// A document that is stored, and is not the keeper of its cluster.
pub struct RemovedMember {
    pub id: u64,
    pub keeper: u64,
    pub cluster: u64,
    /// The distance from the keeper: measured, or else as the clusters say; `None` if neither is known.
    pub distance: Option<u32>,
    /// `true` if the keeper is stored.
    pub has_keeper: bool,
    /// `true` if the clusters say the distance.
    pub has_distance: bool,
}

impl ExternalClusters {
    /// Reads a file or folder that `simdb-cli clusters` or Spark has written. An error if the clusters
    /// contradict themselves.
    pub fn read(path: &Path, progress: Progress, interrupt: &Interrupt) -> Result<Self> {
        let mut rows = ClusterReader::read(path, progress, interrupt)?;
        rows.sort_unstable_by_key(|row| (row.id, row.cluster));
        let clusters = Self {
            path: path.to_owned(),
            rows,
        };
        clusters.check()?;
        Ok(clusters)
    }

    /// Refuses a document in two clusters, and a keeper that is to be removed.
    fn check(&self) -> Result<()> {
        let path = self.path.display();
        for pair in self.rows.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            ensure!(
                a.id != b.id,
                "{path}: document {} is there twice, in cluster {} and in cluster {}; a document is \
                 in one cluster",
                a.id,
                a.cluster,
                b.cluster
            );
        }
        for row in self.rows.iter().filter(|row| !row.is_keeper()) {
            let Ok(keeper) = (self.rows).binary_search_by_key(&row.keeper, |row| row.id) else {
                continue;
            };
            let keeper = &self.rows[keeper];
            ensure!(
                keeper.is_keeper(),
                "{path}: document {} is the keeper of document {}, and is itself left out for \
                 document {}",
                keeper.id,
                row.id,
                keeper.keeper
            );
            ensure!(
                keeper.cluster == row.cluster,
                "{path}: document {} is in cluster {}, and its keeper {} in cluster {}",
                row.id,
                row.cluster,
                keeper.id,
                keeper.cluster
            );
        }
        Ok(())
    }

    /// The number of documents in clusters.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Hands over the documents of a snapshot that are to be removed, in order of their ids. Returns
    /// the number of documents in clusters that are not in the snapshot. An error if the clusters are
    /// of other documents.
    pub fn for_each_removed(
        &self,
        snapshot: &Snapshot,
        progress: Progress,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(RemovedMember),
    ) -> Result<u64> {
        let bar = progress.work();
        bar.set_prefix("checking");
        bar.set_length(self.len());
        let mut absent = 0;
        let mut check = DistanceCheck::new(&self.path);
        // Members of a cluster often follow one another, so the last keeper is not read again.
        let mut last_keeper = None;
        for row in &self.rows {
            interrupt.check()?;
            bar.inc(1);
            let Some(document) = snapshot.get(DocId(row.id))? else {
                absent += 1;
                continue;
            };
            check.refuse_unreliable(&document)?;
            if row.is_keeper() {
                continue;
            }
            let keeper = match last_keeper {
                Some((id, fingerprint)) if id == row.keeper => fingerprint,
                _ => match snapshot.get(DocId(row.keeper))? {
                    Some(keeper) => {
                        check.refuse_unreliable(&keeper)?;
                        Some(keeper.fingerprint)
                    }
                    None => None,
                },
            };
            last_keeper = Some((row.keeper, keeper));
            let measured = check.compare(row, document.fingerprint, keeper)?;
            take(RemovedMember {
                id: row.id,
                keeper: row.keeper,
                cluster: row.cluster,
                distance: measured.or(row.distance),
                has_keeper: keeper.is_some(),
                has_distance: row.distance.is_some(),
            });
        }
        bar.finish_and_clear();
        check.finish()?;
        Ok(absent)
    }
}
