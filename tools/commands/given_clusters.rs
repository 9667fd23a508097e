//! [`GivenClusters`]: clusters that were found elsewhere, and decide what is left out here.

mod proof;
mod rows;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use simdb::{DocId, Fingerprint, Snapshot};

use self::proof::Proof;
pub use self::rows::Row;
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;

/// Who is left out for whom. 32 bytes for each document in a cluster.
pub struct GivenClusters {
    path: PathBuf,
    /// In order of their ids.
    rows: Vec<Row>,
}

/// A document that is there and is left out.
pub struct LeftOut {
    pub id: u64,
    pub keeper: u64,
    pub cluster: u64,
    /// In how many bits it differs from its keeper, if that is known.
    pub distance: Option<u32>,
    /// Whether its keeper is there too.
    pub has_keeper: bool,
    /// Whether the clusters say how far it is from its keeper.
    pub has_distance: bool,
}

impl GivenClusters {
    /// Reads what `simdb-cli clusters` or Spark has written. An error if it contradicts itself.
    pub fn read(path: &Path, progress: Progress, interrupt: &Interrupt) -> Result<Self> {
        let bar = progress.bytes(rows::size_bytes(path)?);
        bar.set_prefix("clusters");
        let bytes_read = Arc::<AtomicU64>::default();
        let mut rows = Vec::new();
        rows::read(path, &bytes_read, &mut |row| {
            interrupt.check()?;
            bar.set_position(bytes_read.load(Ordering::Relaxed));
            rows.push(row);
            Ok(())
        })?;
        bar.finish_and_clear();
        rows.sort_unstable_by_key(|row: &Row| (row.id, row.cluster));
        let given = Self {
            path: path.to_owned(),
            rows,
        };
        given.check()?;
        Ok(given)
    }

    /// Refuses a document in two clusters, and a keeper that is left out.
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
        for row in self.rows.iter().filter(|row| row.is_left_out()) {
            let Some(keeper) = self.row(row.keeper) else {
                continue;
            };
            ensure!(
                !keeper.is_left_out(),
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

    fn row(&self, id: u64) -> Option<&Row> {
        let place = self.rows.binary_search_by_key(&id, |row| row.id);
        place.ok().map(|place| &self.rows[place])
    }

    /// How many documents are in a cluster.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Hands over, in order of their ids, the documents of a snapshot that are left out, and says how
    /// many documents of the clusters are not in it. An error if these are clusters of others than
    /// the documents there.
    pub fn left_out(
        &self,
        snapshot: &Snapshot,
        progress: Progress,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(LeftOut),
    ) -> Result<u64> {
        let bar = progress.work();
        bar.set_prefix("checking");
        bar.set_length(self.len());
        let mut absent = 0;
        let mut proof = Proof::of(&self.path);
        // Members of a cluster often follow one another.
        let mut keeper: Option<(u64, Option<Fingerprint>)> = None;
        for row in &self.rows {
            interrupt.check()?;
            bar.inc(1);
            let Some(document) = snapshot.get(DocId(row.id))? else {
                absent += 1;
                continue;
            };
            proof.refuse_unreliable(&document)?;
            if !row.is_left_out() {
                continue;
            }
            let of_keeper = match keeper {
                Some((id, fingerprint)) if id == row.keeper => fingerprint,
                _ => {
                    let there = snapshot.get(DocId(row.keeper))?;
                    if let Some(there) = &there {
                        proof.refuse_unreliable(there)?;
                    }
                    there.map(|there| there.fingerprint)
                }
            };
            keeper = Some((row.keeper, of_keeper));
            let actual = proof.compare(row, document.fingerprint, of_keeper)?;
            take(LeftOut {
                id: row.id,
                keeper: row.keeper,
                cluster: row.cluster,
                distance: actual.or(row.distance),
                has_keeper: of_keeper.is_some(),
                has_distance: row.distance.is_some(),
            });
        }
        bar.finish_and_clear();
        proof.finish()?;
        Ok(absent)
    }
}
