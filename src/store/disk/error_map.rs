//! How errors and panics of redb become an [`Error`] that names the database file.
//!
//! redb refuses all work after one failed read. A query that meets a damaged page must not end all
//! other queries, so while a transaction only reads, a failed read unwinds through redb and is caught
//! in [`DbPath::reading_only`]: redb does not learn of the failure, and later reads still work.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::path::DbPath;
use crate::error::{Error, Result};

/// A file whose content is not what was written; the text says what is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub(crate) String);

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        Self::new(io::ErrorKind::InvalidData, damage)
    }
}

/// The usual advice for a damaged file.
const SAVE_OR_RESTORE: &str = "run `simdb-cli check` on it, then save what is left with \
                               `simdb-cli salvage`, or restore a backup";

/// The payload of the panic that a failed read unwinds with.
struct FailedRead(io::Error);

thread_local! {
    /// Set while a failed read on this thread has to unwind through redb.
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
}

/// Called by the pager with the error of a failed read: unwinds within
/// [`DbPath::reading_only`], and returns the error elsewhere.
pub(crate) fn raised(error: io::Error) -> io::Error {
    // With `panic = "abort"` an unwinding read would end the process, so redb gets the error and
    // refuses further work.
    if cfg!(panic = "unwind") && UNWINDS.get() {
        resume_unwind(Box::new(FailedRead(error)));
    }
    error
}

impl DbPath {
    /// The error for a damaged file; `what` says where and how.
    pub(crate) fn corrupt(&self, what: impl Into<String>) -> Error {
        self.corrupt_advising(what, SAVE_OR_RESTORE)
    }

    /// The error for a damaged file, with advice other than the usual.
    pub(crate) fn corrupt_advising(&self, what: impl Into<String>, advice: &'static str) -> Error {
        Error::Corrupt {
            path: self.path().to_path_buf(),
            what: what.into(),
            advice,
        }
    }

    /// The error for a failed read.
    pub(crate) fn reading(&self, cause: impl Into<redb::Error>) -> Error {
        self.storage("read", cause.into())
    }

    /// The error for a failed write that is not a commit.
    pub(crate) fn writing(&self, cause: impl Into<redb::Error>) -> Error {
        self.storage("write", cause.into())
    }

    /// The error for a failed commit. Only a poisoned transaction is known to be rolled back; any
    /// other commit may have become durable, unless the file is not published yet.
    pub(crate) fn committing(&self, cause: redb::CommitError) -> Error {
        match cause {
            _ if self.is_unpublished => self.storage("create", cause.into()),
            redb::CommitError::TransactionPoisoned => self.writing(cause),
            _ => Error::CommitUnknown {
                path: self.path().to_path_buf(),
                source: Box::new(cause),
            },
        }
    }

    /// The error for a failed flush. The journal still holds all that the flush was to commit, so
    /// whether its commit became durable makes no difference, and an unknown commit is reported as
    /// a failed write.
    pub(crate) fn merging(&self, error: Error) -> Error {
        let Error::CommitUnknown { path, source } = error else {
            return error;
        };
        match source.downcast::<redb::CommitError>() {
            Ok(cause) => self.writing(*cause),
            Err(source) => Error::Storage {
                action: "write",
                path,
                source,
            },
        }
    }

    /// The error for a database that could not be opened.
    pub(crate) fn opening(&self, cause: redb::DatabaseError) -> Error {
        let path = self.path().to_path_buf();
        match cause {
            redb::DatabaseError::DatabaseAlreadyOpen => Error::Locked { path },
            redb::DatabaseError::TransactionInProgress => Error::SnapshotHeld { path },
            redb::DatabaseError::Storage(redb::StorageError::Io(source)) => match source.kind() {
                io::ErrorKind::NotFound => Error::NotFound { path },
                io::ErrorKind::InvalidData => self.failed_read("open", source),
                _ => Error::Io {
                    action: "open",
                    path,
                    source,
                },
            },
            other => self.storage("open", other.into()),
        }
    }

    /// Runs `run` and makes a panic an error: redb panics at some damaged pages.
    pub(crate) fn guarded<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        // Unwind safe: callers drop all that `run` was building.
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(self.panicked(panic)))
    }

    /// Runs `read`; a damaged or unreadable page gives an error to this caller alone.
    ///
    /// Within a write transaction (see [`DbPath::only_read`]) a failed read is left to redb, which
    /// must refuse to commit after it.
    pub(crate) fn reading_only<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.is_read_only {
            return read();
        }
        let before = UNWINDS.replace(true);
        let read = catch_unwind(AssertUnwindSafe(read));
        UNWINDS.set(before);
        read.unwrap_or_else(|panic| Err(self.panicked(panic)))
    }

    fn panicked(&self, panic: Box<dyn Any + Send>) -> Error {
        match panic.downcast::<FailedRead>() {
            Ok(failed) => self.failed_read("read", failed.0),
            Err(panic) => {
                let message = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                self.corrupt(format!("redb panicked: {message}"))
            }
        }
    }

    fn failed_read(&self, action: &'static str, cause: io::Error) -> Error {
        if cause.get_ref().is_some_and(|inner| inner.is::<Damage>()) {
            self.corrupt(cause.to_string())
        } else {
            Error::Storage {
                action,
                path: self.path().to_path_buf(),
                source: Box::new(cause),
            }
        }
    }

    fn storage(&self, action: &'static str, cause: redb::Error) -> Error {
        match cause {
            redb::Error::Corrupted(what) => self.corrupt(what),
            redb::Error::Io(cause) => self.failed_read(action, cause),
            source => Error::Storage {
                action,
                path: self.path().to_path_buf(),
                source: Box::new(source),
            },
        }
    }
}

/// Makes the error of a redb call an [`Error`] that names the database file.
pub(crate) trait RedbResult<T, E> {
    /// For a call that reads.
    fn reading(self, path: &DbPath) -> Result<T>;
    /// For a call that writes and does not commit.
    fn writing(self, path: &DbPath) -> Result<T>;
}

impl<T, E: Into<redb::Error>> RedbResult<T, E> for std::result::Result<T, E> {
    fn reading(self, path: &DbPath) -> Result<T> {
        self.map_err(|cause| path.reading(cause))
    }

    fn writing(self, path: &DbPath) -> Result<T> {
        self.map_err(|cause| path.writing(cause))
    }
}

/// The text of an error without the path.
pub(crate) fn said(error: &Error) -> String {
    match error {
        Error::Corrupt { what, .. } => what.clone(),
        Error::NotADatabase { .. } => "it does not begin like a database".to_owned(),
        error => error.to_string(),
    }
}
