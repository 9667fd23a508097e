//! Copies of a whole database: a backup beside the live file, a vacuum in its place.

use std::path::Path;

use super::check;
use crate::advice::Advice;
use crate::copies::refused_hash;
use crate::error::{LockHolder, Result};
use crate::ids::DocId;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::record::Record;
use crate::store::Store;
use crate::store::bulk::new_file::{NewFile, TemporaryFile};
use crate::store::disk::path::{DbPath, RedbResult};
use crate::store::limits::Limits;
use crate::store::tables::copies::id_after_moves;
use crate::store::tables::edit::Refused;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::schema::{ByEntry, REFUSED, TABLES, TableSpec};
use crate::store::tables::{TableEntry, texts};
use crate::store::view::access::SnapshotTables;

/// 160 MiB for redb's cache, a third of which is written per commit.
const CACHE_BYTES: usize = 160 << 20;

/// 32 MiB of texts per commit.
const TEXT_BYTES_PER_COMMIT: usize = 32 << 20;

/// The times of copy and check, which read the same entries.
const STAGE_TIMES: [u64; 2] = [1, 1];

/// Writes a snapshot of the database to a new file.
pub(crate) fn backup(store: &Store, path: &Path, progress: &ProgressHandler) -> Result<()> {
    let info = store.db_path().info("read the permissions of")?;
    let target = store.db_path().with_path(path);
    // The copy of a private file is private.
    let permissions = info.permissions.as_ref();
    let file = NewFile::create(&target, store.header(), CACHE_BYTES, permissions)?;
    let view = store.read()?;
    let progress = &progress.for_operation(&STAGE_TIMES);
    // An original that is not in the tables may be in the memtables.
    copy(&view.tables, &file, None, progress)?;
    copy_frames(store, &file)?;
    for edits in view.unflushed_edits() {
        let mut transaction = file.write()?;
        transaction.apply(edits)?;
        transaction.advance_latest_arrival(view.counts().latest_arrival);
        transaction.commit()?;
    }
    // Lets redb reuse pages during the long check of the copy.
    drop(view);
    let finished = file.finish()?;
    check_copy(&finished, &target, CACHE_BYTES, progress)?;
    finished.publish()
}

/// The result of a vacuum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Vacuumed {
    /// The length of the old file, with its journal flushed.
    pub before_bytes: u64,
    /// The length of the new file.
    pub after_bytes: u64,
}

/// Rewrites a database in its place; with `freezes`, as a frozen database.
pub(crate) fn vacuum(
    db_path: &DbPath,
    freezes: bool,
    cache_bytes: Option<usize>,
    progress: &ProgressHandler,
) -> Result<Vacuumed> {
    let cache_bytes = cache_bytes.unwrap_or(CACHE_BYTES);
    // The store stays open until the end, so its lock keeps other writers out.
    let store = Store::open(db_path, cache_bytes, Limits::default())?;
    store.file_lock().set_holder(LockHolder::Vacuum);
    store.close()?;
    // A link stays; the file that it leads to is replaced.
    let target = db_path.disk().resolve(db_path.path());
    let target = db_path.with_path(&target.map_err(db_path.io("find"))?);
    let old = target.info("read the size of")?;
    let permissions = old.permissions.as_ref();
    // With the old identity and mark the old journals, all flushed, still belong to the file.
    let journal = store.journal_mark()?;
    let mut header = store.header().clone();
    header.frozen |= freezes;
    let file = NewFile::create_replacement(&target, &header, cache_bytes, permissions, journal)?;
    let progress = &progress.for_operation(&STAGE_TIMES);
    let view = store.read()?;
    let tables = &view.tables;
    // A refused key or id is known while the document that it repeats is stored, or by its time.
    let is_known = |original| leads_to_stored(tables, DocId(original));
    let keeps_refused = (!view.has_window()).then_some(&is_known as KeepsRefused<'_>);
    copy(tables, &file, keeps_refused, progress)?;
    drop(view);
    copy_frames(&store, &file)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    let finished = file.finish()?;
    check_copy(&finished, &target, cache_bytes, progress)?;
    Ok(Vacuumed {
        before_bytes: old.len_bytes,
        after_bytes: finished.replace()?,
    })
}

fn check_copy(
    copy: &TemporaryFile,
    target: &DbPath,
    cache_bytes: usize,
    progress: &ProgressHandler,
) -> Result<()> {
    let copy = Store::open_read_only(&copy.db_path(), cache_bytes, Limits::default())?;
    let damage = check::check_tables(&copy, progress, target.path())?;
    match damage.first() {
        None => Ok(()),
        Some(what) => Err(target.corrupt_advising(
            format!("what was written to the copy is not what is read back: {what}"),
            Advice::CheckDisk,
        )),
    }
}

/// Returns `true` if a document is stored under this id, or under an id that it got later in
/// another scope.
fn leads_to_stored(tables: &SnapshotTables, id: DocId) -> Result<bool> {
    let last = id_after_moves(id, |id| {
        match tables.keeps.scopes && tables.fingerprint(id)?.is_none() {
            true => tables.refused(id.0),
            false => Ok(None),
        }
    })?;
    Ok(tables.fingerprint(last)?.is_some())
}

/// Returns `false` for the value of an entry of table `refused` that is left out.
type KeepsRefused<'k> = &'k dyn Fn(u64) -> Result<bool>;

/// Copies every table, and verifies each chunk and each text.
fn copy(
    tables: &SnapshotTables,
    file: &NewFile,
    keeps_refused: Option<KeepsRefused<'_>>,
    progress: &ProgressHandler,
) -> Result<()> {
    let steps = check::steps(tables)?;
    let path = file.db_path().path();
    let reporter = &mut ProgressReporter::new(progress, Stage::Copy, Some(steps), path);
    reporter.report()?;
    for spec in TABLES {
        match spec {
            ByEntry::Pairs(spec) => {
                let keeps_refused = keeps_refused.filter(|_| spec.id == REFUSED.id);
                let keeps =
                    |entry: u128| keeps_refused.map_or(Ok(true), |keeps| keeps(entry.second()));
                copy_table(tables, spec, file, keeps, reporter)?;
            }
            ByEntry::Singles(spec) => copy_table(tables, spec, file, |_| Ok(true), reporter)?,
        }
    }
    copy_texts(tables, file, keeps_refused, reporter)?;
    reporter.finish()?;
    let mut transaction = file.write()?;
    *transaction.counters_mut() = tables.counters();
    if tables.keeps.scopes {
        transaction.write_scopes(tables.scopes())?;
    }
    transaction.commit()
}

/// Writes what was learned of frames until now.
fn copy_frames(store: &Store, file: &NewFile) -> Result<()> {
    let rows = store.tables.all_frame_rows()?;
    let mut transaction = file.write()?;
    transaction.write_frames(&rows)?;
    transaction.commit()
}

fn copy_table<E: TableEntry>(
    tables: &SnapshotTables,
    spec: TableSpec<E>,
    file: &NewFile,
    keeps: impl Fn(E) -> Result<bool>,
    progress: &mut ProgressReporter,
) -> Result<()> {
    if let Some(source) = tables.kept(spec) {
        let entries = source.entries()?.filter_map(|entry| {
            let kept = progress.step().and(entry).and_then(|entry| {
                let is_kept = keeps(entry)?;
                Ok(is_kept.then_some(entry))
            });
            kept.transpose()
        });
        file.append(spec, entries)?;
    }
    Ok(())
}

/// The hashes of the stored copies of a document whose entries of table `refused` are left out.
fn left_out_copies(
    tables: &SnapshotTables,
    record: &Record,
    keeps_refused: KeepsRefused<'_>,
) -> Result<Vec<u64>> {
    let mut hashes = Vec::new();
    for sighting in record.copies().iter().flat_map(|copies| &copies.newest) {
        let hash = refused_hash(&sighting.document);
        if let Some(value) = tables.refused(hash)?
            && !keeps_refused(value)?
        {
            hashes.push(hash);
        }
    }
    Ok(hashes)
}

/// Copies table `texts`. A stored copy of a document stays known, also if table `refused` has it as
/// a copy of a document that is not stored.
fn copy_texts(
    tables: &SnapshotTables,
    file: &NewFile,
    keeps_refused: Option<KeepsRefused<'_>>,
    progress: &mut ProgressReporter,
) -> Result<()> {
    let Some(source) = &tables.texts else {
        return Ok(());
    };
    let mut rows = texts::rows(source, &tables.db_path)?.peekable();
    // An empty table needs no commit: a new file has the table already.
    while rows.peek().is_some() {
        let mut transaction = file.write()?;
        let mut target = transaction.texts_mut()?;
        let (mut bytes_written, mut refused) = (0, Vec::new());
        while bytes_written <= TEXT_BYTES_PER_COMMIT
            && let Some(row) = rows.next()
        {
            let (id, sealed) = row?;
            // A row of keys is stored as a text.
            let id = id.value();
            let record = texts::decode(DocId(id), sealed.value(), &tables.db_path)?;
            if let Some(keeps_refused) = keeps_refused {
                for hash in left_out_copies(tables, &record, keeps_refused)? {
                    refused.push(Refused { hash, value: id });
                }
            }
            target.insert(id, sealed.value()).writing(file.db_path())?;
            bytes_written += sealed.value().len();
            progress.step()?;
        }
        drop(target);
        if !refused.is_empty() {
            transaction.add_refused(&refused)?;
        }
        transaction.commit()?;
    }
    Ok(())
}
