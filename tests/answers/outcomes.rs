//! The outcomes of changes: expired documents, refused arrival times, copies of unreliable texts,
//! and the reset of the window's clock.

use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use simdb::{
    Builder, Change, Database, Decision, DocId, DocRef, Document, Error, Outcome, Retention,
    SimilarRule, Timestamp,
};
use test_support::{INSERTED, assert_sound, builder, document, folder, insert, window};

const HOUR_MS: u64 = 60 * 60 * 1000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A window of two hours.
const TWO_HOURS: Retention = window(Duration::from_millis(2 * HOUR_MS));

fn now_ms() -> u64 {
    Timestamp::from(SystemTime::now()).0
}

fn at(time: u64, id: u64, fingerprint: u64) -> Document {
    document(id, fingerprint).with_arrival(time)
}

fn ids(database: &Database) -> Vec<u64> {
    let snapshot = database.snapshot().unwrap();
    snapshot
        .documents()
        .map(|document| document.unwrap().id.0)
        .collect()
}

// ---- documents outside the window ----

#[test]
fn document_before_the_window_is_reported_expired_and_not_stored() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder()
        .similar(true)
        .retention(TWO_HOURS)
        .create(&path)
        .unwrap();
    insert(&database, at(10 * HOUR_MS, 1, 7).with_text("a text"));
    insert(&database, at(11 * HOUR_MS, 2, 9 << 20));
    let cutoff = Timestamp(9 * HOUR_MS);
    let expired = Outcome::Expired { cutoff };
    let late = |id| at(9 * HOUR_MS - 1, id, 7).with_text("a text");

    assert_eq!(database.insert(late(3)).unwrap(), expired);
    assert_eq!(database.insert_unique(late(3), 3).unwrap(), expired);
    let unless_similar = database.insert_unless_similar(late(3), SimilarRule::default());
    assert_eq!(unless_similar.unwrap(), expired);
    assert_eq!(database.upsert(late(3)).unwrap(), expired);
    // A taken id is reported first: it shows a repetition.
    let stored = document(1, 7).fingerprint;
    assert_eq!(
        database.insert(late(1)).unwrap(),
        Outcome::Exists { stored }
    );

    let live = database.get(DocId(1)).unwrap();
    assert_eq!(database.upsert(late(1)).unwrap(), expired);
    assert_eq!(database.get(DocId(1)).unwrap(), live);
    // A document at the cutoff is inside the window.
    insert(&database, at(9 * HOUR_MS, 4, 1 << 40));
    assert_eq!(ids(&database), [1, 2, 4]);
    assert_eq!(database.len().unwrap(), 3);
    assert_sound(&mut database);
}

#[test]
fn expired_document_refreshes_no_sliding_duplicate() {
    let folder = folder();
    let sliding = Retention {
        sliding: true,
        ..TWO_HOURS
    };
    let database = builder()
        .retention(sliding)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    insert(&database, at(10 * HOUR_MS, 1, 7));
    let late = database.insert_unique(at(7 * HOUR_MS, 2, 7), 3).unwrap();
    assert!(matches!(late, Outcome::Expired { .. }), "{late}");
    let arrival = database.get(DocId(1)).unwrap().unwrap().arrival;
    assert_eq!(arrival, Some(Timestamp(10 * HOUR_MS)));
}

#[test]
fn bulk_load_counts_documents_before_the_window() {
    let folder = folder();
    let builder = || builder().retention(TWO_HOURS);
    // Ids in order go another way into a new file than other ids.
    for ids in [[1, 2, 3, 4], [4, 1, 3, 2]] {
        let path = folder.path().join(format!("{}.simdb", ids[0]));
        let hours = [1, 9, 3, 10];
        let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
        for (id, hour) in ids.into_iter().zip(hours) {
            load.push(at(hour * HOUR_MS, id, id << 20)).unwrap();
        }
        let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
        assert_eq!((report.inserted, report.expired), (2, 2));
        let mut database = builder().open(&path).unwrap();
        assert_eq!(database.snapshot().unwrap().documents().count(), 2);
        assert_eq!(database.snapshot().unwrap().stored_len(), 2);
        assert_sound(&mut database);

        let mut load = database.bulk_load(16 << 20).unwrap();
        load.push(at(7 * HOUR_MS, 50, 50 << 20)).unwrap();
        load.push(at(8 * HOUR_MS, 51, 51 << 20)).unwrap();
        let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
        assert_eq!((report.inserted, report.expired), (1, 1));
        assert_eq!(database.snapshot().unwrap().stored_len(), 3);
        assert_sound(&mut database);
    }
}

#[test]
fn bulk_load_removes_expired_documents_with_its_commit() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder()
        .similar(true)
        .retention(TWO_HOURS)
        .create(path)
        .unwrap();
    let load_of = |database: &Database, documents: [Document; 2], is_finished: bool| {
        let mut load = database.bulk_load(16 << 20).unwrap();
        for document in documents {
            load.push(document).unwrap();
        }
        is_finished.then(|| load.finish(|_| ControlFlow::Continue(())).unwrap())
    };
    let of_text = |hour, id| {
        let document = database.document(id, TEXT).unwrap();
        document.with_arrival(hour * HOUR_MS)
    };
    insert(&database, of_text(1, 1));
    insert(&database, of_text(9, 2));
    database.merge().unwrap();
    let stored_len = || database.snapshot().unwrap().stored_len();
    assert_eq!(stored_len(), 2);
    let documents = || [of_text(10, 1), of_text(6, 3)];
    load_of(&database, documents(), false);
    assert_eq!(stored_len(), 2);
    // The id of the expired document is free, and document 3 arrived before the window.
    let report = load_of(&database, documents(), true).unwrap();
    assert_eq!(
        (report.inserted, report.expired, report.conflicts),
        (1, 1, 0)
    );
    assert_eq!(stored_len(), 2);
    assert_eq!(ids(&database), [1, 2]);
    let similar = database.similar_text(TEXT).unwrap();
    assert_eq!(
        similar.iter().map(|found| found.id.0).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_sound(&mut database);
}

// ---- arrivals too far ahead ----

fn assert_ahead<T: std::fmt::Debug>(refused: Result<T, Error>, id: u64, arrival: u64) {
    let refused = refused.unwrap_err();
    assert!(
        matches!(&refused, Error::ArrivalAhead { id: of, .. } if *of == DocRef::from(id)),
        "{refused:?}"
    );
    let (shown, arrival) = (refused.to_string(), Timestamp(arrival).to_string());
    assert!(shown.contains(&format!("document {id} ")), "{shown}");
    assert!(shown.contains(&arrival), "{shown}");
    assert!(shown.contains("system clock (20"), "{shown}");
}

#[test]
fn arrival_too_far_ahead_of_the_clock_is_refused() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder().retention(TWO_HOURS).create(path).unwrap();
    let now = now_ms();
    insert(&database, at(now, 1, 1));
    // The microseconds of now, as milliseconds.
    let bad = now * 1000;
    assert_ahead(database.insert(at(bad, 2, 2)), 2, bad);
    assert_ahead(database.upsert(at(bad, 1, 2)), 1, bad);
    // Also a duplicate, which sliding retention would count.
    assert_ahead(database.insert_unique(at(bad, 2, 1), 3), 2, bad);
    // All changes of the call, and no others.
    let changes = [at(now, 3, 3), at(bad, 4, 4)].map(Change::Insert);
    assert_ahead(database.apply(changes.clone()), 4, bad);
    let ticket = database.submit([Change::Insert(at(now, 5, 5))]).unwrap();
    assert_ahead(database.submit(changes).unwrap().wait(), 4, bad);
    assert_eq!(ticket.wait().unwrap(), [INSERTED]);

    let mut transaction = database.begin().unwrap();
    assert_ahead(transaction.apply_one(Change::Insert(at(bad, 6, 6))), 6, bad);
    drop(transaction);
    // `apply_each` goes on without the document.
    let mut transaction = database.begin().unwrap();
    let changes = [at(now, 5, 5), at(bad, 6, 6), at(now, 11, 11 << 20)].map(Change::Insert);
    let mut outcomes = transaction.apply_each(changes).unwrap().into_iter();
    assert!(matches!(outcomes.next(), Some(Ok(Outcome::Exists { .. }))));
    assert_ahead(outcomes.next().unwrap(), 6, bad);
    assert_eq!(outcomes.next().unwrap().unwrap(), INSERTED);
    let removed = transaction.apply_one(Change::Remove(DocId(11))).unwrap();
    assert!(matches!(removed, Outcome::Removed { .. }));
    transaction.commit().unwrap();
    // A bulk load goes on without the document.
    let mut load = database.bulk_load(16 << 20).unwrap();
    assert_ahead(load.push(at(bad, 7, 7)), 7, bad);
    load.push(at(now, 8, 8 << 20)).unwrap();
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(ids(&database), [1, 5, 8]);
    assert_eq!(database.snapshot().unwrap().now(), Some(Timestamp(now)));

    // Half a day is accepted.
    insert(&database, at(now + DAY_MS / 2, 9, 9 << 20));
    assert_sound(&mut database);
}

#[test]
fn stored_arrivals_do_not_raise_the_limit_of_the_next() {
    let folder = folder();
    let now = now_ms();
    // Each step is within a day of the step before.
    let steps: Vec<u64> = (1..=4).map(|step| now + step * 23 * HOUR_MS).collect();
    let chain = || {
        steps
            .iter()
            .zip(2..)
            .map(|(time, id)| at(*time, id, id << 20))
    };
    let open = |name: &str| {
        let path = folder.path().join(name);
        let database = builder().retention(TWO_HOURS).create(path).unwrap();
        insert(&database, at(now, 1, 1 << 20));
        database
    };
    let assert_clock = |mut database: Database| {
        assert_eq!(
            database.snapshot().unwrap().now(),
            Some(Timestamp(steps[0]))
        );
        assert_eq!(ids(&database), [2]);
        assert_sound(&mut database);
    };
    let single = open("single.simdb");
    for (index, document) in chain().enumerate() {
        assert_eq!(single.insert(document).is_ok(), index == 0);
    }
    assert_clock(single);
    // The documents before it in the same transaction do not count either.
    let together = open("together.simdb");
    let mut transaction = together.begin().unwrap();
    let outcomes = transaction.apply_each(chain().map(Change::Insert)).unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    transaction.commit().unwrap();
    assert_clock(together);
    let loaded = open("loaded.simdb");
    let mut load = loaded.bulk_load(16 << 20).unwrap();
    for (index, document) in chain().enumerate() {
        assert_eq!(load.push(document).is_ok(), index == 0);
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    assert_clock(loaded);
    // A renewed duplicate advances the clock of the window, and not the limit.
    let sliding = Retention {
        sliding: true,
        window: None,
        ..TWO_HOURS
    };
    let path = folder.path().join("sliding.simdb");
    let database = builder().retention(sliding).create(path).unwrap();
    insert(&database, at(now, 1, 7));
    let _ = database.insert_unique(at(steps[0], 2, 7), 3).unwrap();
    assert_eq!(
        database.snapshot().unwrap().now(),
        Some(Timestamp(steps[0]))
    );
    assert_ahead(database.insert_unique(at(steps[1], 3, 7), 3), 3, steps[1]);
    assert_ahead(database.upsert(at(steps[1], 1, 7)), 1, steps[1]);
}

#[test]
fn bad_time_that_waits_for_a_reset_of_the_clock_does_not_return() {
    let folder = folder();
    let now = now_ms();
    for round in 0..10 {
        let path = folder.path().join(format!("{round}.simdb"));
        let mut database = builder().retention(TWO_HOURS).create(path).unwrap();
        insert(&database, at(now, 1, 1 << 20));
        insert(&database, at(now + DAY_MS - HOUR_MS, 2, 1 << 30));
        let transaction = database.begin().unwrap();
        let ticket = database.submit([Change::Insert(at(now + 4 * DAY_MS, 9, 9 << 20))]);
        std::thread::scope(|scope| {
            let reset = scope.spawn(|| database.reset_clock().unwrap());
            // Reset and commit wait for the transaction, and follow in any order.
            std::thread::sleep(Duration::from_millis(20));
            drop(transaction);
            reset.join().unwrap();
        });
        assert_ahead(ticket.unwrap().wait(), 9, now + 4 * DAY_MS);
        assert_eq!(database.get(DocId(9)).unwrap(), None);
        let clock = database.snapshot().unwrap().now();
        assert_eq!(clock, Some(Timestamp(now + DAY_MS - HOUR_MS)));
        assert_sound(&mut database);
    }
}

#[test]
fn bulk_load_accepts_what_another_database_has_accepted() {
    let folder = folder();
    let any = Retention {
        max_ahead: None,
        ..TWO_HOURS
    };
    let source_path = folder.path().join("source.simdb");
    let source = builder().retention(any).create(source_path).unwrap();
    let builder = || builder().retention(TWO_HOURS);
    let now = now_ms();
    let latest = now + 2 * DAY_MS;
    for (id, time) in [(3, now), (2, now + DAY_MS), (1, latest)] {
        insert(&source, at(time, id, id << 20));
    }
    let path = folder.path().join("copy.simdb");
    let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
    assert_ahead_of_one_clock(load.push(at(latest, 1, 1 << 20)));
    let snapshot = source.snapshot().unwrap();
    let mut load = load.with_latest_arrival(snapshot.now().unwrap());
    for document in snapshot.documents() {
        load.push(document.unwrap()).unwrap();
    }
    let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.inserted, report.expired), (1, 0));
    assert_eq!(ids(&builder().open(&path).unwrap()), [1]);
}

fn assert_ahead_of_one_clock<T: std::fmt::Debug>(refused: Result<T, Error>) {
    assert!(
        matches!(refused, Err(Error::ArrivalAhead { .. })),
        "{refused:?}"
    );
}

#[test]
fn max_ahead_is_kept_in_the_file() {
    let folder = folder();
    let day_path = folder.path().join("day.simdb");
    let any_path = folder.path().join("any.simdb");
    let any = Retention {
        max_ahead: None,
        ..TWO_HOURS
    };
    let far = || at(now_ms() * 1000, 1, 1);
    drop(builder().retention(TWO_HOURS).create(&day_path).unwrap());
    drop(builder().retention(any).create(&any_path).unwrap());
    for path in [&day_path, &any_path] {
        let other = if *path == any_path { TWO_HOURS } else { any };
        let refused = builder().retention(other).open(path).unwrap_err();
        assert!(
            matches!(refused, Error::SettingsMismatch { .. }),
            "{refused}"
        );
        Database::vacuum(path).unwrap();
    }
    let refused = builder().open(&day_path).unwrap().insert(far());
    assert!(matches!(refused, Err(Error::ArrivalAhead { .. })));
    insert(&builder().retention(any).open(&any_path).unwrap(), far());
}

// ---- the way back ----

const TEXT: &str = "The ferry to the islands was cancelled this morning due to heavy fog.";

/// A database whose clock one bad arrival time has moved to the year 55,000, as files from before
/// the guard have it.
fn moved_ahead(builder: Builder, path: &std::path::Path, now: u64) -> Database {
    let any = Retention {
        max_ahead: None,
        ..TWO_HOURS
    };
    let database = builder.similar(true).retention(any).create(path).unwrap();
    let of_text = |id| database.document(id, TEXT).unwrap();
    insert(&database, of_text(1).with_arrival(now - HOUR_MS));
    insert(&database, at(now - HOUR_MS / 2, 2, 2 << 20));
    assert_eq!(database.within_text(TEXT, 3).unwrap().len(), 1);
    insert(
        &database,
        at(now * 1000, 3, 3 << 20).with_text("a bad time"),
    );
    assert_eq!(ids(&database), [3]);
    database
}

#[test]
fn reset_clock_brings_back_what_one_bad_time_has_expired() {
    let folder = folder();
    let now = now_ms();
    for (name, is_reopened) in [("open", false), ("reopened", true)] {
        let path = folder.path().join(name);
        let mut database = moved_ahead(builder(), &path, now);
        // Reading, closing, vacuum and reopening do not help.
        if is_reopened {
            database.close().unwrap();
            Database::vacuum(&path).unwrap();
            database = builder().open(&path).unwrap();
        }
        // A document at the right time is not stored, and removes no other document.
        let late = database.insert(at(now, 8, 8 << 20)).unwrap();
        assert!(matches!(late, Outcome::Expired { .. }), "{late}");
        let before = database.snapshot().unwrap();
        assert_eq!(before.now(), Some(Timestamp(now * 1000)));

        let reset = database.reset_clock().unwrap();
        assert_eq!(reset.before, Some(Timestamp(now * 1000)));
        assert_eq!(reset.after, Some(Timestamp(now - HOUR_MS / 2)));
        assert_eq!(reset.removed, 1);
        assert_eq!(ids(&database), [1, 2]);
        assert_eq!(database.within_text(TEXT, 3).unwrap()[0].id, DocId(1));
        assert_eq!(database.similar_text(TEXT).unwrap()[0].id, DocId(1));
        assert_eq!(database.get(DocId(3)).unwrap(), None);
        assert!(database.similar_text("a bad time").unwrap().is_empty());
        // An older snapshot does not change.
        assert_eq!(before.documents().count(), 1);
        drop(before);

        let copy = database.document(4, TEXT).unwrap().with_arrival(now);
        let copy = database.insert_unique(copy, 3).unwrap();
        assert!(
            matches!(copy, Outcome::Duplicate(of) if of.id == DocId(1)),
            "{copy}"
        );
        insert(&database, at(now, 5, 5 << 20));
        // The window works again: its first document expires with time.
        insert(&database, at(now + HOUR_MS + 1, 6, 6 << 20));
        assert_eq!(ids(&database), [2, 5, 6]);
        assert_sound(&mut database);
        database.close().unwrap();
        Database::vacuum(&path).unwrap();
        let mut database = builder().open(&path).unwrap();
        assert_eq!(ids(&database), [2, 5, 6]);
        assert_sound(&mut database);

        // A right clock stays.
        let again = database.reset_clock().unwrap();
        assert_eq!((again.before, again.removed), (again.after, 0));
    }
}

#[test]
fn document_at_the_right_time_is_expired_until_the_clock_is_reset() {
    let folder = folder();
    let now = now_ms();
    let path = folder.path().join("docs.simdb");
    let mut database = moved_ahead(builder(), &path, now);
    let late = database.insert(at(now, 9, 9 << 20)).unwrap();
    let cutoff = Timestamp(now * 1000 - 2 * HOUR_MS);
    assert_eq!(late, Outcome::Expired { cutoff });
    // A commit removes expired documents of the tables for good.
    database.merge().unwrap();
    insert(&database, at(now * 1000, 10, 10 << 20));
    let reset = database.reset_clock().unwrap();
    assert_eq!((reset.removed, reset.after), (2, None));
    assert!(database.is_empty().unwrap());
    insert(&database, at(now, 9, 9 << 20));
    assert_eq!(ids(&database), [9]);
    assert_sound(&mut database);
}

#[test]
fn reset_clock_removes_more_documents_than_one_batch() {
    let folder = folder();
    let any = Retention {
        max_ahead: None,
        ..Retention::default()
    };
    let path = folder.path().join("docs.simdb");
    let mut database = builder().retention(any).create(path).unwrap();
    let now = now_ms();
    let spread = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let times = |id| {
        if id % 3 == 0 {
            now - id
        } else {
            now * 1000 + id
        }
    };
    let changes = (0..30_000).map(|id| Change::Insert(at(times(id), id, spread(id))));
    database.apply(changes).unwrap();
    let reset = database.reset_clock().unwrap();
    assert_eq!((reset.removed, reset.after), (20_000, Some(Timestamp(now))));
    assert_eq!(database.len().unwrap(), 10_000);
    assert_sound(&mut database);

    let plain = builder().create(folder.path().join("plain.simdb")).unwrap();
    assert!(matches!(plain.reset_clock(), Err(Error::NoArrivals { .. })));
}

// ---- unreliable texts, and the outcomes as sentences ----

#[test]
fn copy_of_an_unreliable_text_is_recognised_by_its_wording_where_a_forest_is_kept() {
    let folder = folder();
    for forest in [false, true] {
        let path = folder.path().join(forest.to_string());
        let mut database = builder()
            .keep_texts(true)
            .similar(forest)
            .create(path)
            .unwrap();
        let insert_unique = |id, text| {
            let document = database.document(id, text).unwrap();
            assert!(!document.reliable, "{text}");
            database.insert_unique(document, 3).unwrap()
        };
        let unreliable = Outcome::Inserted { reliable: false };
        assert_eq!(insert_unique(1, "13800138000"), unreliable);
        // A similar text is no copy.
        assert_eq!(insert_unique(2, "13800138001"), unreliable);
        let copy = insert_unique(3, "138 0013-8000");
        if forest {
            let Outcome::Similar(like) = copy else {
                panic!("{copy}")
            };
            assert_eq!(like.id, DocId(1));
            assert!(like.resemblance.same_wording);
        } else {
            assert_eq!(copy, unreliable);
        }
        // In one call, too.
        let documents = [4, 5].map(|id| database.document(id, "好的").unwrap());
        let outcomes = database
            .apply(documents.map(|document| Change::InsertUnique {
                document,
                radius: 0,
            }))
            .unwrap();
        assert_eq!(outcomes[0], unreliable);
        assert_eq!(outcomes[1].is_inserted(), !forest);
        // Every reliable document is within 64 bits, and the text of the query is unreliable.
        insert(&database, database.document(9, TEXT).unwrap());
        assert_eq!(database.within_text(TEXT, 64).unwrap().len(), 1);
        assert!(database.within_text("13800138000", 64).unwrap().is_empty());
        assert_sound(&mut database);
    }
}

#[test]
fn edited_unreliable_text_is_no_copy_though_its_texts_are_alike() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().similar(true).create(path).unwrap();
    let text = "no no no no yes yes yes yes maybe";
    let Ok(first) = database.document(1, text) else {
        panic!("no document")
    };
    insert(
        &database,
        Document {
            reliable: false,
            ..first
        },
    );
    let edited = database.document(2, TEXT).unwrap();
    insert(
        &database,
        Document {
            reliable: false,
            ..edited
        },
    );
    let edited = database
        .document(3, &TEXT.replace("heavy", "thick"))
        .unwrap();
    let query = database
        .text_query(edited.text.as_deref().unwrap())
        .unwrap();
    let alike = database
        .snapshot()
        .unwrap()
        .similar(&query.decision(Decision::Alike));
    assert!(!alike.unwrap().is_empty());
    let unreliable = Document {
        reliable: false,
        ..edited
    };
    let outcome = database.insert_unique(unreliable, 3).unwrap();
    assert_eq!(outcome, Outcome::Inserted { reliable: false });
}

#[test]
fn outcomes_are_short_sentences() {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let said = |outcome: Result<Outcome, Error>| outcome.unwrap().to_string();
    let unreliable = Document {
        reliable: false,
        ..document(2, 2)
    };
    assert_eq!(said(database.insert(document(1, 1))), "inserted");
    assert_eq!(
        said(database.insert(unreliable)),
        "inserted, fingerprint unreliable"
    );
    assert_eq!(
        said(database.insert(document(1, 2))),
        "id taken by a document with fingerprint 0000000000000001"
    );
    assert_eq!(
        said(database.insert_unique(document(3, 0), 3)),
        "duplicate of document 1 at distance 1"
    );
    assert_eq!(
        said(database.upsert(document(1, 4))),
        "replaced fingerprint 0000000000000001"
    );
    assert_eq!(
        said(database.remove(DocId(1))),
        "removed, fingerprint 0000000000000004"
    );
    assert_eq!(said(database.remove(DocId(1))), "no such document");
    let cutoff = Timestamp(HOUR_MS);
    assert_eq!(
        Outcome::Expired { cutoff }.to_string(),
        "expired, arrived before 1970-01-01T01:00:00.000Z"
    );
}
