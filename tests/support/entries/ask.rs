//! Everything that a program can ask of a file, whatever is in it: answered or refused, never
//! more than that.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simdb::{Builder, Change, Database, DocId, Document, Error, Fingerprint, Snapshot, Timestamp};

use super::memory::MemoryDisk;
use crate::document;

/// More documents than any file has that is tried; a walk that goes on is one without end.
const MOST_DOCUMENTS: usize = 1 << 20;

/// Where the file is. A folder that is there, though the file is not in it.
pub fn path() -> PathBuf {
    std::env::temp_dir().join("docs.simdb")
}

pub fn builder(disk: &MemoryDisk) -> Builder {
    Database::builder()
        .cache_bytes(4 << 20)
        .disk(Arc::new(disk.clone()))
}

/// Asks everything of the file, and changes it.
pub fn everything(disk: &MemoryDisk) {
    let path = path();
    let before = disk.contents();
    let read = builder(disk).open_read_only(&path).map(|database| {
        let snapshot = told(database.snapshot())?;
        read_all(&database, &snapshot)
    });
    let found = told(read).flatten();
    assert!(disk.contents() == before, "reading has written");
    salvage(disk, &path);
    for (path, bytes) in &before {
        assert!(
            disk.contents().get(path) == Some(bytes),
            "salvage has written"
        );
    }
    let opened = told(builder(disk).open(&path));
    assert!(
        opened.is_some() || found.is_none(),
        "it can be read and not be opened for writing"
    );
    if let Some(database) = opened {
        let is_sound = told(database.check()).is_some_and(|damage| damage.is_empty());
        if is_sound && let Some(found) = found {
            let snapshot = database.snapshot().unwrap();
            assert_same(&found, &read_all(&database, &snapshot).unwrap());
        }
        write(&database);
        let closed = told(database.close()).is_some();
        assert!(closed || !is_sound, "a sound file cannot be written");
    }
    let again = told(builder(disk).open(&path));
    drop(again);
    told(builder(disk).vacuum(&path));
}

/// What there was to read, if there was no error; what is needed of it to tell two files apart.
pub fn read_all(database: &Database, snapshot: &Snapshot) -> Option<Vec<Document>> {
    let mut is_read = true;
    let mut documents = Vec::new();
    for (number, found) in snapshot.documents().enumerate() {
        assert!(number < MOST_DOCUMENTS, "documents without end");
        match told(found) {
            Some(found) => documents.push(found),
            None => {
                is_read = false;
                break;
            }
        }
    }
    let mut queries = vec![Fingerprint::from_bits(0), Fingerprint::from_bits(u64::MAX)];
    for known in documents.iter().step_by(documents.len() / 8 + 1) {
        is_read &= told(snapshot.get(known.id)).is_some();
        queries.push(Fingerprint::from_bits(
            known.fingerprint.bits() ^ 0x8000_0001,
        ));
        if let Some(text) = &known.text
            && let Some(query) = told(database.text_query(text))
        {
            is_read &= told(snapshot.similar(&query)).is_some();
        }
    }
    for query in &queries {
        for radius in [0, 3, 6, 64] {
            is_read &= told(snapshot.within(*query, radius)).is_some();
        }
        is_read &= told(snapshot.nearest(*query, 3)).is_some();
        is_read &= told(snapshot.within_limit(*query, 9, 2)).is_some();
    }
    is_read &= told(snapshot.within_batch(&queries, 4)).is_some();
    is_read &= told(snapshot.get(DocId(u64::MAX))).is_some();
    is_read &= told(snapshot.last_id()).is_some();
    is_read &= told(snapshot.count_older(Timestamp(u64::MAX))).is_some();
    is_read &= told(snapshot.stats()).is_some();
    is_read &= told(snapshot.diagnose()).is_some();
    let _ = (
        snapshot.now(),
        told(snapshot.len()),
        told(snapshot.is_empty()),
    );
    is_read.then_some(documents)
}

/// A file for which nobody has found damage holds the same for who reads and who writes.
fn assert_same(read: &[Document], written: &[Document]) {
    let differing = read
        .iter()
        .zip(written)
        .find(|(read, written)| read != written);
    assert!(differing.is_none(), "{differing:?}");
    assert_eq!(read.len(), written.len());
}

/// What is salvaged of it is sound.
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
    let Some(found) = told(found) else { return };
    let database = builder().open(&saved).unwrap();
    assert_eq!(database.len().unwrap(), found.documents);
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
}

/// Changes of every kind; each may be refused.
fn write(database: &Database) {
    let new = |id: u64| Document {
        text: Some(format!("what was written into the file as document {id}")),
        arrival: Some(Timestamp(1_700_000_000_000 + id % 9)),
        ..document(id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    told(database.apply([3, 7_000, u64::MAX].map(|id| Change::Upsert(new(id)))));
    let unique = |id: u64| Change::InsertUnique {
        document: new(id),
        radius: 3,
    };
    told(database.apply([
        unique(8_000),
        Change::Remove(DocId(40)),
        Change::Insert(new(41)),
    ]));
    told(database.merge());
    told(
        database
            .insert_unless_similar(DocId(9_000), "what was written into the file as document 3"),
    );
    told(database.remove(DocId(1)));
    told(database.prune(Timestamp(1_700_000_000_003)));
    told(database.merge());
    told(database.flush());
    if let Some(mut transaction) = told(database.begin()) {
        let applied = told(transaction.apply([Change::Upsert(new(20)), Change::Remove(DocId(21))]));
        if applied.is_some() {
            told(transaction.commit());
        }
    }
}

/// What was answered. An error is one too, if it names what it is about.
pub fn told<T>(answer: Result<T, Error>) -> Option<T> {
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
