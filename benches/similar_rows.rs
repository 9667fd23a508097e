//! The rows of the table of `similar_query`: a load, queries, and durable inserts.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bench_support::memory;
use bench_support::table::{Table, number, ratio, time};
use bench_support::timing::{Latency, cpu_timed, time_ratio, timed};
use rayon::prelude::*;
use simdb::containment::{Containment, Verdict, Weights};
use simdb::{
    Builder, Database, DocId, Document, Fingerprinter, Normaliser, Outcome, Recipe, Similar,
    SimilarRule, Snapshot, TextQuery,
};

/// Documents that are fingerprinted at a time, on all cores.
const BATCH_LEN: usize = 10_000;

const LOAD_MEMORY_BYTES: u64 = 512 << 20;

/// One of 37 inserts is compared with the text that its outcome names.
const CHECKED_INSERTS: usize = 37;

/// The table of all rows.
pub struct SimilarTable {
    table: Table,
    ids: Ids,
    /// Opens the databases.
    builder: Builder,
}

/// The ids of documents: the number of the text, or a product of 64 bits with it.
#[derive(Clone, Copy)]
pub struct Ids {
    factor: u64,
    inverse: u64,
}

/// The answers to queries, and their CPU times.
pub struct Asked {
    pub answers: Vec<Vec<Similar>>,
    pub latency: Latency,
    pub mean: Duration,
}

/// The shares of near-duplicates that were found, from 0 to 1.
#[derive(Default)]
pub struct Found {
    /// The mean over the queries that have near-duplicates.
    pub mean: f64,
    /// The share of all pairs with a high score.
    pub near: Option<f64>,
    /// The share of queries with near-duplicates for which at least one was found.
    pub any: Option<f64>,
}

impl Ids {
    pub fn new(are_wide: bool) -> Self {
        let factor: u64 = if are_wide { 0x9e37_79b9_7f4a_7c15 } else { 1 };
        // Newton's iteration: each step doubles the correct bits, of which an odd factor has three.
        let step = |inverse: u64, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse)))
        };
        let inverse = (0..5).fold(factor, step);
        assert_eq!(factor.wrapping_mul(inverse), 1);
        Self { factor, inverse }
    }

    fn id(self, number: usize) -> DocId {
        DocId((number as u64).wrapping_mul(self.factor))
    }

    fn number(self, id: DocId) -> usize {
        id.0.wrapping_mul(self.inverse) as usize
    }
}

impl SimilarTable {
    pub fn new(title: &str, ids: Ids, builder: Builder) -> Self {
        let columns = [
            "a second", "p50", "p99", "mean", "growth", "recall", "near", "any", "matches", "bytes",
        ];
        Self {
            table: Table::new(title, &columns),
            ids,
            builder,
        }
    }

    /// Bulk loads texts into a new database with a forest, and opens the database. The id of a text
    /// is made of its index. The row has the texts a second, the CPU time of a text, and the bytes
    /// of the file a text.
    pub fn load(&self, label: &str, path: &Path, texts: &[String]) -> Database {
        let (((), elapsed), cpu) = cpu_timed(|| timed(|| load(path, texts, self.ids)));
        let bytes = std::fs::metadata(path).expect("the file").len();
        let mut row = vec![String::new(); 10];
        row[0] = number(texts.len() as f64 / elapsed.as_secs_f64());
        row[3] = time(cpu / texts.len() as u32);
        row[9] = number(bytes as f64 / texts.len() as f64);
        self.table.row(&format!("{label} loaded"), &row);
        self.builder.clone().open(path).expect("open")
    }

    /// The row of queries, with their growth relative to other queries.
    pub fn queries(&self, label: &str, asked: &Asked, first: Duration, found: Option<&Found>) {
        let matches: usize = asked.answers.iter().map(Vec::len).sum();
        let share = |share: Option<f64>| share.map_or(String::new(), |share| format!("{share:.4}"));
        let row = [
            number(1.0 / asked.mean.as_secs_f64()),
            time(asked.latency.p50),
            time(asked.latency.p99),
            time(asked.mean),
            ratio(time_ratio(asked.mean, first)),
            share(found.map(|found| found.mean)),
            share(found.and_then(|found| found.near)),
            share(found.and_then(|found| found.any)),
            number(matches as f64 / asked.answers.len() as f64),
        ];
        self.table.row(label, &row);
    }

    /// Asks all queries twice, the first time to warm the cache. The answers have the numbers of
    /// the texts as ids.
    pub fn ask(
        &self,
        database: &Database,
        snapshot: &Snapshot,
        texts: &[String],
        set: impl Fn(TextQuery) -> TextQuery,
    ) -> Asked {
        let ask = |text: &String| -> Vec<Similar> {
            let query = database.text_query(text).expect("a query");
            snapshot.similar(&set(query)).expect("answers")
        };
        texts.iter().for_each(|text| drop(ask(text)));
        let (mut answers, times): (Vec<_>, Vec<_>) =
            texts.iter().map(|text| cpu_timed(|| ask(text))).unzip();
        for found in answers.iter_mut().flatten() {
            found.id = DocId(self.ids.number(found.id) as u64);
        }
        Asked {
            answers,
            mean: times.iter().sum::<Duration>() / times.len() as u32,
            latency: Latency::new(times),
        }
    }

    /// Inserts each of the new texts unless a stored text says the same or more, by many threads.
    /// Each insert is durable when it returns. The row has elapsed times, the mean of the CPU time,
    /// and the bytes written an insert. The ids of the new texts follow the ids of `texts`. Returns
    /// the number of documents stored.
    ///
    /// # Panics
    /// If a document is missing, or a text was refused that no stored text contains.
    pub fn inserts(
        &self,
        label: &str,
        database: &Database,
        texts: &[String],
        new: &[String],
        threads: u64,
    ) -> u64 {
        let next = AtomicUsize::new(0);
        let id = |index: usize| self.ids.id(texts.len() + index);
        let len_before = database.len().expect("len");
        let work = || {
            let mut done = Vec::new();
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && index < new.len()
            {
                let insert = || {
                    let document = database.document(id(index), &new[index])?;
                    database.insert_unless_similar(document, SimilarRule::default())
                };
                let (outcome, elapsed) = timed(|| insert().expect("insert"));
                done.push((index, outcome, elapsed));
            }
            done
        };
        let before = memory::written();
        let ((done, elapsed), cpu) = cpu_timed(|| {
            timed(|| {
                std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                    let done = threads
                        .into_iter()
                        .map(|thread| thread.join().expect("a thread"));
                    done.flatten().collect::<Vec<_>>()
                })
            })
        });
        // Bytes are counted after the flush: changes in the memtable are not in the tables yet.
        database.merge().expect("merge");
        let written = before.zip(memory::written());
        let written = written.map(|((before, _), (after, _))| (after - before) as f64);
        let normaliser = Normaliser::new();
        let text = |id: DocId| {
            let mut all = texts.iter().chain(new);
            all.nth(self.ids.number(id)).expect("a text")
        };
        let mut times = Vec::new();
        let mut stored = 0;
        for (index, outcome, elapsed) in done {
            times.push(elapsed);
            stored += u64::from(outcome.is_inserted());
            if let Outcome::Similar(found) = &outcome
                && index % CHECKED_INSERTS == 0
            {
                let verdict = verdict(&normaliser, &new[index], text(found.id));
                assert!(verdict.is_a_in_b(), "{} is refused: {found:?}", new[index]);
            }
        }
        assert_eq!(database.len().expect("len"), len_before + stored);
        let latency = Latency::new(times);
        let mut row = vec![String::new(); 10];
        row[0] = number(new.len() as f64 / elapsed.as_secs_f64());
        row[1] = time(latency.p50);
        row[2] = time(latency.p99);
        row[3] = time(cpu / new.len() as u32);
        row[9] = written.map_or_else(String::new, |bytes| number(bytes / new.len() as f64));
        let label = format!("{} {label} by {threads} threads, elapsed", new.len());
        self.table.row(&label, &row);
        stored
    }
}

/// Panics unless each answer by what the texts say has exactly the texts of the answer by
/// thresholds of which one contains the other.
pub fn check_contained(texts: &[String], asked: &[String], alike: &Asked, contained: &Asked) {
    let answers = alike.answers.par_iter().zip(&contained.answers);
    asked.par_iter().zip(answers).for_each_init(
        Normaliser::new,
        |normaliser, (text, (alike, contained))| {
            let ids = |found: &[Similar]| found.iter().map(|found| found.id).collect::<Vec<_>>();
            let removable = alike.iter().filter(|found| {
                verdict(normaliser, text, &texts[found.id.0 as usize]).is_removable()
            });
            let mut expected: Vec<DocId> = removable.map(|found| found.id).collect();
            let mut found = ids(contained);
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{text}");
        },
    );
}

/// The shares of the documents of wide answers that narrow answers to the same queries have.
///
/// # Panics
/// If a narrow answer has a document that the wide answer lacks.
pub fn found_by_narrow(answers: &[Vec<Similar>], narrow: &[Vec<Similar>]) -> Found {
    let (mut documents, mut documents_found, mut shares) = (0, 0, Vec::new());
    for (answer, narrow) in answers.iter().zip(narrow) {
        let found = narrow.iter().filter(|found| answer.contains(found)).count();
        assert_eq!(found, narrow.len(), "a narrow search finds more");
        documents += answer.len();
        documents_found += found;
        if !answer.is_empty() {
            shares.push(found as f64 / answer.len() as f64);
        }
    }
    Found {
        mean: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
        near: Some(documents_found as f64 / documents.max(1) as f64),
        any: None,
    }
}

fn verdict(normaliser: &Normaliser, a: &str, b: &str) -> Verdict {
    Containment::new(normaliser, Weights::builtin(), a, b).verdict
}

fn load(path: &Path, texts: &[String], ids: Ids) {
    let builder = Database::builder().similar(true);
    let mut load = builder
        .bulk_create(path, LOAD_MEMORY_BYTES)
        .expect("a new file");
    let fingerprinter = Fingerprinter::new(Recipe::ngram());
    let mut first = 0;
    for texts in texts.chunks(BATCH_LEN) {
        let made: Vec<_> = texts
            .par_iter()
            .enumerate()
            .map(|(nth, text)| {
                let made = fingerprinter.fingerprint(text).expect("a fingerprint");
                Document {
                    reliable: made.reliable,
                    text: Some(text.clone()),
                    ..Document::new(ids.id(first as usize + nth), made.fingerprint)
                }
            })
            .collect();
        first += texts.len() as u64;
        for document in made {
            load.push(document).expect("push");
        }
    }
    let report = load
        .finish(|_| std::ops::ControlFlow::Continue(()))
        .expect("load");
    assert_eq!(report.inserted, first);
}
