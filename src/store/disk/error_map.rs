//! Mapping of redb's errors and panics to an [`Error`] that names the database file.
//!
//! redb refuses all work after one failed read, and one damaged page must not end all queries. So
//! in a read-only transaction the pager does not return a failed read to redb. The failed read
//! panics through redb, and [`DbPath::catch_failed_reads`] turns the panic into an error of this
//! query only.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::path::DbPath;
use crate::advice::Advice;
use crate::error::{Error, LockHolder, Result};

/// Damage found by the pager, as the inner error of an [`io::Error`]; the text describes the
/// damage.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub(crate) String);

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        Self::new(io::ErrorKind::InvalidData, damage)
    }
}

/// The panic payload of a failed read.
struct FailedRead(io::Error);

thread_local! {
    /// `true` within [`DbPath::catch_failed_reads`]: a failed read of this thread panics.
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
}

/// Panics with the error of a failed read within [`DbPath::catch_failed_reads`]; returns the error
/// elsewhere, so that redb gets it.
pub(crate) fn unwind_or_return(error: io::Error) -> io::Error {
    // With `panic = "abort"` a panic would end the process. redb gets the error instead, and
    // refuses further work.
    if cfg!(panic = "unwind") && UNWINDS.get() {
        // Unlike `panic!`, `resume_unwind` does not call the panic hook, which would print.
        resume_unwind(Box::new(FailedRead(error)));
    }
    error
}

impl DbPath {
    /// The error for a damaged file; `what` names the place and the damage.
    pub(crate) fn corrupt(&self, what: impl Into<String>) -> Error {
        self.corrupt_advising(what, Advice::Salvage)
    }

    /// [`corrupt`](Self::corrupt) with other advice than salvage or a backup.
    pub(crate) fn corrupt_advising(&self, what: impl Into<String>, advice: Advice) -> Error {
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

    /// The error for a failed commit.
    pub(crate) fn committing(&self, cause: redb::CommitError) -> Error {
        match cause {
            // An unpublished file is deleted, durable or not.
            _ if self.is_unpublished => self.storage("create", cause.into()),
            // redb rolls a poisoned transaction back.
            redb::CommitError::TransactionPoisoned => self.writing(cause),
            // The header may have reached the disk before the sync failed.
            redb::CommitError::Storage(redb::StorageError::Io(cause)) => Error::CommitUnknown {
                path: self.path().to_path_buf(),
                source: Box::new(cause),
            },
            _ => Error::CommitUnknown {
                path: self.path().to_path_buf(),
                source: Box::new(cause),
            },
        }
    }

    /// The error for a failed flush: [`Error::CommitUnknown`] becomes [`Error::Storage`]. The
    /// journal still holds every change of the flush, so a commit that became durable is only
    /// repeated.
    pub(crate) fn flushing(&self, error: Error) -> Error {
        let Error::CommitUnknown { path, source } = error else {
            return error;
        };
        let source = match source.downcast::<io::Error>() {
            Ok(cause) => return self.failed_read("write", *cause),
            Err(source) => source,
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
            redb::DatabaseError::DatabaseAlreadyOpen => Error::Locked {
                path,
                holder: LockHolder::AnotherProcess,
            },
            redb::DatabaseError::TransactionInProgress => {
                let snapshots = 1;
                Error::SnapshotHeld { path, snapshots }
            }
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

    /// Runs `run`, and turns a panic into [`Error::Corrupt`]: redb panics at some damaged pages.
    pub(crate) fn catch_panics<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        // Unwind safe: callers drop everything that `run` was building.
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(self.panicked(panic)))
    }

    /// Runs `read` so that a damaged or unreadable page fails this call only, not every later one.
    ///
    /// Applies to a path from [`DbPath::read_only`]; with any other path it only calls `read`.
    pub(crate) fn catch_failed_reads<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        // After a failed read in a write transaction redb must refuse to commit, so redb gets the
        // error.
        if !self.is_read_only {
            return read();
        }
        // Calls nest: the inner call restores the flag of the outer one.
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

/// Maps the error of a redb call to an [`Error`] that names the database file.
pub(crate) trait RedbResult<T, E> {
    /// Maps with [`DbPath::reading`].
    fn reading(self, path: &DbPath) -> Result<T>;
    /// Maps with [`DbPath::writing`]; not for a commit.
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

/// The text of an error without the path and the advice, for a report on one file.
pub(crate) fn message_without_path(error: &Error) -> String {
    match error {
        Error::Corrupt { what, .. } => what.clone(),
        Error::NotADatabase { found, .. } => found.to_string(),
        error => error.to_string(),
    }
}
