//! A damaged file, opened as far as that goes.

use redb::TableDefinition;

use super::pages::{self, Scavenged};
use crate::document::Timestamp;
use crate::error::{Error, LockHolder, Result};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::bulk::new_file::refuse_existing;
use crate::store::disk::lock::FileLock;
use crate::store::disk::path::RedbResult;
use crate::store::disk::path::{DbPath, message_without_path};
use crate::store::pager::redb_handle::RedbHandle;
use crate::store::pager::{CowFile, PageFile};
use crate::store::tables::packed::chunk::Entry;
use crate::store::tables::packed::{Packed, TableId};
use crate::store::tables::schema::{self, Header, JournalMark};

/// The engine's cache while a damaged file is read.
const CACHE_BYTES: usize = 64 << 20;

pub(super) type Table<E> = redb::ReadOnlyTable<E, &'static [u8]>;

/// A file of which not everything can be read.
pub(crate) struct Damaged {
    pub(super) db_path: DbPath,
    pub(super) content: Content,
    /// What was fixed when the database was created, if that can be read.
    pub(crate) header: Option<Header>,
    pub(super) identity: Option<u64>,
    pub(super) mark: Option<JournalMark>,
    /// When the last document arrived, if that can be read.
    pub(super) latest_arrival: Option<Timestamp>,
    pub(super) damage: Vec<String>,
    _lock: FileLock,
}

/// Where documents are to be found.
pub(super) enum Content {
    /// In tables.
    Tables(Opened),
    /// In pages that no table is known to have.
    Pages(Box<Scavenged>),
}

/// The file as the storage engine has opened it.
pub(super) struct Opened {
    transaction: redb::ReadTransaction,
    _engine: RedbHandle,
}

impl Damaged {
    /// Opens the file beside others who read it. Sorts what is found in so much memory, and in
    /// temporary files in the folder of `target`.
    ///
    /// # Errors
    /// Where nothing can be read at all: no such file, locked, not a file, nothing of ours in it;
    /// and where there is something at `target`.
    pub(crate) fn open(
        db_path: &DbPath,
        target: &DbPath,
        memory_bytes: u64,
        progress: &ProgressHandler,
    ) -> Result<Self> {
        refuse_existing(target)?;
        let db_path = db_path.read_only();
        let file = db_path.disk().open(db_path.path(), false);
        let file = file.map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound {
                path: db_path.path().to_path_buf(),
            },
            _ => db_path.io("open")(source),
        })?;
        let lock = db_path.lock(&*file, false, LockHolder::Salvage)?;
        let mut damage = Vec::new();
        let opened = db_path.catch_panics(|| {
            let file = PageFile::open(file.clone(), &db_path)?;
            let opened = Opened::from_file(file, &db_path)?;
            Ok(opened)
        });
        let content = match opened {
            Ok(opened) => Content::Tables(opened),
            Err(error @ Error::FormatVersion { .. }) => return Err(error),
            Err(error) => {
                damage.push(format!(
                    "the file cannot be opened: {}",
                    message_without_path(&error)
                ));
                let pages = PageFile::open_damaged(file);
                let progress = ProgressReporter::new(progress, Stage::Salvage, None, target.path());
                Content::Pages(Box::new(pages::collect(
                    pages,
                    &db_path,
                    target.path(),
                    memory_bytes,
                    &progress,
                )?))
            }
        };
        let is_empty = matches!(&content, Content::Pages(loose) if loose.known_pages == 0);
        let mut damaged = Self {
            db_path,
            content,
            header: None,
            identity: None,
            mark: None,
            latest_arrival: None,
            damage,
            _lock: lock,
        };
        // What a journal holds can be saved without the file.
        if is_empty && !damaged.has_journal() {
            return Err(Error::NothingToSalvage {
                path: damaged.db_path.path().to_path_buf(),
            });
        }
        damaged.read_meta();
        Ok(damaged)
    }

    /// Reads what is fixed, each value by itself.
    fn read_meta(&mut self) {
        let db_path = self.db_path.clone();
        let (header, identity, mark, counters) = match &self.content {
            Content::Tables(opened) => {
                let meta = db_path.catch_failed_reads(|| {
                    let meta = opened.transaction.open_table(schema::META);
                    meta.reading(&db_path)
                });
                let meta = match meta {
                    Ok(meta) => meta,
                    Err(error) => {
                        let why = message_without_path(&error);
                        self.damage
                            .push(format!("table meta cannot be opened: {why}"));
                        return;
                    }
                };
                (
                    db_path.catch_failed_reads(|| schema::read_header(&meta, &db_path)),
                    db_path.catch_failed_reads(|| schema::read_identity(&meta, &db_path)),
                    db_path
                        .catch_failed_reads(|| schema::read_journal_mark(&meta, &db_path))
                        .map(Some),
                    db_path.catch_failed_reads(|| schema::read_counters(&meta, &db_path)),
                )
            }
            Content::Pages(loose) => {
                let value = |key: &'static str| {
                    let value = loose.meta.get(key).cloned();
                    value.ok_or_else(|| {
                        db_path.corrupt(format!("no page holds value {key} of table meta"))
                    })
                };
                (
                    schema::header_from(value, &db_path),
                    schema::identity_from(value, &db_path),
                    // Which of several is the last, nobody knows.
                    Ok(None),
                    schema::counters_from(value, &db_path),
                )
            }
        };
        let damage = &mut self.damage;
        let mut tell = |error: Error| damage.push(message_without_path(&error));
        self.header = header.map_err(&mut tell).ok();
        self.identity = identity.map_err(&mut tell).ok();
        self.mark = mark.map_err(&mut tell).ok().flatten();
        // All else that is counted is counted anew.
        let counted = counters
            .ok()
            .and_then(|counters| counters.counts().latest_arrival);
        self.latest_arrival = match &self.content {
            Content::Tables(_) => counted,
            Content::Pages(loose) => counted.max(loose.latest_arrival),
        };
    }
}

impl Opened {
    fn from_file(file: PageFile, db_path: &DbPath) -> Result<Self> {
        let file = CowFile::new(file).map_err(db_path.io("open"))?;
        let database = redb::Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(file.clone())
            .map_err(|cause| db_path.opening(cause))?;
        file.close_soon();
        let engine = RedbHandle::new(database);
        let transaction = engine.begin_read();
        Ok(Self {
            transaction: transaction.reading(db_path)?,
            _engine: engine,
        })
    }

    /// A packed table, if it is there and can be opened.
    pub(super) fn packed<E: Entry>(
        &self,
        kind: TableId,
        db_path: &DbPath,
    ) -> Result<Packed<Table<E>>> {
        let table = self.table(kind.definition::<E>(), db_path)?;
        Ok(Packed::new(table, kind, db_path.clone()))
    }

    /// A table, if it is there and can be opened.
    pub(super) fn table<E: Entry>(
        &self,
        definition: TableDefinition<'static, E, &'static [u8]>,
        db_path: &DbPath,
    ) -> Result<Table<E>> {
        db_path.catch_failed_reads(|| {
            let table = self.transaction.open_table(definition);
            let table = table.reading(db_path)?;
            Ok(table)
        })
    }
}
