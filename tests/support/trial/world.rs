//! A database on a simulated disk, and its expected contents.

use std::path::PathBuf;

use simdb::{Builder, Database, Error, Result, Snapshot, Timestamp};

use super::changes::Changes;
use super::expected::Expected;
use super::settings::Settings;
use crate::SplitMix;
use crate::disk::{Chance, SimDisk};

/// A database on a disk, and the knowledge about its contents.
pub struct World {
    pub disk: SimDisk,
    pub settings: Settings,
    pub path: PathBuf,
    pub(super) database: Option<Database>,
    /// The acknowledged changes.
    pub expected: Expected,
    /// The acknowledged changes plus the commit of unknown outcome.
    pub possible: Option<Expected>,
    /// Start of the window of an interrupted prune, which removes older documents part by part.
    pub(super) pruned: Option<Timestamp>,
    /// Existence of the database file.
    pub exists: Known,
    pub(super) changes: Changes,
    pub sequence: SplitMix,
    pub(super) held: Vec<(Snapshot, Expected)>,
    /// The backup in progress, and its expected contents.
    pub(super) backup: Option<(PathBuf, Expected)>,
    /// Changed documents so far.
    pub changed: u64,
    /// Transactions so far that continued in the tables.
    pub large_transactions: u64,
    /// Some batches have thousands of changes.
    pub is_large: bool,
}

/// Knowledge about a commit or a file of uncertain outcome.
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
            exists: Known::No,
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

    /// The database, opened if necessary.
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

    /// Records the tried change as made, not made, or of unknown outcome, according to the result.
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

    /// A copy of the world with a copy of the disk, as another process finds it. The database must
    /// be closed.
    pub fn copy(&self) -> Self {
        assert!(!self.is_open() && self.held.is_empty() && self.possible.is_none());
        Self {
            disk: self.disk.after_kill(),
            settings: self.settings,
            path: self.path.clone(),
            database: None,
            expected: self.expected.clone(),
            possible: None,
            pruned: None,
            exists: self.exists,
            changes: self.changes.clone(),
            sequence: SplitMix(self.sequence.0),
            held: Vec::new(),
            backup: None,
            changed: self.changed,
            large_transactions: 0,
            is_large: self.is_large,
        }
    }

    /// Returns `true` if a memtable was sealed since the open: the next memtable has a second
    /// journal.
    pub fn has_two_journals(&self) -> bool {
        let files = self.disk.files();
        let journals = ["journal-1", "journal-2"].map(|name| {
            let path = self.path.with_extension(format!("simdb.{name}"));
            files.iter().any(|(file, _)| *file == path)
        });
        journals == [true, true]
    }

    /// Ends the process: drops the database and all snapshots.
    pub fn stop(&mut self) {
        self.held.clear();
        self.database = None;
    }

    /// Cuts power and restarts.
    pub fn restart(&mut self, chance: &mut Chance) {
        self.stop();
        self.disk = self.disk.after_cut(chance);
    }

    /// Kills the process and starts another one.
    pub fn restart_process(&mut self) {
        self.stop();
        self.disk = self.disk.after_kill();
    }
}
