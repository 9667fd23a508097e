//! Counts and sizes of a database.

use std::collections::BTreeSet;

use redb::ReadableTable;

use crate::block;
use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::Entry;
use crate::store::view::View;

/// Counts and sizes of a database, as [`Snapshot::stats`](crate::Snapshot::stats) gives them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Documents stored, those that are expired and not removed yet among them.
    pub documents: u64,
    /// Distinct fingerprints among the reliable ones.
    pub distinct_fingerprints: u64,
    /// Documents whose fingerprint is not reliable.
    pub unreliable: u64,
    /// Texts stored.
    pub texts: u64,
    /// The first arrival of a document, if arrival times are kept.
    pub oldest_arrival: Option<Timestamp>,
    /// The last arrival of a document, if arrival times are kept.
    pub latest_arrival: Option<Timestamp>,
    /// Changes that are durable in the journal and not in the tables yet: the counts above include
    /// them, the sizes below do not.
    pub unmerged_changes: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// Bytes of the pages that hold the packed tables.
    pub packed_bytes: u64,
    /// Every packed table.
    pub tables: Vec<TableStats>,
}

/// Counts of one packed table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableStats {
    /// Its name in the file.
    pub name: &'static str,
    /// Entries it holds.
    pub entries: u64,
    /// Chunks of one page they are cut into.
    pub chunks: u64,
    /// The share of the room in those chunks that is used, from 0 to 1.
    pub fill: f64,
}

pub(crate) fn stats(view: &View) -> Result<Stats> {
    let totals = Totals::new(view)?;
    let tables = &view.tables;
    let file_bytes = tables.db_path.info("read the size of")?.len_bytes;
    let mut sizes = Sizes::default();
    sizes.add(&tables.fingerprints, |_: u128| {})?;
    sizes.add(&tables.block0, |_: u128| {})?;
    for table in &tables.rotated {
        sizes.add(table, |_: u64| {})?;
    }
    sizes.add(&tables.unreliable, |_: u64| {})?;
    let mut arrivals: Option<(u64, u64)> = None;
    if let Some(kept) = &tables.times {
        // The entries are sorted by time.
        sizes.add(&kept.arrivals, |entry: u128| {
            if view.is_in_tables(DocId(entry.second())) {
                let time = entry.first();
                arrivals = Some((arrivals.map_or(time, |(oldest, _)| oldest), time));
            }
        })?;
        sizes.add(&kept.times, |_: u128| {})?;
    }
    if let Some(bands) = &tables.bands {
        sizes.add(bands, |_: u128| {})?;
    }
    let arrivals = arrivals.map(|(oldest, latest)| [Timestamp(oldest), Timestamp(latest)]);
    let arrivals = arrivals.into_iter().flatten().chain(totals.arrivals);
    Ok(Stats {
        documents: view.stored_len(),
        distinct_fingerprints: totals.distinct_fingerprints,
        unreliable: totals.unreliable,
        texts: totals.texts,
        oldest_arrival: arrivals.clone().min(),
        latest_arrival: arrivals.max(),
        unmerged_changes: view.unflushed_changes(),
        file_bytes,
        packed_bytes: sizes.packed_bytes,
        tables: sizes.tables,
    })
}

/// Counts of the tables together with the changes that are not in them yet.
struct Totals {
    distinct_fingerprints: u64,
    unreliable: u64,
    texts: u64,
    /// The arrival times that are not in the tables yet.
    arrivals: Vec<Timestamp>,
}

impl Totals {
    fn new(view: &View) -> Result<Self> {
        let tables = &view.tables;
        let mut arrivals = Vec::new();
        let (mut distinct, mut unreliable, mut texts) = (0, 0, 0);
        let mut fingerprints = BTreeSet::new();
        for edit in view.unflushed_edits().into_iter().flatten() {
            let states = [edit.before, edit.after].into_iter().flatten();
            let reliable = states.filter(|state| state.reliable);
            fingerprints.extend(reliable.map(|state| state.fingerprint));
        }
        for fingerprint in fingerprints {
            let rotated = block::rotate(fingerprint, 1);
            let was_there = tables.rotated[0].first_in(rotated, rotated)?;
            distinct += change(was_there.is_some(), view.has_fingerprint(fingerprint)?);
        }
        for id in view.ids_in_memtables() {
            let was_unreliable = tables.unreliable.first_in(id.0, id.0)?;
            let state = view.stored(*id)?;
            let is_unreliable = state.is_some_and(|state| !state.reliable);
            unreliable += change(was_unreliable.is_some(), is_unreliable);
            let has_text = state.is_some() && view.has_text(*id)?;
            texts += change(tables.has_text(*id)?, has_text);
            arrivals.extend(state.and_then(|state| state.arrival));
        }
        let changed = |count: u64, by: i64| {
            let db_path = &tables.db_path;
            let count = count.checked_add_signed(by);
            count.ok_or_else(|| db_path.corrupt("the counters do not fit the tables"))
        };
        let counters = tables.counters();
        Ok(Self {
            distinct_fingerprints: changed(counters.distinct_fingerprints, distinct)?,
            unreliable: changed(counters.unreliable, unreliable)?,
            texts: changed(counters.texts, texts)?,
            arrivals,
        })
    }
}

/// The change of a count.
fn change(was: bool, is: bool) -> i64 {
    i64::from(is) - i64::from(was)
}

/// The sizes of packed tables.
#[derive(Default)]
struct Sizes {
    tables: Vec<TableStats>,
    packed_bytes: u64,
}

impl Sizes {
    /// Adds a table, and calls `each` with its entries in order.
    fn add<E: Entry, T: ReadableTable<E, &'static [u8]>>(
        &mut self,
        table: &Packed<T>,
        mut each: impl FnMut(E),
    ) -> Result<()> {
        let mut entries = 0;
        for entry in table.entries()? {
            entries += 1;
            each(entry?);
        }
        let chunks = table.chunks()?;
        let capacity = chunks * E::CAPACITY as u64;
        self.tables.push(TableStats {
            name: table.id().name,
            entries,
            chunks,
            // An empty table has no chunks.
            fill: entries as f64 / capacity.max(1) as f64,
        });
        self.packed_bytes += table.bytes()?;
        Ok(())
    }
}
