//! The price of copies: the time of inserts and the bytes of a copy, beside a database without.
//!
//! `cargo bench --bench copies -- [DOCUMENTS]`, by default 100,000 documents. Fingerprints are
//! splitmix64 from seed 7; of the documents with copies, each second one has the fingerprint of an
//! earlier document. Keys are URLs of 40 bytes, texts have 100 words. The bench fails if a count
//! differs from the number of refusals.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::database::folder;
use bench_support::keys::SplitMix;
use bench_support::table::ratio;
use bench_support::timing::{TURNS, median, time_ratio, timed};
use simdb::{Builder, Change, Database, Document, Fingerprint, Outcome};

const USAGE: Usage = Usage {
    line: "cargo bench --bench copies -- [DOCUMENTS]",
    flags: &[],
    options: &[],
};

/// Changes in a call of `apply`.
const BATCH: usize = 1_000;
/// Durable inserts of one document.
const SINGLE: usize = 2_000;
/// The stored copies of a document.
const NEWEST: u16 = 16;

fn main() {
    let count = USAGE.arguments().size(100_000) as usize;
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    for (name, every_second) in [("without copies", false), ("half of them copies", true)] {
        let documents = documents(count, every_second);
        for (way, batch, most) in [("in batches", BATCH, count), ("one by one", 1, SINGLE)] {
            let documents = &documents[..most.min(count)];
            let turns = (0..TURNS).map(|turn| {
                let insert = |copies: bool| {
                    let path = place(&format!("{name}-{way}-{turn}-{copies}.simdb"));
                    insert(&path, builder(copies), documents, batch)
                };
                let ((without, plain), (with, file)) = (insert(false), insert(true));
                assert_eq!(plain.refused, file.refused);
                let bytes = file.bytes as f64 - plain.bytes as f64;
                (
                    time_ratio(with, without),
                    bytes / file.refused.max(1) as f64,
                )
            });
            let turns: Vec<(f64, f64)> = turns.collect();
            let times = ratio(median(turns.iter().map(|(time, _)| *time)));
            print!("inserts {name}, {way}: {times} times as long");
            match every_second && batch > 1 {
                true => println!(", {:.1} bytes a copy", turns[0].1),
                false => println!(),
            }
        }
    }
}

fn builder(copies: bool) -> Builder {
    let builder = Database::builder().keys(true).keep_texts(true);
    match copies {
        true => builder.copies(NEWEST),
        false => builder,
    }
}

/// Documents with keys and texts; with `every_second`, each second one is a copy.
fn documents(count: usize, every_second: bool) -> Vec<Document> {
    let mut sequence = SplitMix(7);
    let mut fingerprints = Vec::new();
    let mut document = |number: usize| {
        let fingerprint = match every_second && number % 2 == 1 {
            true => fingerprints[sequence.next() as usize % fingerprints.len()],
            false => Fingerprint::from_bits(sequence.next()),
        };
        fingerprints.push(fingerprint);
        let words: Vec<String> = (0..100)
            .map(|_| format!("{:x}", sequence.next() % 5_000))
            .collect();
        let key = format!(
            "https://site{:02}.example/articles/{number:08}",
            number % 50
        );
        Document::new(key, fingerprint).with_text(words.join(" "))
    };
    (0..count).map(&mut document).collect()
}

struct Inserted {
    refused: u64,
    /// The length of the file after a vacuum.
    bytes: u64,
}

fn insert(
    path: &Path,
    builder: Builder,
    documents: &[Document],
    batch: usize,
) -> (Duration, Inserted) {
    let database = builder.create(path).expect("create");
    let mut refused = 0;
    let ((), elapsed) = timed(|| {
        for part in documents.chunks(batch) {
            let changes = part.iter().cloned();
            let changes = changes.map(|document| Change::InsertUnique {
                document,
                radius: 3,
            });
            let outcomes = database.apply(changes).expect("apply");
            let is_refused = |outcome: &&Outcome| matches!(outcome, Outcome::Duplicate(_));
            refused += outcomes.iter().filter(is_refused).count() as u64;
        }
        database.merge().expect("merge");
    });
    if database.settings().copies.is_some() {
        let most = database
            .snapshot()
            .expect("snapshot")
            .most_copied(usize::MAX, None);
        let counted: u64 = most
            .expect("read")
            .iter()
            .map(|(_, copies)| copies.count)
            .sum();
        assert_eq!(counted, refused);
    }
    drop(database);
    let bytes = Database::vacuum(path).expect("vacuum").after_bytes;
    (elapsed, Inserted { refused, bytes })
}
