//! [`Transaction`]: many changes, one commit.

use std::marker::PhantomData;

use crate::change::{Batch, Change, Outcome};
use crate::error::Result;
use crate::store::WriteTransaction;

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
pub struct Transaction<'d> {
    stored: WriteTransaction,
    database: PhantomData<&'d ()>,
}

impl Transaction<'_> {
    pub(crate) fn over(stored: WriteTransaction) -> Self {
        Self {
            stored,
            database: PhantomData,
        }
    }

    /// Makes changes in order, each seeing those before it, and returns what became of each.
    /// Memory is in proportion to the batch; a large batch writes a page once where many small
    /// ones write it many times.
    ///
    /// # Errors
    /// Those of [`Database::apply`](crate::Database::apply). After an error the transaction must be dropped.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        let mut batch = Batch::default();
        let outcomes = {
            let tables = self.stored.tables()?;
            let decide = |change| batch.decide(change, &tables);
            changes
                .into_iter()
                .map(decide)
                .collect::<Result<Vec<Outcome>>>()?
        };
        self.stored.apply(batch.into_edits())?;
        Ok(outcomes)
    }

    /// Makes all of it durable.
    ///
    /// # Errors
    /// [`Error::TransactionFailed`](crate::Error::TransactionFailed) after an `apply` that failed
    /// half way; [`Error::CommitUnknown`](crate::Error::CommitUnknown), and [`Error::Storage`](crate::Error::Storage) if it is known that nothing happened.
    pub fn commit(self) -> Result<()> {
        self.stored.commit()
    }
}
