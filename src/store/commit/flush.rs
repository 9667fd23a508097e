//! The flush of a sealed memtable into the tables.
//!
//! The flush thread runs [`flush_loop`](Store::flush_loop), which waits for a sealed memtable
//! and flushes it. A writer that works on the tables directly calls
//! [`flush_all`](Store::flush_all) first. Both hold the flush lock, so one flush runs at a
//! time. The thresholds are in [`flush_options`](super::flush_options).
//!
//! A large memtable is flushed by many transactions ([`flush_edits`]). Each transaction is short
//! and takes little memory, and the next transaction reuses the pages that were freed. Between two
//! transactions the tables hold old entries of some documents and new entries of other documents,
//! so readers take every document of the memtable from the memtable.
//!
//! After a crash the flush is repeated from the beginning. A flush is idempotent: to put an entry
//! that exists, or to remove an entry that does not exist, changes nothing.

use std::time::Instant;

use crate::block::BLOCKS;
use crate::error::Result;
use crate::store::commit::Store;
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::table_changes::{block0_changes, rotated_changes};
use crate::store::commit::write_lock::WriteGuard;
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::journal::Journal;
use crate::store::tables::edit::{DocumentEdit, TextEdit};
use crate::store::tables::meta::JournalMark;
use crate::store::tables::packed::Op;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::schema::KEYS;
use crate::store::tables::text_keys::MAX_TEXT_KEYS;

/// At most 16 MiB of texts per flush transaction.
const MAX_TEXT_BYTES: usize = 16 << 20;

impl Store {
    /// Flushes each sealed memtable on the calling thread, until
    /// [`stop_flushing`](Self::stop_flushing) is called.
    pub(crate) fn flush_loop(&self) {
        loop {
            let mut memtables = self.memtables.lock();
            // Poisoned writes include flushes: the thread then only waits for the end.
            while memtables.sealed.is_none() || memtables.is_poisoned {
                if memtables.is_closing {
                    return;
                }
                self.memtables_changed.wait(&mut memtables);
            }
            if memtables.is_closing {
                return;
            }
            drop(memtables);
            if let Err(error) = self.flush_sealed() {
                self.poison(Some(error));
            }
        }
    }

    /// Ends [`flush_loop`](Self::flush_loop) after the current flush.
    pub(crate) fn stop_flushing(&self) {
        self.memtables.lock().is_closing = true;
        self.memtables_changed.notify_all();
    }

    /// Allows another [`flush_loop`](Self::flush_loop).
    pub(crate) fn start_flushing(&self) {
        self.memtables.lock().is_closing = false;
    }

    fn flush_sealed(&self) -> Result<()> {
        let _lock = self.flush_lock.lock();
        let (sealed, mark) = {
            let memtables = self.memtables.lock();
            // Race: `flush_all` may have flushed the memtable since the flush thread was woken.
            let Some(sealed) = memtables.sealed.clone() else {
                return Ok(());
            };
            // The newest generation is the active one. Without an active memtable it is the sealed
            // one.
            let open = memtables.active.is_some();
            let merged_generation = memtables.generation - u64::from(open);
            let mark = JournalMark {
                open,
                merged_generation,
            };
            (sealed, mark)
        };
        let db_path = &self.tables.db_path;
        let started = Instant::now();
        // redb answers damaged pages with a panic.
        let flushed = db_path.catch_panics(|| {
            flush_edits(
                &sealed.coalesced_edits(sealed.len()),
                self.flush_options,
                || self.begin_on_tables(),
                |last| {
                    // The document with the latest arrival may have been removed since. Retention
                    // still counts from its arrival, so the arrival is kept.
                    let counts = self.memtables.lock().counts;
                    last.advance_latest_arrival(counts.and_then(|counts| counts.latest_arrival));
                    last.store_frames();
                    // The mark is in the same commit as the last changes: after a crash, recovery
                    // either repeats the whole flush or does not read this journal.
                    last.mark_journal(mark)
                },
            )
        });
        flushed.map_err(|error| db_path.flushing(error))?;
        log::info!(
            "flushed {} changes to the tables of {} in {:.1?}",
            sealed.len(),
            db_path.path().display(),
            started.elapsed()
        );
        // Dropped only after the last commit: until then the tables are incomplete.
        let mut memtables = self.memtables.lock();
        memtables.sealed = None;
        if !mark.open {
            memtables.counts = None;
        }
        self.memtables_changed.notify_all();
        Ok(())
    }

    /// Flushes both memtables. The tables then hold every commit.
    pub(crate) fn flush_all(&self, write_guard: &mut WriteGuard) -> Result<()> {
        self.refuse_if_poisoned()?;
        self.flush_sealed().inspect_err(|_| self.poison(None))?;
        {
            let mut memtables = self.memtables.lock();
            let Some((active, _)) = memtables.active.take() else {
                return Ok(());
            };
            memtables.sealed = Some(active);
            // Without an active log, the next commit begins the journal of a new generation.
            **write_guard = None;
        }
        self.flush_sealed().inspect_err(|_| self.poison(None))
    }

    /// The generation of the active memtable, or of the last one if no memtable is active.
    pub(crate) fn generation(&self) -> u64 {
        self.memtables.lock().generation
    }

    /// Flushes both memtables and removes the journals.
    pub(crate) fn close(&self) -> Result<()> {
        // A frozen or read-only database has nothing to flush.
        if self.tables.refuse_changes().is_err() {
            return Ok(());
        }
        let mut write_guard = self.lock_writes()?;
        self.flush_and_remove_journals(&mut write_guard)
    }

    pub(in crate::store) fn flush_and_remove_journals(
        &self,
        write_guard: &mut WriteGuard,
    ) -> Result<()> {
        self.flush_all(write_guard)?;
        // Documents that were refused change no table, but their texts count.
        let mut transaction = self.begin_on_tables()?;
        transaction.store_frames();
        transaction.commit()?;
        // After the flush, which completes a file that was only moved. The journals at the path of
        // another file may belong to that file.
        self.refuse_if_gone()?;
        let mut memtables = self.memtables.lock();
        if std::mem::take(&mut memtables.has_files) {
            // The two files take turns, so the last two generations name both.
            let last = memtables.generation;
            for generation in [last.saturating_sub(1), last] {
                // A database of one generation may have a journal of another database beside it.
                match Journal::owner_of(&self.file, generation, &self.tables.db_path) {
                    Ok(Some(owner)) if owner.database != self.identity => {}
                    Ok(_) => Journal::remove(&self.file, generation, &self.tables.db_path)?,
                    Err(error) => log::warn!("a file that is no journal is left: {error}"),
                }
            }
        }
        Ok(())
    }
}

/// Applies edits, which ascend by id without repetitions, in transactions from `begin`. `finish`
/// gets the last transaction before it is committed.
pub(super) fn flush_edits(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: impl Fn() -> Result<WriteTransaction>,
    finish: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut last = begin()?;
    let keeps_text_keys = last.keeps_text_keys();
    let fits_one_transaction = edits.len() <= options.documents_at_once()
        && edits.iter().map(text_bytes).sum::<usize>() <= MAX_TEXT_BYTES
        && (!keeps_text_keys
            || edits.iter().map(max_key_changes).sum::<usize>() <= options.key_changes_at_once());
    // A small flush, as at every close, costs one redb commit instead of a dozen.
    if fits_one_transaction {
        last.apply(edits.to_vec())?;
    } else {
        // redb allows one write transaction at a time.
        drop(last);
        flush_documents(edits, options, keeps_text_keys, &begin)?;
        flush_blocks(edits, options, &begin)?;
        last = begin()?;
    }
    finish(&mut last)?;
    last.commit()
}

/// Flushes to the tables by document id, and to the table of text keys.
fn flush_documents(
    edits: &[DocumentEdit],
    options: FlushOptions,
    keeps_text_keys: bool,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let group_len = |edits: &[DocumentEdit]| {
        if keeps_text_keys {
            count_within(edits, options.collected_key_changes(), max_key_changes)
        } else {
            edits.len()
        }
    };
    for group in batches(edits, group_len) {
        if keeps_text_keys {
            flush_text_keys(group, options, begin)?;
        }
        flush_keys(group, options, begin)?;
        let batch_len = |edits: &[DocumentEdit]| {
            let max = edits.len().min(options.entries_per_transaction());
            count_within(&edits[..max], MAX_TEXT_BYTES, text_bytes)
        };
        for batch in batches(group, batch_len) {
            in_transaction(begin, |transaction| transaction.apply_documents(batch))?;
        }
    }
    Ok(())
}

/// Flushes to the table of text keys, before the texts of the same documents. The entries to remove
/// are computed from the old texts, which a flush that is repeated after a crash must still find.
fn flush_text_keys(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let transaction = begin()?;
    let changes = transaction.key_changes(edits)?;
    let chunks = transaction.key_chunks()?;
    drop(transaction);
    // The cost of a transaction is the pages it writes. With several changes for each page, a
    // transaction takes as many times more changes.
    let changes_per_page = changes.len() / usize::try_from(chunks).unwrap_or(usize::MAX).max(1);
    let per_transaction = options.entries_per_transaction() * changes_per_page.max(1);
    let mut changes = changes.into_sorted().peekable();
    while changes.peek().is_some() {
        in_transaction(begin, |transaction| {
            transaction.apply_text_keys(changes.by_ref().take(per_transaction))
        })?;
    }
    Ok(())
}

/// Flushes to the table of document keys, before the records of the same documents, as
/// [`flush_text_keys`] does.
fn flush_keys(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let transaction = begin()?;
    let changes = transaction.document_key_changes(edits)?;
    drop(transaction);
    let mut changes = changes.into_sorted().peekable();
    while changes.peek().is_some() {
        in_transaction(begin, |transaction| {
            let changes = changes.by_ref().take(options.entries_per_transaction());
            transaction.apply_to(KEYS, changes).map(drop)
        })?;
    }
    Ok(())
}

fn flush_blocks(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let block0 = block0_changes(edits);
    // The rotated tables hold each fingerprint once. `block0` says whether a fingerprint still has
    // a document, so it goes first.
    let mut distinct = Vec::with_capacity(block0.len());
    for batch in batches(&block0, |changes| block0_batch_len(changes, options)) {
        in_transaction(begin, |transaction| {
            distinct.append(&mut transaction.apply_block0(batch)?);
            Ok(())
        })?;
    }
    drop(block0);
    // An entry takes about half the bytes of an entry of `block0`.
    let per_transaction = 2 * options.entries_per_transaction();
    for block in 1..BLOCKS {
        for slice in rotated_changes(block, &distinct).chunks(per_transaction) {
            in_transaction(begin, |transaction| transaction.apply_rotated(block, slice))?;
        }
    }
    Ok(())
}

fn in_transaction(
    begin: impl Fn() -> Result<WriteTransaction>,
    change: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut transaction = begin()?;
    change(&mut transaction)?;
    transaction.commit()
}

/// Cuts items into batches. `len` returns the length, at least 1, of the first batch of the rest.
fn batches<T>(items: &[T], len: impl Fn(&[T]) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let batch = rest.split_off(..len(rest))?;
        (!batch.is_empty()).then_some(batch)
    })
}

/// The number of first edits whose sizes add up to at most `max`; at least 1.
fn count_within(
    edits: &[DocumentEdit],
    max: usize,
    size: impl Fn(&DocumentEdit) -> usize,
) -> usize {
    let mut sum = 0;
    let fits = edits.iter().take_while(|edit| {
        sum += size(edit);
        sum <= max
    });
    fits.count().max(1)
}

/// An upper bound for the text keys that an edit adds or removes.
fn max_key_changes(edit: &DocumentEdit) -> usize {
    let may_remove = edit.before.is_some() && edit.text != TextEdit::Keep;
    edit.text.keys().len() + usize::from(may_remove) * MAX_TEXT_KEYS
}

fn text_bytes(edit: &DocumentEdit) -> usize {
    edit.text.len_bytes()
}

/// The number of changes of `block0` in the next transaction. All changes of one fingerprint are in
/// one transaction, which then knows if the fingerprint still has a document.
fn block0_batch_len(changes: &[(u128, Op)], options: FlushOptions) -> usize {
    let Some((last, _)) = changes.get(options.entries_per_transaction() - 1) else {
        return changes.len();
    };
    changes.partition_point(|(entry, _)| entry.first() <= last.first())
}
