//! The walk that proves a file sound.
//!
//! Every chunk and every text is read and its checksum compared; chunks must be in order and
//! within their fences. That the tables hold the same documents is shown by comparing counts and
//! 128-bit sums of scrambled entries, which do not depend on order; only where they differ is
//! each entry looked up, to say which ones. That `bands` holds the bands of the stored texts and no
//! others is shown in the same way: they are made of each text again.

mod bands;
mod tail;
mod times;

use std::fmt::LowerHex;
use std::path::Path;

use redb::ReadableTable;

use crate::block;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::Store;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::packed::damaged_ranges::{Damaged, KeyInt, Part};
use crate::store::tables::schema::Counters;
use crate::store::view::snapshot_tables::SnapshotTables;
use times::TimesFound;

/// How many entries that one table lacks are named one by one.
const NAMED: usize = 10;

/// All damage found, a sentence each.
pub(crate) fn check(store: &mut Store, progress: &ProgressHandler) -> Result<Vec<String>> {
    let db_path = store.db_path().clone();
    if !store.is_read_only() {
        store.tables_mut()?;
    }
    // What was read before is perhaps not what the file will hold.
    store.tables().buckets.clear();
    let mut damage = Vec::new();
    let is_flushed = db_path.guarded(|| Ok(store.read()?.is_flushed()));
    let Some(is_flushed) = noted(is_flushed, &mut damage)? else {
        return Ok(damage);
    };
    if !is_flushed {
        // To merge is to write, and damage ends that. What can be read, is read before.
        let damage = walk(store, progress, store.path())?;
        if !damage.is_empty() || store.is_read_only() {
            return Ok(damage);
        }
    }
    if noted(store.close(), &mut damage)?.is_none() {
        return Ok(damage);
    }
    damage.extend(walk(store, progress, store.path())?);
    if damage.is_empty() {
        engine_check(store, &mut damage)?;
    }
    Ok(damage)
}

/// Walks all tables. An interruption is reported for the file at `path`. Where not everything is merged into them,
/// nothing is said of whether they hold the same, but whether what is to be merged fits them.
pub(crate) fn walk(store: &Store, progress: &ProgressHandler, path: &Path) -> Result<Vec<String>> {
    let mut damage = Vec::new();
    let view = store.db_path().guarded(|| store.read());
    let Some(view) = noted(view, &mut damage)? else {
        return Ok(damage);
    };
    let total = noted(steps(&view.tables), &mut damage)?.unwrap_or(0);
    let mut walk = Walk {
        damage,
        progress: ProgressReporter::new(progress, Stage::Check, Some(total), path),
        is_merged: view.is_flushed(),
    };
    walk.progress.report()?;
    walk.tables(&view.tables)?;
    walk.tail(&view)?;
    let tables = view.tables;
    let maker = store.tables().bands();
    let from_texts = walk.texts(&tables, maker)?;
    if let (Some(maker), Some(bands)) = (maker, &tables.bands) {
        walk.bands(&tables, bands, maker, from_texts)?;
    }
    walk.progress.finish()?;
    Ok(walk.damage)
}

/// About how many steps a walk of everything has.
pub(crate) fn steps(tables: &SnapshotTables) -> Result<u64> {
    let Counters {
        documents,
        distinct_fingerprints,
        unreliable,
        texts,
        ..
    } = tables.counters();
    let times = match tables.times {
        Some(_) => documents.saturating_mul(2),
        None => 0,
    };
    Ok((documents.saturating_mul(2))
        .saturating_add(distinct_fingerprints.saturating_mul(3))
        .saturating_add(texts)
        .saturating_add(times)
        .saturating_add(bands::expected(tables)?)
        .saturating_sub(unreliable))
}

/// Has the storage engine prove its pages, and which of them are free.
fn engine_check(store: &mut Store, damage: &mut Vec<String>) -> Result<()> {
    let db_path = store.db_path().clone();
    let tables = store.tables_mut()?;
    if !tables.backend.is_writable() {
        // It would mend what it finds.
        return Ok(());
    }
    let integrity = db_path.guarded(|| tables.backend.check_integrity());
    if noted(integrity, damage)? == Some(false) {
        damage.push("the storage engine found damage in its pages and mended it".to_owned());
    }
    Ok(())
}

/// Turns damage into a sentence, and leaves other errors as they are.
fn noted<V>(result: Result<V>, damage: &mut Vec<String>) -> Result<Option<V>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Corrupt { what, .. }) => {
            damage.push(what);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A set of entries, as far as its comparison with another goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    sum: u128,
}

impl Sum {
    /// Both together.
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }

    fn add(&mut self, entry: u128) {
        // Two rounds of the finaliser of splitmix64, crossed, so that sums of different sets meet
        // by chance only.
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

/// What the tables of documents hold.
#[derive(Default)]
struct Documents {
    /// The reliable ones, each as `block0` should hold it.
    reliable: Sum,
    /// The ids of all, where arrival times are kept.
    ids: Sum,
    /// How many are unreliable.
    unreliable: u64,
    /// The first few ids in `unreliable` that are no documents.
    strays: Vec<u64>,
    /// The first few ids that are there more than once.
    repeated: Vec<u64>,
}

impl Documents {
    fn stray(&mut self, id: u64) {
        if self.strays.len() < NAMED {
            self.strays.push(id);
        }
    }

    fn repeat(&mut self, id: u64) {
        if self.repeated.len() < NAMED && self.repeated.last() != Some(&id) {
            self.repeated.push(id);
        }
    }
}

struct Walk {
    damage: Vec<String>,
    progress: ProgressReporter,
    /// The tables hold everything, so they must hold the same.
    is_merged: bool,
}

impl Walk {
    /// Walks all packed tables, then compares what they hold.
    fn tables(&mut self, tables: &SnapshotTables) -> Result<()> {
        let mut documents = Documents::default();
        let mut from_block0 = Sum::default();
        let mut distinct = [Sum::default(); block::BLOCKS];

        let mut whole = self.documents(tables, &mut documents)?;
        let mut last = None;
        whole &= self.walk(&tables.block0, |entry: u128| {
            from_block0.add(entry);
            if last.replace(entry.first()) != Some(entry.first()) {
                distinct[0].add(u128::from(entry.first()));
            }
            Ok(())
        })?;
        for (position, table) in tables.rotated.iter().enumerate() {
            whole &= self.walk(table, |rotated: u64| {
                let fingerprint = block::unrotate(rotated, position + 1);
                distinct[position + 1].add(u128::from(fingerprint.bits()));
                Ok(())
            })?;
        }
        let mut times = TimesFound::default();
        whole &= self.times(tables, &mut times)?;
        if !whole || !self.is_merged {
            // What a table lacks says nothing while parts of it cannot be read.
            return Ok(());
        }
        self.compare_times(tables, &times, documents.ids)?;
        for id in documents.repeated {
            self.damage.push(format!(
                "table fingerprints holds document {id} more than once"
            ));
        }
        for id in documents.strays {
            self.damage.push(format!(
                "table unreliable holds document {id}, table fingerprints does not"
            ));
        }
        if documents.reliable != from_block0 {
            self.name_missing_documents(tables)?;
        }
        for position in 1..block::BLOCKS {
            if distinct[position] != distinct[0] {
                self.name_missing_fingerprints(tables, position)?;
            }
        }
        let counted = (
            documents.reliable.count + documents.unreliable,
            distinct[0].count,
            documents.unreliable,
        );
        let Counters {
            documents,
            distinct_fingerprints,
            unreliable,
            ..
        } = tables.counters();
        if counted != (documents, distinct_fingerprints, unreliable) {
            self.damage.push(format!(
                "the counters say {documents} documents, {distinct_fingerprints} distinct \
                 fingerprints and {unreliable} unreliable ones; the tables hold {}, {} and {}",
                counted.0, counted.1, counted.2
            ));
        }
        Ok(())
    }

    /// Walks the documents and, in step, the ids of those that are unreliable; whether all of it
    /// could be read.
    fn documents(&mut self, tables: &SnapshotTables, found: &mut Documents) -> Result<bool> {
        let keeps_times = tables.times.is_some();
        if !self.walk(&tables.unreliable, |_: u64| Ok(()))? {
            self.walk(&tables.fingerprints, |_: u128| Ok(()))?;
            return Ok(false);
        }
        let mut unreliable = tables.unreliable.entries()?.peekable();
        let mut last = None;
        let whole = self.walk(&tables.fingerprints, |entry: u128| {
            let (id, fingerprint) = (entry.first(), entry.second());
            if last.replace(id) == Some(id) {
                found.repeat(id);
            }
            if keeps_times {
                found.ids.add(pair(id, 0));
            }
            let reached = |other: &Result<u64>| other.as_ref().is_ok_and(|other| *other >= id);
            while let Some(stray) = unreliable.next_if(|other| !reached(other)) {
                found.stray(stray?);
            }
            match unreliable.next_if(|other| other.as_ref().is_ok_and(|other| *other == id)) {
                Some(_) => found.unreliable += 1,
                None => found.reliable.add(pair(fingerprint, id)),
            }
            Ok(())
        })?;
        for stray in unreliable {
            found.stray(stray?);
        }
        Ok(whole)
    }

    /// Calls `each` with every entry of a table; whether all of it could be read.
    fn walk<E: Entry + KeyInt, T: ReadableTable<E, &'static [u8]>>(
        &mut self,
        table: &Packed<T>,
        mut each: impl FnMut(E) -> Result<()>,
    ) -> Result<bool> {
        let mut whole = true;
        for part in table.parts() {
            match part? {
                Part::Read(entries) => {
                    for entry in entries {
                        each(entry)?;
                        self.progress.step()?;
                    }
                }
                Part::Damaged(gap) => {
                    whole = false;
                    self.gap(table.id().name, gap)?;
                }
            }
        }
        Ok(whole)
    }

    /// Says what of a table is damaged. That the disk does not read is no damage to the file.
    fn gap<K: LowerHex>(&mut self, table: &str, gap: Damaged<K>) -> Result<()> {
        let Damaged { from, to, why } = gap;
        let Error::Corrupt { what, .. } = why else {
            return Err(why);
        };
        let to = match to {
            Some(to) => format!("{to:#x}"),
            None => "its end".to_owned(),
        };
        self.damage.push(format!(
            "table {table} cannot be read from {from:#x} to {to}: {what}"
        ));
        Ok(())
    }

    fn name_missing_documents(&mut self, tables: &SnapshotTables) -> Result<()> {
        let before = self.damage.len();
        for entry in tables.fingerprints.entries()? {
            let entry: u128 = entry?;
            let (id, fingerprint) = (entry.first(), entry.second());
            let wanted = pair(fingerprint, id);
            let reliable = tables.unreliable.first_in(id, id)?.is_none();
            if reliable && tables.block0.first_in(wanted, wanted)?.is_none() {
                self.damage.push(format!(
                    "table block0 lacks document {id} with {fingerprint:016x}"
                ));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        for entry in tables.block0.entries()? {
            let entry: u128 = entry?;
            let (fingerprint, id) = (entry.first(), entry.second());
            let wanted = pair(id, fingerprint);
            if tables.fingerprints.first_in(wanted, wanted)?.is_none()
                || tables.unreliable.first_in(id, id)?.is_some()
            {
                self.damage.push(format!(
                    "table block0 holds document {id} with {fingerprint:016x}, table fingerprints does not"
                ));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        Ok(())
    }

    fn name_missing_fingerprints(
        &mut self,
        tables: &SnapshotTables,
        position: usize,
    ) -> Result<()> {
        let table = &tables.rotated[position - 1];
        let name = table.id().name;
        let before = self.damage.len();
        for entry in tables.block0.entries()? {
            let entry: u128 = entry?;
            let rotated = block::rotate(Fingerprint::from_bits(entry.first()), position);
            if table.first_in(rotated, rotated)?.is_none() {
                self.damage.push(format!(
                    "table {name} lacks fingerprint {:016x}",
                    entry.first()
                ));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        for rotated in table.entries()? {
            let fingerprint = block::unrotate(rotated?, position);
            if !tables.has_fingerprint(fingerprint.bits())? {
                self.damage.push(format!(
                    "table {name} holds {fingerprint}, table block0 does not"
                ));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        Ok(())
    }
}
