//! What do size and time do as a database grows?
//!
//! `cargo bench --bench growth -- [DOCUMENTS]...`, 1, 5 and 20 million unless said otherwise; the
//! question is about 1 million to 100 million.
//!
//! A row is one size: how long the bulk load takes and how many bytes a document takes, with room to
//! grow and frozen, and, of the one with room to grow, how long opening it takes until the first
//! answer, how fast it answers at radius 3 from a cache that holds the file, and how many candidates
//! it compares for that (in each of four tables the documents that share 16 bits with the query).
//! Time and candidates are also given as multiples of the first row: a query should not grow faster
//! than its candidates.
//!
//! Keys are splitmix64 from seed 1, ids count from 0; queries splitmix64 from seed 77, the even ones
//! a stored key with exactly three bits flipped, which must be found. A sample must be answered as
//! the plain scan does, and each file is proved sound.

#![allow(clippy::print_stdout)]

mod common;

use std::time::Duration;

use common::arguments::Usage;
use common::check::Sample;
use common::contender::latencies;
use common::database::{cache_for, folder, load};
use common::keys::{key, keys, queries};
use common::memory;
use common::table::{Table, number, ratio, time};
use common::timing::{Latency, TURNS, timed, times};
use simdb::{Database, DocId, Fingerprint};

const USAGE: Usage = Usage {
    line: "cargo bench --bench growth -- [DOCUMENTS]...",
    flags: &[],
    options: &[],
};

const RADIUS: u32 = 3;
const QUERIES: usize = 20_000;
/// The share of the memory left that the cache may take.
const MEMORY_SHARE: f64 = 0.6;
/// Documents that share a block of 16 bits with a query are one in so many, in each of four tables.
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
            ratio(times(row.latency.p50, first.0)),
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
        let ((mut database, first), open) = timed(|| {
            let database = builder.open(&path).expect("open");
            let first = database.within(Fingerprint::from_bits(key(0)), RADIUS);
            (database, first.expect("query"))
        });
        assert!(first.iter().any(|found| found.id == DocId(0)));
        assert_eq!(database.len().expect("len"), documents);

        let snapshot = database.snapshot().expect("snapshot");
        Sample::new(&keys(documents), RADIUS).check("simdb", &snapshot);
        let queries = queries(documents, QUERIES, RADIUS);
        // The first turn fills the cache.
        let turns = (0..=TURNS).map(|_| Latency::of(latencies(&snapshot, &queries, RADIUS)));
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
            latency: Latency::middle(&turns),
            check,
            cache_holds_the_file: wanted <= most,
        }
    }
}
