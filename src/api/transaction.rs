//! [`Transaction`]: many changes, one commit.

use std::fmt;

use crate::error::{Error, Result};
use crate::ingest::{Batch, Change, Outcome, next_prepared};
use crate::store::limits::Limits;
use crate::store::{Store, View, WriteGuard, WriteTransaction};

/// Many changes and one commit. Dropped before [`commit`](Self::commit), nothing has happened.
///
/// ```
/// use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// let mut transaction = db.begin()?;
/// for id in 0..1000 {
///     let document = Document::new(DocId(id), Fingerprint::from_bits(id << 40));
///     let outcomes = transaction.apply([Change::Insert(document)])?;
///     assert_eq!(outcomes, [Outcome::Inserted]);
/// }
/// assert_eq!(db.len()?, 0);
/// transaction.commit()?;
/// assert_eq!(db.len()?, 1000);
/// # Ok::<(), simdb::Error>(())
/// ```
#[must_use = "dropped before it is committed, nothing has happened"]
pub struct Transaction<'d> {
    store: &'d Store,
    /// Nothing after an error.
    stage: Option<Stage>,
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Transaction");
        shown.field("path", &self.store.path());
        shown.field("is_poisoned", &self.stage.is_none());
        shown.finish_non_exhaustive()
    }
}

/// How far a transaction has come.
enum Stage {
    /// What it comes to is in memory, to be committed at once.
    Small(Box<Small>),
    /// It is being written into the tables, which nobody sees before the commit.
    Large(Box<WriteTransaction>),
}

struct Small {
    write_guard: WriteGuard,
    view: View,
    batch: Batch,
}

/// A transaction of more changes than are merged before the end, or with longer texts, goes on in the
/// tables.
const SMALL_BYTES: usize = 64 << 20;

impl Small {
    fn is_large(&self, limits: Limits) -> bool {
        self.batch.len() > limits.min_flush_changes || self.batch.text_bytes() > SMALL_BYTES
    }
}

impl<'d> Transaction<'d> {
    pub(crate) fn begin(store: &'d Store) -> Result<Self> {
        let write_guard = store.lock_writes()?;
        let small = Small {
            write_guard,
            view: store.read()?,
            batch: Batch::default(),
        };
        Ok(Self {
            store,
            stage: Some(Stage::Small(Box::new(small))),
        })
    }

    /// Makes changes in order, each seeing those before it, and returns what became of each.
    /// Memory is in proportion to the changes of a call, however many calls there are.
    ///
    /// # Errors
    /// Those of [`Database::apply`](crate::Database::apply). After an error the transaction must be
    /// dropped: each further call gives [`Error::TransactionFailed`].
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        let mut stage = self.stage.take().ok_or_else(|| self.is_poisoned())?;
        let mut changes = changes.into_iter();
        let outcomes = match &mut stage {
            Stage::Small(small) => {
                let Small { view, batch, .. } = &mut **small;
                let mut outcomes = Vec::new();
                while let Some(part) = next_prepared(&mut changes, self.store)? {
                    batch.look_ahead(part.iter().filter(|change| change.asks_for_texts()), view);
                    batch.decide_all(&part, view, &mut outcomes)?;
                }
                outcomes
            }
            Stage::Large(tables) => {
                let mut batch = Batch::default();
                let view = self.store.view_of(tables)?;
                let mut outcomes = Vec::new();
                while let Some(part) = next_prepared(&mut changes, self.store)? {
                    batch.decide_all(&part, &view, &mut outcomes)?;
                }
                drop(view);
                tables.advance_latest_arrival(batch.latest_arrival());
                tables.apply(batch.into_edits())?;
                outcomes
            }
        };
        self.stage = Some(match stage {
            Stage::Small(small) if small.is_large(self.store.limits()) => {
                let mut tables = self.store.begin_write_with(small.write_guard)?;
                tables.advance_latest_arrival(small.batch.latest_arrival());
                tables.apply(small.batch.into_edits())?;
                Stage::Large(Box::new(tables))
            }
            stage => stage,
        });
        Ok(outcomes)
    }

    /// Makes all of it durable.
    ///
    /// # Errors
    /// [`Error::TransactionFailed`] after an `apply` that failed; [`Error::CommitUnknown`]; and if it
    /// is known that nothing happened [`Error::Corrupt`], [`Error::Io`], [`Error::Storage`],
    /// [`Error::WritesFailed`].
    pub fn commit(mut self) -> Result<()> {
        match self.stage.take().ok_or_else(|| self.is_poisoned())? {
            Stage::Small(small) => {
                let Small {
                    mut write_guard,
                    batch,
                    ..
                } = *small;
                let latest = batch.latest_arrival();
                self.store
                    .commit(&mut write_guard, batch.into_edits(), latest)
            }
            Stage::Large(tables) => tables.commit().inspect_err(|_| self.store.poison()),
        }
    }

    fn is_poisoned(&self) -> Error {
        let path = self.store.path().to_path_buf();
        Error::TransactionFailed { path }
    }
}
