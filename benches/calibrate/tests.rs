//! The figures of tiny collections, counted by hand.

use std::path::Path;

use clap::Parser;
use serde_json::{Value, json};
use simdb::{Decision, Recipe};

use super::Options;
use super::corpus::LabelledCorpus;
use super::measure::find_pairs;
use super::picture::picture;
use super::score::{ClassScore, Unlisted, scores};

const SHIPS: &str = "Three ships sailed past the lighthouse, and nobody saw them go.";
const FOX: &str = "The quick brown fox jumps over the lazy dog near the river bank.";
const LIFE: &str = "生活就像一盒巧克力，你永远不知道下一颗是什么味道，明天又是新的一天。";

/// Writes the files, runs the measurement, and returns the scores of the classes.
fn measured(files: &[(&str, &[Value])], options: &[&str]) -> (Vec<ClassScore>, Unlisted) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, lines) in files {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(Path::new(&path(name)), lines).expect("written");
    }
    let options = options.iter().map(|word| match word.starts_with('-') {
        true => (*word).to_owned(),
        false => path(word),
    });
    let arguments = ["calibrate".to_owned(), path("pairs")]
        .into_iter()
        .chain(options);
    let options = Options::try_parse_from(arguments).expect("options");
    let mut corpus = LabelledCorpus::read(&options).expect("a corpus");
    find_pairs(&mut corpus, &Recipe::ngram(), Decision::Contained).expect("pairs");
    scores(&corpus)
}

/// Fingerprints find the second and third pair at any radius. Similar search also finds the first
/// pair, whose texts are too short for fingerprints. The third pair should not be found.
#[test]
fn counts_of_tiny_set_equal_hand_count() {
    let pairs = [
        json!({"a": "hello", "b": "HELLO!", "label": 1}),
        json!({"a": SHIPS, "b": SHIPS.to_uppercase(), "label": 1}),
        json!({"a": FOX, "b": FOX.to_uppercase(), "label": 0}),
        json!({"a": LIFE, "b": SHIPS, "label": 0}),
    ];
    let (classes, _) = measured(&[("pairs", &pairs)], &[]);
    let [short, _, all] = &classes[..] else {
        panic!("{} classes", classes.len());
    };
    assert_eq!((all.pairs, all.near_duplicates), (4, 2));
    // SHIPS is in two pairs.
    assert_eq!((all.documents, all.unreliable), (7, 2));
    for score in all.fingerprints.iter().chain(&all.checked) {
        assert_eq!(score.cells, [1, 1, 1, 1]);
    }
    assert_eq!(all.similar.cells, [2, 1, 0, 1]);
    assert_eq!(short.fingerprints[16].cells, [0, 0, 1, 0]);
    assert_eq!(short.similar.cells, [1, 0, 0, 0]);
    let svg = picture(&classes).expect("a picture");
    assert!(svg.contains("all: 4 pairs, 2 near-duplicates"), "{svg}");
}

#[test]
fn unlisted_pairs_count_only_for_closed_sets() {
    let documents = [
        json!({"id": 1, "text": SHIPS, "fam": 1}),
        json!({"id": 2, "text": SHIPS.to_uppercase(), "fam": 1}),
        json!({"id": 3, "text": FOX}),
        json!({"id": 4, "text": FOX.to_uppercase()}),
        json!({"id": 5, "text": LIFE}),
    ];
    let files = [
        ("docs", &documents[..]),
        ("pairs", &[json!({"a": 1, "b": 5, "label": 0})]),
        ("grey", &[json!({"a": 4, "b": 3})]),
    ];
    let run = |options: &[&str]| {
        let (classes, unlisted) = measured(&files, options);
        let all = classes.last().expect("all pairs");
        assert_eq!(all.fingerprints[3].cells, all.similar.cells);
        (all.similar.cells, [unlisted.counted, unlisted.ignored])
    };
    let closed = ["--docs", "docs", "--closed"];
    assert_eq!(run(&closed[..2]), ([0, 0, 0, 1], [0, 0]));
    // 1 and 2 are of one family; 3 and 4 have none.
    assert_eq!(run(&closed), ([0, 1, 0, 1], [1, 1]));
    let grey = [&closed[..], &["--grey", "grey"]].concat();
    assert_eq!(run(&grey), ([0, 0, 0, 1], [0, 2]));
}
