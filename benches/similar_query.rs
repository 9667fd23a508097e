//! The latency of a search for similar texts.
//!
//! `cargo bench --bench similar_query -- [DOCUMENTS]... [--queries N] [--compared N] [--inserts N]
//! [--threads N] [--cache MIB] [--wide-ids]`, by default 100,000 documents, 1,000 queries, 20,000
//! inserts, 64 threads and the default cache. Ids count the texts, or with `--wide-ids` are spread
//! over 64 bits.
//!
//! With the environment variable `SIMDB_BENCH_TEXTS`, the path of a file of JSON Lines with a field
//! `text` (gzip if it ends in `.gz`), the bench measures these texts: a database of each number of
//! documents, 64,000, 256,000 and 1,000,000 unless given. If the file has fewer texts, further ones
//! are made of them by replaced words. Each database is bulk loaded; then texts are searched, by
//! thresholds and by what they say; then many threads insert texts with replaced words, and then
//! copies of stored texts, each insert durable. The first queries, 40 unless `--compared` says
//! otherwise, are also compared with every text, which gives the recall.
//!
//! The three corpora after that, or without the variable alone, are random, each in its own
//! database: English sentences of 3 to 8 words, English articles of 80 to 200 words, and Chinese
//! sentences of 10 to 40 characters. Words, or pairs of characters, are drawn from real texts with
//! their real frequencies, so unrelated texts have as much in common as real ones. A query is a
//! stored text with every tenth word replaced.
//!
//! The time of a query is the CPU time of all threads, its snapshot in a warm cache. The bench
//! fails if a found text is not similar, if an answer by what texts say differs from the answer by
//! thresholds in more than the verdicts, or if more than one in twenty similar originals is not
//! found.

#![allow(clippy::print_stdout)]

mod real_texts;
mod similar_rows;

use std::ops::RangeInclusive;
use std::path::Path;

use bench_support::arguments::Usage;
use bench_support::database::folder;
use bench_support::keys::SplitMix;
use rayon::prelude::*;
use real_texts::{Counts, RealTexts};
use serde_json::Value;
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Database, Decision, Normaliser, Similar};
use similar_rows::{Found, Ids, SimilarTable, check_contained};

const USAGE: Usage = Usage {
    line: "cargo bench --bench similar_query -- [DOCUMENTS]... [--queries N] [--compared N] \
           [--inserts N] [--threads N] [--cache MIB] [--wide-ids]",
    flags: &["--wide-ids"],
    options: &[
        "--queries",
        "--compared",
        "--inserts",
        "--threads",
        "--cache",
    ],
};

const CORPUS: &str = include_str!("../tests/data/quotes_and_news.jsonl");

/// Random texts beside real ones, unless there are fewer real ones: a million articles take 1.6 GB.
const RANDOM_TEXTS: u64 = 256_000;

/// A corpus of random texts.
struct Kind {
    name: &'static str,
    words: Vec<String>,
    between: &'static str,
    length: RangeInclusive<u64>,
}

fn main() {
    let arguments = USAGE.arguments();
    let counts = Counts {
        queries: arguments.number("--queries", 1000) as usize,
        compared: arguments.number("--compared", 40) as usize,
        inserts: arguments.number("--inserts", 20_000) as usize,
        threads: arguments.number("--threads", 64).max(1),
    };
    let real = std::env::var_os("SIMDB_BENCH_TEXTS");
    let sizes = match real {
        Some(_) => arguments.sizes(&[64_000, 256_000, 1_000_000]),
        None => vec![arguments.size(100_000)],
    };
    let most = sizes.iter().max().map_or(0, |most| *most);
    let real = real.map(|path| RealTexts::read(Path::new(&path), most as usize));
    let title = match &real {
        Some(texts) => format!(
            "{} real texts, further ones made of them; then random texts",
            texts.read
        ),
        None => "random texts".to_owned(),
    };
    let builder = match arguments.number("--cache", 0) {
        0 => Database::builder(),
        mebibytes => Database::builder().cache_bytes((mebibytes as usize) << 20),
    };
    let table = SimilarTable::new(&title, Ids::new(arguments.flag("--wide-ids")), builder);
    if let Some(texts) = &real {
        texts.measure(&table, &sizes, &counts);
    }
    let documents = match real {
        Some(_) => most.min(RANDOM_TEXTS),
        None => most,
    };
    for kind in kinds() {
        kind.measure(documents, documents.min(counts.queries as u64), &table);
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
    fn measure(&self, documents: u64, queries: u64, table: &SimilarTable) {
        let folder = folder();
        let path = folder.path().join("similar.simdb");
        let texts: Vec<String> = (0..documents)
            .into_par_iter()
            .map(|id| self.text(id))
            .collect();
        let database = table.load(&format!("{documents} {},", self.name), &path, &texts);
        let snapshot = database.snapshot().expect("a snapshot");
        let ids: Vec<u64> = (0..queries)
            .map(|nth| nth * (documents / queries))
            .collect();
        let asked: Vec<String> = ids.iter().map(|id| self.edited(*id)).collect();
        let alike = table.ask(&database, &snapshot, &asked, |query| {
            query.decision(Decision::Alike)
        });
        let contained = table.ask(&database, &snapshot, &asked, |query| query);
        check_contained(&texts, &asked, &alike, &contained);
        let has =
            |(id, answer): (&u64, &Vec<Similar>)| answer.iter().any(|found| found.id.0 == *id);
        let found: Vec<bool> = ids.iter().zip(&alike.answers).map(has).collect();
        let asked: Vec<(u64, String)> = ids.into_iter().zip(asked).collect();
        let found = Found {
            mean: self.check(&asked, &found),
            ..Found::default()
        };
        table.queries(
            "queries by thresholds, CPU",
            &alike,
            alike.mean,
            Some(&found),
        );
        table.queries("queries by what is said, CPU", &contained, alike.mean, None);
    }

    /// The share of similar originals that were found. Panics if a found text is not similar to its
    /// query, or if more than one in twenty similar originals is missed. Some may be missed, since
    /// the forest finds similar texts only with high probability.
    fn check(&self, asked: &[(u64, String)], found: &[bool]) -> f64 {
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
        1.0 - missed as f64 / alike.max(1) as f64
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
        // Draws of consecutive seeds are unrelated only if the seeds are mixed.
        let mut draws = SplitMix(SplitMix(id).next());
        let (least, most) = (self.length.start(), self.length.end());
        let length = least + draws.next() % (most - least + 1);
        (0..length)
            .map(|_| self.words[draws.next() as usize % self.words.len()].as_str())
            .collect()
    }
}
