//! The file of a journal: open, create, extend.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use super::frame::{FileHeader, Identity, MIN_FILE_BYTES};
use super::reader::Reader;
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::store::disk::DiskFile;
use crate::store::disk::checksum::crc32_append;
use crate::store::disk::path::DbPath;

/// Zeros to extend a file with: 64 KiB a write.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Opens the file at `path`, or returns `None` if there is no file. Refuses a link.
pub(super) fn open_existing(
    path: &Path,
    db_path: &DbPath,
    to_write: bool,
) -> Result<Option<Arc<dyn DiskFile>>> {
    let opening = Error::io("open", path);
    let named = match db_path.disk().link_info(path) {
        Ok(named) => named,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(opening(cause)),
    };
    // A link in a folder that others may write to could direct the journal over any file.
    if !named.is_file {
        return Err(opening(io::Error::other(
            "it is a link or a folder, not a regular file",
        )));
    }
    let file = db_path.disk().open(path, to_write).map_err(&opening)?;
    // A link may have replaced the file between the check and `open`.
    if file.info().map_err(&opening)?.identity != named.identity {
        return Err(opening(io::Error::other(
            "another file was renamed to this path meanwhile; try again",
        )));
    }
    Ok(Some(file))
}

/// Creates a journal file with the permissions of the database file, because both hold its texts.
/// Fails if `path` exists, even as a link.
pub(super) fn create_like(
    database: &Path,
    path: &Path,
    db_path: &DbPath,
) -> io::Result<Arc<dyn DiskFile>> {
    let permissions = match db_path.disk().info(database) {
        Ok(info) => info.permissions,
        Err(_) => private(),
    };
    db_path.disk().create(path, permissions.as_ref())
}

/// Permissions for the owner only; `None` if the system has no such permissions.
fn private() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o600));
    #[cfg(not(unix))]
    None
}

/// Returns an error unless the file is free for a new generation: a journal of an older generation
/// of the same database, or a file without a sound header.
pub(super) fn refuse_unless_older(
    file: &dyn DiskFile,
    path: &Path,
    new: Identity,
    db_path: &DbPath,
) -> Result<()> {
    match Reader::new(file, path, db_path)?.owner()? {
        Some(found) if !is_older(found, new) => Err(must_be_older(path, found, new, db_path)),
        _ => Ok(()),
    }
}

/// Returns an error if the file at `path` may not be removed for a new generation: it is no
/// journal, or it holds commits and is not of an older generation of the same database.
pub(super) fn refuse_with_commits(path: &Path, new: Identity, db_path: &DbPath) -> Result<()> {
    let found = owner_of_commits(path, |found| !is_older(found, new), db_path)?;
    found.map_or(Ok(()), |found| {
        Err(must_be_older(path, found, new, db_path))
    })
}

/// The identity of the journal at `path`, if it concerns the caller and may hold commits.
pub(super) fn owner_of_commits(
    path: &Path,
    concerns: impl Fn(Identity) -> bool,
    db_path: &DbPath,
) -> Result<Option<Identity>> {
    let Some(file) = open_existing(path, db_path, false)? else {
        return Ok(None);
    };
    let mut reader = Reader::new(&*file, path, db_path)?;
    let Some(found) = reader.owner()?.filter(|found| concerns(*found)) else {
        return Ok(None);
    };
    // A journal that cannot be read to its end may hold commits.
    let log_end = reader.replay(found, &mut |_, _| Ok(()), &mut Err);
    let is_empty = log_end.is_ok_and(|log_end| log_end.records == 0);
    Ok((!is_empty).then_some(found))
}

/// Returns `true` for an older generation of the same database.
fn is_older(found: Identity, new: Identity) -> bool {
    found.database == new.database && found.generation < new.generation
}

fn must_be_older(path: &Path, found: Identity, new: Identity, db_path: &DbPath) -> Error {
    db_path.corrupt_advising(
        format!(
            "its journal {} is of generation {} of database {:016x}, but must be older than \
             generation {} of database {:016x}",
            path.display(),
            found.generation,
            found.database,
            new.generation,
            new.database
        ),
        Advice::MoveJournal,
    )
}

/// Extends a short file to [`MIN_FILE_BYTES`], then writes the header of a new generation, both
/// durably. Returns the length of the file.
pub(super) fn write_header(file: &dyn DiskFile, identity: Identity) -> io::Result<u64> {
    let found = file.info()?.len_bytes;
    let length = found.max(MIN_FILE_BYTES);
    if found < length {
        write_zeros(file, found, length)?;
        // The length is durable before the header, so a shorter file with a header was cut.
        file.sync()?;
    }
    file.write_at(0, &FileHeader::encode(identity))?;
    file.sync()?;
    Ok(length)
}

/// Overwrites or extends the file with zeros from offset `from` to offset `to`.
pub(super) fn write_zeros(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut from = from;
    while from < to {
        let count = (to - from).min(ZEROS.len() as u64);
        file.write_at(from, ZEROS.get(..count as usize).unwrap_or(&ZEROS))?;
        from += count;
    }
    Ok(())
}

/// Writes to a file from a position on, and computes the crc32 of the written bytes.
pub(super) struct ChecksumWriter<'f> {
    file: &'f dyn DiskFile,
    position: u64,
    crc: u32,
}

impl<'f> ChecksumWriter<'f> {
    pub(super) fn new(file: &'f dyn DiskFile, position: u64) -> Self {
        Self {
            file,
            position,
            crc: 0,
        }
    }

    pub(super) fn crc(&self) -> u32 {
        self.crc
    }
}

impl Write for ChecksumWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.position, bytes)?;
        self.position += bytes.len() as u64;
        self.crc = crc32_append(self.crc, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
