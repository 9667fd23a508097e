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

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::panicking;

use super::journal::{Identity, Journal};
use super::tables::WriteTables;
use super::view::View;
use super::{Handle, Store};
use crate::document::Timestamp;
use crate::error::{Error, Result};
use crate::store::commit::write_lock::{Pen, PenHolder, Writing};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::memtable::{Tail, TailView};
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
pub(super) struct Online {
    tails: Mutex<Tails>,
    /// Told when a tail is set aside, merged, or the merging fails.
    tails_changed: Condvar,
    /// Held by whoever merges.
    merging: Mutex<()>,
    pen: Arc<PenHolder>,
    identity: u64,
    /// The file itself, whatever links lead to it: its journals are beside it.
    file: PathBuf,
}

#[derive(Default)]
struct Tails {
    /// Set aside to be merged.
    older: Option<Arc<Tail>>,
    /// Being written to, and how much of it is durable.
    current: Option<(Arc<Tail>, u32)>,
    /// The generation of the current tail, or the last one there was.
    generation: u64,
    /// What is stored, these included; nothing if the tables say it.
    counts: Option<Counts>,
    /// There are journals to be removed when they are not needed any more.
    has_files: bool,
    /// A write failed: nothing more is written.
    has_failed: bool,
    /// Why, if it was in the background: for the next who writes.
    untold: Option<Error>,
    /// Nobody will merge what is set aside from now on, but for who closes.
    is_closing: bool,
}

impl Tails {
    fn view(&self) -> TailView {
        let current = self.current.clone();
        let older = self.older.clone().map(|tail| {
            let all = tail.len();
            (tail, all)
        });
        TailView::new(current.into_iter().chain(older))
    }
}

impl std::fmt::Debug for Online {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Online").finish_non_exhaustive()
    }
}

impl Online {
    fn tails(&self) -> MutexGuard<'_, Tails> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'t>(&self, tails: MutexGuard<'t, Tails>) -> MutexGuard<'t, Tails> {
        let tails = self.tails_changed.wait(tails);
        tails.unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives, a panic ends all writing, as a failed write does.
struct FailsWithPanic<'s> {
    store: &'s Store,
    /// Who unwinds already may still write.
    was_panicking: bool,
}

impl<'s> FailsWithPanic<'s> {
    fn new(store: &'s Store) -> Self {
        Self {
            store,
            was_panicking: panicking(),
        }
    }
}

impl Drop for FailsWithPanic<'_> {
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
        let tails = self.online.tails();
        let tail = tails.view();
        let tables = self.read_tables(tail.is_empty())?;
        let counts = tails.counts.unwrap_or_else(|| tables.counters.counts());
        Ok(View::new(tables, tail, counts, self.header.retention))
    }

    /// Waits until it is the caller's turn to write.
    pub(crate) fn take_pen(&self) -> Result<Pen> {
        self.refuse_changes()?;
        Ok(self.online.pen.take())
    }

    /// Makes the net changes of documents, each id at most once, durable, and then visible.
    /// `latest` is the latest arrival among them, be it overwritten by another.
    pub(crate) fn commit(
        &self,
        pen: &mut Pen,
        mut edits: Vec<DocumentEdit>,
        latest: Option<Timestamp>,
    ) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        self.refuse_if_failed()?;
        if edits.is_empty() {
            return Ok(());
        }
        match self.append(pen, &edits, latest) {
            // A journal that there is no room for, or a change that it has no room for: nothing was
            // changed, and there may be room later.
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error @ Error::Storage { .. }) if pen.writing().is_some() => return Err(error),
            Err(error) => {
                self.fail(None);
                return Err(error);
            }
            Ok(()) => {}
        }
        // What was committed is committed; what goes wrong now is told to the next.
        match self.set_aside_if_large(pen) {
            // Where there is no room for another journal, this one grows on.
            Ok(()) | Err(Error::Io { .. }) => {}
            Err(error) => self.fail(Some(error)),
        }
        Ok(())
    }

    fn append(
        &self,
        pen: &mut Pen,
        edits: &[DocumentEdit],
        latest: Option<Timestamp>,
    ) -> Result<()> {
        let writing = match pen.writing() {
            Some(writing) => writing,
            nothing => nothing.insert(self.begin_journal()?),
        };
        let counts = writing.counts.after(edits, latest);
        // Once it is in the journal, it must come into the tail, or nothing after it.
        let _in_both = FailsWithPanic::new(self);
        writing.journal.append(edits, counts)?;
        writing.counts = counts;
        let tail = &writing.tail;
        let visible = match edits.len() {
            0..FEW => tail.append(edits),
            _ => self.workers.run(|| tail.append(edits)),
        };
        let mut tails = self.online.tails();
        tails.current = Some((Arc::clone(tail), visible));
        tails.counts = Some(counts);
        Ok(())
    }

    /// The first journal since there was none, and a mark in the file that there is one.
    fn begin_journal(&self) -> Result<Writing> {
        let merged_generation = self.online.tails().generation;
        let counts = self.read()?.counts();
        let journal = self.create_journal(merged_generation + 1)?;
        let mut transaction = self.begin_on_tables()?;
        transaction.mark_journal(JournalMark {
            open: true,
            merged_generation,
        })?;
        transaction.commit()?;
        let writing = Writing::new(journal, counts);
        let mut tails = self.online.tails();
        tails.generation = merged_generation + 1;
        tails.current = Some(writing.empty_tail());
        tails.counts = Some(counts);
        tails.has_files = true;
        Ok(writing)
    }

    fn create_journal(&self, generation: u64) -> Result<Journal> {
        let identity = Identity {
            database: self.online.identity,
            generation,
        };
        Journal::begin(&self.online.file, identity, &self.place)
    }

    /// Sets the current tail aside if it is large, for whoever merges.
    fn set_aside_if_large(&self, pen: &mut Pen) -> Result<()> {
        let mut tails = self.online.tails();
        let Some((tail, _)) = tails.current.as_ref().filter(|_| !tails.is_closing) else {
            return Ok(());
        };
        let (changes, bytes) = (tail.len() as usize, tail.bytes());
        let documents = tails.counts.unwrap_or_default().documents;
        let large = (self.pace.merge_from()).max((documents / DOCUMENTS_A_CHANGE) as usize);
        if changes < large && bytes < MERGE_FROM_BYTES {
            return Ok(());
        }
        let is_too_large =
            changes >= large.saturating_mul(MOST_GROWTH) || bytes >= MOST_GROWTH * MERGE_FROM_BYTES;
        if is_too_large {
            // Nobody comes to merge for a writer that is being closed.
            while tails.older.is_some() && !tails.has_failed && !tails.is_closing {
                tails = self.online.wait(tails);
            }
        }
        if tails.older.is_some() {
            return Ok(());
        }
        let generation = tails.generation + 1;
        drop(tails);
        let Some(writing) = pen.writing() else {
            return Ok(());
        };
        let journal = match self.create_journal(generation) {
            // This one grows on, but not for ever. The next commit is told.
            Err(Error::Io { .. }) if is_too_large => return self.settle(pen),
            journal => journal?,
        };
        writing.journal.go_on()?;
        *writing = Writing::new(journal, writing.counts);
        tails = self.online.tails();
        tails.generation = generation;
        let next = writing.empty_tail();
        tails.older = tails.current.replace(next).map(|(tail, _)| tail);
        self.online.tails_changed.notify_all();
        Ok(())
    }

    /// A transaction on the tables themselves, when they hold everything.
    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        self.write_with(self.take_pen()?)
    }

    /// The same, for who has the pen already.
    pub(crate) fn write_with(&self, mut pen: Pen) -> Result<WriteTransaction> {
        self.settle(&mut pen)?;
        let mut transaction = self.begin_on_tables()?;
        transaction.hold(pen);
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
        Ok(View::new(tables, TailView::default(), counts, retention))
    }

    fn begin_on_tables(&self) -> Result<WriteTransaction> {
        match &*self.handle {
            Handle::ReadOnly(..) => self.refuse_changes().and(Err(self.has_failed())),
            Handle::Writable(engine) => {
                let (runs, bands) = (Arc::clone(&self.runs), self.bands().cloned());
                WriteTransaction::begin(engine, &self.place, self.header.keeps(), bands, runs)
            }
        }
    }

    /// Nothing more is written: what is in the journal and what in memory may not be the same.
    pub(crate) fn fail(&self, untold: Option<Error>) {
        let mut tails = self.online.tails();
        tails.has_failed = true;
        tails.untold = tails.untold.take().or(untold);
        drop(tails);
        self.online.tails_changed.notify_all();
    }

    /// An error for who writes after that.
    fn refuse_if_failed(&self) -> Result<()> {
        let mut tails = self.online.tails();
        if !tails.has_failed {
            return Ok(());
        }
        Err(match tails.untold.take() {
            None => self.has_failed(),
            // It was not the commit of whoever is told.
            Some(unknown @ Error::CommitUnknown { .. }) => Error::Storage {
                action: "write",
                path: self.place.path().to_path_buf(),
                source: Box::new(unknown),
            },
            Some(error) => error,
        })
    }

    fn has_failed(&self) -> Error {
        let path = self.place.path().to_path_buf();
        Error::WritesFailed { path }
    }
}
