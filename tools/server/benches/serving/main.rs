//! The cost of HTTP: durable check-and-inserts over many connections, and batches of queries,
//! beside the same calls of the library by as many threads.
//!
//! `cargo bench -p simdb-server -- [DOCUMENTS] [--inserts N] [--threads N] [--peers]`, by default a
//! million documents, 100,000 inserts and 64 threads.
//!
//! Each insert is `insert_unique` at radius 3, durable when it is answered. One insert in ten is a
//! stored fingerprint with three bits flipped, which must be refused as a duplicate; the others
//! must be stored. The library and the server have a database each, with the same documents, and
//! take turns; the middle turn counts. One thread of this process has all connections to a server,
//! and shares the cores with it. A second server listens to a socket of the file system.
//!
//! With `--peers`, the same inserts by Redis and by PostgreSQL, each of which syncs each write: the
//! usual recipes, with sets or indexes of the blocks. Both must be installed, and started as root.

#![allow(clippy::print_stdout)]

mod connections;
mod postgres;
mod redis;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::database::{cache_for, folder, load, warm};
use bench_support::keys::{SplitMix, key, keys, queries};
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{Latency, TURNS, median, time_ratio, timed};
use serde_json::{Value, json};
use simdb::{Database, DocId, Document, Fingerprint, Outcome};

const USAGE: Usage = Usage {
    line: "cargo bench -p simdb-server -- [DOCUMENTS] [--inserts N] [--threads N] [--peers]",
    flags: &["--peers"],
    options: &["--inserts", "--threads"],
};

const RADIUS: u32 = 3;
/// One insert in ten is a duplicate.
const DUPLICATES: u64 = 10;
/// The queries of a request, and the requests of a turn.
const BATCH: usize = 100;
const BATCHES: usize = 200;

fn main() {
    let arguments = USAGE.arguments();
    let documents = arguments.size(1_000_000);
    let inserts = arguments.number("--inserts", 100_000) / TURNS as u64;
    let threads = arguments.number("--threads", 64).max(1);
    let folder = folder();
    let of_library = folder.path().join("library.simdb");
    let bytes = load(&of_library, false, keys(documents).into_iter());
    for name in ["tcp.simdb", "socket.simdb"] {
        std::fs::copy(&of_library, folder.path().join(name)).expect("a copy");
    }
    let cache = cache_for(bytes);
    let database = Database::builder()
        .cache_bytes(cache)
        .open(&of_library)
        .expect("open");
    warm(&database.snapshot().expect("snapshot"));
    let server = ServedDatabase::start(folder.path(), "tcp.simdb", "127.0.0.1:0", cache);
    let by_socket = ServedDatabase::start(folder.path(), "socket.simdb", "unix:s", cache);
    let socket = folder.path().join("s");
    // Fills the caches of the server.
    server.ask_batches(documents);

    let arrivals = Arrivals {
        documents,
        next: [const { AtomicU64::new(0) }; 5],
    };
    let (mut library, mut served, mut served_by_socket) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        library.push(run(threads, inserts, &arrivals, 0, || {
            |id: u64, bits: u64| {
                let document = Document::new(DocId(id), Fingerprint::from_bits(bits));
                match database.insert_unique(document, RADIUS).expect("insert") {
                    Outcome::Inserted { .. } => None,
                    Outcome::Duplicate(found) => Some((found.id.0, found.distance)),
                    other => panic!("{other}"),
                }
            }
        }));
        let connect = |_| {
            let stream = TcpStream::connect(&server.address).expect("a connection");
            stream.set_nodelay(true).expect("an option");
            stream.set_nonblocking(true).expect("an option");
            mio::net::TcpStream::from_std(stream)
        };
        let streams = (0..threads).map(connect).collect();
        served.push(Inserts::over(&server, streams, inserts, &arrivals, 1));
        let connect = |_| {
            let stream = UnixStream::connect(&socket).expect("a connection");
            stream.set_nonblocking(true).expect("an option");
            mio::net::UnixStream::from_std(stream)
        };
        let streams = (0..threads).map(connect).collect();
        served_by_socket.push(Inserts::over(&by_socket, streams, inserts, &arrivals, 2));
    }
    drop(by_socket);
    let title = format!("{documents} documents, durable check-and-insert by {threads} at a time");
    let table = Table::new(
        &title,
        &["inserts/s", "p50", "p99", "CPU here", "CPU of server"],
    );
    let library = Inserts::median(&library);
    let row = |label: &str, inserts: &Inserts| {
        let Latency { p50, p99 } = inserts.latency;
        let cells = [
            number(inserts.rate),
            time(p50),
            time(p99),
            time(inserts.own_time),
            time(inserts.server_time),
        ];
        table.row(label, &cells);
    };
    row("threads of the library", &library);
    for (label, turns) in [("TCP", &served), ("a socket", &served_by_socket)] {
        let served = Inserts::median(turns);
        row(&format!("connections by {label}"), &served);
        let p99 = time_ratio(served.latency.p99, library.latency.p99);
        let p50 = time_ratio(served.latency.p50, library.latency.p50);
        let cells = [ratio(served.rate / library.rate), ratio(p50), ratio(p99)];
        table.row("÷ threads of the library", &cells);
    }
    if arguments.flag("--peers") {
        let redis =
            redis::Redis::start(folder.path(), documents).expect("redis-server is installed");
        let postgres = postgres::Postgres::start(documents).expect("PostgreSQL is installed");
        let (mut of_redis, mut of_postgres) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            of_redis.push(run(threads, inserts, &arrivals, 3, || {
                let mut client = redis.connect();
                move |id: u64, bits: u64| client.insert(id, bits)
            }));
            of_postgres.push(run(threads, inserts, &arrivals, 4, || {
                let mut client = postgres.connect();
                move |id: u64, bits: u64| client.insert(id, bits)
            }));
        }
        for (label, turns) in [
            ("Redis, sets of blocks", of_redis),
            ("PostgreSQL, indexes of blocks", of_postgres),
        ] {
            row(label, &Inserts::median(&turns));
        }
    }

    let (mut library, mut served) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        library.push(timed(|| ask_library(&database, documents)).1);
        served.push(timed(|| server.ask_batches(documents)).1);
    }
    let rate =
        |times: Vec<Duration>| (BATCH * BATCHES) as f64 / median(times.into_iter()).as_secs_f64();
    let (library, served) = (rate(library), rate(served));
    let title = format!("Queries at radius {RADIUS}, {BATCH} together, one client");
    let table = Table::new(&title, &["queries/s"]);
    table.row("within_batch", &[number(library)]);
    table.row("POST /v1/query", &[number(served)]);
    table.row("served ÷ library", &[ratio(served / library)]);
}

/// The documents to insert; each side has its own counter, so both insert the same ones.
struct Arrivals {
    documents: u64,
    next: [AtomicU64; 5],
}

impl Arrivals {
    /// The id and fingerprint of the next insert, and the document that it duplicates.
    fn next(&self, side: usize) -> (u64, u64, Option<u64>) {
        let index = self.next[side].fetch_add(1, Ordering::Relaxed);
        let id = self.documents + index;
        if index % DUPLICATES != DUPLICATES - 1 {
            return (id, key(id), None);
        }
        let mut draws = SplitMix(index);
        let original = draws.next() % self.documents;
        (id, key(original) ^ draws.bits(RADIUS), Some(original))
    }
}

struct Inserts {
    rate: f64,
    latency: Latency,
    /// The processor time of an insert in this process, and in the server.
    own_time: Duration,
    server_time: Duration,
}

/// The processor time that a process has taken, in steps of 10 ms: user and system time in
/// `/proc/PROCESS/stat`, the 12th and 13th fields behind the name.
fn processor_time(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

impl Inserts {
    /// Inserts over connections to a server, each of which waits for its answer before the next
    /// insert.
    fn over<S: connections::Stream>(
        server: &ServedDatabase,
        streams: Vec<S>,
        inserts: u64,
        arrivals: &Arrivals,
        side: usize,
    ) -> Self {
        let process = server.child.id().to_string();
        let before = processor_time(&process);
        let insert = || connections::insert_all(streams, inserts, arrivals, side);
        let made = Self::measured(insert);
        let taken = processor_time(&process) - before;
        Self {
            server_time: taken / inserts as u32,
            ..made
        }
    }

    /// The inserts that a function makes, from how long each took.
    fn measured(insert: impl FnOnce() -> Vec<Duration>) -> Self {
        let before = processor_time("self");
        let (taken, elapsed) = timed(insert);
        Self {
            rate: taken.len() as f64 / elapsed.as_secs_f64(),
            own_time: (processor_time("self") - before) / taken.len().max(1) as u32,
            server_time: Duration::ZERO,
            latency: Latency::new(taken),
        }
    }

    fn median(turns: &[Self]) -> Self {
        let latencies: Vec<Latency> = turns.iter().map(|turn| turn.latency).collect();
        Self {
            rate: median(turns.iter().map(|turn| turn.rate)),
            latency: Latency::median(&latencies),
            own_time: median(turns.iter().map(|turn| turn.own_time)),
            server_time: median(turns.iter().map(|turn| turn.server_time)),
        }
    }
}

/// Inserts by several threads, each of which waits for its answer before the next insert.
fn run<I: FnMut(u64, u64) -> Option<(u64, u32)> + Send>(
    threads: u64,
    inserts: u64,
    arrivals: &Arrivals,
    side: usize,
    inserter: impl Fn() -> I,
) -> Inserts {
    let end = arrivals.next[side].load(Ordering::Relaxed) + inserts;
    let work = |mut insert: I| {
        let mut taken = Vec::new();
        while arrivals.next[side].load(Ordering::Relaxed) < end {
            let (id, bits, original) = arrivals.next(side);
            let (answer, time) = timed(|| insert(id, bits));
            assert_eq!(
                answer,
                original.map(|original| (original, RADIUS)),
                "document {id}"
            );
            taken.push(time);
        }
        taken
    };
    let inserters: Vec<I> = (0..threads).map(|_| inserter()).collect();
    Inserts::measured(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = inserters
                .into_iter()
                .map(|insert| scope.spawn(|| work(insert)))
                .collect();
            let taken = threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("a thread"));
            taken.collect()
        })
    })
}

fn ask_library(database: &Database, documents: u64) {
    let queries = queries(documents, BATCH * BATCHES, RADIUS);
    for batch in queries.chunks(BATCH) {
        let fingerprints: Vec<_> = batch
            .iter()
            .map(|query| Fingerprint::from_bits(query.bits))
            .collect();
        let answers = database
            .within_batch(&fingerprints, RADIUS)
            .expect("queries");
        for (query, answer) in batch.iter().zip(answers) {
            let planted = |id| answer.iter().any(|found| found.id == DocId(id));
            assert!(query.planted.is_none_or(planted));
        }
    }
}

/// A server of a database, killed at the end.
struct ServedDatabase {
    child: Child,
    address: String,
}

impl Drop for ServedDatabase {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ServedDatabase {
    fn start(folder: &Path, name: &str, listen: &str, cache: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_simdb-serve"))
            .args([name, "--no-token", "--listen", listen])
            .args(["--cache", &cache.to_string()])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("an address");
        let (_, address) = line
            .trim()
            .split_once(" is served at ")
            .expect("an address");
        let address = address
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Self { child, address }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let reader = BufReader::new(stream.try_clone().expect("a connection"));
        Client {
            stream,
            reader,
            address: self.address.clone(),
        }
    }

    fn ask_batches(&self, documents: u64) {
        let mut client = self.connect();
        let queries = queries(documents, BATCH * BATCHES, RADIUS);
        for batch in queries.chunks(BATCH) {
            let sought: Value = batch
                .iter()
                .map(|query| json!({"fingerprint": format!("{:016x}", query.bits)}))
                .collect();
            let body = json!({"queries": sought, "radius": RADIUS}).to_string();
            let answer: Value =
                serde_json::from_str(&client.post("/v1/query", &body)).expect("JSON");
            for (query, answer) in batch
                .iter()
                .zip(answer["answers"].as_array().expect("answers"))
            {
                let matches = answer["matches"].as_array().expect("matches");
                let planted = |id: u64| {
                    let id = id.to_string();
                    matches
                        .iter()
                        .any(|found| found["id"].as_str() == Some(&id))
                };
                assert!(query.planted.is_none_or(planted));
            }
        }
    }
}

/// A connection to the server.
struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    address: String,
}

impl Client {
    fn post(&mut self, path: &str, body: &str) -> String {
        let (address, len) = (&self.address, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len}\r\n\r\n{body}"
        );
        self.stream
            .write_all(request.as_bytes())
            .expect("a request");
        let (mut len, mut line) = (0, String::new());
        loop {
            line.clear();
            self.reader.read_line(&mut line).expect("an answer");
            if let Some(value) = line.strip_prefix("content-length: ") {
                len = value.trim().parse().expect("a length");
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; len];
        self.reader.read_exact(&mut body).expect("a body");
        String::from_utf8(body).expect("UTF-8")
    }
}
