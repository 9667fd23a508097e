//! What is done to a text takes time in proportion to its length, whatever it is made of.
//!
//! How much longer a hostile text takes than an ordinary one is what the bench `hostile` measures.
//! Here a text is compared with many short ones of its own kind that have as many bytes together: a
//! busy machine slows both alike, and quadratic time shows whatever a byte costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use simdb::similarity::tokens;
use simdb::{Fingerprinter, Normaliser, Recipe, Resemblance};
use test_support::hostile::{HOSTILE, ORDINARY};

/// A short text, and how many times as long the other one is.
const SHORT_BYTES: usize = 1 << 11;
const TIMES: usize = 64;

/// So many times as long as the short ones may the long text take, for all that does not fit the
/// caches any more. Quadratic time is 64 times as long.
const MOST_TIMES: u32 = 30;

/// Asserts that no text, hostile or ordinary, takes more than its length explains.
#[track_caller]
fn assert_in_proportion(what: &str, work: impl Fn(&str)) {
    let time = |text: &str, times: usize| {
        let started = Instant::now();
        (0..times).for_each(|_| work(text));
        started.elapsed()
    };
    for kind in HOSTILE.iter().chain(&ORDINARY) {
        let short_text = kind.text(SHORT_BYTES);
        let long_text = kind.text(SHORT_BYTES * TIMES);
        let (mut short, mut long) = (Duration::MAX, Duration::MAX);
        // In turns, so that what the machine does besides meets both.
        for _ in 0..3 {
            short = short.min(time(&short_text, TIMES));
            long = long.min(time(&long_text, 1));
        }
        let most = short * MOST_TIMES;
        assert!(
            long <= most,
            "{what} takes {long:?} for {}, and {short:?} for as much in {TIMES} texts",
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
        black_box(Resemblance::new(&normaliser, text, &other));
    });
    assert_in_proportion("tokens", |text| drop(black_box(tokens(text))));
}
