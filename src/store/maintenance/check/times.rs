//! The tables of arrival times: that they hold the same times, one of every document.

use super::{EntrySum, TableCheck, both};
use crate::error::Result;
use crate::store::tables::packed::chunk::{pair, swapped};
use crate::store::view::snapshot_tables::SnapshotTables;
use crate::timestamp::Timestamp;

/// The content of `times` and `arrivals`.
#[derive(Default)]
pub(super) struct TimeSums {
    /// The entries of `arrivals`, as `times` should hold them.
    from_arrivals: EntrySum,
    from_times: EntrySum,
    /// The ids in `times`, each as often as it is there.
    ids: EntrySum,
    latest: Option<u64>,
}

impl TableCheck {
    /// Reads both tables. Returns `true` if all of both can be read.
    pub(super) fn times(&mut self, tables: &SnapshotTables, sums: &mut TimeSums) -> Result<bool> {
        let Some(times) = &tables.times else {
            return Ok(true);
        };
        let is_whole = self.read(&times.arrivals, |entry: u128| {
            let (time, _) = both(entry);
            sums.from_arrivals.add(swapped(entry));
            sums.latest = Some(time);
            Ok(())
        })?;
        Ok(self.read(&times.times, |entry: u128| {
            let (id, _) = both(entry);
            sums.from_times.add(entry);
            sums.ids.add(pair(id, 0));
            Ok(())
        })? && is_whole)
    }

    /// Compares the content of both tables with the ids of all documents.
    pub(super) fn compare_times(
        &mut self,
        tables: &SnapshotTables,
        sums: &TimeSums,
        ids: EntrySum,
    ) -> Result<()> {
        if sums.from_arrivals != sums.from_times {
            self.name_differing_times(tables)?;
        }
        if sums.ids != ids {
            self.name_documents_without_one_time(tables)?;
        }
        let counted = tables.counters().latest_arrival;
        if let Some(latest) = sums.latest.filter(|latest| *latest > counted) {
            self.damage.push(format!(
                "the counters say that the latest arrival was at {}; table arrivals holds one at {}",
                Timestamp(counted),
                Timestamp(latest)
            ));
        }
        Ok(())
    }

    fn name_differing_times(&mut self, tables: &SnapshotTables) -> Result<()> {
        let Some(times) = &tables.times else {
            return Ok(());
        };
        let only_in_arrivals = times.arrivals.entries()?.map(|entry| {
            let (time, id) = both(entry?);
            let wanted = pair(id, time);
            let is_missing = times.times.first_in(wanted, wanted)?.is_none();
            Ok(is_missing.then(|| one_sided(id, time, ["arrivals", "times"])))
        });
        let only_in_times = times.times.entries()?.map(|entry| {
            let (id, time) = both(entry?);
            let wanted = pair(time, id);
            let is_missing = times.arrivals.first_in(wanted, wanted)?.is_none();
            Ok(is_missing.then(|| one_sided(id, time, ["times", "arrivals"])))
        });
        self.name(only_in_arrivals.chain(only_in_times))
    }

    fn name_documents_without_one_time(&mut self, tables: &SnapshotTables) -> Result<()> {
        let Some(times) = &tables.times else {
            return Ok(());
        };
        let fingerprints = &tables.fingerprints;
        let without_time = fingerprints.entries()?.map(|entry| {
            let (id, _) = both(entry?);
            let time = times.times.first_in(pair(id, 0), pair(id, u64::MAX))?;
            Ok(time
                .is_none()
                .then(|| format!("table times lacks document {id}")))
        });
        let mut last = None;
        let with_several = times.times.entries()?.map(|entry| {
            let (id, _) = both(entry?);
            if last.replace(id) == Some(id) {
                return Ok(Some(format!(
                    "table times holds document {id} more than once"
                )));
            }
            let document = fingerprints.first_in(pair(id, 0), pair(id, u64::MAX))?;
            Ok(document
                .is_none()
                .then(|| format!("table times holds document {id}, table fingerprints does not")))
        });
        self.name(without_time.chain(with_several))
    }
}

fn one_sided(id: u64, time: u64, [holds, lacks]: [&str; 2]) -> String {
    let time = Timestamp(time);
    format!("table {holds} holds document {id} at {time}, table {lacks} does not")
}
