//! Small durable commits: into a journal at once, into the tables in large batches later.
//!
//! A change of one document touches a page in each of five tables. So a commit is appended to a
//! journal file beside the database, which is one write and one sync, and kept in memory in a
//! *tail*, where queries find it. When a tail has grown large it is set aside and merged into the
//! tables while the next one takes its place, with a journal of its own; after that its journal
//! is not needed any more. Closing a database merges what is left; after a crash, opening it reads
//! the journals.

#[cfg(test)]
mod band_tests;
mod flush;
mod flush_loop;
pub(crate) mod flush_options;
mod recovery;
pub(crate) mod write_lock;
pub(crate) mod write_transaction;

use parking_lot::{Condvar, Mutex};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::panicking;

use super::journal::{Identity, Journal};
use super::tables::WriteTables;
use super::view::View;
use super::{Backend, Store};
use crate::document::Timestamp;
use crate::error::{Error, Result};
use crate::store::commit::write_lock::{ActiveLog, WriteGuard, WriteLock};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::memtable::{Memtable, MemtableView};
use crate::store::tables::edit::{Counts, DocumentEdit};
use crate::store::tables::schema::JournalMark;

/// A tail is merged when it has one change for so many documents in the tables. A merge rewrites
/// every page that it touches: the more changes, the fewer pages each.
const DOCUMENTS_A_CHANGE: u64 = 100;
/// A tail that takes so much memory is merged however few its changes are.
const MERGE_FROM_BYTES: usize = 256 << 20;
/// So few edits are put into a tail by the thread that has them.
const FEW: usize = 1024;
/// While a tail is merged, the next one may grow to so many times the size that calls for a
/// merge; then writers wait.
const MOST_GROWTH: usize = 2;

/// What is durable in the journals and not in the tables.
pub(super) struct CommitState {
    memtables: Mutex<Memtables>,
    /// Told when a tail is set aside, merged, or the merging fails.
    memtables_changed: Condvar,
    /// Held by whoever merges.
    merging: Mutex<()>,
    write_lock: Arc<WriteLock>,
    identity: u64,
    /// The file itself, whatever links lead to it: its journals are beside it.
    file: PathBuf,
}

#[derive(Default)]
struct Memtables {
    /// Set aside to be merged.
    older: Option<Arc<Memtable>>,
    /// Being written to, and how much of it is durable.
    current: Option<(Arc<Memtable>, u32)>,
    /// The generation of the current tail, or the last one there was.
    generation: u64,
    /// What is stored, these included; nothing if the tables say it.
    counts: Option<Counts>,
    /// There are journals to be removed when they are not needed any more.
    has_files: bool,
    /// A write failed: nothing more is written.
    is_poisoned: bool,
    /// Why, if it was in the background: for the next who writes.
    background_error: Option<Error>,
    /// Nobody will merge what is set aside from now on, but for who closes.
    is_closing: bool,
}

impl Memtables {
    fn view(&self) -> MemtableView {
        let current = self.current.clone();
        let older = self.older.clone().map(|tail| {
            let all = tail.len();
            (tail, all)
        });
        MemtableView::new(current.into_iter().chain(older))
    }
}

impl std::fmt::Debug for CommitState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitState").finish_non_exhaustive()
    }
}

/// While it lives, a panic ends all active, as a failed write does.
struct PoisonOnPanic<'s> {
    store: &'s Store,
    /// Who unwinds already may still write.
    was_panicking: bool,
}

impl<'s> PoisonOnPanic<'s> {
    fn new(store: &'s Store) -> Self {
        Self {
            store,
            was_panicking: panicking(),
        }
    }
}

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if panicking() && !self.was_panicking {
            self.store.fail(None);
        }
    }
}

impl Store {
    /// The database as of the last commit.
    pub(crate) fn read(&self) -> Result<View> {
        // Under the lock: no tail is dropped, and so none later merged, before the tables are seen.
        let memtables = self.commit_state.memtables.lock();
        let tail = memtables.view();
        let tables = self.read_tables(tail.is_empty())?;
        let counts = memtables.counts.unwrap_or_else(|| tables.counters.counts());
        Ok(View::new(tables, tail, counts, self.header.retention))
    }

    /// Waits until it is the caller's turn to write.
    pub(crate) fn lock_writes(&self) -> Result<WriteGuard> {
        self.refuse_changes()?;
        Ok(self.commit_state.write_lock.lock())
    }

    /// Makes the net changes of documents, each id at most once, durable, and then visible.
    /// `latest` is the latest arrival among them, be it overwritten by another.
    pub(crate) fn commit(
        &self,
        write_guard: &mut WriteGuard,
        mut edits: Vec<DocumentEdit>,
        latest: Option<Timestamp>,
    ) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        self.refuse_if_poisoned()?;
        if edits.is_empty() {
            return Ok(());
        }
        match self.append(write_guard, &edits, latest) {
            // A journal that there is no room for, or a change that it has no room for: nothing was
            // changed, and there may be room later.
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error @ Error::Storage { .. }) if write_guard.active().is_some() => {
                return Err(error);
            }
            Err(error) => {
                self.fail(None);
                return Err(error);
            }
            Ok(()) => {}
        }
        // What was committed is committed; what goes wrong now is told to the next.
        match self.rotate_if_large(write_guard) {
            // Where there is no room for another journal, this one grows on.
            Ok(()) | Err(Error::Io { .. }) => {}
            Err(error) => self.fail(Some(error)),
        }
        Ok(())
    }

    fn append(
        &self,
        write_guard: &mut WriteGuard,
        edits: &[DocumentEdit],
        latest: Option<Timestamp>,
    ) -> Result<()> {
        let active = match write_guard.active() {
            Some(active) => active,
            nothing => nothing.insert(self.begin_journal()?),
        };
        let counts = active.counts.after(edits, latest);
        // Once it is in the journal, it must come into the tail, or nothing after it.
        let _in_both = PoisonOnPanic::new(self);
        active.journal.append(edits, counts)?;
        active.counts = counts;
        let tail = &active.memtable;
        let visible = match edits.len() {
            0..FEW => tail.append(edits),
            _ => self.pool.run(|| tail.append(edits)),
        };
        let mut memtables = self.commit_state.memtables.lock();
        memtables.current = Some((Arc::clone(tail), visible));
        memtables.counts = Some(counts);
        Ok(())
    }

    /// The first journal since there was none, and a mark in the file that there is one.
    fn begin_journal(&self) -> Result<ActiveLog> {
        let merged_generation = self.commit_state.memtables.lock().generation;
        let counts = self.read()?.counts();
        let journal = self.create_journal(merged_generation + 1)?;
        let mut transaction = self.begin_on_tables()?;
        transaction.mark_journal(JournalMark {
            open: true,
            merged_generation,
        })?;
        transaction.commit()?;
        let active = ActiveLog::new(journal, counts);
        let mut memtables = self.commit_state.memtables.lock();
        memtables.generation = merged_generation + 1;
        memtables.current = Some(active.empty_memtable());
        memtables.counts = Some(counts);
        memtables.has_files = true;
        Ok(active)
    }

    fn create_journal(&self, generation: u64) -> Result<Journal> {
        let identity = Identity {
            database: self.commit_state.identity,
            generation,
        };
        Journal::begin(&self.commit_state.file, identity, &self.db_path)
    }

    /// Sets the current tail aside if it is large, for whoever merges.
    fn rotate_if_large(&self, write_guard: &mut WriteGuard) -> Result<()> {
        let mut memtables = self.commit_state.memtables.lock();
        let Some((tail, _)) = memtables.current.as_ref().filter(|_| !memtables.is_closing) else {
            return Ok(());
        };
        let (changes, bytes) = (tail.len() as usize, tail.bytes());
        let documents = memtables.counts.unwrap_or_default().documents;
        let large =
            (self.flush_options.merge_from()).max((documents / DOCUMENTS_A_CHANGE) as usize);
        if changes < large && bytes < MERGE_FROM_BYTES {
            return Ok(());
        }
        let is_too_large =
            changes >= large.saturating_mul(MOST_GROWTH) || bytes >= MOST_GROWTH * MERGE_FROM_BYTES;
        if is_too_large {
            // Nobody comes to merge for a writer that is being closed.
            while memtables.older.is_some() && !memtables.is_poisoned && !memtables.is_closing {
                self.commit_state.memtables_changed.wait(&mut memtables);
            }
        }
        if memtables.older.is_some() {
            return Ok(());
        }
        let generation = memtables.generation + 1;
        drop(memtables);
        let Some(active) = write_guard.active() else {
            return Ok(());
        };
        let journal = match self.create_journal(generation) {
            // This one grows on, but not for ever. The next commit is told.
            Err(Error::Io { .. }) if is_too_large => return self.flush_all(write_guard),
            journal => journal?,
        };
        active.journal.go_on()?;
        *active = ActiveLog::new(journal, active.counts);
        memtables = self.commit_state.memtables.lock();
        memtables.generation = generation;
        let next = active.empty_memtable();
        memtables.older = memtables.current.replace(next).map(|(tail, _)| tail);
        self.commit_state.memtables_changed.notify_all();
        Ok(())
    }

    /// A transaction on the tables themselves, when they hold everything.
    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        self.write_with(self.lock_writes()?)
    }

    /// The same, for who has the pen already.
    pub(crate) fn write_with(&self, mut write_guard: WriteGuard) -> Result<WriteTransaction> {
        self.flush_all(&mut write_guard)?;
        let mut transaction = self.begin_on_tables()?;
        transaction.hold(write_guard);
        Ok(transaction)
    }

    /// The database as a transaction on the tables sees it.
    pub(crate) fn view_of<'t>(
        &self,
        transaction: &'t WriteTransaction,
    ) -> Result<View<WriteTables<'t>>> {
        let counts = transaction.counts();
        let mut tables = transaction.tables()?;
        tables.texts = transaction.texts_to_read()?;
        let retention = self.header.retention;
        Ok(View::new(
            tables,
            MemtableView::default(),
            counts,
            retention,
        ))
    }

    fn begin_on_tables(&self) -> Result<WriteTransaction> {
        match &*self.handle {
            Backend::ReadOnly(..) => self.refuse_changes().and(Err(self.is_poisoned())),
            Backend::Writable(engine) => {
                let (runs, bands) = (Arc::clone(&self.runs), self.bands().cloned());
                WriteTransaction::begin(engine, &self.db_path, self.header.keeps(), bands, runs)
            }
        }
    }

    /// Nothing more is written: what is in the journal and what in memory may not be the same.
    pub(crate) fn fail(&self, background_error: Option<Error>) {
        let mut memtables = self.commit_state.memtables.lock();
        memtables.is_poisoned = true;
        memtables.background_error = memtables.background_error.take().or(background_error);
        drop(memtables);
        self.commit_state.memtables_changed.notify_all();
    }

    /// An error for who writes after that.
    fn refuse_if_poisoned(&self) -> Result<()> {
        let mut memtables = self.commit_state.memtables.lock();
        if !memtables.is_poisoned {
            return Ok(());
        }
        Err(match memtables.background_error.take() {
            None => self.is_poisoned(),
            // It was not the commit of whoever is told.
            Some(unknown @ Error::CommitUnknown { .. }) => Error::Storage {
                action: "write",
                path: self.db_path.path().to_path_buf(),
                source: Box::new(unknown),
            },
            Some(error) => error,
        })
    }

    fn is_poisoned(&self) -> Error {
        let path = self.db_path.path().to_path_buf();
        Error::WritesFailed { path }
    }
}
