//! The names of files, and the durable part of their changes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::chance::Chance;

/// The identity of a file, independent of its names.
pub type Inode = u64;

/// The names of a disk. Folders exist implicitly.
#[derive(Clone, Debug, Default)]
pub struct Names {
    now: BTreeMap<PathBuf, Inode>,
    durable: BTreeMap<PathBuf, Inode>,
    /// The operations since the folder was synced.
    since: Vec<Done>,
}

#[derive(Clone, Debug)]
enum Done {
    Give(PathBuf, Inode),
    Take(PathBuf),
    Move { from: PathBuf, to: PathBuf },
}

impl Names {
    pub fn find(&self, path: &Path) -> io::Result<Inode> {
        let found = self.now.get(path).copied();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub fn all(&self) -> impl Iterator<Item = (&Path, Inode)> {
        self.now
            .iter()
            .map(|(path, inode)| (path.as_path(), *inode))
    }

    /// Every file that has a name, or may have one after a crash.
    pub fn inodes(&self) -> BTreeSet<Inode> {
        let given = self.since.iter().filter_map(|done| match done {
            Done::Give(_, inode) => Some(*inode),
            _ => None,
        });
        let named = self.now.values().chain(self.durable.values()).copied();
        named.chain(given).collect()
    }

    pub fn give(&mut self, path: &Path, inode: Inode) {
        self.do_now(Done::Give(path.to_path_buf(), inode));
    }

    pub fn unlink(&mut self, path: &Path) {
        self.do_now(Done::Take(path.to_path_buf()));
    }

    pub fn rename(&mut self, from: &Path, to: &Path) {
        self.do_now(Done::Move {
            from: from.to_path_buf(),
            to: to.to_path_buf(),
        });
    }

    fn do_now(&mut self, done: Done) {
        done.apply(&mut self.now);
        self.since.push(done);
    }

    /// Makes the names in a folder durable.
    pub fn sync(&mut self, folder: &Path) {
        let (synced, others) = std::mem::take(&mut self.since)
            .into_iter()
            .partition(|done: &Done| done.paths().any(|path| path.parent() == Some(folder)));
        self.since = others;
        let synced: Vec<Done> = synced;
        for done in synced {
            done.apply(&mut self.durable);
        }
    }

    /// The names after a power cut. An operation on a name survives only with all earlier
    /// operations on the same name.
    pub fn after_cut(&self, chance: &mut Chance) -> Self {
        let fate = chance.fate();
        let in_prefix = fate.prefix(chance, self.since.len());
        let mut kept: Vec<bool> = (0..self.since.len())
            .map(|number| fate.keeps(chance, number < in_prefix))
            .collect();
        let mut needed = BTreeSet::new();
        for (done, is_kept) in self.since.iter().zip(&mut kept).rev() {
            *is_kept |= done.paths().any(|path| needed.contains(path));
            if *is_kept {
                needed.extend(done.paths());
            }
        }
        let mut names = self.durable.clone();
        for (done, is_kept) in self.since.iter().zip(kept) {
            if is_kept {
                done.apply(&mut names);
            }
        }
        Self {
            now: names.clone(),
            durable: names,
            since: Vec::new(),
        }
    }
}

impl Done {
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = match self {
            Self::Give(path, _) | Self::Take(path) => (path, None),
            Self::Move { from, to } => (from, Some(to)),
        };
        [first].into_iter().chain(second).map(PathBuf::as_path)
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Inode>) {
        match self {
            Self::Give(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            Self::Take(path) => {
                names.remove(path);
            }
            Self::Move { from, to } => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
        }
    }
}
