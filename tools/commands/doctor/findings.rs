//! The findings of `simdb-cli doctor`: facts that need attention, each with advice.

use std::time::Duration;

use serde::Serialize;
use simdb::diagnosis::Diagnosis;

use super::query_load::query_load;
use crate::console::{counted, duration, grouped, whole_seconds};

/// A fact about a database that needs attention.
#[derive(Serialize)]
pub struct Finding {
    /// The kind of the finding, for programs.
    pub finding: &'static str,
    /// The fact, and its consequence.
    pub says: String,
    /// The next step.
    pub advice: &'static str,
}

/// With fewer than 64 fingerprints, bits that are equal in all of them may be chance.
const LEAST_FINGERPRINTS: u64 = 64;

/// A bit is biased if its share of ones is farther than this from one half. Corpora of one kind
/// reach 0.27 (package descriptions: shares of 0.25 to 0.77). With shares of 0.2 or 0.8, two
/// unrelated fingerprints agree in the bit 68 times in 100 instead of 50.
const MAX_BIAS: f64 = 0.3;

/// Standard deviations beyond [`MAX_BIAS`] that chance may add.
const STANDARD_DEVIATIONS: f64 = 6.0;

/// A hot key has 16 times the average number of fingerprints, and at least 4,096: a look-up reads
/// eight pages.
const HOT_TIMES: f64 = 16.0;
const HOT_FINGERPRINTS: u64 = 4_096;

/// A slow query meets 8 times the candidates of random fingerprints, and at least 20,000: ten
/// microseconds of comparing.
const SLOW_TIMES: f64 = 8.0;
const SLOW_CANDIDATES: f64 = 20_000.0;

/// Documents with one fingerprint are a finding from 1 % of all documents, and 1,000, on.
const COPIES_SHARE: f64 = 0.01;
const COPIES_DOCUMENTS: u64 = 1_000;

/// Unreliable documents are a finding from 10 % of all documents, and 100, on.
const UNRELIABLE_SHARE: f64 = 0.1;
const UNRELIABLE_DOCUMENTS: u64 = 100;

/// A latest arrival is a finding from 1 minute ahead of the system clock on: the clocks of two
/// machines may differ by some seconds.
const LEAST_AHEAD: Duration = Duration::from_secs(60);

/// All findings, the worst first. `ahead` is the time by which the latest arrival lies ahead of the
/// system clock.
pub fn findings(diagnosis: &Diagnosis, ahead: Option<Duration>) -> Vec<Finding> {
    let found = [
        (
            "clock-ahead",
            clock_ahead(ahead),
            "find the source of these times (a local time written as UTC, a wrong unit, a planned \
             date) and correct it, or leave --time out to let documents arrive by the clock; \
             `simdb-cli prune --reset-clock` removes arrivals beyond --max-ahead",
        ),
        (
            "dead-bits",
            dead_bits(diagnosis),
            "look at how the fingerprints are made (a hash cut short, a shift too far, a number \
             passed as a float); make them anew and load them into a new database",
        ),
        (
            "biased-bits",
            biased_bits(diagnosis),
            "see whether most texts share a header or footer, and strip that before loading; with \
             fingerprints of your own, whether their hash is a good one",
        ),
        (
            "slow-queries",
            slow_queries(diagnosis),
            "repair the cause that the other findings name; the candidates grow in proportion to \
             the documents",
        ),
        (
            "hot-keys",
            hot_keys(diagnosis),
            "look at the documents named above: if they are one template (a cookie notice, an error \
             page, a list), strip it or leave them out; if they are not, look at how the \
             fingerprints are made",
        ),
        (
            "copies",
            copies(diagnosis),
            "ask with --limit; load with --unique 0 to keep one of each, or remove documents without \
             content",
        ),
        (
            "unreliable",
            unreliable(diagnosis),
            "see whether the right field was loaded (--text); join what is too short, such as title \
             and body; with the recipe jieba, use ngram for what is not Chinese",
        ),
    ];
    let found = found.into_iter().filter_map(|(finding, says, advice)| {
        says.map(|says| Finding {
            finding,
            says,
            advice,
        })
    });
    found.collect()
}

/// The share of fingerprints with a 1 in each bit, the least significant bit first; `None` without
/// fingerprints.
pub fn shares_of_ones(diagnosis: &Diagnosis) -> Option<Vec<f64>> {
    let fingerprints = diagnosis.distinct_fingerprints;
    let share = |ones| ones as f64 / fingerprints as f64;
    (fingerprints > 0).then(|| diagnosis.ones().map(share).to_vec())
}

/// The largest distance of a share of ones from one half that is no finding.
pub fn most_bias(diagnosis: &Diagnosis) -> f64 {
    // The standard deviation of the share of n random bits is 1 / (2 √n).
    let deviation = 0.5 / (diagnosis.distinct_fingerprints.max(1) as f64).sqrt();
    MAX_BIAS + STANDARD_DEVIATIONS * deviation
}

fn clock_ahead(ahead: Option<Duration>) -> Option<String> {
    let ahead = ahead.filter(|ahead| *ahead >= LEAST_AHEAD)?;
    Some(format!(
        "the latest arrival lies {} ahead of the system clock; with a retention window, \
         documents expire that much earlier",
        duration(whole_seconds(ahead))
    ))
}

fn dead_bits(diagnosis: &Diagnosis) -> Option<String> {
    let bits = bits_where(diagnosis, |share| share == 0.0 || share == 1.0)?;
    Some(format!(
        "the same in all {}: {bits}; every dead bit halves the keys of its block and doubles what a \
         query compares there",
        counted(diagnosis.distinct_fingerprints, "fingerprint")
    ))
}

fn biased_bits(diagnosis: &Diagnosis) -> Option<String> {
    let most = most_bias(diagnosis);
    let is_biased = |share: f64| (share - 0.5).abs() > most && share > 0.0 && share < 1.0;
    let bits = bits_where(diagnosis, is_biased)?;
    Some(format!(
        "mostly the same: {bits}, where a share of ones from {:.2} to {:.2} is as it should be; \
         unrelated documents come nearer to each other",
        0.5 - most,
        0.5 + most
    ))
}

/// The bits whose share of ones matches; `None` without such bits, or with too few fingerprints.
fn bits_where(diagnosis: &Diagnosis, is_such: impl Fn(f64) -> bool) -> Option<String> {
    let shares = shares_of_ones(diagnosis)
        .filter(|_| diagnosis.distinct_fingerprints >= LEAST_FINGERPRINTS)?;
    let bits = (0..64).rev().filter(|bit| is_such(shares[*bit]));
    let bits: Vec<String> = bits
        .map(|bit| format!("{bit} (block {}, ones {:.2})", 3 - bit / 16, shares[bit]))
        .collect();
    let plural = if bits.len() == 1 { "" } else { "s" };
    (!bits.is_empty()).then(|| format!("bit{plural} {}", bits.join(", ")))
}

fn hot_keys(diagnosis: &Diagnosis) -> Option<String> {
    let mean = diagnosis.distinct_fingerprints as f64 / 65_536.0;
    let least = (mean * HOT_TIMES).max(HOT_FINGERPRINTS as f64);
    let mut hot = Vec::new();
    for (block, found) in diagnosis.blocks.iter().enumerate() {
        for key in &found.hottest {
            if key.distinct_fingerprints as f64 >= least {
                let fingerprints = counted(key.distinct_fingerprints, "fingerprint");
                hot.push(format!("{:04x} in block {block} ({fingerprints})", key.key));
            }
        }
    }
    (!hot.is_empty()).then(|| {
        format!(
            "keys with {HOT_TIMES} times the average of {mean:.1} and more: {}; a query that has one \
             compares that many",
            hot.join(", ")
        )
    })
}

fn slow_queries(diagnosis: &Diagnosis) -> Option<String> {
    let load = query_load(diagnosis, 1.0);
    let times = load.candidates / load.candidates_if_random;
    (load.candidates >= SLOW_CANDIDATES && times >= SLOW_TIMES).then(|| {
        format!(
            "a query at radius 3 meets {} candidates on average, {times:.0} times as many as if \
             fingerprints were random",
            grouped(load.candidates.round() as u64)
        )
    })
}

fn copies(diagnosis: &Diagnosis) -> Option<String> {
    let largest = diagnosis.duplicates.largest.first()?;
    let share = largest.documents as f64 / diagnosis.documents as f64;
    (largest.documents >= COPIES_DOCUMENTS && share >= COPIES_SHARE).then(|| {
        format!(
            "{} ({}) have the fingerprint {}; a query that finds it is answered with all of them",
            counted(largest.documents, "document"),
            percent(share),
            largest.fingerprint
        )
    })
}

fn unreliable(diagnosis: &Diagnosis) -> Option<String> {
    let all = diagnosis.documents + diagnosis.unreliable;
    let share = diagnosis.unreliable as f64 / all.max(1) as f64;
    (diagnosis.unreliable >= UNRELIABLE_DOCUMENTS && share >= UNRELIABLE_SHARE).then(|| {
        format!(
            "{} ({}) have too little content for a meaningful fingerprint; no query finds them",
            counted(diagnosis.unreliable, "document"),
            percent(share)
        )
    })
}

pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}
