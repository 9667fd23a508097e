//! What do a million queries in one go cost?
//!
//! `cargo bench --bench batch -- [DOCUMENTS] [--queries N] [--radius R]`, 1,000,000 documents,
//! 1,000,000 queries and radius 3 unless said otherwise.
//!
//! The batch is timed whole, in turns with 20,000 of its queries asked one by one, on one thread and
//! on two; these are then multiplied. The database has a cache that holds the file, and is warm.
//!
//! Keys are splitmix64 from seed 1, ids count from 0; queries are splitmix64 from seed 77, the even
//! ones a stored key with exactly as many bits flipped as the radius, which must be found. The
//! answers to those that are asked one by one must be the same in the batch, and a sample of them
//! must be what the plain scan gives.

#![allow(clippy::print_stdout)]

mod common;

use std::time::Duration;

use common::arguments::Usage;
use common::check::Sample;
use common::database::{cache_for, folder, load, warm};
use common::keys::{Query, keys, queries};
use common::table::{Table, number, ratio, time};
use common::timing::{TURNS, middle, timed, times};
use simdb::{Database, Fingerprint, Match, Snapshot};

const USAGE: Usage = Usage {
    line: "cargo bench --bench batch -- [DOCUMENTS] [--queries N] [--radius R]",
    flags: &[],
    options: &["--queries", "--radius"],
};

/// Queries that are asked one by one.
const SINGLE_QUERIES: usize = 20_000;

fn main() {
    let arguments = USAGE.arguments();
    let documents = arguments.size(1_000_000);
    let count = arguments.number("--queries", 1_000_000) as usize;
    let radius = arguments.number("--radius", 3) as u32;

    let keys = keys(documents);
    let folder = folder();
    let path = folder.path().join("batch.simdb");
    let file_bytes = load(&path, false, keys.iter().copied());
    let builder = Database::builder().cache_bytes(cache_for(file_bytes));
    let database = builder.open(&path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    Sample::new(&keys, radius).check("simdb", &snapshot);

    let queries = queries(documents, count, radius);
    let asked: Vec<Fingerprint> = queries
        .iter()
        .map(|query| Fingerprint::from_bits(query.bits))
        .collect();
    let singles = &asked[..SINGLE_QUERIES.min(count)];
    let whole = count as f64 / singles.len() as f64;

    warm(&snapshot);
    check_batch(&snapshot, &queries, &asked, singles, radius);
    let turns = (0..TURNS).map(|_| {
        let (_, batch) = timed(|| snapshot.within_batch(&asked, radius).expect("batch"));
        let [one, two] = [1, 2].map(|threads| {
            let (_, time) = timed(|| one_by_one(&snapshot, singles, radius, threads));
            time.mul_f64(whole)
        });
        [batch, one, two]
    });
    let turns: Vec<[Duration; 3]> = turns.collect();

    let table = Table::new(
        &format!("{count} queries at radius {radius} of {documents} documents, warm"),
        &["time", "queries /s", "× the batch"],
    );
    let contenders = [
        "in one batch, all cores",
        "one by one, one thread, extrapolated",
        "one by one, two threads, extrapolated",
    ];
    for (place, label) in contenders.into_iter().enumerate() {
        let taken = middle(turns.iter().map(|turn| turn[place]));
        let over = middle(turns.iter().map(|turn| times(turn[place], turn[0])));
        let values = [
            time(taken),
            number(count as f64 / taken.as_secs_f64()),
            ratio(over),
        ];
        table.row(label, &values);
    }
}

/// The answers of the batch are those of its queries, one by one; planted documents are found.
fn check_batch(
    snapshot: &Snapshot,
    queries: &[Query],
    asked: &[Fingerprint],
    singles: &[Fingerprint],
    radius: u32,
) {
    let answers = snapshot.within_batch(asked, radius).expect("batch");
    assert_eq!(answers.len(), asked.len());
    let expected = one_by_one(snapshot, singles, radius, 1);
    assert!(
        answers[..singles.len()] == expected[..],
        "the batch gives other answers"
    );
    for (query, answer) in queries.iter().zip(&answers) {
        let found = |id| answer.iter().any(|found| found.id.0 == id);
        assert!(query.planted.is_none_or(found), "a document is not found");
    }
}

/// The answers of threads that share the queries.
fn one_by_one(
    snapshot: &Snapshot,
    queries: &[Fingerprint],
    radius: u32,
    threads: usize,
) -> Vec<Vec<Match>> {
    let ask = |query: &Fingerprint| snapshot.within(*query, radius).expect("query");
    let mut answers = Vec::with_capacity(queries.len());
    std::thread::scope(|scope| {
        let shares = queries.chunks(queries.len().div_ceil(threads));
        let workers = shares.map(|share| scope.spawn(move || share.iter().map(ask).collect()));
        let workers: Vec<std::thread::ScopedJoinHandle<'_, Vec<_>>> = workers.collect();
        for worker in workers {
            answers.extend(worker.join().expect("a query does not panic"));
        }
    });
    answers
}
