//! A database, and what it should hold.

use std::path::PathBuf;

use simdb::{Builder, Database, Error, Result, Snapshot, Timestamp};

use super::changes::Changes;
use super::expected::Expected;
use super::settings::Settings;
use crate::SplitMix;
use crate::disk::{Chance, SimDisk};

/// A database on a disk, and what is known of it.
pub struct World {
    pub disk: SimDisk,
    pub settings: Settings,
    pub path: PathBuf,
    pub(super) database: Option<Database>,
    /// What was acknowledged.
    pub expected: Expected,
    /// The same and what may be there or not.
    pub possible: Option<Expected>,
    /// What is older than this was to be removed, part by part.
    pub(super) pruned: Option<Timestamp>,
    /// Whether the file is there.
    pub is_there: Known,
    pub(super) changes: Changes,
    pub sequence: SplitMix,
    pub(super) held: Vec<(Snapshot, Expected)>,
    /// A copy that is to be made, and what it should hold.
    pub(super) backup: Option<(PathBuf, Expected)>,
    /// Changes of documents so far.
    pub changed: u64,
    /// Transactions so far that went on in the tables.
    pub large_transactions: u64,
    /// Whether some changes come by thousands.
    pub is_large: bool,
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Yes,
    No,
    Perhaps,
}

impl World {
    pub fn new(settings: Settings, seed: u64) -> Self {
        let mut sequence = SplitMix(seed);
        Self {
            disk: SimDisk::default(),
            settings,
            path: "/simulated/docs.simdb".into(),
            database: None,
            expected: Expected::new(settings),
            possible: None,
            pruned: None,
            is_there: Known::No,
            changes: Changes::new(settings, &mut sequence),
            sequence,
            held: Vec::new(),
            backup: None,
            changed: 0,
            large_transactions: 0,
            is_large: false,
        }
    }

    pub(super) fn builder(&self) -> Builder {
        self.settings.builder(&self.disk)
    }

    /// The database, opened if it is not open.
    pub fn open(&mut self) -> Result<()> {
        if self.database.is_none() {
            self.database = Some(self.builder().open(&self.path)?);
        }
        Ok(())
    }

    pub fn is_open(&self) -> bool {
        self.database.is_some()
    }

    pub(super) fn database(&self) -> &Database {
        self.database.as_ref().expect("the database is open")
    }

    /// What was tried is done, or may be, or is not, as the result says.
    pub(super) fn conclude<T>(&mut self, tried: Expected, result: Result<T>) -> Result<T> {
        match &result {
            Ok(_) => {
                assert_eq!(
                    self.possible, None,
                    "written after a commit of unknown outcome"
                );
                self.expected = tried;
            }
            Err(Error::CommitUnknown { .. }) => self.possible = Some(tried),
            Err(_) => {}
        }
        result
    }

    /// The same on a copy of the disk, as another process finds it. Nothing may be open.
    pub fn copy(&self) -> Self {
        assert!(!self.is_open() && self.held.is_empty() && self.possible.is_none());
        Self {
            disk: self.disk.after_a_kill(),
            settings: self.settings,
            path: self.path.clone(),
            database: None,
            expected: self.expected.clone(),
            possible: None,
            pruned: None,
            is_there: self.is_there,
            changes: self.changes.clone(),
            sequence: SplitMix(self.sequence.0),
            held: Vec::new(),
            backup: None,
            changed: self.changed,
            large_transactions: 0,
            is_large: self.is_large,
        }
    }

    /// Whether a tail was set aside since the database was opened: the next has a journal too.
    pub fn has_two_journals(&self) -> bool {
        let files = self.disk.files();
        let journals = ["journal-1", "journal-2"].map(|name| {
            let path = self.path.with_extension(format!("simdb.{name}"));
            files.iter().any(|(file, _)| *file == path)
        });
        journals == [true, true]
    }

    /// The process is gone, and with it all that it had open.
    pub fn stop(&mut self) {
        self.held.clear();
        self.database = None;
    }

    /// Power fails, and is back.
    pub fn restart(&mut self, chance: &mut Chance) {
        self.stop();
        self.disk = self.disk.after_a_cut(chance);
    }

    /// The process is killed, and another one begun.
    pub fn restart_process(&mut self) {
        self.stop();
        self.disk = self.disk.after_a_kill();
    }
}
