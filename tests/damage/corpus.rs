//! Databases for the damage tests.

use std::path::Path;

use redb::TableDefinition;
use simdb::{Builder, Change, Database, Document, Fingerprint, Retention, Timestamp, Within};

use test_support::engine::with_engine;
use test_support::{Model, SplitMix, builder, documents, keyed, planted};

/// The scopes of documents, beside the empty one.
pub const SCOPES: [&str; 3] = ["zh", "a scope of several words", "范围"];

/// The copies of a document that are stored.
const NEWEST: u16 = 3;

/// The arrival of the first document, in milliseconds since 1970.
pub const FIRST_ARRIVAL: u64 = 1_700_000_000_000;

/// Creates and closes a database in which every table but `unreliable` has several chunks. Returns
/// its model.
pub fn damageable(path: &Path) -> Model {
    let documents = damageable_documents();
    let database = damageable_builder().create(path).unwrap();
    for batch in documents.chunks(1_000) {
        database
            .apply(batch.iter().cloned().map(Change::Insert))
            .unwrap();
    }
    assert_many_chunks(database);
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents)
}

/// [`damageable`] with keys, fields, copies and scopes.
pub fn damageable_with_keys(path: &Path) -> Model {
    let creating = damageable_builder().scopes(true).fields(true);
    let database = creating.copies(NEWEST).create(path).unwrap();
    let mut model = Model {
        keeps_texts: true,
        keeps_arrivals: true,
        keeps_fields: true,
        newest_copies: usize::from(NEWEST),
        ..Model::default()
    };
    let mut sequence = SplitMix(3);
    let mut documents = damageable_documents();
    for document in &mut documents {
        *document = keyed(document.clone());
        document.scope = SCOPES
            .get(sequence.below(4) as usize)
            .map(|scope| (*scope).to_owned());
    }
    // Changes of one batch are prepared in any order, and a scope has its number from its first
    // document on.
    for (number, scope) in (0..).zip(SCOPES) {
        let first = &mut documents[number];
        first.scope = Some(scope.to_owned());
        let outcome = database.insert(first.clone()).unwrap();
        assert_eq!(outcome, model.apply(Change::Insert(first.clone())));
    }
    let stored: Vec<Change> = documents.iter().cloned().map(Change::Insert).collect();
    let copies = (0..1_500).map(|number| {
        let original = &documents[sequence.below(documents.len() as u64) as usize];
        let document = Document {
            key: Some(format!("https://example.net/copy/{number}")),
            fingerprint: planted(&mut sequence, original.fingerprint, 1),
            text: None,
            within: Within::All,
            ..original.clone()
        };
        Change::InsertUnique {
            document,
            radius: 3,
        }
    });
    let copies: Vec<Change> = copies.collect();
    for batch in stored.chunks(1_000).chain(copies.chunks(500)) {
        let expected = model.apply_all(batch.iter().cloned());
        assert_eq!(database.apply(batch.iter().cloned()).unwrap(), expected);
    }
    assert_many_chunks(database);
    model
}

fn damageable_builder() -> Builder {
    builder().similar(true).retention(Retention::default())
}

/// Flushes and closes a database. Asserts that damage can concern a part of each table.
fn assert_many_chunks(database: Database) {
    database.merge().unwrap();
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert!(
        stats
            .tables
            .iter()
            .all(|table| table.chunks > 1 || table.name == "unreliable"),
        "{stats:?}"
    );
}

/// Documents with one fingerprint shared by many, near fingerprints and similar texts.
fn damageable_documents() -> Vec<Document> {
    let mut documents = documents(1, 0, 3_000);
    let mut sequence = SplitMix(2);
    for place in 0..documents.len() {
        let (before, rest) = documents.split_at_mut(place);
        let (before, document) = (before.last(), &mut rest[0]);
        // Unreliable documents, and copies, fill more than one chunk.
        document.reliable = place % 5 != 0;
        document.arrival = Some(Timestamp(FIRST_ARRIVAL + place as u64 / 7));
        if place % 3 == 0 && place < 1_050 {
            document.fingerprint = Fingerprint::from_bits(0xabc << 48);
        } else if let (0, Some(before)) = (place % 3, before) {
            document.fingerprint = planted(&mut sequence, before.fingerprint, 3);
        }
        match (place % 30, before) {
            // Longer than a page.
            (1, _) if place % 600 == 31 => document.text = Some(words(place as u64, 2_500)),
            (1, _) => document.text = Some(words(place as u64, 20)),
            (2, Some(before)) => {
                document.fingerprint = planted(&mut sequence, before.fingerprint, 2);
                let text = before.text.as_ref();
                document.text = text.map(|text| format!("{text}. The harbour is closed."));
            }
            _ => {}
        }
    }
    documents
}

/// A text of `count` seeded words.
pub fn words(seed: u64, count: usize) -> String {
    let mut sequence = SplitMix(seed);
    let words = (0..count).map(|_| format!("{:04x}", sequence.below(1 << 16)));
    words.collect::<Vec<_>>().join(" ")
}

/// Table `meta`, which holds the settings.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// Replaces a value of table `meta`, with its checksum in front.
pub fn replace_setting(path: &Path, key: &str, payload: Option<&[u8]>) {
    with_engine(path, |database| {
        let transaction = database.begin_write().unwrap();
        {
            let mut meta = transaction.open_table(META).unwrap();
            match payload {
                Some(payload) => {
                    let sealed = [&crc32fast::hash(payload).to_le_bytes(), payload].concat();
                    meta.insert(key, sealed.as_slice()).unwrap();
                }
                None => drop(meta.remove(key).unwrap()),
            }
        }
        transaction.commit().unwrap();
    });
}
