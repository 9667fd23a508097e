//! A damaged file whose tables can be opened: what each says, with gaps.

use std::path::Path;

use super::open::{Opened, Table};
use super::streams::{JoinCursor, Parts, Said, SourceJoin, first_of_each};
use crate::document::Timestamp;
use crate::error::Result;
use crate::progress::ProgressReporter;
use crate::store::bulk::MIN_MEMORY_BYTES;
use crate::store::bulk::sort::{SortContext, Sorted, Sorter};
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::{DbPath, message_without_path};
use crate::store::tables::packed::chunk::{Entry, swapped};
use crate::store::tables::packed::damaged_ranges::{Damaged, Part};
use crate::store::tables::packed::{Packed, TableId};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, FINGERPRINTS, Keeps, TEXTS, TIMES, UNRELIABLE,
};
use crate::store::tables::texts;

/// The tables that can be opened.
pub(super) struct SalvageTables {
    fingerprints: Option<Packed<Table<u128>>>,
    block0: Option<Packed<Table<u128>>>,
    unreliable: Option<Packed<Table<u64>>>,
    times: Option<Packed<Table<u128>>>,
    arrivals: Option<Packed<Table<u128>>>,
    texts: Option<Table<u64>>,
    keeps: Keeps,
    db_path: DbPath,
}

impl SalvageTables {
    pub(super) fn open(
        opened: &Opened,
        keeps: Keeps,
        db_path: &DbPath,
        damage: &mut Vec<String>,
    ) -> Self {
        let mut noted = |name: &str, error: crate::error::Error| {
            let why = message_without_path(&error);
            damage.push(format!("table {name} cannot be opened: {why}"));
        };
        let mut pairs = |kind: TableId, is_kept: bool| {
            let table = is_kept.then(|| opened.packed::<u128>(kind, db_path))?;
            table.map_err(|error| noted(kind.name, error)).ok()
        };
        let fingerprints = pairs(FINGERPRINTS, true);
        let block0 = pairs(BLOCK0, true);
        let times = pairs(TIMES, keeps.arrivals);
        let arrivals = pairs(ARRIVALS, keeps.arrivals);
        let unreliable = opened.packed::<u64>(UNRELIABLE, db_path);
        let unreliable = unreliable
            .map_err(|error| noted(UNRELIABLE.name, error))
            .ok();
        let texts = keeps.texts.then(|| opened.table(TEXTS, db_path));
        let texts = texts.and_then(|table| table.map_err(|error| noted("texts", error)).ok());
        Self {
            fingerprints,
            block0,
            unreliable,
            times,
            arrivals,
            texts,
            keeps,
            db_path: db_path.clone(),
        }
    }

    /// What the tables say, in the order of ids. What the twin of a table has to say where that has
    /// gaps is sorted first, in so much memory.
    pub(super) fn streams(
        &self,
        target: &Path,
        memory_bytes: u64,
        progress: &ProgressReporter,
    ) -> Result<SourceJoin<'_>> {
        let workplace = SortContext::new(folder_of(target));
        let sorter_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize / 2;
        let twin = |table, twin| {
            let sorter = Sorter::new(sorter_bytes, &workplace);
            in_gaps(table, twin, sorter, progress)
        };
        let fingerprints = twin(self.fingerprints.as_ref(), self.block0.as_ref())?;
        let times = if self.keeps.arrivals {
            twin(self.times.as_ref(), self.arrivals.as_ref())?
        } else {
            Sorted::Memory(Vec::new().into_iter())
        };
        Ok(SourceJoin {
            fingerprints: pairs(FINGERPRINTS, self.fingerprints.as_ref(), &self.db_path),
            other_fingerprints: JoinCursor::new(BLOCK0.name, first_of_each(fingerprints)),
            unreliable: self.unreliable(),
            times: if self.keeps.arrivals {
                pairs(TIMES, self.times.as_ref(), &self.db_path)
            } else {
                JoinCursor::nothing()
            },
            other_times: JoinCursor::new(ARRIVALS.name, first_of_each(times)),
            texts: self.texts(),
            is_in_block0: Box::new(|entry| {
                let found = self.block0.as_ref()?.first_in(entry, entry);
                Some(found.ok()?.is_some())
            }),
            keeps_arrivals: self.keeps.arrivals,
        })
    }

    /// The latest time that can be read.
    pub(super) fn latest_arrival(&self, progress: &ProgressReporter) -> Result<Option<Timestamp>> {
        let mut latest = None;
        let tables = [(&self.arrivals, true), (&self.times, false)];
        for (table, is_twin) in tables {
            for part in table.iter().flat_map(|table| table.parts::<u128>()) {
                progress.report()?;
                let Part::Read(entries) = part? else { continue };
                let time = |entry: u128| {
                    if is_twin {
                        entry.first()
                    } else {
                        entry.second()
                    }
                };
                latest = latest.max(entries.into_iter().map(time).max());
            }
        }
        Ok(latest.map(Timestamp))
    }

    fn unreliable(&self) -> JoinCursor<'_, ()> {
        let name = UNRELIABLE.name;
        let Some(table) = &self.unreliable else {
            return JoinCursor::new(name, all_lost(name, &self.db_path));
        };
        let rows = table
            .parts()
            .flat_map(|part| -> Vec<Result<Part<u64, (u64, ())>>> {
                match part {
                    Ok(Part::Read(ids)) => {
                        let rows = ids.into_iter().map(|id| Ok(Part::Read((id, ()))));
                        rows.collect()
                    }
                    Ok(Part::Damaged(gap)) => vec![Ok(Part::Damaged(gap))],
                    Err(error) => vec![Err(error)],
                }
            });
        JoinCursor::new(name, Box::new(rows))
    }

    fn texts(&self) -> JoinCursor<'_, Vec<u8>> {
        let parts: Parts<'_, Vec<u8>> = match &self.texts {
            Some(table) => Box::new(texts::parts(table, &self.db_path).map(|part| {
                Ok(match part? {
                    Part::Read((id, sealed)) => Part::Read((id.0, sealed)),
                    Part::Damaged(gap) => Part::Damaged(gap),
                })
            })),
            None if self.keeps.texts => all_lost("texts", &self.db_path),
            None => return JoinCursor::nothing(),
        };
        JoinCursor::new("texts", parts)
    }
}

/// A table of pairs that begin with an id.
fn pairs<'s>(
    kind: TableId,
    table: Option<&'s Packed<Table<u128>>>,
    db_path: &DbPath,
) -> JoinCursor<'s, Said> {
    let Some(table) = table else {
        return JoinCursor::new(kind.name, all_lost(kind.name, db_path));
    };
    let rows = table
        .parts()
        .flat_map(|part| -> Vec<Result<Part<u64, (u64, Said)>>> {
            match part {
                Ok(Part::Read(rows)) => {
                    let row = |row: u128| Ok(Part::Read((row.first(), (row.second(), false))));
                    rows.into_iter().map(row).collect()
                }
                Ok(Part::Damaged(gap)) => vec![Ok(Part::Damaged(of_ids(gap)))],
                Err(error) => vec![Err(error)],
            }
        });
    JoinCursor::new(kind.name, Box::new(rows))
}

fn of_ids(gap: Damaged<u128>) -> Damaged<u64> {
    Damaged {
        from: gap.from.first(),
        to: gap.to.map(Entry::first),
        why: gap.why,
    }
}

/// A table of which nothing can be read. Why was said when it was opened.
fn all_lost<'s, V: 's>(name: &str, db_path: &DbPath) -> Parts<'s, V> {
    let gap = Damaged {
        from: 0,
        to: None,
        why: db_path.corrupt(format!("nothing of {name} can be read")),
    };
    Box::new(std::iter::once(Ok(Part::Damaged(gap))))
}

/// What the twin of a table, in which each pair stands the other way round, has of the ids in its
/// gaps.
fn in_gaps(
    table: Option<&Packed<Table<u128>>>,
    twin: Option<&Packed<Table<u128>>>,
    mut sorter: Sorter<u128>,
    progress: &ProgressReporter,
) -> Result<Sorted<u128>> {
    let mut gaps = Vec::new();
    match table {
        None => gaps.push((0, None)),
        Some(table) => {
            for part in table.parts::<u128>() {
                progress.report()?;
                if let Part::Damaged(gap) = part? {
                    gaps.push((gap.from.first(), gap.to.map(Entry::first)));
                }
            }
        }
    }
    let is_lost = |id: u64| {
        // Those that begin at the id or before; of these the last reaches furthest.
        let before = gaps.partition_point(|(from, _)| *from <= id);
        let last = before.checked_sub(1).and_then(|last| gaps.get(last));
        last.is_some_and(|(_, to)| to.is_none_or(|to| id < to))
    };
    let twin = twin.filter(|_| !gaps.is_empty());
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
