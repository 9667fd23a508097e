//! Real texts: matches at radius 3 are near-duplicates, texts equal after normalisation are found,
//! and edited texts are found by similar search.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;
use simdb::{Change, Database, Decision, DocId};

const CORPUS: &str = include_str!("../data/quotes_and_news.jsonl");
const PAIRS: &str = include_str!("../data/quotes_and_news.pairs.jsonl");

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn matches_in_real_texts_are_near_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::create(folder.path().join("quotes.simdb")).unwrap();
    let documents: Vec<_> = lines(CORPUS)
        .map(|line| {
            let id = DocId(line["id"].as_u64().unwrap());
            db.document(id, line["text"].as_str().unwrap()).unwrap()
        })
        .collect();
    db.apply(documents.iter().cloned().map(Change::Insert))
        .unwrap();

    let snapshot = db.snapshot().unwrap();
    let mut found = BTreeSet::new();
    for document in documents.iter().filter(|document| document.reliable) {
        for near in snapshot.within(document.fingerprint, 3).unwrap() {
            if document.id < near.id {
                found.insert((document.id.0, near.id.0));
            }
        }
    }

    // The list is complete: every pair of the corpus with at least 80 % similarity.
    let id = |pair: &Value, side: &str| pair[side].as_u64().unwrap();
    let known: BTreeSet<_> = lines(PAIRS)
        .map(|pair| (id(&pair, "a"), id(&pair, "b")))
        .collect();
    let wrong: Vec<_> = found.difference(&known).collect();
    assert!(wrong.is_empty(), "no near-duplicates: {wrong:?}");

    let unreliable: BTreeSet<_> = documents
        .iter()
        .filter(|document| !document.reliable)
        .map(|document| document.id.0)
        .collect();
    let same_wording: Vec<_> = lines(PAIRS)
        .filter(|pair| pair["es"].as_f64() == Some(1.0))
        .map(|pair| (id(&pair, "a"), id(&pair, "b")))
        .filter(|(a, b)| !unreliable.contains(a) && !unreliable.contains(b))
        .collect();
    assert!(same_wording.len() >= 50, "{}", same_wording.len());
    for pair in &same_wording {
        assert!(found.contains(pair), "{pair:?} is not found");
    }
    // Pairs that differ by more than formatting are found in part only.
    assert_eq!((found.len(), known.len()), (60, 97));
}

/// Files of each labelled set: documents, pairs, and pairs that do not count.
const LABELLED: [(&str, [&[u8]; 3]); 2] = [
    (
        "edits_zh",
        [
            include_bytes!("../data/labelled/edits_zh.docs.jsonl.gz"),
            include_bytes!("../data/labelled/edits_zh.pairs.jsonl.gz"),
            include_bytes!("../data/labelled/edits_zh.grey.jsonl.gz"),
        ],
    ),
    (
        "edits_en",
        [
            include_bytes!("../data/labelled/edits_en.docs.jsonl.gz"),
            include_bytes!("../data/labelled/edits_en.pairs.jsonl.gz"),
            include_bytes!("../data/labelled/edits_en.grey.jsonl.gz"),
        ],
    ),
];

fn unpacked(packed: &[u8]) -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    lines(&text).collect()
}

#[test]
fn edited_texts_are_found_by_similar_search() {
    let id = |line: &Value, field: &str| line[field].as_u64().unwrap();
    let ordered = |a: u64, b: u64| (a.min(b), a.max(b));
    for (name, files) in LABELLED {
        let [documents, pairs, grey] = files.map(unpacked);
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder()
            .similar(true)
            .create(folder.path().join("edits.simdb"))
            .unwrap();
        let inserts = documents.iter().map(|line| {
            let document = db.document(DocId(id(line, "id")), line["text"].as_str().unwrap());
            Change::Insert(document.unwrap())
        });
        db.apply(inserts.collect::<Vec<_>>()).unwrap();

        let mut found = BTreeSet::new();
        for line in &documents {
            let query = db.text_query(line["text"].as_str().unwrap()).unwrap();
            let query = query.decision(Decision::Alike);
            for near in db.snapshot().unwrap().similar(&query).unwrap() {
                found.insert(ordered(id(line, "id"), near.id.0));
            }
        }
        found.retain(|(a, b)| a != b);

        let families: BTreeMap<_, _> = documents
            .iter()
            .map(|line| (id(line, "id"), id(line, "fam")))
            .collect();
        let pair = |line: &Value| ordered(id(line, "a"), id(line, "b"));
        let (good, bad): (Vec<_>, Vec<_>) = pairs.iter().partition(|line| line["label"] == 1);
        let good: BTreeSet<_> = good.into_iter().map(pair).collect();
        let bad: BTreeSet<_> = bad.into_iter().map(pair).collect();
        let grey: BTreeSet<_> = grey.iter().map(pair).collect();
        let wrong: Vec<_> = found
            .iter()
            .filter(|pair| {
                let is_unrelated = families[&pair.0] != families[&pair.1] && !grey.contains(pair);
                bad.contains(pair) || is_unrelated && !good.contains(pair)
            })
            .collect();
        assert!(wrong.is_empty(), "{name}: no near-duplicates: {wrong:?}");
        let missed = good.difference(&found).count();
        assert!(
            missed * 10 <= good.len(),
            "{name}: {missed} of {}",
            good.len()
        );
    }
}
