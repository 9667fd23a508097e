//! The folder that contains a file.

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

/// Makes the name of a file durable. Without this sync a crash may undo a create, rename or remove.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_folder(folder_of(path))
        .map_err(|source| Error::Io {
            action: "sync the folder of",
            path: path.to_path_buf(),
            source,
        })
}
