//! Copies of a whole database: a backup beside the live file, a vacuum in its place.

use std::path::Path;

use super::Store;
use super::fault::Place;
use super::new_file::NewFile;
use super::read::ReadView;
use super::tables::{ARRIVALS_TABLE, BANDS_TABLE, ROTATED_TABLES, TIMES_TABLE};
use super::texts;
use crate::document::DocId;
use crate::error::Result;

/// The engine's cache while a copy is made.
const CACHE_BYTES: usize = 160 << 20;

/// Bytes of texts written between two commits.
const TEXT_BYTES_PER_COMMIT: usize = 32 << 20;

/// Writes the database as of now to a new file at `path`.
pub(crate) fn backup(store: &Store, path: &Path) -> Result<()> {
    // A copy of what is private is private.
    let info = store.place.info("read the permissions of")?;
    let target = store.place.in_the_making(path);
    let permissions = info.permissions.as_ref();
    let file = NewFile::create(&target, store.header(), CACHE_BYTES, permissions)?;
    let view = store.read()?;
    copy(&view.tables, &file)?;
    for edits in view.edits_in_tail() {
        let mut transaction = file.write()?;
        transaction.apply(edits)?;
        transaction.see_arrival(view.counts().latest_arrival);
        transaction.commit()?;
    }
    file.place()
}

/// Rewrites the file at a place; returns the bytes it had and has.
pub(crate) fn vacuum(place: &Place) -> Result<(u64, u64)> {
    // Open until the end, so that nobody else can write meanwhile.
    let store = Store::open(place, CACHE_BYTES)?;
    store.close()?;
    // A link stays what it is, and the file it names is replaced.
    let target = place.disk().resolve(place.path());
    let target = place.in_the_making(&target.map_err(place.io("find"))?);
    let old = target.info("read the size of")?;
    let permissions = old.permissions.as_ref();
    // It stays the same database; what its journal held, the file holds.
    let journal = store.journal_mark()?;
    let file = NewFile::create_beside(&target, store.header(), CACHE_BYTES, permissions, journal)?;
    copy(&store.read()?.tables, &file)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    let new_bytes = file.replace()?;
    Ok((old.len_bytes, new_bytes))
}

/// Copies every table, proving each chunk and each text as it goes.
fn copy(view: &ReadView, file: &NewFile) -> Result<()> {
    let tables = &view.tables;
    file.append(
        |tables| &mut tables.fingerprints,
        tables.fingerprints.entries()?,
    )?;
    file.append(|tables| &mut tables.block0, tables.block0.entries()?)?;
    for (source, target) in tables.rotated.iter().zip(ROTATED_TABLES) {
        file.append(target, source.entries()?)?;
    }
    file.append(
        |tables| &mut tables.unreliable,
        tables.unreliable.entries()?,
    )?;
    if let Some(kept) = &tables.times {
        file.append(ARRIVALS_TABLE, kept.arrivals.entries()?)?;
        file.append(TIMES_TABLE, kept.times.entries()?)?;
    }
    if let Some(bands) = &tables.bands {
        file.append(BANDS_TABLE, bands.entries()?)?;
    }
    copy_texts(view, file)?;
    let mut transaction = file.write()?;
    *transaction.counters() = view.counters;
    transaction.commit()
}

fn copy_texts(view: &ReadView, file: &NewFile) -> Result<()> {
    let Some(source) = &view.tables.texts else {
        return Ok(());
    };
    let mut rows = texts::rows(source, &view.place)?;
    loop {
        let mut transaction = file.write()?;
        let mut bytes_written = 0;
        let mut more = false;
        {
            let mut target = transaction.texts_to_change()?;
            for row in rows.by_ref() {
                let (id, sealed) = row?;
                texts::decode(DocId(id.value()), sealed.value(), &view.place)?;
                target
                    .insert(id.value(), sealed.value())
                    .map_err(|cause| file.place_in_errors().writing(cause))?;
                bytes_written += sealed.value().len();
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
