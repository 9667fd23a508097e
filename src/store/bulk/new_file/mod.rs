//! [`NewFile`]: a new database file, which gets its name only when it is complete and durable.

mod length;
mod temporary_file;
mod write_behind;

use std::fs::Permissions;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use redb::{ReadableDatabase, StorageBackend};

use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::disk::PAGE_BYTES;
use crate::store::disk::path::{DbPath, RedbResult};
use crate::store::journal::Journal;
use crate::store::pager::{CowFile, PageFile};
use crate::store::tables::meta;
use crate::store::tables::meta::{Counters, Header, JournalMark};
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::packed::{Fill, Packed, encode_chunks};
use crate::store::tables::schema::{self, TableSpec};
use crate::store::tables::{TableEntry, WriteTables, frames};
use length::{SCRATCH, SCRATCH_BYTES, may_shrink};
pub(crate) use temporary_file::TemporaryFile;
use write_behind::WriteBehind;

/// A commit writes chunks of a third of redb's cache.
// A transaction of more than half of the cache, other pages included, writes its pages twice.
const CACHE_PER_COMMIT: usize = 3;

/// Chunks per batch for the writer thread: 256 KiB.
const CHUNKS_PER_BATCH: usize = 64;
/// Batches in the queue. With the two at its ends they take 2 MiB.
const WAITING_BATCHES: usize = 6;

/// Fences and bytes of consecutive chunks.
type ChunkBatch<E> = Vec<(E, Vec<u8>)>;

/// 1 MiB for redb's cache while counters are read back.
const READ_BACK_CACHE_BYTES: usize = 1 << 20;

/// A new database under a temporary name, because a crash while redb creates a file can leave a
/// file that never opens. The file is removed on drop.
pub(crate) struct NewFile {
    /// Declared before `database`, which writes while it is dropped.
    unfinished: Unfinished,
    database: redb::Database,
    temporary: TemporaryFile,
    file: WriteBehind,
    /// Declared after the other users of the file, so that it closes the file.
    _discarded: Discarded,
    header: Header,
    cache_bytes: usize,
    /// The target, which errors name instead of the temporary file.
    db_path: DbPath,
}

/// Abandons the file on drop, so that the end of an interrupted load does not wait for the disk.
struct Unfinished(Option<WriteBehind>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            file.abandon();
        }
    }
}

/// A larger file is closed on another thread: to free the memory of 400 MB takes 90 ms.
const CLOSED_AT_ONCE_BYTES: u64 = 64 << 20;

/// Closes the file when it has no name any more. If the file could not be written, its space on the
/// disk is free when the load returns.
struct Discarded(Option<WriteBehind>);

impl Drop for Discarded {
    fn drop(&mut self) {
        let Some(file) = self.0.take() else {
            return;
        };
        if file.is_abandoned() && file.end() > CLOSED_AT_ONCE_BYTES {
            let thread = Builder::new().name("simdb-close".into());
            // Without a thread the file is closed here.
            drop(thread.spawn(move || drop(file)));
        }
    }
}

/// Refuses the name of an existing file, folder or link, even of a dangling link.
pub(crate) fn refuse_existing(target: &DbPath) -> Result<()> {
    if target.path().as_os_str().is_empty() {
        return Err(Error::EmptyPath);
    }
    // Any other error is reported when the file is created.
    if target.disk().link_info(target.path()).is_err() {
        return Ok(());
    }
    Err(Error::AlreadyExists {
        path: target.path().to_path_buf(),
    })
}

impl NewFile {
    /// Creates an empty database for `target`, which must not exist. The file never has more than
    /// the given permissions.
    pub(crate) fn create(
        target: &DbPath,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<&Permissions>,
    ) -> Result<Self> {
        refuse_existing(target)?;
        Journal::refuse_left_behind(target)?;
        let journal = (meta::new_identity(), JournalMark::default());
        Self::create_replacement(target, header, cache_bytes, permissions, journal)
    }

    /// Creates an empty database to replace `target`, with its identity and journal mark.
    pub(crate) fn create_replacement(
        target: &DbPath,
        header: &Header,
        cache_bytes: usize,
        permissions: Option<&Permissions>,
        (identity, mark): (u64, JournalMark),
    ) -> Result<Self> {
        let db_path = target.unpublished(target.path());
        let (file, temporary) = TemporaryFile::create(&db_path, permissions)?;
        let file = WriteBehind::new(file, header.has_options()).map_err(db_path.io("create"))?;
        let database = redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(file.clone())
            .map_err(|cause| db_path.opening(cause))?;
        let mut new = Self {
            unfinished: Unfinished(Some(file.clone())),
            _discarded: Discarded(Some(file.clone())),
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

    /// Writes the settings and the empty tables; for the scratch values see [`length`].
    fn initialise(&mut self, identity: u64, mark: &JournalMark) -> Result<()> {
        let db_path = &self.db_path;
        let transaction = self.begin()?;
        WriteTables::of_write(&transaction, db_path, self.header.keeps())?;
        {
            transaction.open_table(schema::TEXTS).writing(db_path)?;
            if self.header.frames > 0 {
                transaction.open_table(frames::FRAMES).writing(db_path)?;
            }
            let mut meta = transaction.open_table(meta::META).writing(db_path)?;
            meta::write_header(&mut meta, &self.header, db_path)?;
            meta::write_counters(&mut meta, &Counters::default(), db_path)?;
            meta::write_identity(&mut meta, identity, db_path)?;
            meta::write_journal_mark(&mut meta, mark, db_path)?;
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

    pub(crate) fn db_path(&self) -> &DbPath {
        &self.db_path
    }

    pub(crate) fn write(&self) -> Result<WriteTransaction> {
        let transaction = self.begin_keeping_length()?;
        WriteTransaction::new(transaction, &self.db_path, &self.header)
    }

    /// Begins without quick repair: the file is never opened after a crash.
    fn begin(&self) -> Result<redb::WriteTransaction> {
        self.database.begin_write().writing(&self.db_path)
    }

    /// Begins a transaction whose commit does not cut the file: see [`length`].
    fn begin_keeping_length(&self) -> Result<redb::WriteTransaction> {
        let mut transaction = self.begin()?;
        let length = (self.file.len()).map_err(self.db_path.io("read the size of"))?;
        // Only a durable commit can cut the file. Commits that cannot cut it stay durable: redb
        // keeps a list of the pages written since the last durable commit, which takes 50 MiB for
        // half a region. The cache bounds the pages of this transaction, and those not written yet.
        if may_shrink(length, self.file.end(), self.cache_bytes as u64) {
            transaction
                .set_durability(redb::Durability::None)
                .writing(&self.db_path)?;
        }
        Ok(transaction)
    }

    /// Writes ascending entries to an empty table, and returns their number. Another thread writes
    /// the chunks.
    pub(crate) fn append<E: TableEntry>(
        &self,
        table: TableSpec<E>,
        entries: impl Iterator<Item = Result<E>>,
    ) -> Result<u64> {
        let fill = if self.header.frozen {
            Fill::Full
        } else {
            Fill::Room
        };
        let mut count = 0;
        let chunks = encode_chunks(table.id, fill, entries.inspect(|_| count += 1));
        std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(WAITING_BATCHES);
            let writer = scope.spawn(|| self.append_batches(table, batches));
            let sent = send(chunks, &sender);
            if sent.is_err() {
                self.file.abandon();
            }
            drop(sender);
            let written = writer.join().unwrap_or_else(|panic| resume_unwind(panic));
            sent.and(written)
        })?;
        Ok(count)
    }

    fn append_batches<E: TableEntry>(
        &self,
        table: TableSpec<E>,
        batches: Receiver<ChunkBatch<E>>,
    ) -> Result<()> {
        let chunks_per_commit = (self.cache_bytes / PAGE_BYTES / CACHE_PER_COMMIT).max(1);
        let mut chunks = batches.into_iter().flatten().peekable();
        while chunks.peek().is_some() {
            let mut transaction = self.write()?;
            let mut open = transaction.table_mut(table)?;
            open.append(chunks.by_ref().take(chunks_per_commit))?;
            drop(open);
            transaction.commit()?;
        }
        Ok(())
    }

    /// A table that the file keeps, as it is written.
    pub(crate) fn read<E: TableEntry>(
        &self,
        table: TableSpec<E>,
    ) -> Result<Packed<redb::ReadOnlyTable<E, &'static [u8]>>> {
        let transaction = self.database.begin_read().reading(&self.db_path)?;
        let open = transaction.open_table(table.id.definition::<E>());
        Ok(Packed::new(
            open.reading(&self.db_path)?,
            table.id,
            self.db_path.clone(),
        ))
    }

    pub(crate) fn clear<E: TableEntry>(&self, table: TableSpec<E>) -> Result<()> {
        let transaction = self.begin_keeping_length()?;
        transaction
            .delete_table(table.id.definition::<E>())
            .writing(&self.db_path)?;
        self.commit(transaction)
    }

    /// [`finish`](Self::finish), then [`TemporaryFile::publish`].
    pub(crate) fn publish(self) -> Result<()> {
        self.finish()?.publish()
    }

    pub(crate) fn set_permissions(&self, permissions: &Permissions) -> Result<()> {
        let disk = self.db_path.disk();
        disk.set_permissions(self.temporary.path(), permissions)
            .map_err(self.db_path.io("set the permissions of"))
    }

    /// Closes the database, which cuts off the free pages, and makes the file durable.
    pub(crate) fn finish(self) -> Result<TemporaryFile> {
        // redb drops errors while it closes a file: so commit before, and read back after.
        self.commit(self.begin()?)?;
        let expected = counters_of(&self.database, &self.db_path)?;
        let Self {
            mut unfinished,
            database,
            temporary,
            file,
            db_path,
            ..
        } = self;
        unfinished.0 = None;
        // Another thread closes the file: in a panicking thread redb would not close it.
        std::thread::scope(|scope| scope.spawn(|| drop(database)).join())
            .unwrap_or_else(|panic| resume_unwind(panic));
        file.finish().map_err(db_path.io("make durable"))?;
        let closed = temporary.open().map_err(db_path.io("open"))?;
        let closed = CowFile::new(PageFile::open(closed, &db_path)?).map_err(db_path.io("open"))?;
        let database = redb::Database::builder()
            .set_cache_size(READ_BACK_CACHE_BYTES)
            .create_with_backend(closed.clone())
            .map_err(|cause| db_path.opening(cause))?;
        closed.refuse_writes();
        if counters_of(&database, &db_path)? != expected {
            let what = "what was written is not what is read back";
            return Err(db_path.corrupt_advising(what, Advice::CheckDisk));
        }
        Ok(temporary)
    }
}

fn counters_of(database: &impl ReadableDatabase, db_path: &DbPath) -> Result<Counters> {
    let transaction = database.begin_read().reading(db_path)?;
    let meta = transaction.open_table(meta::META).reading(db_path)?;
    meta::read_counters(&meta, db_path)
}

/// Sends chunks in batches. A failed write drops the receiver, and returns the error itself.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_file_has_256_pages_behind_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let target = DbPath::on_system_disk(&folder.path().join("store"));
        for keeps in [false, true] {
            let header = Header {
                recipe: String::new(),
                keep_texts: keeps,
                text_keys: keeps.then(String::new),
                frozen: false,
                retention: keeps.then(crate::Retention::default),
                keys: keeps,
                fields: keeps,
                copies: u16::from(keeps),
                scopes: keeps,
                frames: 10 * u16::from(keeps),
            };
            let file = NewFile::create(&target, &header, 1 << 20, None).unwrap();
            assert_eq!(file.file.len().unwrap(), 257 * PAGE_BYTES as u64);
        }
    }
}
