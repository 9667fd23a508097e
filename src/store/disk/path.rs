//! [`DbPath`]: the path of a database file and the disk it is on.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Disk, FileInfo, SystemDisk};
use crate::error::{Error, Result};

pub(crate) use super::error_map::{Damage, RedbResult, message_without_path, unwind_or_return};

/// The path of a database file and its disk. Opens the file, and names the file in errors:
/// [`error_map`](super::error_map) has the methods that make an [`Error`].
#[derive(Clone, Debug)]
pub(crate) struct DbPath {
    path: Arc<Path>,
    disk: Arc<dyn Disk>,
    /// `true` for a new file that has a temporary name and is deleted after a failure.
    pub(super) is_unpublished: bool,
    /// `true` if only read transactions use this path: a failed read then panics through redb.
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

    /// A path on [`SystemDisk`].
    pub(crate) fn on_system_disk(path: &Path) -> Self {
        Self::new(path, &(Arc::new(SystemDisk) as Arc<dyn Disk>))
    }

    /// The path of a new file, on the same disk, that is not published yet.
    pub(crate) fn unpublished(&self, path: &Path) -> Self {
        Self {
            is_unpublished: true,
            ..Self::new(path, &self.disk)
        }
    }

    /// Another path on the same disk.
    pub(crate) fn with_path(&self, path: &Path) -> Self {
        Self::new(path, &self.disk)
    }

    /// The path for read transactions: see [`catch_failed_reads`](Self::catch_failed_reads).
    pub(crate) fn read_only(&self) -> Self {
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

    /// The metadata of the file; `action` names the failed operation in the error.
    pub(crate) fn info(&self, action: &'static str) -> Result<FileInfo> {
        self.disk.info(&self.path).map_err(self.io(action))
    }

    /// A function that turns an I/O error into an [`Error::Io`] with this path.
    pub(crate) fn io(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        Error::io(action, &self.path)
    }
}
