//! The state of a disk: files, names, locks, the plan, and counters of operations.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use simdb::disk::FileInfo;

use super::chance::Chance;
use super::file::File;
use super::names::{Inode, Names};
use super::plan::{Fault, Operation, Plan};

/// The state of a disk.
#[derive(Debug, Default)]
pub struct State {
    pub names: Names,
    pub files: BTreeMap<Inode, File>,
    last_inode: Inode,
    /// Locks of each file: the handle, and `true` if the lock is exclusive.
    pub locks: BTreeMap<Inode, Vec<(u64, bool)>>,
    plan: Plan,
    /// Operations since the plan was made that its fault applies to.
    pub concerned: u64,
    pub changes: u64,
    pub operations: u64,
    pub failures: u64,
    pub cut_operation: Option<Operation>,
}

impl State {
    pub fn plan(&mut self, plan: Plan) {
        self.plan = plan;
        (self.concerned, self.changes, self.failures) = (0, 0, 0);
    }

    pub fn new_file(&mut self) -> Inode {
        self.last_inode += 1;
        self.files.insert(self.last_inode, File::default());
        self.last_inode
    }

    /// The file of a handle, which lives at least as long as the handle.
    pub fn file(&mut self, inode: Inode) -> &mut File {
        self.files.entry(inode).or_default()
    }

    pub fn info(&self, inode: Inode) -> FileInfo {
        let file = self.files.get(&inode);
        FileInfo {
            is_file: true,
            is_folder: false,
            len_bytes: file.map_or(0, |file| file.now.len()),
            identity: (1, inode),
            permissions: None,
        }
    }

    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let named = self.names.all();
        let with_len = named.map(|(path, inode)| (path.into(), self.info(inode).len_bytes));
        with_len.collect()
    }

    /// Counts an operation without effect on the disk.
    pub fn ask(&mut self, operation: Operation) -> io::Result<()> {
        self.perform(operation, |_| ())
    }

    /// Performs an operation unless the plan makes it fail.
    pub fn perform(&mut self, operation: Operation, run: impl FnOnce(&mut Self)) -> io::Result<()> {
        match self.next_fault(operation)? {
            Some(fault) => Err(fault.error()),
            None => {
                run(self);
                self.fail_if_cut()
            }
        }
    }

    /// The fault that the plan chooses for this operation. Fails if power is cut already. A cut at
    /// this operation returns `None` if the operation is to be done first.
    pub fn next_fault(&mut self, operation: Operation) -> io::Result<Option<Fault>> {
        if self.cut_operation.is_some() {
            return Err(dead());
        }
        self.operations += 1;
        if operation.changes() {
            self.changes += 1;
        }
        match self.plan {
            Plan::Nothing => Ok(None),
            Plan::Cut { at, is_done } => {
                if !operation.changes() || self.changes <= at {
                    return Ok(None);
                }
                self.cut_operation = Some(operation);
                match is_done {
                    true => Ok(None),
                    false => Err(dead()),
                }
            }
            Plan::Fault { at, fault, lasts } => {
                if !fault.concerns(operation) {
                    return Ok(None);
                }
                self.concerned += 1;
                let fails = match lasts {
                    true => self.concerned > at,
                    false => self.concerned == at + 1,
                };
                self.failures += u64::from(fails);
                Ok(fails.then_some(fault))
            }
        }
    }

    /// Fails if power was cut by this operation.
    pub fn fail_if_cut(&self) -> io::Result<()> {
        match self.cut_operation {
            Some(_) => Err(dead()),
            None => Ok(()),
        }
    }

    pub fn after_cut(&self, chance: &mut Chance) -> Self {
        let names = self.names.after_cut(chance);
        let files = names.inodes().into_iter().map(|inode| {
            let file = self.files.get(&inode);
            let found = file.map(|file| file.after_cut(chance));
            (inode, found.unwrap_or_default())
        });
        Self {
            files: files.collect(),
            names,
            last_inode: self.last_inode,
            ..Self::default()
        }
    }

    pub fn after_kill(&self) -> Self {
        let named = self.names.inodes();
        let files = self.files.iter();
        let files = files.filter(|(inode, _)| named.contains(inode));
        Self {
            files: files.map(|(inode, file)| (*inode, file.clone())).collect(),
            names: self.names.clone(),
            last_inode: self.last_inode,
            ..Self::default()
        }
    }
}

fn dead() -> io::Error {
    io::Error::other("the simulated disk has no power")
}
