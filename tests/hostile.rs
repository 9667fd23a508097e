//! What is done to a text takes time in proportion to its length, whatever it is made of.
//!
//! How much longer a hostile text takes than an ordinary one is what the bench `hostile` measures.
//! Here a text is compared with one of its own kind that is a part as long: a busy machine slows both,
//! and quadratic time shows whatever a byte costs.

#[path = "common/hostile.rs"]
mod hostile;

use std::hint::black_box;
use std::time::{Duration, Instant};

use hostile::{HOSTILE, ORDINARY};
use simdb::measure::{self, Normaliser};
use simdb::{Fingerprinter, Recipe, Resemblance};

/// A short text, and how many times as long the other one is.
const SHORT_BYTES: usize = 1 << 14;
const TIMES: usize = 8;

/// So many times as long may the longer text take: eight times, and as much again four times for a
/// machine with other things to do and smaller caches. Quadratic time is 64 times as long.
const MOST_TIMES: u32 = 40;

/// Asserts that no text, hostile or ordinary, takes more than its length explains.
#[track_caller]
fn assert_in_proportion(what: &str, work: impl Fn(&str)) {
    let time = |text: &str| {
        let turns = (0..3).map(|_| {
            let started = Instant::now();
            work(text);
            started.elapsed()
        });
        turns.min().unwrap_or_default()
    };
    for kind in HOSTILE.iter().chain(&ORDINARY) {
        let short = time(&kind.text(SHORT_BYTES));
        let long = time(&kind.text(SHORT_BYTES * TIMES));
        // What takes no time at all is soon exceeded.
        let most = short.max(Duration::from_micros(200)) * MOST_TIMES;
        assert!(
            long <= most,
            "{what} takes {short:?} for {}, and {long:?} for {TIMES} times as much",
            kind.name
        );
    }
}

#[test]
fn fingerprints_take_time_in_proportion_to_any_text() {
    for recipe in Recipe::all().into_iter().filter(Recipe::takes_texts) {
        let fingerprinter = Fingerprinter::new(recipe);
        assert_in_proportion(fingerprinter.recipe().name(), |text| {
            black_box(fingerprinter.fingerprint(text).unwrap());
        });
    }
}

#[test]
fn texts_are_compared_and_cut_in_proportion_to_their_length() {
    let normaliser = Normaliser::new();
    assert_in_proportion("to compare wordings", |text| {
        let other = format!("{text} and");
        black_box(Resemblance::of(&normaliser, text, &other));
    });
    assert_in_proportion("tokens", |text| drop(black_box(measure::tokens(text))));
    assert_in_proportion("sentences", |text| {
        black_box(measure::longest_sentences_hash(measure::sentences(text), 3));
    });
}
