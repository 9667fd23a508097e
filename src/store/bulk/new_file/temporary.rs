//! A file under a name that nobody asks for, until it gets its own.

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::store::disk::DiskFile;
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::DbPath;

/// A name of a temporary file in the folder of its target. Dropped, it removes the file.
pub(super) struct Temporary {
    /// Nothing when the file has another name.
    path: Option<PathBuf>,
    db_path: DbPath,
}

impl Temporary {
    /// Creates the file, with these permissions or those that any new file of the user gets. Its
    /// name does not hold that of the target, which may be as long as a name can be.
    pub(super) fn create(
        target: &DbPath,
        permissions: Option<&Permissions>,
    ) -> Result<(Arc<dyn DiskFile>, Self)> {
        let named = tempfile::Builder::new()
            .prefix(".simdb-")
            .suffix(".new")
            .make_in(folder_of(target.path()), |path| {
                target.disk().create(path, permissions)
            })
            .and_then(|named| {
                let (file, path) = named.into_parts();
                Ok((file, path.keep()?))
            });
        let (file, path) = named.map_err(target.io("create"))?;
        let temporary = Self {
            path: Some(path),
            db_path: target.clone(),
        };
        Ok((file, temporary))
    }

    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(self.db_path.path())
    }

    /// Opens the file once more, to look at it.
    pub(super) fn open(&self) -> io::Result<Arc<dyn DiskFile>> {
        self.db_path.disk().open(self.path(), false)
    }

    /// Gives the file another name, which no file has.
    pub(super) fn persist_new(mut self, to: &Path) -> io::Result<()> {
        self.db_path.disk().rename_new(self.path(), to)?;
        self.path = None;
        Ok(())
    }

    /// Gives the file another name, and takes that from the file that has it.
    pub(super) fn persist(mut self, to: &Path) -> io::Result<()> {
        self.db_path.disk().replace(self.path(), to)?;
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed is in nobody's way.
            let _ = self.db_path.disk().remove(path);
        }
    }
}
