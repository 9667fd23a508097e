//! Tables with right checksums and inconsistent contents: `check` reports each inconsistency.

use std::path::Path;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use simdb::{Change, Database, DocId, Document, Error, Fingerprint, Outcome};

use crate::corpus::replace_setting;
use test_support::{builder, documents, engine::with_engine, folder};

/// Key type of a table.
trait TableKey: redb::Key + for<'k> redb::Value<SelfType<'k> = Self> + 'static {}

impl TableKey for u64 {}
impl TableKey for u128 {}

/// Every row of a table.
fn rows_of<K: TableKey>(path: &Path, table: &str) -> Vec<(K, Vec<u8>)> {
    with_engine(path, |database| {
        let transaction = database.begin_read().unwrap();
        let table = TableDefinition::<K, &[u8]>::new(table);
        let table = transaction.open_table(table).unwrap();
        let rows = table.iter().unwrap().map(|row| {
            let (fence, bytes) = row.unwrap();
            (fence.value(), bytes.value().to_vec())
        });
        rows.collect()
    })
}

/// Replaces all rows of a table.
fn replace_rows<K: TableKey>(path: &Path, table: &str, rows: &[(K, Vec<u8>)]) {
    with_engine(path, |database| {
        let transaction = database.begin_write().unwrap();
        {
            let table = TableDefinition::<K, &[u8]>::new(table);
            transaction.delete_table(table).unwrap();
            let mut table = transaction.open_table(table).unwrap();
            for (fence, bytes) in rows {
                table.insert(fence, bytes.as_slice()).unwrap();
            }
        }
        transaction.commit().unwrap();
    });
}

/// Copies a table of one file over that of another.
fn exchange<K: TableKey>(from: &Path, to: &Path, table: &str) {
    replace_rows::<K>(to, table, &rows_of(from, table));
}

#[test]
fn damaged_frames_are_found_by_check_and_learned_anew_by_salvage() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().similar(true).frames(5).create(&path).unwrap();
    let line = "The Northern Herald brings the islands together every morning.";
    for id in 1..30_u64 {
        let text = format!(
            "{line}\nHarbour {id} lost {id} boats, {id} nets and pier {id} near cape {id}."
        );
        let inserted = database.insert(database.document(id, &text).unwrap());
        assert!(inserted.unwrap().is_inserted());
    }
    let frames = |database: &Database| {
        let frames = database.frames().unwrap();
        frames
            .iter()
            .map(|frame| frame.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(frames(&database), [line]);
    database.close().unwrap();
    let rows = TableDefinition::<&str, &[u8]>::new("frames");
    with_engine(&path, |engine| {
        let transaction = engine.begin_write().unwrap();
        {
            let mut table = transaction.open_table(rows).unwrap();
            let row = |row: u8| format!("frames-{row:02x}");
            let stored = (0..=255)
                .find(|at| table.get(&*row(*at)).unwrap().is_some())
                .unwrap();
            table
                .insert(&*row(stored), &b"\0\0\0\0damaged"[..])
                .unwrap();
        }
        transaction.commit().unwrap();
    });
    let database = Database::open(&path).unwrap();
    let damage = database.check().unwrap();
    assert!(
        damage.len() == 1 && damage[0].contains("of table frames is damaged"),
        "{damage:?}"
    );
    let text = format!("{line}\nA new story.");
    assert!(matches!(
        database.text_query(&text),
        Err(Error::Corrupt { .. })
    ));
    // The documents can be read and written.
    let inserted = database.insert(database.document(99, &text).unwrap());
    assert!(inserted.unwrap().is_inserted());
    database.close().unwrap();
    let saved = folder.path().join("saved.simdb");
    builder().salvage(&path, &saved, 64 << 20).unwrap();
    let database = Database::open(&saved).unwrap();
    assert_eq!(frames(&database), [line]);
    assert_eq!(database.check().unwrap(), [""; 0]);
}

#[test]
fn inconsistent_tables_are_found_by_check() {
    let folder = folder();
    let database_of = |name: &str, change: &dyn Fn(&mut Vec<Document>)| {
        let path = folder.path().join(name);
        let mut documents = documents(6, 0, 1_000);
        for document in &mut documents {
            document.reliable = document.id.0 % 5 != 0;
        }
        change(&mut documents);
        let database = builder().create(&path).unwrap();
        let inserts = documents.into_iter().map(Change::Insert);
        database.apply(inserts).unwrap();
        database.close().unwrap();
        path
    };
    let sound = database_of("sound", &|_| {});
    // Each database differs from `sound` in one respect. Its tables have right checksums, so an
    // exchanged table is found only by comparison with the others.
    let another = database_of("another", &|documents| {
        documents[7].fingerprint = Fingerprint::from_bits(0x1234_5678_9abc_def0);
    });
    let doubtful = database_of("doubtful", &|documents| documents[8].reliable = false);
    let fewer = database_of("fewer", &|documents| drop(documents.remove(10)));
    let many = database_of("many", &|documents| {
        for document in documents.iter_mut().step_by(2) {
            document.fingerprint = Fingerprint::from_bits(!document.fingerprint.bits());
        }
    });
    type Exchange = fn(&Path, &Path, &str);
    let (long, short): (Exchange, Exchange) = (exchange::<u128>, exchange::<u64>);
    for (from, table, exchange, said) in [
        (&sound, "block0", long, &[][..]),
        (
            &another,
            "fingerprints",
            long,
            &[
                "lacks document 7 with 123456789abcdef0",
                "block0 holds document 7 with",
            ],
        ),
        (
            &another,
            "block0",
            long,
            &[
                "holds document 7 with 123456789abcdef0",
                "block0 lacks document 7 with",
            ],
        ),
        (
            &another,
            "block1",
            short,
            &["block1 lacks fingerprint", "block1 holds 123456789abcdef0"],
        ),
        (
            &another,
            "block2",
            short,
            &["block2 lacks fingerprint", "block2 holds 123456789abcdef0"],
        ),
        (
            &another,
            "block3",
            short,
            &["block3 lacks fingerprint", "block3 holds 123456789abcdef0"],
        ),
        (
            &doubtful,
            "unreliable",
            short,
            &["block0 holds document 8 with"],
        ),
        (&doubtful, "block0", long, &["block0 lacks document 8 with"]),
        (
            &fewer,
            "fingerprints",
            long,
            &[
                "unreliable holds document 10, table fingerprints does not",
                "hold 999",
            ],
        ),
        (&many, "block0", long, &["block0 lacks document 2 with"]),
        (&many, "block2", short, &["block2 lacks fingerprint"]),
    ] {
        let path = folder.path().join("docs.simdb");
        std::fs::copy(&sound, &path).unwrap();
        exchange(from, &path, table);
        let database = builder().open(&path).unwrap();
        let damage = database.check().unwrap();
        assert_eq!(damage.is_empty(), said.is_empty(), "{table}: {damage:?}");
        // The report is bounded, however much is wrong.
        assert!(damage.len() < 100, "{}", damage.len());
        for said in said {
            assert!(damage.concat().contains(said), "{said}: {damage:?}");
        }
    }
}

#[test]
fn forest_that_contradicts_texts_is_found_by_check() {
    let folder = folder();
    let rows_with = |name: &str, texts: &dyn Fn(u64) -> Option<String>| {
        let path = folder.path().join(name);
        let database = builder().similar(true).create(&path).unwrap();
        let mut documents = documents(5, 0, 200);
        for document in &mut documents {
            document.text = texts(document.id.0);
        }
        let inserts = documents.into_iter().map(Change::Insert);
        database.apply(inserts).unwrap();
        database.close().unwrap();
        rows_of::<u128>(&path, "forest")
    };
    let text = |id: u64| {
        Some(format!(
            "this is the text of document {id}, and of no other one"
        ))
    };
    rows_with("docs.simdb", &text);
    let without_one = rows_with("less", &|id| text(id).filter(|_| id != 7));
    let with_another = rows_with("other", &|id| match id {
        9 => Some("something else altogether that nobody has said before".to_owned()),
        id => text(id),
    });
    let none = rows_with("none", &|_| None);
    let path = folder.path().join("docs.simdb");
    let sound = rows_of::<u128>(&path, "forest");
    assert!(sound.len() > 5);
    for (rows, said) in [
        (&sound, ""),
        (&without_one, "table forest lacks document 7"),
        (&with_another, "table forest lacks document 9"),
        (&none, "it has 0 entries"),
    ] {
        replace_rows(&path, "forest", rows);
        let damage = builder().open(&path).unwrap().check().unwrap();
        assert_eq!(damage.is_empty(), said.is_empty(), "{damage:?}");
        assert!(damage.iter().all(|what| what.contains("table forest")));
        assert!(damage.concat().contains(said), "{damage:?}");
    }
    // One row too many: a forest key of a document without a text.
    let rows = rows_with("more", &|id| text(id).filter(|_| id != 11));
    assert_ne!(rows, sound);
    let path = folder.path().join("more");
    replace_rows(&path, "forest", &sound);
    let damage = builder().open(&path).unwrap().check().unwrap();
    assert!(
        damage.concat().contains("table forest holds document 11"),
        "{damage:?}"
    );
}

#[test]
fn copies_that_contradict_records_are_found_by_check() {
    let folder = folder();
    let database_of = |name: &str, refused: &[(u64, u64)]| {
        let path = folder.path().join(name);
        let database = builder().copies(2).create(&path).unwrap();
        for stored in documents(6, 0, 40) {
            test_support::insert(&database, stored);
        }
        for (copy, of) in refused {
            let original = database.get(*of).unwrap().unwrap();
            let copy = Document::new(*copy, original.fingerprint).with_arrival(7);
            let outcome = database.insert_unique(copy, 0).unwrap();
            assert!(matches!(outcome, Outcome::Duplicate(_)), "{outcome}");
        }
        database.close().unwrap();
        path
    };
    let sound = database_of("sound", &[(100, 3), (101, 3), (102, 5)]);
    let others = [
        (&sound, "copied", &[][..]),
        (&sound, "refused", &[]),
        (
            &database_of("less", &[(100, 3), (101, 3)]),
            "copied",
            &["it has 1 entries, table texts makes 2"],
        ),
        (
            &database_of("more", &[(100, 3), (101, 3), (102, 5), (103, 7)]),
            "copied",
            &["holds document 7 with copies of another number or time"],
        ),
        (
            &database_of("fewer copies", &[(100, 3), (102, 5)]),
            "copied",
            &["holds document 3 with copies of another number or time"],
        ),
        (
            &database_of("fewer refusals", &[(100, 3), (102, 5)]),
            "refused",
            &["table refused lacks document 101, a copy of document 3"],
        ),
    ];
    for (from, table, said) in others {
        let path = folder.path().join("docs.simdb");
        std::fs::copy(&sound, &path).unwrap();
        exchange::<u128>(from, &path, table);
        let damage = builder().open(&path).unwrap().check().unwrap();
        assert_eq!(damage.is_empty(), said.is_empty(), "{table}: {damage:?}");
        assert!(damage.iter().all(|what| what.contains(table)), "{damage:?}");
        for said in said {
            assert!(damage.concat().contains(said), "{said}: {damage:?}");
        }
    }
}

#[test]
fn wrong_counters_are_found_by_check() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    test_support::insert(
        &builder().create(&path).unwrap(),
        test_support::document(1, 1),
    );
    for counter in 0..6 {
        let mut counters = [1_u64, 1, 0, 0, 1, 0];
        counters[counter] += 1;
        // A database without texts and arrivals counts none, and commits leave no other trace: skip
        // these three counters.
        let is_compared = counter < 3;
        let bytes: Vec<u8> = counters.into_iter().flat_map(u64::to_le_bytes).collect();
        replace_setting(&path, "counters", Some(&bytes));
        let damage = builder().open(&path).unwrap().check().unwrap();
        assert_eq!(damage.len(), usize::from(is_compared), "{damage:?}");
    }
    // An underflowing counter, with a change that is not flushed yet.
    let none: Vec<u8> = [0_u64; 6].into_iter().flat_map(u64::to_le_bytes).collect();
    replace_setting(&path, "counters", Some(&none));
    let database = builder().open(&path).unwrap();
    let removed = database.remove(DocId(1));
    let stats = database.snapshot().and_then(|snapshot| snapshot.stats());
    assert!(
        matches!(stats, Err(Error::Corrupt { .. })),
        "{removed:?}, {stats:?}"
    );
}
