//! Real texts, loaded and asked for: what is found at radius 3 is what a reader would call the
//! same, and what is the same up to normalisation is found.

use std::collections::BTreeSet;

use serde_json::Value;
use simdb::{Change, Database, DocId};

const CORPUS: &str = include_str!("data/quotes_and_news.jsonl");
const PAIRS: &str = include_str!("data/quotes_and_news.pairs.jsonl");

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn matches_in_real_texts_are_near_duplicates_and_equal_wording_is_found() {
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

    // The list is complete: every pair of the corpus that is at least 80 % alike.
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
    // What differs by more than dress is found in part only.
    assert_eq!((found.len(), known.len()), (60, 97));
}
