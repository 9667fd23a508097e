//! The latency of a search for similar texts.
//!
//! `cargo bench --bench similar_query -- [DOCUMENTS]... [--queries N] [--compared N]`, by default
//! 100,000 documents and 1,000 queries.
//!
//! With the environment variable `SIMDB_BENCH_TEXTS`, the path of a file of JSON Lines with a field
//! `text` (gzip if it ends in `.gz`), the bench measures these texts: a database of each number of
//! documents, 64,000, 256,000 and 1,000,000 unless given. If the file has fewer texts, further ones are
//! made of them by replaced words. The CPU time of a query is that of all threads, its snapshot in a
//! warm cache. The first queries, 40 unless `--compared` says otherwise, are also compared with every
//! text, which gives the recall. The bench fails if a found text is not similar.
//!
//! Without the variable there are three corpora, each in its own database: English sentences of 3 to 8 words, English
//! articles of 80 to 200 words, and Chinese sentences of 10 to 40 characters. Words, or pairs of
//! characters, are drawn from real texts with their real frequencies, so unrelated texts have as
//! much in common as real ones. A query is a stored text with every tenth word replaced. The bench
//! fails if a found text is not similar, or if more than one in twenty similar originals is not
//! found.

#![allow(clippy::print_stdout)]

mod real_texts;

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use bench_support::arguments::Usage;
use bench_support::database::{cache_for, folder};
use bench_support::keys::SplitMix;
use bench_support::table::{Table, number, time};
use bench_support::timing::{Latency, timed};
use rayon::prelude::*;
use real_texts::RealTexts;
use serde_json::Value;
use simdb::{
    Database, Decision, DocId, Document, Fingerprinter, Likeness, Normaliser, Recipe, Resemblance,
};

const USAGE: Usage = Usage {
    line: "cargo bench --bench similar_query -- [DOCUMENTS]... [--queries N] [--compared N]",
    flags: &[],
    options: &["--queries", "--compared"],
};

const CORPUS: &str = include_str!("../tests/data/quotes_and_news.jsonl");

/// Documents that are fingerprinted at a time, on all cores.
const BATCH_LEN: usize = 10_000;

const LOAD_MEMORY_BYTES: u64 = 512 << 20;

/// A corpus of random texts.
struct Kind {
    name: &'static str,
    words: Vec<String>,
    between: &'static str,
    length: RangeInclusive<u64>,
}

fn main() {
    let arguments = USAGE.arguments();
    if let Some(path) = std::env::var_os("SIMDB_BENCH_TEXTS") {
        let sizes = arguments.sizes(&[64_000, 256_000, 1_000_000]);
        let queries = arguments.number("--queries", 1000) as usize;
        let compared = arguments.number("--compared", 40) as usize;
        let most = sizes.iter().max().map_or(0, |most| *most as usize);
        let texts = RealTexts::read(Path::new(&path), most);
        texts.measure(&sizes, queries, compared, load);
        return;
    }
    let documents = arguments.size(100_000);
    let queries = arguments.number("--queries", 1000).min(documents);
    let columns = ["p50", "p99", "queries/s", "found", "B a document", "load"];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let title = format!("{documents} texts; queries/s by {cores} threads, the others by one");
    let table = Table::new(&title, &columns);
    for kind in kinds() {
        kind.measure(documents, queries, &table);
    }
}

fn kinds() -> [Kind; 3] {
    let lines = CORPUS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let texts: Vec<(bool, String)> = lines
        .map(|line| {
            (
                line["lang"] == "zh",
                line["text"].as_str().expect("a text").to_owned(),
            )
        })
        .collect();
    let english = texts.iter().filter(|(is_chinese, _)| !is_chinese);
    let english: Vec<String> = english
        .flat_map(|(_, text)| text.split_whitespace().map(str::to_owned))
        .collect();
    let chinese = texts.iter().filter(|(is_chinese, _)| *is_chinese);
    let chinese = chinese.flat_map(|(_, text)| {
        let characters: Vec<char> = text.chars().filter(|c| c.is_alphabetic()).collect();
        let pairs = characters
            .chunks(2)
            .map(|pair| pair.iter().collect::<String>());
        pairs.collect::<Vec<_>>()
    });
    [
        Kind {
            name: "English, 3 to 8 words",
            words: english.clone(),
            between: " ",
            length: 3..=8,
        },
        Kind {
            name: "English, 80 to 200 words",
            words: english,
            between: " ",
            length: 80..=200,
        },
        Kind {
            name: "Chinese, 10 to 40 characters",
            words: chinese.collect(),
            between: "",
            length: 5..=20,
        },
    ]
}

impl Kind {
    fn measure(&self, documents: u64, queries: u64, table: &Table) {
        let folder = folder();
        let path = folder.path().join("similar.simdb");
        let texts: Vec<String> = (0..documents)
            .into_par_iter()
            .map(|id| self.text(id))
            .collect();
        let ((), loading) = timed(|| load(&path, &texts));
        let bytes = std::fs::metadata(&path).expect("the file").len();
        let open = Database::builder().cache_bytes(cache_for(bytes));
        let database = open.open(&path).expect("open");
        let snapshot = database.snapshot().expect("a snapshot");

        let asked: Vec<(u64, String)> = (0..queries)
            .map(|nth| nth * (documents / queries))
            .map(|id| (id, self.edited(id)))
            .collect();
        let ask = |(id, text): &(u64, String)| -> bool {
            let query = database
                .text_query(text)
                .expect("a query")
                .decision(Decision::Alike);
            let found = snapshot.similar(&query).expect("answers");
            found.iter().any(|found| found.id.0 == *id)
        };
        // All queries once, to warm the cache.
        asked.par_iter().for_each(|asked| {
            ask(asked);
        });
        let mut times: Vec<Duration> = Vec::new();
        let mut found = Vec::new();
        for asked in &asked {
            let (is_found, elapsed) = timed(|| ask(asked));
            times.push(elapsed);
            found.push(is_found);
        }
        let (_, together) = timed(|| asked.par_iter().map(ask).filter(|found| *found).count());
        self.check(&asked, &found);

        let latency = Latency::new(times);
        let share = found.iter().filter(|found| **found).count() as f64 / queries as f64;
        table.row(
            self.name,
            &[
                time(latency.p50),
                time(latency.p99),
                number(queries as f64 / together.as_secs_f64()),
                format!("{share:.3}"),
                number(bytes as f64 / documents as f64),
                time(loading),
            ],
        );
    }

    /// Panics if a found text is not similar to its query, or if more than one in twenty similar
    /// originals is missed. Some may be missed, since bands find similar texts only with high
    /// probability.
    fn check(&self, asked: &[(u64, String)], found: &[bool]) {
        let normaliser = Normaliser::new();
        let (mut alike, mut missed) = (0, 0);
        for ((id, text), found) in asked.iter().zip(found) {
            let resemblance = Resemblance::new(&normaliser, &self.text(*id), text);
            let is_alike = resemblance.is_enough(&Likeness::default());
            assert!(
                is_alike || !found,
                "a text is found that is not similar: {text}"
            );
            alike += u64::from(is_alike);
            missed += u64::from(is_alike && !found);
        }
        assert!(
            missed * 20 <= alike,
            "{missed} of {alike} similar texts were not found"
        );
    }

    fn text(&self, id: u64) -> String {
        self.words_of(id).join(self.between)
    }

    /// The text with a tenth of its words replaced, at least one.
    fn edited(&self, id: u64) -> String {
        let mut words = self.words_of(id);
        let mut draws = SplitMix(!id);
        for _ in 0..words.len().div_ceil(10) {
            let index = draws.next() as usize % words.len();
            words[index] = &self.words[draws.next() as usize % self.words.len()];
        }
        words.join(self.between)
    }

    fn words_of(&self, id: u64) -> Vec<&str> {
        let mut draws = SplitMix(id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (least, most) = (self.length.start(), self.length.end());
        let length = least + draws.next() % (most - least + 1);
        (0..length)
            .map(|_| self.words[draws.next() as usize % self.words.len()].as_str())
            .collect()
    }
}

/// Bulk loads texts into a new database with bands; the id of a text is its index.
fn load(path: &Path, texts: &[String]) {
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
                let id = first + nth as u64;
                let made = fingerprinter.fingerprint(text).expect("a fingerprint");
                Document {
                    reliable: made.reliable,
                    text: Some(text.clone()),
                    ..Document::new(DocId(id), made.fingerprint)
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
