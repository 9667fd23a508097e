//! [`NewFile`]: a database file in the making, which appears under its name only when it is whole.

mod length;
mod temporary_file;
mod write_behind;

use std::fs::Permissions;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use redb::{ReadableDatabase, StorageBackend};

use crate::error::{Error, Result};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::disk::folder::sync_folder;
use crate::store::disk::page::PAGE_BYTES;
use crate::store::disk::path::{DbPath, RedbResult};
use crate::store::pager::{CowFile, PageFile};
use crate::store::tables::bands::BandMaker;
use crate::store::tables::packed::chunk::Entry;
use crate::store::tables::packed::{Fill, encode_chunks};
use crate::store::tables::schema::{self, Counters, Header, JournalMark};
use crate::store::tables::{ReadTables, TableOf, WriteTables};
use length::{SCRATCH, SCRATCH_BYTES, may_shrink};
use temporary_file::TemporaryFile;
use write_behind::WriteBehind;

/// The advice if a new file is damaged before it has its name.
pub(crate) const NOT_MADE: &str = "it was not made, and nothing was changed; see to the disk, and \
                                   try again";

/// The share of redb's cache that chunks may fill between two commits. A transaction that fills
/// more than half of the cache, with all other pages, writes its pages twice.
const CACHE_PER_COMMIT: usize = 3;

/// Chunks that are handed at once to the thread that writes them.
const CHUNKS_PER_BATCH: usize = 64;
/// Batches that may wait for that thread: with those at either end 2 MiB.
const WAITING_BATCHES: usize = 6;

/// Fences and bytes of consecutive chunks.
type ChunkBatch<E> = Vec<(E, Vec<u8>)>;

/// redb's cache while a file that was just closed is read back.
const READ_BACK_CACHE_BYTES: usize = 1 << 20;

/// A new database under a temporary name in the folder of its target. Dropped before it is
/// published, the file is removed. redb can leave a file behind that never opens if creating one is
/// cut short, which is why no database is ever created under its own name.
pub(crate) struct NewFile {
    database: redb::Database,
    temporary: TemporaryFile,
    file: WriteBehind,
    header: Header,
    cache_bytes: usize,
    /// The target: errors name the file that the caller asked for.
    db_path: DbPath,
}

/// Refuses a name that a file, a folder or a link has already, even a link that leads nowhere.
pub(crate) fn refuse_existing(target: &DbPath) -> Result<()> {
    // Any other error is reported when the file is created.
    if target.disk().link_info(target.path()).is_err() {
        return Ok(());
    }
    Err(Error::AlreadyExists {
        path: target.path().to_path_buf(),
    })
}

impl NewFile {
    /// Creates an empty database that will be published at `target`, where nothing may be yet. The
    /// file gets no more permissions than those given, from the start.
    pub(crate) fn create(
        target: &DbPath,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<&Permissions>,
    ) -> Result<Self> {
        refuse_existing(target)?;
        let journal = (schema::new_identity(), JournalMark::default());
        Self::create_replacement(target, header, cache_bytes, permissions, journal)
    }

    /// Creates an empty database that may replace one at `target`, with the identity and the
    /// journal mark of that.
    pub(crate) fn create_replacement(
        target: &DbPath,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<&Permissions>,
        (identity, mark): (u64, JournalMark),
    ) -> Result<Self> {
        let db_path = target.unpublished(target.path());
        let (file, temporary) = TemporaryFile::create(&db_path, permissions)?;
        let file = WriteBehind::new(file).map_err(db_path.io("create"))?;
        let database = redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(file.clone())
            .map_err(|cause| db_path.opening(cause))?;
        let mut new = Self {
            database,
            temporary,
            file,
            header: header.clone(),
            cache_bytes,
            db_path,
        };
        new.initialise(identity, &mark)?;
        Ok(new)
    }

    /// Writes the settings and the empty tables, and makes the number of pages a power of two (see
    /// [`length`]).
    fn initialise(&mut self, identity: u64, mark: &JournalMark) -> Result<()> {
        let db_path = &self.db_path;
        let transaction = self.begin()?;
        WriteTables::from_transaction(&transaction, db_path, self.header.keeps())?;
        {
            transaction.open_table(schema::TEXTS).writing(db_path)?;
            let mut meta = transaction.open_table(schema::META).writing(db_path)?;
            schema::write_header(&mut meta, &self.header, db_path)?;
            schema::write_counters(&mut meta, &Counters::default(), db_path)?;
            schema::write_identity(&mut meta, identity, db_path)?;
            schema::write_journal_mark(&mut meta, mark, db_path)?;
            let mut scratch = transaction.open_table(SCRATCH).writing(db_path)?;
            for (key, bytes) in (0..).zip(SCRATCH_BYTES) {
                let value = vec![0; bytes];
                scratch.insert(key, value.as_slice()).writing(db_path)?;
            }
        }
        self.commit(transaction)?;
        self.database.compact().writing(&self.db_path)?;
        let transaction = self.begin()?;
        transaction.delete_table(SCRATCH).writing(&self.db_path)?;
        self.commit(transaction)
    }

    fn commit(&self, transaction: redb::WriteTransaction) -> Result<()> {
        transaction
            .commit()
            .map_err(|cause| self.db_path.committing(cause))
    }

    /// The target, for errors.
    pub(crate) fn db_path(&self) -> &DbPath {
        &self.db_path
    }

    /// Starts a write transaction in the new file.
    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        let transaction = self.begin_keeping_length()?;
        let keeps = self.header.keeps();
        WriteTransaction::new(transaction, &self.db_path, keeps, self.bands())
    }

    /// The maker of the bands of the new file, if the file keeps any.
    pub(crate) fn bands(&self) -> Option<BandMaker> {
        self.header.bands.is_some().then_some(BandMaker)
    }

    /// Begins a transaction without quick repair, because the file is not opened after a crash.
    fn begin(&self) -> Result<redb::WriteTransaction> {
        self.database.begin_write().writing(&self.db_path)
    }

    /// Begins a transaction whose commit leaves the length of the file as it is (see [`length`]).
    fn begin_keeping_length(&self) -> Result<redb::WriteTransaction> {
        let mut transaction = self.begin()?;
        let length = (self.file.len()).map_err(self.db_path.io("read the size of"))?;
        // A durable commit might cut the file. All commits that cannot are durable all the same:
        // redb lists in memory the pages written since the last durable commit, which are so at
        // most half a region, for which the list takes some 50 MiB.
        //
        // The cache bounds the pages that this transaction will write, and those not written yet.
        if may_shrink(length, self.file.end(), self.cache_bytes as u64) {
            transaction
                .set_durability(redb::Durability::None)
                .writing(&self.db_path)?;
        }
        Ok(transaction)
    }

    /// Writes entries in ascending order into a table that is still empty, and returns their
    /// number. The entries are made and cut into chunks here, and the chunks are written beside
    /// that, on a thread. Each page is written once: commits come often enough for redb's cache.
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
        let id = table(&mut self.write()?.tables()?).id();
        let mut count = 0;
        let chunks = encode_chunks(id, fill, entries.inspect(|_| count += 1));
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
        batches: Receiver<ChunkBatch<E>>,
    ) -> Result<()> {
        let chunks_per_commit = (self.cache_bytes / PAGE_BYTES / CACHE_PER_COMMIT).max(1);
        let mut chunks = batches.into_iter().flatten().peekable();
        while chunks.peek().is_some() {
            let mut transaction = self.write()?;
            table(&mut transaction.tables_mut()?)
                .append(chunks.by_ref().take(chunks_per_commit))?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// The packed tables as of the last commit.
    pub(crate) fn read(&self) -> Result<ReadTables> {
        let transaction = self.database.begin_read().reading(&self.db_path)?;
        ReadTables::from_transaction(&transaction, &self.db_path, self.header.keeps(), ())
    }

    /// Empties a table.
    pub(crate) fn clear<E: Entry>(&self, table: TableOf<E>) -> Result<()> {
        let id = table(&mut self.write()?.tables()?).id();
        let transaction = self.begin_keeping_length()?;
        transaction
            .delete_table(id.definition::<E>())
            .writing(&self.db_path)?;
        self.commit(transaction)
    }

    /// Makes the file durable and gives it its name, unless another file has taken the name.
    pub(crate) fn publish(self) -> Result<()> {
        self.finish()?.publish()
    }

    /// Gives the file the permissions of the one it will replace.
    pub(crate) fn set_permissions(&self, permissions: &Permissions) -> Result<()> {
        let disk = self.db_path.disk();
        disk.set_permissions(self.temporary.path(), permissions)
            .map_err(self.db_path.io("set the permissions of"))
    }

    /// Closes the database, which cuts off the free pages at its end, and makes the file durable.
    pub(crate) fn finish(self) -> Result<FinishedFile> {
        // redb says nothing of an error while it closes a file. So everything in the file is made
        // durable before, and read back after.
        self.commit(self.begin()?)?;
        let expected = counters_of(&self.database, &self.db_path)?;
        let Self {
            database,
            temporary,
            file,
            db_path,
            ..
        } = self;
        // Closed on another thread: if this thread is panicking, redb leaves the file as it is.
        std::thread::scope(|scope| scope.spawn(|| drop(database)).join())
            .unwrap_or_else(|panic| resume_unwind(panic));
        file.finish().map_err(db_path.io("make durable"))?;
        let closed = temporary.open().map_err(db_path.io("open"))?;
        let closed = CowFile::new(PageFile::open(closed, &db_path)?).map_err(db_path.io("open"))?;
        let database = redb::Database::builder()
            .set_cache_size(READ_BACK_CACHE_BYTES)
            .create_with_backend(closed.clone())
            .map_err(|cause| db_path.opening(cause))?;
        closed.close_soon();
        if counters_of(&database, &db_path)? != expected {
            let what = "what was written is not what is read back";
            return Err(db_path.corrupt_advising(what, NOT_MADE));
        }
        Ok(FinishedFile { temporary, db_path })
    }
}

/// A new file that is whole and durable, and has no name yet. Dropped, it is removed.
pub(crate) struct FinishedFile {
    temporary: TemporaryFile,
    /// The target.
    db_path: DbPath,
}

impl FinishedFile {
    /// The path under which the file can be read.
    pub(crate) fn temporary_path(&self) -> DbPath {
        self.db_path.with_path(self.temporary.path())
    }

    /// Gives the file its name, unless another file has taken the name.
    pub(crate) fn publish(self) -> Result<()> {
        let Self { temporary, db_path } = self;
        temporary
            .persist_new()
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => Error::AlreadyExists {
                    path: db_path.path().to_path_buf(),
                },
                _ => db_path.io("create")(source),
            })?;
        sync_folder(db_path.disk(), db_path.path())
    }

    /// Puts the file in the place of the one that has the name now. Returns its length.
    pub(crate) fn replace(self) -> Result<u64> {
        let Self { temporary, db_path } = self;
        let info = db_path.disk().info(temporary.path());
        let len_bytes = info.map_err(db_path.io("read the size of"))?.len_bytes;
        temporary.persist().map_err(db_path.io("replace"))?;
        sync_folder(db_path.disk(), db_path.path())?;
        Ok(len_bytes)
    }
}

fn counters_of(database: &impl ReadableDatabase, db_path: &DbPath) -> Result<Counters> {
    let transaction = database.begin_read().reading(db_path)?;
    let meta = transaction.open_table(schema::META).reading(db_path)?;
    schema::read_counters(&meta, db_path)
}

/// Hands chunks over in batches, for as long as the receiver takes them.
fn send<E: Entry>(
    mut chunks: impl Iterator<Item = Result<(E, Vec<u8>)>>,
    sender: &SyncSender<ChunkBatch<E>>,
) -> Result<()> {
    loop {
        let batch = chunks
            .by_ref()
            .take(CHUNKS_PER_BATCH)
            .collect::<Result<ChunkBatch<E>>>()?;
        if batch.is_empty() || sender.send(batch).is_err() {
            return Ok(());
        }
    }
}
