//! The write path: commits into a journal and a memtable, flushes into the tables.
//!
//! To change one document in the tables is to write a page of each of five tables. So a commit is
//! appended to a *journal* file beside the database, which takes one write and one sync, and to a
//! *memtable*, which queries ask before the tables.
//!
//! A memtable and the journal of the same changes are a *generation*; generations are numbered from
//! 1 on. There are at most two at a time. When the memtable of the *active* one is large, it is
//! *sealed*: a background thread flushes it to the tables ([`flush`]) while commits go to the next
//! generation. A flushed generation is dropped. Closing a database flushes both; after a crash,
//! opening it reads their journals ([`recovery`]).
//!
//! This folder writes the tables through [`TableStore`](super::view::table_store::TableStore) and
//! does not know [`Store`](super::Store).

#[cfg(test)]
mod band_tests;
mod bucket_changes;
mod flush;
mod flush_options;
mod recovery;
mod table_changes;
#[cfg(test)]
mod tests;
mod write_lock;
pub(crate) mod write_transaction;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::panicking;

use parking_lot::{Condvar, Mutex};

use crate::document::Timestamp;
use crate::error::{Error, Result};
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::write_lock::{ActiveLog, WriteLock};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::journal::{Identity, Journal};
use crate::store::memtable::{Memtable, MemtableView};
use crate::store::tables::edit::{Counts, DocumentEdit};
use crate::store::tables::schema::JournalMark;
use crate::store::view::View;
use crate::store::view::snapshot_tables::SnapshotTables;
use crate::store::view::table_store::TableStore;

pub(crate) use write_lock::WriteGuard;

/// A commit of so many edits is inserted into the memtable on all cores.
const MIN_EDITS_IN_PARALLEL: usize = 1024;

/// The write path of an open database: its journals, memtables and write lock, above its tables.
pub(crate) struct Committer {
    pub(super) tables: Arc<TableStore>,
    memtables: Mutex<Memtables>,
    /// Notified when a memtable is sealed or flushed, when writes are poisoned and when the flush
    /// thread is to end.
    memtables_changed: Condvar,
    /// Held during a flush, by the flush thread or by a writer in [`flush_all`](Self::flush_all).
    flush_lock: Mutex<()>,
    write_lock: Arc<WriteLock>,
    flush_options: FlushOptions,
    /// The identity of the database, which each journal repeats.
    identity: u64,
    /// The database file, with links resolved: its journals are beside it.
    file: PathBuf,
}

/// The memtables, and the state of the write path that readers, the writer and the flush thread
/// share.
#[derive(Default)]
struct Memtables {
    /// The memtable that is flushed next, or is being flushed.
    sealed: Option<Arc<Memtable>>,
    /// The memtable that commits append to, and the number of its edits that are durable and so
    /// visible.
    active: Option<(Arc<Memtable>, u32)>,
    /// The generation of the active memtable, or of the last one if there is none.
    generation: u64,
    /// The counts of the database with both memtables; `None` if the counters of the tables say it.
    counts: Option<Counts>,
    /// `true` if there are journal files for [`close`](Committer::close) to remove.
    has_files: bool,
    /// A write failed: memtable, journal and tables may differ, so nothing more is written.
    is_poisoned: bool,
    /// The error of a failed flush in the background, or of a failed rotation. The next writer
    /// returns it.
    background_error: Option<Error>,
    /// The flush thread has ended or is about to: only [`flush_all`](Committer::flush_all) still
    /// flushes.
    is_closing: bool,
}

impl Memtables {
    fn view(&self) -> MemtableView {
        let sealed = self.sealed.clone().map(|memtable| {
            let all = memtable.len();
            (memtable, all)
        });
        // Newest first.
        MemtableView::new(self.active.clone().into_iter().chain(sealed))
    }
}

/// Poisons the write path if a panic begins while the guard lives.
struct PoisonOnPanic<'c> {
    committer: &'c Committer,
    /// A commit by a destructor while its thread unwinds is not a failed commit.
    was_panicking: bool,
}

impl<'c> PoisonOnPanic<'c> {
    fn new(committer: &'c Committer) -> Self {
        Self {
            committer,
            was_panicking: panicking(),
        }
    }
}

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if panicking() && !self.was_panicking {
            self.committer.poison(None);
        }
    }
}

impl Committer {
    /// The database as of the last commit.
    pub(super) fn read(&self) -> Result<View> {
        // The lock is held until the tables are open. Without it, the sealed memtable could be
        // dropped in between and the active one sealed and partly flushed: the tables would hold
        // some edits of later commits.
        let shared = self.memtables.lock();
        let memtables = shared.view();
        let tables = SnapshotTables::open(&self.tables, memtables.is_empty())?;
        let counts = shared.counts.unwrap_or_else(|| tables.counters().counts());
        let retention = self.tables.header.retention;
        Ok(View::new(tables, memtables, counts, retention))
    }

    /// Waits for the write lock.
    pub(super) fn lock_writes(&self) -> Result<WriteGuard> {
        self.tables.refuse_changes()?;
        Ok(self.write_lock.lock_arc())
    }

    /// Makes the net changes of documents, each id at most once, durable, and then visible.
    /// `latest_arrival` is that of all changes, those among them that a later change of the same
    /// document has replaced.
    pub(super) fn commit(
        &self,
        write_guard: &mut WriteGuard,
        mut edits: Vec<DocumentEdit>,
        latest_arrival: Option<Timestamp>,
    ) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        self.refuse_if_poisoned()?;
        if edits.is_empty() {
            return Ok(());
        }
        match self.append(write_guard, &edits, latest_arrival) {
            // There is no room for a journal (`Io`), or the journal refused the commit before it
            // wrote (`Storage`): nothing was changed, and a later commit may succeed. Without an
            // active journal, `Storage` is the error of the mark in the tables.
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error @ Error::Storage { .. }) if write_guard.is_some() => {
                return Err(error);
            }
            Err(error) => {
                self.poison(None);
                return Err(error);
            }
            Ok(()) => {}
        }
        // The commit is durable, so an error from here on is not its error.
        match self.seal_if_large(write_guard) {
            // Without room for another journal, the active one grows on.
            Ok(()) | Err(Error::Io { .. }) => {}
            Err(error) => self.poison(Some(error)),
        }
        Ok(())
    }

    fn append(
        &self,
        write_guard: &mut WriteGuard,
        edits: &[DocumentEdit],
        latest_arrival: Option<Timestamp>,
    ) -> Result<()> {
        let active = match &mut **write_guard {
            Some(active) => active,
            none => none.insert(self.begin_first_journal()?),
        };
        let counts = active.counts.after(edits, latest_arrival);
        // A commit that is in the journal and not in the memtable must be the last one: the next
        // would be decided without it.
        let _guard = PoisonOnPanic::new(self);
        active.journal.append(edits, counts)?;
        active.counts = counts;
        let memtable = &active.memtable;
        let visible = if edits.len() < MIN_EDITS_IN_PARALLEL {
            memtable.append(edits)
        } else {
            self.tables.pool.run(|| memtable.append(edits))
        };
        let mut memtables = self.memtables.lock();
        memtables.active = Some((Arc::clone(memtable), visible));
        memtables.counts = Some(counts);
        Ok(())
    }

    /// Begins a journal when the tables hold everything, and marks the database file as having one.
    fn begin_first_journal(&self) -> Result<ActiveLog> {
        let merged_generation = self.memtables.lock().generation;
        let counts = self.read()?.counts();
        // The journal comes before the mark: a marked file without its journal is refused, while an
        // empty journal that a crash left beside an unmarked file is written over.
        let journal = self.create_journal(merged_generation + 1)?;
        let mut transaction = self.begin_write()?;
        transaction.mark_journal(JournalMark {
            open: true,
            merged_generation,
        })?;
        transaction.commit()?;
        let active = ActiveLog::new(journal, counts);
        let mut memtables = self.memtables.lock();
        memtables.generation = merged_generation + 1;
        memtables.active = Some(active.empty_memtable());
        memtables.counts = Some(counts);
        memtables.has_files = true;
        Ok(active)
    }

    fn create_journal(&self, generation: u64) -> Result<Journal> {
        let identity = Identity {
            database: self.identity,
            generation,
        };
        Journal::begin(&self.file, identity, &self.tables.db_path)
    }

    /// Seals the active memtable if it is large, and begins the next generation.
    fn seal_if_large(&self, write_guard: &mut WriteGuard) -> Result<()> {
        let mut memtables = self.memtables.lock();
        let Some((memtable, _)) = memtables.active.as_ref().filter(|_| !memtables.is_closing)
        else {
            return Ok(());
        };
        let (changes, bytes) = (memtable.len() as usize, memtable.bytes());
        let documents = memtables.counts.unwrap_or_default().documents;
        if !self.flush_options.is_large(changes, bytes, documents) {
            return Ok(());
        }
        // Backpressure: the flush is slower than the writers. The wait also ends if no flush will
        // come.
        let is_too_large = self.flush_options.is_too_large(changes, bytes, documents);
        if is_too_large {
            while memtables.sealed.is_some() && !memtables.is_poisoned && !memtables.is_closing {
                self.memtables_changed.wait(&mut memtables);
            }
        }
        if memtables.sealed.is_some() {
            return Ok(());
        }
        let generation = memtables.generation + 1;
        // Readers need not wait for the syncs. Nothing that is read below changes meanwhile: this
        // thread has the write lock, and without a sealed memtable the flush thread has no work.
        drop(memtables);
        let Some(active) = &mut **write_guard else {
            return Ok(());
        };
        let journal = match self.create_journal(generation) {
            // The active memtable must not grow without bound, so without a next journal it is
            // flushed here. The next commit needs that journal, and returns the error if the journal
            // still cannot be created.
            Err(Error::Io { .. }) if is_too_large => return self.flush_all(write_guard),
            journal => journal?,
        };
        // The next journal is durable before this one says that there is one: recovery refuses a
        // database that lacks it.
        active.journal.go_on()?;
        *active = ActiveLog::new(journal, active.counts);
        memtables = self.memtables.lock();
        memtables.generation = generation;
        let next = active.empty_memtable();
        memtables.sealed = memtables.active.replace(next).map(|(sealed, _)| sealed);
        self.memtables_changed.notify_all();
        Ok(())
    }

    /// Begins a transaction on the tables when they hold everything.
    pub(super) fn flush_and_begin_write(
        &self,
        mut write_guard: WriteGuard,
    ) -> Result<WriteTransaction> {
        self.flush_all(&mut write_guard)?;
        let mut transaction = self.begin_write()?;
        transaction.hold(write_guard);
        Ok(transaction)
    }

    fn begin_write(&self) -> Result<WriteTransaction> {
        WriteTransaction::begin(&self.tables)
    }

    /// Ends all writing: memtable, journal and tables may differ. The database can still be read.
    pub(super) fn poison(&self, background_error: Option<Error>) {
        let mut memtables = self.memtables.lock();
        memtables.is_poisoned = true;
        memtables.background_error = memtables.background_error.take().or(background_error);
        drop(memtables);
        self.memtables_changed.notify_all();
    }

    fn refuse_if_poisoned(&self) -> Result<()> {
        let mut memtables = self.memtables.lock();
        if !memtables.is_poisoned {
            return Ok(());
        }
        let path = || self.tables.db_path.path().to_path_buf();
        Err(match memtables.background_error.take() {
            None => Error::WritesFailed { path: path() },
            // The unknown commit is of a flush. That of the caller is known: it did not happen.
            Some(unknown @ Error::CommitUnknown { .. }) => Error::Storage {
                action: "write",
                path: path(),
                source: Box::new(unknown),
            },
            Some(error) => error,
        })
    }
}
