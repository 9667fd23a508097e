//! The time for hostile texts, beside ordinary texts of as many bytes.
//!
//! `cargo bench --bench hostile -- [MEGABYTES]`, by default 1. Each row is a kind of text, each
//! column an operation: the fingerprint by each recipe, the two normal forms, the comparison of a
//! query for similar texts (`wording`), the tokens and the words.
//!
//! A cell is the time per byte, as a multiple of the time for ordinary text: the slower of Chinese
//! and English, but at least 40 ns. 40 ns is about the time of a fingerprint per byte. Without this
//! minimum a normal form, which takes almost no time on ordinary text, would have large and
//! harmless multiples. The bench fails if a cell is above 20.

use std::hint::black_box;
use std::time::Instant;

use simdb::similarity::Resemblance;
use simdb::similarity::tokens;
use simdb::{Fingerprinter, Normaliser, Recipe};

use bench_support::arguments::Usage;
use bench_support::table::{Table, number};
use test_support::hostile::{HOSTILE, Kind, ORDINARY};

/// The largest multiple of the time of ordinary text that a hostile text may take.
const MAX_SLOWDOWN: f64 = 20.0;

/// Operations that take less per byte on ordinary text are compared with 40 ns.
const MIN_ORDINARY_SECONDS: f64 = 40e-9;

/// Turns per cell. The best turn counts, since other load only adds time.
const TURNS: usize = 3;

type Work = Box<dyn Fn(&str)>;

fn main() {
    let usage = Usage {
        line: "cargo bench --bench hostile -- [MEGABYTES]",
        flags: &[],
        options: &[],
    };
    let megabytes = usage.arguments().size(1) as usize;
    let works = works();
    let names: Vec<_> = works.iter().map(|(name, _)| name.as_str()).collect();
    let table = Table::new(&format!("{megabytes} MB of each"), &names);
    let seconds = |kind: &Kind| -> Vec<f64> {
        let text = kind.text(megabytes * 1_000_000);
        let per_byte = |work: &Work| best_seconds(work, &text) / text.len() as f64;
        works.iter().map(|(_, work)| per_byte(work)).collect()
    };
    let ordinary = ORDINARY.each_ref().map(|kind| {
        let seconds = seconds(kind);
        let shown: Vec<_> = seconds
            .iter()
            .map(|s| format!("{} ns", number(s * 1e9)))
            .collect();
        table.row(kind.name, &shown);
        seconds
    });
    let mut worst = 0.0_f64;
    for kind in &HOSTILE {
        let times: Vec<_> = seconds(kind)
            .into_iter()
            .enumerate()
            .map(|(at, seconds)| {
                let usual = ordinary[0][at].max(ordinary[1][at]);
                seconds / usual.max(MIN_ORDINARY_SECONDS)
            })
            .collect();
        worst = times.iter().copied().fold(worst, f64::max);
        let shown: Vec<_> = times.iter().map(|times| number(*times)).collect();
        table.row(kind.name, &shown);
    }
    assert!(
        worst <= MAX_SLOWDOWN,
        "a hostile text took {worst:.1} times as long as ordinary text, more than {MAX_SLOWDOWN}"
    );
}

fn works() -> Vec<(String, Work)> {
    let recipes = Recipe::all().into_iter().filter(Recipe::takes_texts);
    let mut works: Vec<(String, Work)> = recipes
        .map(|recipe| {
            let fingerprinter = Fingerprinter::new(recipe);
            let name = fingerprinter.recipe().name().to_owned();
            let work: Work = Box::new(move |text| {
                black_box(fingerprinter.fingerprint(text).expect("it takes texts"));
            });
            (name, work)
        })
        .collect();
    let mut push = |name: &str, work: Work| works.push((name.to_owned(), work));
    let normaliser = Normaliser::new();
    push(
        "letters",
        Box::new(move |text| drop(black_box(normaliser.letters(text)))),
    );
    let normaliser = Normaliser::new();
    push(
        "separated",
        Box::new(move |text| drop(black_box(normaliser.sentences(text)))),
    );
    let normaliser = Normaliser::new();
    push(
        "wording",
        Box::new(move |text| {
            let other = format!("{text} and");
            black_box(Resemblance::new(&normaliser, text, &other));
        }),
    );
    push("tokens", Box::new(|text| drop(black_box(tokens(text)))));
    let jieba = Fingerprinter::new(Recipe::jieba());
    push(
        "words",
        Box::new(move |text| drop(black_box(jieba.words(text)))),
    );
    works
}

fn best_seconds(work: &Work, text: &str) -> f64 {
    let turns = (0..TURNS).map(|_| {
        let started = Instant::now();
        work(text);
        started.elapsed().as_secs_f64()
    });
    turns.fold(f64::INFINITY, f64::min)
}
