//! [`Backend`]: redb with a locked database file.

use std::io::ErrorKind;

use super::redb_handle::RedbHandle;
use super::{CowFile, PageFile};
use crate::error::{Error, Result};
use crate::store::disk::path::{DbPath, RedbResult};

/// redb with a locked database file, open for writing or for reading only.
pub(crate) enum Backend {
    Writable(RedbHandle),
    /// redb writes into the copy-on-write layer, which is dropped with it.
    ReadOnly(RedbHandle, CowFile),
}

impl Backend {
    /// Locks and opens a database file: exclusively if `writable`, else shared with other readers.
    /// After a crash, redb repairs the file, in about a millisecond, because every commit leaves
    /// behind the data for a quick repair.
    pub(crate) fn open(db_path: &DbPath, cache_bytes: usize, writable: bool) -> Result<Self> {
        loop {
            let named = file_identity(db_path)?;
            let file =
                (db_path.disk().open(db_path.path(), writable)).map_err(db_path.io("open"))?;
            // The lock comes before the first read: another process may be writing.
            if !file.try_lock(writable).map_err(db_path.io("lock"))? {
                let path = db_path.path().to_path_buf();
                return Err(Error::Locked { path });
            }
            // A vacuum holds the lock of the old file while it gives the name to the new one. If it
            // did so between the first line of the loop and the lock, this file is the old one.
            if file_identity(db_path)? == named {
                return Self::open_pages(
                    PageFile::open(file, db_path)?,
                    cache_bytes,
                    db_path,
                    writable,
                );
            }
        }
    }

    fn open_pages(
        pages: PageFile,
        cache_bytes: usize,
        db_path: &DbPath,
        writable: bool,
    ) -> Result<Self> {
        let mut builder = redb::Database::builder();
        builder.set_cache_size(cache_bytes);
        if writable {
            let database = builder.create_with_backend(pages);
            let database = database.map_err(|cause| db_path.opening(cause))?;
            return Ok(Self::Writable(RedbHandle::over(database)));
        }
        let file = CowFile::over(pages).map_err(db_path.io("open"))?;
        let database = builder.create_with_backend(file.clone());
        let database = database.map_err(|cause| db_path.opening(cause))?;
        Ok(Self::ReadOnly(RedbHandle::over(database), file))
    }

    pub(crate) fn is_writable(&self) -> bool {
        matches!(self, Self::Writable(_))
    }

    pub(crate) fn begin_read(&self, db_path: &DbPath) -> Result<redb::ReadTransaction> {
        match self {
            Self::Writable(redb) | Self::ReadOnly(redb, _) => redb.begin_read().reading(db_path),
        }
    }

    /// Begins a write transaction; an error if the file is open for reading only.
    pub(crate) fn begin_write(&self, db_path: &DbPath) -> Result<redb::WriteTransaction> {
        match self {
            Self::Writable(redb) => redb.begin_write().writing(db_path),
            Self::ReadOnly(..) => Err(Error::ReadOnly {
                path: db_path.path().to_path_buf(),
            }),
        }
    }

    /// Verifies all pages and repairs the lists of free pages; returns `false` if there was damage.
    /// `None` if the file is open for reading only: a repair would be a write.
    pub(crate) fn check_integrity(&mut self, db_path: &DbPath) -> Result<Option<bool>> {
        let Self::Writable(redb) = self else {
            return Ok(None);
        };
        match redb.check_integrity() {
            Err(redb::DatabaseError::Storage(cause)) => Err(db_path.reading(cause)),
            checked => checked.map(Some).map_err(|cause| db_path.opening(cause)),
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Self::ReadOnly(_, file) = self {
            file.close_soon();
        }
    }
}

/// The identity of the file that has the name now. Refuses an empty file, and a folder, which would
/// be reported as a failed read.
fn file_identity(db_path: &DbPath) -> Result<(u64, u64)> {
    let path = db_path.path().to_path_buf();
    match db_path.disk().info(&path) {
        Ok(info) if info.is_file && info.len_bytes > 0 => Ok(info.identity),
        Ok(_) => Err(Error::NotADatabase { path, source: None }),
        Err(source) if source.kind() == ErrorKind::NotFound => Err(Error::NotFound { path }),
        Err(source) => Err(db_path.io("open")(source)),
    }
}
