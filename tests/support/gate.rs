//! The system's disk with syncs that a test can block.

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use simdb::disk::{Disk, DiskFile, FileInfo, SystemDisk};

use crate::timing::PATIENCE;

/// A disk on which syncs of files wait while the gate is held.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    is_held: bool,
    /// Blocked syncs.
    waiting: usize,
}

/// Blocks all syncs until dropped.
pub struct Held<'g>(&'g Gate);

impl Gate {
    pub fn hold(&self) -> Held<'_> {
        self.0.0.lock().unwrap().is_held = true;
        Held(self)
    }

    fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.waiting += 1;
        changed.notify_all();
        let waited = changed.wait_timeout_while(state, PATIENCE, |state| state.is_held);
        waited.unwrap().0.waiting -= 1;
    }
}

impl Held<'_> {
    /// Waits until a sync is blocked. Panics after [`PATIENCE`].
    pub fn wait_for_sync(&self) {
        let (state, changed) = &*self.0.0;
        let state = state.lock().unwrap();
        let waited = changed.wait_timeout_while(state, PATIENCE, |state| state.waiting == 0);
        assert!(!waited.unwrap().1.timed_out(), "nothing is synced");
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let (state, changed) = &*self.0.0;
        state.lock().unwrap().is_held = false;
        changed.notify_all();
    }
}

impl Disk for Gate {
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>> {
        let file = SystemDisk.open(path, to_write)?;
        Ok(Arc::new(GatedFile(file, self.clone())))
    }

    fn create(
        &self,
        path: &Path,
        permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let file = SystemDisk.create(path, permissions)?;
        Ok(Arc::new(GatedFile(file, self.clone())))
    }

    fn info(&self, path: &Path) -> io::Result<FileInfo> {
        SystemDisk.info(path)
    }

    fn link_info(&self, path: &Path) -> io::Result<FileInfo> {
        SystemDisk.link_info(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        SystemDisk.resolve(path)
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.replace(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove(path)
    }

    fn set_permissions(&self, path: &Path, permissions: &Permissions) -> io::Result<()> {
        SystemDisk.set_permissions(path, permissions)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        SystemDisk.sync_folder(folder)
    }
}

#[derive(Debug)]
struct GatedFile(Arc<dyn DiskFile>, Gate);

impl DiskFile for GatedFile {
    fn info(&self) -> io::Result<FileInfo> {
        self.0.info()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.0.set_len(len_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync()
    }

    fn try_lock(&self, alone: bool) -> io::Result<bool> {
        self.0.try_lock(alone)
    }
}
