//! The latency of a query, beside other indexes.
//!
//! `cargo bench --features peers --bench query -- [DOCUMENTS] [--radius R,R,…] [--row-per-entry]
//! [--without-radii]`, by default 1,000,000 documents.
//!
//! The first table is for radius 3. Each contender is measured in turns with the floor, a search by
//! blocks in sorted arrays in memory; a row gives the median turn. Contenders on disk are warm:
//! every key of every block was queried once. No query is asked twice. A row per entry in redb
//! takes long to load, so above 2,000,000 documents it needs `--row-per-entry`. A contender that
//! does not fit in memory is listed as not measured. All variants of a fingerprint within the
//! radius take 700 KB, so that scheme is measured with 2,000 documents, in a table of its own.
//!
//! The second table is for many radii: simdb with a cache that holds the file, and the two plans
//! that it can choose from, both in memory: probing sorted arrays, and the plain scan.
//!
//! `support/keys.rs` makes keys and queries. The bench fails if a planted document is not
//! found, or if a contender differs from the plain scan on a sample with documents at the radius
//! and one bit beyond.

#![allow(clippy::print_stdout)]

mod peers;

use std::path::Path;

use bench_support::arguments::Usage;
use bench_support::check::Sample;
use bench_support::contender::{
    Contender, MEASURED_QUERIES, Speed, latencies, measure, queries_per_turn,
};
use bench_support::database::{cache_for, folder, load, warm};
use bench_support::keys::{Query, key, keys, queries};
use bench_support::plain_scan::{self, PlainScan};
use bench_support::sorted_arrays::SortedArrays;
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{Latency, time_ratio, timed};
use bench_support::{memory, table};
use peers::multi_index::MultiIndex;
use peers::row_per_entry::RowPerEntry;
use peers::variants::{StoredVariants, VariantLookups};
use simdb::{Database, Snapshot};

const USAGE: Usage = Usage {
    line: "cargo bench --features peers --bench query -- [DOCUMENTS] [--radius R,R,...] [--row-per-entry] \
           [--without-radii]",
    flags: &["--row-per-entry", "--without-radii"],
    options: &["--radius"],
};

const RADIUS: u32 = 3;
const QUERIES_AFTER_SCANS: usize = 100;

/// The default radii of the second table.
const RADII: [u64; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 20, 23, 24, 28, 32];
/// At most this many queries per radius, as far as a turn has time.
const QUERIES_PER_RADIUS: usize = 2_000;
const CHECKED_PER_RADIUS: usize = 4;
/// Radii with more expected matches per query are left out: reading the matches would take most of
/// the time, and their answers much memory.
const MAX_MATCHES: f64 = 2e6;

/// Above this number of documents the rows in redb are loaded only with `--row-per-entry`.
const ROW_PER_ENTRY_DOCUMENTS: u64 = 2_000_000;
const ROW_PER_ENTRY_BYTES: u64 = 82;

/// All variants of 2,000 fingerprints take 1.4 GB.
const STORED_VARIANTS_DOCUMENTS: usize = 2_000;

/// A contender may take this share of the available memory.
const MEMORY_SHARE: f64 = 0.8;

fn main() {
    let arguments = USAGE.arguments();
    let documents = arguments.size(1_000_000);
    let radii = arguments.numbers("--radius", &RADII);
    let folder = folder();
    let keys = keys(documents);
    let floor = SortedArrays::new(&keys);

    let mut comparison = Comparison::new(&keys, &floor);
    comparison.in_memory();
    let rows = arguments.flag("--row-per-entry") || documents <= ROW_PER_ENTRY_DOCUMENTS;
    comparison.on_disk(folder.path(), rows);
    comparison.peers();
    stored_variants(&keys);
    if !arguments.flag("--without-radii") {
        every_radius(folder.path(), &keys, &floor, &radii);
    }
}

/// The first table: all contenders at radius 3.
struct Comparison<'k> {
    table: Table,
    keys: &'k [u64],
    floor: &'k SortedArrays,
    queries: Vec<Query>,
    sample: Sample,
}

impl<'k> Comparison<'k> {
    fn new(keys: &'k [u64], floor: &'k SortedArrays) -> Self {
        let documents = keys.len() as u64;
        let sample = Sample::new(keys, RADIUS);
        let title = format!("{documents} documents, radius {RADIUS}, warm");
        let columns = [
            "p50",
            "p99",
            "× floor",
            "1 thread /s",
            "2 threads /s",
            "2 : 1",
        ];
        Self {
            table: Table::new(&title, &columns),
            keys,
            floor,
            queries: queries(documents, MEASURED_QUERIES, RADIUS),
            sample,
        }
    }

    fn in_memory(&mut self) {
        self.row("four sorted arrays in memory, the floor", self.floor);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for (cores, threads) in [("one core", 1), ("all cores", threads)] {
            let scan = PlainScan {
                keys: self.keys,
                threads,
            };
            self.row(&format!("plain scan in memory, {cores}"), &scan);
        }
    }

    fn on_disk(&mut self, folder: &Path, row_per_entry: bool) {
        for frozen in [false, true] {
            let path = folder.join("query.simdb");
            let file_bytes = load(&path, frozen, self.keys.iter().copied());
            let kind = if frozen { "simdb, frozen" } else { "simdb" };
            let caches = [
                ("default cache", None),
                ("cache that holds the file", Some(cache_for(file_bytes))),
            ];
            for (cache, cache_bytes) in caches {
                let label = format!("{kind}, {cache}");
                if !self.fits(&label, cache_bytes.unwrap_or(5 << 28) as u64) {
                    continue;
                }
                let (_database, snapshot) = open(&path, cache_bytes);
                self.row(&label, &snapshot);
                if cache_bytes.is_some() {
                    let label = format!("{kind}, right after a plain scan");
                    self.row_after_scans(&label, &snapshot);
                }
            }
            std::fs::remove_file(&path).expect("the file is there");
        }
        let label = "a row for each entry in redb";
        if !row_per_entry {
            return self.row_not_measured(label, "--row-per-entry");
        }
        let file_bytes = self.keys.len() as u64 * ROW_PER_ENTRY_BYTES;
        if self.fits(label, cache_for(file_bytes) as u64) {
            let path = folder.join("row_per_entry.redb");
            let rows = RowPerEntry::load(&path, self.keys, cache_for(file_bytes));
            self.row(label, &rows.expect("redb takes the rows"));
            std::fs::remove_file(&path).expect("the file is there");
        }
    }

    fn peers(&mut self) {
        let documents = self.keys.len() as u64;
        if self.fits("mih-rs", documents * MultiIndex::BYTES_PER_DOCUMENT) {
            let index = MultiIndex::new(self.keys);
            self.row(&format!("mih-rs, {} blocks", index.blocks()), &index);
        }
        let label = "hash table, all 43,745 variants of a query looked up";
        if self.fits(label, documents * VariantLookups::BYTES_PER_DOCUMENT) {
            self.row(label, &VariantLookups::new(self.keys));
        }
        self.gaoya();
    }

    fn gaoya(&mut self) {
        use peers::gaoya_index::GaoyaIndex;
        let documents = self.keys.len() as u64;
        let given = RADIUS + 1;
        assert!(
            !GaoyaIndex::finds_the_distance_given(RADIUS),
            "gaoya finds the distance that it is given; give it RADIUS, not RADIUS + 1"
        );
        for blocks in [5, 6] {
            let tables = GaoyaIndex::tables(blocks, RADIUS);
            let label = format!("gaoya given {given}, {blocks} blocks, {tables} tables");
            if self.fits(
                &label,
                documents * GaoyaIndex::bytes_per_document(blocks, RADIUS),
            ) {
                self.row(&label, &GaoyaIndex::new(self.keys, blocks, RADIUS));
            }
        }
    }

    /// Checks and measures a contender, and prints its row.
    fn row(&mut self, label: &str, contender: &dyn Contender) {
        self.sample.check(label, contender);
        let speed = measure(contender, self.floor, &self.queries, RADIUS);
        self.table.row(label, &values(&speed));
    }

    /// Measures queries that each follow a plain scan of all keys, so that the caches of the
    /// processor hold other data, as in a process that does other work between two queries.
    fn row_after_scans(&self, label: &str, contender: &dyn Contender) {
        let mut ask = contender.asker();
        let queries = &self.queries[..QUERIES_AFTER_SCANS];
        let after_scan = |query: &Query| {
            let expected = plain_scan::answer(self.keys, query.bits, RADIUS);
            let (answer, time) = timed(|| ask(query.bits, RADIUS));
            assert_eq!(answer, expected, "{label}");
            time
        };
        let latency = Latency::new(queries.iter().map(after_scan).collect());
        self.table
            .row(label, &[time(latency.p50), time(latency.p99)]);
    }

    /// Returns `true` if a contender fits in memory. Otherwise prints a row that says so.
    fn fits(&self, label: &str, bytes: u64) -> bool {
        let fits =
            memory::available().is_none_or(|left| bytes as f64 <= left as f64 * MEMORY_SHARE);
        if !fits {
            self.row_not_measured(label, &format!("needs {}", table::mebibytes(bytes)));
        }
        fits
    }

    fn row_not_measured(&self, label: &str, reason: &str) {
        self.table.row(label, &["not measured", reason]);
    }
}

/// A table of few documents: their variants take the memory of millions of documents in simdb.
fn stored_variants(keys: &[u64]) {
    let keys = &keys[..keys.len().min(STORED_VARIANTS_DOCUMENTS)];
    let floor = SortedArrays::new(keys);
    let mut comparison = Comparison::new(keys, &floor);
    let bytes_per_document = StoredVariants::BYTES_PER_DOCUMENT;
    let label = format!("all variants stored, {bytes_per_document} bytes a document");
    if comparison.fits(&label, keys.len() as u64 * bytes_per_document) {
        comparison.row(&label, &StoredVariants::new(keys));
    }
}

fn values(speed: &Speed) -> [String; 6] {
    let [one, two] = speed.throughput;
    [
        time(speed.latency.p50),
        time(speed.latency.p99),
        ratio(speed.over_floor),
        number(one),
        number(two),
        number(speed.scaling),
    ]
}

fn open(path: &Path, cache_bytes: Option<usize>) -> (Database, Snapshot) {
    let mut builder = Database::builder();
    if let Some(cache_bytes) = cache_bytes {
        builder = builder.cache_bytes(cache_bytes);
    }
    let database = builder.open(path).expect("open");
    let snapshot = database.snapshot().expect("snapshot");
    warm(&snapshot);
    (database, snapshot)
}

/// The second table: simdb and its two plans at each radius.
fn every_radius(folder: &Path, keys: &[u64], floor: &SortedArrays, radii: &[u64]) {
    let documents = keys.len() as u64;
    let path = folder.join("radii.simdb");
    let file_bytes = load(&path, false, (0..documents).map(key));
    let (_database, snapshot) = open(&path, Some(cache_for(file_bytes)));
    let scan = PlainScan { keys, threads: 1 };
    let queries = queries(documents, QUERIES_PER_RADIUS, RADIUS);
    let columns = [
        "simdb p50",
        "simdb p99",
        "probing",
        "plain scan",
        "cheaper",
        "simdb ÷ it",
        "matches",
    ];
    let title = format!(
        "{documents} documents, every radius: simdb, cache that holds the file, and the p50 of both \
         plans in memory, one core"
    );
    let table = Table::new(&title, &columns);
    for radius in radii.iter().map(|radius| *radius as u32) {
        let label = format!("radius {radius}");
        if expected_matches(documents, radius) > MAX_MATCHES {
            table.row(&label, &["not measured", "many matches"]);
            continue;
        }
        let sample = Sample::with_queries(keys, radius, CHECKED_PER_RADIUS);
        sample.check("simdb", &snapshot);
        sample.check("the floor", floor);
        let p50 = |contender: &dyn Contender| {
            let mut queries = queries.clone();
            // Queries have three flipped bits, so at a smaller radius they need not find their
            // document.
            if radius < RADIUS {
                queries.iter_mut().for_each(|query| query.planted = None);
            }
            let queries = &queries[..queries_per_turn(contender, &queries, radius)];
            Latency::new(latencies(contender, queries, radius))
        };
        let (simdb, probing, scanning) = (p50(&snapshot), p50(floor), p50(&scan));
        let (cheaper, least) = if probing.p50 < scanning.p50 {
            ("probing", probing.p50)
        } else {
            ("scan", scanning.p50)
        };
        let values = [
            time(simdb.p50),
            time(simdb.p99),
            time(probing.p50),
            time(scanning.p50),
            cheaper.to_owned(),
            ratio(time_ratio(simdb.p50, least)),
            number(expected_matches(documents, radius)),
        ];
        table.row(&label, &values);
    }
}

/// The expected number of random fingerprints within the radius of a query, by the binomial
/// distribution.
fn expected_matches(documents: u64, radius: u32) -> f64 {
    let mut choose = 1.0;
    let mut sum = 0.0;
    for flips in 0..=radius.min(64) {
        sum += choose;
        choose *= f64::from(64 - flips.min(63)) / f64::from(flips + 1);
    }
    documents as f64 * sum / 2_f64.powi(64)
}
