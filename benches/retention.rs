//! The size and speed of a database with retention, over a day.
//!
//! `cargo bench --bench retention -- [DOCUMENTS PER HOUR] [--hours N] [--check]`, by default
//! 200,000 per hour and 24 hours.
//!
//! Documents have arrival times at an even rate. They are inserted by `InsertUnique` at radius 3, a
//! thousand at a time, into a database with a window of two hours, which removes older documents.
//! Each row is the end of an hour. The live bytes are 88 per document of the last two hours. Each
//! query opens its own snapshot and lies three bits from a document: a live document must be found,
//! an expired one must not.
//!
//! `support/keys.rs` makes the keys. With `--check` the bench fails if the check of the file
//! finds damage.

#![allow(clippy::print_stdout)]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bench_support::arguments::Usage;
use bench_support::database::folder;
use bench_support::keys::{SplitMix, key};
use bench_support::memory;
use bench_support::table::{Table, mebibytes, number, ratio, time};
use bench_support::timing::{Latency, timed};
use simdb::{Change, Database, DocId, Document, Fingerprint, Retention, Timestamp};

const USAGE: Usage = Usage {
    line: "cargo bench --bench retention -- [DOCUMENTS PER HOUR] [--hours N] [--check]",
    flags: &["--check"],
    options: &["--hours"],
};

const RADIUS: u32 = 3;
const WINDOW_HOURS: u64 = 2;
const HOUR_MS: u64 = 3_600_000;
const BATCH_LEN: u64 = 1000;
const QUERIES: u64 = 2000;
/// Live bytes per document: 56 in five tables, and 32 in two tables of arrival times.
const LIVE_BYTES: u64 = 88;
const CACHE_BYTES: usize = 256 << 20;

fn main() {
    let arguments = USAGE.arguments();
    let an_hour = arguments.size(200_000);
    let hours = arguments.number("--hours", 24);
    let folder = folder();
    let path = folder.path().join("retention.simdb");
    let open = Database::builder().cache_bytes(CACHE_BYTES);
    let two_hours = Retention {
        window: Some(Duration::from_millis(WINDOW_HOURS * HOUR_MS)),
        ..Retention::default()
    };
    let database = open
        .clone()
        .retention(two_hours)
        .create(&path)
        .expect("create");
    let table = Table::new(
        &format!("{an_hour} documents an hour, kept for {WINDOW_HOURS}"),
        &[
            "stored",
            "inserts/s",
            "file",
            "file ÷ live",
            "p50",
            "p99",
            "memory",
        ],
    );
    let mut draws = SplitMix(77);
    for hour in 0..hours {
        let started = Instant::now();
        for first in (hour * an_hour..(hour + 1) * an_hour).step_by(BATCH_LEN as usize) {
            let ids = first..(first + BATCH_LEN).min((hour + 1) * an_hour);
            let unique = |id| Change::InsertUnique {
                document: Document {
                    arrival: Some(arrival(id, an_hour)),
                    ..Document::new(DocId(id), Fingerprint::from_bits(key(id)))
                },
                radius: RADIUS,
            };
            let outcomes = database.apply(ids.map(unique)).expect("apply");
            assert!(outcomes.iter().all(|outcome| outcome.is_inserted()));
        }
        let rate = an_hour as f64 / started.elapsed().as_secs_f64();
        let end = (hour + 1) * an_hour;
        let latency = ask(&database, end, an_hour, &mut draws);
        let file = on_disk(&path);
        let live = end.min(WINDOW_HOURS * an_hour) * LIVE_BYTES;
        table.row(
            &format!("after {} h", hour + 1),
            &[
                number(database.len().expect("len") as f64),
                number(rate),
                mebibytes(file),
                ratio(file as f64 / live as f64),
                time(latency.p50),
                time(latency.p99),
                memory::resident().map_or_else(String::new, mebibytes),
            ],
        );
    }
    let (closed, closing) = timed(|| database.close());
    closed.expect("close");
    let live = hours.min(WINDOW_HOURS) * an_hour * LIVE_BYTES;
    let file = on_disk(&path);
    println!(
        "\nClosing took {}; the file then takes {}, {} of the live bytes.",
        time(closing),
        mebibytes(file),
        ratio(file as f64 / live as f64)
    );
    let database = open.clone().open_read_only(&path).expect("open");
    let stats = database.snapshot().and_then(|snapshot| snapshot.stats());
    for table in stats.expect("stats").tables {
        let percent = 100.0 * table.fill;
        println!(
            "{}: {} entries, {percent:.0} % full",
            table.name, table.entries
        );
    }
    drop(database);
    if arguments.flag("--check") {
        let damage = open.open(&path).expect("open").check().expect("check");
        assert!(damage.is_empty(), "{damage:?}");
    }
}

/// The bytes of a file on the disk. Holes do not count.
fn on_disk(path: &Path) -> u64 {
    std::fs::metadata(path).expect("the file").blocks() * 512
}

fn arrival(id: u64, an_hour: u64) -> Timestamp {
    Timestamp(HOUR_MS + id * HOUR_MS / an_hour)
}

/// The latency of queries for live and for expired documents among the first `end`.
fn ask(database: &Database, end: u64, an_hour: u64, draws: &mut SplitMix) -> Latency {
    let now = arrival(end - 1, an_hour).0;
    let is_expired = |id| arrival(id, an_hour).0 + WINDOW_HOURS * HOUR_MS < now;
    let mut taken = Vec::new();
    for number in 0..QUERIES {
        // From twice the window, so half of the documents are expired.
        let recent = end.min(2 * WINDOW_HOURS * an_hour);
        let id = end - 1 - draws.next() % recent;
        let query = Fingerprint::from_bits(key(id) ^ draws.bits(RADIUS));
        let (answer, time) = timed(|| database.within(query, RADIUS).expect("query"));
        let is_found = answer.iter().any(|found| found.id == DocId(id));
        assert_eq!(
            is_found,
            !is_expired(id),
            "query {number} for document {id}"
        );
        taken.push(time);
    }
    Latency::new(taken)
}
