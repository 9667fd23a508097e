//! Write transactions: the changes of documents become sorted changes of every table.

use std::sync::Arc;

use redb::ReadableTable;

use crate::block::{self, BLOCKS};
use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::commit::write_lock::WriteGuard;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::pager::abort_on_drop::AbortOnDrop;
use crate::store::pager::redb_handle::RedbHandle;
use crate::store::tables::WriteTables;
use crate::store::tables::bands::{BandChanges, BandMaker};
use crate::store::tables::edit::{Counts, DocumentEdit, StoredDocument, TextEdit};
use crate::store::tables::packed::chunk::{Entry, pair, swapped};
use crate::store::tables::packed::{ApplyCounts, Op};
use crate::store::tables::schema::{self, Counters, JournalMark, Keeps};
use crate::store::tables::texts;
use crate::store::view::bucket_cache::BucketCache;

/// Changes of runs that are noted one by one: 16 MiB.
const MOST_RUN_CHANGES: usize = 1 << 20;

/// A write transaction on a database.
pub(crate) struct WriteTransaction {
    transaction: AbortOnDrop,
    db_path: DbPath,
    keeps: Keeps,
    /// Nothing in a file that keeps no bands.
    bands: Option<BandMaker>,
    counters: Counters,
    /// Something was changed, so there is something to commit.
    changed: bool,
    /// Where runs of this file are kept, if they are.
    runs: Option<Arc<BucketCache>>,
    /// What changes in them, block by block, rotated and in order.
    changed_runs: Vec<(usize, Vec<(u64, Op)>)>,
    /// How many changes these are.
    run_changes_noted: usize,
    /// Any of them may have changed.
    any_run_changed: bool,
    /// Held where others are to wait until this is done, to the end of the transaction.
    _pen: Option<WriteGuard>,
}

impl WriteTransaction {
    /// Begins a transaction whose commit keeps quick repair possible.
    pub(crate) fn begin(
        engine: &RedbHandle,
        db_path: &DbPath,
        keeps: Keeps,
        bands: Option<BandMaker>,
        runs: Arc<BucketCache>,
    ) -> Result<Self> {
        let mut transaction = engine.begin_write().writing(db_path)?;
        // Without this, opening after a crash reads the whole file, twice.
        transaction.set_quick_repair(true);
        let mut begun = Self::of(transaction, db_path, keeps, bands)?;
        begun.runs = Some(runs);
        Ok(begun)
    }

    /// What redb has begun, in a file of which no runs are kept.
    pub(crate) fn of(
        transaction: redb::WriteTransaction,
        db_path: &DbPath,
        keeps: Keeps,
        bands: Option<BandMaker>,
    ) -> Result<Self> {
        let transaction = AbortOnDrop::new(transaction);
        let counters = {
            let meta = transaction.open_table(schema::META).writing(db_path)?;
            schema::read_counters(&meta, db_path)?
        };
        Ok(Self {
            transaction,
            db_path: db_path.clone(),
            keeps,
            bands,
            counters,
            changed: false,
            runs: None,
            changed_runs: Vec::new(),
            run_changes_noted: 0,
            any_run_changed: false,
            _pen: None,
        })
    }

    /// Lets nobody else write until this is done.
    pub(crate) fn hold(&mut self, write_guard: WriteGuard) {
        self._pen = Some(write_guard);
    }

    /// The tables as this transaction sees them, to be asked.
    pub(crate) fn tables(&self) -> Result<WriteTables<'_>> {
        WriteTables::open(&self.transaction, &self.db_path, self.keeps)
    }

    /// The tables, for whoever writes to them directly and counts what is written.
    pub(crate) fn tables_to_change(&mut self) -> Result<WriteTables<'_>> {
        self.changed = true;
        self.any_run_changed = true;
        self.tables()
    }

    /// The table of texts, for whoever writes to it directly and counts what is written.
    pub(crate) fn texts_to_change(&mut self) -> Result<redb::Table<'_, u64, &'static [u8]>> {
        self.changed = true;
        self.open_texts()
    }

    /// What the tables hold now.
    pub(crate) fn counts(&self) -> Counts {
        self.counters.counts()
    }

    /// What is counted, to be kept true by whoever changes tables directly.
    pub(crate) fn counters(&mut self) -> &mut Counters {
        self.changed = true;
        &mut self.counters
    }

    /// Applies the net changes of documents, each id at most once, to every table.
    pub(crate) fn apply(&mut self, mut edits: Vec<DocumentEdit>) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        edits.sort_unstable_by_key(|edit| edit.id);
        self.apply_bands(self.band_changes(&edits)?.into_sorted())?;
        self.apply_documents(&edits)?;
        let distinct = self.apply_block0(&block0_changes(&edits))?;
        for block in 1..BLOCKS {
            self.apply_rotated(block, &rotated_changes(block, &distinct))?;
        }
        Ok(())
    }

    /// What edits do to `bands`. Which entries go is told by the texts that are stored, so what
    /// this says must be applied before those change, or with them.
    pub(crate) fn band_changes(&self, edits: &[DocumentEdit]) -> Result<BandChanges> {
        let mut changes = BandChanges::default();
        let Some(bands) = &self.bands else {
            return Ok(changes);
        };
        let texts = self.open_texts()?;
        for edit in edits.iter().filter(|edit| edit.text != TextEdit::Keep) {
            let old = match edit.before {
                Some(_) => texts::get(&texts, edit.id, &self.db_path)?,
                None => None,
            };
            let old = old.map_or(Vec::new(), |old| bands.keys(&old));
            changes.replace(edit.id, &old, edit.text.keys());
        }
        Ok(changes)
    }

    /// Whether there are bands to be kept.
    pub(crate) fn keeps_bands(&self) -> bool {
        self.bands.is_some()
    }

    /// How many chunks `bands` has.
    pub(crate) fn band_chunks(&self) -> Result<u64> {
        match &self.tables()?.bands {
            Some(bands) => bands.chunks(),
            None => Ok(0),
        }
    }

    /// Applies changes to `bands`, in order.
    pub(crate) fn apply_bands(
        &mut self,
        changes: impl IntoIterator<Item = (u128, Op)>,
    ) -> Result<()> {
        let mut tables = self.tables()?;
        let Some(bands) = &mut tables.bands else {
            return Ok(());
        };
        let tally = bands.apply(changes.into_iter().map(Ok))?;
        drop(tables);
        self.changed |= tally != ApplyCounts::default();
        Ok(())
    }

    /// Applies the net changes of documents, which ascend, to the tables of documents, `bands`
    /// excepted.
    pub(crate) fn apply_documents(&mut self, edits: &[DocumentEdit]) -> Result<()> {
        if edits.is_empty() {
            return Ok(());
        }
        self.changed = true;
        let fingerprints = gathered(edits, |id, state| {
            Some(pair(id.0, state.fingerprint.bits()))
        });
        let unreliable = gathered(edits, |id, state| (!state.reliable).then_some(id.0));
        let arrivals = gathered(edits, |id, state| {
            state.arrival.map(|time| pair(time.0, id.0))
        });
        let mut times: Vec<(u128, Op)> = arrivals
            .iter()
            .map(|(entry, op)| (swapped(*entry), *op))
            .collect();
        times.sort_unstable_by_key(|(entry, _)| *entry);
        let mut tables = self.tables()?;
        if let Some(kept) = &mut tables.times {
            kept.arrivals.apply(arrivals.into_iter().map(Ok))?;
            kept.times.apply(times.into_iter().map(Ok))?;
        }
        let fingerprints = tables
            .fingerprints
            .apply(fingerprints.into_iter().map(Ok))?;
        let unreliable = tables.unreliable.apply(unreliable.into_iter().map(Ok))?;
        drop(tables);
        let texts = self.apply_texts(edits)?;
        count(&mut self.counters.documents, fingerprints);
        count(&mut self.counters.unreliable, unreliable);
        count(&mut self.counters.texts, texts);
        self.see_arrival(edits.iter().filter_map(|edit| edit.after?.arrival).max());
        Ok(())
    }

    /// Applies changes to `block0`, in order, and returns which of their fingerprints are there
    /// now and which are not.
    pub(crate) fn apply_block0(&mut self, changes: &[(u128, Op)]) -> Result<Vec<(u64, Op)>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.changed = true;
        let mut tables = self.tables()?;
        tables.block0.apply(changes.iter().copied().map(Ok))?;
        let mut distinct: Vec<(u64, Op)> = Vec::with_capacity(changes.len());
        for of_one in changes.chunk_by(|(a, _), (b, _)| a.first() == b.first()) {
            let fingerprint = of_one[0].0.first();
            let is_there = of_one.iter().any(|(_, op)| *op == Op::Put)
                || tables.has_fingerprint(fingerprint)?;
            let op = if is_there { Op::Put } else { Op::Remove };
            distinct.push((fingerprint, op));
        }
        drop(tables);
        self.note_run_changes(0, &distinct);
        Ok(distinct)
    }

    /// Applies changes to the table of fingerprints that are rotated by `block`, not 0, in order.
    pub(crate) fn apply_rotated(&mut self, block: usize, changes: &[(u64, Op)]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.changed = true;
        let mut tables = self.tables()?;
        let tally = tables.rotated[block - 1].apply(changes.iter().copied().map(Ok))?;
        drop(tables);
        if block == 1 {
            count(&mut self.counters.distinct_fingerprints, tally);
        }
        self.note_run_changes(block, changes);
        Ok(())
    }

    /// Notes what changes in the runs of a block; of too much only that it does.
    fn note_run_changes(&mut self, block: usize, changes: &[(u64, Op)]) {
        if self.runs.is_none() || self.any_run_changed {
            return;
        }
        self.changed_runs.push((block, changes.to_vec()));
        self.run_changes_noted += changes.len();
        if self.run_changes_noted > MOST_RUN_CHANGES {
            self.any_run_changed = true;
            self.changed_runs = Vec::new();
        }
    }

    fn apply_texts(&mut self, edits: &[DocumentEdit]) -> Result<ApplyCounts> {
        let mut tally = ApplyCounts::default();
        if !self.keeps.texts {
            return Ok(tally);
        }
        let mut encoder = texts::Encoder::default();
        let mut table = self.open_texts()?;
        for edit in edits {
            match &edit.text {
                TextEdit::Keep => {}
                TextEdit::Put(banded) => {
                    let bytes = encoder.encode(edit.id, &banded.text)?;
                    let old = table
                        .insert(edit.id.0, bytes.as_slice())
                        .writing(&self.db_path)?;
                    tally.added += u64::from(old.is_none());
                }
                TextEdit::Remove => {
                    let old = table.remove(edit.id.0).writing(&self.db_path)?;
                    tally.removed += u64::from(old.is_some());
                }
            }
        }
        Ok(tally)
    }

    /// Those of these documents, with whatever belongs to them, that have no text.
    pub(crate) fn without_text<V>(&self, documents: Vec<(DocId, V)>) -> Result<Vec<(DocId, V)>> {
        let table = self.open_texts()?;
        let mut without = Vec::with_capacity(documents.len());
        for (id, value) in documents {
            let text = table.get(id.0).reading(&self.db_path)?;
            if text.is_none() {
                without.push((id, value));
            }
        }
        Ok(without)
    }

    /// Stores texts, as they were made for that, under ids that have none. Whoever does that sees
    /// to their bands.
    pub(crate) fn add_texts<'b>(
        &mut self,
        texts: impl Iterator<Item = (DocId, &'b [u8])>,
    ) -> Result<()> {
        let mut added = 0;
        {
            let mut table = self.open_texts()?;
            for (id, bytes) in texts {
                let old = table.insert(id.0, bytes).writing(&self.db_path)?;
                added += u64::from(old.is_none());
            }
        }
        self.changed |= added > 0;
        self.counters.texts = self.counters.texts.saturating_add(added);
        Ok(())
    }

    /// Removes the texts of these documents, and hands over the entries that `bands` has of them,
    /// for whoever removes those.
    pub(crate) fn remove_texts(
        &mut self,
        ids: impl Iterator<Item = Result<u64>>,
        mut bands_lose: impl FnMut(u128) -> Result<()>,
    ) -> Result<()> {
        let mut removed = 0;
        {
            let mut table = self.open_texts()?;
            for id in ids {
                let id = id?;
                let old = table.remove(id).writing(&self.db_path)?;
                let Some(old) = old else {
                    continue;
                };
                removed += 1;
                if let Some(bands) = &self.bands {
                    let text = texts::decode(DocId(id), old.value(), &self.db_path)?;
                    for key in bands.keys(&text) {
                        bands_lose(pair(key, id))?;
                    }
                }
            }
        }
        self.changed |= removed > 0;
        self.counters.texts = self.counters.texts.saturating_sub(removed);
        Ok(())
    }

    /// The table of texts, to be read beside the others, if texts are kept.
    pub(crate) fn texts_to_read(&self) -> Result<Option<redb::Table<'_, u64, &'static [u8]>>> {
        self.keeps.texts.then(|| self.open_texts()).transpose()
    }

    fn open_texts(&self) -> Result<redb::Table<'_, u64, &'static [u8]>> {
        self.transaction
            .open_table(schema::TEXTS)
            .writing(&self.db_path)
    }

    /// Something arrived at this time, or later.
    pub(crate) fn see_arrival(&mut self, arrival: Option<Timestamp>) {
        let arrival = arrival.map_or(0, |Timestamp(time)| time);
        self.counters.latest_arrival = self.counters.latest_arrival.max(arrival);
    }

    /// Says what becomes of the journal.
    pub(crate) fn mark_journal(&mut self, mark: JournalMark) -> Result<()> {
        self.changed = true;
        let mut meta = self
            .transaction
            .open_table(schema::META)
            .writing(&self.db_path)?;
        schema::write_journal_mark(&mut meta, &mark, &self.db_path)
    }

    /// Makes everything durable. Where nothing was changed, nothing is written: most of what is
    /// asked to be unique is not.
    pub(crate) fn commit(mut self) -> Result<()> {
        if !self.changed {
            return self.transaction.abort().writing(&self.db_path);
        }
        self.counters.commits = self.counters.commits.saturating_add(1);
        {
            let mut meta = self
                .transaction
                .open_table(schema::META)
                .writing(&self.db_path)?;
            schema::write_counters(&mut meta, &self.counters, &self.db_path)?;
        }
        self.tell_of_changes();
        self.transaction.commit().map_err(|cause| {
            // Those that were made to fit the commit fit nothing.
            if let Some(runs) = &self.runs {
                runs.clear();
            }
            self.db_path.committing(cause)
        })
    }

    fn tell_of_changes(&self) {
        let Some(runs) = &self.runs else {
            return;
        };
        let commit = self.counters.commits;
        if self.any_run_changed {
            runs.change_all(commit);
            return;
        }
        for (block, changes) in &self.changed_runs {
            runs.change(*block, changes, commit);
        }
    }
}

/// What edits do to `block0`, sorted.
pub(crate) fn block0_changes(edits: &[DocumentEdit]) -> Vec<(u128, Op)> {
    gathered(edits, |id, state| {
        let entry = pair(state.fingerprint.bits(), id.0);
        state.reliable.then_some(entry)
    })
}

/// What becomes of fingerprints, as the table of another block than 0 has it, sorted.
pub(crate) fn rotated_changes(block: usize, fingerprints: &[(u64, Op)]) -> Vec<(u64, Op)> {
    let rotated = |(fingerprint, op): &(u64, Op)| {
        let fingerprint = Fingerprint::from_bits(*fingerprint);
        (block::rotate(fingerprint, block), *op)
    };
    let mut changes: Vec<(u64, Op)> = fingerprints.iter().map(rotated).collect();
    changes.sort_unstable_by_key(|(rotated, _)| *rotated);
    changes
}

/// What edits do to one table, sorted: for each the entry it had there, which goes, and the one
/// it shall have.
fn gathered<E: Ord + Copy>(
    edits: &[DocumentEdit],
    entry: impl Fn(DocId, StoredDocument) -> Option<E>,
) -> Vec<(E, Op)> {
    let mut changes = Vec::with_capacity(edits.len());
    for edit in edits {
        let before = edit.before.and_then(|state| entry(edit.id, state));
        let after = edit.after.and_then(|state| entry(edit.id, state));
        if before != after {
            changes.extend(before.map(|entry| (entry, Op::Remove)));
            changes.extend(after.map(|entry| (entry, Op::Put)));
        }
    }
    changes.sort_unstable_by_key(|(entry, _)| *entry);
    changes
}

fn count(counter: &mut u64, tally: ApplyCounts) {
    *counter = counter
        .saturating_add(tally.added)
        .saturating_sub(tally.removed);
}
