//! The folder that a file is in.

use std::fs::File;
use std::path::Path;

use crate::error::{Error, Result};

/// The folder a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a name durable: without this a crash may undo the rename.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    let syncing = |source| Error::Io {
        action: "make durable the folder of",
        path: path.to_path_buf(),
        source,
    };
    if cfg!(unix) {
        File::open(folder_of(path))
            .and_then(|folder| folder.sync_all())
            .map_err(syncing)?;
    }
    Ok(())
}
