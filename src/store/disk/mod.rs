//! Where the files of a database are: the file system, or what stands in for it.
//!
//! What a database needs of a file system goes through [`Disk`] and [`DiskFile`], but for the unnamed
//! temporary files of large sorts. A program
//! has no need of them: [`SystemDisk`] is what databases are on unless
//! [`Builder::disk`](crate::Builder::disk) says otherwise. They are public so that a test can put
//! a database on a disk that fails, fills up or loses power, as the tests of this library do.

pub(crate) mod folder;
pub(crate) mod path;
mod system;

use std::fmt::Debug;
use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use system::SystemDisk;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Whether it is a plain file: no folder, no device, no link.
    pub is_file: bool,
    /// Its length.
    pub len_bytes: u64,
    /// What tells it from all other files, under whatever name: two files are one if these are
    /// equal. Where the system has no such thing, any constant.
    pub identity: (u64, u64),
    /// Who may read and write it, where that is known.
    pub permissions: Option<Permissions>,
}

/// A file system, as far as a database needs one.
///
/// Methods that take a path follow links, except where it says otherwise. What changes which file
/// has which name need not be durable before [`sync_folder`](Self::sync_folder).
///
/// # Errors
/// Every method returns what the operating system would: [`io::ErrorKind::NotFound`],
/// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::StorageFull`] and so on.
pub trait Disk: Debug + Send + Sync {
    /// Opens a file that is there, to read it or to read and write it.
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a file where nothing is, not even a link, and opens it to read and write. It has
    /// these permissions from the start, or those that any new file of the user gets.
    fn create(
        &self,
        path: &Path,
        permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>>;

    /// What is under a name.
    fn info(&self, path: &Path) -> io::Result<FileInfo>;

    /// The same, of a link itself rather than of what it leads to.
    fn link_info(&self, path: &Path) -> io::Result<FileInfo>;

    /// The path of the file itself, whatever links lead to it.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Gives a file another name in one step, and takes that from the file that had it.
    fn replace(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name in one step, if nothing has that name.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name, or a link, from a file. Who has it open goes on.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Sets who may read and write a file.
    fn set_permissions(&self, path: &Path, permissions: &Permissions) -> io::Result<()>;

    /// Makes durable which files have which names in a folder.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// An open file. It is closed, and its lock is gone, when it is dropped.
///
/// What is written need not be durable before [`sync`](Self::sync), and in a crash before that any
/// part of it may be lost, in any order; but bytes beside those that were written stay as they are.
pub trait DiskFile: Debug + Send + Sync {
    /// What the file is, whatever name it has by now.
    fn info(&self) -> io::Result<FileInfo>;

    /// Fills `bytes` from a place in the file; [`io::ErrorKind::UnexpectedEof`] where it ends
    /// before.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`. A file that ends before the place is filled with zeros up to it.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file, or makes it longer with zeros that need not take space.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;

    /// Makes durable what was written, and the length.
    fn sync(&self) -> io::Result<()>;

    /// Locks the file, for as long as it is open, against all other handles, or against those that
    /// want it alone; whether that could be done at once. Asked once.
    fn try_lock(&self, alone: bool) -> io::Result<bool>;
}
