//! [`SalvageTables`]: the tables of a damaged file that redb can open.

use std::path::Path;

use super::join::{JoinCursor, SourceJoin, TwinCursor, Value, first_of_each_id};
use super::source::{OpenFile, Table};
use crate::document::Timestamp;
use crate::error::Result;
use crate::progress::ProgressReporter;
use crate::store::bulk::MIN_MEMORY_BYTES;
use crate::store::bulk::sort::{SortContext, Sorted, Sorter};
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::DbPath;
use crate::store::tables::packed::chunk::{Entry, swapped};
use crate::store::tables::packed::damaged_ranges::{Damaged, KeyInt, Part};
use crate::store::tables::packed::{Packed, TableId};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, FINGERPRINTS, Keeps, TEXTS, TIMES, UNRELIABLE,
};
use crate::store::tables::texts;

type Pairs = Packed<Table<u128>>;

/// The tables to read documents from; `None` if a table cannot be opened or is not kept.
pub(super) struct SalvageTables {
    fingerprints: Option<Pairs>,
    block0: Option<Pairs>,
    times: Option<Pairs>,
    arrivals: Option<Pairs>,
    unreliable: Option<Packed<Table<u64>>>,
    texts: Option<Table<u64>>,
    keeps: Keeps,
    db_path: DbPath,
    /// Closed after the tables, which read from it.
    _file: OpenFile,
}

impl SalvageTables {
    pub(super) fn open(
        file: OpenFile,
        keeps: Keeps,
        db_path: &DbPath,
        damage: &mut Vec<String>,
    ) -> Self {
        let mut pairs = |id: TableId, is_kept: bool| {
            is_kept.then(|| file.packed(id, db_path, damage)).flatten()
        };
        Self {
            fingerprints: pairs(FINGERPRINTS, true),
            block0: pairs(BLOCK0, true),
            times: pairs(TIMES, keeps.arrivals),
            arrivals: pairs(ARRIVALS, keeps.arrivals),
            unreliable: file.packed(UNRELIABLE, db_path, damage),
            texts: keeps
                .texts
                .then(|| file.table(TEXTS, db_path, damage))
                .flatten(),
            keeps,
            db_path: db_path.clone(),
            _file: file,
        }
    }

    /// The documents of the tables, in order of their ids. Sorts the entries that only a twin of a
    /// table has, in up to `memory_bytes` and the folder of `target`.
    pub(super) fn join(
        &self,
        target: &Path,
        memory_bytes: u64,
        progress: &ProgressReporter,
    ) -> Result<SourceJoin<'_>> {
        let context = SortContext::new(folder_of(target));
        let sorter_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize / 2;
        let twins = |id: TableId, table, twin| {
            let sorter = Sorter::new(sorter_bytes, &context);
            let only_in_twin = only_in_twin(table, twin, sorter, progress)?;
            Ok(TwinCursor {
                table: self.cursor(id, table),
                twin: JoinCursor::new(id.name, first_of_each_id(only_in_twin)),
            })
        };
        let block0 = self.block0.as_ref();
        Ok(SourceJoin {
            fingerprints: twins(FINGERPRINTS, self.fingerprints.as_ref(), block0)?,
            times: if self.keeps.arrivals {
                twins(TIMES, self.times.as_ref(), self.arrivals.as_ref())?
            } else {
                TwinCursor::empty()
            },
            block0,
            unreliable: self.cursor(UNRELIABLE, self.unreliable.as_ref()),
            texts: self.texts(),
            keeps_arrivals: self.keeps.arrivals,
        })
    }

    /// The latest arrival time that can be read.
    pub(super) fn latest_arrival(&self, progress: &ProgressReporter) -> Result<Option<Timestamp>> {
        let time_in_arrivals: fn(u128) -> u64 = Entry::first;
        let mut latest = None;
        for (table, time) in [
            (&self.arrivals, time_in_arrivals),
            (&self.times, Entry::second),
        ] {
            for part in table.iter().flat_map(|table| table.parts()) {
                progress.report()?;
                if let Part::Read(entries) = part? {
                    latest = latest.max(entries.into_iter().map(time).max());
                }
            }
        }
        Ok(latest.map(Timestamp))
    }

    /// The rows of a packed table whose entries begin with a document id.
    fn cursor<'s, E: Entry + KeyInt>(
        &self,
        id: TableId,
        table: Option<&'s Packed<Table<E>>>,
    ) -> JoinCursor<'s, Value> {
        let Some(table) = table else {
            return JoinCursor::lost(id.name, &self.db_path);
        };
        let row = |entry: E| Ok(Part::Read((entry.first(), (entry.second(), false))));
        let rows = table.parts::<E>().flat_map(move |part| match part {
            Ok(Part::Read(entries)) => entries.into_iter().map(row).collect(),
            Ok(Part::Damaged(Damaged { from, to, why })) => vec![Ok(Part::Damaged(Damaged {
                from: from.first(),
                to: to.map(Entry::first),
                why,
            }))],
            Err(error) => vec![Err(error)],
        });
        JoinCursor::new(id.name, rows)
    }

    fn texts(&self) -> JoinCursor<'_, Vec<u8>> {
        let Some(table) = &self.texts else {
            return if self.keeps.texts {
                JoinCursor::lost("texts", &self.db_path)
            } else {
                JoinCursor::empty()
            };
        };
        let rows = texts::parts(table, &self.db_path).map(|part| {
            Ok(match part? {
                Part::Read((id, sealed)) => Part::Read((id.0, sealed)),
                Part::Damaged(range) => Part::Damaged(range),
            })
        });
        JoinCursor::new("texts", rows)
    }
}

/// The entries of `twin`, swapped, whose ids are in the damaged ranges of `table`.
fn only_in_twin(
    table: Option<&Pairs>,
    twin: Option<&Pairs>,
    mut sorter: Sorter<u128>,
    progress: &ProgressReporter,
) -> Result<Sorted<u128>> {
    let mut ranges = Vec::new();
    if table.is_none() {
        ranges.push((0, None));
    }
    for part in table.into_iter().flat_map(|table| table.parts::<u128>()) {
        progress.report()?;
        if let Part::Damaged(range) = part? {
            ranges.push((range.from.first(), range.to.map(Entry::first)));
        }
    }
    let is_lost = |id: u64| {
        // Ranges ascend, so the last that begins at or below the id ends last.
        let begun = ranges.partition_point(|(from, _)| *from <= id);
        let last = begun.checked_sub(1).and_then(|last| ranges.get(last));
        last.is_some_and(|(_, to)| to.is_none_or(|to| id < to))
    };
    // Without a damaged range the twin holds nothing else, so it is not read.
    let twin = twin.filter(|_| !ranges.is_empty());
    for part in twin.into_iter().flat_map(|twin| twin.parts::<u128>()) {
        progress.report()?;
        if let Part::Read(entries) = part? {
            for entry in entries.into_iter().map(swapped) {
                if is_lost(entry.first()) {
                    sorter.push(entry)?;
                }
            }
        }
    }
    sorter.sorted()
}
