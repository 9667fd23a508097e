//! [`RedbHandle`]: an open redb database whose close cannot panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{ReadableDatabase, StorageError};

/// An open redb database, closed when dropped.
pub(crate) struct RedbHandle(Option<redb::Database>);

impl RedbHandle {
    pub(crate) fn new(database: redb::Database) -> Self {
        Self(Some(database))
    }

    pub(crate) fn begin_read(&self) -> Result<redb::ReadTransaction, redb::TransactionError> {
        match &self.0 {
            Some(database) => database.begin_read(),
            None => Err(StorageError::DatabaseClosed.into()),
        }
    }

    pub(crate) fn begin_write(&self) -> Result<redb::WriteTransaction, redb::TransactionError> {
        match &self.0 {
            Some(database) => database.begin_write(),
            None => Err(StorageError::DatabaseClosed.into()),
        }
    }

    /// See [`Backend::check_integrity`](super::backend::Backend::check_integrity).
    pub(crate) fn check_integrity(&mut self) -> Result<bool, redb::DatabaseError> {
        match &mut self.0 {
            Some(database) => database.check_integrity(),
            None => Err(StorageError::DatabaseClosed.into()),
        }
    }
}

impl Drop for RedbHandle {
    fn drop(&mut self) {
        let database = self.0.take();
        // To close a file, redb commits once more, and panics if it reads a damaged page. The panic
        // is caught: no data is lost, and the file counts as not closed. Unwind safe, because the
        // database is not used again.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}
