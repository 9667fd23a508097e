//! [`DamagedFile`]: a damaged database, opened as far as possible.

use redb::{TableDefinition, TableHandle};

use super::join::SalvagedTable;
use super::journals::has_journal;
use super::pages::ScannedPages;
use super::wal_overlay::WalOverlay;
use crate::advice::ForeignFile;
use crate::error::{Error, LockHolder, Result};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::bulk::new_file::refuse_existing;
use crate::store::disk::lock::FileLock;
use crate::store::disk::path::{DbPath, RedbResult, message_without_path};
use crate::store::pager::PageFile;
use crate::store::pager::backend::Backend;
use crate::store::tables::meta;
use crate::store::tables::meta::{Counters, Header, JournalMark, MetaValues};
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::schema::{Keeps, TableSpec};
use crate::store::tables::scopes::ScopeNames;

/// 64 MiB for redb's cache while a damaged file is read.
const CACHE_BYTES: usize = 64 << 20;

/// A damaged database, opened for reading.
pub(crate) struct DamagedFile {
    pub(super) db_path: DbPath,
    pub(super) content: SourceContent,
    pub(crate) header: Option<Header>,
    pub(super) identity: Option<u64>,
    pub(super) mark: Option<JournalMark>,
    pub(super) counters: Option<Counters>,
    pub(super) scopes: ScopeNames,
    pub(super) overlay: WalOverlay,
    /// `true` if the file may have had a window that is not known: the values of table `refused`
    /// are then times or ids.
    pub(super) lost_window: bool,
    /// A sentence for each part that cannot be read.
    pub(super) damage: Vec<String>,
    /// `None` if the lock belongs to a backend.
    _lock: Option<FileLock>,
}

pub(super) enum SourceContent {
    Tables(Box<OpenFile>),
    /// redb cannot open the file.
    Pages(Box<ScannedPages>),
}

pub(super) struct OpenFile {
    transaction: redb::ReadTransaction,
    _backend: Backend,
}

impl DamagedFile {
    /// Opens the file with a shared lock. If redb cannot open it, scans all pages; sorting takes
    /// `memory_bytes`, and spills to the folder of `target`.
    ///
    /// # Errors
    /// If the file is missing, locked or without a page of a database, or if `target` exists.
    pub(crate) fn open(
        db_path: &DbPath,
        target: &DbPath,
        memory_bytes: u64,
        progress: &ProgressHandler,
    ) -> Result<Self> {
        refuse_existing(target)?;
        let db_path = db_path.read_only();
        // redb panics at some damaged pages while it opens a file.
        let opened = db_path.catch_panics(|| OpenFile::new(&db_path));
        let mut damage = Vec::new();
        let mut lock = None;
        let content = match opened {
            Ok(opened) => SourceContent::Tables(Box::new(opened)),
            Err(
                error @ (Error::EmptyPath
                | Error::NotFound { .. }
                | Error::NotADatabase {
                    found: ForeignFile::Folder,
                    ..
                }
                | Error::Locked { .. }
                | Error::FormatVersion { .. }),
            ) => return Err(error),
            Err(error) => {
                damage.push(format!(
                    "the file cannot be opened: {}",
                    message_without_path(&error)
                ));
                let path = db_path.path();
                let file = db_path.disk().open(path, false);
                let file = file.map_err(db_path.io("open"))?;
                lock = Some(db_path.lock(&*file, false, LockHolder::Salvage)?);
                let file = PageFile::open_damaged(file);
                let target = target.path();
                let progress = ProgressReporter::new(progress, Stage::Salvage, None, target);
                let pages = ScannedPages::scan(file, &db_path, target, memory_bytes, &progress)?;
                // The documents of a journal can be saved without the file.
                if pages.sound_pages == 0 && !has_journal(&db_path) {
                    return Err(Error::NothingToSalvage { path: path.into() });
                }
                SourceContent::Pages(Box::new(pages))
            }
        };
        let mut damaged = Self {
            db_path,
            content,
            header: None,
            identity: None,
            mark: None,
            counters: None,
            scopes: ScopeNames::default(),
            overlay: WalOverlay::default(),
            lost_window: false,
            damage,
            _lock: lock,
        };
        damaged.read_meta();
        damaged.overlay = damaged.wal_overlay();
        Ok(damaged)
    }

    /// Reads the values of table `meta` one by one: some may be damaged.
    fn read_meta(&mut self) {
        let db_path = &self.db_path;
        let (settings, mark) = match &self.content {
            SourceContent::Tables(file) => {
                let Some(meta) = file.table(meta::META, db_path, &mut self.damage) else {
                    return;
                };
                let mark = || meta::read_journal_mark(&meta, db_path).map(Some);
                let settings = settings_of(&meta, db_path);
                (settings, db_path.catch_failed_reads(mark))
            }
            SourceContent::Pages(pages) => {
                // Pages hold old marks too, and no page says which mark is the last.
                (settings_of(&**pages, db_path), Ok(None))
            }
        };
        let mut note = |error: Error| self.damage.push(message_without_path(&error));
        self.header = settings.header.map_err(&mut note).ok();
        self.scopes = settings.scopes.map_err(&mut note).unwrap_or_default();
        self.identity = settings.identity.map_err(&mut note).ok();
        self.mark = mark.map_err(&mut note).ok().flatten();
        // Damaged counters are not reported: most are counted again.
        self.counters = settings.counters.ok();
    }
}

/// Values of table `meta`, each with its own damage.
struct StoredSettings {
    header: Result<Header>,
    scopes: Result<ScopeNames>,
    identity: Result<u64>,
    counters: Result<Counters>,
}

fn settings_of(values: &impl MetaValues, db_path: &DbPath) -> StoredSettings {
    let header = db_path.catch_failed_reads(|| meta::read_header(values, db_path));
    let read_scopes = || meta::read_scopes(values, db_path);
    StoredSettings {
        scopes: match &header {
            Ok(header) if !header.scopes => Ok(ScopeNames::default()),
            Ok(_) => db_path.catch_failed_reads(read_scopes),
            // The settings may be lost without the names; a file without scopes has none.
            Err(_) => Ok(db_path.catch_failed_reads(read_scopes).unwrap_or_default()),
        },
        header,
        identity: db_path.catch_failed_reads(|| meta::read_identity(values, db_path)),
        counters: db_path.catch_failed_reads(|| meta::read_counters(values, db_path)),
    }
}

impl MetaValues for ScannedPages {
    fn value(&self, key: &'static str, db_path: &DbPath) -> Result<Vec<u8>> {
        let value = self.meta.get(key).cloned();
        value.ok_or_else(|| db_path.corrupt(format!("no page holds value {key} of table meta")))
    }
}

impl OpenFile {
    fn new(db_path: &DbPath) -> Result<Self> {
        let backend = Backend::open(db_path, CACHE_BYTES, false)?;
        backend.lock().set_holder(LockHolder::Salvage);
        Ok(Self {
            transaction: backend.begin_read()?,
            _backend: backend,
        })
    }

    /// The names of all tables.
    pub(super) fn table_names(&self, db_path: &DbPath) -> Result<Vec<String>> {
        let tables = self.transaction.list_tables().reading(db_path)?;
        Ok(tables.map(|table| table.name().to_owned()).collect())
    }

    /// A packed table; `None` if the file does not keep the table, or the table cannot be opened.
    pub(super) fn packed<E: Entry>(
        &self,
        TableSpec { id, is_kept, .. }: TableSpec<E>,
        keeps: Keeps,
        db_path: &DbPath,
        damage: &mut Vec<String>,
    ) -> Option<Packed<SalvagedTable<E>>> {
        if !is_kept(keeps) {
            return None;
        }
        let table = self.table(id.definition::<E>(), db_path, damage)?;
        Some(Packed::new(table, id, db_path.clone()))
    }

    /// A table; `None` if it cannot be opened, which is noted in `damage`.
    pub(super) fn table<K: redb::Key + 'static>(
        &self,
        definition: TableDefinition<'static, K, &'static [u8]>,
        db_path: &DbPath,
        damage: &mut Vec<String>,
    ) -> Option<SalvagedTable<K>> {
        let open = || self.transaction.open_table(definition).reading(db_path);
        let note = |error| {
            let (name, why) = (definition.name(), message_without_path(&error));
            damage.push(format!("table {name} cannot be opened: {why}"));
        };
        db_path.catch_failed_reads(open).map_err(note).ok()
    }
}
