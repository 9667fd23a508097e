//! [`ExternalClusters`]: clusters from a file of `simdb-cli clusters` or of Spark.
//!
//! - [`reader`]: reads the files
//! - [`distance_check`]: checks that the clusters belong to the stored documents

mod distance_check;
mod reader;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use simdb::{DocId, Snapshot};

use self::distance_check::DistanceCheck;
use self::reader::{ClusterReader, ClusterRow};
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;

/// Clusters from a file, with 32 bytes of memory for each member.
pub struct ExternalClusters {
    path: PathBuf,
    /// Sorted by document id.
    rows: Vec<ClusterRow>,
}

/// A stored document that is not the keeper of its cluster.
pub struct RemovedMember {
    pub id: u64,
    pub keeper: u64,
    pub cluster: u64,
    /// The distance from the keeper: measured, otherwise from the file; `None` if neither is known.
    pub distance: Option<u32>,
    /// `true` if the keeper is stored.
    pub has_keeper: bool,
    /// `true` if the file has the distance.
    pub has_distance: bool,
}

impl ExternalClusters {
    /// Reads a file or folder of `simdb-cli clusters` or Spark. Clusters that contradict themselves
    /// are an error.
    pub fn read(path: &Path, progress: ProgressMode, interrupt: &Interrupt) -> Result<Self> {
        let mut rows = ClusterReader::read(path, progress, interrupt)?;
        rows.sort_unstable_by_key(|row| (row.id, row.cluster));
        let clusters = Self {
            path: path.to_owned(),
            rows,
        };
        clusters.check()?;
        Ok(clusters)
    }

    /// Refuses a document in two clusters, and a keeper that is a member of another cluster.
    fn check(&self) -> Result<()> {
        let path = self.path.display();
        for pair in self.rows.windows(2) {
            let (a, b) = (pair[0].cluster, pair[1].cluster);
            ensure!(
                pair[0].id != pair[1].id,
                "{path}: document {} is there twice, in cluster {a} and in cluster {b}; a document is \
                 in one cluster",
                pair[0].id
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

    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Calls `take` with each stored member, in order of their ids. Returns the number of documents
    /// in clusters that are not stored. Clusters of other documents are an error.
    pub fn for_each_removed(
        &self,
        snapshot: &Snapshot,
        progress: ProgressMode,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(RemovedMember),
    ) -> Result<u64> {
        let bar = progress.steps("checking", self.len());
        let mut absent = 0;
        let mut check = DistanceCheck::new(&self.path);
        // Members of a cluster often have consecutive ids, so the last keeper is cached.
        let mut last_keeper = None;
        for row in &self.rows {
            interrupt.check()?;
            bar.inc(1);
            let Some(document) = snapshot.get(DocId(row.id))? else {
                absent += 1;
                continue;
            };
            if row.is_keeper() {
                continue;
            }
            let keeper = match last_keeper {
                Some((id, fingerprint)) if id == row.keeper => fingerprint,
                _ => snapshot
                    .get(DocId(row.keeper))?
                    .map(|keeper| keeper.fingerprint),
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
