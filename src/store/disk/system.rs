//! [`SystemDisk`]: the file system of the operating system.

use std::fs::{File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;

use super::{Disk, DiskFile, FileInfo};

/// The file system of the operating system, the default disk of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(to_write);
        Ok(Arc::new(SystemFile(options.open(path)?)))
    }

    fn create(
        &self,
        path: &Path,
        permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            // Only read and write bits: a set-user-id or execute bit is not copied to a data file.
            options.mode(permissions.mode() & 0o666);
        }
        #[cfg(not(unix))]
        let _ = permissions;
        Ok(Arc::new(SystemFile(options.open(path)?)))
    }

    fn info(&self, path: &Path) -> io::Result<FileInfo> {
        std::fs::metadata(path).map(|metadata| info_of(&metadata))
    }

    fn link_info(&self, path: &Path) -> io::Result<FileInfo> {
        std::fs::symlink_metadata(path).map(|metadata| info_of(&metadata))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let named = TempPath::try_from_path(from)?;
        named.persist_noclobber(to).map_err(|failed| {
            // tempfile removes a path that is dropped without `keep`, and the caller needs the
            // file.
            let error = failed.error;
            let _ = failed.path.keep();
            error
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn set_permissions(&self, path: &Path, permissions: &Permissions) -> io::Result<()> {
        std::fs::set_permissions(path, permissions.clone())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Windows cannot open a folder as a file.
        if cfg!(unix) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// A file of the operating system.
#[derive(Debug)]
struct SystemFile(File);

impl DiskFile for SystemFile {
    fn info(&self) -> io::Result<FileInfo> {
        self.0.metadata().map(|metadata| info_of(&metadata))
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = std::os::windows::fs::FileExt::seek_read(&self.0, bytes, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += count as u64;
            bytes = &mut bytes[count..];
        }
        Ok(())
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = std::os::windows::fs::FileExt::seek_write(&self.0, bytes, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            offset += count as u64;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.0.set_len(len_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        // fdatasync: the length is synced, the modification time is not needed.
        self.0.sync_data()
    }

    fn try_lock(&self, alone: bool) -> io::Result<bool> {
        let locked = if alone {
            self.0.try_lock()
        } else {
            self.0.try_lock_shared()
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            // Some network file systems have no locks. Refusing them would make a database there
            // unusable, so the user has to prevent a second writer.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(true)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    #[cfg(target_os = "linux")]
    fn locking_process(&self) -> Option<u32> {
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        let (device, inode) = DiskFile::info(self).ok()?.identity;
        locking_process(&locks, device, inode)
    }
}

/// The process of a lock in `/proc/locks`, whose lines are
/// `1: FLOCK  ADVISORY  WRITE 4711 fd:00:1234567 0 EOF`: the process, then device and inode.
#[cfg(target_os = "linux")]
fn locking_process(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
    let minor = device & 0xff | (device >> 12) & !0xff;
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // A line with `->` is a process that waits for the lock.
        let is_flock = words.next() == Some("FLOCK");
        let (process, locked) = (words.nth(2)?, words.next()?);
        // 0 or less in a container that does not see the process.
        let process = process.parse::<u32>().ok().filter(|id| *id > 0);
        process.filter(|_| is_flock && locked == file)
    })
}

impl Drop for SystemFile {
    fn drop(&mut self) {
        // Closing does not release the lock while a child process that was just forked still holds
        // a copy of the file descriptor.
        let _ = self.0.unlock();
    }
}

fn info_of(metadata: &Metadata) -> FileInfo {
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    };
    // Windows cannot replace an open file, so no identity is needed there.
    #[cfg(not(unix))]
    let identity = (0, 0);
    FileInfo {
        is_file: metadata.is_file(),
        is_folder: metadata.is_dir(),
        len_bytes: metadata.len(),
        identity,
        permissions: Some(metadata.permissions()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::locking_process;

    #[test]
    fn locking_process_is_found_by_device_and_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 12 fe:01:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 14 fe:00:78 0 EOF\n\
                     4: FLOCK  ADVISORY  READ  0 fe:00:79 0 EOF\n";
        let found = |inode| locking_process(locks, 0xfe00, inode);
        assert_eq!(found(77), Some(13));
        assert_eq!(found(78), None);
        assert_eq!(found(79), None);
    }
}
