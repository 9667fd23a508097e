//! The cost of a million queries in one batch.
//!
//! `cargo bench --bench batch -- [DOCUMENTS] [--queries N] [--radius R]`, by default 1,000,000
//! documents, 1,000,000 queries and radius 3.
//!
//! The whole batch is timed in turns with 20,000 of its queries one by one, on one thread and on
//! two. The times of the single queries are extrapolated to all queries. The CPU time is the time
//! of all threads, and suffers least from other load. The cache holds the file and is warm.
//!
//! First, the batch is answered by a database that has just been opened, whose cache is empty. The
//! operating system has the file in memory.
//!
//! `support/keys.rs` makes keys and queries. The bench fails if a planted document is not
//! found, if the batch answers a query differently than the single query, or if a sample differs
//! from the plain scan.

#![allow(clippy::print_stdout)]

use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::check::Sample;
use bench_support::database::{cache_for, folder, load, warm};
use bench_support::keys::{Query, keys, queries};
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{TURNS, cpu_timed, median, time_ratio, timed};
use simdb::{Database, Fingerprint, Match, Snapshot};

const USAGE: Usage = Usage {
    line: "cargo bench --bench batch -- [DOCUMENTS] [--queries N] [--radius R]",
    flags: &[],
    options: &["--queries", "--radius"],
};

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
    let queries = queries(documents, count, radius);
    let asked: Vec<Fingerprint> = queries
        .iter()
        .map(|query| Fingerprint::from_bits(query.bits))
        .collect();
    let first_batches = (0..TURNS).map(|_| {
        let answer = || {
            let database = builder.clone().open(&path).expect("open");
            let snapshot = database.snapshot().expect("snapshot");
            let answers = snapshot.within_batch(&asked, radius).expect("batch");
            (database, answers)
        };
        let (((_, answers), cpu), time) = timed(|| cpu_timed(answer));
        check_planted(&queries, &answers);
        [time, cpu]
    });
    let first_batches: Vec<[Duration; 2]> = first_batches.collect();
    let database = builder.open(&path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    Sample::new(&keys, radius).check("simdb", &snapshot);

    let singles = &asked[..SINGLE_QUERIES.min(count)];
    let whole = count as f64 / singles.len() as f64;

    warm(&snapshot);
    check_batch(&snapshot, &queries, &asked, singles, radius);
    // Batch and single queries in each turn, so that other load of the machine slows both.
    let turns = (0..TURNS).map(|_| {
        let measured = |work: &dyn Fn() -> Vec<Vec<Match>>| {
            let ((_, cpu), time) = timed(|| cpu_timed(work));
            [time, cpu]
        };
        let batch = measured(&|| snapshot.within_batch(&asked, radius).expect("batch"));
        let [one, two] = [1, 2].map(|threads| {
            let times = measured(&|| one_by_one(&snapshot, singles, radius, threads));
            times.map(|time| time.mul_f64(whole))
        });
        [batch, one, two]
    });
    let turns: Vec<[[Duration; 2]; 3]> = turns.collect();

    let table = Table::new(
        &format!("{count} queries at radius {radius} of {documents} documents"),
        &["time", "CPU", "queries /s", "× the batch"],
    );
    let row = |label, [taken, cpu]: [Duration; 2], over| {
        let rate = number(count as f64 / taken.as_secs_f64());
        table.row(label, &[time(taken), time(cpu), rate, ratio(over)]);
    };
    let warm = median(turns.iter().map(|turn| turn[0][0]));
    let first = [0, 1].map(|clock| median(first_batches.iter().map(|batch| batch[clock])));
    row(
        "in one batch, just opened",
        first,
        time_ratio(first[0], warm),
    );
    let contenders = [
        "in one batch, warm",
        "one by one, one thread, warm, extrapolated",
        "one by one, two threads, warm, extrapolated",
    ];
    for (index, label) in contenders.into_iter().enumerate() {
        let medians = [0, 1].map(|clock| median(turns.iter().map(|turn| turn[index][clock])));
        let over = median(
            turns
                .iter()
                .map(|turn| time_ratio(turn[index][0], turn[0][0])),
        );
        row(label, medians, over);
    }
}

/// Panics if the batch and single queries have different answers, or if a planted document is not
/// found.
fn check_batch(
    snapshot: &Snapshot,
    queries: &[Query],
    asked: &[Fingerprint],
    singles: &[Fingerprint],
    radius: u32,
) {
    let answers = snapshot.within_batch(asked, radius).expect("batch");
    let expected = one_by_one(snapshot, singles, radius, 1);
    assert!(
        answers[..singles.len()] == expected[..],
        "the batch gives other answers"
    );
    check_planted(queries, &answers);
}

fn check_planted(queries: &[Query], answers: &[Vec<Match>]) {
    assert_eq!(queries.len(), answers.len());
    for (query, answer) in queries.iter().zip(answers) {
        let found = |id| answer.iter().any(|found| found.id.0 == id);
        assert!(query.planted.is_none_or(found), "a document is not found");
    }
}

/// The answers to the queries, asked one by one by threads that share them.
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
