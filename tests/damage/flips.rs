//! Files and journals damaged anywhere: reads, changes and flushes give right answers or errors,
//! and `check` finds the damage behind these errors.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Outcome, Timestamp, Within};

use crate::answers::{Exam, KINDS, KINDS_WITH_KEYS, Tally};
use crate::corpus::{FIRST_ARRIVAL, damageable, damageable_with_keys};
use crate::damage::{Damage, SECTOR_BYTES};
use test_support::{Model, SplitMix, builder, caught, documents, folder, journal, planted};

const READ_ONLY: &str = "read only";
const WRITABLE: &str = "opened for writing";
const CHANGED: &str = "changed";
const MERGED: &str = "merged";
const AGAIN: &str = "opened again";

/// Number of times that each test damages a file: `SIMDB_TEST_FLIPS`, or `usual`.
fn damage_count(usual: u64) -> u64 {
    let setting = std::env::var("SIMDB_TEST_FLIPS").ok();
    setting.map_or(usual, |count| count.parse().unwrap())
}

fn reports_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::NotADatabase { .. }
            | Error::FormatVersion { .. }
            | Error::JournalMissing { .. }
    )
}

/// Also accepts the error of a poisoned database, after a write met damage.
fn reports_damage_or_failed_write(error: &Error) -> bool {
    reports_damage(error) || matches!(error, Error::Storage { .. } | Error::WritesFailed { .. })
}

/// A sound file with its right answers, before and after some changes.
struct Trial {
    path: PathBuf,
    /// The sound bytes of the file and its journals.
    files: Vec<(PathBuf, Vec<u8>)>,
    before: Exam,
    changes: Vec<Change>,
    outcomes: Vec<Outcome>,
    after: Exam,
    /// At each stage one in this many expensive questions is asked; one in three of a read-only
    /// handle.
    expensive_one_in: u64,
    tally: RefCell<Tally>,
}

impl Trial {
    fn new(path: &Path, model: &Model, is_merged: bool) -> Self {
        let files = [path.to_path_buf(), journal(path, 1), journal(path, 2)].into_iter();
        let files = files.filter(|file| file.exists());
        let files: Vec<_> = files
            .map(|file| (file.clone(), std::fs::read(file).unwrap()))
            .collect();
        let database = builder().open_read_only(path).unwrap();
        let before = Exam::new(&database, model, is_merged);
        drop(database);
        let database = builder().open(path).unwrap();
        let changes = changes(model);
        let mut model = model.clone();
        let outcomes = model.apply_all(changes.clone());
        assert_eq!(database.apply(changes.clone()).unwrap(), outcomes);
        database.merge().unwrap();
        let after = Exam::new(&database, &model, false);
        drop(database);
        let trial = Self {
            path: path.to_path_buf(),
            files,
            before,
            changes,
            outcomes,
            after,
            expensive_one_in: 8,
            tally: RefCell::default(),
        };
        trial.restore();
        trial
    }

    fn restore(&self) {
        for number in [1, 2] {
            let _ = std::fs::remove_file(journal(&self.path, number));
        }
        for (file, bytes) in &self.files {
            std::fs::write(file, bytes).unwrap();
        }
    }

    /// Returns `true` if all answers of a read-only handle are right.
    fn read(&self, sequence: &mut SplitMix) -> bool {
        match builder().open_read_only(&self.path) {
            Ok(database) => self.ask(
                READ_ONLY,
                &self.before,
                &database,
                sequence,
                self.expensive_one_in.min(3),
                false,
            ),
            Err(error) => self.refused(READ_ONLY, &error, false),
        }
    }

    /// Opens the file for writing, queries, checks and changes it. Returns `true` if opening or
    /// `check` reports damage.
    fn write(&self, sequence: &mut SplitMix) -> bool {
        let database = match builder().open(&self.path) {
            Ok(database) => database,
            Err(error) => return !self.refused(WRITABLE, &error, false),
        };
        let all_right = self.ask(
            WRITABLE,
            &self.before,
            &database,
            sequence,
            self.expensive_one_in,
            false,
        );
        let is_found = !database.check().unwrap().is_empty();
        assert!(is_found || all_right, "check found nothing");
        let is_changed = match database.apply(self.changes.clone()) {
            Ok(outcomes) => {
                assert_eq!(outcomes, self.outcomes);
                true
            }
            // A check that fails to flush has poisoned the database.
            Err(error) => self.refused("apply", &error, is_found),
        };
        // The refused changes are reported by the next flush, once.
        match database.flush() {
            Ok(()) => assert!(is_changed),
            Err(Error::NotAllWritten { .. }) => assert!(!is_changed),
            Err(error) => {
                self.refused("flush", &error, is_found);
            }
        }
        let exam = if is_changed {
            &self.after
        } else {
            &self.before
        };
        self.ask(
            CHANGED,
            exam,
            &database,
            sequence,
            self.expensive_one_in,
            is_found,
        );
        let mut is_sound = is_changed;
        if let Err(error) = database.merge() {
            is_sound = self.refused("merge", &error, is_found);
        }
        self.ask(
            MERGED,
            exam,
            &database,
            sequence,
            self.expensive_one_in,
            !is_sound,
        );
        if let Err(error) = database.close() {
            self.refused("close", &error, !is_sound);
        }
        match builder().open_read_only(&self.path) {
            Ok(database) => self.ask(
                AGAIN,
                exam,
                &database,
                sequence,
                self.expensive_one_in,
                false,
            ),
            Err(error) => self.refused(AGAIN, &error, false),
        };
        is_found
    }

    fn ask(
        &self,
        stage: &'static str,
        exam: &Exam,
        database: &Database,
        sequence: &mut SplitMix,
        expensive_one_in: u64,
        may_have_failed: bool,
    ) -> bool {
        let refuses: fn(&Error) -> bool = match may_have_failed {
            true => reports_damage_or_failed_write,
            false => reports_damage,
        };
        let tally = (&self.tally, stage);
        let all_right = exam.ask(database, sequence, expensive_one_in, &refuses, tally);
        self.tally.borrow_mut().count(stage, "", all_right);
        all_right
    }

    /// Counts a refusal, and asserts that its error reports damage. Returns `false`.
    fn refused(&self, stage: &'static str, error: &Error, may_have_failed: bool) -> bool {
        let tells = match may_have_failed {
            true => reports_damage_or_failed_write(error),
            false => reports_damage(error),
        };
        assert!(tells, "{stage}: {error:?}");
        self.tally.borrow_mut().count(stage, "", false);
        false
    }

    /// Damages one file in many ways, one at a time. Asserts that each read gives right answers or
    /// an error, and that `check` finds the damage behind each error.
    fn damage(&self, damaged: &Path, seed: u64, count: u64) {
        let (_, sound) = self.files.iter().find(|(file, _)| file == damaged).unwrap();
        // Beyond the used part a journal is zeros; a cut there goes unnoticed.
        let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
        let used = (used + 1).next_multiple_of(SECTOR_BYTES);
        let mut sequence = SplitMix(seed);
        for number in 0..count {
            let damage = Damage::random(&mut sequence, used);
            let mut bytes = sound.clone();
            damage.apply(&mut bytes);
            self.restore();
            std::fs::write(damaged, &bytes).unwrap();
            let context = || format!("{} {damage:?} (seed {seed})", damaged.display());
            let mut choices = SplitMix(number);
            let is_right = caught(|| self.read(&mut choices));
            let is_right = is_right.unwrap_or_else(|panic| panic!("{}: {panic}", context()));
            // Reads have not changed the file.
            assert!(std::fs::read(damaged).unwrap() == bytes, "{}", context());
            let is_found = caught(|| self.write(&mut choices));
            let is_found = is_found.unwrap_or_else(|panic| panic!("{}: {panic}", context()));
            assert!(is_found || is_right, "{}: not found by check", context());
        }
        self.restore();
    }

    /// Counts of stages with right answers only, and of other stages.
    fn stage_counts(&self, stage: &'static str) -> [u64; 2] {
        self.tally.borrow().counts(stage, "")
    }

    /// Asserts that every kind of query was answered at every stage.
    fn assert_every_kind_was_answered(&self) {
        self.assert_were_answered(&KINDS);
    }

    fn assert_were_answered(&self, kinds: &[&'static str]) {
        let tally = self.tally.borrow();
        for stage in [READ_ONLY, WRITABLE, CHANGED, MERGED, AGAIN] {
            for kind in kinds.iter().copied() {
                assert!(
                    tally.counts(stage, kind)[0] > 0,
                    "{stage}, {kind}: {tally:?}"
                );
            }
        }
    }
}

/// Changes of every kind, including those that compare with stored documents.
fn changes(model: &Model) -> Vec<Change> {
    let mut sequence = SplitMix(5);
    let arrival = Some(Timestamp(FIRST_ARRIVAL + 400));
    let ids: Vec<DocId> = model.documents.keys().copied().collect();
    let mut changes = Vec::new();
    for number in 0..8 {
        let id = ids[sequence.below(ids.len() as u64) as usize];
        let stored = &model.documents[&id];
        let near = planted(&mut sequence, stored.fingerprint, 1);
        let [one, other, third] = [1, 2, 3].map(|place| DocId((1 << 40) + 10 * number + place));
        let made = |id, fingerprint| Document {
            arrival,
            ..Document::new(id, fingerprint)
        };
        changes.push(Change::InsertUnique {
            document: made(one, near),
            radius: 3,
        });
        let random = Fingerprint::from_bits(sequence.next());
        changes.push(Change::Insert(Document {
            text: Some(format!("what came later, number {number}")),
            ..made(other, random)
        }));
        changes.push(Change::Upsert(made(id, planted(&mut sequence, near, 9))));
        changes.push(Change::Remove(
            ids[sequence.below(ids.len() as u64) as usize],
        ));
        changes.push(Change::Remove(third));
    }
    match model.last_id > DocId(0) {
        true => changes
            .into_iter()
            .map(|change| by_key(change, model))
            .collect(),
        false => changes,
    }
}

/// The change in a database with keys: of the key of a stored document, or of a new key.
fn by_key(change: Change, model: &Model) -> Change {
    let named = |document: Document| {
        let stored = model.documents.get(&document.id);
        let key = stored.and_then(|stored| stored.key.clone());
        Document {
            key: key.or_else(|| Some(format!("new {}", document.id))),
            scope: stored.and_then(|stored| stored.scope.clone()),
            within: Within::All,
            ..document
        }
    };
    match change {
        Change::Insert(document) => Change::Insert(named(document)),
        Change::Upsert(document) => Change::Upsert(named(document)),
        Change::InsertUnique { document, radius } => Change::InsertUnique {
            document: named(document),
            radius,
        },
        change => change,
    }
}

#[test]
fn damaged_closed_file_gives_error_or_right_answer() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let model = damageable(&path);
    // Vacuum: damage to a free page would have no effect.
    Database::vacuum(&path).unwrap();
    let trial = Trial::new(&path, &model, true);
    let count = damage_count(200);
    trial.damage(&path, 11, count);
    trial.assert_every_kind_was_answered();
    let tally = trial.tally.borrow();
    // Each kind of query reads a damaged page at some time.
    for kind in KINDS.into_iter().chain(["stats of the tables", "diagnose"]) {
        let [right, refused] = tally.counts(READ_ONLY, kind);
        assert!(right > 0 && refused > 0, "{kind}: {tally:?}");
    }
    for stage in [WRITABLE, CHANGED, MERGED, AGAIN, "apply", "merge"] {
        assert!(trial.stage_counts(stage)[1] > 0, "{stage}: {tally:?}");
    }
    assert!(trial.stage_counts(READ_ONLY)[1] > count / 3, "{tally:?}");
}

#[test]
fn damaged_file_with_keys_gives_error_or_right_answer() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let model = damageable_with_keys(&path);
    Database::vacuum(&path).unwrap();
    let trial = Trial::new(&path, &model, true);
    trial.damage(&path, 14, damage_count(80));
    trial.assert_were_answered(&KINDS_WITH_KEYS);
    let tally = trial.tally.borrow();
    for kind in KINDS_WITH_KEYS {
        let [right, refused] = tally.counts(READ_ONLY, kind);
        assert!(right > 0 && refused > 0, "{kind}: {tally:?}");
    }
}

#[test]
fn damaged_journal_with_keys_gives_error_or_right_answer() {
    let folder = folder();
    let (path, model) = crashed_database(folder.path(), damageable_with_keys);
    let journals = [journal(&path, 1), journal(&path, 2)];
    let journal = journals.iter().find(|file| file.exists()).unwrap();
    let trial = Trial {
        expensive_one_in: 1,
        ..Trial::new(&path, &model, false)
    };
    let count = damage_count(50);
    trial.damage(journal, 15, count);
    trial.assert_were_answered(&KINDS_WITH_KEYS);
    for stage in [READ_ONLY, WRITABLE] {
        let refused = trial.stage_counts(stage)[1];
        assert!(refused > count / 3, "{:?}", trial.tally);
    }
}

/// A file and its journal as a crash leaves them, with documents in the tables and in the journal.
fn crashed_database(folder: &Path, damageable: fn(&Path) -> Model) -> (PathBuf, Model) {
    let path = folder.join("docs.simdb");
    let mut model = damageable(&path);
    let database = builder().open(&path).unwrap();
    let has_keys = model.last_id > DocId(0);
    let more = documents(7, 1 << 30, 500);
    for batch in more.chunks(100) {
        let changes = batch.iter().cloned().flat_map(|document| {
            let document = Document {
                arrival: Some(Timestamp(FIRST_ARRIVAL)),
                ..document
            };
            let copy = Document {
                id: DocId(document.id.0 << 1),
                ..document.clone()
            };
            let unique = Change::InsertUnique {
                document: copy,
                radius: 3,
            };
            // Refused as a copy.
            [Some(Change::Insert(document)), has_keys.then_some(unique)]
        });
        let mut changes: Vec<Change> = changes.flatten().collect();
        if has_keys {
            changes = changes
                .into_iter()
                .map(|change| by_key(change, &model))
                .collect();
        }
        let expected = model.apply_all(changes.clone());
        assert_eq!(database.apply(changes).unwrap(), expected);
    }
    let copy = folder.join("copy.simdb");
    test_support::copy_open(&path, &copy);
    (copy, model)
}

#[test]
fn damaged_crashed_file_gives_error_or_right_answer() {
    let folder = folder();
    let (path, model) = crashed_database(folder.path(), damageable);
    let trial = Trial::new(&path, &model, false);
    let count = damage_count(40);
    trial.damage(&path, 12, count);
    trial.assert_every_kind_was_answered();
    // Many pages of a file are free.
    for stage in [READ_ONLY, WRITABLE] {
        assert!(
            trial.stage_counts(stage)[1] > count / 40,
            "{:?}",
            trial.tally
        );
    }
    assert!(trial.stage_counts("merge")[1] > 0, "{:?}", trial.tally);
}

#[test]
fn damaged_crashed_journal_gives_error_or_right_answer() {
    let folder = folder();
    let (path, model) = crashed_database(folder.path(), damageable);
    let journals = [journal(&path, 1), journal(&path, 2)];
    let journal = journals.iter().find(|file| file.exists()).unwrap();
    // Most damaged journals are refused at open.
    let trial = Trial {
        expensive_one_in: 1,
        ..Trial::new(&path, &model, false)
    };
    let count = damage_count(40);
    trial.damage(journal, 13, count);
    trial.assert_every_kind_was_answered();
    // A journal is read at open only.
    for stage in [READ_ONLY, WRITABLE] {
        assert!(
            trial.stage_counts(stage)[1] > count / 3,
            "{:?}",
            trial.tally
        );
    }
    for stage in [CHANGED, MERGED, AGAIN] {
        assert_eq!(trial.stage_counts(stage)[1], 0, "{:?}", trial.tally);
    }
}
