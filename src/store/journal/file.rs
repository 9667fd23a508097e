//! The file a journal is in: opened, begun, made longer.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

use super::frame::{FileHeader, HEADER_BYTES, Identity};
use super::reader::{Owner, Reader};
use crate::error::{Error, Result};
use crate::store::fault::Place;

/// The length of a new file.
pub(super) const LEAST_BYTES: u64 = 1 << 20;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Opens the file that has the name, if there is one. What a link of that name leads to is
/// refused: whoever may write to the folder could have any file overwritten.
pub(super) fn open_existing(path: &Path, options: &OpenOptions) -> Result<Option<File>> {
    let opening = |source| Error::Io {
        action: "open",
        path: path.to_path_buf(),
        source,
    };
    let named = match path.symlink_metadata() {
        Ok(named) => named,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(opening(cause)),
    };
    if !named.is_file() {
        return Err(opening(std::io::Error::other("it is not a plain file")));
    }
    let file = options.open(path).map_err(opening)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let opened = file.metadata().map_err(opening)?;
        if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(opening(std::io::Error::other("another file took its name")));
        }
    }
    Ok(Some(file))
}

/// Creates a file with no more permissions than the database has: what is private there is in its
/// journal too. A link of that name is not followed.
pub(super) fn create_like(database: &Path, path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        let private = 0o600;
        options.mode(std::fs::metadata(database).map_or(private, |found| found.mode() & 0o666));
    }
    #[cfg(not(unix))]
    let _ = database;
    options.open(path)
}

/// Refuses a file that a new generation must not overwrite.
pub(super) fn refuse_unless_older(
    file: &File,
    path: &Path,
    new: Identity,
    place: &Place,
) -> Result<()> {
    match Reader::new(file, path, place)?.owner()? {
        Owner::Known(found)
            if found.database != new.database || found.generation >= new.generation =>
        {
            Err(place.corrupt(format!(
                "its journal {} is of generation {} of database {:016x}, where one before \
                 generation {} of database {:016x} should be",
                path.display(),
                found.generation,
                found.database,
                new.generation,
                new.database
            )))
        }
        _ => Ok(()),
    }
}

/// Writes the header of a file, and zeros where the file is too short; returns its length.
pub(super) fn begin(mut file: &File, identity: Identity) -> std::io::Result<u64> {
    let found = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&FileHeader::encode(identity))?;
    let length = found.max(LEAST_BYTES);
    write_zeros(file, found.max(HEADER_BYTES as u64), length)?;
    file.sync_all()?;
    Ok(length)
}

/// Writes zeros from one position in a file to another.
pub(super) fn write_zeros(mut file: &File, from: u64, to: u64) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    let mut left = to.saturating_sub(from);
    while left > 0 {
        let count = left.min(ZEROS.len() as u64);
        file.write_all(ZEROS.get(..count as usize).unwrap_or(&ZEROS))?;
        left -= count;
    }
    Ok(())
}
