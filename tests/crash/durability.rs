//! Committed changes survive and uncommitted ones do not: reopen, drop, interrupt, kill, cut the
//! file.
//!
//! `SIMDB_TEST_KILLS` sets the number of processes that each kill test kills.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use simdb::bulk::BulkLoad;
use simdb::progress::Progress;
use simdb::{Change, Database, DocId, DocRef, Document, Error, Fingerprint, Outcome};
use test_support::children::{child_task, kill_rounds, kills, report, reports, spawn};
use test_support::engine::pages_of;
use test_support::{
    Model, SplitMix, assert_holds, assert_sound, builder, caught, copy_open, document, documents,
    folder, journal, names_in, with_key,
};

const MEMORY_BYTES: u64 = 16 << 20;
const REOPEN_LIMIT: Duration = Duration::from_millis(500);
/// Processes killed while they apply batches, or load in bulk, by default. With fewer, perhaps none
/// is killed in the middle of its work.
const DEFAULT_KILLS: u64 = 24;
const USUAL_LOADS: u64 = 12;

fn inserts(documents: &[Document]) -> Vec<Change> {
    documents.iter().cloned().map(Change::Insert).collect()
}

#[test]
fn committed_documents_survive_reopen() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let documents = documents(1, 0, 2_000);
    let database = builder().create(&path).unwrap();
    for batch in documents.chunks(300) {
        database.apply(inserts(batch)).unwrap();
        assert_eq!(
            names_in(folder.path()),
            ["docs.simdb", "docs.simdb.journal-1"]
        );
    }
    drop(database);
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    let mut database = builder().open(&path).unwrap();
    assert_holds(
        &database.snapshot().unwrap(),
        &Model::new(documents.clone(), false),
    );
    assert_sound(&mut database);
    drop(database);
    let read_only = builder().open_read_only(&path).unwrap();
    assert_holds(
        &read_only.snapshot().unwrap(),
        &Model::new(documents, false),
    );
}

#[test]
fn dropped_transaction_leaves_no_change() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder().create(&path).unwrap();
    let (kept, dropped) = (documents(1, 0, 500), documents(2, 500, 2_000));
    database.apply(inserts(&kept)).unwrap();
    let mut transaction = database.begin().unwrap();
    let outcomes = transaction.apply(inserts(&dropped)).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_inserted()));
    transaction.apply([Change::Remove(DocId(3))]).unwrap();
    drop(transaction);
    let model = Model::new(kept, false);
    assert_holds(&database.snapshot().unwrap(), &model);
    assert_sound(&mut database);
    drop(database);
    assert_holds(&builder().open(&path).unwrap().snapshot().unwrap(), &model);
}

#[test]
fn batch_with_refused_change_is_undone_whole() {
    let folder = folder();
    let mut database = builder()
        .keep_texts(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let kept = documents(1, 0, 10);
    database.apply(inserts(&kept)).unwrap();
    // One byte longer than the longest text.
    let too_long = Document {
        text: Some("a".repeat((256 << 20) + 1)),
        ..document(1_000, 5)
    };
    let mut changes = inserts(&documents(2, 100, 300));
    changes.push(Change::Insert(too_long));
    changes.push(Change::Remove(DocId(0)));
    let refused = database.apply(changes).unwrap_err();
    assert!(
        matches!(
            refused,
            Error::TextTooLong {
                id: DocRef::Id(DocId(1_000)),
                ..
            }
        ),
        "{refused:?}"
    );
    assert_holds(&database.snapshot().unwrap(), &Model::new(kept, true));
    assert_sound(&mut database);
}

#[test]
fn transaction_after_failed_batch_commits_none_of_it() {
    let folder = folder();
    let mut database = builder()
        .keep_texts(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let mut transaction = database.begin().unwrap();
    let too_long = Document {
        text: Some("a".repeat((256 << 20) + 1)),
        ..document(1_000, 5)
    };
    let mut changes = inserts(&documents(2, 100, 300));
    changes.push(Change::Insert(too_long));
    transaction.apply(changes).unwrap_err();
    // This may be refused or do nothing; the file must stay sound.
    let _ = transaction.commit();
    assert_sound(&mut database);
    assert!(database.is_empty().unwrap());
}

#[test]
fn dropped_or_interrupted_bulk_load_leaves_no_file() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let loaded = documents(1, 0, 200_000);
    // Interrupt at each report of progress.
    for stop_at in 0.. {
        let mut load = builder().bulk_create(&path, MEMORY_BYTES).unwrap();
        loaded
            .iter()
            .for_each(|document| load.push(document.clone()).unwrap());
        let reports = AtomicU64::new(0);
        let load = load.on_progress(move |_| {
            if reports.fetch_add(1, Ordering::Relaxed) >= stop_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let finished = load.finish(|_| ControlFlow::Continue(()));
        match finished {
            Err(Error::Interrupted { path: named }) => assert_eq!(named, path),
            finished => {
                assert!(stop_at >= 2, "only {stop_at} moments to stop at");
                assert_eq!(finished.unwrap().inserted, 200_000);
                break;
            }
        }
        assert_eq!(names_in(folder.path()), Vec::<String>::new());
    }
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    std::fs::remove_file(&path).unwrap();

    let mut load = builder().bulk_create(&path, MEMORY_BYTES).unwrap();
    loaded
        .iter()
        .for_each(|document| load.push(document.clone()).unwrap());
    drop(load);
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
}

#[test]
fn dropped_or_interrupted_bulk_load_leaves_database_unchanged() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder().similar(true).create(&path).unwrap();
    let mut stored = documents(1, 0, 500);
    stored[7].text = Some("seven".to_owned());
    database.apply(inserts(&stored)).unwrap();
    let model = Model::new(stored, true);
    let mut fresh = documents(2, 250, 5_000);
    fresh[300].text = Some("dropped".to_owned());
    let start = |database: &Database| {
        let mut load = database.bulk_load(MEMORY_BYTES).unwrap();
        fresh
            .iter()
            .for_each(|document| load.push(document.clone()).unwrap());
        drop(load);
        let mut load = database.bulk_load(MEMORY_BYTES).unwrap();
        fresh
            .iter()
            .for_each(|document| load.push(document.clone()).unwrap());
        let load = load.on_progress(|progress| {
            if is_last(progress) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let interrupted = load.finish(|_| ControlFlow::Continue(()));
        assert!(
            matches!(interrupted, Err(Error::Interrupted { .. })),
            "{interrupted:?}"
        );
    };
    start(&database);
    assert_holds(&database.snapshot().unwrap(), &model);
    assert_sound(&mut database);
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    drop(database);
    assert_holds(&builder().open(&path).unwrap().snapshot().unwrap(), &model);
}

/// Returns `true` if redb has marked the file as open, so that the next open repairs it.
fn is_marked_open(path: &Path) -> bool {
    pages_of(&std::fs::read(path).unwrap())[9] & 2 != 0
}

/// Returns `true` for the last progress report of a stage.
fn is_last(progress: Progress) -> bool {
    Some(progress.done) == progress.total
}

fn begin_load<'d>(database: &'d Database, documents: &[Document]) -> BulkLoad<'d> {
    let mut load = database.bulk_load(MEMORY_BYTES).unwrap();
    for document in documents {
        load.push(document.clone()).unwrap();
    }
    load
}

/// The unfinished change is aborted while the caller's panic unwinds. Afterwards redb must close
/// the file, and the file must hold none of the change.
#[test]
fn panic_of_caller_during_large_change_leaves_sound_file() {
    const LARGE: u64 = 70_000;
    type Named<'p> = (&'p str, &'p dyn Fn(&Database));
    let large = documents(2, 1_000, LARGE);
    let panics: [Named<'_>; 5] = [
        ("transaction", &|database| {
            let mut transaction = database.begin().unwrap();
            transaction.apply(inserts(&large)).unwrap();
            panic!("the caller's own");
        }),
        ("changes", &|database| {
            let mut transaction = database.begin().unwrap();
            transaction.apply(inserts(&large)).unwrap();
            let panicking = (0..).map(|_| -> Change { panic!("the caller's own") });
            drop(transaction.apply(panicking));
        }),
        ("load", &|database| {
            let _load = begin_load(database, &large);
            panic!("the caller's own");
        }),
        ("first report", &|database| {
            let load = begin_load(database, &large).on_progress(|_| panic!("the caller's own"));
            drop(load.finish(|_| ControlFlow::Continue(())));
        }),
        ("last report", &|database| {
            let load = begin_load(database, &large).on_progress(|progress| {
                assert!(!is_last(progress), "the caller's own");
                ControlFlow::Continue(())
            });
            drop(load.finish(|_| ControlFlow::Continue(())));
        }),
    ];
    for (name, panics) in panics {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let database = builder().create(&path).unwrap();
        let stored = documents(1, 0, 100);
        database.apply(inserts(&stored[..50])).unwrap();
        let panicked = caught(|| panics(&database)).unwrap_err();
        assert!(panicked.ends_with("the caller's own"), "{name}: {panicked}");
        database.apply(inserts(&stored[50..])).unwrap();
        assert!(is_marked_open(&path), "{name}");
        database.close().unwrap();
        assert!(!is_marked_open(&path), "{name}");
        let mut database = builder().open(&path).unwrap();
        let model = Model::new(stored, false);
        assert_holds(&database.snapshot().unwrap(), &model);
        assert_sound(&mut database);
    }
}

#[test]
fn create_leaves_no_temporary_file() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    drop(database);
    let refused = builder().create(&path).unwrap_err();
    assert!(
        matches!(refused, Error::AlreadyExists { .. }),
        "{refused:?}"
    );
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
}

#[test]
fn copy_of_open_database_opens() {
    // A crash right after a commit leaves a file that was never closed.
    let folder = folder();
    let (path, copy) = (
        folder.path().join("docs.simdb"),
        folder.path().join("copy.simdb"),
    );
    let database = builder().create(&path).unwrap();
    let documents = documents(1, 0, 3_000);
    database.apply(inserts(&documents)).unwrap();
    copy_open(&path, &copy);
    let model = Model::new(documents, false);
    // A read-only handle sees the same documents and repairs nothing.
    let left = std::fs::read(&copy).unwrap();
    for _ in 0..2 {
        let reading = builder().open_read_only(&copy).unwrap();
        assert_holds(&reading.snapshot().unwrap(), &model);
    }
    assert!(std::fs::read(&copy).unwrap() == left);
    let mut copy = builder().open(&copy).unwrap();
    assert_holds(&copy.snapshot().unwrap(), &model);
    assert_sound(&mut copy);
}

// ---- killed processes ----

/// The changes of one batch: mostly inserts, some removals and replacements.
fn batch(number: u64, keys: bool) -> Vec<Change> {
    let changes = batch_by_id(number).into_iter();
    changes
        .map(|change| if keys { with_key(change) } else { change })
        .collect()
}

fn batch_by_id(number: u64) -> Vec<Change> {
    let mut sequence = SplitMix(number);
    let size = 1 + sequence.below(300);
    let mut changes = Vec::new();
    for place in 0..size {
        let fingerprint = Fingerprint::from_bits(sequence.next() & !(0xff << (8 * (place % 8))));
        let id = DocId(number << 16 | place);
        let older = DocId(number.saturating_sub(1 + sequence.below(3)) << 16 | sequence.below(300));
        let text = (place % 3 == 0).then(|| format!("document {place} of batch {number}"));
        let reliable = place % 7 != 0;
        let document = Document {
            reliable,
            text,
            ..Document::new(id, fingerprint)
        };
        changes.push(match sequence.below(10) {
            0 => Change::Remove(older),
            1 => Change::Upsert(Document {
                id: older,
                ..document
            }),
            2 => Change::InsertUnique {
                document,
                radius: 3,
            },
            _ => Change::Insert(document),
        });
    }
    changes
}

#[test]
#[ignore = "runs in a process of its own, which a test kills"]
fn child_applies_batches_until_it_is_killed() {
    let Some((path, first)) = child_task() else {
        return;
    };
    let keys = path.ends_with("keys.simdb");
    let builder = builder().keep_texts(true).keys(keys).fields(keys);
    let database = builder.open_or_create(path).unwrap();
    for number in first.. {
        database.apply(batch(number, keys)).unwrap();
        report(number);
    }
}

#[test]
fn acknowledged_batches_survive_kill_and_batch_in_flight_is_atomic() {
    for (seed, kills) in kill_rounds(DEFAULT_KILLS) {
        kill_batch_writers(2024 + seed, kills, "docs.simdb");
    }
}

#[test]
fn acknowledged_keys_and_fields_survive_kill() {
    for (seed, kills) in kill_rounds(DEFAULT_KILLS) {
        kill_batch_writers(2025 + seed, kills, "keys.simdb");
    }
}

fn kill_batch_writers(seed: u64, kills: u64, name: &str) {
    let folder = folder();
    let path = folder.path().join(name);
    let keys = path.ends_with("keys.simdb");
    let mut sequence = SplitMix(seed);
    let mut model = Model {
        keeps_texts: true,
        keeps_fields: keys,
        ..Model::default()
    };
    let mut next = 1;
    let (mut in_flight_whole, mut in_flight_absent) = (0, 0);
    let mut reopened = Vec::new();
    for _ in 0..kills {
        let mut child = spawn(
            "durability::child_applies_batches_until_it_is_killed",
            &path,
            next,
        );
        let mut acknowledged = reports(&mut child);
        let mut last = None;
        // Kill at a random moment: during startup and recovery, or within a later batch.
        for _ in 0..sequence.below(6) {
            last = acknowledged.next();
        }
        std::thread::sleep(Duration::from_micros(sequence.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        last = acknowledged.last().or(last);

        // A report is written after `apply` returns, so these batches must survive.
        while last.is_some_and(|last| next <= last) {
            model.apply_all(batch(next, keys));
            next += 1;
        }
        if last.is_none() && !path.exists() {
            continue;
        }
        let started = Instant::now();
        let mut database = builder().open(&path).unwrap();
        let stored = database.snapshot().unwrap();
        reopened.push(started.elapsed());
        let mut with_next = model.clone();
        with_next.apply_all(batch(next, keys));
        // Each batch inserts other documents, so its first document identifies the last batch.
        let is_whole = stored
            .documents()
            .map(Result::unwrap)
            .eq(with_next.documents.values().cloned());
        if is_whole && with_next != model {
            in_flight_whole += 1;
            model = with_next;
            next += 1;
        } else {
            in_flight_absent += 1;
        }
        assert_holds(&stored, &model);
        drop(stored);
        assert_sound(&mut database);
    }
    assert!(
        next >= kills,
        "the processes were killed before they did anything"
    );
    assert!(
        in_flight_absent > 0 || kills < DEFAULT_KILLS,
        "{in_flight_whole} whole"
    );
    assert_opened_soon(reopened);
}

/// A batch of copies of three stories, and of new stories. Each copy has an id of its own.
fn batch_of_copies(number: u64) -> Vec<Change> {
    let mut sequence = SplitMix(number);
    let change = |place| {
        let story = match sequence.below(4) {
            0 => number << 16 | place,
            story => story,
        };
        Change::InsertUnique {
            document: document(number << 16 | place, SplitMix(story).next())
                .with_arrival(1_700_000_000_000 + number),
            radius: 3,
        }
    };
    (0..1 + number % 40).map(change).collect()
}

#[test]
#[ignore = "runs in a process of its own, which a test kills"]
fn child_refuses_copies_until_it_is_killed() {
    let Some((path, first)) = child_task() else {
        return;
    };
    let builder = builder().copies(4).merge_after_changes(200);
    let database = builder.open_or_create(path).unwrap();
    for number in first.. {
        database.apply(batch_of_copies(number)).unwrap();
        report(number);
    }
}

/// Processes that are killed while they refuse copies, by default.
const DEFAULT_COPY_KILLS: u64 = 10;

#[test]
fn count_of_copies_equals_acknowledged_refusals_after_kill() {
    for (seed, kills) in kill_rounds(DEFAULT_COPY_KILLS) {
        kill_refusing_writers(2026 + seed, kills);
    }
}

fn kill_refusing_writers(seed: u64, kills: u64) {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut sequence = SplitMix(seed);
    let (mut model, mut next) = (Model::default(), 1);
    // The number of refusals and the last refused document by the document that is repeated.
    let mut counts = BTreeMap::<DocId, (u64, DocId)>::new();
    let apply = |model: &mut Model, counts: &mut BTreeMap<_, _>, number| {
        for change in batch_of_copies(number) {
            let DocRef::Id(id) = change.doc_ref() else {
                unreachable!("no key was given")
            };
            if let Outcome::Duplicate(of) = model.apply(change) {
                let (count, last) = counts.entry(of.id).or_insert((0, id));
                (*count, *last) = (*count + 1, id);
            }
        }
    };
    for _ in 0..kills {
        let function = "durability::child_refuses_copies_until_it_is_killed";
        let mut child = spawn(function, &path, next);
        let mut acknowledged = reports(&mut child);
        let mut last = None;
        for _ in 0..sequence.below(40) {
            last = acknowledged.next();
        }
        std::thread::sleep(Duration::from_micros(sequence.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        last = acknowledged.last().or(last);
        while last.is_some_and(|last| next <= last) {
            apply(&mut model, &mut counts, next);
            next += 1;
        }
        if last.is_none() && !path.exists() {
            continue;
        }
        let mut database = builder().open(&path).unwrap();
        let snapshot = database.snapshot().unwrap();
        let stored: BTreeMap<_, _> = snapshot
            .most_copied(usize::MAX, None)
            .unwrap()
            .into_iter()
            .map(|(id, copies)| {
                let DocRef::Id(last) = copies.newest[0].document else {
                    panic!("a copy has a key");
                };
                (id, (copies.count, last))
            })
            .collect();
        // The batch in flight is there whole, or not at all.
        let (mut with_next, mut next_counts) = (model.clone(), counts.clone());
        apply(&mut with_next, &mut next_counts, next);
        if stored != counts {
            assert_eq!(stored, next_counts, "after batch {}", next - 1);
            (model, counts, next) = (with_next, next_counts, next + 1);
        } else if snapshot.len().unwrap() == with_next.documents.len() as u64 && with_next != model
        {
            (model, counts, next) = (with_next, next_counts, next + 1);
        }
        assert_eq!(snapshot.len().unwrap(), model.documents.len() as u64);
        drop(snapshot);
        assert_sound(&mut database);
    }
    let refusals: u64 = counts.values().map(|(count, _)| count).sum();
    assert!(refusals > 10 * kills, "only {refusals} copies were refused");
}

/// Asserts a short median: on a busy machine the maximum is noise. Thousands of parallel kills say
/// nothing about time.
fn assert_opened_soon(mut reopened: Vec<Duration>) {
    reopened.sort_unstable();
    if std::env::var_os("SIMDB_TEST_KILLS").is_none() {
        let median = reopened[reopened.len() / 2];
        assert!(
            median < REOPEN_LIMIT,
            "opening after a kill took {median:?}"
        );
    }
}

/// Documents of each killed bulk load.
const LOADED: u64 = 100_000;

#[test]
#[ignore = "runs in a process of its own, which a test kills"]
fn child_loads_in_bulk() {
    let Some((path, _)) = child_task() else {
        return;
    };
    let load_all = |mut load: simdb::bulk::BulkLoad<'_>| {
        documents(9, 1_000, LOADED)
            .into_iter()
            .for_each(|document| load.push(document).unwrap());
        load.finish(|_| ControlFlow::Continue(())).unwrap();
    };
    report(0);
    if path.exists() {
        load_all(
            builder()
                .open(&path)
                .unwrap()
                .bulk_load(MEMORY_BYTES)
                .unwrap(),
        );
    } else {
        load_all(builder().bulk_create(&path, MEMORY_BYTES).unwrap());
    }
    report(1);
}

/// Runs a bulk load to its end once, then kills others at seeded moments within that time. Before
/// each load `prepare` sets up the folder; afterwards `verify` inspects the folder, its argument
/// is `true` if the load was acknowledged.
fn kill_bulk_loads(prepare: impl Fn(&Path), mut verify: impl FnMut(&Path, bool)) {
    let mut sequence = SplitMix(7);
    let mut whole = Duration::ZERO;
    for round in 0..=kills(USUAL_LOADS) {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        prepare(&path);
        let mut child = spawn("durability::child_loads_in_bulk", &path, 0);
        let mut reports = reports(&mut child);
        assert_eq!(reports.next(), Some(0));
        let started = Instant::now();
        if round > 0 {
            std::thread::sleep(whole.mul_f64(sequence.below(1_000) as f64 / 1_000.0));
            child.kill().unwrap();
        }
        let acknowledged = reports.last() == Some(1);
        child.wait().unwrap();
        if round == 0 {
            assert!(acknowledged);
            whole = started.elapsed();
        }
        verify(&path, acknowledged);
    }
}

#[test]
fn killed_bulk_load_leaves_no_database_or_a_whole_one() {
    let model = Model::new(documents(9, 1_000, LOADED), false);
    let mut absent = 0;
    // A killed process may leave a file under a temporary name.
    kill_bulk_loads(
        |_| {},
        |path, acknowledged| {
            if !path.exists() {
                assert!(!acknowledged);
                absent += 1;
                return;
            }
            let mut database = builder().open(path).unwrap();
            assert_holds(&database.snapshot().unwrap(), &model);
            assert_sound(&mut database);
        },
    );
    assert!(absent > 0 || kills(USUAL_LOADS) < USUAL_LOADS);
}

#[test]
fn killed_bulk_load_leaves_old_or_new_database_whole() {
    let old = documents(1, 0, 1_000);
    let old_model = Model::new(old.clone(), false);
    let new_model = Model::new([old.clone(), documents(9, 1_000, LOADED)].concat(), false);
    let (mut unchanged, mut reopened) = (0, Vec::new());
    kill_bulk_loads(
        |path| {
            builder()
                .create(path)
                .unwrap()
                .apply(inserts(&old))
                .unwrap();
        },
        |path, acknowledged| {
            let started = Instant::now();
            let mut database = builder().open(path).unwrap();
            let stored = database.snapshot().unwrap();
            reopened.push(started.elapsed());
            if stored.len().unwrap() == old.len() as u64 {
                assert!(!acknowledged);
                unchanged += 1;
                assert_holds(&stored, &old_model);
            } else {
                assert_holds(&stored, &new_model);
            }
            drop(stored);
            assert_sound(&mut database);
        },
    );
    assert!(unchanged > 0 || kills(USUAL_LOADS) < USUAL_LOADS);
    assert_opened_soon(reopened);
}

// ---- cut files ----

/// Returns `true` if the error reports damage or an incomplete file.
fn reports_damage(error: &Error) -> bool {
    matches!(error, Error::Corrupt { .. } | Error::NotADatabase { .. })
}

/// Reads the whole database and compares it with the model. Panics are not errors.
fn read_all(path: &Path, model: &Model) -> Result<(), Error> {
    for read_only in [true, false] {
        let opened = if read_only {
            builder().open_read_only(path)
        } else {
            builder().open(path)
        };
        let database = match (opened, read_only) {
            (Ok(database), _) => database,
            // A read-only handle may not repair the file; a writer may.
            (Err(error), true) => {
                assert!(reports_damage(&error), "{error:?}");
                continue;
            }
            (Err(error), false) => return Err(error),
        };
        let snapshot = database.snapshot()?;
        let stored: Vec<Document> = snapshot.documents().collect::<Result<_, _>>()?;
        assert!(stored.iter().eq(model.documents.values()), "{stored:?}");
        assert_eq!(snapshot.len().unwrap(), model.documents.len() as u64);
        for document in model.documents.values().step_by(50) {
            for radius in [0, 3, 20] {
                let found = snapshot.within(document.fingerprint, radius)?;
                assert_eq!(found, model.within(document.fingerprint, radius));
            }
        }
    }
    Ok(())
}

#[test]
fn cut_file_gives_error_or_right_answer() {
    let folder = folder();
    let (path, cut) = (
        folder.path().join("docs.simdb"),
        folder.path().join("cut.simdb"),
    );
    let database = builder().keep_texts(true).create(&path).unwrap();
    let mut documents = documents(1, 0, 1_500);
    for (place, document) in documents.iter_mut().enumerate() {
        document.reliable = place % 10 != 0;
        document.text = (place % 20 == 1).then(|| format!("text {place}").repeat(place));
    }
    for batch in documents.chunks(500) {
        database.apply(inserts(batch)).unwrap();
    }
    // One file after a clean close, and two after a crash, with and without changes in the journal.
    // The journal beside the cut file is intact.
    let unmerged = std::fs::read(&path).unwrap();
    std::fs::copy(journal(&path, 1), journal(&cut, 1)).unwrap();
    database.merge().unwrap();
    let unclosed = std::fs::read(&path).unwrap();
    drop(database);
    let closed = std::fs::read(&path).unwrap();
    let model = Model::new(documents, true);
    let mut sequence = SplitMix(5);
    let mut total_refused = 0;
    let files = [(unmerged, false), (closed, true), (unclosed, false)];
    for (bytes, was_closed) in files {
        let sound_journal = std::fs::read(journal(&cut, 1)).unwrap();
        let pages = (0..bytes.len()).step_by(4096);
        let seeded = (0..100).map(|_| sequence.below(bytes.len() as u64) as usize);
        let tiny = [1, 8, 63, 64, 128, 320, 511, 512];
        let (mut refused, mut answered) = (0, 0);
        for length in pages.chain(seeded).chain(tiny) {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            std::fs::write(journal(&cut, 1), &sound_journal).unwrap();
            match caught(|| read_all(&cut, &model)) {
                Ok(Ok(())) => answered += 1,
                Ok(Err(error)) => {
                    refused += 1;
                    assert!(reports_damage(&error), "{length} bytes: {error:?}");
                }
                Err(place) => panic!("{length} bytes: panic at {place}"),
            }
        }
        assert!(refused > 0, "{refused} refused");
        total_refused += refused;
        // A file that was never closed may end in free pages.
        assert!(answered == 0 || !was_closed, "{answered} answered");
    }
    assert!(total_refused > 300, "{total_refused} refused");
}
