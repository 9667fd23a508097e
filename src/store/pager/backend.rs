//! [`Backend`]: redb on a locked database file.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use redb::ReadableDatabase;

use super::{CowFile, PageFile};
use crate::advice::ForeignFile;
use crate::error::{Error, LockHolder, Result};
use crate::store::disk::FileInfo;
use crate::store::disk::lock::FileLock;
use crate::store::disk::path::{DbPath, RedbResult};

/// redb on a locked database file.
pub(crate) struct Backend {
    /// Locked exclusively by an integrity check, otherwise shared to begin a transaction. `None` is
    /// closed.
    redb: RwLock<Option<redb::Database>>,
    /// The copy-on-write layer of a file that is open for reading only.
    read_only: Option<CowFile>,
    db_path: DbPath,
    header_writes: Arc<AtomicU64>,
    /// The last field, because redb closes the file first.
    lock: FileLock,
}

impl Backend {
    /// Locks and opens a database file: exclusively if `writable`, otherwise shared with readers.
    /// After a crash redb repairs the file, in about a millisecond: every commit writes the data
    /// for a quick repair.
    pub(crate) fn open(db_path: &DbPath, cache_bytes: usize, writable: bool) -> Result<Self> {
        let (pages, lock) = lock_and_open(db_path, writable)?;
        let header_writes = pages.header_writes();
        let mut builder = redb::Database::builder();
        builder.set_cache_size(cache_bytes);
        let (database, read_only) = if writable {
            (builder.create_with_backend(pages), None)
        } else {
            let layer = CowFile::new(pages).map_err(db_path.io("open"))?;
            (builder.create_with_backend(layer.clone()), Some(layer))
        };
        Ok(Self {
            redb: RwLock::new(Some(database.map_err(|cause| db_path.opening(cause))?)),
            read_only,
            db_path: db_path.clone(),
            header_writes,
            lock,
        })
    }

    /// The number of writes of redb's header so far. A commit that failed without any was not made:
    /// the disk was full, for example, and the header still names the commit before.
    pub(crate) fn header_writes(&self) -> u64 {
        self.header_writes.load(Ordering::Relaxed)
    }

    pub(crate) fn lock(&self) -> &FileLock {
        &self.lock
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.read_only.is_none()
    }

    fn database(&self) -> Result<MappedRwLockReadGuard<'_, redb::Database>> {
        let open = RwLockReadGuard::try_map(self.redb.read(), Option::as_ref);
        open.map_err(|_| self.closed())
    }

    fn closed(&self) -> Error {
        self.db_path.reading(redb::StorageError::DatabaseClosed)
    }

    pub(crate) fn begin_read(&self) -> Result<redb::ReadTransaction> {
        self.database()?.begin_read().reading(&self.db_path)
    }

    /// Begins a write transaction. Its changes are discarded if the file is open for reading only.
    pub(crate) fn begin_write(&self) -> Result<redb::WriteTransaction> {
        self.database()?.begin_write().writing(&self.db_path)
    }

    /// Verifies all pages with redb's checksums and rebuilds the lists of free pages; returns
    /// `false` if there was damage. Waits for no snapshot: [`Error::SnapshotHeld`] if any is open.
    /// New snapshots wait for the end.
    pub(crate) fn check_integrity(&self) -> Result<bool> {
        let Some(database) = &mut *self.redb.write() else {
            return Err(self.closed());
        };
        match database.check_integrity() {
            Err(redb::DatabaseError::Storage(cause)) => Err(self.db_path.reading(cause)),
            checked => checked.map_err(|cause| self.db_path.opening(cause)),
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Some(layer) = &self.read_only {
            layer.refuse_writes();
        }
        let database = self.redb.get_mut().take();
        // To close a file, redb commits once more, and panics if it reads a damaged page. The panic
        // is caught: no data is lost, and the file counts as not closed. Unwind safe, because the
        // database is not used again.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

/// Locks and opens the file that the path names.
fn lock_and_open(db_path: &DbPath, writable: bool) -> Result<(PageFile, FileLock)> {
    loop {
        let named = file_identity(db_path)?;
        let file = db_path.disk().open(db_path.path(), writable);
        let file = file.map_err(db_path.io("open"))?;
        // The lock comes before the first read, because another process may be writing.
        let holder = if writable {
            LockHolder::Database
        } else {
            LockHolder::ReadOnlyDatabase
        };
        let lock = db_path.lock(&*file, writable, holder)?;
        // A vacuum renames a new file over the old one while it holds the lock of the old one. If
        // the rename came between `open` and `try_lock`, this handle has locked the deleted old
        // file.
        if file_identity(db_path)? == named {
            return Ok((PageFile::open(file, db_path)?, lock));
        }
    }
}

/// The identity of the file that the path names now. Refuses a folder and an empty file here,
/// because their first read would be reported as damage.
fn file_identity(db_path: &DbPath) -> Result<(u64, u64)> {
    let path = db_path.path().to_path_buf();
    if path.as_os_str().is_empty() {
        return Err(Error::EmptyPath);
    }
    match db_path.disk().info(&path) {
        Ok(info) if info.is_file && info.len_bytes > 0 => Ok(info.identity),
        Ok(info) => {
            let found = match info {
                FileInfo {
                    is_folder: true, ..
                } => ForeignFile::Folder,
                FileInfo { is_file: true, .. } => ForeignFile::Empty,
                _ => ForeignFile::Special,
            };
            Err(Error::NotADatabase { path, found })
        }
        Err(source) if source.kind() == ErrorKind::NotFound => Err(Error::NotFound { path }),
        Err(source) => Err(db_path.io("open")(source)),
    }
}
