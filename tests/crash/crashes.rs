//! The journals of a crashed process or machine are replayed. A missing or damaged journal, or one
//! of another database, is refused.
//!
//! `SIMDB_TEST_KILLS` sets the number of processes that each kill test kills.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use simdb::{Change, Database, DocId, Document, Error, Fingerprint};
use test_support::children::{child_task, kill_rounds, kills, report, reports, spawn};
use test_support::timing::SetWhenDropped;
use test_support::{
    Model, SplitMix, assert_holds, assert_sound, builder, caught, copy_open, document, documents,
    folder, journal, names_in,
};

fn inserts(documents: &[Document]) -> Vec<Change> {
    documents.iter().cloned().map(Change::Insert).collect()
}

/// Copies an open database and its journals, as a crash would leave them.
fn crash_copy(name: &str, folder: &Path, database: &Database) -> std::path::PathBuf {
    let copy = folder.join(name);
    copy_open(database.path(), &copy);
    copy
}

// ---- copies of open databases ----

#[test]
fn acknowledged_changes_survive_crash_at_any_moment() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().similar(true).create(&path).unwrap();
    let mut model = Model::new([], true);
    let mut sequence = SplitMix(17);
    for round in 0..24 {
        let mut changes = Vec::new();
        for _ in 0..sequence.below(400) {
            let id = sequence.below(1_500);
            let reliable = sequence.below(9) > 0;
            let text = id
                .is_multiple_of(3)
                .then(|| format!("document {id} of round {round}"));
            let bits = sequence.next();
            let document = Document {
                reliable,
                text,
                ..document(id, bits)
            };
            changes.push(match sequence.below(4) {
                0 => Change::Remove(DocId(id)),
                1 => Change::Upsert(document),
                2 => Change::InsertUnique {
                    document,
                    radius: 3,
                },
                _ => Change::Insert(document),
            });
        }
        let expected = model.apply_all(changes.clone());
        assert_eq!(database.apply(changes).unwrap(), expected);
        if round % 7 == 6 {
            database.merge().unwrap();
        }
        let copy = crash_copy(&format!("copy{round}.simdb"), folder.path(), &database);
        let mut copied = builder().open(&copy).unwrap();
        assert_holds(&copied.snapshot().unwrap(), &model);
        for document in model.documents.values().step_by(50) {
            let query = document.fingerprint;
            let found = copied.within(query, 10).unwrap();
            assert_eq!(found, model.within(query, 10));
        }
        // The recovered database accepts writes, which survive the next crash.
        let more = documents(round, 1 << 40, 10);
        copied.apply(inserts(&more)).unwrap();
        let again = crash_copy(&format!("again{round}.simdb"), folder.path(), &copied);
        assert_sound(&mut copied);
        let mut again = builder().open(&again).unwrap();
        assert_holds(&again.snapshot().unwrap(), &model.clone().with(more));
        assert_sound(&mut again);
    }
}

#[test]
fn vacuum_after_crash_keeps_all_documents() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let stored = documents(1, 0, 3_000);
    database.apply(inserts(&stored[..1_000])).unwrap();
    database.merge().unwrap();
    database.apply(inserts(&stored[1_000..])).unwrap();
    let removals = || (0..3_000).step_by(3).map(|id| Change::Remove(DocId(id)));
    database.apply(removals()).unwrap();
    let mut model = Model::new(stored, false);
    model.apply_all(removals());
    std::fs::create_dir(folder.path().join("copies")).unwrap();
    let copies = folder.path().join("copies");
    let copy = crash_copy("copy.simdb", &copies, &database);
    Database::vacuum(&copy).unwrap();
    assert_eq!(names_in(&copies), ["copy.simdb"]);
    let mut copy = builder().open(&copy).unwrap();
    assert_holds(&copy.snapshot().unwrap(), &model);
    assert_sound(&mut copy);
}

// ---- missing, foreign and damaged journals ----

#[test]
fn missing_journal_is_refused_until_restored() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let stored = documents(1, 0, 1_000);
    database.apply(inserts(&stored)).unwrap();
    let copy = crash_copy("copy.simdb", folder.path(), &database);
    let (name, away) = (journal(&copy, 1), folder.path().join("away"));
    std::fs::rename(&name, &away).unwrap();
    let opened = [builder().open(&copy), builder().open_or_create(&copy)];
    for opened in opened {
        let refused = opened.unwrap_err();
        let Error::JournalMissing { path, journal } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!((path, journal.file_name()), (&copy, name.file_name()));
        assert!(refused.to_string().contains("journal-1"), "{refused}");
    }
    let refused = Database::vacuum(&copy).unwrap_err();
    assert!(
        matches!(refused, Error::JournalMissing { .. }),
        "{refused:?}"
    );
    let refused = builder().open_read_only(&copy).unwrap_err();
    assert!(
        matches!(refused, Error::JournalMissing { .. }),
        "{refused:?}"
    );
    // A journal of another database is refused as well.
    let other = folder.path().join("other.simdb");
    let other = builder().create(other).unwrap();
    other.apply(inserts(&documents(2, 0, 10))).unwrap();
    std::fs::copy(journal(other.path(), 1), &name).unwrap();
    let refused = builder().open(&copy).unwrap_err();
    assert!(
        matches!(refused, Error::JournalMissing { .. }),
        "{refused:?}"
    );
    // None of these attempts changed the file.
    std::fs::rename(&away, &name).unwrap();
    let mut copy = builder().open(&copy).unwrap();
    assert_holds(&copy.snapshot().unwrap(), &Model::new(stored, false));
    assert_sound(&mut copy);
}

#[test]
fn missing_second_journal_is_refused_until_restored() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let stored = documents(1, 0, 1_000);
    database.apply(inserts(&stored)).unwrap();
    // Opening a file that a crash left begins the second journal.
    let once = crash_copy("once.simdb", folder.path(), &database);
    let database = builder().open(&once).unwrap();
    let later = documents(2, 5_000, 100);
    database.apply(inserts(&later)).unwrap();
    let copy = crash_copy("copy.simdb", folder.path(), &database);
    let [first, second] = [1, 2].map(|number| journal(&copy, number));
    let (other, sound) = (
        std::fs::read(first).unwrap(),
        std::fs::read(&second).unwrap(),
    );
    let misplaced = [&other[..512], &sound[512..]].concat();
    let saved = folder.path().join("saved.simdb");
    for left in [
        None,
        Some(&sound[..0]),
        Some(&sound[..20]),
        Some(&misplaced),
    ] {
        match left {
            None => std::fs::remove_file(&second).unwrap(),
            Some(bytes) => std::fs::write(&second, bytes).unwrap(),
        }
        for opened in [builder().open(&copy), builder().open_read_only(&copy)] {
            let refused = opened.unwrap_err();
            let Error::JournalMissing { journal, .. } = &refused else {
                panic!("{refused:?}")
            };
            assert_eq!(journal.file_name(), second.file_name());
        }
        let found = builder().salvage(&copy, &saved, 16 << 20).unwrap();
        assert_eq!(found.documents, 1_000);
        let said = found.damage.join("\n");
        assert!(said.contains("journal-2 is missing"), "{said}");
        std::fs::remove_file(&saved).unwrap();
    }
    std::fs::write(&second, &sound).unwrap();
    let mut copy = builder().open(&copy).unwrap();
    let model = Model::new(stored, false).with(later);
    assert_holds(&copy.snapshot().unwrap(), &model);
    assert_sound(&mut copy);
}

#[test]
fn older_file_beside_newer_journal_is_refused() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let stored = documents(1, 0, 100);
    let database = builder().create(&path).unwrap();
    database.apply(inserts(&stored)).unwrap();
    database.close().unwrap();
    let closed = std::fs::read(&path).unwrap();
    let database = builder().open(&path).unwrap();
    database.apply(inserts(&documents(2, 1 << 20, 50))).unwrap();
    let copy = folder.path().join("copy.simdb");
    test_support::copy_open(&path, &copy);
    std::fs::write(&copy, &closed).unwrap();
    for opened in [builder().open(&copy), builder().open_read_only(&copy)] {
        let said = opened.unwrap_err();
        assert!(matches!(said, Error::Corrupt { .. }), "{said:?}");
        let said = said.to_string();
        assert!(
            said.contains("holds commits; if the database was restored from an older copy"),
            "{said}"
        );
        // No advice that would not help.
        assert!(!said.contains("check"), "{said}");
    }
    // The changes in the journal are not lost by the refusal.
    for number in [1, 2] {
        let _ = std::fs::remove_file(journal(&copy, number));
    }
    test_support::copy_open(&path, &copy);
    assert_eq!(builder().open(&copy).unwrap().len().unwrap(), 150);
}

/// An old copy of the file, restored beside journals that continue a later state, is refused.
#[test]
fn restored_copy_beside_much_later_journal_is_refused() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let (closed, in_use) = (
        folder.path().join("closed.simdb"),
        folder.path().join("in-use.simdb"),
    );
    let database = builder().create(&path).unwrap();
    database.apply(inserts(&documents(1, 0, 100))).unwrap();
    database.close().unwrap();
    std::fs::copy(&path, &closed).unwrap();
    let database = builder().open(&path).unwrap();
    database.apply(inserts(&documents(2, 1000, 10))).unwrap();
    test_support::copy_open(&path, &in_use);
    database.close().unwrap();
    // The third generation of journals, and the fifth.
    for round in [3, 4, 5] {
        let database = builder().open(&path).unwrap();
        database
            .apply(inserts(&documents(round, round * 1000, 10)))
            .unwrap();
        if round != 4 {
            for older in [&closed, &in_use] {
                std::fs::copy(journal(&path, 1), journal(older, 1)).unwrap();
            }
            for opened in [builder().open(&closed), builder().open_read_only(&closed)] {
                let said = opened.unwrap_err();
                assert!(said.to_string().contains("holds commits"), "{said}");
            }
        }
        if round == 5 {
            for opened in [builder().open(&in_use), builder().open_read_only(&in_use)] {
                let said = opened.unwrap_err();
                assert!(
                    said.to_string().contains("is newer than the file"),
                    "{said}"
                );
            }
        }
        database.close().unwrap();
    }
    // Without the later journal the copies open as before.
    for (copy, stored) in [(&closed, 100), (&in_use, 110)] {
        std::fs::remove_file(journal(copy, 1)).unwrap();
        let mut database = builder().open(copy).unwrap();
        assert_eq!(database.len().unwrap(), stored);
        assert_sound(&mut database);
    }
}

#[test]
fn journal_of_later_version_is_refused_by_name() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    database.apply(inserts(&documents(1, 0, 100))).unwrap();
    let copy = folder.path().join("copy.simdb");
    test_support::copy_open(&path, &copy);
    let file = journal(&copy, 1);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[8..12].copy_from_slice(&2_u32.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&file, &bytes).unwrap();
    for opened in [builder().open(&copy), builder().open_read_only(&copy)] {
        match opened.unwrap_err() {
            Error::FormatVersion {
                path,
                found: 2,
                supported: 1,
            } => assert_eq!(path, file),
            other => panic!("{other:?}"),
        }
    }
    assert!(std::fs::read(&file).unwrap() == bytes);
}

#[test]
fn foreign_journals_beside_closed_database_are_kept() {
    let folder = folder();
    let (path, other) = (
        folder.path().join("docs.simdb"),
        folder.path().join("other.simdb"),
    );
    let stored = documents(1, 0, 1_000);
    let database = builder().create(&path).unwrap();
    database.apply(inserts(&stored)).unwrap();
    database.close().unwrap();
    let other = builder().create(other).unwrap();
    other.apply(inserts(&documents(2, 5_000, 100))).unwrap();
    let stale = || {
        for number in [1, 2] {
            std::fs::copy(journal(other.path(), 1), journal(&path, number)).unwrap();
        }
    };
    stale();
    let mut model = Model::new(stored, false);
    let reading = builder().open_read_only(&path).unwrap();
    assert_holds(&reading.snapshot().unwrap(), &model);
    drop(reading);
    let refuse_and_remove = |model: &Model| {
        let mut database = builder().open(&path).unwrap();
        assert_holds(&database.snapshot().unwrap(), model);
        assert_sound(&mut database);
        let refused = database.apply(inserts(&documents(9, 1 << 40, 1)));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("docs.simdb.journal-"), "{refused}");
        assert!(refused.contains("move that journal"), "{refused}");
        drop(database);
        let commits = std::fs::read(journal(other.path(), 1)).unwrap();
        for number in [1, 2] {
            let name = journal(&path, number);
            assert!(std::fs::read(&name).unwrap() == commits);
            std::fs::remove_file(name).unwrap();
        }
    };
    refuse_and_remove(&model);
    let mut database = builder().open(&path).unwrap();
    // Enough changes to begin a second journal as well.
    for round in 0..12 {
        if round == 6 {
            assert_sound(&mut database);
            database.close().unwrap();
            stale();
            refuse_and_remove(&model);
            database = builder().open(&path).unwrap();
        }
        let more = documents(3 + round, (1 + round) << 20, 16_000);
        database.apply(inserts(&more)).unwrap();
        model = model.with(more);
    }
    assert_holds(&database.snapshot().unwrap(), &model);
    database.close().unwrap();
    let names = ["docs.simdb", "other.simdb", "other.simdb.journal-1"];
    assert_eq!(names_in(folder.path()), names);
    let mut database = builder().open(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
    assert_sound(&mut database);
}

#[test]
fn no_database_is_created_beside_commits_of_a_deleted_one() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    database.apply(inserts(&documents(1, 0, 100))).unwrap();
    std::mem::forget(database);
    std::fs::remove_file(&path).unwrap();
    let commits = std::fs::read(journal(&path, 1)).unwrap();
    let refused = [
        builder().create(&path).unwrap_err(),
        builder().open_or_create(&path).unwrap_err(),
        builder().bulk_create(&path, 1 << 24).map(drop).unwrap_err(),
    ];
    for refused in refused {
        let cause = std::error::Error::source(&refused).unwrap().to_string();
        assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
        assert!(
            cause.contains("docs.simdb.journal-1 holds commits"),
            "{cause}"
        );
    }
    assert_eq!(names_in(folder.path()), ["docs.simdb.journal-1"]);
    assert!(std::fs::read(journal(&path, 1)).unwrap() == commits);
    std::fs::remove_file(journal(&path, 1)).unwrap();
    let database = builder().create(&path).unwrap();
    database.apply(inserts(&documents(2, 0, 100))).unwrap();
}

#[test]
fn cut_or_flipped_journal_gives_error_or_every_commit() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().keep_texts(true).create(&path).unwrap();
    let mut model = Model::new([], true);
    for round in 0..12 {
        let mut stored = documents(round, round * 100, 1 + round * 3);
        stored[0].text = Some(format!("text of round {round}"));
        database.apply(inserts(&stored)).unwrap();
        model = model.with(stored);
    }
    let copy = crash_copy("copy.simdb", folder.path(), &database);
    let sound = std::fs::read(&copy).unwrap();
    let bytes = std::fs::read(journal(&copy, 1)).unwrap();
    let used = 1 + bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let mut sequence = SplitMix(9);
    let (mut refused, mut whole) = (0, 0);
    for number in 0..600 {
        let place = sequence.below(used as u64) as usize;
        let mut damaged = bytes.clone();
        match number % 3 {
            0 => damaged.truncate(place),
            _ => damaged[place] ^= 1 << sequence.below(8),
        }
        std::fs::write(&copy, &sound).unwrap();
        std::fs::write(journal(&copy, 1), damaged).unwrap();
        let opened = caught(|| {
            let database = builder().open(&copy)?;
            let snapshot = database.snapshot()?;
            let stored: Result<Vec<Document>, Error> = snapshot.documents().collect();
            assert_eq!(
                snapshot.len().unwrap(),
                stored.as_ref().unwrap().len() as u64
            );
            stored
        });
        match opened.unwrap() {
            Ok(stored) => {
                let is_it = stored.iter().eq(model.documents.values());
                assert!(is_it, "byte {place}: {stored:?}");
                whole += 1;
            }
            Err(Error::Corrupt { .. } | Error::JournalMissing { .. }) => refused += 1,
            Err(error) => panic!("byte {place}: {error:?}"),
        }
    }
    assert!(refused > 200, "{refused} refused, {whole} whole");
}

// ---- killed processes ----

const THREADS: u64 = 8;

/// The documents that a thread of a process inserts in one batch; deterministic.
fn batch(process: u64, thread: u64, round: u64) -> Vec<Document> {
    let number = process << 40 | thread << 32 | round << 8;
    let mut sequence = SplitMix(number);
    let size = 1 + sequence.below(5);
    let mut batch = documents(number, number, size);
    for document in &mut batch {
        document.reliable = sequence.below(8) > 0;
        document.text = (sequence.below(4) == 0).then(|| format!("text of {}", document.id));
    }
    batch
}

#[test]
#[ignore = "runs in a process of its own, which a test kills"]
fn child_writes_from_many_threads_until_it_is_killed() {
    let Some((path, process)) = child_task() else {
        return;
    };
    let database = builder().similar(true).open_or_create(path).unwrap();
    // If this test runs on its own, the first report fails: then all threads end.
    let pipe_is_closed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (database, pipe_is_closed) = (&database, &pipe_is_closed);
            scope.spawn(move || {
                let _failed = SetWhenDropped(pipe_is_closed);
                for round in 0.. {
                    database
                        .apply(inserts(&batch(process, thread, round)))
                        .unwrap();
                    report(thread << 32 | round);
                }
            });
        }
        // Flushes run beside the writes.
        scope.spawn(|| {
            while !pipe_is_closed.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(30));
                database.merge().unwrap();
            }
        });
    });
}

#[test]
fn acknowledged_batches_of_many_threads_survive_kill() {
    for (seed, kills) in kill_rounds(25) {
        kill_concurrent_writers(404 + seed, kills);
    }
}

fn kill_concurrent_writers(seed: u64, kills: u64) {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut sequence = SplitMix(seed);
    let mut model = Model::new([], true);
    let mut total = 0;
    for process in 1..=kills {
        let mut child = spawn(
            "crashes::child_writes_from_many_threads_until_it_is_killed",
            &path,
            process,
        );
        let mut acknowledged = [0; THREADS as usize];
        let mut reports = reports(&mut child);
        let mut note = |number: u64| {
            acknowledged[(number >> 32) as usize] = 1 + (number & 0xffff_ffff);
        };
        for _ in 0..sequence.below(200) {
            reports.next().into_iter().for_each(&mut note);
        }
        std::thread::sleep(Duration::from_micros(sequence.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        reports.for_each(note);
        total += acknowledged.iter().sum::<u64>();
        if total == 0 && !path.exists() {
            continue;
        }

        let mut database = builder().open(&path).unwrap();
        for thread in 0..THREADS {
            let acknowledged_rounds = acknowledged[thread as usize];
            for round in 0..acknowledged_rounds {
                model = model.with(batch(process, thread, round));
            }
            // One more batch may be stored, but only whole.
            let next = batch(process, thread, acknowledged_rounds);
            if database.get(next[0].id).unwrap().is_some() {
                model = model.with(next);
            }
        }
        let snapshot = database.snapshot().unwrap();
        assert_holds(&snapshot, &model);
        for document in model.documents.values().step_by(97) {
            let found = snapshot.within(document.fingerprint, 3).unwrap();
            assert_eq!(found, model.within(document.fingerprint, 3));
        }
        drop(snapshot);
        // Every other process must recover the database itself: give it the files as they were
        // after the kill.
        let copy = folder.path().join("copy.simdb");
        copy_open(&path, &copy);
        assert_sound(&mut database);
        drop(database);
        if process % 2 == 0 {
            copy_open(&copy, &path);
        }
        for number in [1, 2] {
            let _ = std::fs::remove_file(journal(&copy, number));
        }
    }
    assert!(total > 8 * kills, "only {total} batches were acknowledged");
}

/// Changes of one large batch: a few batches seal a memtable.
const LARGE: u64 = 20_000;
/// Processes that are killed during large batches, by default.
const DEFAULT_LARGE_KILLS: u64 = 6;

fn large_batch(number: u64) -> Vec<Change> {
    let first = number << 20;
    let mut changes = inserts(&documents(number, first, LARGE));
    let older = number.saturating_sub(2) << 20;
    changes.extend((older..older + LARGE / 4).map(|id| Change::Remove(DocId(id))));
    let moved = |id: u64| document(id, SplitMix(id + number).next());
    let older = number.saturating_sub(1) << 20;
    changes.extend((older..older + LARGE / 4).map(|id| Change::Upsert(moved(id))));
    changes
}

#[test]
#[ignore = "runs in a process of its own, which a test kills"]
fn child_applies_large_batches_until_it_is_killed() {
    let Some((path, first)) = child_task() else {
        return;
    };
    let database = builder().open(path).unwrap();
    report(0);
    for number in first.. {
        database.apply(large_batch(number)).unwrap();
        report(number);
    }
}

#[test]
fn kill_during_flush_of_large_memtables_loses_nothing() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    drop(builder().create(&path).unwrap());
    let mut sequence = SplitMix(31);
    let mut model = Model::default();
    let mut next = 1;
    for round in 0..kills(DEFAULT_LARGE_KILLS) {
        let mut child = spawn(
            "crashes::child_applies_large_batches_until_it_is_killed",
            &path,
            next,
        );
        let mut reports = reports(&mut child);
        assert_eq!(reports.next(), Some(0));
        let mut last = None;
        for _ in 0..2 + sequence.below(3) {
            last = reports.next();
        }
        // The background flush is running now, or begins soon.
        std::thread::sleep(Duration::from_millis(sequence.below(150)));
        child.kill().unwrap();
        child.wait().unwrap();
        last = reports.last().or(last);
        while last.is_some_and(|last| next <= last) {
            model.apply_all(large_batch(next));
            next += 1;
        }
        let mut database = builder().open(&path).unwrap();
        // The batch in flight is there wholly or not at all: its first document tells which.
        if database.get(DocId(next << 20)).unwrap().is_some() {
            model.apply_all(large_batch(next));
            next += 1;
        }
        let snapshot = database.snapshot().unwrap();
        assert_holds(&snapshot, &model);
        let step = model.documents.len() / 20;
        let queries: Vec<Fingerprint> = model
            .documents
            .values()
            .step_by(step)
            .map(|document| document.fingerprint)
            .collect();
        for query in queries {
            assert_eq!(snapshot.within(query, 3).unwrap(), model.within(query, 3));
        }
        drop(snapshot);
        // `check` flushes the memtable. Mostly skip it, so that the next process replays journals.
        if round % 3 == 2 {
            assert_sound(&mut database);
        }
    }
    let mut database = builder().open(&path).unwrap();
    assert_sound(&mut database);
    assert_holds(&database.snapshot().unwrap(), &model);
    assert!(
        next > 8 || kills(DEFAULT_LARGE_KILLS) < DEFAULT_LARGE_KILLS,
        "{next}"
    );
}
