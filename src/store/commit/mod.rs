//! The write path: commits go to a journal and a memtable, flushes move them into the tables.
//!
//! A change of one document in the tables rewrites a page of each of five tables. So a commit is
//! appended to a *journal* file beside the database, with one write and one sync, and to a
//! *memtable*, which queries read before the tables.
//!
//! A memtable and the journal of the same commits are a *generation*. Generations are numbered from
//! 1 on, and at most two are alive. When the memtable of the *active* generation is large, the
//! generation is *sealed*: commits go to the next one, while a background thread flushes the sealed
//! one to the tables ([`flush`]) and then drops it. Closing a database flushes both generations.
//! After a crash, opening the database replays their journals ([`recovery`]).
//!
//! [`Store`] is an open database: its tables, its memtables and its write lock.

mod flush;
mod flush_options;
mod recovery;
mod table_changes;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_key_tests;
mod write_lock;
pub(crate) mod write_transaction;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, LockHolder, Result};
use crate::ids::Timestamp;
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::write_lock::{ActiveLog, WriteLock};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::disk::folder::is_gone;
use crate::store::journal::{Identity, Journal};
use crate::store::memtable::{Memtable, MemtableView};
use crate::store::tables::edit::{DocumentEdit, Totals};
use crate::store::tables::meta::JournalMark;
use crate::store::view::View;
use crate::store::view::access::SnapshotTables;
use crate::store::view::table_store::TableStore;

pub(crate) use write_lock::{WriteGuard, WriteHolder};

/// From 1,024 edits on, a commit is appended to the memtable on all cores.
const MIN_EDITS_IN_PARALLEL: usize = 1024;

/// An open database: tables, memtables, write lock and journals.
pub(crate) struct Store {
    pub(super) tables: Arc<TableStore>,
    memtables: Mutex<Memtables>,
    /// Notified when a memtable is sealed or flushed, when writes are poisoned and when the flush
    /// thread must end.
    memtables_changed: Condvar,
    /// Held during a flush, by the flush thread or by a writer in [`flush_all`](Self::flush_all).
    /// Locked before `memtables`.
    flush_lock: Mutex<()>,
    write_lock: WriteLock,
    flush_options: FlushOptions,
    /// The identity of the database; each of its journals has it in the header.
    identity: u64,
    /// The path of the database file with links resolved. The journals are beside this path.
    file: PathBuf,
    /// The identity of the file that this path named when it was opened.
    file_identity: (u64, u64),
}

/// The memtables and the state that readers, the writer and the flush thread share.
#[derive(Default)]
struct Memtables {
    /// The memtable to be flushed, or under a flush.
    sealed: Option<Arc<Memtable>>,
    /// The memtable that commits append to, and the number of its visible edits, which are durable.
    active: Option<(Arc<Memtable>, u32)>,
    /// The generation of the active memtable, or of the last one if there is none.
    generation: u64,
    /// The totals of the tables and both memtables; `None` without memtables, when the counters of
    /// the tables are the totals.
    counts: Option<Totals>,
    /// `true` if there are journal files for [`close`](Store::close) to remove.
    has_files: bool,
    /// A write failed. Memtable, journal and tables may differ, so all later writes are refused.
    is_poisoned: bool,
    /// The error that poisoned writes outside of any write: a failed background flush, or a failed
    /// seal. The next writer returns it.
    background_error: Option<Error>,
    /// The flush thread has ended or must end. Only [`flush_all`](Store::flush_all) still
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

impl Drop for Store {
    fn drop(&mut self) {
        // Snapshots may keep the file open, and other handles are told of them.
        self.tables.backend.lock().set_holder(LockHolder::Snapshot);
    }
}

impl Store {
    /// The database as of the last commit.
    pub(crate) fn read(&self) -> Result<View> {
        // Race: the lock is held until the tables are open. If it were released before, the sealed
        // memtable could be dropped, and the active one sealed and partly flushed. The tables would
        // then hold some edits of commits that this view must not see.
        let guard = self.memtables.lock();
        let memtables = guard.view();
        let tables = SnapshotTables::open(&self.tables, memtables.is_empty())?;
        let counts = guard.counts.unwrap_or_else(|| tables.counters().counts());
        let retention = self.tables.header.retention;
        let scopes = &self.tables.scopes;
        Ok(View::new(tables, memtables, counts, retention, scopes))
    }

    /// Waits for the write lock. [`Error::TransactionOpen`] if the calling thread holds the lock.
    pub(crate) fn lock_writes(&self) -> Result<WriteGuard> {
        self.tables.refuse_changes()?;
        self.lock_for_maintenance()
    }

    /// [`lock_writes`](Self::lock_writes), also for a database that takes no changes.
    pub(super) fn lock_for_maintenance(&self) -> Result<WriteGuard> {
        self.refuse_own_transaction()?;
        Ok(self.write_lock.lock())
    }

    /// The thread that holds the write lock.
    pub(crate) fn write_holder(&self) -> &Arc<WriteHolder> {
        self.write_lock.holder()
    }

    /// [`Error::TransactionOpen`] if the calling thread holds the write lock.
    pub(crate) fn refuse_own_transaction(&self) -> Result<()> {
        if self.write_holder().is_this_thread() {
            let path = self.tables.db_path.path().to_path_buf();
            return Err(Error::TransactionOpen { path });
        }
        Ok(())
    }

    /// Makes edits durable, and then visible. Each document is edited at most once.
    ///
    /// `latest_arrival` is the latest arrival in the batch. It can be later than all arrivals in
    /// `edits`, if a later change of the batch replaced that document.
    pub(crate) fn commit(
        &self,
        write_guard: &mut WriteGuard,
        mut edits: Vec<DocumentEdit>,
        latest_arrival: Option<Timestamp>,
    ) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        self.refuse_if_poisoned()?;
        self.refuse_if_gone()?;
        self.replace_lost_journal(write_guard)?;
        if edits.is_empty() {
            return Ok(());
        }
        match self.append(write_guard, &edits, latest_arrival) {
            // `Io`: no journal could be created, for example on a full disk. `Storage`: the journal
            // refused the record before it wrote. Nothing was changed, so a later commit may
            // succeed.
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error @ Error::Storage { .. }) if write_guard.is_some() => {
                return Err(error);
            }
            // The result is unknown: a part of the record may be on disk, or, without an active
            // journal, the mark may have been committed to the tables.
            Err(error) => {
                self.poison(None);
                return Err(error);
            }
            Ok(()) => {}
        }
        // The commit is durable, so the caller must not get an error from here on.
        match self.seal_if_large(write_guard) {
            // Without space for a second journal, the active one grows. The next commit tries
            // again.
            Ok(()) => {}
            Err(error @ Error::Io { .. }) => log::warn!(
                "the journal of {} grows, because no second journal can be created: {error}",
                self.tables.db_path.path().display()
            ),
            Err(error) => self.poison(Some(error)),
        }
        Ok(())
    }

    /// [`Error::FileGone`] if the path no longer names the open file. Every commit asks, also an
    /// empty one: a write to a file without a name succeeds, and the file cannot be opened again.
    /// The price is one `stat`.
    fn refuse_if_gone(&self) -> Result<()> {
        if is_gone(self.tables.db_path.disk(), &self.file, self.file_identity) {
            let path = self.tables.db_path.path().to_path_buf();
            return Err(Error::FileGone { path });
        }
        Ok(())
    }

    /// Flushes the memtables if the path of the active journal no longer names the open file. A
    /// record in a file without a name succeeds, and is lost with the process. The tables then hold
    /// every commit, and the next one begins a journal. The price is two `stat`.
    fn replace_lost_journal(&self, write_guard: &mut WriteGuard) -> Result<()> {
        let is_lost = |active: &ActiveLog| active.journal.is_lost(&self.file);
        if write_guard.as_ref().is_some_and(is_lost) {
            log::warn!(
                "the journal of {} was deleted, moved or replaced: its changes are merged into the \
                 database file",
                self.tables.db_path.path().display()
            );
            self.flush_all(write_guard)?;
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
        // A panic between journal and memtable leaves a durable commit that readers do not see. The
        // next batch would be decided without this commit, so no next batch is allowed.
        self.poisoned_by_panic(|| {
            active.journal.append(edits, counts)?;
            active.counts = counts;
            let memtable = &active.memtable;
            let visible = if edits.len() < MIN_EDITS_IN_PARALLEL {
                memtable.append(edits)
            } else {
                self.tables.pool.run(|| memtable.append(edits))
            };
            // Readers see the commit from here on.
            let mut memtables = self.memtables.lock();
            memtables.active = Some((Arc::clone(memtable), visible));
            memtables.counts = Some(counts);
            Ok(())
        })
    }

    /// Poisons writes if `work` panics.
    fn poisoned_by_panic<R>(&self, work: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            self.poison(None);
            resume_unwind(panic)
        })
    }

    /// Begins a generation when none is alive, and marks the database file as having a journal.
    fn begin_first_journal(&self) -> Result<ActiveLog> {
        let merged_generation = self.memtables.lock().generation;
        let counts = self.read()?.counts();
        // Crash order: the journal is created before the mark. A marked file without its journal is
        // refused when it is opened, while an unmarked file with an empty journal is harmless.
        let journal = self.create_journal(merged_generation + 1)?;
        let mut transaction = self.begin_on_tables()?;
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

    /// Seals the active generation if its memtable is large, and begins the next one.
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
        // Backpressure: the writers are faster than the flush. A poisoned or closing store never
        // flushes, so a wait for its flush would not end.
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
        // Unlocked, so that readers do not wait for the syncs below. The state cannot change
        // meanwhile: this thread has the write lock, and the flush thread has no work without a
        // sealed memtable.
        drop(memtables);
        let Some(active) = &mut **write_guard else {
            return Ok(());
        };
        let journal = match self.create_journal(generation) {
            // Without space for the next journal, the active memtable is flushed here, because it
            // must not grow without bound. The next commit has to create that journal, and returns
            // the error if it still cannot.
            Err(Error::Io { .. }) if is_too_large => return self.flush_all(write_guard),
            journal => journal?,
        };
        // Crash order: the next journal is durable before this one is sealed. Recovery refuses a
        // database with a sealed journal and no next one.
        active.journal.seal()?;
        *active = ActiveLog::new(journal, active.counts);
        memtables = self.memtables.lock();
        memtables.generation = generation;
        let next = active.empty_memtable();
        memtables.sealed = memtables.active.replace(next).map(|(sealed, _)| sealed);
        self.memtables_changed.notify_all();
        Ok(())
    }

    /// Takes the write lock, flushes both memtables, and begins a transaction on the tables.
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction> {
        self.begin_write_with(self.lock_writes()?)
    }

    /// [`begin_write`](Self::begin_write) for a caller that has the write lock.
    pub(crate) fn begin_write_with(&self, mut write_guard: WriteGuard) -> Result<WriteTransaction> {
        self.refuse_if_gone()?;
        self.flush_all(&mut write_guard)?;
        let mut transaction = self.begin_on_tables()?;
        transaction.set_write_guard(write_guard);
        Ok(transaction)
    }

    /// Begins a transaction on the tables, whatever the memtables hold.
    fn begin_on_tables(&self) -> Result<WriteTransaction> {
        WriteTransaction::begin(&self.tables)
    }

    /// Refuses all later writes, after a failure that leaves the outcome of a commit unknown. Reads
    /// still work. The next writer gets `background_error`.
    pub(crate) fn poison(&self, background_error: Option<Error>) {
        let path = self.tables.db_path.path().display();
        match &background_error {
            // Without this line, only the next writer would report the error.
            Some(error) => log::error!("{path} refuses writes until it is reopened: {error}"),
            None => log::error!("{path} refuses writes until it is reopened, after a failed write"),
        }
        let mut memtables = self.memtables.lock();
        memtables.is_poisoned = true;
        // The first error is the cause; later ones are consequences.
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
            // The commit of unknown result is a commit of a flush. The caller would take the error
            // for its own commit, which certainly did not happen.
            Some(unknown @ Error::CommitUnknown { .. }) => Error::Storage {
                action: "write",
                path: path(),
                source: Box::new(unknown),
            },
            Some(error) => error,
        })
    }
}
