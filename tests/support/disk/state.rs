//! What is on the disk, and what was asked of it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use simdb::FileInfo;

use super::chance::Chance;
use super::file::File;
use super::names::{Inode, Names};
use super::plan::{Asked, Fault, Plan};

/// What is on a disk.
#[derive(Debug, Default)]
pub struct State {
    pub names: Names,
    pub files: BTreeMap<Inode, File>,
    last_inode: Inode,
    /// The handles that have a file locked, and whether alone.
    pub locks: BTreeMap<Inode, Vec<(u64, bool)>>,
    plan: Plan,
    /// Operations that the planned fault concerns, since it was planned.
    pub concerned: u64,
    pub changes: u64,
    pub operations: u64,
    pub failures: u64,
    pub died_at: Option<Asked>,
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

    /// The file of a handle, which has it for as long as it lives.
    pub fn file(&mut self, inode: Inode) -> &mut File {
        self.files.entry(inode).or_default()
    }

    pub fn info(&self, inode: Inode) -> FileInfo {
        let file = self.files.get(&inode);
        FileInfo {
            is_file: true,
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

    /// Something is asked that changes nothing, or is not done at all when power fails.
    pub fn ask(&mut self, asked: Asked) -> io::Result<()> {
        self.ask_and(asked, |_| ())
    }

    /// Something is asked, and is done unless it fails.
    pub fn ask_and(&mut self, asked: Asked, run: impl FnOnce(&mut Self)) -> io::Result<()> {
        match self.failing(asked)? {
            Some(fault) => Err(fault.error()),
            None => {
                run(self);
                self.go_on_unless_dead()
            }
        }
    }

    /// Whether what is asked shall fail; an error if the disk is dead. Where power fails at this
    /// very operation, and it shall be done, nothing fails yet.
    pub fn failing(&mut self, asked: Asked) -> io::Result<Option<Fault>> {
        if self.died_at.is_some() {
            return Err(dead());
        }
        self.operations += 1;
        if asked.changes() {
            self.changes += 1;
        }
        match self.plan {
            Plan::Nothing => Ok(None),
            Plan::Cut { at, is_done } => {
                if !asked.changes() || self.changes <= at {
                    return Ok(None);
                }
                self.died_at = Some(asked);
                match is_done {
                    true => Ok(None),
                    false => Err(dead()),
                }
            }
            Plan::Fault { at, fault, lasts } => {
                if !fault.concerns(asked) {
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

    /// An error if power failed just now.
    pub fn go_on_unless_dead(&self) -> io::Result<()> {
        match self.died_at {
            Some(_) => Err(dead()),
            None => Ok(()),
        }
    }

    pub fn after_a_cut(&self, chance: &mut Chance) -> Self {
        let names = self.names.after_a_cut(chance);
        let files = names.inodes().into_iter().map(|inode| {
            let file = self.files.get(&inode);
            let found = file.map(|file| file.after_a_cut(chance));
            (inode, found.unwrap_or_default())
        });
        Self {
            files: files.collect(),
            names,
            last_inode: self.last_inode,
            ..Self::default()
        }
    }

    pub fn after_a_kill(&self) -> Self {
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
