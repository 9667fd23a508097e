//! The cost of HTTP: durable check-and-inserts over many connections, and batches of queries,
//! beside the same calls of the library by as many threads.
//!
//! `cargo bench -p simdb-server -- [DOCUMENTS] [--inserts N] [--threads N] [--peers]`, by default a
//! million documents, 100,000 inserts and 64 threads.
//!
//! Each insert is `insert_unique` at radius 3, durable when it is answered. One insert in ten is a
//! stored fingerprint with three bits flipped, which must be refused as a duplicate; the others
//! must be stored. The library and the server have a database each, with the same documents, and
//! take turns; the middle turn counts. Clients of the server are threads of this process, each with
//! a connection, so they share the cores with the server.
//!
//! With `--peers`, the same inserts by Redis and by PostgreSQL, each of which syncs each write: the
//! usual recipes, with sets or indexes of the blocks. Both must be installed, and started as root.

#![allow(clippy::print_stdout)]

mod postgres;
mod redis;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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
    std::fs::copy(&of_library, folder.path().join("server.simdb")).expect("a copy");
    let cache = cache_for(bytes);
    let database = Database::builder()
        .cache_bytes(cache)
        .open(&of_library)
        .expect("open");
    warm(&database.snapshot().expect("snapshot"));
    let server = ServedDatabase::start(folder.path(), cache);
    // Fills the caches of the server.
    server.ask_batches(documents);

    let arrivals = Arrivals {
        documents,
        next: [const { AtomicU64::new(0) }; 4],
    };
    let (mut library, mut served) = (Vec::new(), Vec::new());
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
        served.push(run(threads, inserts, &arrivals, 1, || {
            let mut client = server.connect();
            move |id: u64, bits: u64| client.insert(id, bits)
        }));
    }
    let title = format!("{documents} documents, durable check-and-insert by {threads} at a time");
    let table = Table::new(&title, &["inserts/s", "p50", "p99"]);
    let (library, served) = (Inserts::median(&library), Inserts::median(&served));
    for (label, inserts) in [
        ("threads of the library", &library),
        ("connections", &served),
    ] {
        let Latency { p50, p99 } = inserts.latency;
        table.row(label, &[number(inserts.rate), time(p50), time(p99)]);
    }
    let p99 = time_ratio(served.latency.p99, library.latency.p99);
    let p50 = time_ratio(served.latency.p50, library.latency.p50);
    table.row(
        "connections ÷ threads",
        &[ratio(served.rate / library.rate), ratio(p50), ratio(p99)],
    );
    if arguments.flag("--peers") {
        let redis =
            redis::Redis::start(folder.path(), documents).expect("redis-server is installed");
        let postgres = postgres::Postgres::start(documents).expect("PostgreSQL is installed");
        let (mut of_redis, mut of_postgres) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            of_redis.push(run(threads, inserts, &arrivals, 2, || {
                let mut client = redis.connect();
                move |id: u64, bits: u64| client.insert(id, bits)
            }));
            of_postgres.push(run(threads, inserts, &arrivals, 3, || {
                let mut client = postgres.connect();
                move |id: u64, bits: u64| client.insert(id, bits)
            }));
        }
        for (label, turns) in [
            ("Redis, sets of blocks", of_redis),
            ("PostgreSQL, indexes of blocks", of_postgres),
        ] {
            let Inserts { rate, latency } = Inserts::median(&turns);
            table.row(label, &[number(rate), time(latency.p50), time(latency.p99)]);
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
    next: [AtomicU64; 4],
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
}

impl Inserts {
    fn median(turns: &[Self]) -> Self {
        let latencies: Vec<Latency> = turns.iter().map(|turn| turn.latency).collect();
        Self {
            rate: median(turns.iter().map(|turn| turn.rate)),
            latency: Latency::median(&latencies),
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
    let (taken, elapsed) = timed(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = inserters
                .into_iter()
                .map(|insert| scope.spawn(|| work(insert)))
                .collect();
            let taken = threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("a thread"));
            taken.collect::<Vec<Duration>>()
        })
    });
    Inserts {
        rate: taken.len() as f64 / elapsed.as_secs_f64(),
        latency: Latency::new(taken),
    }
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

/// A server of `server.simdb`, killed at the end.
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
    fn start(folder: &Path, cache: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_simdb-serve"))
            .args(["server.simdb", "--no-token", "--listen", "127.0.0.1:0"])
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
        let (_, address) = line.trim().split_once("http://").expect("an address");
        let address = address.trim_end_matches('/').to_owned();
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
    /// Inserts a document, and returns the id and distance of the document that it duplicates.
    fn insert(&mut self, id: u64, bits: u64) -> Option<(u64, u32)> {
        let body = format!("{{\"id\":\"{id}\",\"fingerprint\":\"{bits:016x}\"}}");
        let answer = self.post("/v1/documents?mode=insert_unique&radius=3", &body);
        // The client shares the cores with the server: most answers are read without a parser.
        if answer.ends_with("\"outcome\":\"inserted\"}") {
            return None;
        }
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        match answer["outcome"].as_str() {
            Some("duplicate") => {
                let found = &answer["match"];
                let id = found["id"].as_str().and_then(|id| id.parse().ok());
                Some((
                    id.expect("an id"),
                    found["distance"].as_u64().expect("a distance") as u32,
                ))
            }
            _ => panic!("{answer}"),
        }
    }

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
