//! The file of a journal: opening, creating, extending.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use super::frame::{FileHeader, Identity, LEAST_BYTES};
use super::reader::{LogOwner, Reader};
use crate::error::{Error, Result};
use crate::store::disk::DiskFile;
use crate::store::disk::page::checksum_on;
use crate::store::disk::path::DbPath;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Opens the file at `path`, if it exists. A link is refused: otherwise a user who may write to the
/// folder could have any file overwritten.
pub(super) fn open_existing(
    path: &Path,
    db_path: &DbPath,
    to_write: bool,
) -> Result<Option<Arc<dyn DiskFile>>> {
    let opening = |source| Error::Io {
        action: "open",
        path: path.to_path_buf(),
        source,
    };
    let named = match db_path.disk().link_info(path) {
        Ok(named) => named,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(opening(cause)),
    };
    if !named.is_file {
        return Err(opening(io::Error::other("it is not a plain file")));
    }
    let file = db_path.disk().open(path, to_write).map_err(opening)?;
    if file.info().map_err(opening)?.identity != named.identity {
        return Err(opening(io::Error::other("another file took its name")));
    }
    Ok(Some(file))
}

/// Creates a file with the permissions of the database, whose private content the journal shares. A
/// link at `path` is not followed.
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

/// The permissions of a file that only its owner may read.
fn private() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o600));
    #[cfg(not(unix))]
    None
}

/// Returns an error if a new generation must not overwrite the file.
pub(super) fn refuse_unless_older(
    file: &dyn DiskFile,
    path: &Path,
    new: Identity,
    db_path: &DbPath,
) -> Result<()> {
    match Reader::new(file, path, db_path)?.owner()? {
        LogOwner::Known(found)
            if found.database != new.database || found.generation >= new.generation =>
        {
            Err(db_path.corrupt_advising(
                format!(
                    "its journal {} is of generation {} of database {:016x}, where one before \
                     generation {} of database {:016x} should be",
                    path.display(),
                    found.generation,
                    found.database,
                    new.generation,
                    new.database
                ),
                "move that journal away, to its own database if that is still there",
            ))
        }
        _ => Ok(()),
    }
}

/// Extends a short file with zeros, and writes the header once these are durable: a shorter file with
/// a header was therefore cut. Returns the length.
pub(super) fn begin(file: &dyn DiskFile, identity: Identity) -> io::Result<u64> {
    let found = file.info()?.len_bytes;
    let length = found.max(LEAST_BYTES);
    if found < length {
        write_zeros(file, found, length)?;
        file.sync()?;
    }
    file.write_at(0, &FileHeader::encode(identity))?;
    file.sync()?;
    Ok(length)
}

/// Writes zeros from offset `from` to offset `to`.
pub(super) fn write_zeros(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut from = from;
    while from < to {
        let count = (to - from).min(ZEROS.len() as u64);
        file.write_at(from, ZEROS.get(..count as usize).unwrap_or(&ZEROS))?;
        from += count;
    }
    Ok(())
}

/// Appends to a file and computes the crc32.
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
        self.crc = checksum_on(self.crc, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
