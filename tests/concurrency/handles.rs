//! Closing, checking and locking a database that threads, snapshots and transactions share.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use simdb::error::LockHolder;
use simdb::{Builder, Change, Database, DocId, Document, Error, Fingerprint, Timestamp};
use test_support::timing::wait_until;
use test_support::{builder, document, documents, folder, names_in, window};

fn insert(id: u64) -> Change {
    Change::Insert(document(id, id))
}

// ---- close ----

#[test]
fn close_beside_snapshots_says_how_many_and_succeeds_after_their_drop() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    database.apply([insert(1)]).unwrap();
    let snapshots = [database.snapshot().unwrap(), database.snapshot().unwrap()];
    let held = database.close();
    assert!(
        matches!(&held, Err(Error::SnapshotHeld { path: named, snapshots: 2 }) if *named == path),
        "{held:?}"
    );
    // Everything is written, and the snapshots still answer.
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    assert_eq!(snapshots[0].len().unwrap(), 1);
    let refused = database.get(DocId(1));
    assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
    let [first, second] = snapshots;
    drop(first);
    let held = database.close();
    assert!(
        matches!(held, Err(Error::SnapshotHeld { snapshots: 1, .. })),
        "{held:?}"
    );
    drop(second);
    database.close().unwrap();
    let again = database.close();
    assert!(matches!(again, Err(Error::Closed { .. })), "{again:?}");
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 1);
}

#[test]
fn close_beside_a_running_close_is_refused() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let transaction = database.begin().unwrap();
    std::thread::scope(|scope| {
        // Waits for the transaction.
        let first = scope.spawn(|| database.close());
        wait_until(|| matches!(database.len(), Err(Error::Closed { .. })));
        let second = database.close();
        assert!(matches!(second, Err(Error::Closed { .. })), "{second:?}");
        drop(transaction);
        first.join().unwrap().unwrap();
    });
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 0);
}

#[test]
fn first_change_that_meets_a_close_is_refused_and_leaves_the_file_unlocked() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    // The changes are taken after the call has begun.
    let refused = database.apply(std::iter::once_with(|| {
        let closed = database.close();
        assert!(
            matches!(closed, Ok(()) | Err(Error::SnapshotHeld { .. })),
            "{closed:?}"
        );
        insert(1)
    }));
    assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
    assert_eq!(builder().open(&path).unwrap().len().unwrap(), 0);
}

#[test]
fn closed_database_refuses_every_call() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    database.apply([insert(1)]).unwrap();
    database.close().unwrap();
    let refused = [
        database.get(DocId(1)).err(),
        database.contains(DocId(1)).err(),
        database.within(Fingerprint::from_bits(1), 3).err(),
        database.len().err(),
        database.snapshot().err(),
        database.apply([insert(2)]).err(),
        database.submit([insert(2)]).err(),
        database.flush().err(),
        database.merge().err(),
        database.prune(Timestamp(0)).err(),
        database.begin().err(),
        database.bulk_load(16 << 20).err(),
        database.check().err(),
        database.backup(folder.path().join("copy.simdb")).err(),
        database.close().err(),
    ];
    for (call, refused) in refused.into_iter().enumerate() {
        assert!(
            matches!(refused, Some(Error::Closed { .. })),
            "{call}: {refused:?}"
        );
    }
    // The file is released although the handle lives.
    let next = builder().open(&path).unwrap();
    drop(database);
    assert_eq!(next.len().unwrap(), 1);
}

#[test]
fn close_of_a_shared_database_loses_no_acknowledged_change() {
    const THREADS: u64 = 4;
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    for round in 0..5 {
        let database = Arc::new(builder().open_or_create(&path).unwrap());
        let before = database.len().unwrap();
        let made = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (database, made) = (Arc::clone(&database), Arc::clone(&made));
                std::thread::spawn(move || {
                    for id in (round * THREADS + thread) << 32.. {
                        match database.apply([insert(id)]) {
                            Ok(_) => made.fetch_add(1, Ordering::Relaxed),
                            Err(Error::Closed { .. }) => return,
                            Err(error) => panic!("{error:?}"),
                        };
                        match database.within(Fingerprint::from_bits(id), 1) {
                            Ok(found) => assert!(!found.is_empty()),
                            Err(Error::Closed { .. }) => return,
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                })
            })
            .collect();
        wait_until(|| made.load(Ordering::Relaxed) > 20);
        database.close().unwrap();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        let stored = builder().open(&path).unwrap().len().unwrap();
        assert_eq!(stored, before + made.load(Ordering::Relaxed));
    }
}

// ---- check ----

#[test]
fn check_of_a_shared_database_runs_beside_writers_and_readers() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let database = Arc::new(database);
    let is_done = Arc::new(AtomicBool::new(false));
    let made = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            let (database, is_done) = (Arc::clone(&database), Arc::clone(&is_done));
            let made = Arc::clone(&made);
            std::thread::spawn(move || {
                for id in thread << 32.. {
                    if is_done.load(Ordering::Relaxed) {
                        return;
                    }
                    database.apply([insert(id)]).unwrap();
                    assert!(database.contains(DocId(id)).unwrap());
                    made.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 1..=5 {
        wait_until(|| made.load(Ordering::Relaxed) > round * 10);
        assert_eq!(database.check().unwrap(), Vec::<String>::new());
    }
    is_done.store(true, Ordering::Relaxed);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(database.len().unwrap(), made.load(Ordering::Relaxed));
}

// ---- the holder of a lock ----

#[track_caller]
fn assert_locked_by(path: &Path, holder: LockHolder, advice: &str) {
    let refused = builder().open(path).unwrap_err();
    assert!(
        matches!(refused, Error::Locked { holder: named, .. } if named == holder),
        "{refused:?}"
    );
    let text = refused.to_string();
    assert!(
        text.contains("docs.simdb") && text.contains(advice),
        "{text}"
    );
}

#[test]
fn refused_lock_names_the_kind_of_handle_that_holds_the_file() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    database.apply([insert(1)]).unwrap();
    assert_locked_by(
        &path,
        LockHolder::Database,
        "this process has it open already",
    );
    let load = database.bulk_load(16 << 20).unwrap();
    assert_locked_by(&path, LockHolder::BulkLoad, "bulk load");
    drop(load);
    assert_locked_by(&path, LockHolder::Database, "share that Database");
    let snapshot = database.snapshot().unwrap();
    drop(database);
    assert_locked_by(&path, LockHolder::Snapshot, "drop the snapshot");
    drop(snapshot);
    let database = builder().open_read_only(&path).unwrap();
    assert_locked_by(&path, LockHolder::ReadOnlyDatabase, "reading only");
    drop(database);
    let tried = |holder| -> Builder {
        let path = path.clone();
        builder().on_progress(move |_| {
            assert_locked_by(&path, holder, "of this process");
            ControlFlow::Continue(())
        })
    };
    tried(LockHolder::Vacuum).vacuum(&path).unwrap();
    let saved = folder.path().join("saved.simdb");
    tried(LockHolder::Salvage)
        .salvage(&path, saved, 16 << 20)
        .unwrap();
    drop(builder().open(&path).unwrap());
}

// ---- a thread that would wait for itself ----

#[track_caller]
fn assert_open<T>(refused: Result<T, Error>) {
    match refused {
        Err(error @ Error::TransactionOpen { .. }) => {
            assert!(error.to_string().contains("docs.simdb"), "{error}");
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn thread_with_a_transaction_gets_an_error_instead_of_waiting_for_itself() {
    let folder = folder();
    let retention = window(Duration::from_secs(3600));
    let database = builder().retention(retention);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let mut transaction = database.begin().unwrap();
    transaction.apply([insert(1)]).unwrap();
    assert_open(database.insert(Document::new(2, Fingerprint::from_bits(2))));
    assert_open(database.begin());
    assert_open(database.flush());
    assert_open(database.merge());
    assert_open(database.prune(Timestamp(0)));
    assert_open(database.bulk_load(16 << 20));
    assert_open(database.check());
    assert_open(database.close());
    // Submitted changes wait for the transaction. To wait for the changes would be a deadlock.
    let waiting = database.submit([insert(3)]).unwrap();
    assert_open(database.submit([insert(4)]).unwrap().wait());
    assert!(database.is_empty().unwrap());
    transaction.commit().unwrap();
    assert_eq!(waiting.wait().unwrap(), [test_support::INSERTED]);
    test_support::insert(&database, Document::new(2, Fingerprint::from_bits(2)));
    let ids = |database: &Database| -> Vec<u64> {
        let snapshot = database.snapshot().unwrap();
        snapshot
            .documents()
            .map(|found| found.unwrap().id.0)
            .collect()
    };
    assert_eq!(ids(&database), [1, 2, 3]);

    let mut load = database.bulk_load(16 << 20).unwrap();
    load.push(document(5, 5)).unwrap();
    assert_open(database.insert(Document::new(6, Fingerprint::from_bits(6))));
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    test_support::insert(&database, Document::new(6, Fingerprint::from_bits(6)));
    assert_eq!(ids(&database), [1, 2, 3, 5, 6]);
}

#[test]
fn submit_to_a_full_queue_in_the_thread_of_a_transaction_is_an_error() {
    let folder = folder();
    let database = builder().queue_changes(10);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let transaction = database.begin().unwrap();
    let mut submitted = Vec::new();
    let refused = loop {
        match database.submit((0..5).map(|id| insert(submitted.len() as u64 * 5 + id))) {
            Ok(ticket) => submitted.push(ticket),
            Err(error) => break error,
        }
    };
    assert_open(Err::<(), _>(refused));
    assert_eq!(submitted.len(), 2);
    let refused = database.try_submit([insert(99)]);
    assert!(
        matches!(refused, Err(Error::QueueFull { .. })),
        "{refused:?}"
    );
    drop(transaction);
    for ticket in submitted {
        assert_eq!(ticket.wait().unwrap(), [test_support::INSERTED; 5]);
    }
}

#[test]
fn queue_takes_the_bytes_of_texts_that_the_builder_sets() {
    let folder = folder();
    let database = builder().keep_texts(true).queue_bytes(1_000);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let with_text = |id| Document {
        text: Some("a".repeat(600)),
        ..document(id, id)
    };
    let transaction = database.begin().unwrap();
    let first = database.try_submit([Change::Insert(with_text(1))]).unwrap();
    let refused = database.try_submit([Change::Insert(with_text(2))]);
    assert!(
        matches!(refused, Err(Error::QueueFull { .. })),
        "{refused:?}"
    );
    drop(transaction);
    assert_eq!(first.wait().unwrap(), [test_support::INSERTED]);
    assert_eq!(Builder::DEFAULT_QUEUE_CHANGES, 65_536);
    assert_eq!(Builder::DEFAULT_QUEUE_BYTES, 64 << 20);
}

#[test]
fn transaction_keeps_other_threads_waiting() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let transaction = database.begin().unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| database.begin().unwrap().commit().unwrap());
        std::thread::sleep(Duration::from_millis(20));
        assert!(!other.is_finished());
        transaction.commit().unwrap();
        other.join().unwrap();
    });
}

// ---- the number of documents ----

#[test]
fn len_counts_the_documents_that_can_be_seen() {
    let folder = folder();
    let database = builder().retention(window(Duration::from_millis(100)));
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let stored = documents(1, 0, 4_000).into_iter().map(|document| Document {
        arrival: Some(Timestamp(document.id.0 / 40)),
        ..document
    });
    database.apply(stored.map(Change::Insert)).unwrap();
    database.merge().unwrap();
    // Expires the documents that arrived before 60, some of which are removed with it.
    let last = Document {
        arrival: Some(Timestamp(160)),
        ..document(1 << 20, 5)
    };
    database.apply([Change::Insert(last)]).unwrap();
    let snapshot = database.snapshot().unwrap();
    let seen = snapshot.documents().count() as u64;
    assert_eq!(seen, 1 + 40 * 40);
    assert_eq!(snapshot.len().unwrap(), seen);
    assert_eq!(database.len().unwrap(), seen);
    assert!(snapshot.stored_len() > seen);
    assert!(!snapshot.is_empty().unwrap());
    let edge = 60 * 40;
    for (id, is_seen) in [
        (edge - 1, false),
        (edge, true),
        (1 << 20, true),
        (5_000, false),
    ] {
        assert_eq!(snapshot.contains(DocId(id)).unwrap(), is_seen, "{id}");
        assert_eq!(database.contains(DocId(id)).unwrap(), is_seen, "{id}");
    }
    let from = |first| {
        snapshot
            .documents_from(DocId(first))
            .map(|found| found.unwrap().id.0)
    };
    assert_eq!(from(3_990).count(), 11);
    assert_eq!(from(0).next(), Some(edge));
    assert_eq!(from(4_001).collect::<Vec<_>>(), [1 << 20]);
    assert_eq!(from(u64::MAX).next(), None);
}
