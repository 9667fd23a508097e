//! [`Transaction`]: many batches of changes in one commit.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::api::database::{Database, DatabaseHandle};
use crate::error::{Error, Result};
use crate::ids::Timestamp;
use crate::ingest::{Batch, Change, Outcome, one, prepare_next};
use crate::store::{DocumentEdit, WriteGuard, WriteTransaction};

/// Many calls of [`apply`](Self::apply) and one commit. A transaction that is dropped before
/// [`commit`](Self::commit) changes nothing.
///
/// The thread that began the transaction makes its changes through the transaction: other changes
/// of this thread return [`Error::TransactionOpen`], because they would wait for the transaction.
/// So a transaction is not `Send`, like a guard of a [`Mutex`](std::sync::Mutex):
///
/// ```compile_fail,E0277
/// # let folder = tempfile::tempdir().unwrap();
/// # let db = simdb::Database::create(folder.path().join("docs.simdb")).unwrap();
/// let transaction = db.begin().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(move || transaction.commit());
/// });
/// ```
///
/// ```
/// use simdb::{Change, Database, Document, Fingerprint, Outcome};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// let mut transaction = db.begin()?;
/// for id in 0..1000 {
///     let document = Document::new(id, Fingerprint::from_bits(id << 40));
///     let outcome = transaction.apply_one(Change::Insert(document))?;
///     assert_eq!(outcome, Outcome::Inserted { reliable: true });
/// }
/// assert_eq!(db.len()?, 0);
/// transaction.commit()?;
/// assert_eq!(db.len()?, 1000);
/// # Ok::<(), simdb::Error>(())
/// ```
#[must_use = "a transaction that is dropped before it is committed changes nothing"]
pub struct Transaction<'d> {
    handle: Arc<DatabaseHandle>,
    /// The pointer makes the transaction `!Send`: the write lock knows its thread.
    database: PhantomData<(&'d Database, *const ())>,
    /// `None` after an error.
    stage: Option<TransactionStage>,
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("path", &self.handle.store.path())
            .field("is_poisoned", &self.stage.is_none())
            .finish_non_exhaustive()
    }
}

/// The storage of the edits so far.
enum TransactionStage {
    /// The edits are in memory, and the commit appends them to the journal.
    Small(WriteGuard, Box<Batch>),
    /// The edits are in the tables, in a transaction that no reader sees before the commit.
    Large(Box<WriteTransaction>),
}

impl Transaction<'_> {
    /// Waits for other writers.
    pub(crate) fn begin(handle: Arc<DatabaseHandle>) -> Result<Self> {
        let write_guard = handle.store.lock_writes()?;
        // Read while the lock is held: no commit of another thread comes between this state and the
        // changes of the transaction.
        let batch = Batch::new(handle.store.read()?);
        Ok(Self {
            handle,
            database: PhantomData,
            stage: Some(TransactionStage::Small(write_guard, Box::new(batch))),
        })
    }

    /// Makes changes in order, each as of the changes before it, and returns their outcomes. Memory
    /// is needed for the changes of one call, however many calls there are.
    ///
    /// # Errors
    /// As [`Database::apply`](crate::Database::apply). After an error, each further call
    /// returns [`Error::TransactionFailed`], and the transaction can only be dropped.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        let outcomes: Result<Vec<Outcome>> = self.apply_each(changes)?.into_iter().collect();
        if outcomes.is_err() {
            self.stage = None;
        }
        outcomes
    }

    /// Makes changes like [`apply`](Self::apply), and leaves out the changes that are refused.
    /// Returns the outcome or the error of each change. A change with an error has changed nothing.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`] or [`Error::Storage`] if the tables cannot be written.
    /// After such an error, each further call returns [`Error::TransactionFailed`].
    pub fn apply_each(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<Vec<Result<Outcome>>> {
        // An error below leaves `None`: a transaction that has made a part of a batch must not be
        // committed.
        let stage = self.stage.take().ok_or_else(|| self.has_failed())?;
        let store = &self.handle.store;
        let mut changes = changes.into_iter();
        let mut outcomes = Vec::new();
        self.stage = Some(match stage {
            TransactionStage::Small(write_guard, mut batch) => {
                while let Some(part) = prepare_next(&mut changes, store) {
                    batch.prefetch(part.iter().flatten());
                    outcomes.extend(part.into_iter().map(|change| batch.decide(&change?)));
                }
                // The journal and the memtable would hold all of it until the next merge.
                if batch.is_large(store.limits()) {
                    let mut tables = store.begin_write_with(write_guard)?;
                    apply_batch(&mut tables, batch.into_edits())?;
                    TransactionStage::Large(Box::new(tables))
                } else {
                    TransactionStage::Small(write_guard, batch)
                }
            }
            TransactionStage::Large(mut tables) => {
                // No prefetch: only this thread can read the tables of a write transaction.
                let mut batch = Batch::new(store.view_of(&tables)?);
                while let Some(part) = prepare_next(&mut changes, store) {
                    outcomes.extend(part.into_iter().map(|change| batch.decide(&change?)));
                }
                let edits = batch.into_edits();
                apply_batch(&mut tables, edits)?;
                TransactionStage::Large(tables)
            }
        });
        Ok(outcomes)
    }

    /// Makes one change, and returns its outcome.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_one(&mut self, change: Change) -> Result<Outcome> {
        Ok(one(self.apply([change])?))
    }

    /// Makes all changes durable, and then visible.
    ///
    /// # Errors
    /// - [`Error::TransactionFailed`] if a call of [`apply`](Self::apply) failed
    /// - [`Error::CommitUnknown`]: all changes are made, or none
    /// - [`Error::Corrupt`], [`Error::Io`], [`Error::Storage`], [`Error::WritesFailed`]: no change
    ///   is made
    pub fn commit(mut self) -> Result<()> {
        let stage = self.stage.take().ok_or_else(|| self.has_failed())?;
        let store = &self.handle.store;
        match stage {
            TransactionStage::Small(mut write_guard, batch) => {
                let (edits, latest_arrival) = batch.into_edits();
                store.commit(&mut write_guard, edits, latest_arrival)
            }
            // After a failed commit it is unknown what the tables hold, so later writes are
            // refused.
            TransactionStage::Large(tables) => tables.commit().inspect_err(|_| store.poison(None)),
        }
    }

    fn has_failed(&self) -> Error {
        Error::TransactionFailed {
            path: self.handle.store.path().to_path_buf(),
        }
    }
}

fn apply_batch(
    tables: &mut WriteTransaction,
    (edits, latest_arrival): (Vec<DocumentEdit>, Option<Timestamp>),
) -> Result<()> {
    tables.advance_latest_arrival(latest_arrival);
    tables.apply(edits)
}
