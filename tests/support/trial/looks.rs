//! Looking at a database: whether it holds and answers what it should.

use std::path::Path;

use simdb::{Database, Disk, Error, Result, Snapshot};

use super::expected::Expected;
use super::pool::Pool;
use super::world::{Known, World};
use crate::assert_sound;
use crate::disk::Chance;

impl World {
    /// Opens what a crash or an error left, and compares it with what may be there. From then on it
    /// is known what is.
    pub fn look(&mut self) -> Result<()> {
        match self.open() {
            Err(Error::NotFound { .. }) if self.is_there != Known::Yes && !self.disk.is_dead() => {
                self.is_there = Known::No;
                self.expected = Expected::new(self.settings);
                self.possible = None;
                return Ok(());
            }
            Err(Error::NotFound { .. }) if !self.disk.is_dead() => {
                panic!("the database is gone: {:?}", self.disk.files())
            }
            opened => opened?,
        }
        assert_ne!(self.is_there, Known::No, "a file that was never created");
        self.is_there = Known::Yes;
        self.look_at_what_is_open()?;
        self.pruned = None;
        self.look_at_backup()
    }

    /// Compares what is open with what may be there.
    pub fn look_at_what_is_open(&mut self) -> Result<()> {
        let snapshot = self.database().snapshot()?;
        self.see_what_was_pruned(&snapshot)?;
        let Some(wrong) = self.expected.compare(&snapshot)? else {
            self.possible = None;
            return self.ask(&snapshot);
        };
        let possible = self.possible.take();
        let Some(possible) = possible else {
            panic!("what was acknowledged is not there, or more is: {wrong}");
        };
        if let Some(wrong_too) = possible.compare(&snapshot)? {
            panic!("neither what was acknowledged is there ({wrong}) nor all ({wrong_too})");
        }
        self.expected = possible;
        self.ask(&snapshot)
    }

    /// While a commit of unknown outcome may be there or not, what is read is one or the other.
    pub fn look_in_process(&mut self) -> Result<()> {
        let Some(possible) = self.possible.clone() else {
            return self.look_at_what_is_open();
        };
        let snapshot = self.database().snapshot()?;
        self.see_what_was_pruned(&snapshot)?;
        if let Some(wrong) = self.expected.compare(&snapshot)?
            && let Some(wrong_too) = possible.compare(&snapshot)?
        {
            panic!("neither what was acknowledged is read ({wrong}) nor all ({wrong_too})");
        }
        Ok(())
    }

    /// A pruning that was cut short has removed some of what is old, and nothing else.
    fn see_what_was_pruned(&mut self, snapshot: &Snapshot) -> Result<()> {
        let Some(older_than) = self.pruned else {
            return Ok(());
        };
        let mut gone = Vec::new();
        for document in self.expected.model.documents.values() {
            if document.arrival < Some(older_than) && snapshot.get(document.id)?.is_none() {
                gone.push(document.id);
            }
        }
        for id in gone {
            self.expected.model.documents.remove(&id);
        }
        Ok(())
    }

    /// What is asked of a snapshot is answered as it should be.
    fn ask(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.expected.ask(snapshot, &mut self.sequence)?;
        if self.settings.similar {
            let texts = &Pool::shared().texts;
            let asked = &texts[self.sequence.below(texts.len() as u64) as usize];
            let found = snapshot.similar(&asked.query)?;
            let mut found: Vec<_> = found.iter().map(|found| found.id).collect();
            found.sort_unstable();
            assert_eq!(found, self.expected.like(&asked.text), "{}", asked.text);
        }
        Ok(())
    }

    /// The snapshots that are held see what they saw when they were taken, or nothing.
    pub fn look_at_held(&mut self) -> Result<()> {
        for (snapshot, expected) in &self.held {
            if let Some(wrong) = expected.compare(snapshot)? {
                panic!("a snapshot has changed: {wrong}");
            }
        }
        Ok(())
    }

    /// A copy that was begun is whole or not there, and is not needed any more.
    pub(super) fn look_at_backup(&mut self) -> Result<()> {
        let Some((path, expected)) = self.backup.take() else {
            return Ok(());
        };
        let disk = self.disk.after_a_kill();
        match self.settings.builder(&disk).open(&path) {
            Err(Error::NotFound { .. }) => return Ok(()),
            opened => assert_is(&mut opened.unwrap(), &expected),
        }
        // If that fails, the next copy will say so.
        let _ = self.disk.remove(&path);
        Ok(())
    }

    /// Copies are whole and durable when they are acknowledged.
    pub(super) fn look_at_copy_after_a_cut(&mut self, path: &Path, expected: &Expected) {
        let mut chance = Chance::new(self.sequence.next());
        let disk = self.disk.after_a_cut(&mut chance);
        let mut copy = self.settings.builder(&disk).open(path).unwrap();
        assert_is(&mut copy, expected);
    }

    /// Whether the file is sound, told by a copy of the disk.
    pub fn check_beside(&self) {
        let disk = self.disk.after_a_kill();
        let mut database = self.settings.builder(&disk).open(&self.path).unwrap();
        assert_is(&mut database, &self.expected);
    }

    /// Whether there is nothing but the database, its journals and what was left in the making.
    pub fn assert_no_strange_files(&self) {
        for (path, _) in self.disk.files() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_known = name.starts_with("docs.simdb")
                || name.starts_with("copy-")
                || name.starts_with(".simdb-") && name.ends_with(".new");
            assert!(is_known, "{name}");
        }
    }
}

/// Asserts that a database is sound and holds this.
fn assert_is(database: &mut Database, expected: &Expected) {
    if let Some(wrong) = expected.compare(&database.snapshot().unwrap()).unwrap() {
        panic!("{wrong}");
    }
    assert_sound(database);
    if let Some(wrong) = expected.compare(&database.snapshot().unwrap()).unwrap() {
        panic!("after it was checked: {wrong}");
    }
}
