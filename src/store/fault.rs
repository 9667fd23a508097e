//! What redb reports, as an [`Error`] that names the file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};

/// The database file that errors of the store are about.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: Arc<Path>,
    /// The file is in the making, and nobody can see it yet.
    unseen: bool,
}

impl Place {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.into(),
            unseen: false,
        }
    }

    /// A file that will be at `path` when it is whole.
    pub(crate) fn in_the_making(path: &Path) -> Self {
        Self {
            unseen: true,
            ..Self::new(path)
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file is damaged; `what` says where and how.
    pub(crate) fn corrupt(&self, what: impl Into<String>) -> Error {
        Error::Corrupt {
            path: self.path.to_path_buf(),
            what: what.into(),
        }
    }

    /// A read failed.
    pub(crate) fn reading(&self, cause: impl Into<redb::Error>) -> Error {
        self.storage("read", cause.into())
    }

    /// A write that is not a commit failed.
    pub(crate) fn writing(&self, cause: impl Into<redb::Error>) -> Error {
        self.storage("write", cause.into())
    }

    /// A commit failed. Only a poisoned transaction is known to have been rolled back; of a file
    /// that nobody has seen it makes no difference.
    pub(crate) fn committing(&self, cause: redb::CommitError) -> Error {
        match cause {
            _ if self.unseen => self.storage("create", cause.into()),
            redb::CommitError::TransactionPoisoned => self.writing(cause),
            _ => Error::CommitUnknown {
                path: self.path.to_path_buf(),
                source: Box::new(cause),
            },
        }
    }

    /// The database could not be opened.
    pub(crate) fn opening(&self, cause: redb::DatabaseError) -> Error {
        let path = self.path.to_path_buf();
        match cause {
            redb::DatabaseError::DatabaseAlreadyOpen => Error::Locked { path },
            redb::DatabaseError::RepairAborted => Error::NotClosed { path },
            redb::DatabaseError::TransactionInProgress => Error::SnapshotHeld { path },
            redb::DatabaseError::Storage(redb::StorageError::Io(source)) => match source.kind() {
                std::io::ErrorKind::NotFound => Error::NotFound { path },
                // redb refuses a first page that is not its own with this kind.
                std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof => {
                    Error::NotADatabase {
                        path,
                        source: Some(Box::new(source)),
                    }
                }
                _ => Error::Io {
                    action: "open",
                    path,
                    source,
                },
            },
            other => self.storage("open", other.into()),
        }
    }

    /// Runs what may meet damage that redb answers with a panic, and makes that an error.
    pub(crate) fn guarded<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        // Nothing that was in the making is looked at again after a panic.
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("without a word");
            Err(self.corrupt(format!("the storage engine gave up: {message}")))
        })
    }

    fn storage(&self, action: &'static str, cause: redb::Error) -> Error {
        match cause {
            redb::Error::Corrupted(what) => self.corrupt(what),
            source => Error::Storage {
                action,
                path: self.path.to_path_buf(),
                source: Box::new(source),
            },
        }
    }
}
