//! Arrival times are stored, returned and copied by databases created with a retention.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime};

use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use simdb::{Builder, Change, Database, DocId, Document, Error, Outcome, Retention, Timestamp};
use test_support::engine::with_engine;
use test_support::{
    Model, SplitMix, assert_holds, assert_sound, builder, document, folder, window,
};

const TWO_DAYS: Retention = window(Duration::from_secs(2 * 24 * 60 * 60));

fn with_retention() -> Builder {
    // Any arrival, up to the latest that a file can hold.
    builder().retention(Retention {
        max_ahead: None,
        ..Retention::default()
    })
}

fn at(time: u64, id: u64, fingerprint: u64) -> Document {
    Document {
        arrival: Some(Timestamp(time)),
        ..document(id, fingerprint)
    }
}

/// Documents with seeded ids and seeded times, some of them equal.
fn arrived(seed: u64, count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(seed);
    (0..count)
        .map(|id| {
            let time = 1_700_000_000_000 + sequence.below(count / 2);
            at(time, id << 32 | sequence.below(1000), sequence.next())
        })
        .collect()
}

fn model_of(documents: &[Document]) -> Model {
    Model {
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents.iter().cloned())
}

fn load(mut load: simdb::bulk::BulkLoad<'_>, documents: impl IntoIterator<Item = Document>) {
    for document in documents {
        load.push(document).unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
}

fn now() -> Timestamp {
    SystemTime::now().into()
}

#[test]
fn retention_is_fixed_at_creation_and_read_from_the_file() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let sliding = |window| Retention {
        window,
        sliding: true,
        ..Retention::default()
    };
    let max_ahead = |max_ahead| Retention {
        max_ahead,
        ..TWO_DAYS
    };
    for retention in [
        Retention::default(),
        TWO_DAYS,
        sliding(None),
        sliding(Some(Duration::from_millis(1))),
        sliding(Some(Duration::from_millis(u64::MAX))),
        max_ahead(None),
        max_ahead(Some(Duration::ZERO)),
        max_ahead(Some(Duration::from_millis(1))),
    ] {
        drop(builder().retention(retention).create(&path).unwrap());
        let database = builder().open(&path).unwrap();
        assert_eq!(database.settings().retention, Some(retention));
        drop(database);
        std::fs::remove_file(&path).unwrap();
    }
    drop(builder().create(&path).unwrap());
    let database = builder().open(&path).unwrap();
    assert_eq!(database.settings().retention, None);
}

#[test]
fn unsupported_retention_window_is_refused() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    for length in [Duration::ZERO, Duration::from_micros(1), Duration::MAX] {
        let retention = window(length);
        let builder = builder().retention(retention);
        let refused = builder.clone().create(&path).unwrap_err();
        assert!(
            matches!(refused, Error::RetentionWindow { .. }),
            "{refused}"
        );
        assert!(builder.bulk_create(&path, 64 << 20).is_err());
    }
    assert!(test_support::names_in(folder.path()).is_empty());
}

#[test]
fn document_without_arrival_arrives_now() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let before = now();
    let mut database = with_retention().create(&path).unwrap();
    let (one, two) = (document(1, 1), document(2, 2));
    test_support::insert(&database, one);
    assert!(database.upsert(two.clone()).unwrap().is_inserted());
    let stored = two.fingerprint;
    assert_eq!(database.upsert(two).unwrap(), Outcome::Replaced { stored });
    load(database.bulk_load(64 << 20).unwrap(), [document(3, 3)]);
    let after = now();
    for document in database.snapshot().unwrap().documents() {
        let arrival = document.unwrap().arrival.unwrap();
        assert!((before..=after).contains(&arrival), "{arrival}");
    }
    assert_eq!(database.len().unwrap(), 3);
    assert_sound(&mut database);
}

#[test]
fn arrival_is_dropped_without_retention() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = builder().create(&path).unwrap();
    database.apply([Change::Insert(at(7, 1, 1))]).unwrap();
    load(database.bulk_load(64 << 20).unwrap(), [at(7, 2, 2)]);
    for id in [1, 2] {
        assert_eq!(database.get(DocId(id)).unwrap().unwrap().arrival, None);
    }
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert_eq!((stats.oldest_arrival, stats.latest_arrival), (None, None));
    assert!(stats.tables.iter().all(|table| table.name != "times"));
    assert_sound(&mut database);
}

#[test]
fn arrivals_survive_insert_upsert_and_remove() {
    let folder = folder();
    let mut database = with_retention()
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let arrival = |database: &Database, id| database.get(DocId(id)).unwrap().unwrap().arrival;
    database
        .apply([
            Change::Insert(at(50, 1, 1)),
            Change::Insert(at(0, 2, 2)),
            Change::Insert(at(u64::MAX, 3, 3)),
            Change::Insert(at(60, 4, 4)),
        ])
        .unwrap();
    database
        .apply([
            // Inserting the same document again keeps its arrival.
            Change::Insert(at(90, 1, 1)),
            Change::Upsert(at(70, 2, 2)),
            Change::Remove(DocId(3)),
            Change::Remove(DocId(4)),
            Change::Insert(at(40, 4, 4)),
        ])
        .unwrap();
    for (id, time) in [(1, 50), (2, 70), (4, 40)] {
        assert_eq!(arrival(&database, id), Some(Timestamp(time)));
    }
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert_eq!(stats.oldest_arrival, Some(Timestamp(40)));
    assert_eq!(stats.latest_arrival, Some(Timestamp(70)));
    database.merge().unwrap();
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert_eq!(stats.oldest_arrival, Some(Timestamp(40)));
    assert_eq!(stats.latest_arrival, Some(Timestamp(70)));
    for name in ["arrivals", "times"] {
        let table = stats.tables.iter().find(|table| table.name == name);
        assert_eq!(table.unwrap().entries, 3);
    }
    assert_sound(&mut database);
}

#[test]
fn bulk_load_in_any_id_order_keeps_arrivals() {
    let documents = arrived(1, 20_000);
    let mut shuffled = documents.clone();
    let mut sequence = SplitMix(2);
    for last in (1..shuffled.len()).rev() {
        shuffled.swap(last, sequence.below(last as u64 + 1) as usize);
    }
    // Ids ascend in the first half only.
    let mut half = documents.clone();
    half[10_000..].reverse();
    for order in [&documents, &shuffled, &half] {
        let folder = folder();
        let new = folder.path().join("new.simdb");
        load(
            with_retention().bulk_create(&new, 0).unwrap(),
            order.clone(),
        );
        let mut created = builder().open(&new).unwrap();
        let mut existing = with_retention()
            .create(folder.path().join("old.simdb"))
            .unwrap();
        let (first, second) = order.split_at(7_000);
        load(existing.bulk_load(0).unwrap(), first.to_vec());
        // Documents already stored keep their times.
        let again = first.iter().cloned().map(|document| Document {
            arrival: Some(Timestamp(5)),
            ..document
        });
        load(
            existing.bulk_load(0).unwrap(),
            again.chain(second.iter().cloned()),
        );
        for database in [&mut created, &mut existing] {
            assert_holds(&database.snapshot().unwrap(), &model_of(&documents));
            assert_sound(database);
        }
    }
}

#[test]
fn bulk_load_beyond_its_memory_keeps_arrivals() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    // A sort in the least memory holds 131,072 records of 24 bytes, so this load spills to runs.
    let mut documents = arrived(3, 400_000);
    documents.reverse();
    load(
        with_retention().bulk_create(&path, 0).unwrap(),
        documents.iter().cloned(),
    );
    let mut database = builder().open(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model_of(&documents));
    assert_sound(&mut database);
    drop(database);
    std::fs::remove_file(&path).unwrap();

    documents.reverse();
    load(
        with_retention().bulk_create(&path, 0).unwrap(),
        documents.iter().cloned(),
    );
    let mut database = builder().open(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &model_of(&documents));
    assert_sound(&mut database);
}

#[test]
fn bulk_load_of_duplicate_ids_keeps_first_arrival() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let pushed = [at(30, 9, 9), at(20, 5, 5), at(10, 5, 5), at(40, 9, 1)];
    load(with_retention().bulk_create(&path, 0).unwrap(), pushed);
    let mut database = builder().open(&path).unwrap();
    for (id, time) in [(5, 20), (9, 30)] {
        let arrival = database.get(DocId(id)).unwrap().unwrap().arrival;
        assert_eq!(arrival, Some(Timestamp(time)));
    }
    assert_sound(&mut database);
}

#[test]
fn backup_and_vacuum_keep_arrivals_and_settings() {
    let folder = folder();
    let (path, copy) = (
        folder.path().join("docs.simdb"),
        folder.path().join("copy.simdb"),
    );
    let documents = arrived(4, 3_000);
    let database = builder().retention(TWO_DAYS).create(&path).unwrap();
    database
        .apply(documents.iter().cloned().map(Change::Insert))
        .unwrap();
    database.backup(&copy).unwrap();
    drop(database);
    let identity = identity_of(&path);
    Database::vacuum(&path).unwrap();
    assert_eq!(identity_of(&path), identity);
    assert_ne!(identity_of(&copy), identity);
    for path in [&path, &copy] {
        let mut database = builder().open(path).unwrap();
        assert_eq!(database.settings().retention, Some(TWO_DAYS));
        assert_holds(&database.snapshot().unwrap(), &model_of(&documents));
        assert_sound(&mut database);
    }
}

const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");

fn identity_of(path: &Path) -> Vec<u8> {
    with_engine(path, |database| {
        let transaction = database.begin_read().unwrap();
        let meta = transaction.open_table(META).unwrap();
        let identity = meta.get("identity").unwrap().unwrap();
        identity.value().to_vec()
    })
}

const PAIRS: [TableDefinition<'static, u128, &[u8]>; 2] = [
    TableDefinition::new("arrivals"),
    TableDefinition::new("times"),
];

/// Replaces a table by the same table of another database.
fn replace_table(path: &Path, other: &Path, table: TableDefinition<'static, u128, &'static [u8]>) {
    with_engine(other, |source| {
        with_engine(path, |target| {
            let reading = source.begin_read().unwrap();
            let writing = target.begin_write().unwrap();
            writing.delete_table(table).unwrap();
            {
                let mut target = writing.open_table(table).unwrap();
                for row in reading.open_table(table).unwrap().iter().unwrap() {
                    let (fence, chunk) = row.unwrap();
                    target.insert(fence.value(), chunk.value()).unwrap();
                }
            }
            writing.commit().unwrap();
        });
    });
}

#[test]
fn inconsistent_arrival_tables_are_found_by_check() {
    let folder = folder();
    let (path, other) = (
        folder.path().join("docs.simdb"),
        folder.path().join("other.simdb"),
    );
    let create = |path: &Path, documents: &[Document]| {
        let database = with_retention().create(path).unwrap();
        let inserts = documents.iter().cloned().map(Change::Insert);
        database.apply(inserts).unwrap();
    };
    let check = |path: &Path| builder().open(path).unwrap().check().unwrap();
    // Each case takes one or both arrival tables from a database of slightly other documents, so
    // all checksums are right and only the comparison of tables can find the difference.
    let ours = [at(10, 1, 1), at(20, 2, 2), at(30, 3, 3)];
    let one_later = [at(10, 1, 1), at(25, 2, 2), at(30, 3, 3)];
    let one_less = [at(10, 1, 1), at(30, 3, 3)];
    let one_other = [at(10, 1, 1), at(20, 2, 2), at(30, 4, 3)];
    let latest = [at(10, 1, 1), at(20, 2, 2), at(31, 3, 3)];
    let cases: [(&[Document], &[usize], &[&str]); 5] = [
        (
            &one_later,
            &[0],
            &[
                "table arrivals holds document 2 at 1970-01-01T00:00:00.025Z, table times does not",
                "table times holds document 2 at 1970-01-01T00:00:00.020Z, table arrivals does not",
            ],
        ),
        (
            &one_less,
            &[1],
            &[
                "table arrivals holds document 2 at 1970-01-01T00:00:00.020Z, table times does not",
                "table times lacks document 2",
            ],
        ),
        (&one_less, &[0, 1], &["table times lacks document 2"]),
        (
            &one_other,
            &[0, 1],
            &[
                "table times lacks document 3",
                "table times holds document 4, table fingerprints does not",
            ],
        ),
        (
            &latest,
            &[0, 1],
            &[
                "the counters say that the latest arrival was at 1970-01-01T00:00:00.030Z; table \
               arrivals holds one at 1970-01-01T00:00:00.031Z",
            ],
        ),
    ];
    for (theirs, tables, expected) in cases {
        create(&path, &ours);
        create(&other, theirs);
        for table in tables {
            replace_table(&path, &other, PAIRS[*table]);
        }
        assert_eq!(check(&path), expected);
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&other).unwrap();
    }
}

#[test]
fn missing_arrival_is_reported_as_damage() {
    let folder = folder();
    let (path, other) = (
        folder.path().join("docs.simdb"),
        folder.path().join("other.simdb"),
    );
    let database = with_retention().create(&path).unwrap();
    database.apply([Change::Insert(at(1, 1, 1))]).unwrap();
    drop(database);
    drop(with_retention().create(&other).unwrap());
    replace_table(&path, &other, PAIRS[1]);
    let database = builder().open(&path).unwrap();
    let refused = database.get(DocId(1)).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    let documents: Result<Vec<_>, _> = database.snapshot().unwrap().documents().collect();
    assert!(matches!(documents, Err(Error::Corrupt { .. })));
}
