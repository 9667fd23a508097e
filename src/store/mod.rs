//! Everything on disk: one redb file in the layout of [`schema`].
//!
//! The only folder that names redb, and the only one that touches a file.

pub(crate) mod bulk;
mod commit;
pub(crate) mod disk;
mod journal;
pub(crate) mod maintenance;
mod memtable;
mod pager;
mod tables;
mod view;

use crate::store::disk::path::RedbResult;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use bulk::new_file::NewFile;
use commit::CommitState;
pub(crate) use commit::flush_options::FlushOptions;
pub(crate) use commit::write_lock::WriteGuard;
pub(crate) use commit::write_transaction::WriteTransaction;
pub(crate) use disk::path::DbPath;
use pager::redb_handle::RedbHandle;
use pager::{CowFile, PageFile};
pub(crate) use tables::bands::BandMaker;
pub(crate) use tables::edit::{BandedText, DocumentEdit, StoredDocument, TextEdit};
pub(crate) use tables::packed::Step;
pub(crate) use tables::schema::Header;
use tables::schema::{self, JournalMark};
pub(crate) use tables::texts::refuse_too_long;
pub(crate) use view::View;
pub(crate) use view::bucket_cache::Bucket;
use view::bucket_cache::BucketCache;
use view::pool::Pool;
pub(crate) use view::read_view::ReadView;
pub(crate) use view::source::{DocumentsOf, FingerprintSource, SCANNED};

/// An open database file.
#[derive(Debug)]
pub(crate) struct Store {
    /// Shared with every read view, which would lose the file under its feet otherwise.
    handle: Arc<Backend>,
    runs: Arc<BucketCache>,
    pool: Arc<Pool>,
    commit_state: CommitState,
    flush_options: FlushOptions,
    db_path: DbPath,
    header: Header,
    /// Made the way the database keeps them, if it does.
    bands: BandMaker,
}

/// The share of a cache that keeps runs; the rest is the engine's, for pages.
const RUNS_SHARE: usize = 2;

pub(crate) enum Backend {
    Writable(RedbHandle),
    /// What the engine writes is kept in memory.
    ReadOnly(RedbHandle, CowFile),
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Writable(_) => "Writable",
            Self::ReadOnly(..) => "ReadOnly",
        })
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Self::ReadOnly(_, file) = self {
            file.close_soon();
        }
    }
}

impl Store {
    /// Creates an empty database. It appears under its name only when it is whole and durable.
    pub(crate) fn create(db_path: &DbPath, header: Header, cache_bytes: usize) -> Result<Self> {
        if header.frozen {
            let path = db_path.path().to_path_buf();
            return Err(Error::FrozenEmpty { path });
        }
        NewFile::create(db_path, &header, cache_bytes, None)?.publish()?;
        Self::open(db_path, cache_bytes)
    }

    /// Opens a database for reading and writing. After a crash this mends the file, in about a
    /// millisecond, since every commit leaves behind what that takes.
    pub(crate) fn open(db_path: &DbPath, cache_bytes: usize) -> Result<Self> {
        Self::open_with(db_path, cache_bytes, true, |pages, builder| {
            let database = builder
                .create_with_backend(pages)
                .map_err(|cause| db_path.opening(cause))?;
            Ok(Backend::Writable(RedbHandle::new(database)))
        })
    }

    /// Opens a database for reading only, beside others who do the same. Nothing is written, also
    /// where there is something to mend.
    pub(crate) fn open_read_only(db_path: &DbPath, cache_bytes: usize) -> Result<Self> {
        Self::open_with(db_path, cache_bytes, false, |pages, builder| {
            let file = CowFile::new(pages).map_err(db_path.io("open"))?;
            let database = builder
                .create_with_backend(file.clone())
                .map_err(|cause| db_path.opening(cause))?;
            Ok(Backend::ReadOnly(RedbHandle::new(database), file))
        })
    }

    /// Opens the file that has the name, and not one that lost it to a vacuum in the meantime.
    fn open_with(
        db_path: &DbPath,
        cache_bytes: usize,
        to_write: bool,
        open: impl Fn(PageFile, &redb::Builder) -> Result<Backend>,
    ) -> Result<Self> {
        let run_bytes = cache_bytes / RUNS_SHARE;
        let mut builder = redb::Database::builder();
        builder.set_cache_size(cache_bytes - run_bytes);
        loop {
            let before = identity(db_path)?;
            let store = db_path.guarded(|| {
                let disk = db_path.disk();
                let file = disk.open(db_path.path(), to_write);
                let file = file.map_err(db_path.io("open"))?;
                // Before anything is read, which somebody may be writing.
                if !file.try_lock(to_write).map_err(db_path.io("lock"))? {
                    let path = db_path.path().to_path_buf();
                    return Err(Error::Locked { path });
                }
                // It may have lost its name while somebody else had it locked.
                if identity(db_path)? != before {
                    return Ok(None);
                }
                let handle = open(PageFile::open(file, db_path)?, &builder)?;
                let runs = BucketCache::new(run_bytes as u64);
                Self::with_handle(handle, runs, db_path.clone()).map(Some)
            })?;
            if let Some(store) = store
                && identity(db_path)? == before
            {
                return Ok(store);
            }
        }
    }

    fn with_handle(handle: Backend, runs: BucketCache, db_path: DbPath) -> Result<Self> {
        let transaction = handle.begin_read().reading(&db_path)?;
        let meta = transaction
            .open_table(schema::META)
            .map_err(|cause| match cause {
                // Some other program's redb file.
                redb::TableError::TableDoesNotExist(_)
                | redb::TableError::TableTypeMismatch { .. } => Error::NotADatabase {
                    path: db_path.path().to_path_buf(),
                    source: Some(Box::new(cause)),
                },
                cause => db_path.reading(cause),
            })?;
        let header = schema::read_header(&meta, &db_path)?;
        let bands = band_maker(&header, &db_path)?;
        let identity = schema::read_identity(&meta, &db_path)?;
        let mark = schema::read_journal_mark(&meta, &db_path)?;
        let counts = schema::read_counters(&meta, &db_path)?.counts();
        drop(meta);
        let for_writing = matches!(handle, Backend::Writable(_));
        let pool = Arc::<Pool>::default();
        let commit_state =
            CommitState::recover(identity, mark, counts, &db_path, &pool, for_writing)?;
        Ok(Self {
            handle: Arc::new(handle),
            runs: Arc::new(runs),
            pool,
            commit_state,
            flush_options: FlushOptions::default(),
            db_path,
            header,
            bands,
        })
    }

    /// The same, merged at another flush_options.
    pub(crate) fn with_flush_options(self, flush_options: FlushOptions) -> Self {
        Self {
            flush_options,
            ..self
        }
    }

    pub(crate) fn flush_options(&self) -> FlushOptions {
        self.flush_options
    }

    /// The path the database was opened under.
    pub(crate) fn path(&self) -> &Path {
        self.db_path.path()
    }

    /// What was fixed at creation.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Which database this is, and what its journal must know of it, as of the last commit.
    pub(crate) fn journal_mark(&self) -> Result<(u64, JournalMark)> {
        let db_path = &self.db_path;
        let transaction = (self.handle.begin_read()).reading(db_path)?;
        let meta = transaction.open_table(schema::META).reading(db_path)?;
        Ok((
            schema::read_identity(&meta, db_path)?,
            schema::read_journal_mark(&meta, db_path)?,
        ))
    }

    /// The tables as of the last commit to them, `whole` if no merge can have come half way.
    fn read_tables(&self, whole: bool) -> Result<ReadView> {
        let transaction = self.handle.begin_read().reading(&self.db_path)?;
        let mut view = ReadView::of(
            transaction,
            Arc::clone(&self.handle),
            Arc::clone(&self.runs),
            Arc::clone(&self.pool),
            &self.db_path.only_read(),
            self.header.keeps(),
        )?;
        view.tables.whole = whole;
        Ok(view)
    }

    /// Does work that may go on on all cores.
    pub(crate) fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.run(work)
    }

    /// What makes the bands of texts, whether they are kept or not.
    pub(crate) fn band_maker(&self) -> &BandMaker {
        &self.bands
    }

    /// The same, if they are kept.
    fn bands(&self) -> Option<&BandMaker> {
        self.header.bands.as_ref().map(|_| &self.bands)
    }

    /// A text as this database keeps it. Its bands are made here, where many threads may wait
    /// for it, and not by the one that writes.
    pub(crate) fn banded(&self, text: String) -> Arc<BandedText> {
        match self.bands() {
            Some(bands) => bands.banded(text),
            None => BandedText::new(text, Vec::new()),
        }
    }

    fn is_read_only(&self) -> bool {
        matches!(*self.handle, Backend::ReadOnly(..))
    }

    /// An error where nothing can be changed.
    pub(crate) fn refuse_changes(&self) -> Result<()> {
        let path = || self.db_path.path().to_path_buf();
        if self.header.frozen {
            return Err(Error::Frozen { path: path() });
        }
        match &*self.handle {
            Backend::ReadOnly(..) => Err(Error::ReadOnly { path: path() }),
            Backend::Writable(_) => Ok(()),
        }
    }
}

impl Backend {
    fn begin_read(&self) -> std::result::Result<redb::ReadTransaction, redb::TransactionError> {
        match self {
            Self::Writable(engine) | Self::ReadOnly(engine, _) => engine.begin_read(),
        }
    }
}

/// What makes the bands of a file, if they are made as they were.
fn band_maker(header: &Header, db_path: &DbPath) -> Result<BandMaker> {
    let bands = BandMaker;
    let known = bands.description();
    match &header.bands {
        Some(stored) if *stored != known => Err(Error::BandsMismatch {
            path: db_path.path().to_path_buf(),
            stored: stored.clone(),
            known,
        }),
        _ => Ok(bands),
    }
}

/// Which file has the name now. Refuses an empty file, and a folder, which would be reported as a
/// failed read.
fn identity(db_path: &DbPath) -> Result<(u64, u64)> {
    let path = db_path.path().to_path_buf();
    match db_path.disk().info(&path) {
        Ok(info) if info.is_file && info.len_bytes > 0 => Ok(info.identity),
        Ok(_) => Err(Error::NotADatabase { path, source: None }),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NotFound { path })
        }
        Err(source) => Err(db_path.io("open")(source)),
    }
}
