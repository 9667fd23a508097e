//! How fast can one arrive after the other, be compared with all that is there, and be kept?
//!
//! `cargo bench --bench online -- [DOCUMENTS] [--inserts N] [--threads N] [--check]`, a million
//! documents, 300,000 inserts and 64 threads unless said otherwise; the question is about 50
//! million and 2 million.
//!
//! Every insert is `insert_unique` at radius 3, durable when it returns. One in ten is a stored
//! fingerprint with three bits flipped, and must be refused as its duplicate; the others must be
//! stored. Beside it, on the same disk: writing and syncing 4 KiB, which no durable insert can
//! beat, and what inserts cost without a journal, each a commit to the tables, or a thousand
//! together. A reader asks a query every millisecond all the while, at radius 3.
//!
//! Bytes written are what the system counted for this process until all is in the tables. Keys are
//! splitmix64 from seed 1, ids count from 0. In the end every document must be there; with
//! `--check` the file is proved sound.

#![allow(clippy::print_stdout)]

mod common;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::arguments::Usage;
use common::database::{cache_for, folder, load, warm};
use common::keys::{SplitMix, key, keys, queries};
use common::memory;
use common::table::{Table, number, ratio, time};
use common::timing::{Latency, timed, times};
use simdb::{Change, Database, DocId, Document, Fingerprint, Insertion};

const USAGE: Usage = Usage {
    line: "cargo bench --bench online -- [DOCUMENTS] [--inserts N] [--threads N] [--check]",
    flags: &["--check"],
    options: &["--inserts", "--threads"],
};

const RADIUS: u32 = 3;
/// One insert in so many is a duplicate.
const DUPLICATES: u64 = 10;
/// Inserts of one thread, and without a journal one by one.
const FEW: u64 = 1_000;
/// Inserts without a journal that are committed together.
const TOGETHER: u64 = 1_000;
/// The memory that is left for the cache.
const MEMORY_SHARE: f64 = 0.5;
/// How long queries are asked while nothing else goes on, how often, and how many at most.
const QUIET: Duration = Duration::from_secs(3);
const BETWEEN_QUERIES: Duration = Duration::from_millis(1);
const MOST_QUERIES: usize = 1_000_000;
/// What was asked for in the first place.
const HOUR: Duration = Duration::from_secs(3600);
const DEMAND_AN_HOUR: f64 = 1e6;

fn main() {
    let arguments = USAGE.arguments();
    let documents = arguments.size(1_000_000);
    let inserts = arguments.number("--inserts", 300_000);
    let threads = arguments.number("--threads", 64).max(1);
    let folder = folder();
    let path = folder.path().join("online.simdb");
    let file_bytes = load(&path, false, keys(documents).into_iter());
    let cache_bytes = memory::available().map_or(cache_for(file_bytes), |available| {
        cache_for(file_bytes).min((available as f64 * MEMORY_SHARE) as usize)
    });
    let open = || {
        Database::builder()
            .cache_bytes(cache_bytes)
            .open(&path)
            .expect("open")
    };

    let bench = Bench {
        database: open(),
        documents,
        next: AtomicU64::new(0),
    };
    let title = format!("{documents} documents, durable check-and-insert at radius {RADIUS}");
    let columns = [
        "inserts/s",
        "p50",
        "p99",
        "longest",
        "p50 ÷ sync",
        "B written",
    ];
    let table = Table::new(&title, &columns);
    let syncs = syncs(folder.path());
    let sync = syncs.latency.p50;
    syncs.print(&table, "writing and syncing 4 KiB", sync);
    let one_by_one = bench.insert_without_journal(FEW / 5, 1);
    one_by_one.print(&table, "without a journal, one by one", sync);
    let together = bench.insert_without_journal(20 * TOGETHER, TOGETHER);
    together.print(&table, "without a journal, a thousand together", sync);
    warm(&bench.database.snapshot().expect("snapshot"));
    bench.insert(FEW, 1).print(&table, "one thread", sync);
    let quiet = bench.ask_quietly();
    let (many, busy) = bench.insert_and_ask(inserts, threads);
    many.print(&table, &format!("{threads} threads"), sync);
    let rate = many.rate;
    let Bench { database, next, .. } = bench;

    let table = Table::new("Queries at radius 3", &["p50", "p99", "÷ quiet"]);
    for (label, latency) in [("quiet", quiet), ("while that goes on", busy)] {
        let over_quiet = ratio(times(latency.p50, quiet.p50));
        table.row(label, &[time(latency.p50), time(latency.p99), over_quiet]);
    }
    println!(
        "\nA million in an hour were asked for: that hour takes {}, {} of real time.",
        time(HOUR.mul_f64(DEMAND_AN_HOUR / 3600.0 / rate)),
        ratio(DEMAND_AN_HOUR / 3600.0 / rate),
    );
    let ((), closing) = timed(|| database.close().expect("close"));
    let (mut database, opening) = timed(open);
    println!(
        "Closing, with the last merge, took {}, opening {}.",
        time(closing),
        time(opening)
    );
    let offered = next.into_inner();
    let stored = (0..offered).filter(|place| !is_duplicate(*place)).count() as u64;
    assert_eq!(database.len().expect("len"), documents + stored);
    for place in (0..offered).step_by(1 + offered as usize / 1000) {
        let found = database.get(DocId(documents + place)).expect("get");
        assert_eq!(found.is_some(), !is_duplicate(place));
    }
    if arguments.flag("--check") {
        let damage = database.check().expect("check");
        assert!(damage.is_empty(), "{damage:?}");
    }
}

/// Writes and syncs 4 KiB in a file that has its length, a thousand times.
fn syncs(folder: &Path) -> Inserts {
    let file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(folder.join("syncs"))
        .expect("a file");
    let blocks = 256;
    for number in 0..blocks {
        file.write_all_at(&[1; 4096], number << 12).expect("write");
    }
    file.sync_all().expect("sync");
    let written = memory::written();
    let taken: Vec<Duration> = (0..FEW)
        .map(|number| {
            let block = [number as u8; 4096];
            let start = Instant::now();
            file.write_all_at(&block, (number % blocks) << 12)
                .expect("write");
            file.sync_data().expect("sync");
            start.elapsed()
        })
        .collect();
    let rate = FEW as f64 / taken.iter().sum::<Duration>().as_secs_f64();
    Inserts::new(taken, rate, written)
}

/// Whether the insert with this number is a duplicate of what is stored.
fn is_duplicate(place: u64) -> bool {
    place % DUPLICATES == DUPLICATES - 1
}

struct Bench {
    database: Database,
    documents: u64,
    /// The number of the next insert.
    next: AtomicU64,
}

impl Bench {
    /// What comes next, to be inserted with others.
    fn next_change(&self) -> Change {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let fingerprint = Fingerprint::from_bits(self.arrival(place).0);
        Change::InsertUnique {
            document: Document::new(DocId(self.documents + place), fingerprint),
            radius: RADIUS,
        }
    }

    /// Inserts what comes next, and checks the answer.
    fn insert_next(&self) {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let id = DocId(self.documents + place);
        let (bits, of) = self.arrival(place);
        let answer = self
            .database
            .insert_unique(id, Fingerprint::from_bits(bits), RADIUS)
            .expect("insert");
        match (answer, of) {
            (Insertion::Inserted, None) => {}
            (Insertion::Duplicate(found), Some(of)) => {
                assert_eq!((found.id, found.distance), (DocId(of), RADIUS));
            }
            other => panic!("{other:?}"),
        }
    }

    /// The fingerprint of an insert, and the document that it duplicates.
    fn arrival(&self, place: u64) -> (u64, Option<u64>) {
        if !is_duplicate(place) {
            return (key(self.documents + place), None);
        }
        let mut draws = SplitMix(place);
        let of = draws.next() % self.documents;
        (key(of) ^ draws.bits(RADIUS), Some(of))
    }

    /// Inserts of several threads, each waiting for its own before the next.
    fn insert(&self, inserts: u64, threads: u64) -> Inserts {
        let written = memory::written();
        let end = self.next.load(Ordering::Relaxed) + inserts;
        let work = || {
            let mut taken = Vec::new();
            while self.next.load(Ordering::Relaxed) < end {
                taken.push(timed(|| self.insert_next()).1);
            }
            taken
        };
        let (taken, elapsed) = timed(|| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                let taken = threads
                    .into_iter()
                    .map(|thread| thread.join().expect("a thread"));
                taken.flatten().collect::<Vec<Duration>>()
            })
        });
        let rate = taken.len() as f64 / elapsed.as_secs_f64();
        // What is not in the tables yet has not cost all that it will.
        self.database.merge().expect("merge");
        Inserts::new(taken, rate, written)
    }

    /// The same without a journal: so many together go into the tables before the next.
    fn insert_without_journal(&self, inserts: u64, together: u64) -> Inserts {
        let written = memory::written();
        let (taken, elapsed) = timed(|| {
            let groups = (0..inserts / together).map(|_| {
                let insert = || {
                    let changes: Vec<Change> = (0..together).map(|_| self.next_change()).collect();
                    self.database.apply(changes).expect("insert");
                    self.database.merge().expect("merge");
                };
                timed(insert).1
            });
            groups.collect()
        });
        let mut inserts = Inserts::new(taken, inserts as f64 / elapsed.as_secs_f64(), written);
        inserts.written = inserts.written.map(|bytes| bytes / together as f64);
        inserts
    }

    /// Queries of one thread, one every millisecond, each of a state of its own, until `is_over`.
    fn ask(&self, is_over: &AtomicBool) -> Latency {
        let mut taken = Vec::new();
        for query in queries(self.documents, MOST_QUERIES, RADIUS) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let ask = || {
                self.database
                    .within(Fingerprint::from_bits(query.bits), RADIUS)
            };
            let (answer, time) = timed(ask);
            let answer = answer.expect("query");
            let planted = |id| answer.iter().any(|found| found.id == DocId(id));
            assert!(query.planted.is_none_or(planted), "a document is not found");
            taken.push(time);
            std::thread::sleep(BETWEEN_QUERIES);
        }
        Latency::of(taken)
    }

    /// What these queries take while nothing else goes on.
    fn ask_quietly(&self) -> Latency {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| self.ask(&is_over));
            std::thread::sleep(QUIET);
            is_over.store(true, Ordering::Relaxed);
            asking.join().expect("a thread")
        })
    }

    /// What they take while many threads insert.
    fn insert_and_ask(&self, inserts: u64, threads: u64) -> (Inserts, Latency) {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| self.ask(&is_over));
            let inserts = self.insert(inserts, threads);
            is_over.store(true, Ordering::Relaxed);
            (inserts, asking.join().expect("a thread"))
        })
    }
}

/// What inserts took.
struct Inserts {
    rate: f64,
    latency: Latency,
    longest: Duration,
    /// Bytes that the disk was given for each.
    written: Option<f64>,
}

impl Inserts {
    fn new(taken: Vec<Duration>, rate: f64, before: Option<(u64, u64)>) -> Self {
        let bytes = before.zip(memory::written());
        let bytes = bytes.map(|((before, _), (after, _))| (after - before) as f64);
        Self {
            rate,
            longest: taken.iter().copied().max().expect("inserts"),
            written: bytes.map(|bytes| bytes / taken.len() as f64),
            latency: Latency::of(taken),
        }
    }

    fn print(&self, table: &Table, label: &str, sync: Duration) {
        let values = [
            number(self.rate),
            time(self.latency.p50),
            time(self.latency.p99),
            time(self.longest),
            ratio(times(self.latency.p50, sync)),
            self.written.map_or_else(String::new, number),
        ];
        table.row(label, &values);
    }
}
