//! A disk in memory that forgets what was not synced when power is cut, and fails when told to.
//!
//! A file is what it holds *now*, what of that is *durable*, and the writes in between; the same
//! goes for names. [`SimDisk::after_a_cut`] is the disk as a machine finds it when power is back:
//! of what was not durable there is all, nothing, the first part, or any part, in sectors of 512
//! bytes. A name can be there without what was written to its file, and the other way round.

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

use simdb::{Disk, DiskFile, FileInfo};

pub use chance::Chance;
pub use file::Unsynced;
use handle::Handle;
pub use plan::{Asked, Fault, Plan};
use state::State;

/// A disk in memory. All clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl SimDisk {
    /// The disk as a database takes it.
    pub fn for_database(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk as it is when power is back after it was cut now.
    pub fn after_a_cut(&self, chance: &mut Chance) -> Self {
        Self(Arc::new(Mutex::new(self.state().after_a_cut(chance))))
    }

    /// The disk as it is when every process on it was killed, and the machine goes on.
    pub fn after_a_kill(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().after_a_kill())))
    }

    /// Has something go wrong from now on; operations are counted anew.
    pub fn plan(&self, plan: Plan) {
        self.state().plan(plan);
    }

    /// Whether power was cut.
    pub fn is_dead(&self) -> bool {
        self.state().died_at.is_some()
    }

    /// What was asked for when power was cut.
    pub fn died_at(&self) -> Option<Asked> {
        self.state().died_at
    }

    /// How often what was planned went wrong.
    pub fn failures(&self) -> u64 {
        self.state().failures
    }

    /// Operations since the plan was made that the planned fault could have met.
    pub fn concerned(&self) -> u64 {
        self.state().concerned
    }

    /// Operations since the plan was made that change something.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Operations there ever were on this disk, since it was made or found again.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// The names of all files, and how long these are.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        self.state().files()
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, to_write: bool) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.ask(Asked::Open)?;
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
        state.ask_and(Asked::Create, |state| {
            let inode = state.new_file();
            state.names.give(path, inode);
        })?;
        let inode = state.names.find(path)?;
        Ok(Arc::new(Handle::new(self, inode, true)))
    }

    fn info(&self, path: &Path) -> io::Result<FileInfo> {
        let mut state = self.state();
        state.ask(Asked::Info)?;
        let inode = state.names.find(path)?;
        Ok(state.info(inode))
    }

    fn link_info(&self, path: &Path) -> io::Result<FileInfo> {
        self.info(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut state = self.state();
        state.ask(Asked::Info)?;
        state.names.find(path)?;
        Ok(path.to_path_buf())
    }

    fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(from)?;
        state.ask_and(Asked::Rename, |state| state.names.rename(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(from)?;
        if state.names.find(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.ask_and(Asked::Rename, |state| state.names.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(path)?;
        state.ask_and(Asked::Remove, |state| state.names.take(path))
    }

    fn set_permissions(&self, path: &Path, _permissions: &Permissions) -> io::Result<()> {
        let mut state = self.state();
        state.names.find(path)?;
        state.ask_and(Asked::Permissions, |_| ())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.ask(Asked::SyncFolder)?;
        state.names.sync(folder);
        Ok(())
    }
}
