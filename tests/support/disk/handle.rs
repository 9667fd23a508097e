//! An open file of the disk.

use std::io;

use simdb::disk::{DiskFile, FileInfo};

use super::SimDisk;
use super::chance::Chance;
use super::names::Inode;
use super::plan::{Fault, Operation};

/// An open file, with its lock if it has one.
#[derive(Debug)]
pub struct Handle {
    disk: SimDisk,
    inode: Inode,
    number: u64,
    to_write: bool,
}

impl Handle {
    /// Opens a file. The caller holds the lock of the disk's state.
    pub fn new(disk: &SimDisk, inode: Inode, to_write: bool) -> Self {
        static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Self {
            disk: disk.clone(),
            inode,
            number: LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            to_write,
        }
    }

    fn refuse_unless_writable(&self) -> io::Result<()> {
        match self.to_write {
            true => Ok(()),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

impl DiskFile for Handle {
    fn info(&self) -> io::Result<FileInfo> {
        let mut state = self.disk.state();
        state.ask(Operation::Info)?;
        Ok(state.info(self.inode))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        state.ask(Operation::Read)?;
        state.file(self.inode).now.read(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.refuse_unless_writable()?;
        let mut state = self.disk.state();
        match state.next_fault(Operation::Write)? {
            None => {}
            Some(Fault::Short) => {
                // The length of the partial write depends on the offset, so that a seed repeats it.
                let part = Chance::new(offset).below(bytes.len().max(1) as u64);
                state
                    .file(self.inode)
                    .write(offset, &bytes[..part as usize]);
                return Err(Fault::Short.error());
            }
            Some(fault) => return Err(fault.error()),
        }
        state.file(self.inode).write(offset, bytes);
        state.fail_if_cut()
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.refuse_unless_writable()?;
        let mut state = self.disk.state();
        let inode = self.inode;
        state.perform(Operation::SetLen, |state| {
            state.file(inode).set_len(len_bytes)
        })
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        match state.next_fault(Operation::Sync)? {
            None => {}
            Some(Fault::Sync(unsynced)) => {
                state.file(self.inode).fail_to_sync(unsynced);
                return Err(Fault::Sync(unsynced).error());
            }
            Some(fault) => return Err(fault.error()),
        }
        // If power is cut during the sync, `after_cut` decides which data survives.
        state.fail_if_cut()?;
        state.file(self.inode).sync();
        Ok(())
    }

    fn try_lock(&self, alone: bool) -> io::Result<bool> {
        let mut state = self.disk.state();
        state.ask(Operation::Lock)?;
        let locks = state.locks.entry(self.inode).or_default();
        let mut others = locks.iter().filter(|(number, _)| *number != self.number);
        if others.any(|(_, others_alone)| alone || *others_alone) {
            return Ok(false);
        }
        locks.retain(|(number, _)| *number != self.number);
        locks.push((self.number, alone));
        Ok(true)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if let Some(locks) = state.locks.get_mut(&self.inode) {
            locks.retain(|(number, _)| *number != self.number);
        }
    }
}
