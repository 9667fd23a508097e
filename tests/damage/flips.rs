//! Files and journals that are damaged anywhere: whoever reads them, changes them and merges them
//! gets right answers or errors, and `check` finds what these errors tell of.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Outcome, Timestamp};

use crate::answers::{Exam, KINDS, Tally};
use crate::corpus::{FIRST_ARRIVAL, damageable};
use crate::damage::{Damage, SECTOR_BYTES};
use test_support::{Model, SplitMix, builder, caught, documents, folder, journal, planted};

const READ_ONLY: &str = "read only";
const WRITABLE: &str = "opened for writing";
const CHANGED: &str = "changed";
const MERGED: &str = "merged";
const AGAIN: &str = "opened again";

/// How many times a file is damaged by each test of it: `SIMDB_TEST_FLIPS`, or so many.
fn damages(usual: u64) -> u64 {
    let asked = std::env::var("SIMDB_TEST_FLIPS").ok();
    asked.map_or(usual, |count| count.parse().unwrap())
}

fn tells_of_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::NotADatabase { .. }
            | Error::FormatVersion { .. }
            | Error::JournalMissing { .. }
    )
}

/// The same, or that a write met damage before: everything is refused from then on.
fn tells_of_damage_or_failed_write(error: &Error) -> bool {
    tells_of_damage(error) || matches!(error, Error::Storage { .. } | Error::WritesFailed { .. })
}

/// A sound file, and what it answers: as it is, and with some changes.
struct Trial {
    path: PathBuf,
    /// The file and its journals, sound.
    files: Vec<(PathBuf, Vec<u8>)>,
    before: Exam,
    changes: Vec<Change>,
    outcomes: Vec<Outcome>,
    after: Exam,
    /// One of so many dear questions is asked at each stage; of who only reads, one of three.
    dear_one_in: u64,
    tally: RefCell<Tally>,
}

impl Trial {
    fn of(path: &Path, model: &Model, is_merged: bool) -> Self {
        let files = [path.to_path_buf(), journal(path, 1), journal(path, 2)].into_iter();
        let files = files.filter(|file| file.exists());
        let files: Vec<_> = files
            .map(|file| (file.clone(), std::fs::read(file).unwrap()))
            .collect();
        let database = builder().open_read_only(path).unwrap();
        let before = Exam::of(&database, model, is_merged);
        drop(database);
        let database = builder().open(path).unwrap();
        let changes = changes(model);
        let mut model = model.clone();
        let outcomes = model.apply_all(changes.clone());
        assert_eq!(database.apply(changes.clone()).unwrap(), outcomes);
        database.merge().unwrap();
        let after = Exam::of(&database, &model, false);
        drop(database);
        let trial = Self {
            path: path.to_path_buf(),
            files,
            before,
            changes,
            outcomes,
            after,
            dear_one_in: 8,
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

    /// Whether all answers are right for who only reads.
    fn read(&self, sequence: &mut SplitMix) -> bool {
        match builder().open_read_only(&self.path) {
            Ok(database) => self.ask(
                READ_ONLY,
                &self.before,
                &database,
                sequence,
                self.dear_one_in.min(3),
                false,
            ),
            Err(error) => self.refused(READ_ONLY, &error, false),
        }
    }

    /// Opens the file for writing, asks, checks and changes it; whether opening or `check` tells of
    /// damage.
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
            self.dear_one_in,
            false,
        );
        let is_found = !database.check().unwrap().is_empty();
        assert!(is_found || all_right, "check found nothing");
        let is_changed = match database.apply(self.changes.clone()) {
            Ok(outcomes) => {
                assert_eq!(outcomes, self.outcomes);
                true
            }
            // A check that cannot merge has written, too.
            Err(error) => self.refused("apply", &error, is_found),
        };
        // That changes were refused is told once more, and no more.
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
            self.dear_one_in,
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
            self.dear_one_in,
            !is_sound,
        );
        if let Err(error) = database.close() {
            self.refused("close", &error, !is_sound);
        }
        match builder().open_read_only(&self.path) {
            Ok(database) => self.ask(AGAIN, exam, &database, sequence, self.dear_one_in, false),
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
        dear_one_in: u64,
        may_have_failed: bool,
    ) -> bool {
        let refuses: fn(&Error) -> bool = match may_have_failed {
            true => tells_of_damage_or_failed_write,
            false => tells_of_damage,
        };
        let tally = (&self.tally, stage);
        let all_right = exam.ask(database, sequence, dear_one_in, &refuses, tally);
        self.tally.borrow_mut().count(stage, "", all_right);
        all_right
    }

    /// Counts what was refused, and asserts that the error tells of damage. (It is never right.)
    fn refused(&self, stage: &'static str, error: &Error, may_have_failed: bool) -> bool {
        let tells = match may_have_failed {
            true => tells_of_damage_or_failed_write(error),
            false => tells_of_damage(error),
        };
        assert!(tells, "{stage}: {error:?}");
        self.tally.borrow_mut().count(stage, "", false);
        false
    }

    /// Damages one of the files in many ways, one after the other, and asserts that each gives right
    /// answers or an error, and that what gives errors to those who read is found by `check`.
    fn damage(&self, damaged: &Path, seed: u64, count: u64) {
        let (_, sound) = self.files.iter().find(|(file, _)| file == damaged).unwrap();
        // A journal is zeros behind what is in use, and what is cut off there is not missed.
        let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
        let used = (used + 1).next_multiple_of(SECTOR_BYTES);
        let mut sequence = SplitMix(seed);
        for number in 0..count {
            let damage = Damage::random(&mut sequence, used);
            let mut bytes = sound.clone();
            damage.apply(&mut bytes);
            self.restore();
            std::fs::write(damaged, &bytes).unwrap();
            let told = || format!("{} {damage:?} (seed {seed})", damaged.display());
            let mut asked = SplitMix(number);
            let is_right = caught(|| self.read(&mut asked));
            let is_right = is_right.unwrap_or_else(|what| panic!("{}: {what}", told()));
            // Reading has changed nothing.
            assert!(std::fs::read(damaged).unwrap() == bytes, "{}", told());
            let is_found = caught(|| self.write(&mut asked));
            let is_found = is_found.unwrap_or_else(|what| panic!("{}: {what}", told()));
            assert!(is_found || is_right, "{}: not found by check", told());
        }
        self.restore();
    }

    /// How often all answers of a stage were right, and how often not.
    fn times(&self, stage: &'static str) -> [u64; 2] {
        self.tally.borrow().of(stage, "")
    }

    /// Asserts that every kind of answer was right at every stage at some time.
    fn assert_all_were_right(&self) {
        let tally = self.tally.borrow();
        for stage in [READ_ONLY, WRITABLE, CHANGED, MERGED, AGAIN] {
            for kind in KINDS {
                assert!(tally.of(stage, kind)[0] > 0, "{stage}, {kind}: {tally:?}");
            }
        }
    }
}

/// Changes of every kind, in which it is decided what is near what is stored.
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
    changes
}

#[test]
fn damage_to_a_closed_file_gives_an_error_or_the_right_answer() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let model = damageable(&path);
    // Without pages that are not in use.
    Database::vacuum(&path).unwrap();
    let trial = Trial::of(&path, &model, true);
    let count = damages(300);
    trial.damage(&path, 11, count);
    trial.assert_all_were_right();
    let tally = trial.tally.borrow();
    // Each of them reads some page that is damaged at some time.
    for kind in KINDS.into_iter().chain(["stats of the tables", "diagnose"]) {
        let [right, refused] = tally.of(READ_ONLY, kind);
        assert!(right > 0 && refused > 0, "{kind}: {tally:?}");
    }
    for stage in [WRITABLE, CHANGED, MERGED, AGAIN, "apply", "merge"] {
        assert!(trial.times(stage)[1] > 0, "{stage}: {tally:?}");
    }
    assert!(trial.times(READ_ONLY)[1] > count / 3, "{tally:?}");
}

/// A file and its journal as a crash leaves them, and what they hold: something in the tables, and
/// more in the journal.
fn left_by_a_crash(folder: &Path) -> (PathBuf, Model) {
    let path = folder.join("docs.simdb");
    let mut model = damageable(&path);
    let database = builder().open(&path).unwrap();
    let more = documents(7, 1 << 30, 500);
    for batch in more.chunks(100) {
        let inserts = batch.iter().cloned().map(|document| Document {
            arrival: Some(Timestamp(FIRST_ARRIVAL)),
            ..document
        });
        let inserts: Vec<Document> = inserts.collect();
        model = model.with(inserts.clone());
        database
            .apply(inserts.into_iter().map(Change::Insert))
            .unwrap();
    }
    let copy = folder.join("copy.simdb");
    test_support::copy_open(&path, &copy);
    (copy, model)
}

#[test]
fn damage_to_a_file_that_a_crash_left_gives_an_error_or_the_right_answer() {
    let folder = folder();
    let (path, model) = left_by_a_crash(folder.path());
    let trial = Trial::of(&path, &model, false);
    let count = damages(150);
    trial.damage(&path, 12, count);
    trial.assert_all_were_right();
    // Many pages of a file hold what is no longer in use.
    for stage in [READ_ONLY, WRITABLE] {
        assert!(trial.times(stage)[1] > count / 40, "{:?}", trial.tally);
    }
    assert!(trial.times("merge")[1] > 0, "{:?}", trial.tally);
}

#[test]
fn damage_to_a_journal_that_a_crash_left_gives_an_error_or_the_right_answer() {
    let folder = folder();
    let (path, model) = left_by_a_crash(folder.path());
    let journals = [journal(&path, 1), journal(&path, 2)];
    let journal = journals.iter().find(|file| file.exists()).unwrap();
    // A damaged journal mostly is refused when the file is opened.
    let trial = Trial {
        dear_one_in: 1,
        ..Trial::of(&path, &model, false)
    };
    let count = damages(150);
    trial.damage(journal, 13, count);
    trial.assert_all_were_right();
    // A journal is read when the file is opened, and not again.
    for stage in [READ_ONLY, WRITABLE] {
        assert!(trial.times(stage)[1] > count / 3, "{:?}", trial.tally);
    }
    for stage in [CHANGED, MERGED, AGAIN] {
        assert_eq!(trial.times(stage)[1], 0, "{:?}", trial.tally);
    }
}
