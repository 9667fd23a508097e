//! The time to process a text is proportional to its length, whatever the text consists of.
//!
//! The bench `hostile` measures the slowdown of hostile texts. These tests compare one long text
//! with short texts of the same kind and the same total length: a busy machine slows both alike,
//! and quadratic time shows whatever the cost of a byte.

use std::hint::black_box;
use std::time::{Duration, Instant};

use simdb::similarity::Resemblance;
use simdb::similarity::tokens;
use simdb::{Fingerprinter, Normaliser, Recipe};
use test_support::hostile::{HOSTILE, ORDINARY};

/// Length of a short text, and the ratio of the long one to it.
const SHORT_BYTES: usize = 1 << 11;
const TIMES: usize = 64;

/// The long text may take this many times as long as the short ones, because it no longer fits the
/// caches. Quadratic time would be 64 times as long.
const MAX_RATIO: u32 = 30;

/// Asserts that no text, hostile or ordinary, takes more than linear time.
#[track_caller]
fn assert_linear_time(operation: &str, work: impl Fn(&str)) {
    let time = |text: &str, times: usize| {
        let started = Instant::now();
        (0..times).for_each(|_| work(text));
        started.elapsed()
    };
    for kind in HOSTILE.iter().chain(&ORDINARY) {
        let short_text = kind.text(SHORT_BYTES);
        let long_text = kind.text(SHORT_BYTES * TIMES);
        let (mut short, mut long) = (Duration::MAX, Duration::MAX);
        // Alternate, so that other load on the machine affects both. One turn is enough to pass:
        // other load hides quadratic time only if it slows the short texts to half of their speed.
        for _ in 0..3 {
            short = short.min(time(&short_text, TIMES));
            long = long.min(time(&long_text, 1));
            if long <= short * MAX_RATIO {
                break;
            }
        }
        assert!(
            long <= short * MAX_RATIO,
            "{operation} takes {long:?} for {}, and {short:?} for as much in {TIMES} texts",
            kind.name
        );
    }
}

#[test]
fn fingerprint_time_is_linear_for_hostile_texts() {
    for recipe in Recipe::all().into_iter().filter(Recipe::takes_texts) {
        let fingerprinter = Fingerprinter::new(recipe);
        assert_linear_time(fingerprinter.recipe().name(), |text| {
            black_box(fingerprinter.fingerprint(text).unwrap());
        });
    }
}

#[test]
fn normalise_and_compare_times_are_linear_for_hostile_texts() {
    let normaliser = Normaliser::new();
    assert_linear_time("to compare wordings", |text| {
        let other = format!("{text} and");
        black_box(Resemblance::new(&normaliser, text, &other));
    });
    assert_linear_time("tokens", |text| drop(black_box(tokens(text))));
}
