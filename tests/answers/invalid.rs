//! Arguments that are not possible are refused with an error, and change nothing.

use std::ops::ControlFlow;
use std::path::Path;

use simdb::clusters::Clustering;
use simdb::error::ForeignFile;
use simdb::similarity::Likeness;
use simdb::{Change, Database, DocId, Document, Error, Fingerprint, SimilarRule};
use test_support::{builder, folder};

const FINGERPRINT: Fingerprint = Fingerprint::from_bits(7);

fn stored(folder: &Path) -> Database {
    let database = builder()
        .similar(true)
        .create(folder.join("docs.simdb"))
        .unwrap();
    let text = "The ferry to the islands was cancelled due to heavy fog.";
    test_support::insert_text(&database, 1, text);
    database
}

#[test]
fn radius_above_64_is_refused_by_every_call() {
    let folder = folder();
    let database = stored(folder.path());
    let snapshot = database.snapshot().unwrap();
    let document = Document::new(DocId(2), FINGERPRINT);
    let clustering = |radius| Clustering {
        radius,
        ..Clustering::default()
    };
    for radius in [65, 1000, u32::MAX] {
        let unique = || Change::InsertUnique {
            document: document.clone(),
            radius,
        };
        let similar = snapshot.similar(&database.text_query("text").unwrap().radius(radius));
        let refused = [
            database.within(FINGERPRINT, radius).map(drop),
            database.within_batch(&[], radius).map(drop),
            snapshot.within(FINGERPRINT, radius).map(drop),
            snapshot.within_limit(FINGERPRINT, radius, 1).map(drop),
            snapshot.within_batch(&[FINGERPRINT], radius).map(drop),
            snapshot.within_batch_with(&[FINGERPRINT], radius, 1, |_, _| ControlFlow::Break(())),
            snapshot.pairs(radius, |_| ControlFlow::Break(())),
            snapshot.document_pairs(radius, |_| ControlFlow::Break(())),
            snapshot.clusters(&clustering(radius), |_| ControlFlow::Break(())),
            snapshot.clusters_by_score(&clustering(radius), |_| 0.0, |_| ControlFlow::Break(())),
            similar.map(drop),
            database
                .insert_unique(Document::new(2, FINGERPRINT), radius)
                .map(drop),
            database
                .insert_unique(database.document(2, "a text").unwrap(), radius)
                .map(drop),
            database.apply([unique()]).map(drop),
            database.submit([unique()]).map(drop),
            database.begin().unwrap().apply([unique()]).map(drop),
        ];
        for (call, refused) in refused.into_iter().enumerate() {
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, Error::InvalidRadius { radius: named } if named == radius),
                "call {call}: {refused:?}"
            );
        }
    }
    assert!(snapshot.within(FINGERPRINT, 64).is_ok());
    assert_eq!(database.get(DocId(2)).unwrap(), None);
}

#[test]
fn threshold_that_is_not_from_0_to_1_is_refused_by_every_call() {
    let folder = folder();
    let database = stored(folder.path());
    let snapshot = database.snapshot().unwrap();
    for value in [f64::NAN, 2.0, -1.0, f64::INFINITY, 1.0 + f64::EPSILON] {
        let usual = Likeness::default();
        for (measure, likeness) in [
            (
                "edit_similarity",
                Likeness {
                    edit_similarity: value,
                    ..usual
                },
            ),
            (
                "jaccard",
                Likeness {
                    jaccard: value,
                    ..usual
                },
            ),
        ] {
            let mut document = database
                .document(DocId(2), "another text of some words")
                .unwrap();
            document.text.get_or_insert_default();
            let change = || Change::InsertUnlessSimilar {
                document: document.clone(),
                rule: SimilarRule {
                    likeness,
                    ..SimilarRule::default()
                },
            };
            let query = database.text_query("text").unwrap().likeness(likeness);
            let clustering = Clustering {
                likeness: Some(likeness),
                ..Clustering::default()
            };
            for refused in [
                snapshot.similar(&query).map(drop),
                snapshot.clusters(&clustering, |_| ControlFlow::Break(())),
                snapshot.clusters_by_score(&clustering, |_| 0.0, |_| ControlFlow::Break(())),
                database.apply([change()]).map(drop),
                database.begin().unwrap().apply([change()]).map(drop),
            ] {
                let refused = refused.unwrap_err();
                assert!(
                    matches!(refused, Error::InvalidLikeness { measure: named, .. } if named == measure),
                    "{refused:?}"
                );
                assert!(refused.to_string().contains("from 0 to 1"), "{refused}");
            }
        }
    }
    assert_eq!(database.get(DocId(2)).unwrap(), None);
}

#[test]
fn query_for_no_documents_is_refused() {
    let folder = folder();
    let database = stored(folder.path());
    let snapshot = database.snapshot().unwrap();
    for refused in [
        database.nearest(FINGERPRINT, 0).map(drop),
        snapshot.nearest(FINGERPRINT, 0).map(drop),
        snapshot.within_limit(FINGERPRINT, 3, 0).map(drop),
        snapshot.within_batch_with(&[FINGERPRINT], 3, 0, |_, _| ControlFlow::Break(())),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::ZeroLimit), "{refused:?}");
    }
}

#[test]
fn each_kind_of_foreign_file_has_its_own_sentence() {
    let folder = folder();
    let folder = folder.path();
    let database = stored(folder);
    let journal = folder.join("copy-of-journal");
    let journals = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for path in journals {
        if std::fs::read(&path)
            .unwrap_or_default()
            .starts_with(b"simdbjnl")
        {
            std::fs::copy(&path, &journal).unwrap();
        }
    }
    drop(database);
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let redb = folder.join("other.redb");
    drop(redb::Database::create(&redb).unwrap());
    let mut sqlite = b"SQLite format 3\0".to_vec();
    sqlite.resize(4096, 0);
    let text = "id,text\n1,一篇文章\n".repeat(1000);
    let mut sentences = Vec::new();
    for (path, kind, said) in [
        (folder.to_path_buf(), ForeignFile::Folder, "it is a folder"),
        (file("empty", b""), ForeignFile::Empty, "it is empty"),
        (redb, ForeignFile::Redb, "a plain redb file"),
        (
            file("sqlite", &sqlite),
            ForeignFile::Sqlite,
            "an SQLite database",
        ),
        (
            file("text", text.as_bytes()),
            ForeignFile::Text,
            "a text file",
        ),
        (
            file("zip", b"PK\x03\x04\0\0\0"),
            ForeignFile::Other,
            "does not begin with",
        ),
        (journal, ForeignFile::Journal, "the journal of a database"),
    ] {
        let opened = [
            Database::open(&path).unwrap_err(),
            Database::open_read_only(&path).unwrap_err(),
        ];
        for refused in opened {
            let shown = refused.to_string();
            assert!(
                matches!(refused, Error::NotADatabase { found, .. } if found == kind),
                "{refused:?}"
            );
            assert!(shown.contains(said), "{shown}");
            assert!(
                shown.ends_with(&refused.advice().unwrap().to_string()),
                "{shown}"
            );
            sentences.push(shown.replace(path.to_str().unwrap(), ""));
        }
    }
    sentences.sort();
    sentences.dedup();
    assert_eq!(sentences.len(), 7);
}

#[test]
fn empty_path_is_refused_as_such() {
    let folder = folder();
    for refused in [
        Database::create("").map(drop),
        Database::open("").map(drop),
        Database::open_read_only("").map(drop),
        builder().open_or_create("").map(drop),
        Database::vacuum("").map(drop),
        builder()
            .salvage("", folder.path().join("saved"), 16 << 20)
            .map(drop),
        stored(folder.path()).backup(""),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::EmptyPath), "{refused:?}");
    }
}
