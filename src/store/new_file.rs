//! A database file in the making, which appears under its name only when it is whole.

use std::fs::{File, Permissions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::{NamedTempFile, TempPath};

use super::chunk::{Entry, PAGE_BYTES};
use super::fault::Place;
use super::packed::Fill;
use super::schema::{self, Counters, Header};
use super::tables::{TableOf, WriteTables};
use super::write::WriteTransaction;
use crate::error::{Error, Result};

/// Chunks written between two commits: 64 MiB, or half of the engine's cache where that is less.
/// A transaction that fills more than half of it writes its pages twice.
const CHUNKS_PER_COMMIT: u64 = 16 << 10;

/// A new file that is longer than this share of what was written to it is compacted before it is
/// placed. A small one always is: it takes some milliseconds.
const SLACK_PERCENT: u64 = 115;

/// A new database under a temporary name in the folder of its target. Dropped before it is
/// placed, it is removed. redb can leave a file behind that never opens when creating one is cut
/// short, which is why no database is ever created under its own name.
pub(crate) struct NewFile {
    database: redb::Database,
    temporary: TempPath,
    file: File,
    target: PathBuf,
    header: Header,
    cache_bytes: usize,
    place: Place,
    /// Bytes of the chunks and texts written so far.
    written_bytes: AtomicU64,
}

impl NewFile {
    /// Creates an empty database that will be placed at `target`, where nothing may be yet. The
    /// file gets no more permissions than those given, from the start.
    pub(crate) fn create(
        target: &Path,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<Permissions>,
    ) -> Result<Self> {
        if target.symlink_metadata().is_ok() {
            return Err(Error::AlreadyExists {
                path: target.to_path_buf(),
            });
        }
        Self::create_beside(target, header, cache_bytes, permissions)
    }

    /// Like [`create`](Self::create), for a target that may be there and be replaced.
    pub(crate) fn create_beside(
        target: &Path,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<Permissions>,
    ) -> Result<Self> {
        let creating = |source| Error::Io {
            action: "create",
            path: target.to_path_buf(),
            source,
        };
        let (file, temporary) = new_named(folder_of(target), permissions)
            .map_err(creating)?
            .into_parts();
        // Errors name the file the caller asked for.
        let place = Place::in_the_making(target);
        let database = redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create_file(file.try_clone().map_err(creating)?)
            .map_err(|cause| place.opening(cause))?;
        let new = Self {
            database,
            temporary,
            file,
            target: target.to_path_buf(),
            header: header.clone(),
            cache_bytes,
            place,
            written_bytes: AtomicU64::new(0),
        };
        new.initialise()?;
        Ok(new)
    }

    fn initialise(&self) -> Result<()> {
        let transaction = self
            .database
            .begin_write()
            .map_err(|cause| self.place.writing(cause))?;
        WriteTables::of(&transaction, &self.place)?;
        {
            let writing = |cause: redb::TableError| self.place.writing(cause);
            transaction.open_table(schema::TEXTS).map_err(writing)?;
            let mut meta = transaction.open_table(schema::META).map_err(writing)?;
            schema::write_header(&mut meta, &self.header, &self.place)?;
            schema::write_counters(&mut meta, &Counters::default(), &self.place)?;
        }
        transaction
            .commit()
            .map_err(|cause| self.place.committing(cause))
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Starts a write transaction in the new file.
    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        WriteTransaction::begin(&self.database, &self.place, self.header.keep_texts, None)
    }

    /// Writes entries in ascending order into a table that is still empty, and returns how many
    /// they were. Each page is written once: commits come often enough for the engine's cache.
    pub(crate) fn append<E: Entry>(
        &self,
        table: TableOf<E>,
        entries: impl Iterator<Item = Result<E>>,
    ) -> Result<u64> {
        let fill = if self.header.frozen {
            Fill::Full
        } else {
            Fill::Room
        };
        let chunks_per_commit = CHUNKS_PER_COMMIT
            .min((self.cache_bytes / PAGE_BYTES / 2) as u64)
            .max(1);
        let mut count = 0;
        let mut entries = entries.inspect(|_| count += 1);
        let mut written = 0;
        loop {
            let before = written;
            let mut transaction = self.write()?;
            table(&mut transaction.tables_to_change()?).append(
                &mut entries,
                chunks_per_commit,
                fill,
                &mut written,
            )?;
            if written > before {
                transaction.commit()?;
                self.count((written - before) * PAGE_BYTES as u64);
            }
            if written - before < chunks_per_commit {
                break;
            }
        }
        drop(entries);
        Ok(count)
    }

    /// Makes the file durable and gives it its name, unless another file has taken that.
    pub(crate) fn place(self) -> Result<()> {
        let (temporary, target) = self.close()?;
        temporary
            .persist_noclobber(&target)
            .map_err(|failed| match failed.error.kind() {
                std::io::ErrorKind::AlreadyExists => Error::AlreadyExists {
                    path: target.clone(),
                },
                _ => Error::Io {
                    action: "create",
                    path: target.clone(),
                    source: failed.error,
                },
            })?;
        sync_folder(&target)
    }

    /// Counts bytes that were written otherwise than by [`append`](Self::append).
    pub(crate) fn count(&self, bytes: u64) {
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives the file the permissions of the one it will replace.
    pub(crate) fn set_permissions(&self, permissions: Permissions) -> Result<()> {
        self.file
            .set_permissions(permissions)
            .map_err(|source| Error::Io {
                action: "set the permissions of",
                path: self.target.clone(),
                source,
            })
    }

    /// Makes the file durable and puts it in the place of the one that has the name now. Returns
    /// its length.
    pub(crate) fn replace(self) -> Result<u64> {
        let (temporary, target) = self.close()?;
        let failed = |action| {
            let path = target.clone();
            move |source| Error::Io {
                action,
                path,
                source,
            }
        };
        let length = std::fs::metadata(&temporary)
            .map_err(failed("read the size of"))?
            .len();
        temporary
            .persist(&target)
            .map_err(|error| failed("replace")(error.error))?;
        sync_folder(&target)?;
        Ok(length)
    }

    fn close(self) -> Result<(TempPath, PathBuf)> {
        let Self {
            cache_bytes,
            database,
            temporary,
            file,
            target,
            place,
            written_bytes,
            ..
        } = self;
        let io = |action| {
            let path = target.clone();
            move |source| Error::Io {
                action,
                path,
                source,
            }
        };
        // Closing writes the last pages and trims the free ones behind them.
        drop(database);
        let length = file.metadata().map_err(io("read the size of"))?.len();
        let expected = written_bytes.load(Ordering::Relaxed);
        if length > expected / 100 * SLACK_PERCENT {
            // redb doubles a file as it grows, and a page in use near the end keeps it so.
            let mut database = redb::Database::builder()
                .set_cache_size(cache_bytes)
                .open(&temporary)
                .map_err(|cause| place.opening(cause))?;
            database.compact().map_err(|cause| place.writing(cause))?;
        }
        file.sync_all().map_err(io("make durable"))?;
        Ok((temporary, target))
    }
}

/// The folder a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A temporary file with the mode that any new file of the user gets, or these permissions. Its
/// name does not hold the target's, which may be as long as a name can be.
fn new_named(folder: &Path, permissions: Option<Permissions>) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".simdb-").suffix(".new");
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    } else {
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Makes a name durable: without this a crash may undo the rename.
fn sync_folder(path: &Path) -> Result<()> {
    let syncing = |source| Error::Io {
        action: "make durable the folder of",
        path: path.to_path_buf(),
        source,
    };
    if cfg!(unix) {
        File::open(folder_of(path))
            .and_then(|folder| folder.sync_all())
            .map_err(syncing)?;
    }
    Ok(())
}
