//! The file system as a database uses it.
//!
//! All file access of a database goes through [`Disk`] and [`DiskFile`], except for the unnamed
//! temporary files of large sorts. Databases are on [`SystemDisk`] unless
//! [`Builder::disk`](crate::Builder::disk) sets another disk. The traits are public so that a test
//! can put a database on a disk that fails, fills up or loses power, as the tests of this library do.
//!
//! This folder uses nothing else of the store. [`path`] names the database file in errors,
//! [`error_map`] is the boundary to errors and panics of redb, [`page`] has the page size and the
//! checksum that every format of the store shares.

mod error_map;
pub(crate) mod folder;
pub(crate) mod page;
pub(crate) mod path;
mod system;

use std::fmt::Debug;
use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use system::SystemDisk;

/// The properties of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// `true` for a plain file: no folder, no device, no link.
    pub is_file: bool,
    /// The length in bytes.
    pub len_bytes: u64,
    /// The identity of the file, whatever its name: two files are the same if these are equal. Any
    /// constant where the system has no such identity.
    pub identity: (u64, u64),
    /// The permissions, or `None` if unknown.
    pub permissions: Option<Permissions>,
}

/// The operations of a file system that a database needs.
///
/// Methods that take a path follow links, except where the method says otherwise. A change of
/// names need not be durable before [`sync_folder`](Self::sync_folder).
///
/// # Errors
/// Every method returns what the operating system would: [`io::ErrorKind::NotFound`],
/// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::StorageFull`] and so on.
pub trait Disk: Debug + Send + Sync {
    /// Opens an existing file for reading, or for reading and writing.
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a file, where there must be nothing yet, not even a link, and opens it for reading and
    /// writing. The file has `permissions` from the start, or the user's default permissions.
    fn create(
        &self,
        path: &Path,
        permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>>;

    /// The properties of the file that has this path.
    fn info(&self, path: &Path) -> io::Result<FileInfo>;

    /// The properties of a link itself rather than of its target.
    fn link_info(&self, path: &Path) -> io::Result<FileInfo>;

    /// The path of the file itself, with all links resolved.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Renames a file in one step, replacing the file at `to`.
    fn replace(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file in one step; fails if `to` exists.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes the name of a file, or a link. Open handles stay usable.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Sets the permissions of a file.
    fn set_permissions(&self, path: &Path, permissions: &Permissions) -> io::Result<()>;

    /// Makes the names of the files in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// An open file. Dropping the last handle closes the file and releases its lock.
///
/// A write need not be durable before [`sync`](Self::sync): a crash before that may lose any part
/// of it, in any order, but leaves the bytes beside the written ones as they were.
pub trait DiskFile: Debug + Send + Sync {
    /// The properties of the file, whatever its name is by now.
    fn info(&self) -> io::Result<FileInfo>;

    /// Fills `bytes` from `offset`; [`io::ErrorKind::UnexpectedEof`] if the file ends before.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. A shorter file is first extended with zeros.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file, or extends it with zeros that need not take space.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;

    /// Makes the content and the length durable.
    fn sync(&self) -> io::Result<()>;

    /// Locks the file while it is open: against all other handles if `alone`, else against
    /// handles that lock it alone. Returns `false` if another handle holds the lock. Called at most
    /// once for a handle.
    fn try_lock(&self, alone: bool) -> io::Result<bool>;
}
