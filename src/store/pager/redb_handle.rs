//! The storage engine with a file open.

use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{ReadableDatabase, StorageError};

/// The storage engine with a file open, which closes it when it is dropped.
///
/// To close a file the engine commits once more, and where it meets a damaged page then, it
/// panics. Nobody can be told, and nothing is lost by it: the file is as if it had not been closed.
pub(crate) struct RedbHandle(Option<redb::Database>);

impl RedbHandle {
    pub(crate) fn over(database: redb::Database) -> Self {
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

    /// Proves all pages, and mends what can be mended.
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
        // What it leaves behind is not looked at again.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}
