//! [`FileLock`]: the lock of a database file, and the handles of this process that hold one.
//!
//! The operating system refuses a lock without saying why. Most often the other handle is in the
//! same process, so this process keeps a list of its own locks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::DiskFile;
use super::path::DbPath;
use crate::error::{Error, LockHolder, Result};

/// The locks of this process.
static HELD: Mutex<Locks> = Mutex::new(Locks {
    next_id: 0,
    held: Vec::new(),
});
/// Notified when a lock is released.
static RELEASED: Condvar = Condvar::new();

struct Locks {
    next_id: u64,
    held: Vec<HeldLock>,
}

struct HeldLock {
    id: LockId,
    identity: (u64, u64),
    path: PathBuf,
    holder: LockHolder,
}

impl Locks {
    fn position(&self, id: LockId) -> Option<usize> {
        self.held.iter().position(|held| held.id == id)
    }

    fn holder_of(&self, identity: (u64, u64), path: &PathBuf) -> Option<LockHolder> {
        // Where files have no identity, all identities are equal.
        let is_same =
            |held: &&HeldLock| held.identity == identity && (cfg!(unix) || held.path == *path);
        self.held.iter().find(is_same).map(|held| held.holder)
    }
}

/// The number of a lock, for [`wait_until_released`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockId(u64);

/// The entry of a lock in the list of this process. The lock itself belongs to the file handle,
/// which the owner of the entry drops first.
#[derive(Debug)]
pub(crate) struct FileLock(LockId);

impl FileLock {
    pub(crate) fn id(&self) -> LockId {
        self.0
    }

    /// Changes the holder that other handles are told of.
    pub(crate) fn set_holder(&self, holder: LockHolder) {
        let mut locks = HELD.lock();
        if let Some(position) = locks.position(self.0) {
            locks.held[position].holder = holder;
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let mut locks = HELD.lock();
        if let Some(position) = locks.position(self.0) {
            locks.held.swap_remove(position);
        }
        RELEASED.notify_all();
    }
}

/// Waits until a lock is released. Returns `false` if `timeout` ends before.
pub(crate) fn wait_until_released(id: LockId, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    let mut locks = HELD.lock();
    while locks.position(id).is_some() {
        if RELEASED.wait_until(&mut locks, deadline).timed_out() {
            return locks.position(id).is_none();
        }
    }
    true
}

impl DbPath {
    /// Locks an open file: exclusively if `alone`, otherwise shared. [`Error::Locked`] names the
    /// holder of a conflicting lock.
    pub(crate) fn lock(
        &self,
        file: &dyn DiskFile,
        alone: bool,
        holder: LockHolder,
    ) -> Result<FileLock> {
        let identity = file.info().map_err(self.io("open"))?.identity;
        let path = self.disk().resolve(self.path());
        let path = path.unwrap_or_else(|_| self.path().to_path_buf());
        // Locked before the file: another handle that is refused finds this one in the list.
        let mut locks = HELD.lock();
        if !file.try_lock(alone).map_err(self.io("lock"))? {
            let own = locks.holder_of(identity, &path);
            drop(locks);
            return Err(Error::Locked {
                path: self.path().to_path_buf(),
                holder: own.unwrap_or_else(|| other_holder(file)),
            });
        }
        let id = LockId(locks.next_id);
        locks.next_id += 1;
        locks.held.push(HeldLock {
            id,
            identity,
            path,
            holder,
        });
        Ok(FileLock(id))
    }
}

fn other_holder(file: &dyn DiskFile) -> LockHolder {
    match file.locking_process() {
        // Another copy of this library in this process.
        Some(id) if id == std::process::id() => LockHolder::Database,
        Some(id) => LockHolder::Process(id),
        None => LockHolder::AnotherProcess,
    }
}
