//! [`TemporaryFile`]: a new file under a temporary name, until it gets its own.

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::store::disk::DiskFile;
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::DbPath;

/// The name of a temporary file in the folder of its target. Dropped, it removes the file.
pub(super) struct TemporaryFile {
    path: PathBuf,
    /// The file has got another name.
    is_persisted: bool,
    target: DbPath,
}

impl TemporaryFile {
    /// Creates the file, with these permissions or those that any new file of the user gets. Its
    /// name does not contain that of the target, which may be as long as a name can be.
    pub(super) fn create(
        target: &DbPath,
        permissions: Option<&Permissions>,
    ) -> Result<(Arc<dyn DiskFile>, Self)> {
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

    /// Opens the file once more, for reading.
    pub(super) fn open(&self) -> io::Result<Arc<dyn DiskFile>> {
        self.target.disk().open(&self.path, false)
    }

    /// Gives the file the name of the target, which no file has.
    pub(super) fn persist_new(mut self) -> io::Result<()> {
        (self.target.disk()).rename_new(&self.path, self.target.path())?;
        self.is_persisted = true;
        Ok(())
    }

    /// Gives the file the name of the target, and takes the name from the file that has it.
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
