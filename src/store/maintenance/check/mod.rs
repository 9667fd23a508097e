//! The check that proves a file sound.
//!
//! Every chunk and every text is read and its checksum compared; chunks must be in order and within
//! their fences. That the tables hold the same documents is shown by comparing counts and 128-bit
//! sums of scrambled entries, which do not depend on order; only where they differ is each entry
//! looked up, to name the ones that differ. That `bands` holds the bands of the stored texts and
//! no others is shown in the same way: the bands are made of each text again.

mod memtable;
mod texts;
mod times;

use std::fmt::LowerHex;
use std::path::Path;
use std::time::{Duration, Instant};

use redb::ReadableTable;

use crate::block::{self, BLOCKS};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::Store;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::packed::damaged_ranges::{Damaged, KeyInt, Part};
use crate::store::tables::schema::Counters;
use crate::store::view::snapshot_tables::SnapshotTables;
use times::TimeSums;

/// Entries of each kind of damage that are named one by one.
const NAMED: usize = 10;

/// The time for which the check of redb's pages waits for running queries.
const MAX_WAIT_FOR_QUERIES: Duration = Duration::from_secs(1);

/// All damage found, a sentence each. Writers wait until the end.
pub(crate) fn check(store: &Store, progress: &ProgressHandler) -> Result<Vec<String>> {
    if !store.is_read_only() {
        store.refuse_held_snapshots()?;
    }
    let mut write_guard = store.committer.lock_for_maintenance(None)?;
    // Buckets that were read before may differ from those in the file.
    store.tables().buckets.clear();
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
        // A flush writes, and fails at the first damage, so everything is read before.
        let damage = check_tables(store, progress, store.path())?;
        if !damage.is_empty() || store.is_read_only() {
            return Ok(damage);
        }
    }
    if store.refuse_changes().is_ok() {
        let flushed = store.committer.flush_and_remove_journals(&mut write_guard);
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

/// Checks all tables; an interruption is reported for the file at `path`. While the memtables are
/// not flushed, the tables are not compared with each other, but with the edits to be flushed.
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
    };
    check.progress.report()?;
    check.packed_tables(&view.tables)?;
    check.memtables(&view)?;
    check.texts(&view.tables, store.tables().bands())?;
    check.progress.finish()?;
    Ok(check.damage)
}

/// The estimated number of entries and texts of a file.
pub(crate) fn steps(tables: &SnapshotTables) -> Result<u64> {
    let Counters {
        documents,
        distinct_fingerprints,
        unreliable,
        texts,
        ..
    } = tables.counters();
    let tables_by_document = if tables.times.is_some() { 4 } else { 2 };
    let bands = match &tables.bands {
        Some(bands) => bands.chunks()?.saturating_mul(u128::CAPACITY as u64),
        None => 0,
    };
    Ok(documents
        .saturating_mul(tables_by_document)
        .saturating_add(distinct_fingerprints.saturating_mul(3))
        .saturating_add(texts)
        .saturating_add(bands)
        .saturating_sub(unreliable))
}

/// Has redb verify its pages, and which of them are free.
fn check_redb(store: &Store, damage: &mut Vec<String>) -> Result<()> {
    let backend = &store.tables().backend;
    if !backend.is_writable() {
        // redb would repair the damage that it finds.
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
        damage.push("the storage engine found damage in its pages and mended it".to_owned());
    }
    Ok(())
}

/// `None` for damage, which is noted; other errors are returned.
fn unless_corrupt<V>(result: Result<V>, damage: &mut Vec<String>) -> Result<Option<V>> {
    match result {
        Err(Error::Corrupt { what, .. }) => {
            damage.push(what);
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// The count and the sum of a set of entries, by which two sets are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct EntrySum {
    count: u64,
    sum: u128,
}

impl EntrySum {
    /// The sum of both sets.
    fn union(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }

    fn add(&mut self, entry: u128) {
        // Two rounds of the finaliser of splitmix64, crossed, so that the sums of different sets
        // are equal by chance only.
        let scramble = |mut word: u64| {
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        let low = scramble(entry.second() ^ scramble(entry.first().wrapping_add(1)));
        let high = scramble(entry.first() ^ scramble(low.wrapping_add(2)));
        self.count += 1;
        self.sum = self.sum.wrapping_add(pair(high, low));
    }
}

/// The content of `fingerprints` and `unreliable`.
#[derive(Default)]
struct DocumentSums {
    /// The reliable documents, as `block0` should hold them.
    reliable: EntrySum,
    /// The ids of all documents, where arrival times are kept.
    ids: EntrySum,
    unreliable: u64,
    /// The first ids in `unreliable` that are not in `fingerprints`.
    orphans: Vec<u64>,
    /// The first ids that `fingerprints` holds more than once.
    repeated: Vec<u64>,
}

/// A check of all tables under way.
struct TableCheck {
    damage: Vec<String>,
    progress: ProgressReporter,
    /// The tables hold every edit, so they must hold the same documents.
    is_flushed: bool,
}

impl TableCheck {
    /// Reads all packed tables but `bands`, then compares their content.
    fn packed_tables(&mut self, tables: &SnapshotTables) -> Result<()> {
        let mut documents = DocumentSums::default();
        let mut is_whole = self.documents(tables, &mut documents)?;
        let mut from_block0 = EntrySum::default();
        let mut distinct = [EntrySum::default(); BLOCKS];
        let mut last = None;
        is_whole &= self.read(&tables.block0, |entry: u128| {
            from_block0.add(entry);
            if last.replace(entry.first()) != Some(entry.first()) {
                distinct[0].add(u128::from(entry.first()));
            }
            Ok(())
        })?;
        for (table, block) in tables.rotated.iter().zip(1..) {
            is_whole &= self.read(table, |rotated: u64| {
                let fingerprint = block::unrotate(rotated, block);
                distinct[block].add(u128::from(fingerprint.bits()));
                Ok(())
            })?;
        }
        let mut times = TimeSums::default();
        is_whole &= self.times(tables, &mut times)?;
        // That a table lacks an entry means nothing while a part of it cannot be read.
        if !is_whole || !self.is_flushed {
            return Ok(());
        }
        self.compare_times(tables, &times, documents.ids)?;
        for id in &documents.repeated {
            self.damage.push(format!(
                "table fingerprints holds document {id} more than once"
            ));
        }
        for id in &documents.orphans {
            self.damage.push(format!(
                "table unreliable holds document {id}, table fingerprints does not"
            ));
        }
        if documents.reliable != from_block0 {
            self.name_differing_documents(tables)?;
        }
        for block in 1..BLOCKS {
            if distinct[block] != distinct[0] {
                self.name_differing_fingerprints(tables, block)?;
            }
        }
        self.compare_counters(&tables.counters(), &documents, distinct[0].count);
        Ok(())
    }

    fn compare_counters(&mut self, counters: &Counters, documents: &DocumentSums, distinct: u64) {
        let counted = [
            counters.documents,
            counters.distinct_fingerprints,
            counters.unreliable,
        ];
        let found = [
            documents.reliable.count + documents.unreliable,
            distinct,
            documents.unreliable,
        ];
        if counted != found {
            self.damage.push(format!(
                "the counters say {} documents, {} distinct fingerprints and {} unreliable ones; \
                 the tables hold {}, {} and {}",
                counted[0], counted[1], counted[2], found[0], found[1], found[2]
            ));
        }
    }

    /// Reads `fingerprints` and, in step, `unreliable`. Returns `true` if all of both can be read.
    fn documents(&mut self, tables: &SnapshotTables, sums: &mut DocumentSums) -> Result<bool> {
        if !self.read(&tables.unreliable, |_: u64| Ok(()))? {
            self.read(&tables.fingerprints, |_: u128| Ok(()))?;
            return Ok(false);
        }
        let mut unreliable = tables.unreliable.entries()?.peekable();
        let mut orphans = Vec::new();
        let mut last = None;
        let is_whole = self.read(&tables.fingerprints, |entry: u128| {
            let (id, fingerprint) = (entry.first(), entry.second());
            if last.replace(id) == Some(id)
                && sums.repeated.len() < NAMED
                && sums.repeated.last() != Some(&id)
            {
                sums.repeated.push(id);
            }
            if tables.times.is_some() {
                sums.ids.add(pair(id, 0));
            }
            let mut is_reliable = true;
            let is_behind = |other: &Result<u64>| other.as_ref().is_ok_and(|other| *other > id);
            while let Some(other) = unreliable.next_if(|other| !is_behind(other)) {
                let other: u64 = other?;
                if other == id {
                    is_reliable = false;
                } else if orphans.len() < NAMED {
                    orphans.push(other);
                }
            }
            if is_reliable {
                sums.reliable.add(pair(fingerprint, id));
            } else {
                sums.unreliable += 1;
            }
            Ok(())
        })?;
        for other in unreliable.take(NAMED - orphans.len()) {
            orphans.push(other?);
        }
        sums.orphans = orphans;
        Ok(is_whole)
    }

    /// Calls `each` with every entry of a table. Returns `true` if all of the table can be read.
    fn read<E: Entry + KeyInt, T: ReadableTable<E, &'static [u8]>>(
        &mut self,
        table: &Packed<T>,
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

    /// Names a range of a table that is damaged. That the disk does not read is an error, not
    /// damage to the file.
    fn name_range<K: LowerHex>(&mut self, table: &str, range: Damaged<K>) -> Result<()> {
        let Damaged { from, to, why } = range;
        let Error::Corrupt { what, .. } = why else {
            return Err(why);
        };
        let to = to.map_or("its end".to_owned(), |to| format!("{to:#x}"));
        self.damage.push(format!(
            "table {table} cannot be read from {from:#x} to {to}: {what}"
        ));
        Ok(())
    }

    /// Adds the first sentences.
    fn name(&mut self, sentences: impl Iterator<Item = Result<Option<String>>>) -> Result<()> {
        for sentence in sentences.filter_map(Result::transpose).take(NAMED) {
            self.damage.push(sentence?);
        }
        Ok(())
    }

    fn name_differing_documents(&mut self, tables: &SnapshotTables) -> Result<()> {
        let is_reliable = |id| Ok::<_, Error>(tables.unreliable.first_in(id, id)?.is_none());
        let missing = tables.fingerprints.entries()?.map(|entry| {
            let (id, fingerprint) = both(entry?);
            let wanted = pair(fingerprint, id);
            let is_missing = is_reliable(id)? && tables.block0.first_in(wanted, wanted)?.is_none();
            Ok(is_missing
                .then(|| format!("table block0 lacks document {id} with {fingerprint:016x}")))
        });
        let orphans = tables.block0.entries()?.map(|entry| {
            let (fingerprint, id) = both(entry?);
            let wanted = pair(id, fingerprint);
            let is_orphan =
                tables.fingerprints.first_in(wanted, wanted)?.is_none() || !is_reliable(id)?;
            Ok(is_orphan.then(|| {
                format!(
                    "table block0 holds document {id} with {fingerprint:016x}, table fingerprints \
                     does not"
                )
            }))
        });
        self.name(missing.chain(orphans))
    }

    fn name_differing_fingerprints(&mut self, tables: &SnapshotTables, block: usize) -> Result<()> {
        let table = &tables.rotated[block - 1];
        let name = table.id().name;
        let missing = tables.block0.entries()?.map(|entry| {
            let (bits, _) = both(entry?);
            let rotated = block::rotate(Fingerprint::from_bits(bits), block);
            let is_missing = table.first_in(rotated, rotated)?.is_none();
            Ok(is_missing.then(|| format!("table {name} lacks fingerprint {bits:016x}")))
        });
        let orphans = table.entries()?.map(|rotated| {
            let fingerprint = block::unrotate(rotated?, block);
            let is_orphan = !tables.has_fingerprint(fingerprint.bits())?;
            Ok(is_orphan
                .then(|| format!("table {name} holds {fingerprint}, table block0 does not")))
        });
        self.name(missing.chain(orphans))
    }
}

/// Both halves of an entry.
fn both(entry: u128) -> (u64, u64) {
    (entry.first(), entry.second())
}
