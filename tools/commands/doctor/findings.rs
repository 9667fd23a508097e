//! What `simdb-cli doctor` makes of the numbers: findings, each with what it means and what to do.

use serde::Serialize;
use simdb::Diagnosis;

use crate::console::{counted, grouped};

/// Something about a database that is not as it should be.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// One word, the same for every finding of the kind.
    pub finding: &'static str,
    /// What was found, and what it means.
    pub says: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// Of fewer fingerprints a bit may have the same value in all of them by chance.
const LEAST_FINGERPRINTS: u64 = 64;

/// A share of ones that is farther than this from one half is more than what texts have in common
/// makes of it: in corpora of one kind (package descriptions) bits reach 0.25 and 0.77. At 0.2 or
/// 0.8 two fingerprints agree in the bit 68 times of 100, not 50.
const MOST_BIAS: f64 = 0.3;

/// What is farther than so many standard deviations beyond that is no chance.
const STANDARD_DEVIATIONS: f64 = 6.0;

/// A key is hot that so many times as many fingerprints have as do on average, and so many at
/// least: eight pages to be read for one look-up.
const HOT_TIMES: f64 = 16.0;
const HOT_FINGERPRINTS: u64 = 4_096;

/// Queries are slow that meet so many times as many candidates as they would if fingerprints were
/// random, and so many at least: some ten microseconds of comparing.
const SLOW_TIMES: f64 = 8.0;
const SLOW_CANDIDATES: f64 = 20_000.0;

/// Documents with one fingerprint are too many from this share of all and this number on.
const COPIES_SHARE: f64 = 0.01;
const COPIES_DOCUMENTS: u64 = 1_000;

/// Unreliable documents are too many from this share of all and this number on.
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

/// The share of fingerprints that have a 1 in each bit, bit 0 the least significant one; nothing
/// without fingerprints.
pub fn shares(diagnosis: &Diagnosis) -> Option<Vec<f64>> {
    let fingerprints = diagnosis.distinct_fingerprints;
    let share = |ones| ones as f64 / fingerprints as f64;
    (fingerprints > 0).then(|| diagnosis.ones().map(share).to_vec())
}

/// How far from one half a share of ones may be.
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

/// The bits with such a share of ones; nothing if there are none, or if there are too few
/// fingerprints to tell.
fn bits_where(diagnosis: &Diagnosis, is_such: impl Fn(f64) -> bool) -> Option<String> {
    let shares =
        shares(diagnosis).filter(|_| diagnosis.distinct_fingerprints >= LEAST_FINGERPRINTS)?;
    let bits: Vec<String> = (0..64)
        .rev()
        .filter(|bit| is_such(shares[*bit]))
        .map(|bit| format!("{bit} (block {}, ones {:.2})", 3 - bit / 16, shares[bit]))
        .collect();
    match bits.len() {
        0 => None,
        1 => Some(format!("bit {}", bits[0])),
        _ => Some(format!("bits {}", bits.join(", "))),
    }
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
            "keys with {} times the average of {mean:.1} and more: {}; a query that has one \
             compares that many",
            HOT_TIMES,
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
        advice: "mend what crowds the keys, as the other findings say; with more documents it grows \
                 in proportion",
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

/// A share as people read it.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}
