//! A database file in the making, which appears under its name only when it is whole.

mod length;
mod write_behind;

use std::fs::{File, Permissions};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use redb::{ReadableDatabase, StorageBackend};
use tempfile::{NamedTempFile, TempPath};

use super::bands::BandMaker;
use super::chunk::{Entry, PAGE_BYTES};
use super::fault::Place;
use super::folder::{folder_of, sync_folder};
use super::packed::{Fill, chunks_of};
use super::schema::{self, Counters, Header, JournalMark};
use super::tables::{ReadTables, TableOf, WriteTables};
use super::write::WriteTransaction;
use crate::error::{Error, Result};
use length::{SCRATCH, SCRATCH_BYTES, may_shrink};
use write_behind::WriteBehind;

/// The share of the engine's cache that chunks may fill between two commits. A transaction that
/// fills more than half of it, with all other pages, writes its pages twice.
const CACHE_PER_COMMIT: usize = 3;

/// Chunks that are handed over at once to the thread that writes them.
const CHUNKS_PER_BATCH: usize = 64;
/// Batches that may wait for that thread: with those at either end 2 MiB.
const WAITING_BATCHES: usize = 6;

/// Fences and bytes of chunks that follow each other.
type Batch<E> = Vec<(E, Vec<u8>)>;

/// A cache for a look into a file that was just closed.
const LOOK_BYTES: usize = 1 << 20;

/// A new database under a temporary name in the folder of its target. Dropped before it is
/// placed, it is removed. redb can leave a file behind that never opens when creating one is cut
/// short, which is why no database is ever created under its own name.
pub(crate) struct NewFile {
    database: redb::Database,
    temporary: TempPath,
    file: File,
    disk: WriteBehind,
    target: PathBuf,
    header: Header,
    cache_bytes: usize,
    place: Place,
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
        let of_no_journal = (schema::new_identity(), JournalMark::default());
        Self::create_beside(target, header, cache_bytes, permissions, of_no_journal)
    }

    /// Like [`create`](Self::create), for a target that may be there and be replaced, and whose
    /// identity and journal mark are known.
    pub(crate) fn create_beside(
        target: &Path,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<Permissions>,
        journal: (u64, JournalMark),
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
        let disk = file
            .try_clone()
            .and_then(WriteBehind::new)
            .map_err(creating)?;
        let database = redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(disk.clone())
            .map_err(|cause| place.opening(cause))?;
        let mut new = Self {
            database,
            temporary,
            file,
            disk,
            target: target.to_path_buf(),
            header: header.clone(),
            cache_bytes,
            place,
        };
        new.initialise(journal)?;
        Ok(new)
    }

    /// Writes what every database has, and makes the number of pages a power of two.
    fn initialise(&mut self, (identity, mark): (u64, JournalMark)) -> Result<()> {
        let writing = |cause: redb::TableError| self.place.writing(cause);
        let transaction = self.begin()?;
        WriteTables::of(&transaction, &self.place, self.header.keeps())?;
        {
            transaction.open_table(schema::TEXTS).map_err(writing)?;
            let mut meta = transaction.open_table(schema::META).map_err(writing)?;
            schema::write_header(&mut meta, &self.header, &self.place)?;
            schema::write_counters(&mut meta, &Counters::default(), &self.place)?;
            schema::write_identity(&mut meta, identity, &self.place)?;
            schema::write_journal_mark(&mut meta, &mark, &self.place)?;
            let mut scratch = transaction.open_table(SCRATCH).map_err(writing)?;
            for (key, bytes) in SCRATCH_BYTES.into_iter().enumerate() {
                scratch
                    .insert(key as u64, vec![0; bytes].as_slice())
                    .map_err(|cause| self.place.writing(cause))?;
            }
        }
        self.commit(transaction)?;
        self.database
            .compact()
            .map_err(|cause| self.place.writing(cause))?;
        let transaction = self.begin()?;
        transaction.delete_table(SCRATCH).map_err(writing)?;
        self.commit(transaction)
    }

    fn commit(&self, transaction: redb::WriteTransaction) -> Result<()> {
        transaction
            .commit()
            .map_err(|cause| self.place.committing(cause))
    }

    /// For errors: the file that this one will be.
    pub(crate) fn place_in_errors(&self) -> &Place {
        &self.place
    }

    /// Starts a write transaction in the new file.
    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        let transaction = self.begin_at_length()?;
        let keeps = self.header.keeps();
        WriteTransaction::of(transaction, &self.place, keeps, self.bands())
    }

    /// What makes the bands of the new file, if it keeps any.
    pub(crate) fn bands(&self) -> Option<BandMaker> {
        self.header.bands.is_some().then(BandMaker::default)
    }

    /// Begins a transaction without quick repair: nobody opens the file after a crash.
    fn begin(&self) -> Result<redb::WriteTransaction> {
        self.database
            .begin_write()
            .map_err(|cause| self.place.writing(cause))
    }

    /// Begins a transaction whose commit leaves the length of the file as it is. A durable commit
    /// might cut the file, so where that might be this one is not durable. Everywhere else it is:
    /// redb keeps a list in memory of all pages written since the last durable one, which so
    /// never exceeds half a region, some 50 MiB of it.
    fn begin_at_length(&self) -> Result<redb::WriteTransaction> {
        let mut transaction = self.begin()?;
        let length = self.disk.len().map_err(|source| Error::Io {
            action: "read the size of",
            path: self.target.clone(),
            source,
        })?;
        // The cache bounds what this transaction will write, and what is not written yet.
        if may_shrink(length, self.disk.end(), self.cache_bytes as u64) {
            transaction
                .set_durability(redb::Durability::None)
                .map_err(|cause| self.place.writing(cause))?;
        }
        Ok(transaction)
    }

    /// Writes entries in ascending order into a table that is still empty, and returns how many
    /// they were. What gives the entries, and cutting them into chunks, runs here; what writes
    /// the chunks, beside it on a thread. Each page is written once: commits come often enough
    /// for the engine's cache.
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
        let kind = table(&mut self.write()?.tables()?).kind();
        let mut count = 0;
        let chunks = chunks_of(kind, fill, entries.inspect(|_| count += 1));
        std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(WAITING_BATCHES);
            let writer = scope.spawn(|| self.append_batches(table, batches));
            let sent = send(chunks, &sender);
            drop(sender);
            writer.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            sent
        })?;
        Ok(count)
    }

    fn append_batches<E: Entry>(
        &self,
        table: TableOf<E>,
        batches: Receiver<Batch<E>>,
    ) -> Result<()> {
        let chunks_per_commit = (self.cache_bytes / PAGE_BYTES / CACHE_PER_COMMIT).max(1);
        let mut chunks = batches.into_iter().flatten().peekable();
        while chunks.peek().is_some() {
            let mut transaction = self.write()?;
            table(&mut transaction.tables_to_change()?)
                .append(chunks.by_ref().take(chunks_per_commit))?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// The packed tables as of the last commit.
    pub(crate) fn read(&self) -> Result<ReadTables> {
        let transaction = self
            .database
            .begin_read()
            .map_err(|cause| self.place.reading(cause))?;
        ReadTables::of(&transaction, &self.place, self.header.keeps())
    }

    /// Empties a table.
    pub(crate) fn clear<E: Entry>(&self, table: TableOf<E>) -> Result<()> {
        let kind = table(&mut self.write()?.tables()?).kind();
        let transaction = self.begin_at_length()?;
        transaction
            .delete_table(kind.definition::<E>())
            .map_err(|cause| self.place.writing(cause))?;
        self.commit(transaction)
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

    /// Closes the database, which cuts off what is free at its end, and makes the file durable.
    ///
    /// redb keeps silent about what goes wrong while it closes a file. So all that is in it is made
    /// durable before, and looked at after.
    fn close(self) -> Result<(TempPath, PathBuf)> {
        self.commit(self.begin()?)?;
        let expected = self.counters()?;
        let Self {
            database,
            temporary,
            disk,
            target,
            place,
            ..
        } = self;
        // Not here, where a panic may be on its way: then redb would leave the file as it is.
        std::thread::scope(|scope| scope.spawn(|| drop(database)).join())
            .unwrap_or_else(|panic| resume_unwind(panic));
        disk.finish().map_err(|source| Error::Io {
            action: "make durable",
            path: target.clone(),
            source,
        })?;
        let closed = redb::Database::builder()
            .set_cache_size(LOOK_BYTES)
            .open_read_only(&temporary)
            .map_err(|cause| place.opening(cause))?;
        if counters_of(&closed, &place)? != expected {
            return Err(place.corrupt("what was written is not what is read back"));
        }
        Ok((temporary, target))
    }

    fn counters(&self) -> Result<Counters> {
        counters_of(&self.database, &self.place)
    }
}

fn counters_of(database: &impl ReadableDatabase, place: &Place) -> Result<Counters> {
    let transaction = database
        .begin_read()
        .map_err(|cause| place.reading(cause))?;
    let meta = transaction
        .open_table(schema::META)
        .map_err(|cause| place.reading(cause))?;
    schema::read_counters(&meta, place)
}

/// Hands chunks over in batches, for as long as somebody takes them.
fn send<E: Entry>(
    mut chunks: impl Iterator<Item = Result<(E, Vec<u8>)>>,
    sender: &SyncSender<Batch<E>>,
) -> Result<()> {
    loop {
        let batch = chunks
            .by_ref()
            .take(CHUNKS_PER_BATCH)
            .collect::<Result<Batch<E>>>()?;
        if batch.is_empty() || sender.send(batch).is_err() {
            return Ok(());
        }
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
