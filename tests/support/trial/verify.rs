//! Comparison of a [`World`] with its expected contents.

use std::path::Path;

use simdb::disk::Disk;
use simdb::{Database, Error, Result, Snapshot};

use super::changes::scopes_asked;
use super::expected::Expected;
use super::pool::Pool;
use super::world::{Known, World};
use crate::assert_sound;
use crate::disk::Chance;

impl World {
    /// Opens the database after a crash or an error, and compares it with the possible contents.
    /// Then the contents are known.
    pub fn verify(&mut self) -> Result<()> {
        match self.open() {
            Err(Error::NotFound { .. }) if self.exists != Known::Yes && !self.disk.is_cut() => {
                self.exists = Known::No;
                self.expected = Expected::new(self.settings);
                self.possible = None;
                return Ok(());
            }
            Err(Error::NotFound { .. }) if !self.disk.is_cut() => {
                panic!("the database is gone: {:?}", self.disk.files())
            }
            opened => opened?,
        }
        assert_ne!(
            self.exists,
            Known::No,
            "the file exists though it was never created"
        );
        self.exists = Known::Yes;
        self.verify_open()?;
        self.pruned = None;
        self.verify_backup()
    }

    /// Compares the open database with the possible contents.
    pub fn verify_open(&mut self) -> Result<()> {
        let snapshot = self.database().snapshot()?;
        self.apply_partial_prune(&snapshot)?;
        let Some(wrong) = self.expected.compare(&snapshot)? else {
            self.possible = None;
            return self.ask(&snapshot);
        };
        let possible = self.possible.take();
        let Some(possible) = possible else {
            panic!("acknowledged changes are missing, or others are present: {wrong}");
        };
        if let Some(wrong_too) = possible.compare(&snapshot)? {
            panic!(
                "state before the unknown commit differs ({wrong}), state after it too ({wrong_too})"
            );
        }
        self.expected = possible;
        self.ask(&snapshot)
    }

    /// During an unknown commit, every read equals the state before or after it.
    pub fn verify_during_unknown_commit(&mut self) -> Result<()> {
        let Some(possible) = self.possible.clone() else {
            return self.verify_open();
        };
        let snapshot = self.database().snapshot()?;
        self.apply_partial_prune(&snapshot)?;
        if let Some(wrong) = self.expected.compare(&snapshot)?
            && let Some(wrong_too) = possible.compare(&snapshot)?
        {
            panic!(
                "read before the unknown commit differs ({wrong}), read after it too ({wrong_too})"
            );
        }
        Ok(())
    }

    /// Accounts for the documents that an interrupted prune removed.
    fn apply_partial_prune(&mut self, snapshot: &Snapshot) -> Result<()> {
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

    /// Queries a snapshot.
    fn ask(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.expected.ask(snapshot, &mut self.sequence)?;
        if self.settings.similar {
            let texts = &Pool::shared().texts;
            let asked = &texts[self.sequence.below(texts.len() as u64) as usize];
            let found = snapshot.similar(&asked.query)?;
            let mut found: Vec<_> = found.iter().map(|found| found.id).collect();
            found.sort_unstable();
            let expected = self.expected.like(None, &asked.text);
            assert_eq!(found, expected, "{}", asked.text);
            if self.settings.scopes {
                let scopes = scopes_asked(&mut self.sequence);
                let found = snapshot.in_scopes(&scopes)?.similar(&asked.query)?;
                let mut found: Vec<_> = found.iter().map(|found| found.id).collect();
                found.sort_unstable();
                let expected = self.expected.like(Some(&scopes), &asked.text);
                assert_eq!(found, expected, "{} in {scopes:?}", asked.text);
            }
        }
        Ok(())
    }

    /// A held snapshot still has the contents of its commit, or a read fails.
    pub fn verify_snapshots(&mut self) -> Result<()> {
        for (snapshot, expected) in &self.held {
            if let Some(wrong) = expected.compare(snapshot)? {
                panic!("a snapshot has changed: {wrong}");
            }
        }
        Ok(())
    }

    /// An interrupted backup is complete or absent. Removes it.
    pub(super) fn verify_backup(&mut self) -> Result<()> {
        let Some((path, expected)) = self.backup.take() else {
            return Ok(());
        };
        let disk = self.disk.after_kill();
        match self.settings.builder(&disk).open(&path) {
            Err(Error::NotFound { .. }) => return Ok(()),
            opened => assert_sound_and_equal(&mut opened.unwrap(), &expected),
        }
        // If the removal fails, the next backup reports it.
        let _ = self.disk.remove(&path);
        Ok(())
    }

    /// An acknowledged backup is complete and durable.
    pub(super) fn verify_backup_after_cut(&mut self, path: &Path, expected: &Expected) {
        let mut chance = Chance::new(self.sequence.next());
        let disk = self.disk.after_cut(&mut chance);
        let mut copy = self.settings.builder(&disk).open(path).unwrap();
        assert_sound_and_equal(&mut copy, expected);
    }

    /// Checks a copy of the disk.
    pub fn check_copy(&self) {
        let disk = self.disk.after_kill();
        let mut database = self.settings.builder(&disk).open(&self.path).unwrap();
        assert_sound_and_equal(&mut database, &self.expected);
    }

    /// Asserts that there are only the database, its journals and temporary files.
    pub fn assert_no_stray_files(&self) {
        for (path, _) in self.disk.files() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_known = name.starts_with("docs.simdb")
                || name.starts_with("copy-")
                || name.starts_with(".simdb-") && name.ends_with(".new");
            assert!(is_known, "{name}");
        }
    }
}

/// Asserts that a database is sound and has these contents.
fn assert_sound_and_equal(database: &mut Database, expected: &Expected) {
    if let Some(wrong) = expected.compare(&database.snapshot().unwrap()).unwrap() {
        panic!("{wrong}");
    }
    assert_sound(database);
    if let Some(wrong) = expected.compare(&database.snapshot().unwrap()).unwrap() {
        panic!("after it was checked: {wrong}");
    }
}
