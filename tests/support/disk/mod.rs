//! A disk in memory that loses unsynced data at a power cut and fails as planned.
//!
//! A file has its current content, its durable content, and the writes in between; so have names.
//! [`SimDisk::after_cut`] is the disk after the restart: of the unsynced writes all, none, the
//! first ones, or any part survive, in sectors of 512 bytes. A name can survive without the content
//! of its file, and vice versa.

mod chance;
mod content;
mod file;
mod handle;
mod names;
mod plan;
mod state;

use std::fs::Permissions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simdb::disk::{Disk, DiskFile, FileInfo};

pub use chance::Chance;
pub use file::Unsynced;
use handle::Handle;
pub use plan::{Fault, Operation, Plan};
use state::State;

/// A disk in memory. All clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl SimDisk {
    /// The disk in the form that a database builder accepts.
    pub fn for_database(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk after a power cut and a restart.
    pub fn after_cut(&self, chance: &mut Chance) -> Self {
        Self(Arc::new(Mutex::new(self.state().after_cut(chance))))
    }

    /// The disk after all of its processes were killed; unsynced data survives.
    pub fn after_kill(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().after_kill())))
    }

    /// Sets the plan, and resets the counters.
    pub fn plan(&self, plan: Plan) {
        self.state().plan(plan);
    }

    /// Returns `true` if power was cut.
    pub fn is_cut(&self) -> bool {
        self.state().cut_operation.is_some()
    }

    /// The operation at which power was cut.
    pub fn cut_operation(&self) -> Option<Operation> {
        self.state().cut_operation
    }

    /// Operations that failed as planned.
    pub fn failures(&self) -> u64 {
        self.state().failures
    }

    /// Operations since the plan was made that its fault applies to.
    pub fn concerned(&self) -> u64 {
        self.state().concerned
    }

    /// Operations since the plan was made that change the disk.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Operations since this disk was made or restarted.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// The names and lengths of all files.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        self.state().files()
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.ask(Operation::Open)?;
        let inode = state.names.find(path)?;
        Ok(Arc::new(Handle::new(self, inode, to_write)))
    }

    fn create(
        &self,
        path: &Path,
        _permissions: Option<&Permissions>,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        if state.names.find(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.perform(Operation::Create, |state| {
            let inode = state.new_file();
            state.names.give(path, inode);
        })?;
        let inode = state.names.find(path)?;
        Ok(Arc::new(Handle::new(self, inode, true)))
    }

    fn info(&self, path: &Path) -> io::Result<FileInfo> {
        let mut state = self.state();
        state.ask(Operation::Info)?;
        let inode = state.names.find(path)?;
        Ok(state.info(inode))
    }

    fn link_info(&self, path: &Path) -> io::Result<FileInfo> {
        self.info(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut state = self.state();
        state.ask(Operation::Info)?;
        state.names.find(path)?;
        Ok(path.to_path_buf())
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(from)?;
        state.perform(Operation::Rename, |state| state.names.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(from)?;
        if state.names.find(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.perform(Operation::Rename, |state| state.names.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(path)?;
        state.perform(Operation::Remove, |state| state.names.unlink(path))
    }

    fn set_permissions(&self, path: &Path, _permissions: &Permissions) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(path)?;
        state.perform(Operation::Permissions, |_| ())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.ask(Operation::SyncFolder)?;
        state.names.sync(folder);
        Ok(())
    }
}
