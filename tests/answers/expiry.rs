//! Expired documents neither match nor cause refusals.

use std::ops::ControlFlow;
use std::time::Duration;

use simdb::{Builder, Change, Database, DocId, Document, Outcome, Retention, Timestamp};
use test_support::{INSERTED, SplitMix, assert_sound, builder, document, folder};

/// The retention window, in milliseconds.
const WINDOW_MS: u64 = 1000;

fn with_window(sliding: bool) -> Builder {
    builder().retention(Retention {
        window: Some(Duration::from_millis(WINDOW_MS)),
        sliding,
        ..Retention::default()
    })
}

fn unique(time: u64, id: u64, fingerprint: u64) -> Change {
    let document = Document {
        arrival: Some(Timestamp(time)),
        ..document(id, fingerprint)
    };
    Change::InsertUnique {
        document,
        radius: 3,
    }
}

fn ids(database: &Database) -> Vec<u64> {
    let snapshot = database.snapshot().unwrap();
    snapshot
        .documents()
        .map(|document| document.unwrap().id.0)
        .collect()
}

#[test]
fn arrival_is_no_duplicate_of_document_expired_by_then() {
    let folder = folder();
    for together in [false, true] {
        let database = with_window(false)
            .create(folder.path().join(format!("{together}.simdb")))
            .unwrap();
        let changes = [
            unique(5000, 1, 7),
            unique(6000, 2, 7),
            unique(6001, 3, 7),
            // Its id belonged to an expired document.
            unique(9000, 1, 7),
        ];
        let outcomes = if together {
            database.apply(changes).unwrap()
        } else {
            let one = |change| database.apply([change]).unwrap().remove(0);
            changes.into_iter().map(one).collect()
        };
        assert!(matches!(outcomes[1], Outcome::Duplicate(of) if of.id == DocId(1)));
        assert_eq!([&outcomes[0], &outcomes[2], &outcomes[3]], [&INSERTED; 3]);
        assert_eq!(ids(&database), [1]);
    }
}

/// Loads documents of id, time and fingerprint; returns the numbers of new and known ones.
fn load(database: &Database, documents: &[(u64, u64, u64)]) -> (u64, u64) {
    let mut load = database.bulk_load(16 << 20).unwrap();
    for &(id, time, fingerprint) in documents {
        let arrival = Some(Timestamp(time));
        load.push(Document {
            arrival,
            ..document(id, fingerprint)
        })
        .unwrap();
    }
    let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.conflicts, 0);
    (report.inserted, report.present)
}

#[test]
fn bulk_load_reuses_ids_of_expired_documents() {
    let folder = folder();
    let mut database = with_window(false)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    assert_eq!(
        load(&database, &[(1, 5000, 7), (2, 5500, 8), (3, 5900, 9)]),
        (3, 0)
    );
    // Only time passes: a bulk load removes no expired document.
    assert_eq!(load(&database, &[(4, 6800, 10)]), (1, 0));
    assert_eq!(ids(&database), [3, 4]);
    // The same documents again, and another one under the id of an expired document.
    let again = [(1, 6800, 7), (2, 6800, 80), (3, 5900, 9)];
    assert_eq!(load(&database, &again), (2, 1));
    assert_eq!(ids(&database), [1, 2, 3, 4]);
    assert_sound(&mut database);
}

#[test]
fn bulk_load_reuses_ids_expired_in_memtable() {
    let folder = folder();
    let mut database = with_window(false)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    for change in [
        unique(5000, 1, 7),
        unique(5100, 2, 80),
        unique(7000, 3, 9000),
    ] {
        database.apply([change]).unwrap();
    }
    assert_eq!(ids(&database), [3]);
    assert_eq!(load(&database, &[(1, 7000, 7), (2, 7000, 800)]), (2, 0));
    assert_eq!(ids(&database), [1, 2, 3]);
    assert_sound(&mut database);
}

#[test]
fn outcome_does_not_depend_on_grouping_of_changes() {
    let folder = folder();
    for (seed, sliding) in [(1, false), (2, true), (3, false), (4, true)] {
        let mut sequence = SplitMix(seed);
        let changes: Vec<Change> = (0..600)
            .map(|number| {
                // Some documents arrive late, a few reuse an id, many reuse a fingerprint.
                let time = 10_000 + 10 * number - sequence.below(400);
                let id = number - sequence.below(2) * sequence.below(200).min(number);
                unique(
                    time,
                    id,
                    sequence.below(40).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                )
            })
            .collect();
        let mut answers = Vec::new();
        for together in [1, 7, 600] {
            let path = folder.path().join(format!("{seed}-{together}.simdb"));
            let mut database = with_window(sliding).create(path).unwrap();
            let mut outcomes = Vec::new();
            for (place, group) in changes.chunks(together).enumerate() {
                outcomes.extend(database.apply(group.iter().cloned()).unwrap());
                if place == 20 {
                    database.merge().unwrap();
                }
            }
            answers.push((outcomes, ids(&database)));
            assert_sound(&mut database);
        }
        let duplicates = |outcome: &&Outcome| matches!(outcome, Outcome::Duplicate(_));
        assert!(answers[0].0.iter().filter(duplicates).count() > 100);
        assert!(answers[0].1.len() > 10);
        for (outcomes, left) in &answers[1..] {
            for (number, outcome) in outcomes.iter().enumerate() {
                assert_eq!(*outcome, answers[0].0[number], "{seed}: {number}");
            }
            assert_eq!(*left, answers[0].1);
        }
    }
}

#[test]
fn prune_removes_expired_documents_without_counting_them() {
    let folder = folder();
    let database = with_window(false)
        .create(folder.path().join("a.simdb"))
        .unwrap();
    let changes = (0..3000).map(|id| unique(5000, id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    database.apply(changes).unwrap();
    database.merge().unwrap();
    database
        .apply([
            unique(5500, 4000, 0x5555_5555),
            unique(6200, 4001, u64::MAX),
        ])
        .unwrap();
    let snapshot = database.snapshot().unwrap();
    assert_eq!(snapshot.now(), Some(Timestamp(6200)));
    assert_eq!(snapshot.count_older(Timestamp(5200)).unwrap(), 0);
    assert_eq!(snapshot.count_older(Timestamp(6000)).unwrap(), 1);
    assert_eq!(database.prune(Timestamp(6000)).unwrap(), 1);
    assert_eq!(ids(&database), [4001]);
    assert_eq!(database.len().unwrap(), 1);
}

#[test]
fn stats_count_expired_documents_apart() {
    let folder = folder();
    let mut database = with_window(false)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let insert = |time, id| {
        Change::Insert(Document {
            arrival: Some(Timestamp(time)),
            ..document(id, id << 20)
        })
    };
    for merged in [false, true] {
        let (first, time) = if merged { (10_000, 20_000) } else { (1, 5_000) };
        let old = (first..first + 2_000).map(|id| insert(time + id % 7, id));
        database.apply(old).unwrap();
        if merged {
            database.merge().unwrap();
        }
        database.apply([insert(time + 9_000, first - 1)]).unwrap();
        let snapshot = database.snapshot().unwrap();
        let stats = snapshot.stats().unwrap();
        assert_eq!(ids(&database), [first - 1]);
        assert_eq!(stats.documents, 1);
        assert!(stats.expired > 0);
        assert_eq!(stats.documents + stats.expired, snapshot.stored_len());
        let arrival = Some(Timestamp(time + 9_000));
        assert_eq!(
            (stats.oldest_arrival, stats.latest_arrival),
            (arrival, arrival)
        );
    }
    assert_sound(&mut database);
}
