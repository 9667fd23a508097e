//! The check of a whole database.
//!
//! Reads every chunk and every text; chunks must be in order and within their fences. Then compares
//! the content of the tables, and the table of text keys with the keys of the stored texts, by
//! order-independent 128-bit sums. Only if sums differ is each entry looked up, to name those that
//! differ.

mod copies;
mod documents;
mod entry_sum;
mod keys;
mod memtable;
mod texts;
mod times;

use std::fmt::LowerHex;
use std::path::Path;
use std::time::{Duration, Instant};

use redb::ReadOnlyTable;

use crate::error::{Error, Result};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::Store;
use crate::store::tables::meta::Counters;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::damaged_ranges::{Damaged, Part};
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{TEXT_KEYS, TIMES};
use crate::store::view::access::SnapshotTables;

/// At most 10 entries are named for each kind of damage.
const NAMED: usize = 10;

/// The check of redb's pages waits at most a second for running queries.
const MAX_WAIT_FOR_QUERIES: Duration = Duration::from_secs(1);

/// An entry of text keys takes 8 to 14 bytes.
const BYTES_PER_KEY: u64 = 8;

type PackedTable<E> = Packed<ReadOnlyTable<E, &'static [u8]>>;

/// Checks a database, and returns a sentence for each damage found. Writers wait until the end.
pub(crate) fn check(store: &Store, progress: &ProgressHandler) -> Result<Vec<String>> {
    if !store.is_read_only() {
        // Fails now if a snapshot is held, instead of at redb's own check at the end.
        store.refuse_held_snapshots()?;
    }
    let mut write_guard = store.lock_for_maintenance()?;
    // Cached values may hide damage that came after they were read.
    store.tables.caches.clear();
    let mut damage = Vec::new();
    let is_flushed = store
        .db_path()
        .catch_panics(|| Ok(store.read()?.is_flushed()));
    let Some(is_flushed) = unless_corrupt(is_flushed, &mut damage)? else {
        return Ok(damage);
    };
    // Tables that are to be flushed are checked before and after.
    let progress = if is_flushed || store.is_read_only() {
        progress.for_operation(&[1])
    } else {
        progress.for_operation(&[1, 1])
    };
    let progress = &progress;
    if !is_flushed {
        // A flush stops at the first damage, so all damage is found before.
        let damage = check_tables(store, progress, store.path())?;
        if !damage.is_empty() || store.is_read_only() {
            return Ok(damage);
        }
    }
    if store.refuse_changes().is_ok() {
        let flushed = store.flush_and_remove_journals(&mut write_guard);
        if unless_corrupt(flushed, &mut damage)?.is_none() {
            return Ok(damage);
        }
    }
    damage.extend(check_tables(store, progress, store.path())?);
    if damage.is_empty() {
        check_redb(store, &mut damage)?;
    }
    Ok(damage)
}

/// Checks all tables; `path` names the file in an interruption. Tables may differ after a flush
/// that was cut short, so unflushed tables are only compared with the memtables.
pub(crate) fn check_tables(
    store: &Store,
    progress: &ProgressHandler,
    path: &Path,
) -> Result<Vec<String>> {
    let mut damage = Vec::new();
    let view = store.db_path().catch_panics(|| store.read());
    let Some(view) = unless_corrupt(view, &mut damage)? else {
        return Ok(damage);
    };
    let steps = unless_corrupt(steps(&view.tables), &mut damage)?.unwrap_or(0);
    let mut check = TableCheck {
        damage,
        progress: ProgressReporter::new(progress, Stage::Check, Some(steps), path),
        is_flushed: view.is_flushed(),
        has_window: view.has_window(),
    };
    check.progress.report()?;
    check.packed_tables(&view.tables)?;
    check.memtables(&view)?;
    check.texts(&view.tables)?;
    check.progress.finish()?;
    let mut damage = check.damage;
    unless_corrupt(store.tables.read_learner(), &mut damage)?;
    Ok(damage)
}

/// An estimate of the number of entries and texts of a file.
pub(crate) fn steps(tables: &SnapshotTables) -> Result<u64> {
    let Counters {
        documents,
        distinct_fingerprints,
        unreliable,
        texts,
        ..
    } = tables.counters();
    let tables_by_document = if tables.kept(TIMES).is_some() { 4 } else { 2 };
    let keys = if tables.keeps.keys { documents } else { 0 };
    let text_keys = match tables.kept(TEXT_KEYS) {
        Some(table) => table.bytes()?.0 / BYTES_PER_KEY,
        None => 0,
    };
    Ok(documents
        .saturating_mul(tables_by_document)
        .saturating_add(distinct_fingerprints.saturating_mul(3))
        .saturating_add(texts)
        .saturating_add(text_keys)
        .saturating_add(keys)
        .saturating_sub(unreliable))
}

fn check_redb(store: &Store, damage: &mut Vec<String>) -> Result<()> {
    let backend = &store.tables.backend;
    // redb repairs the damage that it finds, so the file must be writable.
    if !backend.is_writable() {
        return Ok(());
    }
    let deadline = Instant::now() + MAX_WAIT_FOR_QUERIES;
    let is_sound = loop {
        let checked = store.db_path().catch_panics(|| backend.check_integrity());
        // Queries of other threads are over in milliseconds. Snapshots that callers hold are not.
        let may_end = matches!(&checked, Err(Error::SnapshotHeld { .. }))
            && store.refuse_held_snapshots().is_ok()
            && Instant::now() < deadline;
        if !may_end {
            break checked;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    if matches!(is_sound, Err(Error::SnapshotHeld { .. })) {
        // Names the number of snapshots.
        store.refuse_held_snapshots()?;
    }
    if unless_corrupt(is_sound, damage)? == Some(false) {
        damage.push("redb found damage in its pages and repaired it".to_owned());
    }
    Ok(())
}

/// Notes damage, and returns other errors.
fn unless_corrupt<V>(result: Result<V>, damage: &mut Vec<String>) -> Result<Option<V>> {
    match result {
        Err(Error::Corrupt { what, .. }) => {
            damage.push(what);
            Ok(None)
        }
        result => result.map(Some),
    }
}

struct TableCheck {
    damage: Vec<String>,
    progress: ProgressReporter,
    /// The tables hold every edit.
    is_flushed: bool,
    /// Documents expire.
    has_window: bool,
}

impl TableCheck {
    /// Calls `each` with every entry. Returns `true` if the whole table can be read.
    fn read<E: Entry>(
        &mut self,
        table: &PackedTable<E>,
        mut each: impl FnMut(E) -> Result<()>,
    ) -> Result<bool> {
        let mut is_whole = true;
        for part in table.parts() {
            match part? {
                Part::Read(entries) => {
                    for entry in entries {
                        each(entry)?;
                        self.progress.step()?;
                    }
                }
                Part::Damaged(range) => {
                    is_whole = false;
                    self.name_range(table.id().name, range)?;
                }
            }
        }
        Ok(is_whole)
    }

    fn name_range<K: LowerHex>(&mut self, table: &str, range: Damaged<K>) -> Result<()> {
        let Damaged { from, to, why } = range;
        // A failed read of the disk is no damage to the file.
        let Error::Corrupt { what, .. } = why else {
            return Err(why);
        };
        let to = to.map_or("its end".to_owned(), |to| format!("{to:#x}"));
        self.damage.push(format!(
            "table {table} cannot be read from {from:#x} to {to}: {what}"
        ));
        Ok(())
    }

    /// Adds the first [`NAMED`] sentences.
    fn name(&mut self, sentences: impl Iterator<Item = Result<Option<String>>>) -> Result<()> {
        for sentence in sentences.filter_map(Result::transpose).take(NAMED) {
            self.damage.push(sentence?);
        }
        Ok(())
    }
}

fn holds<E: Entry>(table: &PackedTable<E>, entry: E) -> Result<bool> {
    Ok(table.first_in(entry, entry)?.is_some())
}

/// For a table whose entries begin with an id.
fn has_document(table: &PackedTable<u128>, id: u64) -> Result<bool> {
    Ok(table.first_in(pair(id, 0), pair(id, u64::MAX))?.is_some())
}

fn both(entry: u128) -> (u64, u64) {
    (entry.first(), entry.second())
}
