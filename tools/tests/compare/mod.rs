//! `simdb-cli compare`: output, exit codes, errors.

mod decisions;
mod pairs;

use crate::common::Folder;
use serde_json::{Value, json};

const CAT: &str = "The cat sat on the mat.";
const OTHER_CAT: &str = "the cat sat on a mat";
const MUM: &str = "你妈妈喊你回家吃饭哦，回家罗回家罗";
const OTHER_MUM: &str = "你妈妈叫你回家吃饭啦，回家罗回家罗";

/// The similarities that range from 0 to 1.
const SIMILARITIES: [&str; 6] = [
    "edit_similarity",
    "shingle_jaccard",
    "bloom_jaccard",
    "cosine_tokens",
    "cosine_words",
    "cosine_words_tf_idf",
];

/// The measures of two texts.
fn measures(folder: &Folder, one: &str, other: &str) -> Value {
    let ran = folder.cli(&["compare", one, other, "--json", "--decide", "alike"]);
    ran.one_json()["measures"].clone()
}

/// Asserts that two numbers are equal up to rounding.
#[track_caller]
fn assert_near(found: &Value, expected: f64) {
    let number = found.as_f64().expect("a number");
    assert!(
        (number - expected).abs() < 1e-9,
        "{number} is not {expected}"
    );
}

#[test]
fn similarities_of_worked_examples_equal_hand_count() {
    let folder = Folder::new();
    let found = measures(&folder, MUM, OTHER_MUM);
    // 2 of 16 characters other than punctuation.
    assert_near(&found["edit_similarity"], 14.0 / 16.0);
    // 7 of 13 phrases are in both, and each text has 6 others.
    assert_near(&found["jaccard"], 7.0 / 19.0);
    assert_near(&found["shingle_jaccard"], 8.0 / 16.0);
    assert_near(&found["cosine_tokens"], 32.0 / 34.0);
    // Only punctuation differs: the words are equal.
    assert_near(&found["cosine_words"], 1.0);
    assert_near(&found["cosine_words_tf_idf"], 1.0);
    assert_eq!(found["longest_sentences_equal"], json!(false));
    assert!(found["bloom_jaccard"].as_f64() >= found["shingle_jaccard"].as_f64());

    let found = measures(&folder, CAT, OTHER_CAT);
    // thecatsatonthemat, thecatsatonamat: 17 characters, 3 edits.
    assert_near(&found["edit_similarity"], 14.0 / 17.0);
    assert_near(&found["shingle_jaccard"], 3.0 / 7.0);
    assert_near(&found["cosine_tokens"], 0.75_f64.sqrt());
    // the, on and a are stop words: the rest is equal.
    assert_near(&found["cosine_words_tf_idf"], 1.0);

    let unrelated = measures(&folder, CAT, "we all scream for ice cream");
    // Unrelated texts share characters by chance, and perhaps bits of a Bloom filter.
    let of_parts = |measure: &&str| !["edit_similarity", "bloom_jaccard"].contains(measure);
    for measure in SIMILARITIES.into_iter().filter(of_parts) {
        assert_eq!(unrelated[measure], json!(0.0), "{measure}");
    }
}

#[test]
fn distances_equal_distances_of_printed_fingerprints() {
    let folder = Folder::new();
    for recipe in ["ngram", "jieba"] {
        let arguments = ["compare", MUM, OTHER_MUM, "--recipe", recipe, "--json"];
        // Each text has another verb, so no text covers the other.
        let line = folder.cli(&arguments).ends(1).one_json();
        assert_eq!(line["recipe"], json!(recipe));
        for (bits, name) in [("64", "distance"), ("128", "distance_128")] {
            let [one, other] = [MUM, OTHER_MUM].map(|text| {
                let hash = folder.cli(&["hash", text, "--recipe", recipe, "--bits", bits]);
                hash.ends(0).stdout.trim().to_owned()
            });
            let distance = folder.cli(&["compare", "--hex", &one, &other]);
            let distance = distance.ends(0).stdout;
            assert_eq!(line[name].to_string(), distance.trim(), "{recipe} {bits}");
        }
    }
    // Three distinct words are too few for recipe `jieba`.
    let ran = folder.cli(&["compare", MUM, OTHER_MUM, "--recipe", "jieba"]);
    assert!(ran.ends(1).stdout.contains("means nothing"));
}

#[test]
fn distance_of_fingerprints_counts_differing_bits() {
    let folder = Folder::new();
    let distance = |arguments: &[&str]| folder.cli(&[&["compare", "--hex"], arguments].concat());
    let hex = |bits: u64| format!("{bits:016x}");
    let ran = distance(&[&hex(0b10101), &hex(0b00110), "--json"]);
    assert_eq!(ran.ends(0).one_json(), json!({"distance": 3, "bits": 64}));
    let [zeros, ones] = ["0".repeat(32), "F".repeat(32)];
    assert_eq!(distance(&[&zeros, &ones]).ends(0).stdout, "128\n");
    distance(&[&hex(0), &zeros]).fails(&["same width"]);
    distance(&[&hex(0), "ff"]).fails(&["16 hexadecimal digits"]);
}

#[test]
fn report_has_verdict_decisions_and_measures() {
    let folder = Folder::new();
    let report = folder.cli(&["compare", CAT, OTHER_CAT]).ends(0).stdout;
    let rows: Vec<&str> = report.lines().collect();
    for (row, (starts, holds)) in [
        ("same: each text covers the other", "A would lose 0.0 nats"),
        ("A  the cat", ""),
        ("B  the cat", ""),
        ("forgiven: the = a (", ""),
        ("", ""),
        ("strict   no   the fingerprints differ", "more than 3"),
        ("similar  yes  the edit similarity is 0.824", "same"),
        ("", ""),
        ("SimHash, 64 bits", "recipe ngram"),
        ("SimHash, 128 bits", "of 64"),
        ("edit similarity", "0.824  0.65 is enough"),
        ("phrases, Jaccard", "0.55 is enough"),
        ("shingles, Jaccard", "0.429"),
        ("shingles, Bloom filter", "128 bits"),
        ("tokens, cosine", "0.866"),
        ("words, cosine", "  0."),
        ("words, tf-idf cosine", "1.000"),
        ("longest sentences", "no  the 3"),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(rows[row].starts_with(starts), "{report}");
        assert!(rows[row].contains(holds), "{holds:?}: {report}");
    }
    assert_eq!(rows.len(), 18, "{report}");
}

#[test]
fn cosmetic_differences_do_not_count() {
    let folder = Folder::new();
    let found = measures(&folder, "漢語，ＯＮＥ！", "汉语 one");
    for measure in SIMILARITIES {
        assert_eq!(found[measure], json!(1.0), "{measure}");
    }
    assert_eq!(found["longest_sentences_equal"], json!(true));
}

#[test]
fn empty_texts_are_similar_to_each_other_only() {
    let folder = Folder::new();
    for (one, other, expected) in [("", "...", 1.0), ("", "something else", 0.0)] {
        let found = measures(&folder, one, other);
        for measure in SIMILARITIES {
            assert_eq!(found[measure], json!(expected), "{measure} of {other:?}");
        }
        assert_eq!(found["longest_sentences_equal"], json!(expected == 1.0));
    }
    for other in ["", "   ", "a text about cats"] {
        let shown = folder.cli(&["compare", "", other]).ends(1).stdout;
        assert!(
            shown.starts_with("different: a text without content covers no text"),
            "{shown}"
        );
    }
}

#[test]
fn texts_are_read_from_files_and_standard_input() {
    let folder = Folder::new();
    let given = folder.cli(&["compare", MUM, OTHER_MUM, "--json"]);
    let given = given.ends(1).stdout;
    folder.write("one.txt", MUM);
    folder.write("other.txt", format!("{OTHER_MUM}\r\n"));
    let files = ["compare", "--files", "one.txt", "other.txt", "--json"];
    assert_eq!(folder.cli(&files).ends(1).stdout, given);
    let files = ["compare", "--files", "-", "other.txt", "--json"];
    let ran = folder.cli_from(&files, MUM.as_bytes());
    assert_eq!(ran.ends(1).stdout, given);
}

#[test]
fn invalid_comparison_is_an_error() {
    let folder = Folder::new();
    folder.write("latin1.txt", b"caf\xe9");
    folder.write("text.txt", "a text");
    for (arguments, said) in [
        (&["--files", "-", "-"][..], "standard input holds one text"),
        (&["--files", "text.txt", "missing.txt"], "missing.txt"),
        (&["--files", "text.txt", "latin1.txt"], "UTF-8"),
        (&["a", "b", "--recipe", "cake"], "ngram"),
        (&["a", "b", "--recipe", "weighted"], "weighted"),
        (&["--hex", "a", "b", "--bits"], "--bits"),
        (&["--hex", "a", "b", "--recipe", "ngram"], "--recipe"),
        (&["alone"], "<B>"),
    ] {
        let ran = folder.cli(&[&["compare"], arguments].concat());
        ran.fails(&[said]);
    }
}

#[test]
fn long_texts_are_compared_without_edit_similarity() {
    let folder = Folder::new();
    folder.write("one.txt", "一二三四五六七八九十".repeat(1000));
    folder.write("other.txt", "一二三四五六七八九百".repeat(1000));
    let files = ["compare", "--files", "one.txt", "other.txt"];
    let line = folder.cli(&[&files[..], &["--json"]].concat()).one_json();
    assert_eq!(line["measures"]["edit_similarity"], json!(null));
    // Eight pairs are in both texts, and each text has two more.
    assert_near(&line["measures"]["shingle_jaccard"], 8.0 / 12.0);
    let report = folder.cli(&files).stdout;
    assert!(report.contains("edit similarity  "), "{report}");
}
