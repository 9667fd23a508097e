//! Databases for the damage tests.

use std::path::Path;

use redb::TableDefinition;
use simdb::{Change, Fingerprint, Retention, Timestamp};

use test_support::engine::with_engine;
use test_support::{Model, SplitMix, builder, documents, planted};

/// The arrival of the first document, in milliseconds since 1970.
pub const FIRST_ARRIVAL: u64 = 1_700_000_000_000;

/// Creates and closes a database in which every table but `unreliable` has several chunks: one
/// fingerprint shared by many documents, near fingerprints, similar texts. Returns its model.
pub fn damageable(path: &Path) -> Model {
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
    let database = builder()
        .similar(true)
        .retention(Retention::default())
        .create(path)
        .unwrap();
    for batch in documents.chunks(1_000) {
        database
            .apply(batch.iter().cloned().map(Change::Insert))
            .unwrap();
    }
    database.merge().unwrap();
    let stats = database.snapshot().unwrap().stats().unwrap();
    assert!(
        stats
            .tables
            .iter()
            .all(|table| table.chunks > 1 || table.name == "unreliable"),
        "{stats:?}"
    );
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents)
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
