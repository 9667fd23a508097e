//! The time of a bulk load, beside a write of as many bytes.
//!
//! `cargo bench --bench load -- [DOCUMENTS] [--memory-mib N] [--turns N] [--check]`, by default
//! 5,000,000 documents, 1 GiB and 3 turns.
//!
//! Each load runs in its own process, so the peak memory is the memory of the load. The process
//! computes each document from its id when it pushes the document. Directly before each load a file
//! of the same size is written and synced once, which no load can beat. A row gives the turn with
//! the median ratio. Bytes written are counted by the system per process, temporary files included:
//! bytes that went to the disk, and bytes of `write` calls.
//!
//! `support/keys.rs` makes the keys. The bench fails if a document is missing or if a sample
//! differs from the plain scan, and with `--check` if the check of the file finds damage.

#![allow(clippy::print_stdout)]

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::check::Sample;
use bench_support::database::folder;
use bench_support::keys::{key, keys};
use bench_support::memory;
use bench_support::table::{Table, mebibytes, number, ratio, time};
use bench_support::timing::{time_ratio, timed};
use simdb::bulk::BulkLoad;
use simdb::{Database, DocId, Document, Fingerprint};

const USAGE: Usage = Usage {
    line: "cargo bench --bench load -- [DOCUMENTS] [--memory-mib N] [--turns N] [--check]",
    flags: &["--check"],
    options: &["--memory-mib", "--turns"],
};

const RADIUS: u32 = 3;
/// The bytes of id and fingerprint.
const DOCUMENT_BYTES: u64 = 16;
/// A bulk load uses at least 16 MiB of memory.
const MIN_MEMORY_MIB: u64 = 16;
/// The expected bytes per document in a file: the size of the file that the first turn writes as
/// floor.
const FILE_BYTES_PER_DOCUMENT: u64 = 74;

fn main() {
    if let Some(job) = Job::from_args() {
        return job.run();
    }
    let arguments = USAGE.arguments();
    let documents = arguments.size(5_000_000);
    let memory_mib = arguments.number("--memory-mib", 1024);
    let bench = Bench {
        folder: folder(),
        keys: keys(documents + documents / 10),
        turns: arguments.number("--turns", 3).max(1),
        check: arguments.flag("--check"),
        table: Table::new(
            &format!("{documents} documents, bulk load from fingerprints, durable"),
            &[
                "load",
                "same bytes",
                "ratio",
                "a document",
                "file B/doc",
                "disk ÷ file",
                "handed ÷ file",
                "peak",
                "peak ÷ given",
            ],
        ),
    };
    let job = |kind, memory_mib| Job {
        kind,
        path: bench.folder.path().join("load.simdb"),
        from: 0,
        to: documents,
        memory_mib,
    };
    for kind in [Kind::Frozen, Kind::New] {
        let name = kind.name();
        bench.row(
            &format!("{name}, {memory_mib} MiB given"),
            &job(kind, memory_mib),
        );
    }
    let quarter_mib = (documents * DOCUMENT_BYTES / 4) >> 20;
    let label = format!("with room to grow, {quarter_mib} MiB: a quarter of the data");
    if quarter_mib >= MIN_MEMORY_MIB {
        bench.row(&label, &job(Kind::New, quarter_mib));
    } else {
        bench.table.row(&label, &["not measured", "too few"]);
    }
    bench.append_row(&job(Kind::New, memory_mib));
}

struct Bench {
    folder: tempfile::TempDir,
    keys: Vec<u64>,
    turns: u64,
    check: bool,
    table: Table,
}

impl Bench {
    /// Measures loads of a new file, in turns with a write of as many bytes.
    fn row(&self, label: &str, job: &Job) {
        let mut turns = Vec::new();
        let mut bytes = job.documents() * FILE_BYTES_PER_DOCUMENT;
        for _ in 0..self.turns {
            let _ = std::fs::remove_file(&job.path);
            let floor = write_with_sync(self.folder.path(), bytes);
            let outcome = job.run_in_process();
            // The size of the new file was only estimated before the load.
            let floor = floor.mul_f64(outcome.file_bytes as f64 / bytes as f64);
            bytes = outcome.file_bytes;
            turns.push((time_ratio(outcome.time, floor), floor, outcome));
        }
        turns.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio_of_turn, floor, outcome) = &turns[turns.len() / 2];
        self.check(job);
        let mut values = outcome.values(job);
        values[1] = time(*floor);
        values[2] = ratio(*ratio_of_turn);
        self.table.row(label, &values);
    }

    /// Measures loads of a tenth more documents into a database that was just loaded.
    fn append_row(&self, first: &Job) {
        let more = Job {
            kind: Kind::Existing,
            from: first.to,
            to: first.to + first.to / 10,
            ..first.clone()
        };
        let mut turns = Vec::new();
        for _ in 0..self.turns {
            let _ = std::fs::remove_file(&first.path);
            let plain = first.run_in_process();
            let outcome = more.run_in_process();
            let a_document = time_ratio(outcome.time, plain.time) * first.documents() as f64
                / more.documents() as f64;
            turns.push((a_document, outcome));
        }
        turns.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (a_document, outcome) = &turns[turns.len() / 2];
        self.check(&more);
        let label = format!("a tenth more into it, {} MiB given", more.memory_mib);
        self.table.row(&label, &outcome.values(&more));
        println!(
            "\nA document of the second load takes {} the time of one of the first load.",
            ratio(*a_document)
        );
    }

    /// Panics if a document is missing or if a sample differs from the plain scan.
    fn check(&self, job: &Job) {
        let database = Database::open(&job.path).expect("open");
        assert_eq!(database.len().expect("len"), job.to);
        let sample = Sample::new(&self.keys[..job.to as usize], RADIUS);
        sample.check("simdb", &database.snapshot().expect("snapshot"));
        if self.check {
            let damage = database.check().expect("check");
            assert!(damage.is_empty(), "{damage:?}");
        }
    }
}

/// The time to write and sync a file of this size.
fn write_with_sync(folder: &Path, bytes: u64) -> Duration {
    // Random bytes, since a file system or disk may compress.
    let block: Vec<u8> = (0..1 << 17).flat_map(|id| key(id).to_le_bytes()).collect();
    let write = || {
        let mut file = tempfile::tempfile_in(folder).expect("a file");
        for _ in 0..bytes.div_ceil(block.len() as u64) {
            file.write_all(&block).expect("write");
        }
        file.sync_all().expect("sync");
    };
    timed(write).1
}

#[derive(Clone, Copy)]
enum Kind {
    New,
    Frozen,
    Existing,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::New => "with room to grow",
            Self::Frozen => "frozen",
            Self::Existing => "into a database",
        }
    }
}

/// A load that runs in its own process.
#[derive(Clone)]
struct Job {
    kind: Kind,
    path: PathBuf,
    from: u64,
    to: u64,
    memory_mib: u64,
}

/// The measurements of a load, as its process printed them.
struct Outcome {
    time: Duration,
    peak_bytes: u64,
    disk_bytes: u64,
    handed_bytes: u64,
    file_bytes: u64,
}

/// The first argument of a process that runs a load instead of the bench.
const JOB_FLAG: &str = "--run-load";

impl Job {
    fn documents(&self) -> u64 {
        self.to - self.from
    }

    fn run_in_process(&self) -> Outcome {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program)
            .args([JOB_FLAG, self.kind.name()])
            .arg(&self.path)
            .args([self.from, self.to, self.memory_mib].map(|number| number.to_string()))
            .stderr(std::process::Stdio::inherit())
            .output()
            .expect("a process");
        assert!(output.status.success(), "the load failed");
        let text = String::from_utf8(output.stdout).expect("numbers");
        let numbers: Vec<u64> = text
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        Outcome {
            time: Duration::from_nanos(numbers[0]),
            peak_bytes: numbers[1],
            disk_bytes: numbers[2],
            handed_bytes: numbers[3],
            file_bytes: std::fs::metadata(&self.path).expect("the file").len(),
        }
    }

    fn from_args() -> Option<Self> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [job, kind, path, numbers @ ..] = &words[..] else {
            return None;
        };
        let kind = [Kind::New, Kind::Frozen, Kind::Existing]
            .into_iter()
            .find(|known| known.name() == kind && job == JOB_FLAG)?;
        let number = |index: usize| numbers[index].parse().expect("a number");
        Some(Self {
            kind,
            path: path.into(),
            from: number(0),
            to: number(1),
            memory_mib: number(2),
        })
    }

    fn run(&self) {
        let ((), time) = timed(|| self.load());
        let peak = memory::peak_resident().unwrap_or(0);
        let (disk, handed) = memory::written().unwrap_or((0, 0));
        println!("{} {peak} {disk} {handed}", time.as_nanos());
    }

    fn load(&self) {
        let memory_bytes = self.memory_mib << 20;
        let new = |frozen| {
            let builder = Database::builder().frozen(frozen);
            self.push_all(
                builder
                    .bulk_create(&self.path, memory_bytes)
                    .expect("a new file"),
            );
        };
        match self.kind {
            Kind::New => new(false),
            Kind::Frozen => new(true),
            // Half of the memory to sort, half for the cache of the database.
            Kind::Existing => {
                let builder = Database::builder().cache_bytes(memory_bytes as usize / 2);
                let database = builder.open(&self.path).expect("open");
                self.push_all(database.bulk_load(memory_bytes / 2).expect("a load"));
            }
        }
    }

    fn push_all(&self, mut load: BulkLoad<'_>) {
        for id in self.from..self.to {
            let fingerprint = Fingerprint::from_bits(key(id));
            load.push(Document::new(DocId(id), fingerprint))
                .expect("push");
        }
        let report = load.finish(|_| ControlFlow::Continue(())).expect("load");
        assert_eq!(report.inserted, self.documents());
    }
}

impl Outcome {
    fn values(&self, job: &Job) -> Vec<String> {
        let file_bytes = self.file_bytes as f64;
        vec![
            time(self.time),
            String::new(),
            String::new(),
            time(self.time.div_f64(job.documents() as f64)),
            number(file_bytes / job.to as f64),
            number(self.disk_bytes as f64 / file_bytes),
            number(self.handed_bytes as f64 / file_bytes),
            mebibytes(self.peak_bytes),
            number(self.peak_bytes as f64 / (job.memory_mib << 20) as f64),
        ]
    }
}
