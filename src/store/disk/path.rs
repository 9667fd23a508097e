//! Which file the store is about, and what goes wrong with it as an [`Error`] that names it.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::store::disk::{Disk, FileInfo, SystemDisk};

/// A database file: where it is, and what errors of the store are about.
#[derive(Clone, Debug)]
pub(crate) struct DbPath {
    path: Arc<Path>,
    disk: Arc<dyn Disk>,
    /// The file is in the making, and nobody can see it yet.
    unseen: bool,
    /// Nothing is written in what this is the place of.
    only_read: bool,
}

/// The file is not what was written; what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub(crate) String);

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        Self::new(io::ErrorKind::InvalidData, damage)
    }
}

/// What to do about damage, as a rule.
const SAVE_OR_RESTORE: &str = "run `simdb-cli check` on it, then save what is left with \
                               `simdb-cli salvage`, or restore a backup";

/// What a read that failed unwinds with.
struct FailedRead(io::Error);

thread_local! {
    /// Whether a read of this thread that fails unwinds.
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
}

/// A read of the file failed. The storage engine refuses everything after a read that fails, so
/// where nothing but reading is under way it is not told: see [`DbPath::reading_only`].
pub(crate) fn raised(error: io::Error) -> io::Error {
    // A program that aborts where it would unwind must hear of it the other way.
    if cfg!(panic = "unwind") && UNWINDS.get() {
        resume_unwind(Box::new(FailedRead(error)));
    }
    error
}

impl DbPath {
    pub(crate) fn new(path: &Path, disk: &Arc<dyn Disk>) -> Self {
        Self {
            path: path.into(),
            disk: Arc::clone(disk),
            unseen: false,
            only_read: false,
        }
    }

    /// A file on the disk of the system.
    pub(crate) fn of_system(path: &Path) -> Self {
        Self::new(path, &(Arc::new(SystemDisk) as Arc<dyn Disk>))
    }

    /// A file beside this one, that will be at `path` when it is whole.
    pub(crate) fn in_the_making(&self, path: &Path) -> Self {
        Self {
            unseen: true,
            ..Self::new(path, &self.disk)
        }
    }

    /// Another file on the same disk.
    pub(crate) fn beside(&self, path: &Path) -> Self {
        Self::new(path, &self.disk)
    }

    /// The same file, as a transaction that only reads sees it.
    pub(crate) fn only_read(&self) -> Self {
        Self {
            only_read: true,
            ..self.clone()
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file is on.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// What is under its name.
    pub(crate) fn info(&self, action: &'static str) -> Result<FileInfo> {
        self.disk.info(&self.path).map_err(self.io(action))
    }

    /// Something outside the file proper failed.
    pub(crate) fn io(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let path = Arc::clone(&self.path);
        move |source| Error::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }

    /// The file is damaged; `what` says where and how.
    pub(crate) fn corrupt(&self, what: impl Into<String>) -> Error {
        self.corrupt_advising(what, SAVE_OR_RESTORE)
    }

    /// The same where something else is to be done about it than usual.
    pub(crate) fn corrupt_advising(&self, what: impl Into<String>, advice: &'static str) -> Error {
        Error::Corrupt {
            path: self.path.to_path_buf(),
            what: what.into(),
            advice,
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

    /// A merge failed. What it was to commit is in the journal as well, so that whether it did makes
    /// no difference, and nothing need be repeated.
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

    /// The database could not be opened.
    pub(crate) fn opening(&self, cause: redb::DatabaseError) -> Error {
        let path = self.path.to_path_buf();
        match cause {
            redb::DatabaseError::DatabaseAlreadyOpen => Error::Locked { path },
            redb::DatabaseError::TransactionInProgress => Error::SnapshotHeld { path },
            redb::DatabaseError::Storage(redb::StorageError::Io(source)) => match source.kind() {
                std::io::ErrorKind::NotFound => Error::NotFound { path },
                std::io::ErrorKind::InvalidData => self.failed_read("open", source),
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
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(self.panicked(panic)))
    }

    /// Runs what only reads. A page that is damaged, or cannot be read, then gives an error to who
    /// asked for it and to nobody else; the storage engine, if it heard of it, would refuse all
    /// that comes after. Where something is written as well, that is as it should be.
    pub(crate) fn reading_only<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.only_read {
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
                    .unwrap_or("without a word");
                self.corrupt(format!("the storage engine gave up: {message}"))
            }
        }
    }

    fn failed_read(&self, action: &'static str, cause: io::Error) -> Error {
        if cause.get_ref().is_some_and(|inner| inner.is::<Damage>()) {
            self.corrupt(cause.to_string())
        } else {
            Error::Storage {
                action,
                path: self.path.to_path_buf(),
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
                path: self.path.to_path_buf(),
                source: Box::new(source),
            },
        }
    }
}

/// Turns an error of redb into an [`Error`] that names the file.
pub(crate) trait RedbResult<T, E> {
    /// A read failed.
    fn reading(self, path: &DbPath) -> Result<T>;
    /// A write that is not a commit failed.
    fn writing(self, path: &DbPath) -> Result<T>;
}

impl<T, E: Into<redb::Error>> RedbResult<T, E> for std::result::Result<T, E> {
    fn reading(self, path: &DbPath) -> Result<T> {
        self.map_err(|cause| path.storage("read", cause.into()))
    }

    fn writing(self, path: &DbPath) -> Result<T> {
        self.map_err(|cause| path.storage("write", cause.into()))
    }
}

/// What an error says is wrong, without the name of the file.
pub(crate) fn said(error: &Error) -> String {
    match error {
        Error::Corrupt { what, .. } => what.clone(),
        Error::NotADatabase { .. } => "it does not begin like a database".to_owned(),
        error => error.to_string(),
    }
}
