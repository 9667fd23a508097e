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

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use bulk::new_file::NewFile;
use commit::Online;
pub(crate) use commit::flush_options::Pace;
pub(crate) use commit::write_lock::Pen;
pub(crate) use commit::write_transaction::WriteTransaction;
pub(crate) use disk::fault::Place;
use pager::redb_handle::Engine;
use pager::{Overlay, PageFile};
pub(crate) use tables::bands::BandMaker;
pub(crate) use tables::edit::{DocumentEdit, KeyedText, State, TextEdit};
pub(crate) use tables::packed::Step;
pub(crate) use tables::schema::Header;
use tables::schema::{self, JournalMark};
pub(crate) use tables::texts::refuse_too_long;
pub(crate) use view::View;
pub(crate) use view::bucket_cache::Run;
use view::bucket_cache::RunCache;
use view::pool::Workers;
pub(crate) use view::read_view::ReadView;
pub(crate) use view::source::{DocumentsOf, Index, SCANNED};

/// An open database file.
#[derive(Debug)]
pub(crate) struct Store {
    /// Shared with every read view, which would lose the file under its feet otherwise.
    handle: Arc<Handle>,
    runs: Arc<RunCache>,
    workers: Arc<Workers>,
    online: Online,
    pace: Pace,
    place: Place,
    header: Header,
    /// Made the way the database keeps them, if it does.
    bands: BandMaker,
}

/// The share of a cache that keeps runs; the rest is the engine's, for pages.
const RUNS_SHARE: usize = 2;

pub(crate) enum Handle {
    Writable(Engine),
    /// What the engine writes is kept in memory.
    ReadOnly(Engine, Overlay),
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Writable(_) => "Writable",
            Self::ReadOnly(..) => "ReadOnly",
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Self::ReadOnly(_, file) = self {
            file.close_soon();
        }
    }
}

impl Store {
    /// Creates an empty database. It appears under its name only when it is whole and durable.
    pub(crate) fn create(place: &Place, header: Header, cache_bytes: usize) -> Result<Self> {
        if header.frozen {
            let path = place.path().to_path_buf();
            return Err(Error::FrozenEmpty { path });
        }
        NewFile::create(place, &header, cache_bytes, None)?.place()?;
        Self::open(place, cache_bytes)
    }

    /// Opens a database for reading and writing. After a crash this mends the file, in about a
    /// millisecond, since every commit leaves behind what that takes.
    pub(crate) fn open(place: &Place, cache_bytes: usize) -> Result<Self> {
        Self::open_with(place, cache_bytes, true, |pages, builder| {
            let database = builder
                .create_with_backend(pages)
                .map_err(|cause| place.opening(cause))?;
            Ok(Handle::Writable(Engine::over(database)))
        })
    }

    /// Opens a database for reading only, beside others who do the same. Nothing is written, also
    /// where there is something to mend.
    pub(crate) fn open_read_only(place: &Place, cache_bytes: usize) -> Result<Self> {
        Self::open_with(place, cache_bytes, false, |pages, builder| {
            let file = Overlay::over(pages).map_err(place.io("open"))?;
            let database = builder
                .create_with_backend(file.clone())
                .map_err(|cause| place.opening(cause))?;
            Ok(Handle::ReadOnly(Engine::over(database), file))
        })
    }

    /// Opens the file that has the name, and not one that lost it to a vacuum in the meantime.
    fn open_with(
        place: &Place,
        cache_bytes: usize,
        to_write: bool,
        open: impl Fn(PageFile, &redb::Builder) -> Result<Handle>,
    ) -> Result<Self> {
        let run_bytes = cache_bytes / RUNS_SHARE;
        let mut builder = redb::Database::builder();
        builder.set_cache_size(cache_bytes - run_bytes);
        loop {
            let before = identity(place)?;
            let store = place.guarded(|| {
                let disk = place.disk();
                let file = disk.open(place.path(), to_write);
                let file = file.map_err(place.io("open"))?;
                // Before anything is read, which somebody may be writing.
                if !file.try_lock(to_write).map_err(place.io("lock"))? {
                    let path = place.path().to_path_buf();
                    return Err(Error::Locked { path });
                }
                // It may have lost its name while somebody else had it locked.
                if identity(place)? != before {
                    return Ok(None);
                }
                let handle = open(PageFile::open(file, place)?, &builder)?;
                let runs = RunCache::new(run_bytes as u64);
                Self::with_handle(handle, runs, place.clone()).map(Some)
            })?;
            if let Some(store) = store
                && identity(place)? == before
            {
                return Ok(store);
            }
        }
    }

    fn with_handle(handle: Handle, runs: RunCache, place: Place) -> Result<Self> {
        let transaction = handle.begin_read().map_err(|cause| place.reading(cause))?;
        let meta = transaction
            .open_table(schema::META)
            .map_err(|cause| match cause {
                // Some other program's redb file.
                redb::TableError::TableDoesNotExist(_)
                | redb::TableError::TableTypeMismatch { .. } => Error::NotADatabase {
                    path: place.path().to_path_buf(),
                    source: Some(Box::new(cause)),
                },
                cause => place.reading(cause),
            })?;
        let header = schema::read_header(&meta, &place)?;
        let bands = band_maker(&header, &place)?;
        let identity = schema::read_identity(&meta, &place)?;
        let mark = schema::read_journal_mark(&meta, &place)?;
        let counts = schema::read_counters(&meta, &place)?.counts();
        drop(meta);
        let for_writing = matches!(handle, Handle::Writable(_));
        let workers = Arc::<Workers>::default();
        let online = Online::recover(identity, mark, counts, &place, &workers, for_writing)?;
        Ok(Self {
            handle: Arc::new(handle),
            runs: Arc::new(runs),
            workers,
            online,
            pace: Pace::default(),
            place,
            header,
            bands,
        })
    }

    /// The same, merged at another pace.
    pub(crate) fn at_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// The path the database was opened under.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// What was fixed at creation.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Which database this is, and what its journal must know of it, as of the last commit.
    pub(crate) fn journal_mark(&self) -> Result<(u64, JournalMark)> {
        let place = &self.place;
        let reading = |cause: redb::TableError| place.reading(cause);
        let transaction = (self.handle.begin_read()).map_err(|cause| place.reading(cause))?;
        let meta = transaction.open_table(schema::META).map_err(reading)?;
        Ok((
            schema::read_identity(&meta, place)?,
            schema::read_journal_mark(&meta, place)?,
        ))
    }

    /// The tables as of the last commit to them, `whole` if no merge can have come half way.
    fn read_tables(&self, whole: bool) -> Result<ReadView> {
        let transaction = self
            .handle
            .begin_read()
            .map_err(|cause| self.place.reading(cause))?;
        let mut view = ReadView::of(
            transaction,
            Arc::clone(&self.handle),
            Arc::clone(&self.runs),
            Arc::clone(&self.workers),
            &self.place.only_read(),
            self.header.keeps(),
        )?;
        view.tables.whole = whole;
        Ok(view)
    }

    /// Does work that may go on on all cores.
    pub(crate) fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.workers.run(work)
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
    pub(crate) fn keyed(&self, text: String) -> Arc<KeyedText> {
        match self.bands() {
            Some(bands) => bands.keyed(text),
            None => KeyedText::new(text, Vec::new()),
        }
    }

    fn is_read_only(&self) -> bool {
        matches!(*self.handle, Handle::ReadOnly(..))
    }

    /// An error where nothing can be changed.
    pub(crate) fn refuse_changes(&self) -> Result<()> {
        let path = || self.place.path().to_path_buf();
        if self.header.frozen {
            return Err(Error::Frozen { path: path() });
        }
        match &*self.handle {
            Handle::ReadOnly(..) => Err(Error::ReadOnly { path: path() }),
            Handle::Writable(_) => Ok(()),
        }
    }
}

impl Handle {
    fn begin_read(&self) -> std::result::Result<redb::ReadTransaction, redb::TransactionError> {
        match self {
            Self::Writable(engine) | Self::ReadOnly(engine, _) => engine.begin_read(),
        }
    }
}

/// What makes the bands of a file, if they are made as they were.
fn band_maker(header: &Header, place: &Place) -> Result<BandMaker> {
    let bands = BandMaker;
    let known = bands.description();
    match &header.bands {
        Some(stored) if *stored != known => Err(Error::BandsMismatch {
            path: place.path().to_path_buf(),
            stored: stored.clone(),
            known,
        }),
        _ => Ok(bands),
    }
}

/// Which file has the name now. Refuses an empty file, and a folder, which would be reported as a
/// failed read.
fn identity(place: &Place) -> Result<(u64, u64)> {
    let path = place.path().to_path_buf();
    match place.disk().info(&path) {
        Ok(info) if info.is_file && info.len_bytes > 0 => Ok(info.identity),
        Ok(_) => Err(Error::NotADatabase { path, source: None }),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NotFound { path })
        }
        Err(source) => Err(place.io("open")(source)),
    }
}
