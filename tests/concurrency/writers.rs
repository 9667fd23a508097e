//! Concurrent writers, and changes in the journal that await a flush: answers equal the answers of
//! one order of all changes, an error concerns its own change only, and a flush never shows.
//!
//! `SIMDB_TEST_PAIRS` sets the number of pairs of near-duplicates that threads insert.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Outcome, Timestamp};
use test_support::gate::Gate;
use test_support::timing::{PATIENCE, SetWhenDropped, shortest, timed, wait_until};
use test_support::{
    INSERTED, Model, SplitMix, assert_holds, assert_sound, builder, caught, document, documents,
    folder, names_in, planted,
};

/// Changes that fit the submission queue of a database.
const QUEUE: u64 = 64 << 10;

fn inserts(documents: &[Document]) -> Vec<Change> {
    documents.iter().cloned().map(Change::Insert).collect()
}

// ---- many writers ----

#[test]
fn concurrent_near_duplicates_store_one_of_each_pair() {
    const THREADS: usize = 64;
    let pairs = std::env::var("SIMDB_TEST_PAIRS").map_or(3_000, |pairs| pairs.parse().unwrap());
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut sequence = SplitMix(64);
    let mut all: Vec<Document> = (0..pairs)
        .flat_map(|pair: u64| {
            let one = Fingerprint::from_bits(sequence.next());
            let other = planted(&mut sequence, one, pair as u32 % 4);
            [
                document(2 * pair, one.bits()),
                document(2 * pair + 1, other.bits()),
            ]
        })
        .collect();
    // Shuffled, so that the two documents of a pair mostly come from different threads.
    for place in (1..all.len()).rev() {
        all.swap(place, sequence.below(place as u64 + 1) as usize);
    }
    let database = builder().create(&path).unwrap();
    let start = Barrier::new(THREADS);
    let answers: BTreeMap<u64, Outcome> = std::thread::scope(|scope| {
        let writers: Vec<_> = all
            .chunks(all.len().div_ceil(THREADS))
            .map(|part| {
                let (database, start) = (&database, &start);
                scope.spawn(move || {
                    start.wait();
                    let insert = |document: &Document| {
                        let answer = database.insert_unique(document.clone(), 3);
                        (document.id.0, answer.unwrap())
                    };
                    part.iter().map(insert).collect::<Vec<_>>()
                })
            })
            .collect();
        assert_eq!(writers.len(), THREADS);
        let answers = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap());
        answers.collect()
    });
    let fingerprints: BTreeMap<u64, Fingerprint> = all
        .iter()
        .map(|document| (document.id.0, document.fingerprint))
        .collect();
    let mut model = Model::default();
    for pair in 0..pairs {
        let (one, other) = (2 * pair, 2 * pair + 1);
        // Exactly one is stored, and the refusal of the other names the stored one.
        let (winner, of) = match (&answers[&one], &answers[&other]) {
            (Outcome::Inserted { .. }, Outcome::Duplicate(of)) => (one, of),
            (Outcome::Duplicate(of), Outcome::Inserted { .. }) => (other, of),
            answers => panic!("pair {pair}: {answers:?}"),
        };
        let distance = fingerprints[&one].distance(fingerprints[&other]);
        assert_eq!((of.id, of.distance), (DocId(winner), distance));
        assert_eq!(of.fingerprint, fingerprints[&winner]);
        model = model.with([document(winner, of.fingerprint.bits())]);
    }
    assert_holds(&database.snapshot().unwrap(), &model);
    drop(database);
    let mut database = builder().open(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
    assert_sound(&mut database);
}

#[test]
fn submitted_changes_are_applied_in_order_of_submission() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let mut model = Model::default();
    let mut sequence = SplitMix(3);
    let mut kept = Vec::new();
    for number in 0..500 {
        let id = sequence.below(60);
        let document = document(id, sequence.next());
        let change = match number % 3 {
            0 => Change::Insert(document),
            1 => Change::Upsert(document),
            _ => Change::Remove(DocId(id)),
        };
        let expected = model.apply(change.clone());
        let ticket = database.submit([change]).unwrap();
        if number % 2 == 0 {
            kept.push((ticket, expected));
        }
    }
    database.flush().unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
    for (ticket, expected) in kept {
        assert!(ticket.is_done());
        assert_eq!(ticket.wait().unwrap(), [expected]);
    }
    // Closing applies submitted changes, also without a flush.
    drop(database.submit(inserts(&documents(4, 1_000, 100))).unwrap());
    database.close().unwrap();
    let model = model.with(documents(4, 1_000, 100));
    let database = builder().open(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
}

#[test]
fn queued_changes_are_withdrawn_whole_on_timeout() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let transaction = database.begin().unwrap();
    let first = database.submit(inserts(&documents(1, 0, 10))).unwrap();
    let second = database.submit(inserts(&documents(2, 10, 10))).unwrap();
    let third = database.submit(inserts(&documents(3, 20, 10))).unwrap();
    let refused = second.wait_timeout(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(refused, Error::TimedOut { .. }), "{refused:?}");
    assert!(!first.is_done() && !third.is_done());
    assert!(database.is_empty().unwrap());
    drop(transaction);
    assert_eq!(first.wait_timeout(PATIENCE).unwrap().len(), 10);
    assert_eq!(third.wait_timeout(PATIENCE).unwrap().len(), 10);
    let expected = [documents(1, 0, 10), documents(3, 20, 10)].concat();
    assert_holds(&database.snapshot().unwrap(), &Model::new(expected, false));
}

#[test]
fn changes_being_written_are_awaited_on_timeout() {
    let folder = folder();
    let gate = Gate::default();
    let database = builder()
        .disk(Arc::new(gate.clone()))
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    // Creates the journal.
    database.apply(inserts(&documents(1, 0, 10))).unwrap();
    std::thread::scope(|scope| {
        let held = gate.hold();
        let first = database.submit(inserts(&documents(2, 10, 10))).unwrap();
        held.wait_for_sync();
        let (send, receive) = mpsc::channel();
        scope.spawn(move || send.send(first.wait_timeout(Duration::ZERO)).unwrap());
        // The later change is still queued, so it can be withdrawn.
        let second = database.submit(inserts(&documents(3, 20, 10))).unwrap();
        let refused = second.wait_timeout(Duration::from_millis(20)).unwrap_err();
        assert!(matches!(refused, Error::TimedOut { .. }), "{refused:?}");
        let waits = receive.recv_timeout(Duration::from_millis(50));
        assert!(matches!(waits, Err(mpsc::RecvTimeoutError::Timeout)));
        drop(held);
        let outcomes = receive.recv_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!(outcomes, [INSERTED; 10]);
    });
    let expected = [documents(1, 0, 10), documents(2, 10, 10)].concat();
    assert_holds(&database.snapshot().unwrap(), &Model::new(expected, false));
}

#[test]
fn timeout_reports_exactly_the_changes_not_made() {
    const THREADS: u64 = 16;
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let done = AtomicBool::new(false);
    let (made, taken_back) = (AtomicU64::new(0), AtomicU64::new(0));
    let inserted: Vec<u64> = std::thread::scope(|scope| {
        let ended = SetWhenDropped(&done);
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (database, done) = (&database, &done);
                let (made, taken_back) = (&made, &taken_back);
                scope.spawn(move || {
                    let mut sequence = SplitMix(thread);
                    let mut inserted = Vec::new();
                    for id in thread << 32.. {
                        if done.load(Ordering::Acquire) {
                            break;
                        }
                        let change = Change::Insert(document(id, sequence.next()));
                        let patience = Duration::from_micros(sequence.below(2_000));
                        match database.submit([change]).unwrap().wait_timeout(patience) {
                            Ok(outcomes) => {
                                assert_eq!(outcomes, [INSERTED]);
                                inserted.push(id);
                                made.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(Error::TimedOut { .. }) => {
                                taken_back.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                    inserted
                })
            })
            .collect();
        // No change is applied while another thread holds the write lock; then some are.
        for _ in 0..10 {
            let transaction = database.begin().unwrap();
            wait_for_more(&taken_back, 2 * THREADS);
            drop(transaction);
            wait_for_more(&made, 2 * THREADS);
        }
        drop(ended);
        let inserted = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap());
        inserted.collect()
    });
    database.flush().unwrap();
    let snapshot = database.snapshot().unwrap();
    let stored = snapshot.documents().map(|found| found.unwrap().id.0);
    assert!(stored.eq(inserted));
}

/// Waits until a number has grown by `more`.
fn wait_for_more(number: &AtomicU64, more: u64) {
    let wanted = number.load(Ordering::Relaxed) + more;
    wait_until(|| number.load(Ordering::Relaxed) >= wanted);
}

#[test]
fn full_queue_refuses_or_blocks_and_loses_nothing() {
    const SIZE: u64 = 8 << 10;
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let transaction = database.begin().unwrap();
    let mut accepted = 0;
    let refused = loop {
        match database.try_submit(inserts(&documents(1 + accepted, accepted * SIZE, SIZE))) {
            Ok(ticket) => drop(ticket),
            Err(error) => break error,
        }
        accepted += 1;
        // The group taken before the writer had to wait, plus the full queue.
        assert!(
            accepted * SIZE <= 2 * QUEUE,
            "the queue does not become full"
        );
    };
    assert!(matches!(refused, Error::QueueFull { .. }), "{refused:?}");
    assert!(accepted * SIZE >= QUEUE, "{accepted} batches");
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let (database, last) = (&database, documents(99, 1 << 40, SIZE));
        scope.spawn(move || {
            let ticket = database.submit(inserts(&last)).unwrap();
            send.send(()).unwrap();
            assert_eq!(ticket.wait().unwrap().len() as u64, SIZE);
        });
        let waits = receive.recv_timeout(Duration::from_millis(100));
        assert_eq!(waits, Err(mpsc::RecvTimeoutError::Timeout));
        assert!(database.is_empty().unwrap());
        drop(transaction);
        receive.recv_timeout(PATIENCE).unwrap();
    });
    database.flush().unwrap();
    assert_eq!(database.len().unwrap(), (accepted + 1) * SIZE);
}

#[test]
fn close_applies_all_submitted_changes() {
    const SIZE: u64 = 30_000;
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    drop(builder().create(&path).unwrap());
    for round in 0..3 {
        let database = builder().open(&path).unwrap();
        // Enough changes to make writers wait for the background flush.
        for number in round * 8..(round + 1) * 8 {
            let changes = inserts(&documents(number, number << 20, SIZE));
            drop(database.submit(changes).unwrap());
        }
        database.close().unwrap();
    }
    let mut database = builder().open(&path).unwrap();
    let expected = (0..24).flat_map(|number| documents(number, number << 20, SIZE));
    assert_holds(&database.snapshot().unwrap(), &Model::new(expected, false));
    assert_sound(&mut database);
}

/// Other writers wait while a batch is decided.
#[test]
fn copies_removed_by_batch_are_skipped_once() {
    const COPIES: u64 = 30_000;
    const UNIQUE: u64 = 2_000;
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let copies = |ids: std::ops::Range<u64>| ids.map(|id| document(id, 0x00ff_00ff_00ff_00ff));
    database
        .apply(copies(0..COPIES).map(Change::Insert))
        .unwrap();
    database.merge().unwrap();
    let changes = |count| {
        let removals = (0..COPIES).map(|id| Change::Remove(DocId(id)));
        let unique = copies(COPIES..COPIES + count).map(|document| Change::InsertUnique {
            document,
            radius: 3,
        });
        removals.chain(unique)
    };
    let assert_decided = |outcomes: &[Outcome]| {
        let (first, others) = outcomes[COPIES as usize..].split_first().unwrap();
        assert_eq!(*first, INSERTED);
        let is_copy =
            |other: &Outcome| matches!(other, Outcome::Duplicate(of) if of.id.0 == COPIES);
        assert!(others.iter().all(is_copy));
    };
    let decide = |count| {
        let mut transaction = database.begin().unwrap();
        timed(|| {
            let outcomes = transaction.apply(changes(count)).unwrap();
            assert_eq!(outcomes.len() as u64, COPIES + count);
            assert_decided(&outcomes);
        })
    };
    let (one, many) = shortest(3, || decide(1), || decide(UNIQUE));
    assert!(many < 4 * one, "{one:?} for one, {many:?} for {UNIQUE}");
    // The time to commit depends on the disk, so only the decision is timed.
    assert_decided(&database.apply(changes(UNIQUE)).unwrap());
    assert_eq!(database.len().unwrap(), 1);
}

// ---- errors of one writer ----

#[test]
fn refused_or_panicking_caller_does_not_affect_others() {
    let folder = folder();
    let mut database = builder()
        .keep_texts(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let too_long = Document {
        // One byte longer than the longest text.
        text: Some("a".repeat((256 << 20) + 1)),
        ..document(1 << 50, 5)
    };
    std::thread::scope(|scope| {
        let database = &database;
        for thread in 0..4 {
            scope.spawn(move || {
                for stored in documents(thread, thread << 32, 100) {
                    let outcomes = database.apply([Change::Insert(stored)]).unwrap();
                    assert_eq!(outcomes, [INSERTED]);
                }
            });
        }
        scope.spawn(move || {
            for _ in 0..3 {
                let changes = [document(1 << 51, 1), too_long.clone()].map(Change::Insert);
                let Err(refused) = database.submit(changes) else {
                    panic!("a text too long was taken")
                };
                assert!(matches!(refused, Error::TextTooLong { .. }), "{refused:?}");
            }
        });
        scope.spawn(move || {
            let panicking = |number| match number {
                0..5 => Change::Insert(document((1 << 52) + number, number)),
                _ => panic!("the caller's own"),
            };
            for _ in 0..20 {
                caught(|| database.apply((0..10).map(panicking))).unwrap_err();
            }
            let mut transaction = database.begin().unwrap();
            caught(|| transaction.apply((0..10).map(panicking))).unwrap_err();
            let refused = transaction.commit().unwrap_err();
            assert!(
                matches!(refused, Error::TransactionFailed { .. }),
                "{refused:?}"
            );
        });
    });
    let expected = (0..4).flat_map(|thread| documents(thread, thread << 32, 100));
    assert_holds(&database.snapshot().unwrap(), &Model::new(expected, true));
    assert_sound(&mut database);
}

#[test]
fn readers_do_not_wait_for_a_transaction() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let stored = documents(1, 0, 2_000);
    database.apply(inserts(&stored[..1_000])).unwrap();
    database.merge().unwrap();
    database.apply(inserts(&stored[1_000..])).unwrap();
    let model = Model::new(stored, false);
    let mut transaction = database.begin().unwrap();
    transaction
        .apply((0..500).map(|id| Change::Remove(DocId(id))))
        .unwrap();
    // Another writer is waiting as well.
    drop(database.submit(inserts(&documents(2, 5_000, 10))).unwrap());
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let (database, model, folder) = (&database, &model, &folder);
        scope.spawn(move || {
            assert_holds(&database.snapshot().unwrap(), model);
            let query = Fingerprint::from_bits(77);
            assert_eq!(database.get(DocId(3)).unwrap().unwrap().id, DocId(3));
            assert_eq!(database.within(query, 20).unwrap(), model.within(query, 20));
            let copy = folder.path().join("copy.simdb");
            database.backup(&copy).unwrap();
            assert_eq!(builder().open(&copy).unwrap().len().unwrap(), 2_000);
            send.send(()).unwrap();
        });
        let in_time = receive.recv_timeout(PATIENCE);
        drop(transaction);
        in_time.unwrap();
    });
}

// ---- changes that are not flushed ----

/// The first half is flushed, the second is in the journal; some of each are removed again.
fn half_merged(database: &Database) -> Model {
    let stored = documents(11, 0, 4_000);
    let mut model = Model::default();
    for (half, part) in stored.chunks(2_000).enumerate() {
        model.apply_all(inserts(part));
        database.apply(inserts(part)).unwrap();
        if half == 0 {
            database.merge().unwrap();
        }
    }
    let removals = || (0..4_000).step_by(7).map(|id| Change::Remove(DocId(id)));
    model.apply_all(removals());
    database.apply(removals()).unwrap();
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert!(stats.unmerged_changes > 0);
    assert_eq!(stats.documents, model.documents.len() as u64);
    model
}

#[test]
fn check_of_unflushed_changes_finds_nothing() {
    let folder = folder();
    let mut database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let model = half_merged(&database);
    assert_sound(&mut database);
    assert_holds(&database.snapshot().unwrap(), &model);
    // The database still accepts changes.
    let more = documents(12, 10_000, 100);
    database.apply(inserts(&more)).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model.with(more));
    assert_sound(&mut database);
}

#[test]
fn bulk_load_sees_unflushed_changes() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder().create(&path).unwrap();
    let mut model = half_merged(&database);
    // Some ids are stored, some were removed.
    let loaded = documents(13, 3_000, 3_000);
    let mut load = database.bulk_load(16 << 20).unwrap();
    for document in &loaded {
        load.push(document.clone()).unwrap();
    }
    let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
    let outcomes = model.apply_all(inserts(&loaded));
    let inserted = outcomes.iter().filter(|outcome| outcome.is_inserted());
    assert_eq!(report.inserted, inserted.count() as u64);
    assert_holds(&database.snapshot().unwrap(), &model);
    let more = documents(12, 10_000, 100);
    database.apply(inserts(&more)).unwrap();
    let model = model.with(more);
    assert_holds(&database.snapshot().unwrap(), &model);
    assert_sound(&mut database);
    drop(database);
    let database = builder().open_read_only(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
}

#[test]
fn snapshot_is_stable_while_memtables_are_filled_and_flushed() {
    const ROUNDS: u64 = 20;
    const SIZE: u64 = 8_000;
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder().create(&path).unwrap();
    let mut model = half_merged(&database);
    let (old, old_model) = (database.snapshot().unwrap(), model.clone());
    let queries: Vec<Fingerprint> = old_model
        .documents
        .values()
        .step_by(100)
        .map(|document| document.fingerprint)
        .collect();
    let answers: Vec<_> = queries
        .iter()
        .map(|query| old_model.within(*query, 12))
        .collect();
    let (looks, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ended = SetWhenDropped(&done);
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                assert_holds(&old, &old_model);
                assert_eq!(old.within_batch(&queries, 12).unwrap(), answers);
                for (query, expected) in queries.iter().zip(&answers).step_by(5) {
                    assert_eq!(old.within(*query, 12).unwrap(), *expected);
                }
                looks.fetch_add(1, Ordering::Release);
            }
        });
        for round in 0..ROUNDS {
            let mut changes = inserts(&documents(100 + round, (1 + round) << 20, SIZE));
            changes.extend((round * 200..(round + 1) * 200).map(|id| Change::Remove(DocId(id))));
            // Removals of flushed documents: the tables change under the old snapshot.
            if let Some(before) = round.checked_sub(5) {
                let gone = (1 + before) << 20;
                changes.extend((gone..gone + SIZE / 2).map(|id| Change::Remove(DocId(id))));
            }
            let expected = model.apply_all(changes.clone());
            assert_eq!(database.apply(changes).unwrap(), expected);
            assert_eq!(database.len().unwrap(), model.documents.len() as u64);
            // Readers query all the time; one pass may take longer than a round.
            wait_until(|| looks.load(Ordering::Acquire) >= (round + 1) / 5 || reader.is_finished());
        }
    });
    drop(old);
    let snapshot = database.snapshot().unwrap();
    assert_holds(&snapshot, &model);
    for query in &queries {
        assert_eq!(snapshot.within(*query, 8).unwrap(), model.within(*query, 8));
    }
    drop(snapshot);
    assert_sound(&mut database);
    drop(database);
    let database = builder().open(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model);
}

#[test]
fn backup_during_writes_holds_a_prefix_of_each_writer() {
    const THREADS: u64 = 8;
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let done = AtomicBool::new(false);
    let written: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let document_of = |thread: u64, number: u64| {
        document(
            thread << 32 | number,
            SplitMix(thread << 32 | number).next(),
        )
    };
    std::thread::scope(|scope| {
        let _ended = SetWhenDropped(&done);
        for thread in 0..THREADS {
            let (database, written, done) = (&database, &written[thread as usize], &done);
            scope.spawn(move || {
                for number in 0.. {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    let changes = [Change::Insert(document_of(thread, number))];
                    assert_eq!(database.apply(changes).unwrap(), [INSERTED]);
                    written.store(number + 1, Ordering::Release);
                }
            });
        }
        for number in 0..5 {
            let at_least: Vec<u64> = written
                .iter()
                .map(|written| written.load(Ordering::Acquire))
                .collect();
            if number == 3 {
                database.merge().unwrap();
            }
            let copy = folder.path().join(format!("copy{number}.simdb"));
            database.backup(&copy).unwrap();
            let mut copy = builder().open(&copy).unwrap();
            let mut counts = vec![0; THREADS as usize];
            for stored in copy.snapshot().unwrap().documents() {
                let stored = stored.unwrap();
                let count = &mut counts[(stored.id.0 >> 32) as usize];
                assert_eq!(stored, document_of(stored.id.0 >> 32, *count));
                *count += 1;
            }
            for (count, at_least) in counts.iter().zip(&at_least) {
                assert!(count >= at_least, "{counts:?}, {at_least:?}");
            }
            assert_sound(&mut copy);
        }
    });
}

/// Other writers wait while a batch is decided.
#[test]
fn copies_expired_by_batch_are_skipped_once() {
    const COPIES: u64 = 20_000;
    const UNIQUE: u64 = 1_000;
    const WINDOW_MS: u64 = 1_000;
    let folder = folder();
    let retention = test_support::window(Duration::from_millis(WINDOW_MS));
    let database = builder().retention(retention);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let copy = |id, arrival| Document {
        arrival: Some(Timestamp(arrival)),
        ..document(id, 0x00ff_00ff_00ff_00ff)
    };
    let old = (0..COPIES).map(|id| Change::Insert(copy(id, 10_000)));
    database.apply(old).unwrap();
    database.merge().unwrap();
    // Each document arrives later than the previous one, and is near the first only.
    let unique = |count| {
        let late = |id| copy(COPIES + id, 10_001 + WINDOW_MS + id % (WINDOW_MS / 2));
        (0..count).map(move |id| Change::InsertUnique {
            document: late(id),
            radius: 3,
        })
    };
    let decide = |count| {
        let mut transaction = database.begin().unwrap();
        timed(|| {
            let outcomes = transaction.apply(unique(count)).unwrap();
            assert_eq!(outcomes[0], INSERTED);
            let is_copy =
                |other: &Outcome| matches!(other, Outcome::Duplicate(of) if of.id.0 == COPIES);
            assert!(outcomes[1..].iter().all(is_copy));
        })
    };
    let (one, many) = shortest(3, || decide(1), || decide(UNIQUE));
    assert!(many < 10 * one, "{one:?} for one, {many:?} for {UNIQUE}");
}

#[test]
fn waiting_writer_is_not_starved_by_group_commits() {
    const WRITERS: u64 = 6;
    const MOST: u64 = 3_000;
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let (made, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (database, made, is_done) = (&database, &made, &is_done);
            scope.spawn(move || {
                for turn in 0..MOST {
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                    let _ = database.upsert(document(writer, turn)).unwrap();
                    made.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _ends_the_writers = SetWhenDropped(&is_done);
        let mut meanwhile = Vec::new();
        for turn in 1..=10 {
            wait_until(|| made.load(Ordering::Relaxed) >= turn * WRITERS);
            let before = made.load(Ordering::Relaxed);
            let transaction = database.begin().unwrap();
            meanwhile.push(made.load(Ordering::Relaxed) - before);
            drop(transaction);
        }
        // At most the group being written and the one answered last.
        meanwhile.sort_unstable();
        assert!(meanwhile[5] <= 4 * WRITERS, "{meanwhile:?}");
    });
}

#[test]
fn large_transaction_of_few_documents_continues_in_tables() {
    let folder = folder();
    let database = builder().merge_after_changes(1_000);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    for (changes, unmerged) in [(1_000, 1), (1_001, 0)] {
        let mut transaction = database.begin().unwrap();
        for bits in 0..changes {
            let change = Change::Upsert(document(1, bits));
            transaction.apply([change]).unwrap();
        }
        transaction.commit().unwrap();
        let stored = Fingerprint::from_bits(changes - 1);
        assert_eq!(database.get(DocId(1)).unwrap().unwrap().fingerprint, stored);
        let stats = database.snapshot().unwrap().stats().unwrap();
        assert_eq!(stats.unmerged_changes, unmerged);
    }
}

#[test]
fn unchanged_insert_writes_nothing() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    for _ in 0..3 {
        let _ = database.upsert(document(1, 7)).unwrap();
        let stats = database.snapshot().unwrap().stats().unwrap();
        assert_eq!((stats.documents, stats.unmerged_changes), (1, 1));
    }
}

#[test]
fn refused_or_interrupted_check_leaves_flush_to_close() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    for is_ended in [false, true] {
        let mut database = builder().open_or_create(&path).unwrap();
        let id = DocId(u64::from(is_ended));
        test_support::insert(&database, Document::new(id, Fingerprint::from_bits(7)));
        if is_ended {
            database = database.on_progress(|_| ControlFlow::Break(()));
            let ended = database.check();
            assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
        } else {
            let snapshot = database.snapshot().unwrap();
            let refused = database.check();
            assert!(
                matches!(refused, Err(Error::SnapshotHeld { .. })),
                "{refused:?}"
            );
            drop(snapshot);
        }
        drop(database);
        assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    }
}

#[test]
fn overwritten_arrival_still_advances_the_clock() {
    let folder = folder();
    let retention = test_support::window(Duration::from_millis(10));
    let database = builder().retention(retention);
    let database = database.create(folder.path().join("docs.simdb")).unwrap();
    let arrived = |id, arrival| Document {
        arrival: Some(Timestamp(arrival)),
        ..document(id, id)
    };
    let stored = [arrived(1, 0), arrived(2, 5)];
    database.apply(inserts(&stored)).unwrap();
    let outcomes = database
        .apply([
            Change::Upsert(arrived(1, 100)),
            Change::Upsert(arrived(1, 0)),
            Change::Remove(DocId(2)),
        ])
        .unwrap();
    assert_eq!(outcomes[2], Outcome::Missing);
    assert_eq!(database.get(DocId(2)).unwrap(), None);
}
