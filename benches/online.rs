//! The speed of durable check-and-insert, and of queries meanwhile.
//!
//! `cargo bench --bench online -- [DOCUMENTS] [--inserts N] [--threads N] [--check]`, by default a
//! million documents, 300,000 inserts and 64 threads; the published table is for 50 million and 2
//! million.
//!
//! Every insert is `insert_unique` at radius 3, durable when it returns. One insert in ten is a
//! stored fingerprint with three bits flipped, which must be refused as a duplicate; the others
//! must be stored. The baselines on the same disk are a write and sync of 4 KiB, which no durable
//! insert can beat, and inserts straight into the tables, with a flush for each insert or for each
//! thousand. Meanwhile one thread asks a query at radius 3 every millisecond.
//!
//! Bytes written are counted by the system for this process until everything is in the tables. Keys
//! are those of `support/keys.rs`. The bench fails if a document is missing, and with `--check` if
//! the check of the file finds damage.

#![allow(clippy::print_stdout)]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench_support::arguments::Usage;
use bench_support::database::{cache_for, folder, load, warm};
use bench_support::keys::{SplitMix, key, keys, queries};
use bench_support::memory;
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{Latency, time_ratio, timed};
use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome};

const USAGE: Usage = Usage {
    line: "cargo bench --bench online -- [DOCUMENTS] [--inserts N] [--threads N] [--check]",
    flags: &["--check"],
    options: &["--inserts", "--threads"],
};

const RADIUS: u32 = 3;
/// One insert in ten is a duplicate.
const DUPLICATES: u64 = 10;
/// Inserts by one thread. A fifth as many are flushed one by one, which takes milliseconds each.
const SINGLE_THREAD_INSERTS: u64 = 1_000;
/// Inserts per flush, straight into the tables.
const GROUP_LEN: u64 = 1_000;
/// The cache may take this share of the available memory.
const MEMORY_SHARE: f64 = 0.5;
/// The time for queries without inserts, the time between two queries, and the number of prepared
/// queries.
const IDLE_TIME: Duration = Duration::from_secs(3);
const BETWEEN_QUERIES: Duration = Duration::from_millis(1);
const MAX_QUERIES: usize = 1_000_000;
/// The required rate of inserts: a million per hour.
const HOUR: Duration = Duration::from_secs(3600);
const REQUIRED_PER_HOUR: f64 = 1e6;

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
    let syncs = measure_syncs(folder.path());
    let sync = syncs.latency.p50;
    syncs.print(&table, "writing and syncing 4 KiB", sync);
    let one_by_one = bench.insert_without_journal(SINGLE_THREAD_INSERTS / 5, 1);
    one_by_one.print(&table, "without a journal, one by one", sync);
    let together = bench.insert_without_journal(20 * GROUP_LEN, GROUP_LEN);
    together.print(&table, "without a journal, a thousand together", sync);
    warm(&bench.database.snapshot().expect("snapshot"));
    bench
        .insert(SINGLE_THREAD_INSERTS, 1)
        .print(&table, "one thread", sync);
    let idle = bench.ask_while_idle();
    let (many, busy) = bench.insert_and_ask(inserts, threads);
    many.print(&table, &format!("{threads} threads"), sync);
    let rate = many.rate;
    let Bench { database, next, .. } = bench;

    let table = Table::new("Queries at radius 3", &["p50", "p99", "÷ idle"]);
    for (label, latency) in [("without inserts", idle), ("during inserts", busy)] {
        let over_idle = ratio(time_ratio(latency.p50, idle.p50));
        table.row(label, &[time(latency.p50), time(latency.p99), over_idle]);
    }
    println!(
        "\nThe required inserts of an hour, a million, take {}, {} of real time.",
        time(HOUR.mul_f64(REQUIRED_PER_HOUR / 3600.0 / rate)),
        ratio(REQUIRED_PER_HOUR / 3600.0 / rate),
    );
    let ((), closing) = timed(|| database.close().expect("close"));
    let (database, opening) = timed(open);
    println!(
        "Closing, with the last flush, took {}, opening {}.",
        time(closing),
        time(opening)
    );
    let offered = next.into_inner();
    let stored = (0..offered).filter(|index| !is_duplicate(*index)).count() as u64;
    assert_eq!(database.len().expect("len"), documents + stored);
    for index in (0..offered).step_by(1 + offered as usize / 1000) {
        let found = database.get(DocId(documents + index)).expect("get");
        assert_eq!(found.is_some(), !is_duplicate(index));
    }
    if arguments.flag("--check") {
        let damage = database.check().expect("check");
        assert!(damage.is_empty(), "{damage:?}");
    }
}

/// Writes and syncs 4 KiB a thousand times, within the length of a file: a sync that changes the
/// length would also write metadata.
fn measure_syncs(folder: &Path) -> Inserts {
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
    let taken: Vec<Duration> = (0..SINGLE_THREAD_INSERTS)
        .map(|number| {
            let block = [number as u8; 4096];
            let start = Instant::now();
            file.write_all_at(&block, (number % blocks) << 12)
                .expect("write");
            file.sync_data().expect("sync");
            start.elapsed()
        })
        .collect();
    let rate = SINGLE_THREAD_INSERTS as f64 / taken.iter().sum::<Duration>().as_secs_f64();
    Inserts::new(taken, rate, written)
}

/// Returns `true` if the insert with this index is a duplicate of a stored document.
fn is_duplicate(index: u64) -> bool {
    index % DUPLICATES == DUPLICATES - 1
}

struct Bench {
    database: Database,
    documents: u64,
    /// The index of the next insert. Shared by all threads.
    next: AtomicU64,
}

impl Bench {
    /// The next insert, as a change of a batch.
    fn next_change(&self) -> Change {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let fingerprint = Fingerprint::from_bits(self.arrival(index).0);
        Change::InsertUnique {
            document: Document::new(DocId(self.documents + index), fingerprint),
            radius: RADIUS,
        }
    }

    /// Makes the next insert and checks the answer.
    fn insert_next(&self) {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let id = DocId(self.documents + index);
        let (bits, original) = self.arrival(index);
        let answer = self
            .database
            .insert_unique(Document::new(id, Fingerprint::from_bits(bits)), RADIUS)
            .expect("insert");
        match (answer, original) {
            (Outcome::Inserted { .. }, None) => {}
            (Outcome::Duplicate(found), Some(original)) => {
                assert_eq!((found.id, found.distance), (DocId(original), RADIUS));
            }
            other => panic!("{other:?}"),
        }
    }

    /// The fingerprint of the insert with this index, and the document of which it is a duplicate.
    fn arrival(&self, index: u64) -> (u64, Option<u64>) {
        if !is_duplicate(index) {
            return (key(self.documents + index), None);
        }
        let mut draws = SplitMix(index);
        let original = draws.next() % self.documents;
        (key(original) ^ draws.bits(RADIUS), Some(original))
    }

    /// Inserts by several threads. Each thread waits for its insert before it makes the next one.
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
        // Bytes are counted after the flush: changes in the memtable have not been written to the
        // tables.
        self.database.merge().expect("merge");
        Inserts::new(taken, rate, written)
    }

    /// Inserts straight into the tables: `together` inserts are one batch, which is flushed at
    /// once.
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

    /// The latency of queries of one thread, one every millisecond until `is_done`. Each query
    /// opens its own snapshot.
    fn ask(&self, is_done: &AtomicBool) -> Latency {
        let mut taken = Vec::new();
        for query in queries(self.documents, MAX_QUERIES, RADIUS) {
            if is_done.load(Ordering::Relaxed) {
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
        Latency::new(taken)
    }

    /// The latency of queries without inserts.
    fn ask_while_idle(&self) -> Latency {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| self.ask(&is_done));
            std::thread::sleep(IDLE_TIME);
            is_done.store(true, Ordering::Relaxed);
            asking.join().expect("a thread")
        })
    }

    /// Inserts by many threads, and the latency of queries meanwhile.
    fn insert_and_ask(&self, inserts: u64, threads: u64) -> (Inserts, Latency) {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| self.ask(&is_done));
            let inserts = self.insert(inserts, threads);
            is_done.store(true, Ordering::Relaxed);
            (inserts, asking.join().expect("a thread"))
        })
    }
}

struct Inserts {
    rate: f64,
    latency: Latency,
    longest: Duration,
    /// Bytes written to the disk per insert.
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
            latency: Latency::new(taken),
        }
    }

    fn print(&self, table: &Table, label: &str, sync: Duration) {
        let values = [
            number(self.rate),
            time(self.latency.p50),
            time(self.latency.p99),
            time(self.longest),
            ratio(time_ratio(self.latency.p50, sync)),
            self.written.map_or_else(String::new, number),
        ];
        table.row(label, &values);
    }
}
