//! The file system as a database uses it.
//!
//! All file access of a database goes through [`Disk`] and [`DiskFile`], except for the unnamed
//! temporary files of large sorts. Databases are on [`SystemDisk`] unless
//! [`Builder::disk`](crate::Builder::disk) sets another disk. The traits are public so that a test
//! can put a database on a disk that fails, fills up or loses power, as the tests of this library
//! do.
//!
//! This folder uses nothing else of the store. [`path`] names the database file in errors,
//! [`lock`] knows the holders of locks,
//! [`error_map`] is the boundary to errors and panics of redb, [`checksum`] has the crc32 of every
//! format of the store.

pub(crate) mod checksum;
mod clock;
mod error_map;
pub(crate) mod folder;
pub(crate) mod lock;
pub(crate) mod path;
mod system;

use std::fmt::Debug;
use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use system::SystemDisk;

/// Bytes of a page: of redb, of the checksum pages and of a chunk with its key.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// `true` for a regular file; `false` for a folder, device or link.
    pub is_file: bool,
    /// `true` for a folder.
    pub is_folder: bool,
    /// The length in bytes.
    pub len_bytes: u64,
    /// The identity of the file, which a rename does not change: device and inode on Unix. Two
    /// names with equal identities are one file. Any constant if the system has no such identity.
    pub identity: (u64, u64),
    /// The permissions, or `None` if unknown.
    pub permissions: Option<Permissions>,
}

/// The operations of a file system that a database needs.
///
/// A method that takes a path follows links, unless its documentation says otherwise. A created,
/// renamed or removed name need not be durable before [`sync_folder`](Self::sync_folder).
///
/// # Errors
/// Every method returns the error kinds of the operating system: [`io::ErrorKind::NotFound`],
/// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::StorageFull`] and so on. The database relies
/// on the kinds.
pub trait Disk: Debug + Send + Sync {
    /// Opens an existing file for reading, or for reading and writing.
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a file and opens it for reading and writing. Fails if the path exists, even as a
    /// dangling link. The file has `permissions` from the start, or the user's default permissions.
    fn create(
        &self,
        path: &Path,
        permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>>;

    /// The metadata of the file at a path.
    fn info(&self, path: &Path) -> io::Result<FileInfo>;

    /// The metadata of the file at a path; of a link itself, not of its target.
    fn link_info(&self, path: &Path) -> io::Result<FileInfo>;

    /// The absolute path of an existing file, with all links resolved.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Renames a file atomically, replacing the file at `to`.
    fn replace(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file atomically; fails if `to` exists, and leaves `from` then.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes the name of a file, or a link. Open handles stay usable.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Sets the permissions of a file.
    fn set_permissions(&self, path: &Path, permissions: &Permissions) -> io::Result<()>;

    /// Makes the names of all files in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// An open file. Dropping the last handle closes the file and releases its lock.
///
/// A write need not be durable before [`sync`](Self::sync). A crash before the sync may lose any
/// part of any write, in any order, but never changes bytes that were not written.
pub trait DiskFile: Debug + Send + Sync {
    /// The metadata of the open file, even if the file was renamed or removed.
    fn info(&self) -> io::Result<FileInfo>;

    /// Fills `bytes` from byte `offset` on; [`io::ErrorKind::UnexpectedEof`] if the file is too
    /// short.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at byte `offset`. A shorter file is first extended with zeros.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file, or extends it with zeros; the zeros need not be allocated.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;

    /// Makes the content and the length of the file durable.
    fn sync(&self) -> io::Result<()>;

    /// Locks the file until the handle is dropped: exclusively if `alone`, otherwise shared.
    /// Returns `false` if another handle, in any process, holds a conflicting lock. Called at most
    /// once for a handle.
    fn try_lock(&self, alone: bool) -> io::Result<bool>;

    /// The id of a process that holds a lock of this file, for the error message of a refused lock;
    /// `None` if the system does not tell.
    fn locking_process(&self) -> Option<u32> {
        None
    }
}
