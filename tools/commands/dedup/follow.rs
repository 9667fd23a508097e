//! Clusters that were found elsewhere decide what becomes of documents.

use std::collections::HashMap;

use anyhow::Result;

use super::fates::Fates;
use super::load::Loaded;
use super::mark::Removed;
use super::options::Dedup;
use crate::commands::given_clusters::GivenClusters;
use crate::console::interrupt::Interrupt;
use crate::console::{counted, note};

impl Fates {
    /// Removes from a corpus what these clusters leave out. An error if they are of another corpus.
    /// What a bad record may have been the keeper of is not removed: else nothing would be left.
    pub fn follow(
        &mut self,
        given: &GivenClusters,
        corpus: &Loaded,
        options: &Dedup,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (mut without_keeper, mut kept) = (0, 0);
        // How many documents of each cluster are in the corpus.
        let mut sizes: HashMap<u64, u64> = HashMap::new();
        let snapshot = corpus.database.snapshot()?;
        let absent = given.left_out(&snapshot, options.progress, interrupt, &mut |left_out| {
            let (keeper, cluster) = (left_out.keeper, left_out.cluster);
            if !left_out.has_keeper && corpus.rejected.may_be(keeper) {
                kept += 1;
                return;
            }
            let size = sizes.entry(cluster).or_default();
            *size += 1;
            match left_out.has_keeper {
                true => *size += u64::from(self.keepers.insert(keeper, cluster).is_none()),
                false => without_keeper += 1,
            }
            let removed = Removed {
                keeper,
                distance: left_out.distance,
                cluster: Some(cluster),
            };
            self.removed.insert(left_out.id, removed);
        })?;
        self.clusters = sizes.len() as u64;
        self.largest = sizes.values().copied().max().unwrap_or(0);
        if absent > 0 {
            note(format_args!(
                "not in the inputs: {} of the {} in the clusters",
                counted(absent, "document"),
                given.len()
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
        Ok(())
    }
}
