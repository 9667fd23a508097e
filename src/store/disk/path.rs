//! [`DbPath`]: the path of a database file and the disk it is on.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Disk, FileInfo, SystemDisk};
use crate::error::{Error, Result};

pub(crate) use super::error_map::{Damage, RedbResult, raised, said};

/// The path of a database file, for opening it and for naming it in errors.
///
/// How errors of redb and damaged pages become an [`Error`] is in [`error_map`](super::error_map).
#[derive(Clone, Debug)]
pub(crate) struct DbPath {
    path: Arc<Path>,
    disk: Arc<dyn Disk>,
    /// Set while a new file has not got its final name, so no other process can see it.
    pub(super) is_unpublished: bool,
    /// Set if no write transaction uses this path: a failed read then unwinds through redb.
    pub(super) is_read_only: bool,
}

impl DbPath {
    pub(crate) fn new(path: &Path, disk: &Arc<dyn Disk>) -> Self {
        Self {
            path: path.into(),
            disk: Arc::clone(disk),
            is_unpublished: false,
            is_read_only: false,
        }
    }

    /// A path in the file system of the operating system.
    pub(crate) fn of_system(path: &Path) -> Self {
        Self::new(path, &(Arc::new(SystemDisk) as Arc<dyn Disk>))
    }

    /// A path on the same disk of a new file that is renamed when it is complete.
    pub(crate) fn in_the_making(&self, path: &Path) -> Self {
        Self {
            is_unpublished: true,
            ..Self::new(path, &self.disk)
        }
    }

    /// Another path on the same disk.
    pub(crate) fn beside(&self, path: &Path) -> Self {
        Self::new(path, &self.disk)
    }

    /// The same path for a transaction that only reads.
    pub(crate) fn only_read(&self) -> Self {
        Self {
            is_read_only: true,
            ..self.clone()
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The properties of the file that has this path.
    pub(crate) fn info(&self, action: &'static str) -> Result<FileInfo> {
        self.disk.info(&self.path).map_err(self.io(action))
    }

    /// Returns a function that makes an I/O error an [`Error::Io`] with this path.
    pub(crate) fn io(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let path = Arc::clone(&self.path);
        move |source| Error::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }
}
