//! A database file in the making, which appears under its name only when it is whole.

mod length;
mod temporary;
mod write_behind;

use std::fs::Permissions;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use redb::{ReadableDatabase, StorageBackend};

use crate::error::{Error, Result};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::disk::folder::sync_folder;
use crate::store::disk::page::PAGE_BYTES;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::pager::{CowFile, PageFile};
use crate::store::tables::bands::BandMaker;
use crate::store::tables::packed::chunk::Entry;
use crate::store::tables::packed::{Fill, chunks_of};
use crate::store::tables::schema::{self, Counters, Header, JournalMark};
use crate::store::tables::{ReadTables, TableOf, WriteTables};
use length::{SCRATCH, SCRATCH_BYTES, may_shrink};
use temporary::Temporary;
use write_behind::WriteBehind;

/// What to do where a new file is damaged before it has its name.
pub(crate) const NOT_MADE: &str = "it was not made, and nothing was changed; see to the disk, and \
                                   try again";

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
    temporary: Temporary,
    file: WriteBehind,
    header: Header,
    cache_bytes: usize,
    /// The target: errors name the file that the caller asked for.
    db_path: DbPath,
}

/// Refuses a name that something has already, be it a link that leads nowhere.
pub(crate) fn refuse_existing(target: &DbPath) -> Result<()> {
    match target.disk().link_info(target.path()) {
        Ok(_) => Err(Error::AlreadyExists {
            path: target.path().to_path_buf(),
        }),
        // Whatever else is wrong will be said when it is made.
        Err(_) => Ok(()),
    }
}

impl NewFile {
    /// Creates an empty database that will be placed at `target`, where nothing may be yet. The
    /// file gets no more permissions than those given, from the start.
    pub(crate) fn create(
        target: &DbPath,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<&Permissions>,
    ) -> Result<Self> {
        refuse_existing(target)?;
        let of_no_journal = (schema::new_identity(), JournalMark::default());
        Self::create_beside(target, header, cache_bytes, permissions, of_no_journal)
    }

    /// Like [`create`](Self::create), for a target that may be there and be replaced, and whose
    /// identity and journal mark are known.
    pub(crate) fn create_beside(
        target: &DbPath,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<&Permissions>,
        journal: (u64, JournalMark),
    ) -> Result<Self> {
        let db_path = target.in_the_making(target.path());
        let (file, temporary) = Temporary::create(&db_path, permissions)?;
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
        new.initialise(journal)?;
        Ok(new)
    }

    /// Writes what every database has, and makes the number of pages a power of two.
    fn initialise(&mut self, (identity, mark): (u64, JournalMark)) -> Result<()> {
        let transaction = self.begin()?;
        WriteTables::from_transaction(&transaction, &self.db_path, self.header.keeps())?;
        {
            transaction
                .open_table(schema::TEXTS)
                .writing(&self.db_path)?;
            let mut meta = transaction
                .open_table(schema::META)
                .writing(&self.db_path)?;
            schema::write_header(&mut meta, &self.header, &self.db_path)?;
            schema::write_counters(&mut meta, &Counters::default(), &self.db_path)?;
            schema::write_identity(&mut meta, identity, &self.db_path)?;
            schema::write_journal_mark(&mut meta, &mark, &self.db_path)?;
            let mut scratch = transaction.open_table(SCRATCH).writing(&self.db_path)?;
            for (key, bytes) in SCRATCH_BYTES.into_iter().enumerate() {
                scratch
                    .insert(key as u64, vec![0; bytes].as_slice())
                    .writing(&self.db_path)?;
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

    /// For errors: the file that this one will be.
    pub(crate) fn place_in_errors(&self) -> &DbPath {
        &self.db_path
    }

    /// Starts a write transaction in the new file.
    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        let transaction = self.begin_at_length()?;
        let keeps = self.header.keeps();
        WriteTransaction::new(transaction, &self.db_path, keeps, self.bands())
    }

    /// What makes the bands of the new file, if it keeps any.
    pub(crate) fn bands(&self) -> Option<BandMaker> {
        self.header.bands.is_some().then_some(BandMaker)
    }

    /// Begins a transaction without quick repair: nobody opens the file after a crash.
    fn begin(&self) -> Result<redb::WriteTransaction> {
        self.database.begin_write().writing(&self.db_path)
    }

    /// Begins a transaction whose commit leaves the length of the file as it is. A durable commit
    /// might cut the file, so where that might be this one is not durable. Everywhere else it is:
    /// redb keeps a list in memory of all pages written since the last durable one, which so
    /// never exceeds half a region, some 50 MiB of it.
    fn begin_at_length(&self) -> Result<redb::WriteTransaction> {
        let mut transaction = self.begin()?;
        let length = self
            .file
            .len()
            .map_err(self.db_path.io("read the size of"))?;
        // The cache bounds what this transaction will write, and what is not written yet.
        if may_shrink(length, self.file.end(), self.cache_bytes as u64) {
            transaction
                .set_durability(redb::Durability::None)
                .writing(&self.db_path)?;
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
        let kind = table(&mut self.write()?.tables()?).id();
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
        let kind = table(&mut self.write()?.tables()?).id();
        let transaction = self.begin_at_length()?;
        transaction
            .delete_table(kind.definition::<E>())
            .writing(&self.db_path)?;
        self.commit(transaction)
    }

    /// Makes the file durable and gives it its name, unless another file has taken that.
    pub(crate) fn publish(self) -> Result<()> {
        self.finish()?.publish()
    }

    /// Gives the file the permissions of the one it will replace.
    pub(crate) fn set_permissions(&self, permissions: &Permissions) -> Result<()> {
        let disk = self.db_path.disk();
        disk.set_permissions(self.temporary.path(), permissions)
            .map_err(self.db_path.io("set the permissions of"))
    }

    /// Closes the database, which cuts off what is free at its end, and makes the file durable.
    ///
    /// redb keeps silent about what goes wrong while it closes a file. So all that is in it is made
    /// durable before, and looked at after.
    pub(crate) fn finish(self) -> Result<FinishedFile> {
        self.commit(self.begin()?)?;
        let expected = self.counters()?;
        let Self {
            database,
            temporary,
            file,
            db_path,
            ..
        } = self;
        // Not here, where a panic may be on its way: then redb would leave the file as it is.
        std::thread::scope(|scope| scope.spawn(|| drop(database)).join())
            .unwrap_or_else(|panic| resume_unwind(panic));
        file.finish().map_err(db_path.io("make durable"))?;
        let closed = temporary.open().map_err(db_path.io("open"))?;
        let closed = PageFile::open(closed, &db_path)?;
        let closed = CowFile::new(closed).map_err(db_path.io("open"))?;
        let database = redb::Database::builder()
            .set_cache_size(LOOK_BYTES)
            .create_with_backend(closed.clone())
            .map_err(|cause| db_path.opening(cause))?;
        closed.close_soon();
        if counters_of(&database, &db_path)? != expected {
            let what = "what was written is not what is read back";
            return Err(db_path.corrupt_advising(what, NOT_MADE));
        }
        Ok(FinishedFile { temporary, db_path })
    }

    fn counters(&self) -> Result<Counters> {
        counters_of(&self.database, &self.db_path)
    }
}

/// A new file that is whole and durable, and has no name yet. Dropped, it is removed.
pub(crate) struct FinishedFile {
    temporary: Temporary,
    /// The target.
    db_path: DbPath,
}

impl FinishedFile {
    /// Where it can be looked at.
    pub(crate) fn at(&self) -> DbPath {
        self.db_path.beside(self.temporary.path())
    }

    /// Gives the file its name, unless another file has taken that.
    pub(crate) fn publish(self) -> Result<()> {
        let Self { temporary, db_path } = self;
        let path = db_path.path();
        temporary
            .persist_new(path)
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => Error::AlreadyExists {
                    path: path.to_path_buf(),
                },
                _ => db_path.io("create")(source),
            })?;
        sync_folder(db_path.disk(), path)
    }

    /// Puts the file in the place of the one that has the name now. Returns its length.
    pub(crate) fn replace(self) -> Result<u64> {
        let Self { temporary, db_path } = self;
        let info = db_path.disk().info(temporary.path());
        let length = info.map_err(db_path.io("read the size of"))?.len_bytes;
        temporary
            .persist(db_path.path())
            .map_err(db_path.io("replace"))?;
        sync_folder(db_path.disk(), db_path.path())?;
        Ok(length)
    }
}

fn counters_of(database: &impl ReadableDatabase, db_path: &DbPath) -> Result<Counters> {
    let transaction = database.begin_read().reading(db_path)?;
    let meta = transaction.open_table(schema::META).reading(db_path)?;
    schema::read_counters(&meta, db_path)
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
