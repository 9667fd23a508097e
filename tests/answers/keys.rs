//! Databases with keys: keys are exact, ids are given by simdb, and every way to copy or load a
//! database keeps keys and fields. `model` compares random changes with a plain map.

use std::ops::ControlFlow;
use std::time::Duration;

use simdb::{Change, Database, DocId, DocRef, Document, Error, Fingerprint, Outcome};
use test_support::{
    INSERTED, Model, assert_holds, assert_sound, builder, document, documents, folder, key_of,
    keyed,
};

fn with_keys() -> simdb::Builder {
    builder().keep_texts(true).keys(true).fields(true)
}

/// Documents with keys and fields, some of them with texts, and the model of their database.
fn corpus(first: u64, count: u64) -> (Vec<Document>, Model) {
    let mut corpus = documents(first + 1, first, count);
    for document in &mut corpus {
        let has_text = !document.id.0.is_multiple_of(3);
        document.text = has_text.then(|| format!("the text of document {}", document.id));
    }
    let corpus: Vec<Document> = corpus.into_iter().map(keyed).collect();
    let mut model = Model {
        keeps_texts: true,
        keeps_fields: true,
        ..Model::default()
    };
    model.apply_all(corpus.iter().cloned().map(Change::Insert));
    (corpus, model)
}

#[test]
fn different_keys_are_different_documents() {
    let folder = folder();
    let database = with_keys()
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    let long = "k".repeat(1024);
    let keys = [
        "https://example.org/a",
        "https://example.org/b",
        "https://example.org/a ",
        "7",
        "07",
        // One letter, in two forms.
        "caf\u{e9}",
        "cafe\u{301}",
        "line\nbreak",
        "\0",
        uuid,
        &uuid.to_uppercase(),
        &long,
        &long[1..],
    ];
    for (number, key) in (1..).zip(keys) {
        let document = Document::new(key, Fingerprint::from_bits(number));
        assert_eq!(database.insert(document.clone()).unwrap(), INSERTED);
        let exists = Outcome::Exists {
            stored: document.fingerprint,
        };
        assert_eq!(database.insert(document).unwrap(), exists, "{key}");
    }
    let snapshot = database.snapshot().unwrap();
    for (number, key) in (1..).zip(keys) {
        assert_eq!(snapshot.id(key).unwrap(), Some(DocId(number)), "{key}");
        assert_eq!(snapshot.key(DocId(number)).unwrap().as_deref(), Some(key));
    }
    for unknown in ["https://example.org/", "8", "CAFE"] {
        assert!(!snapshot.contains(unknown).unwrap());
    }
}

#[test]
fn invalid_keys_and_long_fields_are_refused_by_name() {
    let folder = folder();
    let database = with_keys()
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let refused = |document: Document| database.insert(document).unwrap_err();
    for len_bytes in [0, 1025] {
        let key = "k".repeat(len_bytes);
        let error = refused(Document::new(key, Fingerprint::from_bits(1)));
        assert!(matches!(error, Error::InvalidKey { len_bytes: of } if of == len_bytes));
    }
    let error = refused(document(1, 1));
    assert!(
        matches!(error, Error::KeyMissing { id: DocId(1), .. }),
        "{error:?}"
    );
    let long = Document::new("a key", Fingerprint::from_bits(1)).with_fields(" ".repeat(65_537));
    let error = refused(long);
    assert!(
        error
            .to_string()
            .contains("document \"a key\" have 65537 bytes"),
        "{error}"
    );

    let path = folder.path().join("ids.simdb");
    let without = builder().create(&path).unwrap();
    let error = without.insert(Document::new("key", Fingerprint::from_bits(1)));
    assert!(matches!(error, Err(Error::KeepsNoKeys { .. })), "{error:?}");
    let error = without.remove("key");
    assert!(matches!(error, Err(Error::KeepsNoKeys { .. })), "{error:?}");
    let error = without.get("key");
    assert!(matches!(error, Err(Error::KeepsNoKeys { .. })), "{error:?}");
    drop(without);
    let error = with_keys().open(&path);
    assert!(
        matches!(error, Err(Error::SettingsMismatch { .. })),
        "{error:?}"
    );
}

#[test]
fn unknown_key_is_missing() {
    let folder = folder();
    let database = with_keys()
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    assert_eq!(database.remove("unknown").unwrap(), Outcome::Missing);
    let snapshot = database.snapshot().unwrap();
    assert_eq!(snapshot.get("unknown").unwrap(), None);
    let mut documents = snapshot.documents_from("unknown");
    let first = documents.next().unwrap();
    assert!(matches!(first, Err(Error::UnknownKey { .. })), "{first:?}");
    assert!(documents.next().is_none());
}

#[test]
fn id_of_removed_document_is_not_given_again() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut database = with_keys().create(&path).unwrap();
    let document = |key: &str| Document::new(key, Fingerprint::from_bits(1));
    for (id, key) in [(1, "a"), (2, "b"), (3, "a")] {
        assert_eq!(database.insert(document(key)).unwrap(), INSERTED);
        assert_eq!(
            database.snapshot().unwrap().id(key).unwrap(),
            Some(DocId(id))
        );
        let removed = database.remove(key).unwrap();
        assert!(matches!(removed, Outcome::Removed { .. }), "{removed:?}");
        assert_eq!(database.remove(DocId(id)).unwrap(), Outcome::Missing);
        drop(database);
        Database::vacuum(&path).unwrap();
        database = builder().open(&path).unwrap();
    }
    assert_sound(&mut database);
}

#[test]
fn bulk_load_and_inserts_make_equal_databases() {
    let folder = folder();
    let (corpus, model) = corpus(0, 3_000);
    let place = |name: &str| folder.path().join(name);
    // Some documents are pushed again, with the same fingerprint and with another one.
    let again = corpus.iter().step_by(10).cloned().map(|document| Document {
        fingerprint: match document.fingerprint.bits() % 2 {
            0 => document.fingerprint,
            _ => Fingerprint::from_bits(document.fingerprint.bits() ^ 2),
        },
        ..document
    });
    let again: Vec<Document> = again.collect();
    let present = again
        .iter()
        .filter(|document| document.fingerprint.bits() % 2 == 0);
    let present = present.count() as u64;
    let pushed = || corpus.iter().chain(&again).cloned();
    let finish = |mut load: simdb::bulk::BulkLoad<'_>, documents: Vec<Document>| {
        for document in documents {
            load.push(document).unwrap();
        }
        let mut conflicts = Vec::new();
        let report = load.finish(|conflict| {
            conflicts.push(conflict);
            ControlFlow::Continue(())
        });
        (report.unwrap(), conflicts)
    };

    let new = with_keys()
        .bulk_create(place("new.simdb"), 16 << 20)
        .unwrap();
    let (report, conflicts) = finish(new, pushed().collect());
    assert_eq!((report.inserted, report.present), (3_000, present));
    assert_eq!(report.conflicts, again.len() as u64 - present);
    for conflict in conflicts {
        let pushed = &again[conflict.position as usize - corpus.len()];
        let stored = &model.documents[&conflict.id];
        assert_eq!(
            (&pushed.key, conflict.stored),
            (&stored.key, stored.fingerprint)
        );
    }

    let existing = with_keys().create(place("existing.simdb")).unwrap();
    existing
        .apply(corpus[..1_000].iter().cloned().map(Change::Insert))
        .unwrap();
    let load = existing.bulk_load(16 << 20).unwrap();
    let (report, _) = finish(load, pushed().collect());
    assert_eq!((report.inserted, report.present), (2_000, 1_000 + present));
    drop(existing);

    for name in ["new.simdb", "existing.simdb"] {
        let mut database = builder().open(place(name)).unwrap();
        let snapshot = database.snapshot().unwrap();
        assert_eq!(snapshot.len().unwrap(), 3_000);
        for expected in model.documents.values() {
            let key = expected.key.as_deref().unwrap();
            let stored = snapshot.get(key).unwrap().unwrap();
            let id = stored.id;
            assert_eq!(
                stored,
                Document {
                    id,
                    ..expected.clone()
                },
                "{name}"
            );
        }
        if name == "new.simdb" {
            assert_holds(&snapshot, &model);
        }
        drop(snapshot);
        assert_sound(&mut database);
        let last = documents_of(&database).last().unwrap().id;
        let next = Document::new("another", Fingerprint::from_bits(7));
        assert_eq!(database.insert(next).unwrap(), INSERTED);
        let id = database.snapshot().unwrap().id("another").unwrap();
        assert!(id > Some(last), "{id:?} after {last}");
    }
}

fn documents_of(database: &Database) -> Vec<Document> {
    let snapshot = database.snapshot().unwrap();
    snapshot.documents().map(Result::unwrap).collect()
}

#[test]
fn backup_and_salvage_keep_ids_keys_and_fields() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let (corpus, mut model) = corpus(0, 2_000);
    let database = with_keys().create(place("docs.simdb")).unwrap();
    database
        .apply(corpus[..1_500].iter().cloned().map(Change::Insert))
        .unwrap();
    database.merge().unwrap();
    // In the journal only.
    database
        .apply(corpus[1_500..].iter().cloned().map(Change::Insert))
        .unwrap();
    for id in (0..2_000).step_by(7).map(DocId) {
        let removal = Change::remove(key_of(id));
        assert_eq!(
            database.apply_one(removal.clone()).unwrap(),
            model.apply(removal)
        );
    }
    database.backup(place("backup.simdb")).unwrap();
    test_support::copy_open(&place("docs.simdb"), &place("open.simdb"));
    let found = builder()
        .salvage(place("open.simdb"), place("saved.simdb"), 16 << 20)
        .unwrap();
    assert_eq!(found.documents, model.documents.len() as u64);
    for name in ["backup.simdb", "saved.simdb"] {
        let mut copy = builder().open(place(name)).unwrap();
        assert_holds(&copy.snapshot().unwrap(), &model);
        assert_sound(&mut copy);
    }
}

#[test]
fn unique_load_keeps_the_first_document_of_a_key() {
    let folder = folder();
    let database = with_keys()
        .similar(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let document = |key: &str, text: &str| database.document(key, text).unwrap();
    let ferry = "The ferry to the islands was cancelled because of fog.";
    let opera = "The opera opened its season with a work of a young composer.";
    assert_eq!(
        database.insert(document("stored", ferry)).unwrap(),
        INSERTED
    );
    let load = database.bulk_load(16 << 20).unwrap();
    let mut load = load.unique(simdb::SimilarRule::default()).unwrap();
    let pushed = vec![
        document(
            "copy",
            "The ferry to the islands was canceled because of fog!",
        ),
        document("stored", opera),
        document("opera", opera),
        document(
            "opera",
            "A text about something else under a key that is taken.",
        ),
        document(
            "copy",
            "A longer text, which no other text covers, under that key.",
        ),
    ];
    let outcomes = load.decide(pushed).unwrap();
    assert!(matches!(&outcomes[0], Outcome::Similar(of) if of.id == DocId(1)));
    assert!(matches!(&outcomes[1], Outcome::Exists { .. }));
    assert!(outcomes[2].is_inserted());
    assert!(matches!(&outcomes[3], Outcome::Exists { .. }));
    assert!(outcomes[4].is_inserted());
    let report = load.into_load().unwrap();
    let report = report.finish(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.inserted, 2);
    let mut keys: Vec<_> = documents_of(&database)
        .into_iter()
        .map(|stored| stored.key)
        .collect();
    keys.sort();
    assert_eq!(
        keys,
        ["copy", "opera", "stored"].map(|key| Some(key.to_owned()))
    );
}

#[test]
fn unique_documents_are_decided_by_key_and_by_text() {
    let folder = folder();
    let database = with_keys()
        .similar(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let text = "The ferry to the islands was cancelled because of fog.";
    let edited = "The ferry to the islands was canceled because of fog!";
    let rule = simdb::SimilarRule::default();
    let insert = |key: &str, text: &str| {
        let document = database.document(key, text).unwrap();
        database.insert_unless_similar(document, rule).unwrap()
    };
    assert_eq!(insert("a", text), INSERTED);
    assert!(matches!(insert("a", edited), Outcome::Exists { .. }));
    let Outcome::Similar(similar) = insert("b", edited) else {
        panic!("the copy was inserted");
    };
    assert_eq!(similar.id, DocId(1));
    // A refused document leaves no key, and takes no id.
    assert!(!database.contains("b").unwrap());
    assert_eq!(
        insert(
            "c",
            "Another text, about quite another matter than ferries."
        ),
        INSERTED
    );
    assert_eq!(
        database.snapshot().unwrap().id("c").unwrap(),
        Some(DocId(2))
    );
    let DocRef::Key(key) = Change::remove("c").doc_ref() else {
        panic!("no key");
    };
    assert_eq!(key, "c");
}

#[test]
fn expired_key_gets_a_new_id_before_and_after_its_document_is_removed() {
    let folder = folder();
    let creating = with_keys().retention(test_support::window(Duration::from_millis(100)));
    let mut database = creating.create(folder.path().join("docs.simdb")).unwrap();
    let insert = |database: &Database, key: &str, arrival: u64| {
        let document = Document::new(key, Fingerprint::from_bits(arrival)).with_arrival(arrival);
        assert_eq!(database.insert(document).unwrap(), INSERTED);
        database.snapshot().unwrap().id(key).unwrap().unwrap().0
    };
    // The first document is expired, and still in the memtable or in the tables.
    assert_eq!(insert(&database, "a", 1_000), 1);
    assert_eq!(insert(&database, "a", 1_200), 2);
    database.merge().unwrap();
    assert_eq!(insert(&database, "a", 1_400), 3);
    // In one batch with the change that expires the document.
    let documents = ["b", "a"].map(|key| {
        let document = Document::new(key, Fingerprint::from_bits(7)).with_arrival(1_600);
        Change::Upsert(document)
    });
    assert_eq!(database.apply(documents).unwrap(), [INSERTED, INSERTED]);
    let snapshot = database.snapshot().unwrap();
    let stored: Vec<_> = snapshot.documents().map(Result::unwrap).collect();
    let stored: Vec<_> = stored
        .iter()
        .map(|one| (one.id.0, one.key.as_deref().unwrap()))
        .collect();
    assert_eq!(stored, [(4, "b"), (5, "a")]);
    drop(snapshot);
    assert_sound(&mut database);
    assert_eq!(insert(&database, "c", 1_600), 6);
}

#[test]
fn change_that_is_not_stored_removes_no_document_of_its_key() {
    let folder = folder();
    let creating = with_keys().retention(test_support::window(Duration::from_millis(100)));
    let database = creating.create(folder.path().join("docs.simdb")).unwrap();
    let arriving = |key: &str, bits, arrival: u64| {
        Document::new(key, Fingerprint::from_bits(bits)).with_arrival(arrival)
    };
    assert_eq!(database.insert(arriving("a", 1, 1_000)).unwrap(), INSERTED);
    assert_eq!(
        database.insert(arriving("b", u64::MAX, 1_090)).unwrap(),
        INSERTED
    );
    // As of its arrival document `a` is expired, and the document repeats `b`. It is not stored, so
    // its arrival does not count.
    let outcome = database
        .insert_unique(arriving("a", u64::MAX, 1_150), 3)
        .unwrap();
    assert!(matches!(outcome, Outcome::Duplicate(_)), "{outcome}");
    let stored = database.get("a").unwrap().unwrap();
    assert_eq!((stored.id, stored.fingerprint.bits()), (DocId(1), 1));
}
