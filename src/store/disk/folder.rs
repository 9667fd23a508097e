//! The folder that contains a file, and the name that a file has in it.

use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::disk::Disk;

/// The folder of a file; `.` for a bare file name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns `true` if a path no longer names the file with this identity: the file was deleted,
/// moved or replaced.
pub(crate) fn is_gone(disk: &dyn Disk, path: &Path, identity: (u64, u64)) -> bool {
    match disk.info(path) {
        Ok(named) => named.identity != identity,
        // Other failures, for example of a permission, tell nothing about the file.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Makes the name of a file durable. Without this sync a crash may undo a create, rename or remove.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_folder(folder_of(path))
        .map_err(Error::io("sync the folder of", path))
}
