//! The tables of arrival times: that they hold the same, and of every document.

use super::{NAMED, Sum, Walk};
use crate::document::Timestamp;
use crate::error::Result;
use crate::store::tables::Times;
use crate::store::tables::packed::chunk::{Entry, pair, swapped};
use crate::store::tables::schema::TIMES;
use crate::store::view::snapshot_tables::SnapshotTables;

/// What the tables of arrival times hold.
#[derive(Default)]
pub(super) struct TimesFound {
    /// The entries of `arrivals`, as `times` should hold them.
    from_arrivals: Sum,
    from_times: Sum,
    /// The ids in `times`, each as often as it is there.
    ids: Sum,
    latest: Option<u64>,
}

type Table = redb::ReadOnlyTable<u128, &'static [u8]>;

impl Walk {
    /// Walks both tables; whether all of them could be read.
    pub(super) fn times(
        &mut self,
        tables: &SnapshotTables,
        found: &mut TimesFound,
    ) -> Result<bool> {
        let Some(kept) = &tables.times else {
            return Ok(true);
        };
        let mut whole = self.walk(&kept.arrivals, |entry: u128| {
            found.from_arrivals.add(swapped(entry));
            found.latest = Some(entry.first());
            Ok(())
        })?;
        whole &= self.walk(&kept.times, |entry: u128| {
            found.from_times.add(entry);
            found.ids.add(pair(entry.first(), 0));
            Ok(())
        })?;
        Ok(whole)
    }

    /// Compares what was found with the ids of all documents.
    pub(super) fn compare_times(
        &mut self,
        tables: &SnapshotTables,
        found: &TimesFound,
        ids: Sum,
    ) -> Result<()> {
        let Some(kept) = &tables.times else {
            return Ok(());
        };
        if found.from_arrivals != found.from_times {
            self.name_times_that_differ(kept)?;
        }
        if found.ids != ids {
            self.name_documents_without_one_time(tables, kept)?;
        }
        let counted = tables.counters().latest_arrival;
        if let Some(latest) = found.latest.filter(|latest| *latest > counted) {
            self.damage.push(format!(
                "the counters say that the latest arrival was at {}; table arrivals holds one at {}",
                Timestamp(counted),
                Timestamp(latest)
            ));
        }
        Ok(())
    }

    fn name_times_that_differ(&mut self, kept: &Times<Table>) -> Result<()> {
        let before = self.damage.len();
        let tables = [(&kept.arrivals, &kept.times), (&kept.times, &kept.arrivals)];
        for (table, other) in tables {
            for entry in table.entries()? {
                let entry = swapped(entry?);
                if other.first_in(entry, entry)?.is_none() {
                    let (id, time) = if other.id() == TIMES {
                        (entry.first(), entry.second())
                    } else {
                        (entry.second(), entry.first())
                    };
                    self.damage.push(format!(
                        "table {} holds document {id} at {}, table {} does not",
                        table.id().name,
                        Timestamp(time),
                        other.id().name
                    ));
                }
                if self.damage.len() - before == NAMED {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn name_documents_without_one_time(
        &mut self,
        tables: &SnapshotTables,
        kept: &Times<Table>,
    ) -> Result<()> {
        let of = |id: u64| (pair(id, 0), pair(id, u64::MAX));
        let fingerprints = &tables.fingerprints;
        let before = self.damage.len();
        for entry in fingerprints.entries()? {
            let entry: u128 = entry?;
            let id = entry.first();
            let (from, to) = of(id);
            if kept.times.first_in(from, to)?.is_none() {
                self.damage.push(format!("table times lacks document {id}"));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        let mut last = None;
        for entry in kept.times.entries()? {
            let entry: u128 = entry?;
            let id = entry.first();
            let (from, to) = of(id);
            if last.replace(id) == Some(id) {
                self.damage
                    .push(format!("table times holds document {id} more than once"));
            } else if fingerprints.first_in(from, to)?.is_none() {
                self.damage.push(format!(
                    "table times holds document {id}, table fingerprints does not"
                ));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        Ok(())
    }
}
