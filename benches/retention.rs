//! Does a database that forgets stay as it is?
//!
//! `cargo bench --bench retention -- [DOCUMENTS AN HOUR] [--hours N] [--check]`, 200,000 an hour
//! and 24 hours unless said otherwise.
//!
//! Documents arrive at an even rate by the times that they are given, a thousand at a time, each
//! `InsertUnique` at radius 3, into a database with a window of two hours, which removes what is
//! older by itself. A row is the end of an hour. Live bytes are 88 for each document of the last
//! two hours: five tables and two of arrival times. Queries ask, one by one and each of a state of
//! its own, for documents three bits away from one of the last two hours, which must be found, and
//! from one that is expired, which must not.
//!
//! Keys are splitmix64 from seed 1, ids count from 0. With `--check` the file is proved sound.

#![allow(clippy::print_stdout)]

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use common::arguments::Usage;
use common::database::folder;
use common::keys::{SplitMix, key};
use common::memory;
use common::table::{Table, mebibytes, number, ratio, time};
use common::timing::{Latency, timed};
use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome, Retention, Timestamp};

const USAGE: Usage = Usage {
    line: "cargo bench --bench retention -- [DOCUMENTS AN HOUR] [--hours N] [--check]",
    flags: &["--check"],
    options: &["--hours"],
};

const RADIUS: u32 = 3;
const WINDOW_HOURS: u64 = 2;
const HOUR_MS: u64 = 3_600_000;
const AT_ONCE: u64 = 1000;
const QUERIES: u64 = 2000;
/// Five tables hold 56 bytes of a document, two of arrival times 32.
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
        for first in (hour * an_hour..(hour + 1) * an_hour).step_by(AT_ONCE as usize) {
            let ids = first..(first + AT_ONCE).min((hour + 1) * an_hour);
            let unique = |id| Change::InsertUnique {
                document: Document {
                    arrival: Some(arrival(id, an_hour)),
                    ..Document::new(DocId(id), Fingerprint::from_bits(key(id)))
                },
                radius: RADIUS,
            };
            let outcomes = database.apply(ids.map(unique)).expect("apply");
            assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Inserted));
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

/// Bytes that a file takes, without the holes in it.
fn on_disk(path: &Path) -> u64 {
    std::fs::metadata(path).expect("the file").blocks() * 512
}

fn arrival(id: u64, an_hour: u64) -> Timestamp {
    Timestamp(HOUR_MS + id * HOUR_MS / an_hour)
}

/// Asks for documents that are there and for some that are expired, of the first `end`.
fn ask(database: &Database, end: u64, an_hour: u64, draws: &mut SplitMix) -> Latency {
    let now = arrival(end - 1, an_hour).0;
    let is_expired = |id| arrival(id, an_hour).0 + WINDOW_HOURS * HOUR_MS < now;
    let mut taken = Vec::new();
    for number in 0..QUERIES {
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
    Latency::of(taken)
}
