//! Counts and sizes of a database.

use std::collections::BTreeSet;

use crate::block;
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::store::disk::PAGE_BYTES;
use crate::store::tables::TableEntry;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::schema::{ARRIVALS, ByEntry, ROTATED, TABLES, TableSpec, UNRELIABLE};
use crate::store::view::View;
use crate::store::view::access::SnapshotTables;

/// Counts and sizes of a database, returned by [`Snapshot::stats`](crate::Snapshot::stats).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Stats {
    /// Documents, without expired documents: as many as
    /// [`Snapshot::documents`](crate::Snapshot::documents) returns.
    pub documents: u64,
    /// Expired documents that later writes will remove. The counts and sizes below include them.
    pub expired: u64,
    /// Distinct reliable fingerprints.
    pub distinct_fingerprints: u64,
    /// Documents whose fingerprint is not reliable.
    pub unreliable: u64,
    /// Texts stored.
    pub texts: u64,
    /// The first arrival of a document that is not expired, if arrival times are kept.
    pub oldest_arrival: Option<Timestamp>,
    /// The last arrival of a document that is not expired, if arrival times are kept.
    pub latest_arrival: Option<Timestamp>,
    /// Changes in the journal that are not in the tables yet. The counts above include these
    /// changes, the sizes below do not.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TableStats {
    /// The name in the file.
    pub name: &'static str,
    /// Entries in the table.
    pub entries: u64,
    /// Chunks, of one page each.
    pub chunks: u64,
    /// The used share of the bytes of the chunks, from 0 to 1.
    pub fill: f64,
}

/// Reads every packed table. `documents` counts all stored documents, and `expired` is 0.
pub(crate) fn stats(view: &View) -> Result<Stats> {
    let tables = &view.tables;
    let mut stats = with_counts(view)?;
    stats.file_bytes = tables.db_path.info("read the size of")?.len_bytes;
    // The entries of `arrivals` are sorted by time.
    let expiry = view.expiry();
    let (mut oldest, mut latest) = (None, None);
    for spec in TABLES {
        match spec {
            ByEntry::Pairs(spec) => stats.add_table(tables, spec, |entry| {
                if spec.id == ARRIVALS.id && view.is_in_tables(DocId(entry.second())) {
                    let time = Some(Timestamp(entry.first()));
                    if !expiry.is_expired(time) {
                        oldest = oldest.or(time);
                        latest = time;
                    }
                }
            })?,
            ByEntry::Singles(spec) => stats.add_table(tables, spec, |_| {})?,
        }
    }
    stats.add_arrivals(oldest.into_iter().chain(latest));
    Ok(stats)
}

/// The counters of the tables, corrected by the unflushed changes, and the arrivals of these.
fn with_counts(view: &View) -> Result<Stats> {
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
        let was_there = tables.table(ROTATED[0]).first_in(rotated, rotated)?;
        distinct += change(was_there.is_some(), view.has_fingerprint(fingerprint)?);
    }
    for id in view.ids_in_memtables() {
        let was_unreliable = tables.table(UNRELIABLE).first_in(id.0, id.0)?;
        let state = view.stored(*id)?;
        let is_unreliable = state.is_some_and(|state| !state.reliable);
        unreliable += change(was_unreliable.is_some(), is_unreliable);
        let has_text = state.is_some() && view.has_text(*id)?;
        texts += change(tables.has_text(*id)?, has_text);
        let arrival = state.and_then(|state| state.arrival);
        arrivals.extend(arrival.filter(|time| !view.expiry().is_expired(Some(*time))));
    }
    // Only the counters of a damaged file can overflow.
    let changed = |count: u64, by: i64| {
        let count = count.checked_add_signed(by);
        count.ok_or_else(|| {
            let db_path = &tables.db_path;
            db_path.corrupt("the counters do not fit the tables")
        })
    };
    let counters = tables.counters();
    let mut stats = Stats {
        documents: view.stored_len(),
        expired: 0,
        distinct_fingerprints: changed(counters.distinct_fingerprints, distinct)?,
        unreliable: changed(counters.unreliable, unreliable)?,
        texts: changed(counters.texts, texts)?,
        oldest_arrival: None,
        latest_arrival: None,
        unmerged_changes: view.unflushed_changes(),
        file_bytes: 0,
        packed_bytes: 0,
        tables: Vec::new(),
    };
    stats.add_arrivals(arrivals);
    Ok(stats)
}

fn change(was: bool, is: bool) -> i64 {
    i64::from(is) - i64::from(was)
}

impl Stats {
    fn add_arrivals(&mut self, arrivals: impl IntoIterator<Item = Timestamp>) {
        for arrival in arrivals {
            let oldest = self.oldest_arrival.unwrap_or(arrival);
            self.oldest_arrival = Some(oldest.min(arrival));
            self.latest_arrival = self.latest_arrival.max(Some(arrival));
        }
    }

    /// Adds a table, and calls `visitor` with its entries in order.
    fn add_table<E: TableEntry>(
        &mut self,
        tables: &SnapshotTables,
        spec: TableSpec<E>,
        mut visitor: impl FnMut(E),
    ) -> Result<()> {
        let Some(table) = tables.kept(spec) else {
            return Ok(());
        };
        let mut entries = 0;
        for entry in table.entries()? {
            entries += 1;
            visitor(entry?);
        }
        let chunks = table.chunks()?;
        let (chunk_bytes, table_bytes) = table.bytes()?;
        self.tables.push(TableStats {
            name: spec.id.name,
            entries,
            chunks,
            // An empty table has no chunks.
            fill: chunk_bytes as f64 / (chunks.max(1) as f64 * PAGE_BYTES as f64),
        });
        self.packed_bytes += table_bytes;
        Ok(())
    }
}
