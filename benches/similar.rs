//! The cost of the forest: loads and inserts of a database for similar texts.
//!
//! `cargo bench --bench similar -- [DOCUMENTS] [--inserts N] [--threads N] [--check]`, by default
//! 100,000 documents, 50,000 inserts and 64 threads.
//!
//! Texts are 100 to 500 letters long, with words of 2 to 9 letters from a vocabulary of 20,000,
//! computed from the ids. All texts are loaded four times: without and with a forest, with room to
//! grow and frozen. Then many threads insert more texts, each insert durable. Bytes written are
//! counted by the system for this process until everything is in the tables. The bench fails if a
//! text is missing, and with `--check` if the check of a file finds damage.

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::database::{LOAD_MEMORY_BYTES, cache_for, folder};
use bench_support::keys::SplitMix;
use bench_support::memory;
use bench_support::table::{Table, number, time};
use bench_support::timing::{Latency, timed};
use simdb::{Builder, Database, DocId, Document, Fingerprinter, Recipe};

const USAGE: Usage = Usage {
    line: "cargo bench --bench similar -- [DOCUMENTS] [--inserts N] [--threads N] [--check]",
    flags: &["--check"],
    options: &["--inserts", "--threads"],
};

const WORDS: u64 = 20_000;
const CHARACTERS: std::ops::RangeInclusive<u64> = 100..=500;

fn main() {
    let arguments = USAGE.arguments();
    let documents = arguments.size(100_000);
    let inserts = arguments.number("--inserts", 50_000);
    let threads = arguments.number("--threads", 64).max(1);
    let folder = folder();

    let table = Table::new(
        &format!("{documents} texts loaded"),
        &[
            "load",
            "B a document",
            "packed B",
            "forest B",
            "forest fill",
        ],
    );
    for similar in [false, true] {
        for frozen in [true, false] {
            let builder = || Database::builder().keep_texts(true).similar(similar);
            let path = folder.path().join(format!("{similar}-{frozen}.simdb"));
            let fingerprinted = make_documents(0..documents);
            let ((), elapsed) = timed(|| load(builder().frozen(frozen), &path, fingerprinted));
            let database = Database::open_read_only(&path).expect("open");
            let stats = database
                .snapshot()
                .expect("snapshot")
                .stats()
                .expect("stats");
            let each = |bytes: u64| number(bytes as f64 / documents as f64);
            let forest = stats.tables.iter().find(|table| table.name == "forest");
            let mut values = vec![
                time(elapsed),
                each(stats.file_bytes),
                each(stats.packed_bytes),
            ];
            if let Some(forest) = forest {
                values.push(each(forest.chunks * 4096));
                values.push(number(forest.fill));
            }
            let label = |is, name| if is { name } else { "" };
            let label = [label(similar, "similar "), label(frozen, "frozen")].concat();
            table.row(&label, &values);
        }
    }

    let columns = ["inserts/s", "p50", "p99", "merge", "B written"];
    let table = Table::new(&format!("{inserts} more by {threads} threads"), &columns);
    for similar in [false, true] {
        let path = folder.path().join(format!("{similar}-false.simdb"));
        let file_bytes = std::fs::metadata(&path).expect("the file").len();
        let cache_bytes = cache_for(file_bytes);
        let open = || {
            Database::builder()
                .cache_bytes(cache_bytes)
                .open(&path)
                .expect("open")
        };
        let database = open();
        let before = memory::written();
        let next = AtomicU64::new(documents);
        let work = || {
            let mut taken = Vec::new();
            loop {
                let id = next.fetch_add(1, Ordering::Relaxed);
                if id >= documents + inserts {
                    return taken;
                }
                let text = text(id);
                let insert = || {
                    let document = database.document(id, &text).expect("fingerprint");
                    assert!(database.insert(document).expect("insert").is_inserted());
                };
                taken.push(timed(insert).1);
            }
        };
        let (taken, elapsed) = timed(|| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                let joined = threads
                    .into_iter()
                    .map(|thread| thread.join().expect("a thread"));
                joined.flatten().collect::<Vec<Duration>>()
            })
        });
        let ((), merging) = timed(|| database.merge().expect("merge"));
        let written = before.zip(memory::written());
        let written = written.map(|((before, _), (after, _))| (after - before) as f64);
        let latency = Latency::new(taken);
        table.row(
            if similar { "similar" } else { "" },
            &[
                number(inserts as f64 / elapsed.as_secs_f64()),
                time(latency.p50),
                time(latency.p99),
                time(merging),
                written.map_or_else(String::new, |bytes| number(bytes / inserts as f64)),
            ],
        );
        database.close().expect("close");
        let database = open();
        assert_eq!(database.len().expect("len"), documents + inserts);
        for id in (0..documents + inserts).step_by(997) {
            let found = database.get(DocId(id)).expect("get").expect("a document");
            assert_eq!(found.text, Some(text(id)));
        }
        if arguments.flag("--check") {
            let (damage, elapsed) = timed(|| database.check().expect("check"));
            assert!(damage.is_empty(), "{damage:?}");
            println!("Checked in {}.", time(elapsed));
        }
    }
}

/// The text of a document: random words, computed from the id.
fn text(id: u64) -> String {
    let mut draws = SplitMix(id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (least, most) = CHARACTERS.into_inner();
    let length = (least + draws.next() % (most - least + 1)) as usize;
    let mut text = String::with_capacity(length + 10);
    while text.len() < length {
        let mut letters = SplitMix(draws.next() % WORDS);
        for _ in 0..2 + letters.next() % 8 {
            text.push((b'a' + (letters.next() % 26) as u8) as char);
        }
        text.push(' ');
    }
    text.truncate(length);
    text
}

/// Documents with their fingerprints, made before the load so that the load is measured alone.
fn make_documents(ids: std::ops::Range<u64>) -> Vec<Document> {
    let fingerprinter = Fingerprinter::new(Recipe::ngram());
    ids.map(|id| {
        let text = text(id);
        let found = fingerprinter.fingerprint(&text).expect("a fingerprint");
        let mut document = Document::new(DocId(id), found.fingerprint);
        document.reliable = found.reliable;
        document.text = Some(text);
        document
    })
    .collect()
}

fn load(builder: Builder, path: &Path, documents: Vec<Document>) {
    let mut load = builder
        .bulk_create(path, LOAD_MEMORY_BYTES)
        .expect("a new file");
    let count = documents.len() as u64;
    for document in documents {
        load.push(document).expect("push");
    }
    let report = load.finish(|_| ControlFlow::Continue(())).expect("load");
    assert_eq!(report.inserted, count);
}
