//! [`SalvageTables`]: the tables of a damaged file that redb can open.

use std::path::Path;

use super::join::{
    Fact, JoinedRow, KEYS_NAME, SalvagedRows, SalvagedTable, SourceJoin, TEXTS_NAME, key_facts,
};
use super::source::OpenFile;
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::progress::ProgressReporter;
use crate::store::bulk::MIN_MEMORY_BYTES;
use crate::store::bulk::sort::{SortContext, Sorted, Sorter};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::message_without_path;
use crate::store::tables::edit::Refused;
use crate::store::tables::keys::{self, FIRST_GROUP};
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::damaged_ranges::{Damaged, Part, rows_past_damage};
use crate::store::tables::packed::entry::{Entry, swapped};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, FINGERPRINTS, Keeps, REFUSED, TEXTS, TIMES, TableSpec, UNRELIABLE,
};

type SalvagedPairs = Packed<SalvagedTable<u128>>;

/// 65,536 refused documents are written in one commit.
const REFUSED_TOGETHER: usize = 1 << 16;

/// Each table is `None` if it cannot be opened or is not kept.
pub(super) struct SalvageTables {
    fingerprints: Option<SalvagedPairs>,
    block0: Option<SalvagedPairs>,
    times: Option<SalvagedPairs>,
    arrivals: Option<SalvagedPairs>,
    unreliable: Option<Packed<SalvagedTable<u64>>>,
    refused: Option<SalvagedPairs>,
    texts: Option<SalvagedTable<u64>>,
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
        let mut pairs = |spec| file.packed(spec, keeps, db_path, damage);
        Self {
            fingerprints: pairs(FINGERPRINTS),
            block0: pairs(BLOCK0),
            times: pairs(TIMES),
            arrivals: pairs(ARRIVALS),
            refused: pairs(REFUSED),
            unreliable: file.packed(UNRELIABLE, keeps, db_path, damage),
            texts: keeps
                .has_texts_table()
                .then(|| file.table(TEXTS, db_path, damage))
                .flatten(),
            keeps,
            db_path: db_path.clone(),
            _file: file,
        }
    }

    /// Joins the tables. Sorts the entries that only a twin has, in `memory_bytes` and the folder
    /// of `target`.
    pub(super) fn join(
        &self,
        target: &Path,
        memory_bytes: u64,
        progress: &ProgressReporter,
    ) -> Result<SourceJoin<'_>> {
        let context = SortContext::new(target);
        let sorter_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize / 2;
        let only_in_twin = |table, twin| {
            let sorter = Sorter::new(sorter_bytes, &context);
            only_in_twin(table, twin, sorter, progress)
        };
        let (fingerprints, block0) = (self.fingerprints.as_ref(), self.block0.as_ref());
        let (times, arrivals) = (self.times.as_ref(), self.arrivals.as_ref());
        let only_in_block0 = only_in_twin(fingerprints, block0)?;
        let mut sources = vec![
            self.source(FINGERPRINTS, fingerprints, Fact::Fingerprint),
            SalvagedRows::sorted(BLOCK0.id.name, only_in_block0, Fact::Block0Fingerprint),
            self.source(UNRELIABLE, self.unreliable.as_ref(), |_| Fact::Unreliable),
        ];
        if self.keeps.arrivals {
            let only_in_arrivals = only_in_twin(times, arrivals)?;
            sources.push(self.source(TIMES, times, Fact::Arrival));
            sources.push(SalvagedRows::sorted(
                ARRIVALS.id.name,
                only_in_arrivals,
                Fact::Arrival,
            ));
        }
        if self.keeps.has_texts_table() {
            sources.push(self.texts());
        }
        if self.keeps.keys {
            sources.push(self.keys());
        }
        Ok(SourceJoin { sources, block0 })
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

    /// Calls `visit` with the readable entries of table `refused`, many at a time, and notes the
    /// parts that cannot be read.
    pub(super) fn refused(
        &self,
        damage: &mut Vec<String>,
        mut visit: impl FnMut(&[Refused]) -> Result<()>,
    ) -> Result<()> {
        let mut refused = Vec::new();
        for part in self.refused.iter().flat_map(|table| table.parts::<u128>()) {
            match part? {
                Part::Read(entries) => {
                    refused.extend(entries.into_iter().map(|entry| Refused {
                        hash: entry.first(),
                        value: entry.second(),
                    }));
                    if refused.len() >= REFUSED_TOGETHER {
                        visit(&refused)?;
                        refused.clear();
                    }
                }
                Part::Damaged(Damaged { why, .. }) => {
                    let why = message_without_path(&why);
                    damage.push(format!("table {}: {why}", REFUSED.id.name));
                }
            }
        }
        visit(&refused)
    }

    /// A packed table whose entries begin with a document id.
    fn source<'s, E: Entry>(
        &self,
        spec: TableSpec<E>,
        table: Option<&'s Packed<SalvagedTable<E>>>,
        fact: fn(u64) -> Fact,
    ) -> SalvagedRows<'s> {
        let Some(table) = table else {
            return SalvagedRows::lost(spec.id.name, &self.db_path);
        };
        let row = move |entry: E| Ok(Part::Read((entry.first(), fact(entry.second()))));
        let rows = table.parts::<E>().flat_map(move |part| match part {
            Ok(Part::Read(entries)) => entries.into_iter().map(row).collect(),
            Ok(Part::Damaged(Damaged { from, to, why })) => vec![Ok(Part::Damaged(Damaged {
                from: from.first(),
                to: to.map(Entry::first),
                why,
            }))],
            Err(error) => vec![Err(error)],
        });
        SalvagedRows::new(spec.id.name, rows)
    }

    fn texts(&self) -> SalvagedRows<'_> {
        let Some(table) = &self.texts else {
            return SalvagedRows::lost(TEXTS_NAME, &self.db_path);
        };
        let rows = rows_past_damage(table, 0, &self.db_path).map(|part| {
            Ok(match part? {
                Part::Read((id, sealed)) => Part::Read((id, Fact::Text(sealed))),
                Part::Damaged(range) => Part::Damaged(range),
            })
        });
        let is_text = |row: &Result<JoinedRow>| match row {
            Ok(Part::Read((id, _))) => *id < FIRST_GROUP,
            Ok(Part::Damaged(_)) | Err(_) => true,
        };
        let has_keys = self.keeps.keys;
        SalvagedRows::new(
            TEXTS_NAME,
            rows.take_while(move |row| !has_keys || is_text(row)),
        )
    }

    /// The keys, whose rows are behind the rows of the texts.
    fn keys(&self) -> SalvagedRows<'_> {
        let Some(table) = &self.texts else {
            return SalvagedRows::lost(KEYS_NAME, &self.db_path);
        };
        let rows = rows_past_damage(table, FIRST_GROUP, &self.db_path).flat_map(|part| {
            let damaged = |from, to: Option<u64>, why| {
                let to = to.map(keys::first_id);
                let from = keys::first_id(from);
                vec![Ok(Part::Damaged(Damaged { from, to, why }))]
            };
            match part {
                Ok(Part::Read((row, sealed))) => {
                    match key_facts(DocId(row), &sealed, &self.db_path) {
                        Ok(facts) => facts.into_iter().map(|fact| Ok(Part::Read(fact))).collect(),
                        Err(why) => damaged(row, Some(row + 1), why),
                    }
                }
                Ok(Part::Damaged(Damaged { from, to, why })) => damaged(from, to, why),
                Err(error) => vec![Err(error)],
            }
        });
        SalvagedRows::new(KEYS_NAME, rows)
    }
}

/// The entries of `twin`, swapped, whose ids are in the damaged ranges of `table`.
fn only_in_twin(
    table: Option<&SalvagedPairs>,
    twin: Option<&SalvagedPairs>,
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
    // The twin of a sound table is not read.
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
