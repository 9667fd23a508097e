//! A disk in memory: a fuzzer opens thousands of databases a minute. Its size is limited, so that a
//! file that asks for a terabyte gets an error.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simdb::disk::{Disk, DiskFile, FileInfo};

/// No file grows beyond 64 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// A disk in memory. All clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk(Arc<Mutex<BTreeMap<PathBuf, MemoryFile>>>);

#[derive(Clone, Debug)]
struct MemoryFile {
    bytes: Arc<Mutex<Vec<u8>>>,
    number: u64,
}

impl MemoryDisk {
    pub fn with(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> Self {
        let disk = Self::default();
        for (path, bytes) in files {
            disk.put(&path, bytes);
        }
        disk
    }

    /// The content of every file.
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files();
        let contents = files
            .iter()
            .map(|(path, file)| (path.clone(), file.locked().clone()));
        contents.collect()
    }

    /// Stores a file under a name, replacing an existing one.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        self.files()
            .insert(path.to_path_buf(), MemoryFile::new(bytes));
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, MemoryFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, path: &Path) -> io::Result<MemoryFile> {
        let file = self.files().get(path).cloned();
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, _to_write: bool) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(self.file(path)?))
    }

    fn create(
        &self,
        path: &Path,
        _permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let mut files = self.files();
        if files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = MemoryFile::new(Vec::new());
        files.insert(path.to_path_buf(), file.clone());
        Ok(Arc::new(file))
    }

    fn info(&self, path: &Path) -> io::Result<FileInfo> {
        self.file(path)?.info()
    }

    fn link_info(&self, path: &Path) -> io::Result<FileInfo> {
        self.info(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.file(path).map(|_| path.to_path_buf())
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.files();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_path_buf(), file);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.files().contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.replace(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.files().remove(path);
        removed
            .map(drop)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn set_permissions(&self, path: &Path, _permissions: &Permissions) -> io::Result<()> {
        self.file(path).map(drop)
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl MemoryFile {
    fn new(bytes: Vec<u8>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self {
            bytes: Arc::new(Mutex::new(bytes)),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DiskFile for MemoryFile {
    fn info(&self) -> io::Result<FileInfo> {
        Ok(FileInfo {
            is_file: true,
            is_folder: false,
            len_bytes: self.locked().len() as u64,
            identity: (1, self.number),
            permissions: None,
        })
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let content = self.locked();
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let to = from.saturating_add(bytes.len());
        let found = content.get(from..to).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        if end > self.info()?.len_bytes {
            self.set_len(end)?;
        }
        let from = offset as usize;
        self.locked()[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        if len_bytes > MOST_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.locked().resize(len_bytes as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Always succeeds: a fuzz target has one handle at a time.
    fn try_lock(&self, _alone: bool) -> io::Result<bool> {
        Ok(true)
    }
}
