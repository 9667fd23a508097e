//! The storage engine: one redb file with the tables of [`schema`](tables::schema), and its
//! journals.
//!
//! No other folder names redb or touches a file. [`Store`] is an open database. Each folder uses
//! only the folders before it in this list:
//!
//! - [`disk`] and [`pager`] are the file below redb.
//! - [`tables`] has the tables of one transaction.
//! - [`journal`] and [`memtable`] hold the newest commits, on disk and in memory.
//! - [`cache`] holds parts of the tables in memory.
//! - [`view`] is the database as of one commit.
//! - [`commit`] is the write path.
//! - [`bulk`] and [`maintenance`] work on whole databases.
//!
//! All folders use [`limits`], [`pool`], the threads of a database, [`portions`], reads of one
//! portion at a time, and [`prefetch`], the reads of memory without a lock.

pub(crate) mod bulk;
mod cache;
mod commit;
pub(crate) mod disk;
mod journal;
mod limits;
pub(crate) mod maintenance;
mod memtable;
mod pager;
mod pool;
mod portions;
mod prefetch;
mod tables;
mod view;

use crate::store::tables::meta;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::analysis::Analysed;
use crate::analysis::frames::{Frames, TextEnds};
use crate::document::Within;
use crate::error::{Error, Result};
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::record::Record;
use bulk::new_file::NewFile;
pub(crate) use disk::lock::FileLock;
pub(crate) use limits::Limits;
use memtable::MemtableView;
use tables::WriteAccess;
use tables::meta::JournalMark;
use tables::scopes::ScopeNames;
use view::table_store::TableStore;

pub use cache::CacheMisses;
pub(crate) use cache::buckets::{Bucket, SCAN_BLOCK};
pub(crate) use commit::write_transaction::WriteTransaction;
pub(crate) use commit::{Store, WriteGuard, WriteHolder};
pub(crate) use disk::lock::{LockId, wait_until_released};
pub(crate) use disk::path::DbPath;
pub(crate) use tables::Tables;
pub(crate) use tables::copies::{id_after_moves, refused_of};
pub(crate) use tables::edit::{CopiesEdit, DocumentEdit, Refused, StoredDocument, TextEdit};
pub(crate) use tables::meta::Header;
pub(crate) use tables::packed::VisitFlow;
pub(crate) use tables::texts::{refuse_scope, refuse_unstorable};
pub(crate) use view::View;
pub(crate) use view::access::{SnapshotAccess, SnapshotTables, ViewAccess};
pub(crate) use view::postings::DocumentLookup;
pub(crate) use view::table_store::HeldSnapshot;

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Store");
        shown.field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Store {
    /// Creates an empty database. The file gets its name when it is complete and durable.
    pub(crate) fn create(
        db_path: &DbPath,
        header: Header,
        cache_bytes: usize,
        limits: Limits,
    ) -> Result<Self> {
        if header.frozen {
            let path = db_path.path().to_path_buf();
            return Err(Error::FrozenEmpty { path });
        }
        NewFile::create(db_path, &header, cache_bytes, None)?.publish()?;
        Self::open(db_path, cache_bytes, limits)
    }

    /// Opens a database for reading and writing. After a crash, reads the journals and repairs the
    /// file.
    pub(crate) fn open(db_path: &DbPath, cache_bytes: usize, limits: Limits) -> Result<Self> {
        Self::open_as(db_path, cache_bytes, limits, true)
    }

    /// Opens a database for reading only, beside other readers. Writes nothing, even if the file
    /// has to be repaired.
    pub(crate) fn open_read_only(
        db_path: &DbPath,
        cache_bytes: usize,
        limits: Limits,
    ) -> Result<Self> {
        Self::open_as(db_path, cache_bytes, limits, false)
    }

    fn open_as(
        db_path: &DbPath,
        cache_bytes: usize,
        limits: Limits,
        writable: bool,
    ) -> Result<Self> {
        // redb panics at some damaged pages.
        db_path.catch_panics(|| {
            Self::recover(TableStore::open(db_path, cache_bytes, limits, writable)?)
        })
    }

    /// Counts a snapshot that a caller holds, until the returned value is dropped.
    pub(crate) fn hold_snapshot(&self) -> HeldSnapshot {
        HeldSnapshot::new(&self.tables.held_snapshots)
    }

    /// The counter of the snapshots that callers hold.
    pub(crate) fn held_snapshots(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.tables.held_snapshots)
    }

    /// [`Error::SnapshotHeld`] if callers hold snapshots.
    fn refuse_held_snapshots(&self) -> Result<()> {
        match self.tables.held_snapshots.load(Ordering::Acquire) {
            0 => Ok(()),
            snapshots => Err(Error::SnapshotHeld {
                path: self.path().to_path_buf(),
                snapshots,
            }),
        }
    }

    /// The lock of the database file.
    pub(crate) fn file_lock(&self) -> &FileLock {
        self.tables.backend.lock()
    }

    fn db_path(&self) -> &DbPath {
        &self.tables.db_path
    }

    /// The path the database was opened under.
    pub(crate) fn path(&self) -> &Path {
        self.db_path().path()
    }

    /// The settings that were fixed at creation.
    pub(crate) fn header(&self) -> &Header {
        &self.tables.header
    }

    pub(crate) fn limits(&self) -> Limits {
        self.tables.limits
    }

    fn is_read_only(&self) -> bool {
        !self.tables.backend.is_writable()
    }

    /// Returns [`Error::Frozen`] or [`Error::ReadOnly`] if the database takes no changes.
    pub(crate) fn refuse_changes(&self) -> Result<()> {
        self.tables.refuse_changes()
    }

    /// The identity of the database, and the journal mark of the last redb commit.
    fn journal_mark(&self) -> Result<(u64, JournalMark)> {
        let meta = self.tables.meta()?;
        Ok((
            meta::read_identity(&meta, self.db_path())?,
            meta::read_journal_mark(&meta, self.db_path())?,
        ))
    }

    /// Runs `work` on the thread pool of the database.
    pub(crate) fn in_parallel<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.tables.pool.run(work)
    }

    /// The names of the scopes.
    fn scopes(&self) -> &Arc<ScopeNames> {
        &self.tables.scopes
    }

    /// The frames that similar queries and inserts do not compare.
    pub(crate) fn frames(&self) -> Result<Arc<Frames>> {
        self.tables.frames()
    }

    /// The frames with the number of texts that have them now.
    pub(crate) fn counted_frames(&self) -> Result<Frames> {
        self.tables.counted_frames()
    }

    pub(crate) fn set_frames(&self, frames: Frames) {
        self.tables.set_frames(frames);
    }

    /// Counts the ends of texts of scopes, in a database that keeps frames.
    pub(crate) fn learn(&self, texts: Vec<(u64, TextEnds)>) {
        // A document without a comparison is stored also beside damaged frames.
        if let Err(error) = self.tables.learn(texts) {
            log::error!("no frames are learned: {error}");
        }
    }

    /// The name of a scope; `None` for the empty scope and an unknown one.
    pub(crate) fn scope_name(&self, scope: ScopeNumber) -> Option<String> {
        self.scopes().name(scope).map(|name| name.to_string())
    }

    /// The number of the scope of a new document, which may be the first document of the scope.
    pub(crate) fn scope_of(&self, scope: Option<&str>) -> Result<ScopeNumber> {
        match scope {
            Some(scope) => self.scopes().number_or_new(scope, self.path()),
            None => Ok(ScopeNumber::default()),
        }
    }

    /// The documents with which a new document of a scope is compared.
    pub(crate) fn ids_within(&self, within: &Within, scope: ScopeNumber) -> Result<IdRanges> {
        let header = self.header();
        Ok(match within {
            Within::Scope if header.scopes => IdRanges::of_scopes([scope]),
            Within::Scope | Within::All => IdRanges::ALL,
            Within::Scopes(names) => {
                for name in names {
                    refuse_scope(name, header.scopes, self.path())?;
                }
                // No document is in an unknown scope.
                let numbers = names.iter().filter_map(|name| self.scopes().number(name));
                IdRanges::of_scopes(numbers)
            }
        })
    }

    /// A text of a scope with its text keys, if the database keeps them. Called on the threads that
    /// submit changes, because the one committing thread would compute all keys in turn.
    pub(crate) fn keyed(&self, record: impl Into<Record>, scope: ScopeNumber) -> Arc<Analysed> {
        Arc::new(match self.header().keeps().text_keys {
            true => Analysed::keyed(record).in_scope(scope),
            false => Analysed::with_keys(record, Vec::new()),
        })
    }

    /// A view that includes the uncommitted changes of a transaction on the tables.
    pub(crate) fn view_of<'t>(
        &self,
        transaction: &'t WriteTransaction,
    ) -> Result<View<WriteAccess<'t>>> {
        let mut tables = transaction.tables()?;
        // No memtable is needed: all memtables were flushed before the transaction began.
        tables.texts = transaction.texts_to_read()?;
        tables.last_id = transaction.last_id();
        Ok(View::new(
            tables,
            MemtableView::default(),
            transaction.counts(),
            self.header().retention,
            self.scopes(),
        ))
    }
}
