//! A reader sees one commit as a whole while a writer works. Of concurrent near-duplicates one is
//! stored. One process writes at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::ScopedJoinHandle;

use simdb::error::LockHolder;
use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Outcome, Snapshot};
use test_support::timing::{SetWhenDropped, wait_until};
use test_support::{
    Model, SplitMix, assert_holds, assert_sound, builder, document, documents, folder, planted,
};

#[test]
fn handles_and_snapshots_are_send_and_sync() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Database>();
    is_send_and_sync::<Snapshot>();
    is_send_and_sync::<Error>();
}

/// Documents of one batch: ids from `batch * SIZE`, in a cluster of fingerprints of their own.
const SIZE: u64 = 50;
/// Batches stored at a time: each new batch removes the oldest one.
const KEPT: u64 = 4;

fn cluster(batch: u64) -> Fingerprint {
    Fingerprint::from_bits(SplitMix(batch).next())
}

#[test]
fn reader_sees_each_batch_whole_during_writes() {
    const BATCHES: u64 = 120;
    let folder = folder();
    let mut database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let written = AtomicU64::new(0);
    let (looks, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ended = SetWhenDropped(&done);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut last_newest = 0;
                    while !done.load(Ordering::Acquire) {
                        let before = written.load(Ordering::Acquire);
                        let snapshot = database.snapshot().unwrap();
                        let ids: Vec<u64> = snapshot
                            .documents()
                            .map(|found| found.unwrap().id.0)
                            .collect();
                        assert_eq!(snapshot.len().unwrap(), ids.len() as u64);
                        let Some(last) = ids.last() else { continue };
                        let newest = last / SIZE;
                        // Every acknowledged batch is visible, and no snapshot is older than the
                        // previous one.
                        assert!(newest >= before && newest >= last_newest);
                        last_newest = newest;
                        let oldest = newest.saturating_sub(KEPT - 1).max(1);
                        let expected: Vec<u64> = (oldest * SIZE..(newest + 1) * SIZE).collect();
                        assert_eq!(ids, expected);
                        // The block tables belong to the same commit.
                        for batch in oldest.saturating_sub(1).max(1)..=newest + 1 {
                            let found = snapshot.within(cluster(batch), 3).unwrap();
                            let stored = (oldest..=newest).contains(&batch);
                            assert_eq!(found.len() as u64, if stored { SIZE } else { 0 });
                        }
                        looks.fetch_add(1, Ordering::Release);
                    }
                })
            })
            .collect();
        for batch in 1..=BATCHES {
            let mut sequence = SplitMix(batch);
            let inserts = (batch * SIZE..(batch + 1) * SIZE).map(|id| {
                let fingerprint = planted(&mut sequence, cluster(batch), 1 + id as u32 % 3);
                Change::Insert(document(id, fingerprint.bits()))
            });
            let expired = batch.saturating_sub(KEPT);
            let removals =
                (expired * SIZE..(expired + 1) * SIZE).map(|id| Change::Remove(DocId(id)));
            database.apply(inserts.chain(removals)).unwrap();
            written.store(batch, Ordering::Release);
            wait_for_looks(&looks, batch / 4, &readers);
        }
    });
    assert_eq!(database.len().unwrap(), KEPT * SIZE);
    assert_sound(&mut database);
}

/// Lets the writer wait, so that readers query between its commits.
fn wait_for_looks(looks: &AtomicU64, wanted: u64, readers: &[ScopedJoinHandle<'_, ()>]) {
    wait_until(|| {
        let has_failed = readers.iter().any(ScopedJoinHandle::is_finished);
        looks.load(Ordering::Acquire) >= wanted || has_failed
    });
}

/// Old and new snapshots query the same few keys while every commit changes some of them: a bucket
/// cached for one snapshot must not appear in the answer of another.
#[test]
fn snapshot_answers_as_of_its_commit() {
    const BATCHES: u64 = 300;
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let mut sequence = SplitMix(21);
    let centres: Vec<Fingerprint> = (0..4)
        .map(|_| Fingerprint::from_bits(sequence.next()))
        .collect();
    // Many documents far away make key lookups cheaper than a scan. The models leave them out.
    let others = documents(22, 1_000, 10_000);
    let is_far = |other: &Fingerprint| centres.iter().all(|near| near.distance(*other) > 9);
    assert!(others.iter().all(|other| is_far(&other.fingerprint)));
    database
        .apply(others.into_iter().map(Change::Insert))
        .unwrap();
    // The fingerprint of document 0 identifies the commit.
    let models = Mutex::new(Vec::new());
    let (looks, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ended = SetWhenDropped(&done);
        let readers: Vec<_> = (0..3)
            .map(|reader| {
                let (database, models, centres) = (&database, &models, &centres);
                let (looks, done) = (&looks, &done);
                scope.spawn(move || {
                    let mut sequence = SplitMix(100 + reader);
                    let mut snapshots = Vec::new();
                    while !done.load(Ordering::Acquire) {
                        snapshots.push(database.snapshot().unwrap());
                        if snapshots.len() > 6 {
                            snapshots.swap_remove(sequence.below(6) as usize);
                        }
                        for snapshot in &snapshots {
                            let Some(commit) = snapshot.get(DocId(0)).unwrap() else {
                                continue;
                            };
                            let commit = commit.fingerprint.bits() as usize;
                            let model: Model = models.lock().unwrap().get(commit).cloned().unwrap();
                            let centre = centres[sequence.below(4) as usize];
                            let query = planted(&mut sequence, centre, 1);
                            let expected = model.within(query, 3);
                            assert_eq!(snapshot.within(query, 3).unwrap(), expected);
                            let batch = snapshot.within_batch(&[query, query], 3).unwrap();
                            assert_eq!(batch, [expected.clone(), expected]);
                            looks.fetch_add(1, Ordering::Release);
                        }
                    }
                })
            })
            .collect();
        let mut model = Model::default();
        for batch in 0..BATCHES {
            let mut changes = vec![Change::Upsert(document(0, batch))];
            for _ in 0..sequence.below(6) {
                let id = 1 + sequence.below(40);
                let centre = centres[sequence.below(4) as usize];
                let near = planted(&mut sequence, centre, 2);
                changes.push(match sequence.below(3) {
                    0 => Change::Remove(DocId(id)),
                    1 => Change::Upsert(document(id, centre.bits())),
                    _ => Change::Upsert(document(id, near.bits())),
                });
            }
            model.apply_all(changes.clone());
            models.lock().unwrap().push(model.clone());
            database.apply(changes).unwrap();
            wait_for_looks(&looks, batch + 1, &readers);
        }
    });
}

#[test]
fn concurrent_near_duplicates_store_one_and_report_its_id() {
    const THREADS: u64 = 8;
    const GROUPS: u64 = 25;
    let folder = folder();
    let mut database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let start = Barrier::new(THREADS as usize);
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (database, start, answers) = (&database, &start, &answers);
            scope.spawn(move || {
                let mut sequence = SplitMix(thread);
                start.wait();
                for group in 0..GROUPS {
                    let id = DocId(group << 32 | thread);
                    // Any two documents of a group differ in at most two bits.
                    let fingerprint = planted(&mut sequence, cluster(group), 1);
                    let answer = database
                        .insert_unique(Document::new(id, fingerprint), 3)
                        .unwrap();
                    answers.lock().unwrap().push((group, id, answer));
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    assert_eq!(database.len().unwrap(), GROUPS);
    for group in 0..GROUPS {
        let answers: Vec<_> = answers.iter().filter(|(of, ..)| *of == group).collect();
        let stored = database.within(cluster(group), 1).unwrap();
        let &[winner] = stored.as_slice() else {
            panic!("{stored:?}")
        };
        for (_, id, answer) in answers {
            match answer {
                Outcome::Inserted { .. } => assert_eq!(*id, winner.id),
                Outcome::Duplicate(of) => {
                    assert_eq!((of.id, of.fingerprint), (winner.id, winner.fingerprint))
                }
                other => panic!("{other}"),
            }
        }
    }
    assert_sound(&mut database);
}

#[test]
fn concurrent_writers_lose_no_change() {
    let folder = folder();
    let mut database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let all = documents(1, 0, 2_000);
    std::thread::scope(|scope| {
        for part in all.chunks(500) {
            let database = &database;
            scope.spawn(move || {
                for batch in part.chunks(20) {
                    let outcomes = database
                        .apply(batch.iter().cloned().map(Change::Insert))
                        .unwrap();
                    assert!(outcomes.iter().all(|outcome| outcome.is_inserted()));
                }
            });
        }
    });
    assert_holds(&database.snapshot().unwrap(), &Model::new(all, false));
    assert_sound(&mut database);
}

#[test]
fn snapshot_is_immutable() {
    let folder = folder();
    let mut database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let first = documents(1, 0, 2_000);
    database
        .apply(first.iter().cloned().map(Change::Insert))
        .unwrap();
    let snapshot = database.snapshot().unwrap();
    let model = Model::new(first, false);
    for round in 0..20 {
        let removals = (round * 100..(round + 1) * 100).map(|id| Change::Remove(DocId(id)));
        let inserts = documents(round + 2, 10_000 + round * 100, 100)
            .into_iter()
            .map(Change::Insert);
        database.apply(removals.chain(inserts)).unwrap();
        assert_holds(&snapshot, &model);
    }
    for document in model.documents.values().step_by(100) {
        let (id, fingerprint) = (document.id, document.fingerprint);
        assert_eq!(snapshot.get(id).unwrap().as_ref(), Some(document));
        assert_eq!(
            snapshot.within(fingerprint, 3).unwrap(),
            model.within(fingerprint, 3)
        );
        assert_eq!(database.get(id).unwrap(), None);
        assert_eq!(database.within(fingerprint, 0).unwrap(), []);
    }
    drop(snapshot);
    assert_sound(&mut database);
}

#[test]
fn check_is_refused_while_a_snapshot_exists() {
    let folder = folder();
    let mut database = builder().create(folder.path().join("docs.simdb")).unwrap();
    test_support::insert(&database, document(1, 1));
    let snapshot = database.snapshot().unwrap();
    let refused = database.check().unwrap_err();
    assert!(matches!(refused, Error::SnapshotHeld { .. }), "{refused:?}");
    assert_eq!(snapshot.len().unwrap(), 1);
    drop(snapshot);
    assert_sound(&mut database);
    test_support::insert(&database, document(2, 2));
}

#[test]
fn snapshot_outlives_its_handle() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let stored = documents(1, 0, 500);
    database
        .apply(stored.iter().cloned().map(Change::Insert))
        .unwrap();
    let snapshot = database.snapshot().unwrap();
    drop(database);
    assert_holds(&snapshot, &Model::new(stored, false));
    drop(snapshot);
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 500);
}

// ---- locks ----

fn assert_locked(opened: Result<Database, Error>, expected: &PathBuf, by: LockHolder) {
    let refused = opened.unwrap_err();
    assert!(
        matches!(&refused, Error::Locked { path, holder } if path == expected && *holder == by),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("docs.simdb"), "{refused}");
}

#[test]
fn second_writing_handle_is_refused_until_first_is_dropped() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    test_support::insert(&database, document(1, 1));
    assert_locked(builder().open(&path), &path, LockHolder::Database);
    assert_locked(builder().open_read_only(&path), &path, LockHolder::Database);
    assert_locked(builder().open_or_create(&path), &path, LockHolder::Database);
    let refused = Database::vacuum(&path).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused:?}");
    test_support::insert(&database, document(2, 2));
    drop(database);
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 2);
}

#[test]
fn read_only_handles_share_file_and_exclude_writers() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    test_support::insert(&builder().create(&path).unwrap(), document(1, 1));
    let readers: Vec<Database> = (0..3)
        .map(|_| builder().open_read_only(&path).unwrap())
        .collect();
    for reader in &readers {
        assert_eq!(reader.len().unwrap(), 1);
    }
    assert_locked(builder().open(&path), &path, LockHolder::ReadOnlyDatabase);
    drop(readers);
    test_support::insert(&builder().open(&path).unwrap(), document(2, 2));
}

const CHILD_PATH: &str = "SIMDB_TEST_CHILD_PATH";

#[test]
#[ignore = "runs in a process of its own, started by a test"]
fn child_holds_the_database_until_its_input_ends() {
    let Some(path) = std::env::var_os(CHILD_PATH) else {
        return;
    };
    let database = builder().open(path).unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out, "opened {}", database.len().unwrap()).unwrap();
    out.flush().unwrap();
    std::io::stdin()
        .lines()
        .for_each(|line| drop(line.unwrap()));
}

#[test]
fn other_process_holds_lock_until_it_ends() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    drop(builder().create(&path).unwrap());
    for is_killed in [false, true] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "isolation::child_holds_the_database_until_its_input_ends",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(CHILD_PATH, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("opened 0")));
        let holder = if cfg!(target_os = "linux") {
            LockHolder::Process(child.id())
        } else {
            LockHolder::AnotherProcess
        };
        assert_locked(builder().open(&path), &path, holder);
        assert_locked(builder().open_read_only(&path), &path, holder);
        if is_killed {
            child.kill().unwrap();
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(builder().open(&path).unwrap().len().unwrap(), 0);
    }
}
