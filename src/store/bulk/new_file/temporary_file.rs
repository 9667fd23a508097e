//! [`TemporaryFile`]: a new file under a temporary name.

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::store::disk::DiskFile;
use crate::store::disk::folder::{folder_of, sync_folder};
use crate::store::disk::path::DbPath;

/// A file in the folder of its target. It is removed on drop, unless it gets its name.
pub(crate) struct TemporaryFile {
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

    pub(crate) fn db_path(&self) -> DbPath {
        self.target.with_path(&self.path)
    }

    /// Gives the file its name, unless a file with this name exists by now.
    pub(crate) fn publish(mut self) -> Result<()> {
        let (disk, target) = (self.target.disk(), self.target.path());
        disk.rename_new(&self.path, target)
            .map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => Error::AlreadyExists {
                    path: target.to_path_buf(),
                },
                _ => self.target.io("create")(source),
            })?;
        self.is_persisted = true;
        sync_folder(self.target.disk(), self.target.path())
    }

    /// Replaces the target, and returns the new length.
    pub(crate) fn replace(mut self) -> Result<u64> {
        let disk = self.target.disk();
        let info = disk.info(&self.path);
        let len_bytes = info.map_err(self.target.io("read the size of"))?.len_bytes;
        let replaced = disk.replace(&self.path, self.target.path());
        replaced.map_err(self.target.io("replace"))?;
        self.is_persisted = true;
        sync_folder(self.target.disk(), self.target.path())?;
        Ok(len_bytes)
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
