//! The folder of a file.

use std::path::Path;

use crate::error::{Error, Result};
use crate::store::disk::Disk;

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the name of a file durable: without the sync a crash may undo a rename.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_folder(folder_of(path))
        .map_err(|source| Error::Io {
            action: "make durable the folder of",
            path: path.to_path_buf(),
            source,
        })
}
