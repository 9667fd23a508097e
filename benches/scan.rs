//! The cost of a query that compares every fingerprint, beside a read of as much memory.
//!
//! `cargo bench --bench scan -- [DOCUMENTS]`, by default 10,000,000 documents.
//!
//! At a radius at which simdb scans, a query of random documents has many matches, and reading
//! these takes most of the time. So the documents here are chosen to give few matches: 24 bits are
//! clear in all documents and set in all queries. At radius 30 a query finds one document in some
//! hundred thousand. The bench fails if an answer differs from the answer of the plain scan.
//!
//! The baselines are the sum of 8 bytes per document on all cores, which is the speed of the
//! memory, and the plain scan on all cores. The baselines and simdb, with a cache that holds the
//! file, are measured in turns.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::contender::{Answer, Contender};
use bench_support::database::{cache_for, folder, load, warm};
use bench_support::keys::{SplitMix, key};
use bench_support::plain_scan::PlainScan;
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{TURNS, median, time_ratio, timed};
use simdb::Database;

const USAGE: Usage = Usage {
    line: "cargo bench --bench scan -- [DOCUMENTS]",
    flags: &[],
    options: &[],
};

const RADIUS: u32 = 30;
/// The bits that are clear in every document and set in every query.
const OPPOSED_BITS: u64 = 0xff00_0000_ff00_ff00;
const QUERIES: usize = 5;

fn main() {
    let documents = USAGE.arguments().size(10_000_000);
    let keys: Vec<u64> = (0..documents).map(|id| key(id) & !OPPOSED_BITS).collect();
    let mut draws = SplitMix(77);
    let queries: Vec<u64> = (0..QUERIES).map(|_| draws.next() | OPPOSED_BITS).collect();

    let folder = folder();
    let path = folder.path().join("scan.simdb");
    let file_bytes = load(&path, false, keys.iter().copied());
    let builder = Database::builder().cache_bytes(cache_for(file_bytes));
    let database = builder.open(&path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    warm(&snapshot);

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one_core = PlainScan {
        keys: &keys,
        threads: 1,
    };
    let all_cores = PlainScan {
        keys: &keys,
        threads,
    };
    let answers = ask(&one_core, &queries).0;
    let matches: usize = answers.iter().map(Vec::len).sum();
    assert!(
        answers == ask(&snapshot, &queries).0,
        "simdb differs from the plain scan"
    );

    let turns = (0..TURNS).map(|_| {
        let (sum, memory) = timed(|| queries.iter().map(|_| sum(&keys, threads)).max());
        black_box(sum);
        let mut turn = vec![memory];
        for contender in [&all_cores as &dyn Contender, &one_core, &snapshot] {
            let (found, taken) = ask(contender, &queries);
            assert!(found == answers, "an answer differs from the plain scan");
            turn.push(taken);
        }
        turn
    });
    let turns: Vec<Vec<Duration>> = turns.collect();

    let table = Table::new(
        &format!(
            "{documents} documents, radius {RADIUS}, {:.0} matches a query, warm",
            matches as f64 / QUERIES as f64
        ),
        &["a query", "GB/s", "× memory", "× plain scan"],
    );
    let labels = [
        "reading 8 bytes a document, all cores",
        "plain scan in memory, all cores",
        "plain scan in memory, one core",
        "simdb, all cores",
    ];
    for (index, label) in labels.into_iter().enumerate() {
        let taken = median(turns.iter().map(|turn| turn[index])) / QUERIES as u32;
        let over = |baseline: usize| {
            let ratios = turns
                .iter()
                .map(|turn| time_ratio(turn[index], turn[baseline]));
            ratio(median(ratios))
        };
        let bytes = 8.0 * documents as f64;
        let values = [
            time(taken),
            number(bytes / taken.as_secs_f64() / 1e9),
            over(0),
            over(1),
        ];
        table.row(label, &values);
    }
}

/// The answers to all queries, and their time.
fn ask(contender: &dyn Contender, queries: &[u64]) -> (Vec<Answer>, Duration) {
    let mut ask = contender.asker();
    timed(|| queries.iter().map(|query| ask(*query, RADIUS)).collect())
}

/// The sum of all keys: the cheapest work that reads them all.
fn sum(keys: &[u64], threads: usize) -> u64 {
    let add = |keys: &[u64]| keys.iter().fold(0_u64, |sum, key| sum.wrapping_add(*key));
    std::thread::scope(|scope| {
        let shares = keys.chunks(keys.len().div_ceil(threads));
        let workers: Vec<_> = shares.map(|keys| scope.spawn(move || add(keys))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("adding does not panic"))
            .fold(0, u64::wrapping_add)
    })
}
