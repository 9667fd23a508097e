//! The price of keys: bytes a document, the look-up of a key, inserts and bulk loads, each beside a
//! database without keys.
//!
//! `sort -u URLS | cargo bench --bench document_keys -- [DOCUMENTS]`, by default 100,000 documents.
//! The keys are the lines of standard input, each with a number in front from the second round on,
//! in random order. Fingerprints are splitmix64 from seed 7. The bench fails if a key is not found.

#![allow(clippy::print_stdout)]

use std::io::{BufRead, stdin};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::database::{LOAD_MEMORY_BYTES, folder};
use bench_support::keys::SplitMix;
use bench_support::table::{ratio, time};
use bench_support::timing::{TURNS, median, time_ratio, timed};
use simdb::{Builder, Change, Database, DocId, Document, Fingerprint, Outcome};

const USAGE: Usage = Usage {
    line: "sort -u URLS | cargo bench --bench document_keys -- [DOCUMENTS]",
    flags: &[],
    options: &[],
};

/// Changes in a call of `apply`.
const BATCH: usize = 1_000;
/// Durable inserts of one document, and look-ups.
const SINGLE: usize = 2_000;
const LOOK_UPS: usize = 100_000;

fn main() {
    let count = USAGE.arguments().size(100_000) as usize;
    let documents = documents(count);
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let key_bytes: usize = documents.iter().map(|(key, _)| key.len()).sum();

    let load = |keys: bool| {
        let path = place(if keys { "keys.simdb" } else { "ids.simdb" });
        let _ = std::fs::remove_file(&path);
        bulk_load(&path, &documents, keys)
    };
    let turns: Vec<_> = (0..TURNS).map(|_| (load(false), load(true))).collect();
    let (without, with) = turns[0];
    let per_document = |(_, bytes): (Duration, u64)| bytes as f64 / count as f64;
    let ratios = turns
        .iter()
        .map(|(without, with)| time_ratio(with.0, without.0));
    println!(
        "{count} documents, keys of {:.1} bytes on average",
        key_bytes as f64 / count as f64
    );
    println!(
        "bulk load        {} times as long with keys",
        ratio(median(ratios))
    );
    println!(
        "bytes a document {:.1} with keys, {:.1} without",
        per_document(with),
        per_document(without)
    );

    let database = Database::open(place("keys.simdb")).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    let mut sequence = SplitMix(8);
    let asked: Vec<&str> = (0..LOOK_UPS)
        .map(|_| documents[sequence.next() as usize % count].0.as_str())
        .collect();
    let turns = (0..TURNS).map(|_| {
        let (found, elapsed) = timed(|| {
            let ids = asked.iter().map(|key| snapshot.id(key).expect("look-up"));
            ids.filter(Option::is_some).count()
        });
        assert_eq!(found, LOOK_UPS);
        elapsed
    });
    let look_up = median(turns) / LOOK_UPS as u32;
    println!("look-up of a key {}", time(look_up));

    for (name, batch, most) in [("inserts", BATCH, count), ("durable inserts", 1, SINGLE)] {
        let turns = (0..TURNS).map(|turn| {
            let insert = |keys: bool| {
                let path = place(&format!("{name}-{turn}-{keys}.simdb"));
                let database = builder(keys).create(path).expect("create");
                timed(|| insert(&database, &documents[..most.min(count)], keys, batch)).1
            };
            let (without, with) = (insert(false), insert(true));
            time_ratio(with, without)
        });
        println!(
            "{name:<16} {} times as long with keys",
            ratio(median(turns))
        );
    }
}

fn builder(keys: bool) -> Builder {
    Database::builder().keys(keys)
}

/// Keys and fingerprints, in random order.
fn documents(count: usize) -> Vec<(String, Fingerprint)> {
    let mut lines: Vec<String> = stdin()
        .lock()
        .lines()
        .map(|line| line.expect("UTF-8"))
        .collect();
    assert!(!lines.is_empty(), "the keys are read from standard input");
    let mut sequence = SplitMix(7);
    for last in (1..lines.len()).rev() {
        lines.swap(last, sequence.next() as usize % (last + 1));
    }
    let round = |number: usize| match number / lines.len() {
        0 => String::new(),
        round => round.to_string(),
    };
    (0..count)
        .map(|number| {
            let key = round(number) + &lines[number % lines.len()];
            (key, Fingerprint::from_bits(sequence.next()))
        })
        .collect()
}

fn document(number: usize, (key, fingerprint): &(String, Fingerprint), keys: bool) -> Document {
    match keys {
        true => Document::new(key.as_str(), *fingerprint),
        false => Document::new(DocId(number as u64), *fingerprint),
    }
}

/// The time of a load, and the bytes of the file.
fn bulk_load(path: &Path, documents: &[(String, Fingerprint)], keys: bool) -> (Duration, u64) {
    let ((), elapsed) = timed(|| {
        let mut load = builder(keys)
            .bulk_create(path, LOAD_MEMORY_BYTES)
            .expect("a new file");
        for (number, of) in documents.iter().enumerate() {
            load.push(document(number, of, keys)).expect("push");
        }
        let report = load.finish(|_| ControlFlow::Continue(())).expect("load");
        assert_eq!(report.inserted, documents.len() as u64);
    });
    (elapsed, std::fs::metadata(path).expect("the file").len())
}

fn insert(database: &Database, documents: &[(String, Fingerprint)], keys: bool, batch: usize) {
    for (first, part) in documents.chunks(batch).enumerate() {
        let changes = part
            .iter()
            .enumerate()
            .map(|(number, of)| Change::InsertUnique {
                document: document(first * batch + number, of, keys),
                radius: 3,
            });
        let outcomes = database.apply(changes).expect("apply");
        assert!(outcomes.iter().all(Outcome::is_inserted));
    }
}
