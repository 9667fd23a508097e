//! Every operation of the API on an arbitrary file: each one must succeed or return an error.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simdb::{
    Builder, Change, Database, DocId, DocRef, Document, Error, Fingerprint, Snapshot, Timestamp,
};

use super::memory::MemoryDisk;
use crate::{document, keyed};

/// No tested file has this many documents, so a longer iteration is an endless loop.
const MOST_DOCUMENTS: usize = 1 << 20;

/// The path of the file. Its folder exists, though the file is in memory.
pub fn path() -> PathBuf {
    std::env::temp_dir().join("docs.simdb")
}

pub fn builder(disk: &MemoryDisk) -> Builder {
    Database::builder()
        .cache_bytes(4 << 20)
        .disk(Arc::new(disk.clone()))
}

/// Runs every query and every change on the file.
pub fn everything(disk: &MemoryDisk) {
    let path = path();
    let before = disk.contents();
    let read = builder(disk).open_read_only(&path).map(|database| {
        let snapshot = answered(database.snapshot())?;
        read_all(&database, &snapshot)
    });
    let found = answered(read).flatten();
    assert!(disk.contents() == before, "reading has written");
    salvage(disk, &path);
    for (path, bytes) in &before {
        assert!(
            disk.contents().get(path) == Some(bytes),
            "salvage has written"
        );
    }
    let opened = answered(builder(disk).open(&path));
    assert!(
        opened.is_some() || found.is_none(),
        "it can be read and not be opened for writing"
    );
    if let Some(database) = opened {
        let is_sound = answered(database.check()).is_some_and(|damage| damage.is_empty());
        if is_sound && let Some(found) = found {
            let snapshot = database.snapshot().unwrap();
            assert_same(&found, &read_all(&database, &snapshot).unwrap());
        }
        write(&database);
        let closed = answered(database.close()).is_some();
        assert!(closed || !is_sound, "a sound file cannot be written");
    }
    let again = answered(builder(disk).open(&path));
    drop(again);
    answered(builder(disk).vacuum(&path));
}

/// The contents of the database, for comparison; `None` after an error.
pub fn read_all(database: &Database, snapshot: &Snapshot) -> Option<Vec<Document>> {
    let mut is_read = true;
    let mut documents = Vec::new();
    for (number, found) in snapshot.documents().enumerate() {
        assert!(number < MOST_DOCUMENTS, "documents without end");
        match answered(found) {
            Some(found) => documents.push(found),
            None => {
                is_read = false;
                break;
            }
        }
    }
    let mut queries = vec![Fingerprint::from_bits(0), Fingerprint::from_bits(u64::MAX)];
    for known in documents.iter().step_by(documents.len() / 8 + 1) {
        is_read &= answered(snapshot.get(known.id)).is_some();
        is_read &= answered(snapshot.key(known.id)).is_some();
        if let Some(key) = &known.key {
            is_read &= answered(snapshot.id(key)).is_some();
        }
        if let Some(scope) = &known.scope
            && let Some(snapshot) = answered(snapshot.in_scopes([scope]))
        {
            is_read &= answered(snapshot.within(known.fingerprint, 3)).is_some();
        }
        queries.push(Fingerprint::from_bits(
            known.fingerprint.bits() ^ 0x8000_0001,
        ));
        if let Some(text) = &known.text
            && let Some(query) = answered(database.text_query(text))
        {
            is_read &= answered(snapshot.similar(&query)).is_some();
        }
    }
    for query in &queries {
        for radius in [0, 3, 6, 64] {
            is_read &= answered(snapshot.within(*query, radius)).is_some();
        }
        is_read &= answered(snapshot.nearest(*query, 3)).is_some();
        is_read &= answered(snapshot.within_limit(*query, 9, 2)).is_some();
    }
    is_read &= answered(snapshot.within_batch(&queries, 4)).is_some();
    is_read &= answered(snapshot.get(DocId(u64::MAX))).is_some();
    is_read &= answered(snapshot.last_id()).is_some();
    if database.settings().copies.is_some() {
        is_read &= answered(snapshot.most_copied(10, None)).is_some();
        is_read &= answered(snapshot.most_copied(1_000, Some(Timestamp(1)))).is_some();
    }
    is_read &= answered(snapshot.count_older(Timestamp(u64::MAX))).is_some();
    is_read &= answered(snapshot.stats()).is_some();
    is_read &= answered(snapshot.diagnose()).is_some();
    is_read &= answered(snapshot.len()).is_some() & answered(snapshot.is_empty()).is_some();
    let _ = snapshot.now();
    is_read.then_some(documents)
}

/// A file without reported damage has the same contents for a reader and a writer.
fn assert_same(read: &[Document], written: &[Document]) {
    let differing = read
        .iter()
        .zip(written)
        .find(|(read, written)| read != written);
    assert!(differing.is_none(), "{differing:?}");
    assert_eq!(read.len(), written.len());
}

/// A salvaged database is sound.
fn salvage(disk: &MemoryDisk, path: &Path) {
    let saved = path.with_file_name("saved.simdb");
    let builder = || builder(disk);
    let found = match builder().salvage(path, &saved, 16 << 20) {
        Err(error) if error.to_string().contains("name the recipe") => {
            let named = builder().recipe(simdb::Recipe::ngram()).similar(true);
            named.salvage(path, &saved, 16 << 20)
        }
        found => found,
    };
    let Some(found) = answered(found) else { return };
    let database = builder().open(&saved).unwrap();
    assert_eq!(database.len().unwrap(), found.documents);
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
}

/// Changes of every kind. Each may fail.
fn write(database: &Database) {
    let (has_keys, has_scopes) = (database.settings().keys, database.settings().scopes);
    let new = |id: u64| {
        let mut new = document(id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if has_keys {
            new = keyed(new);
        }
        Document {
            text: Some(format!("what was written into the file as document {id}")),
            arrival: Some(Timestamp(1_700_000_000_000 + id % 9)),
            scope: has_scopes.then(|| format!("scope {}", id % 5 + 1)),
            ..new
        }
    };
    answered(database.apply([3, 7_000, u64::MAX].map(|id| Change::Upsert(new(id)))));
    let unique = |id: u64| Change::InsertUnique {
        document: new(id),
        radius: 3,
    };
    answered(database.apply([
        unique(8_000),
        // A copy of document 8,000.
        Change::InsertUnique {
            document: Document {
                id: DocId(8_001),
                key: has_keys.then(|| "a copy".to_owned()),
                ..new(8_000)
            },
            radius: 3,
        },
        Change::Remove(DocId(40)),
        Change::Insert(new(41)),
    ]));
    answered(database.merge());
    let text = "what was written into the file as document 3";
    let newest = match has_keys {
        true => DocRef::from("document 9,000"),
        false => DocRef::from(9_000),
    };
    answered(database.document(newest, text).and_then(|document| {
        database.insert_unless_similar(document, simdb::SimilarRule::default())
    }));
    answered(database.remove(DocId(1)));
    answered(database.prune(Timestamp(1_700_000_000_003)));
    answered(database.merge());
    answered(database.flush());
    if let Some(mut transaction) = answered(database.begin()) {
        let applied =
            answered(transaction.apply([Change::Upsert(new(20)), Change::Remove(DocId(21))]));
        if applied.is_some() {
            answered(transaction.commit());
        }
    }
}

/// The answer; `None` for an error, which must name its subject.
pub fn answered<T>(answer: Result<T, Error>) -> Option<T> {
    let error = match answer {
        Ok(answer) => return Some(answer),
        Err(error) => error,
    };
    assert!(!error.to_string().is_empty(), "{error:?}");
    let mut cause = error.source();
    for _ in 0..20 {
        let deeper = cause?;
        assert!(!deeper.to_string().is_empty(), "{error:?}");
        cause = deeper.source();
    }
    panic!("causes without end: {error:?}");
}
