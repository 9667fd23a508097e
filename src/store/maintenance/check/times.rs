//! The tables of arrival times: both hold the same times, one for each document.

use super::entry_sum::EntrySum;
use super::{PackedTable, TableCheck, both, has_document, holds};
use crate::error::Result;
use crate::ids::Timestamp;
use crate::store::tables::packed::entry::{pair, swapped};
use crate::store::tables::schema::FINGERPRINTS;
use crate::store::view::access::SnapshotTables;

/// The content of `times` and `arrivals`.
#[derive(Default)]
pub(super) struct TimeSums {
    /// The entries of `arrivals`, as `times` should hold them.
    from_arrivals: EntrySum,
    from_times: EntrySum,
    /// The ids in `times`, each as often as the table holds it.
    ids: EntrySum,
    latest: Option<u64>,
}

impl TableCheck {
    /// Reads both tables. Returns `true` if all of both can be read.
    pub(super) fn times(
        &mut self,
        arrivals: &PackedTable<u128>,
        times: &PackedTable<u128>,
        sums: &mut TimeSums,
    ) -> Result<bool> {
        let is_whole = self.read(arrivals, |entry: u128| {
            let (time, _) = both(entry);
            sums.from_arrivals.add(swapped(entry));
            sums.latest = Some(time);
            Ok(())
        })?;
        Ok(self.read(times, |entry: u128| {
            let (id, _) = both(entry);
            sums.from_times.add(entry);
            sums.ids.add(pair(id, 0));
            Ok(())
        })? && is_whole)
    }

    /// Compares both tables with each other and with the ids of all documents.
    pub(super) fn compare_times(
        &mut self,
        tables: &SnapshotTables,
        arrivals: &PackedTable<u128>,
        times: &PackedTable<u128>,
        sums: &TimeSums,
        ids: EntrySum,
    ) -> Result<()> {
        if sums.from_arrivals != sums.from_times {
            let only_in_arrivals = arrivals.entries()?.map(|entry| {
                let entry = swapped(entry?);
                one_sided(entry, holds(times, entry)?, ["arrivals", "times"])
            });
            let only_in_times = times.entries()?.map(|entry| {
                let entry = entry?;
                one_sided(
                    entry,
                    holds(arrivals, swapped(entry))?,
                    ["times", "arrivals"],
                )
            });
            self.name(only_in_arrivals.chain(only_in_times))?;
        }
        if sums.ids != ids {
            self.name_documents_without_one_time(tables, times)?;
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

    fn name_documents_without_one_time(
        &mut self,
        tables: &SnapshotTables,
        times: &PackedTable<u128>,
    ) -> Result<()> {
        let without_time = tables.table(FINGERPRINTS).entries()?.map(|entry| {
            let (id, _) = both(entry?);
            let has_time = has_document(times, id)?;
            Ok((!has_time).then(|| format!("table times lacks document {id}")))
        });
        let mut last = None;
        let with_several = times.entries()?.map(|entry| {
            let (id, _) = both(entry?);
            Ok(if last.replace(id) == Some(id) {
                Some(format!("table times holds document {id} more than once"))
            } else if has_document(tables.table(FINGERPRINTS), id)? {
                None
            } else {
                Some(format!(
                    "table times holds document {id}, table fingerprints does not"
                ))
            })
        });
        self.name(without_time.chain(with_several))
    }
}

fn one_sided(entry: u128, is_held: bool, [holds, lacks]: [&str; 2]) -> Result<Option<String>> {
    let (id, time) = both(entry);
    let time = Timestamp(time);
    Ok((!is_held)
        .then(|| format!("table {holds} holds document {id} at {time}, table {lacks} does not")))
}
