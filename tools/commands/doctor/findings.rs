//! Findings of `simdb-cli doctor`: each a fact that needs attention, and advice.

use serde::Serialize;
use simdb::Diagnosis;

use crate::console::{counted, grouped};

/// Something about a database that needs attention.
#[derive(Serialize)]
pub struct Finding {
    /// The kind of the finding, for programs.
    pub finding: &'static str,
    /// The fact, and its meaning.
    pub says: String,
    /// The next step.
    pub advice: &'static str,
}

/// In fewer fingerprints, bits that are equal in all of them are chance.
const LEAST_FINGERPRINTS: u64 = 64;

/// Shares of ones are up to 0.27 away from one half in corpora of one kind (package descriptions:
/// 0.25 to 0.77). At 0.2 or 0.8 two fingerprints agree in the bit 68 times of 100, not 50.
const MOST_BIAS: f64 = 0.3;

/// Standard deviations beyond [`MOST_BIAS`] that are no chance.
const STANDARD_DEVIATIONS: f64 = 6.0;

/// A hot key has this many times the average number of fingerprints, and at least this number: eight
/// pages to read for one look-up.
const HOT_TIMES: f64 = 16.0;
const HOT_FINGERPRINTS: u64 = 4_096;

/// Slow queries meet this many times the candidates of random fingerprints, and at least this
/// number: some ten microseconds of comparing.
const SLOW_TIMES: f64 = 8.0;
const SLOW_CANDIDATES: f64 = 20_000.0;

/// Documents with one fingerprint are too many from this share of all, and this number, on.
const COPIES_SHARE: f64 = 0.01;
const COPIES_DOCUMENTS: u64 = 1_000;

/// Unreliable documents are too many from this share of all, and this number, on.
const UNRELIABLE_SHARE: f64 = 0.1;
const UNRELIABLE_DOCUMENTS: u64 = 100;

/// All findings, the worst first.
pub fn findings(diagnosis: &Diagnosis) -> Vec<Finding> {
    let found = [
        dead_bits(diagnosis),
        biased_bits(diagnosis),
        slow_queries(diagnosis),
        hot_keys(diagnosis),
        copies(diagnosis),
        unreliable(diagnosis),
    ];
    found.into_iter().flatten().collect()
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
    MOST_BIAS + STANDARD_DEVIATIONS * deviation
}

fn dead_bits(diagnosis: &Diagnosis) -> Option<Finding> {
    let bits = bits_where(diagnosis, |share| share == 0.0 || share == 1.0)?;
    Some(Finding {
        finding: "dead-bits",
        says: format!(
            "the same in all {}: {bits}; every dead bit halves the keys of its block and doubles \
             what a query compares there",
            counted(diagnosis.distinct_fingerprints, "fingerprint")
        ),
        advice: "look at how the fingerprints are made (a hash cut short, a shift too far, a number \
                 passed as a float); make them anew and load them into a new database",
    })
}

fn biased_bits(diagnosis: &Diagnosis) -> Option<Finding> {
    let most = most_bias(diagnosis);
    let bits = bits_where(diagnosis, |share| {
        (share - 0.5).abs() > most && share > 0.0 && share < 1.0
    })?;
    Some(Finding {
        finding: "biased-bits",
        says: format!(
            "mostly the same: {bits}, where a share of ones from {:.2} to {:.2} is as it should be; \
             unrelated documents come nearer to each other",
            0.5 - most,
            0.5 + most
        ),
        advice: "see whether most texts share a header or footer, and strip that before loading; \
                 with fingerprints of your own, whether their hash is a good one",
    })
}

/// Names the bits with such a share of ones; `None` if there are none, or too few fingerprints.
fn bits_where(diagnosis: &Diagnosis, is_such: impl Fn(f64) -> bool) -> Option<String> {
    let shares = shares_of_ones(diagnosis)
        .filter(|_| diagnosis.distinct_fingerprints >= LEAST_FINGERPRINTS)?;
    let bits: Vec<String> = (0..64)
        .rev()
        .filter(|bit| is_such(shares[*bit]))
        .map(|bit| format!("{bit} (block {}, ones {:.2})", 3 - bit / 16, shares[bit]))
        .collect();
    let plural = if bits.len() == 1 { "" } else { "s" };
    (!bits.is_empty()).then(|| format!("bit{plural} {}", bits.join(", ")))
}

fn hot_keys(diagnosis: &Diagnosis) -> Option<Finding> {
    let mean = diagnosis.distinct_fingerprints as f64 / 65_536.0;
    let least = (mean * HOT_TIMES).max(HOT_FINGERPRINTS as f64);
    let hot: Vec<String> = diagnosis
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(block, found)| found.hottest.iter().map(move |hot| (block, hot)))
        .filter(|(_, hot)| hot.distinct_fingerprints as f64 >= least)
        .map(|(block, hot)| {
            let fingerprints = counted(hot.distinct_fingerprints, "fingerprint");
            format!("{:04x} in block {block} ({fingerprints})", hot.key)
        })
        .collect();
    (!hot.is_empty()).then(|| Finding {
        finding: "hot-keys",
        says: format!(
            "keys with {HOT_TIMES} times the average of {mean:.1} and more: {}; a query that has \
             one compares that many",
            hot.join(", ")
        ),
        advice: "look at the documents named above: if they are one template (a cookie notice, an \
                 error page, a list), strip it or leave them out; if they are not, look at how the \
                 fingerprints are made",
    })
}

fn slow_queries(diagnosis: &Diagnosis) -> Option<Finding> {
    let load = diagnosis.query_load(1.0);
    let times = load.candidates / load.candidates_if_random;
    (load.candidates >= SLOW_CANDIDATES && times >= SLOW_TIMES).then(|| Finding {
        finding: "slow-queries",
        says: format!(
            "a query at radius 3 meets {} candidates on average, {times:.0} times as many as if \
             fingerprints were random",
            grouped(load.candidates.round() as u64)
        ),
        advice: "repair the cause that the other findings name; the candidates grow in proportion \
                 to the documents",
    })
}

fn copies(diagnosis: &Diagnosis) -> Option<Finding> {
    let largest = diagnosis.duplicates.largest.first()?;
    let share = largest.documents as f64 / diagnosis.documents as f64;
    (largest.documents >= COPIES_DOCUMENTS && share >= COPIES_SHARE).then(|| Finding {
        finding: "copies",
        says: format!(
            "{} ({}) have the fingerprint {}; a query that finds it is answered with all of them",
            counted(largest.documents, "document"),
            percent(share),
            largest.fingerprint
        ),
        advice: "ask with --limit; load with --unique 0 to keep one of each, or remove those that \
                 say nothing",
    })
}

fn unreliable(diagnosis: &Diagnosis) -> Option<Finding> {
    let all = diagnosis.documents + diagnosis.unreliable;
    let share = diagnosis.unreliable as f64 / all.max(1) as f64;
    (diagnosis.unreliable >= UNRELIABLE_DOCUMENTS && share >= UNRELIABLE_SHARE).then(|| Finding {
        finding: "unreliable",
        says: format!(
            "{} ({}) say too little for a fingerprint that means anything; no query finds them",
            counted(diagnosis.unreliable, "document"),
            percent(share)
        ),
        advice: "see whether the right field was loaded (--text); join what is too short, such as \
                 title and body; with the recipe jieba, use ngram for what is not Chinese",
    })
}

/// A share in percent, with one decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}
