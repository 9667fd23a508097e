//! Copies of a whole database: a backup beside the live file, a vacuum in its place.

use std::path::Path;

use super::check;
use crate::document::DocId;
use crate::error::{LockHolder, Result};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::Store;
use crate::store::bulk::new_file::{FinishedFile, NOT_MADE, NewFile};
use crate::store::disk::path::DbPath;
use crate::store::tables::texts;
use crate::store::tables::{ARRIVALS_TABLE, BANDS_TABLE, ROTATED_TABLES, TIMES_TABLE};
use crate::store::view::limits::Limits;
use crate::store::view::snapshot_tables::SnapshotTables;

/// The engine's cache while a copy is made.
const CACHE_BYTES: usize = 160 << 20;

/// Bytes of texts written between two commits.
const TEXT_BYTES_PER_COMMIT: usize = 32 << 20;

/// The times of copy and check, which read the same entries.
const STAGE_TIMES: [u64; 2] = [1, 1];

/// Writes the database as of now to a new file at `path`.
pub(crate) fn backup(store: &Store, path: &Path, progress: &ProgressHandler) -> Result<()> {
    // A copy of what is private is private.
    let info = store.db_path().info("read the permissions of")?;
    let target = store.db_path().with_path(path);
    let permissions = info.permissions.as_ref();
    let file = NewFile::create(&target, store.header(), CACHE_BYTES, permissions)?;
    let view = store.read()?;
    let progress = &progress.for_operation(&STAGE_TIMES);
    copy(&view.tables, &file, progress)?;
    for edits in view.unflushed_edits() {
        let mut transaction = file.write()?;
        transaction.apply(edits)?;
        transaction.advance_latest_arrival(view.counts().latest_arrival);
        transaction.commit()?;
    }
    // What was there is not needed any more.
    drop(view);
    let whole = file.finish()?;
    prove(&whole, &target, progress)?;
    whole.publish()
}

/// What became of a file that was rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacuumed {
    /// The length it had, its journal merged.
    pub before_bytes: u64,
    /// The length it has.
    pub after_bytes: u64,
}

/// Rewrites the file at a place.
pub(crate) fn vacuum(db_path: &DbPath, progress: &ProgressHandler) -> Result<Vacuumed> {
    // Open until the end, so that nobody else can write meanwhile.
    let store = Store::open(db_path, CACHE_BYTES, Limits::default())?;
    store.file_lock().set_holder(LockHolder::Vacuum);
    store.close()?;
    // A link stays what it is, and the file it names is replaced.
    let target = db_path.disk().resolve(db_path.path());
    let target = db_path.with_path(&target.map_err(db_path.io("find"))?);
    let old = target.info("read the size of")?;
    let permissions = old.permissions.as_ref();
    // It stays the same database; what its journal held, the file holds.
    let journal = store.journal_mark()?;
    let file =
        NewFile::create_replacement(&target, store.header(), CACHE_BYTES, permissions, journal)?;
    let tables = store.read()?.tables;
    let progress = &progress.for_operation(&STAGE_TIMES);
    copy(&tables, &file, progress)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    let whole = file.finish()?;
    prove(&whole, &target, progress)?;
    Ok(Vacuumed {
        before_bytes: old.len_bytes,
        after_bytes: whole.replace()?,
    })
}

/// Proves a copy before it gets its name.
fn prove(copy: &FinishedFile, target: &DbPath, progress: &ProgressHandler) -> Result<()> {
    let copied = Store::open_read_only(&copy.temporary_path(), CACHE_BYTES, Limits::default())?;
    let damage = check::check_tables(&copied, progress, target.path())?;
    match damage.first() {
        None => Ok(()),
        Some(what) => Err(target.corrupt_advising(
            format!("what was written to the copy is not what is read back: {what}"),
            NOT_MADE,
        )),
    }
}

/// The steps of a copy, each an entry.
struct Steps(ProgressReporter);

impl Steps {
    /// Entries on their way, each a step.
    fn each<E>(
        &mut self,
        entries: impl Iterator<Item = Result<E>>,
    ) -> impl Iterator<Item = Result<E>> {
        entries.map(|entry| self.0.step().and(entry))
    }
}

/// Copies every table, proving each chunk and each text as it goes.
fn copy(tables: &SnapshotTables, file: &NewFile, progress: &ProgressHandler) -> Result<()> {
    let mut steps = Steps(ProgressReporter::new(
        progress,
        Stage::Copy,
        Some(check::steps(tables)?),
        file.db_path().path(),
    ));
    steps.0.report()?;
    let fingerprints = steps.each(tables.fingerprints.entries()?);
    file.append(|tables| &mut tables.fingerprints, fingerprints)?;
    let block0 = steps.each(tables.block0.entries()?);
    file.append(|tables| &mut tables.block0, block0)?;
    for (source, target) in tables.rotated.iter().zip(ROTATED_TABLES) {
        file.append(target, steps.each(source.entries()?))?;
    }
    let unreliable = tables.unreliable.entries()?;
    file.append(|tables| &mut tables.unreliable, unreliable)?;
    if let Some(kept) = &tables.times {
        file.append(ARRIVALS_TABLE, steps.each(kept.arrivals.entries()?))?;
        file.append(TIMES_TABLE, steps.each(kept.times.entries()?))?;
    }
    if let Some(bands) = &tables.bands {
        file.append(BANDS_TABLE, steps.each(bands.entries()?))?;
    }
    copy_texts(tables, file, &mut steps.0)?;
    steps.0.finish()?;
    let mut transaction = file.write()?;
    *transaction.counters_mut() = tables.counters();
    transaction.commit()
}

fn copy_texts(
    tables: &SnapshotTables,
    file: &NewFile,
    progress: &mut ProgressReporter,
) -> Result<()> {
    let Some(source) = &tables.texts else {
        return Ok(());
    };
    let mut rows = texts::rows(source, &tables.db_path)?;
    loop {
        let mut transaction = file.write()?;
        let mut bytes_written = 0;
        let mut more = false;
        {
            let mut target = transaction.texts_mut()?;
            for row in rows.by_ref() {
                let (id, sealed) = row?;
                texts::decode(DocId(id.value()), sealed.value(), &tables.db_path)?;
                target
                    .insert(id.value(), sealed.value())
                    .map_err(|cause| file.db_path().writing(cause))?;
                bytes_written += sealed.value().len();
                progress.step()?;
                if bytes_written > TEXT_BYTES_PER_COMMIT {
                    more = true;
                    break;
                }
            }
        }
        transaction.commit()?;
        if !more {
            return Ok(());
        }
    }
}
