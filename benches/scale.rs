//! How long does a bulk load of N fingerprints take, how large is the file, and how fast does it
//! answer, after a restart?
//!
//! `cargo bench --bench scale -- [DOCUMENTS] [--frozen] [--memory-mib N] [--cache-mib N] [--check]`,
//! 1,000,000 documents, 1 GiB to load and a cache that holds the file unless said otherwise. Fingerprints are splitmix64 from seed 1, ids count from 0;
//! queries are splitmix64 from seed 77, every other one a stored fingerprint with three bits
//! flipped. Every planted query must find its document, and a sample of all queries must give
//! exactly what the plain scan gives, or the bench fails.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use simdb::{Database, DocId, Document, Fingerprint};

const KEY_SEED: u64 = 1;
const QUERY_SEED: u64 = 77;
const QUERIES: u64 = 20_000;
const SCANNED_QUERIES: usize = 20;
const RADIUS: u32 = 3;
/// The radii at which a sample of the queries is compared with the plain scan.
const RADII: [u32; 6] = [3, 5, 7, 9, 11, 15];

/// The sequence of splitmix64 from a seed.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn main() {
    let mut documents = 1_000_000_u64;
    let mut memory_mib = 1024;
    let mut cache_mib = None;
    let (mut frozen, mut check) = (false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // What cargo passes to every bench.
            "--bench" => {}
            "--frozen" => frozen = true,
            "--check" => check = true,
            "--cache-mib" => {
                cache_mib = Some(
                    arguments
                        .next()
                        .expect("MiB")
                        .parse::<usize>()
                        .expect("MiB"),
                );
            }
            "--memory-mib" => memory_mib = arguments.next().expect("MiB").parse().expect("MiB"),
            number => {
                documents = number
                    .replace('_', "")
                    .parse()
                    .expect("a number of documents")
            }
        }
    }

    let folder = tempfile::tempdir_in(".").expect("a folder for the database");
    let path = folder.path().join("scale.simdb");
    let mut keys = SplitMix(KEY_SEED);
    let keys: Vec<u64> = (0..documents).map(|_| keys.next()).collect();

    let started = Instant::now();
    let mut load = Database::builder()
        .frozen(frozen)
        .bulk_create(&path, memory_mib << 20)
        .expect("a new file");
    for (id, bits) in keys.iter().enumerate() {
        load.push(Document::new(
            DocId(id as u64),
            Fingerprint::from_bits(*bits),
        ))
        .expect("push");
    }
    let report = load.finish(|_| ControlFlow::Continue(())).expect("load");
    let load_time = started.elapsed();
    assert_eq!(report.inserted, documents);
    let file_bytes = std::fs::metadata(&path).expect("the file").len();
    let floor = write_with_sync(folder.path(), file_bytes);
    row(
        "load, durable",
        &format!("{:.2} s", load_time.as_secs_f64()),
    );
    row(
        "the same bytes written with one sync",
        &format!("{:.2} s", floor.as_secs_f64()),
    );
    row(
        "ratio",
        &format!("{:.2}", load_time.as_secs_f64() / floor.as_secs_f64()),
    );
    row(
        "bytes a document",
        &format!("{:.1}", file_bytes as f64 / documents as f64),
    );

    let started = Instant::now();
    // Pages carry some bookkeeping beside their bytes.
    let cache_bytes = cache_mib.map_or(file_bytes as usize / 2 * 3, |mib| mib << 20);
    let db = Database::builder()
        .cache_bytes(cache_bytes)
        .open(&path)
        .expect("open");
    let first = db
        .within(Fingerprint::from_bits(keys[0]), RADIUS)
        .expect("query");
    row(
        "open to first answer",
        &format!("{:.1} ms", started.elapsed().as_secs_f64() * 1e3),
    );
    assert!(
        first
            .iter()
            .any(|found| found.id == DocId(0) && found.distance == 0)
    );
    assert_eq!(db.len().expect("len"), documents);

    let mut draws = SplitMix(QUERY_SEED);
    let queries: Vec<(u64, Option<u64>)> = (0..QUERIES)
        .map(|number| {
            let draw = draws.next();
            if number % 2 == 1 {
                return (draw, None);
            }
            let id = draw % documents;
            let flips = (0..3).fold(0, |flips, _| flips | 1_u64 << (draws.next() % 64));
            (keys[id as usize] ^ flips, Some(id))
        })
        .collect();
    let snapshot = db.snapshot().expect("snapshot");
    for pass in ["first pass", "warm"] {
        let mut times = Vec::with_capacity(queries.len());
        for (bits, planted) in &queries {
            let started = Instant::now();
            let matches = snapshot
                .within(Fingerprint::from_bits(*bits), RADIUS)
                .expect("query");
            times.push(started.elapsed());
            if let Some(id) = planted {
                assert!(
                    matches.iter().any(|found| found.id == DocId(*id)),
                    "document {id} is not found"
                );
            }
            black_box(matches);
        }
        times.sort_unstable();
        row(
            &format!("query, radius {RADIUS}, {pass}, p50 / p99"),
            &format!(
                "{:.1} / {:.1} µs",
                micros(times[times.len() / 2]),
                micros(times[times.len() * 99 / 100])
            ),
        );
    }
    for radius in RADII {
        let mut times = Vec::with_capacity(SCANNED_QUERIES);
        let mut scan_times = Vec::with_capacity(SCANNED_QUERIES);
        for (bits, _) in &queries[..SCANNED_QUERIES] {
            let started = Instant::now();
            let expected = plain_scan(&keys, *bits, radius);
            scan_times.push(started.elapsed());
            let started = Instant::now();
            let matches = snapshot
                .within(Fingerprint::from_bits(*bits), radius)
                .expect("query");
            times.push(started.elapsed());
            let found: Vec<(u32, u64)> = matches
                .iter()
                .map(|found| (found.distance, found.id.0))
                .collect();
            assert_eq!(found, expected, "radius {radius}");
        }
        times.sort_unstable();
        scan_times.sort_unstable();
        row(
            &format!("radius {radius}, p50 / plain scan in memory"),
            &format!(
                "{:.3} / {:.1} ms",
                micros(times[times.len() / 2]) / 1e3,
                micros(scan_times[scan_times.len() / 2]) / 1e3
            ),
        );
    }

    drop(snapshot);
    if check {
        let mut db = db;
        let started = Instant::now();
        let damage = db.check(|_, _| {}).expect("check");
        assert!(damage.is_empty(), "{damage:?}");
        row(
            "check: sound",
            &format!("{:.1} s", started.elapsed().as_secs_f64()),
        );
    }
}

/// What comparing with every key gives, in the order of matches.
fn plain_scan(keys: &[u64], query: u64, radius: u32) -> Vec<(u32, u64)> {
    let distances = keys
        .iter()
        .enumerate()
        .map(|(id, key)| ((key ^ query).count_ones(), id as u64));
    let mut matches: Vec<(u32, u64)> = distances
        .filter(|(distance, _)| *distance <= radius)
        .collect();
    matches.sort_unstable();
    matches
}

/// How long it takes to write and sync a file of that size: what no load can beat.
fn write_with_sync(folder: &std::path::Path, bytes: u64) -> Duration {
    let block = vec![0x5a_u8; 1 << 20];
    let started = Instant::now();
    let mut file = tempfile::tempfile_in(folder).expect("a file");
    for _ in 0..bytes.div_ceil(block.len() as u64) {
        file.write_all(&block).expect("write");
    }
    file.sync_all().expect("sync");
    started.elapsed()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn row(what: &str, value: &str) {
    println!("{what:<44} {value:>16}");
}
