//! The flush: a sealed memtable into the tables.
//!
//! The flush thread runs [`flush_loop`](Committer::flush_loop): it waits for a sealed memtable and
//! flushes it. A writer that needs all in the tables calls [`flush_all`](Committer::flush_all). Both
//! hold the flush lock, so there is one flush at a time. The thresholds are in
//! [`flush_options`](super::flush_options).
//!
//! A large memtable is flushed by many transactions ([`flush_edits`]), none of which takes long or
//! much memory, and pages that one frees are reused by the next. In between, the tables hold an old
//! state of one document and a new state of another, or both of one: so readers take every document
//! of the memtable from the memtable. A flush that was cut short is repeated from the beginning,
//! with the same result: an edit has the state before and after, and to put an entry that is there,
//! or to remove one that is not, changes nothing.

use crate::block::BLOCKS;
use crate::error::Result;
use crate::store::commit::Committer;
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::table_changes::{block0_changes, rotated_changes};
use crate::store::commit::write_lock::WriteGuard;
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::journal::Journal;
use crate::store::tables::edit::{DocumentEdit, TextEdit};
use crate::store::tables::packed::Op;
use crate::store::tables::packed::chunk::Entry;
use crate::store::tables::schema::JournalMark;

/// At most so many bytes of texts are written in one transaction.
const MAX_TEXT_BYTES: usize = 16 << 20;
/// More band keys than a text has.
const MAX_KEYS_OF_TEXT: usize = 64;

impl Committer {
    /// Flushes each memtable that is sealed, until [`stop_flushing`](Self::stop_flushing) is called.
    pub(in crate::store) fn flush_loop(&self) {
        loop {
            let mut memtables = self.memtables.lock();
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

    /// Ends [`flush_loop`](Self::flush_loop), after the flush that is under way.
    pub(in crate::store) fn stop_flushing(&self) {
        self.memtables.lock().is_closing = true;
        self.memtables_changed.notify_all();
    }

    /// Allows another [`flush_loop`](Self::flush_loop).
    pub(in crate::store) fn start_flushing(&self) {
        self.memtables.lock().is_closing = false;
    }

    /// Flushes the sealed memtable, if there is one.
    fn flush_sealed(&self) -> Result<()> {
        let _lock = self.flush_lock.lock();
        let (sealed, mark) = {
            let memtables = self.memtables.lock();
            // `flush_all` may have been faster than the flush thread.
            let Some(sealed) = memtables.sealed.clone() else {
                return Ok(());
            };
            let open = memtables.active.is_some();
            let merged_generation = memtables.generation - u64::from(open);
            let mark = JournalMark {
                open,
                merged_generation,
            };
            (sealed, mark)
        };
        let db_path = &self.tables.db_path;
        // redb answers damaged pages with a panic.
        let flushed = db_path.guarded(|| {
            flush_edits(
                &sealed.net_edits(sealed.len()),
                self.flush_options,
                || self.begin_write(),
                |last| {
                    // The latest arrival stays, even if its document has been removed since.
                    let counts = self.memtables.lock().counts;
                    last.advance_latest_arrival(counts.and_then(|counts| counts.latest_arrival));
                    // With the last changes the mark: after a crash the journal is not read again.
                    last.mark_journal(mark)
                },
            )
        });
        flushed.map_err(|error| db_path.merging(error))?;
        // Only now: until the last transaction is committed, readers need the memtable.
        let mut memtables = self.memtables.lock();
        memtables.sealed = None;
        if !mark.open {
            memtables.counts = None;
        }
        self.memtables_changed.notify_all();
        Ok(())
    }

    /// Flushes both memtables: the tables then hold everything.
    pub(in crate::store) fn flush_all(&self, write_guard: &mut WriteGuard) -> Result<()> {
        self.refuse_if_poisoned()?;
        self.flush_sealed().inspect_err(|_| self.poison(None))?;
        {
            let mut memtables = self.memtables.lock();
            let Some((active, _)) = memtables.active.take() else {
                return Ok(());
            };
            memtables.sealed = Some(active);
            // The next commit begins a journal of the next generation.
            **write_guard = None;
        }
        self.flush_sealed().inspect_err(|_| self.poison(None))
    }

    /// The number of memtables so far. A memtable is flushed before the next but one begins.
    pub(in crate::store) fn generation(&self) -> u64 {
        self.memtables.lock().generation
    }

    /// Flushes both memtables and removes the journals.
    pub(in crate::store) fn close(&self) -> Result<()> {
        if self.tables.refuse_changes().is_err() {
            return Ok(());
        }
        let mut write_guard = self.write_lock.lock_arc();
        self.flush_all(&mut write_guard)?;
        let mut memtables = self.memtables.lock();
        if std::mem::take(&mut memtables.has_files) {
            let last = memtables.generation;
            for generation in [last.saturating_sub(1), last] {
                Journal::remove(&self.file, generation, &self.tables.db_path)?;
            }
        }
        Ok(())
    }
}

/// Applies edits, which ascend by id, each id once, in transactions that `begin` gives. The last
/// transaction is passed to `finish` before it is committed.
pub(super) fn flush_edits(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: impl Fn() -> Result<WriteTransaction>,
    finish: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut last = begin()?;
    let keeps_bands = last.keeps_bands();
    let are_few = edits.len() <= options.documents_at_once()
        && edits.iter().map(text_bytes).sum::<usize>() <= MAX_TEXT_BYTES
        && (!keeps_bands || edits.iter().map(max_bands).sum::<usize>() <= options.bands_at_once());
    if are_few {
        last.apply(edits.to_vec())?;
    } else {
        drop(last);
        flush_documents(edits, options, keeps_bands, &begin)?;
        flush_blocks(edits, options, &begin)?;
        last = begin()?;
    }
    finish(&mut last)?;
    last.commit()
}

/// Flushes to the tables of documents.
fn flush_documents(
    edits: &[DocumentEdit],
    options: FlushOptions,
    keeps_bands: bool,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let group_len = |edits: &[DocumentEdit]| {
        if keeps_bands {
            count_within(edits, options.collected_bands(), max_bands)
        } else {
            edits.len()
        }
    };
    for group in batches(edits, group_len) {
        if keeps_bands {
            flush_bands(group, options, begin)?;
        }
        let batch_len = |edits: &[DocumentEdit]| {
            let max = edits.len().min(options.entries_per_transaction());
            count_within(&edits[..max], MAX_TEXT_BYTES, text_bytes)
        };
        for batch in batches(group, batch_len) {
            commit(begin, |transaction| transaction.apply_documents(batch))?;
        }
    }
    Ok(())
}

/// Flushes to table `bands`, before the texts of the same documents are flushed: the entries to be
/// removed are computed from the old text, which must be stored until the last of them is removed,
/// or a repeated flush could not compute them again.
fn flush_bands(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let transaction = begin()?;
    let changes = transaction.band_changes(edits)?;
    let chunks = transaction.band_chunks()?;
    drop(transaction);
    // With several changes for each page, more of them for the same number of pages.
    let changes_per_page = changes.len() / usize::try_from(chunks).unwrap_or(usize::MAX).max(1);
    let per_transaction = options.entries_per_transaction() * changes_per_page.max(1);
    let mut changes = changes.into_sorted().peekable();
    while changes.peek().is_some() {
        commit(begin, |transaction| {
            transaction.apply_bands(changes.by_ref().take(per_transaction))
        })?;
    }
    Ok(())
}

/// Flushes to the tables of blocks.
fn flush_blocks(
    edits: &[DocumentEdit],
    options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let block0 = block0_changes(edits);
    let mut distinct = Vec::with_capacity(block0.len());
    for batch in batches(&block0, |changes| entries_per_transaction(changes, options)) {
        commit(begin, |transaction| {
            distinct.append(&mut transaction.apply_block0(batch)?);
            Ok(())
        })?;
    }
    drop(block0);
    // An entry is half as long as one of block 0.
    let per_transaction = 2 * options.entries_per_transaction();
    for block in 1..BLOCKS {
        for slice in rotated_changes(block, &distinct).chunks(per_transaction) {
            commit(begin, |transaction| transaction.apply_rotated(block, slice))?;
        }
    }
    Ok(())
}

fn commit(
    begin: impl Fn() -> Result<WriteTransaction>,
    change: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut transaction = begin()?;
    change(&mut transaction)?;
    transaction.commit()
}

/// Cuts items into batches; `len` is the length, at least 1, of the first batch of the rest.
fn batches<T>(items: &[T], len: impl Fn(&[T]) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let batch = rest.split_off(..len(rest))?;
        (!batch.is_empty()).then_some(batch)
    })
}

/// The number of edits, at least one, whose sizes together are at most `max`.
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

/// The most entries of table `bands` that an edit changes.
fn max_bands(edit: &DocumentEdit) -> usize {
    let may_remove = edit.before.is_some() && edit.text != TextEdit::Keep;
    edit.text.keys().len() + usize::from(may_remove) * MAX_KEYS_OF_TEXT
}

fn text_bytes(edit: &DocumentEdit) -> usize {
    edit.text.len_bytes()
}

/// The number of changes of `block0` that one transaction makes. All changes of one fingerprint are
/// in one transaction, which can then tell if the fingerprint is still there.
fn entries_per_transaction(changes: &[(u128, Op)], options: FlushOptions) -> usize {
    let Some((last, _)) = changes.get(options.entries_per_transaction() - 1) else {
        return changes.len();
    };
    changes.partition_point(|(entry, _)| entry.first() <= last.first())
}
