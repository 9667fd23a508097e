//! Write transactions: the changes of documents become sorted changes of every table.

use std::sync::Arc;

use redb::ReadableTable;

use super::chunk::{Entry, pair};
use super::edit::{DocumentEdit, State, TextEdit};
use super::fault::Place;
use super::packed::{Op, Tally};
use super::runs::{ChangedRuns, RunCache};
use super::schema::{self, Counters};
use super::tables::WriteTables;
use super::texts;
use crate::document::DocId;
use crate::error::{Error, Result};

/// A write transaction on a database.
pub(crate) struct WriteTransaction {
    transaction: redb::WriteTransaction,
    place: Place,
    keep_texts: bool,
    counters: Counters,
    /// A batch began to change the tables and did not end.
    half_done: bool,
    /// Something was changed, so there is something to commit.
    changed: bool,
    /// Where runs of this file are kept, if they are.
    runs: Option<Arc<RunCache>>,
    /// Which of them change; nothing if any may.
    changed_runs: Option<ChangedRuns>,
}

impl WriteTransaction {
    /// Begins a transaction whose commit keeps quick repair possible.
    pub(crate) fn begin(
        database: &redb::Database,
        place: &Place,
        keep_texts: bool,
        runs: Arc<RunCache>,
    ) -> Result<Self> {
        let mut transaction = database
            .begin_write()
            .map_err(|cause| place.writing(cause))?;
        // Without this, opening after a crash reads the whole file, twice.
        transaction.set_quick_repair(true);
        let mut begun = Self::of(transaction, place, keep_texts)?;
        begun.runs = Some(runs);
        Ok(begun)
    }

    /// What redb has begun, in a file of which no runs are kept.
    pub(crate) fn of(
        transaction: redb::WriteTransaction,
        place: &Place,
        keep_texts: bool,
    ) -> Result<Self> {
        let counters = {
            let meta = transaction
                .open_table(schema::META)
                .map_err(|cause| place.writing(cause))?;
            schema::read_counters(&meta, place)?
        };
        Ok(Self {
            transaction,
            place: place.clone(),
            keep_texts,
            counters,
            half_done: false,
            changed: false,
            runs: None,
            changed_runs: Some(ChangedRuns::none()),
        })
    }

    /// The tables as this transaction sees them, to be asked.
    pub(crate) fn tables(&self) -> Result<WriteTables<'_>> {
        WriteTables::of(&self.transaction, &self.place)
    }

    /// The tables, for whoever writes to them directly and counts what is written.
    pub(crate) fn tables_to_change(&mut self) -> Result<WriteTables<'_>> {
        self.changed = true;
        self.changed_runs = None;
        self.tables()
    }

    /// The table of texts, for whoever writes to it directly and counts what is written.
    pub(crate) fn texts_to_change(&mut self) -> Result<redb::Table<'_, u64, &'static [u8]>> {
        self.changed = true;
        self.open_texts()
    }

    /// What is counted, to be kept true by whoever changes tables directly.
    pub(crate) fn counters(&mut self) -> &mut Counters {
        self.changed = true;
        &mut self.counters
    }

    pub(crate) fn keeps_texts(&self) -> bool {
        self.keep_texts
    }

    /// Applies the net changes of documents, each id at most once, to every table.
    pub(crate) fn apply(&mut self, edits: Vec<DocumentEdit>) -> Result<()> {
        for edit in &edits {
            if let TextEdit::Put(text) = &edit.text
                && self.keep_texts
            {
                texts::refuse_too_long(edit.id, text)?;
            }
        }
        self.refuse_if_half_done()?;
        self.half_done = true;
        self.apply_checked(edits)?;
        self.half_done = false;
        Ok(())
    }

    fn refuse_if_half_done(&self) -> Result<()> {
        if self.half_done {
            let path = self.place.path().to_path_buf();
            return Err(Error::TransactionFailed { path });
        }
        Ok(())
    }

    fn apply_checked(&mut self, mut edits: Vec<DocumentEdit>) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        if edits.is_empty() {
            return Ok(());
        }
        self.changed = true;
        edits.sort_unstable_by_key(|edit| edit.id);
        let fingerprints = gathered(&edits, |edit| {
            let entry = |state: State| pair(edit.id.0, state.fingerprint.bits());
            (edit.before.map(entry), edit.after.map(entry))
        });
        let unreliable = gathered(&edits, |edit| {
            let entry = |state: State| (!state.reliable).then_some(edit.id.0);
            (edit.before.and_then(entry), edit.after.and_then(entry))
        });
        let block0 = gathered(&edits, |edit| {
            let entry = |state: State| {
                let entry = pair(state.fingerprint.bits(), edit.id.0);
                state.reliable.then_some(entry)
            };
            (edit.before.and_then(entry), edit.after.and_then(entry))
        });
        if let Some(changed) = &mut self.changed_runs {
            block0
                .iter()
                .for_each(|(entry, _)| changed.add(entry.first()));
        }
        let mut tables = self.tables()?;
        let fingerprints = tables
            .fingerprints
            .apply(fingerprints.into_iter().map(Ok))?;
        let unreliable = tables.unreliable.apply(unreliable.into_iter().map(Ok))?;
        tables.block0.apply(block0.iter().copied().map(Ok))?;
        let distinct = update_rotated(&mut tables, &block0)?;
        drop(tables);

        let texts = self.apply_texts(edits)?;
        let count = |counter: &mut u64, tally: Tally| {
            *counter = counter
                .saturating_add(tally.added)
                .saturating_sub(tally.removed);
        };
        count(&mut self.counters.documents, fingerprints);
        count(&mut self.counters.unreliable, unreliable);
        count(&mut self.counters.distinct_fingerprints, distinct);
        count(&mut self.counters.texts, texts);
        Ok(())
    }

    fn apply_texts(&mut self, edits: Vec<DocumentEdit>) -> Result<Tally> {
        let mut tally = Tally::default();
        if !self.keep_texts {
            return Ok(tally);
        }
        let writing = |cause: redb::StorageError| self.place.writing(cause);
        let mut encoder = texts::Encoder::default();
        let mut table = self.open_texts()?;
        for edit in edits {
            match edit.text {
                TextEdit::Keep => {}
                TextEdit::Put(text) => {
                    let bytes = encoder.encode(edit.id, &text)?;
                    let old = table.insert(edit.id.0, bytes.as_slice()).map_err(writing)?;
                    tally.added += u64::from(old.is_none());
                }
                TextEdit::Remove => {
                    let old = table.remove(edit.id.0).map_err(writing)?;
                    tally.removed += u64::from(old.is_some());
                }
            }
        }
        Ok(tally)
    }

    /// Stores texts in ascending order of their ids, except those of documents that have one.
    pub(crate) fn add_texts(&mut self, sorted: &[(DocId, String)]) -> Result<()> {
        let mut added = 0;
        let mut encoder = texts::Encoder::default();
        {
            let mut table = self.open_texts()?;
            for (id, text) in sorted {
                if table
                    .get(id.0)
                    .map_err(|cause| self.place.reading(cause))?
                    .is_none()
                {
                    let bytes = encoder.encode(*id, text)?;
                    table
                        .insert(id.0, bytes.as_slice())
                        .map_err(|cause| self.place.writing(cause))?;
                    added += 1;
                }
            }
        }
        self.changed |= added > 0;
        self.counters.texts = self.counters.texts.saturating_add(added);
        Ok(())
    }

    /// Removes the texts of these documents.
    pub(crate) fn remove_texts(&mut self, ids: impl Iterator<Item = Result<u64>>) -> Result<()> {
        let mut removed = 0;
        {
            let mut table = self.open_texts()?;
            for id in ids {
                let old = table
                    .remove(id?)
                    .map_err(|cause| self.place.writing(cause))?;
                removed += u64::from(old.is_some());
            }
        }
        self.changed |= removed > 0;
        self.counters.texts = self.counters.texts.saturating_sub(removed);
        Ok(())
    }

    fn open_texts(&self) -> Result<redb::Table<'_, u64, &'static [u8]>> {
        self.transaction
            .open_table(schema::TEXTS)
            .map_err(|cause| self.place.writing(cause))
    }

    /// Makes everything durable. Where nothing was changed, nothing is written: most of what is
    /// asked to be unique is not.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.refuse_if_half_done()?;
        if !self.changed {
            return self
                .transaction
                .abort()
                .map_err(|cause| self.place.writing(cause));
        }
        self.counters.commits = self.counters.commits.saturating_add(1);
        self.tell_of_changes();
        {
            let mut meta = self
                .transaction
                .open_table(schema::META)
                .map_err(|cause| self.place.writing(cause))?;
            schema::write_counters(&mut meta, &self.counters, &self.place)?;
        }
        self.transaction
            .commit()
            .map_err(|cause| self.place.committing(cause))
    }

    fn tell_of_changes(&self) {
        let Some(runs) = &self.runs else {
            return;
        };
        let commit = self.counters.commits;
        match &self.changed_runs {
            Some(changed) => runs.change(changed, commit),
            None => runs.change_all(commit),
        }
    }
}

/// What edits do to one table, sorted: for each the entry it had there, which goes, and the one
/// it shall have.
fn gathered<E: Ord + Copy>(
    edits: &[DocumentEdit],
    entries: impl Fn(&DocumentEdit) -> (Option<E>, Option<E>),
) -> Vec<(E, Op)> {
    let mut changes = Vec::with_capacity(edits.len());
    for edit in edits {
        let (before, after) = entries(edit);
        if before != after {
            changes.extend(before.map(|entry| (entry, Op::Remove)));
            changes.extend(after.map(|entry| (entry, Op::Put)));
        }
    }
    changes.sort_unstable_by_key(|(entry, _)| *entry);
    changes
}

/// Brings the tables of distinct fingerprints up to what `block0` now holds, for the fingerprints
/// whose entries in `block0` were touched.
fn update_rotated(tables: &mut WriteTables<'_>, block0: &[(u128, Op)]) -> Result<Tally> {
    let mut touched: Vec<(u64, Op)> = block0
        .iter()
        .map(|(entry, op)| (entry.first(), *op))
        .collect();
    // Put sorts first: a fingerprint that some document received is surely there.
    touched.sort_unstable_by_key(|(fingerprint, op)| (*fingerprint, *op == Op::Remove));
    touched.dedup_by_key(|(fingerprint, _)| *fingerprint);
    for (fingerprint, op) in &mut touched {
        if *op == Op::Remove && tables.has_fingerprint(*fingerprint)? {
            *op = Op::Put;
        }
    }
    let mut tallies = [Tally::default(); 3];
    for (position, tally) in tallies.iter_mut().enumerate() {
        let mut changes: Vec<(u64, Op)> = touched
            .iter()
            .map(|(fingerprint, op)| (WriteTables::rotated_for(position, *fingerprint), *op))
            .collect();
        changes.sort_unstable_by_key(|(rotated, _)| *rotated);
        *tally = tables.rotated[position].apply(changes.into_iter().map(Ok))?;
    }
    if tallies.iter().any(|tally| *tally != tallies[0]) {
        return Err(tables
            .place
            .corrupt("tables block1, block2 and block3 hold different fingerprints"));
    }
    Ok(tallies[0])
}
