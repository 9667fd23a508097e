//! Size, load time and latency of a growing database.
//!
//! `cargo bench --bench growth -- [DOCUMENTS]...`, by default 1, 5 and 20 million; the published
//! table goes to 100 million.
//!
//! Each row is one size. It gives the time of a bulk load and the bytes per document, with room to
//! grow and frozen. For the file with room to grow it gives the time from open to the first answer,
//! the latency at radius 3 with a cache that holds the file, and the number of candidates per
//! query: the documents in four tables that share 16 bits with the query. Latency and candidates
//! are also given as multiples of the first row, since the latency should not grow faster than the
//! candidates.
//!
//! `support/keys.rs` makes keys and queries. The bench fails if a planted document is not
//! found, if a sample differs from the plain scan, or if the check of a file finds damage.

#![allow(clippy::print_stdout)]

use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::check::Sample;
use bench_support::contender::latencies;
use bench_support::database::{cache_for, folder, load};
use bench_support::keys::{key, keys, queries};
use bench_support::memory;
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{Latency, TURNS, time_ratio, timed};
use simdb::{Database, DocId, Fingerprint};

const USAGE: Usage = Usage {
    line: "cargo bench --bench growth -- [DOCUMENTS]...",
    flags: &[],
    options: &[],
};

const RADIUS: u32 = 3;
const QUERIES: usize = 20_000;
/// The cache may take this share of the available memory.
const MEMORY_SHARE: f64 = 0.6;
/// One in 65,536 random documents shares a block of 16 bits with a query, in each of four tables.
const FRONTS: f64 = 65_536.0;
const TABLES: f64 = 4.0;

fn main() {
    let sizes = USAGE.arguments().sizes(&[1_000_000, 5_000_000, 20_000_000]);
    let columns = [
        "load",
        "B/doc",
        "load, frozen",
        "B/doc, frozen",
        "open, answer",
        "p50",
        "p99",
        "p50 ÷ first",
        "candidates",
        "÷ first",
        "check",
    ];
    let table = Table::new("Growth, radius 3, a cache that holds the file", &columns);
    let mut first = None;
    for documents in sizes {
        let row = Row::measure(documents);
        let first = first.get_or_insert((row.latency.p50, documents));
        let a_document = |bytes: u64| number(bytes as f64 / documents as f64);
        let candidates = documents as f64 / FRONTS * TABLES;
        let values = [
            time(row.load),
            a_document(row.file_bytes),
            time(row.load_frozen),
            a_document(row.frozen_bytes),
            time(row.open),
            time(row.latency.p50),
            time(row.latency.p99),
            ratio(time_ratio(row.latency.p50, first.0)),
            number(candidates),
            ratio(documents as f64 / first.1 as f64),
            time(row.check),
        ];
        table.row(&label(documents, row.cache_holds_the_file), &values);
    }
}

fn label(documents: u64, cache_holds_the_file: bool) -> String {
    if cache_holds_the_file {
        format!("{documents} documents")
    } else {
        format!("{documents} documents, a smaller cache")
    }
}

struct Row {
    load: Duration,
    file_bytes: u64,
    load_frozen: Duration,
    frozen_bytes: u64,
    open: Duration,
    latency: Latency,
    check: Duration,
    cache_holds_the_file: bool,
}

impl Row {
    fn measure(documents: u64) -> Self {
        let folder = folder();
        let path = folder.path().join("growth.simdb");
        let all_keys = || (0..documents).map(key);
        let (frozen_bytes, load_frozen) = timed(|| load(&path, true, all_keys()));
        std::fs::remove_file(&path).expect("the file is there");
        let (file_bytes, load) = timed(|| load(&path, false, all_keys()));

        let wanted = cache_for(file_bytes);
        let most = memory::available().map_or(wanted, |left| (left as f64 * MEMORY_SHARE) as usize);
        let builder = Database::builder().cache_bytes(wanted.min(most));
        let ((database, first), open) = timed(|| {
            let database = builder.open(&path).expect("open");
            let first = database.within(Fingerprint::from_bits(key(0)), RADIUS);
            (database, first.expect("query"))
        });
        assert!(first.iter().any(|found| found.id == DocId(0)));
        assert_eq!(database.len().expect("len"), documents);

        let snapshot = database.snapshot().expect("snapshot");
        Sample::new(&keys(documents), RADIUS).check("simdb", &snapshot);
        let queries = queries(documents, QUERIES, RADIUS);
        // The first turn fills the cache and is not counted.
        let turns = (0..=TURNS).map(|_| Latency::new(latencies(&snapshot, &queries, RADIUS)));
        let turns: Vec<Latency> = turns.skip(1).collect();
        drop(snapshot);
        let (damage, check) = timed(|| database.check().expect("check"));
        assert!(damage.is_empty(), "{damage:?}");
        Self {
            load,
            file_bytes,
            load_frozen,
            frozen_bytes,
            open,
            latency: Latency::median(&turns),
            check,
            cache_holds_the_file: wanted <= most,
        }
    }
}
