//! [`TemporaryFile`]: a new file under a temporary name.

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::store::disk::DiskFile;
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::DbPath;

/// A file in the folder of its target. It is removed on drop.
pub(super) struct TemporaryFile {
    path: PathBuf,
    is_persisted: bool,
    target: DbPath,
}

impl TemporaryFile {
    /// Creates the file, with the default permissions for `None`.
    pub(super) fn create(
        target: &DbPath,
        permissions: Option<&Permissions>,
    ) -> Result<(Arc<dyn DiskFile>, Self)> {
        // The name does not contain the name of the target, which may have the maximal length.
        let created = tempfile::Builder::new()
            .prefix(".simdb-")
            .suffix(".new")
            .make_in(folder_of(target.path()), |path| {
                target.disk().create(path, permissions)
            })
            .and_then(|named| {
                let (file, path) = named.into_parts();
                Ok((file, path.keep()?))
            });
        let (file, path) = created.map_err(target.io("create"))?;
        let temporary = Self {
            path,
            is_persisted: false,
            target: target.clone(),
        };
        Ok((file, temporary))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open(&self) -> io::Result<Arc<dyn DiskFile>> {
        self.target.disk().open(&self.path, false)
    }

    /// Renames the file, if the target does not exist.
    pub(super) fn persist_new(mut self) -> io::Result<()> {
        (self.target.disk()).rename_new(&self.path, self.target.path())?;
        self.is_persisted = true;
        Ok(())
    }

    /// Renames the file, and replaces the target.
    pub(super) fn persist(mut self) -> io::Result<()> {
        (self.target.disk()).replace(&self.path, self.target.path())?;
        self.is_persisted = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_persisted {
            // A file that cannot be removed does no harm under its temporary name.
            let _ = self.target.disk().remove(&self.path);
        }
    }
}
