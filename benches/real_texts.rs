//! The CPU time and the recall of *similar* search in real texts, for databases of growing size.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use bench_support::database::folder;
use bench_support::keys::SplitMix;
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;
use serde_json::Value;
use simdb::similarity::{Likeness, Resemblance};
use simdb::similarity::{edit_similarity_at_least, tokens};
use simdb::{Decision, Normaliser, Similar, TextQuery};

use crate::similar_rows::{Found, SimilarTable, check_contained, found_by_narrow};

/// The shares of words that are replaced to make a further text, in turn, in percent.
const REPLACED: [u64; 4] = [15, 30, 50, 70];

/// From this score on, a near-duplicate counts as near.
const NEAR: f64 = 0.75;

/// The texts of a file of JSON Lines, which may be compressed by gzip, each with a field `text`. If
/// the file has fewer than `count`, further texts are made of them.
pub struct RealTexts {
    texts: Vec<String>,
    /// The number of texts of the file.
    pub read: usize,
}

/// A text prepared for the comparison with every text.
struct Prepared {
    letters: String,
    characters: usize,
    phrases: Vec<u64>,
}

/// The near-duplicates of a query in all texts.
struct Truth {
    ids: Vec<(u64, f64)>,
}

/// The numbers of queries and inserts.
pub struct Counts {
    pub queries: usize,
    /// The queries that are compared with every text.
    pub compared: usize,
    pub inserts: usize,
    pub threads: u64,
}

impl RealTexts {
    pub fn read(path: &Path, count: usize) -> Self {
        let file = File::open(path).expect("the file of texts");
        let lines: Box<dyn BufRead> = if path.extension().is_some_and(|end| end == "gz") {
            Box::new(BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Box::new(BufReader::new(file))
        };
        let mut texts: Vec<String> = lines
            .lines()
            .take(count)
            .map(|line| {
                let line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
                line["text"].as_str().expect("a text").to_owned()
            })
            .collect();
        let read = texts.len();
        let mut draws = SplitMix(21);
        while texts.len() < count {
            let of = texts.len() % read;
            let share = REPLACED[texts.len() / read % REPLACED.len()];
            let text = with_other_words(&texts[..read], of, share, &mut draws);
            texts.push(text);
        }
        Self { texts, read }
    }

    /// Measures a database of the first texts for each size: a load, queries by what the texts say
    /// and by thresholds, the first of them compared with every text, and durable inserts.
    pub fn measure(&self, table: &SimilarTable, sizes: &[u64], counts: &Counts) {
        let mut first = None;
        for size in sizes {
            let texts = &self.texts[..*size as usize];
            let asked = self.queries(texts, counts.queries);
            let folder = folder();
            let path = folder.path().join("similar.simdb");
            let database = table.load(&format!("{size} texts,"), &path, texts);
            let snapshot = database.snapshot().expect("a snapshot");
            let ask =
                |set: fn(TextQuery) -> TextQuery| table.ask(&database, &snapshot, &asked, set);
            let alike = ask(|query| query.decision(Decision::Alike));
            let contained = ask(|query| query);
            let narrow = ask(TextQuery::narrow);
            drop(snapshot);
            check_alike(texts, &asked, &alike.answers);
            check_contained(texts, &asked, &alike, &contained);
            let found = found(texts, &asked[..counts.compared], &alike.answers);
            let narrow_found = found_by_narrow(&contained.answers, &narrow.answers);
            let means = *first.get_or_insert([&alike, &contained, &narrow].map(|asked| asked.mean));
            for ((label, asked, found), first) in [
                ("thresholds", &alike, Some(&found)),
                ("what is said", &contained, None),
                ("what is said, narrow", &narrow, Some(&narrow_found)),
            ]
            .into_iter()
            .zip(means)
            {
                table.queries(&format!("queries by {label}, CPU"), asked, first, found);
            }
            assert!(found.mean > 0.9, "the recall is {}", found.mean);
            assert!(
                narrow_found.mean > 0.9,
                "a narrow search finds {}",
                narrow_found.mean
            );
            let new = self.new_texts(texts, counts.inserts);
            table.inserts("new texts inserted", &database, texts, &new, counts.threads);
            let step = texts.len().div_ceil(new.len());
            let copies: Vec<String> = texts.iter().step_by(step).cloned().collect();
            let all = [texts, new.as_slice()].concat();
            let label = "copies inserted";
            let stored = table.inserts(label, &database, &all, &copies, counts.threads);
            assert_eq!(stored, 0, "copies are stored");
        }
    }

    /// Texts with words replaced, in shares as those of the further texts.
    fn new_texts(&self, texts: &[String], count: usize) -> Vec<String> {
        let mut draws = SplitMix(11);
        let new = |nth: usize| {
            let of = draws.next() as usize % texts.len();
            with_other_words(texts, of, REPLACED[nth % REPLACED.len()], &mut draws)
        };
        (0..count).map(new).collect()
    }

    /// Every other query is a text with one or two words replaced, the others are stored texts.
    fn queries(&self, texts: &[String], count: usize) -> Vec<String> {
        let mut draws = SplitMix(7);
        let step = texts.len() / count;
        (0..count)
            .map(|nth| match nth % 2 {
                0 => with_other_words(texts, nth * step, 20, &mut draws),
                _ => texts[nth * step].clone(),
            })
            .collect()
    }
}

/// A text with a share of its words, in percent and at least one, replaced by words of other texts.
fn with_other_words(texts: &[String], of: usize, share: u64, draws: &mut SplitMix) -> String {
    let mut words: Vec<&str> = texts[of].split_whitespace().collect();
    if words.is_empty() {
        return texts[of].clone();
    }
    for _ in 0..(words.len() as u64 * share).div_ceil(100) {
        let donor = &texts[draws.next() as usize % texts.len()];
        let mut others = donor.split_whitespace();
        let count = others.clone().count().max(1);
        if let Some(other) = others.nth(draws.next() as usize % count) {
            let place = draws.next() as usize % words.len();
            words[place] = other;
        }
    }
    words.join(" ")
}

/// Panics if a text that was found is not a near-duplicate.
fn check_alike(texts: &[String], asked: &[String], answers: &[Vec<Similar>]) {
    let normaliser = Normaliser::new();
    for (text, answer) in asked.iter().zip(answers) {
        for found in answer.iter().take(100) {
            let measured = Resemblance::new(&normaliser, text, &texts[found.id.0 as usize]);
            assert!(
                measured.is_enough(&Likeness::default()),
                "a text is found that is not similar: {text}"
            );
            assert_eq!(measured.jaccard, found.resemblance.jaccard);
        }
    }
}

/// The shares of near-duplicates in all texts that were found.
fn found(texts: &[String], asked: &[String], answers: &[Vec<Similar>]) -> Found {
    let prepared: Vec<Prepared> = texts.par_iter().map(|text| prepare(text)).collect();
    let truths: Vec<Truth> = asked
        .par_iter()
        .map(|text| truth(texts, &prepared, text))
        .collect();
    let (mut shares, mut any, mut near, mut near_found) = (Vec::new(), 0, 0, 0);
    for (truth, answer) in truths.iter().zip(answers) {
        let ids: HashSet<u64> = answer.iter().map(|found| found.id.0).collect();
        let found = truth.ids.iter().filter(|(id, _)| ids.contains(id));
        let found: Vec<f64> = found.map(|(_, score)| *score).collect();
        near += truth.ids.iter().filter(|(_, score)| *score >= NEAR).count();
        near_found += found.iter().filter(|score| **score >= NEAR).count();
        if !truth.ids.is_empty() {
            shares.push(found.len() as f64 / truth.ids.len() as f64);
            any += u32::from(!found.is_empty());
        }
        assert!(
            answer.len() <= truth.ids.len(),
            "the comparison with every text finds more"
        );
    }
    let queries = shares.len().max(1) as f64;
    Found {
        mean: shares.iter().sum::<f64>() / queries,
        near: Some(near_found as f64 / near.max(1) as f64),
        any: Some(f64::from(any) / queries),
    }
}

thread_local! {
    static NORMALISER: Normaliser = Normaliser::new();
}

fn prepare(text: &str) -> Prepared {
    NORMALISER.with(|normaliser| {
        let letters = normaliser.letters(text);
        let sentences = normaliser.sentences(text);
        let tokens = tokens(&sentences);
        // Polynomial hashes: two phrases with one hash only cause a comparison of the texts.
        let hash = |words: &[&str]| {
            let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
            bytes.fold(7_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        let mut phrases: Vec<u64> = match tokens.len() {
            0..3 => vec![hash(&tokens)],
            _ => tokens.windows(3).map(hash).collect(),
        };
        phrases.sort_unstable();
        phrases.dedup();
        Prepared {
            characters: letters.chars().count(),
            letters,
            phrases,
        }
    })
}

/// The near-duplicates by [`Resemblance`], which is measured for the texts whose letters or phrases
/// may be alike.
fn truth(texts: &[String], prepared: &[Prepared], text: &str) -> Truth {
    let own = prepare(text);
    let likeness = Likeness::default();
    let may_be_alike = |other: &Prepared| {
        let shorter = own.characters.min(other.characters) as f64;
        let longer = own.characters.max(other.characters) as f64;
        let is_near = shorter >= likeness.edit_similarity * longer
            && edit_similarity_at_least(&own.letters, &other.letters, likeness.edit_similarity)
                .is_some();
        // Phrases in scripts without spaces are other ones than here, so half of the threshold is
        // enough.
        is_near || jaccard(&own.phrases, &other.phrases) >= likeness.jaccard / 2.0
    };
    let ids = (0..).zip(prepared).filter_map(|(id, other)| {
        let measured = may_be_alike(other).then(|| {
            NORMALISER.with(|normaliser| Resemblance::new(normaliser, text, &texts[id as usize]))
        })?;
        let score = if measured.same_wording {
            1.0
        } else {
            measured.score()
        };
        measured.is_enough(&likeness).then_some((id, score))
    });
    Truth { ids: ids.collect() }
}

/// The Jaccard index of two sorted sets.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        both += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}
