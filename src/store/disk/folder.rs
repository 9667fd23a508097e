//! The folder that a file is in.

use std::path::Path;

use crate::error::{Error, Result};
use crate::store::disk::Disk;

/// The folder a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a name durable: without this a crash may undo the rename.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_folder(folder_of(path))
        .map_err(|source| Error::Io {
            action: "make durable the folder of",
            path: path.to_path_buf(),
            source,
        })
}
