//! `simdb-cli compare`: output, exit codes, errors.

use crate::common::Folder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use simdb::external::{NodeText, SearchKeys};

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

/// Asserts that two numbers are equal up to rounding.
#[track_caller]
fn assert_near(found: &serde_json::Value, expected: f64) {
    let number = found.as_f64().expect("a number");
    assert!(
        (number - expected).abs() < 1e-9,
        "{number} is not {expected}"
    );
}

#[test]
fn similarities_of_worked_examples_equal_hand_count() {
    let folder = Folder::new();
    let line = folder
        .cli(&["compare", MUM, OTHER_MUM, "--json"])
        .ends(0)
        .one_json();
    // 2 of 16 characters other than punctuation.
    assert_near(&line["edit_similarity"], 14.0 / 16.0);
    assert_near(&line["shingle_jaccard"], 8.0 / 16.0);
    assert_near(&line["cosine_tokens"], 32.0 / 34.0);
    // Only punctuation differs: the words are equal.
    assert_near(&line["cosine_words"], 1.0);
    assert_near(&line["cosine_words_tf_idf"], 1.0);
    assert_eq!(line["longest_sentences_equal"], json!(false));
    assert_eq!(line["recipe"], json!("ngram"));
    assert_eq!(line["simhash64"]["reliable"], json!(true));
    assert!(line["bloom_jaccard"].as_f64() >= line["shingle_jaccard"].as_f64());

    let line = folder
        .cli(&["compare", CAT, OTHER_CAT, "--json"])
        .ends(0)
        .one_json();
    // thecatsatonthemat, thecatsatonamat: 17 characters, 3 edits.
    assert_near(&line["edit_similarity"], 14.0 / 17.0);
    assert_near(&line["shingle_jaccard"], 3.0 / 7.0);
    assert_near(&line["cosine_tokens"], 0.75_f64.sqrt());
    // the, on and a are stop words: the rest is equal.
    assert_near(&line["cosine_words_tf_idf"], 1.0);

    let unrelated = folder
        .cli(&["compare", CAT, "we all scream for ice cream", "--json"])
        .ends(0)
        .one_json();
    // Unrelated texts share characters by chance, and perhaps bits of a Bloom filter.
    let of_parts = |measure: &&str| !["edit_similarity", "bloom_jaccard"].contains(measure);
    for measure in SIMILARITIES.into_iter().filter(of_parts) {
        assert_eq!(unrelated[measure], json!(0.0), "{measure}");
    }
    assert!(unrelated["simhash64"]["distance"].as_u64() > line["simhash64"]["distance"].as_u64());
}

#[test]
fn distances_equal_those_of_hash_and_distance() {
    let folder = Folder::new();
    for recipe in ["ngram", "jieba"] {
        let arguments = ["compare", MUM, OTHER_MUM, "--recipe", recipe, "--json"];
        let line = folder.cli(&arguments).ends(0).one_json();
        assert_eq!(line["recipe"], json!(recipe));
        for (bits, name) in [("64", "simhash64"), ("128", "simhash128")] {
            let [one, other] = [MUM, OTHER_MUM].map(|text| {
                let hash = folder.cli(&["hash", text, "--recipe", recipe, "--bits", bits]);
                hash.ends(0).stdout.trim().to_owned()
            });
            let distance = folder.cli(&["distance", &one, &other]).ends(0).stdout;
            assert_eq!(
                line[name]["distance"].to_string(),
                distance.trim(),
                "{recipe} {bits}"
            );
        }
    }
    // Three distinct words are too few for recipe `jieba`.
    let arguments = ["compare", MUM, OTHER_MUM, "--recipe", "jieba"];
    assert!(
        folder
            .cli(&arguments)
            .ends(0)
            .stdout
            .contains("means nothing")
    );
}

#[test]
fn table_has_one_row_per_similarity() {
    let folder = Folder::new();
    let table = folder.cli(&["compare", CAT, OTHER_CAT]).ends(0).stdout;
    let rows: Vec<&str> = table.lines().collect();
    for (row, starts, holds) in [
        (
            0,
            "same: each text says what the other says",
            "A would lose 0.0 nats",
        ),
        (1, "A  the cat", ""),
        (2, "B  the cat", ""),
        (3, "", ""),
        (4, "SimHash, 64 bits", "recipe ngram"),
        (5, "SimHash, 128 bits", "of 64"),
        (6, "edit similarity", "0.824  3 edits"),
        (7, "shingles, Jaccard", "0.429"),
        (8, "shingles, Bloom filter", "128 bits"),
        (9, "tokens, cosine", "0.866"),
        (10, "words, cosine", "  0."),
        (11, "words, tf-idf cosine", "1.000"),
        (12, "longest sentences", "no  the 3"),
    ] {
        assert!(rows[row].starts_with(starts), "{table}");
        assert!(rows[row].contains(holds), "{holds:?}: {table}");
    }
    assert_eq!(rows.len(), 13, "{table}");
}

#[test]
fn cosmetic_differences_do_not_count() {
    let folder = Folder::new();
    let line = folder
        .cli(&["compare", "漢語，ＯＮＥ！", "汉语 one", "--json"])
        .ends(0)
        .one_json();
    for measure in SIMILARITIES {
        assert_eq!(line[measure], json!(1.0), "{measure}");
    }
    assert_eq!(line["longest_sentences_equal"], json!(true));
    assert_eq!(line["simhash64"]["distance"], json!(0));
}

#[test]
fn empty_texts_are_similar_to_each_other_only() {
    let folder = Folder::new();
    for (one, other, expected) in [("", "...", 1.0), ("", "something else", 0.0)] {
        let line = folder
            .cli(&["compare", one, other, "--json"])
            .ends(0)
            .one_json();
        for measure in SIMILARITIES {
            assert_eq!(line[measure], json!(expected), "{measure} of {other:?}");
        }
        assert_eq!(line["longest_sentences_equal"], json!(expected == 1.0));
        assert_eq!(line["simhash64"]["reliable"], json!(false));
    }
}

#[test]
fn texts_are_read_from_files_and_standard_input() {
    let folder = Folder::new();
    let given = folder
        .cli(&["compare", MUM, OTHER_MUM, "--json"])
        .ends(0)
        .stdout;
    folder.write("one.txt", MUM);
    folder.write("other.txt", format!("{OTHER_MUM}\r\n"));
    let files = ["compare", "--files", "one.txt", "other.txt", "--json"];
    assert_eq!(folder.cli(&files).ends(0).stdout, given);
    for files in [["-", "other.txt"], ["other.txt", "-"]] {
        let arguments = ["compare", "--files", files[0], files[1], "--json"];
        assert_eq!(
            folder.cli_from(&arguments, MUM.as_bytes()).ends(0).stdout,
            given
        );
    }
}

#[test]
fn invalid_comparison_is_an_error() {
    let folder = Folder::new();
    folder.write("latin1.txt", b"caf\xe9");
    folder.write("text.txt", "a text");
    folder
        .cli(&["compare", "--files", "-", "-"])
        .fails(&["standard input holds one text"]);
    folder
        .cli(&["compare", "--files", "text.txt", "missing.txt"])
        .fails(&["missing.txt"]);
    folder
        .cli(&["compare", "--files", "text.txt", "latin1.txt"])
        .fails(&["latin1.txt", "UTF-8"]);
    folder
        .cli(&["compare", "a", "b", "--recipe", "cake"])
        .fails(&["cake", "ngram"]);
    assert_eq!(folder.cli(&["compare", "alone"]).ends(2).stdout, "");
}

#[test]
fn long_texts_are_compared_without_edit_similarity() {
    let folder = Folder::new();
    folder.write("one.txt", "一二三四五六七八九十".repeat(1_000));
    folder.write("other.txt", "一二三四五六七八九百".repeat(1_000));
    let line = folder
        .cli(&["compare", "--files", "one.txt", "other.txt", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(line["edit_similarity"], json!(null));
    // Eight pairs are in both texts, and each text has two more.
    assert_near(&line["shingle_jaccard"], 8.0 / 12.0);
    let table = folder
        .cli(&["compare", "--files", "one.txt", "other.txt"])
        .ends(0)
        .stdout;
    assert!(table.contains("too long"), "{table}");
}

#[test]
fn pairs_are_judged_line_by_line() {
    let folder = Folder::new();
    let pairs = [
        json!({"a": "Dataclass for boto3 dax.", "b": "Dataclass for boto3 ecs."}),
        json!({"a": "Ferry to Calais", "b": "The ferry to Calais leaves at noon", "gold": 1}),
        json!({"a": CAT, "b": OTHER_CAT}),
    ];
    let lines = pairs.map(|pair| format!("{pair}\n")).concat();
    folder.write("pairs.jsonl", &lines);
    let from_file = folder.cli(&["compare", "--pairs", "pairs.jsonl", "--json"]);
    let printed = from_file.ends(0).stdout;
    let printed: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verdicts = ["template", "a_in_b", "same"];
    assert_eq!(printed.len(), verdicts.len());
    for (line, verdict) in printed.iter().zip(verdicts) {
        assert_eq!(line["verdict"], json!(verdict), "{line}");
        assert!(line["edit_similarity"].is_number() && line["jaccard"].is_number());
    }
    assert_eq!(printed[0]["missing_in_b"][0][0], json!("dax"));
    assert_eq!(printed[0]["missing_in_a"][0][0], json!("ecs"));
    assert_eq!(printed[1]["missing_in_b"], json!([]));
    // Other fields are copied, texts are not.
    assert_eq!(printed[1]["gold"], json!(1));
    assert_eq!(printed[1].get("a"), None);
    let alike = [0, 1, 2].map(|at| printed[at]["alike"].clone());
    assert_eq!(alike, [json!(true), json!(false), json!(true)]);
    // A search finds texts that are alike, and of which one contains the other.
    let search = ["compare", "--pairs", "pairs.jsonl", "--json", "--search"];
    let searched = folder.cli(&search).ends(0).one_json();
    assert_eq!(searched, printed[2]);
    folder
        .cli(&[&search[..], &["--weights", "pairs.jsonl"]].concat())
        .fails(&["--search", "--weights"]);

    folder
        .cli_from(
            &["compare", "--pairs", "-", "--json"],
            b"{\"a\": \"alone\"}\n",
        )
        .fails(&[":1:", "\"b\""]);
}

#[test]
fn weights_are_learned_from_lines() {
    let folder = Folder::new();
    folder.write("feed.txt", "the harbour ferry\n".repeat(5000));
    let arguments = ["compare", "harbour news", "news", "--json"];
    let weight = |more: &[&str]| {
        let line = folder
            .cli(&[&arguments[..], more].concat())
            .ends(0)
            .one_json();
        line["missing_in_b"][0][1].as_f64().expect("a weight")
    };
    assert!(weight(&["--weights", "feed.txt"]) < weight(&[]));
}

/// A line of a cell, as another system makes it of an export.
fn cell_line(place: [u64; 2], document: u64, text: &str, is_entry: bool, is_query: bool) -> String {
    let keys = SearchKeys::new(text);
    let text = NodeText::from(&keys);
    let [sketch, other] =
        [text.sketch, text.other_sketch].map(|words| words.map(|word| word as i64));
    let line = json!({
        "node": place[0], "cell": place[1], "is_entry": is_entry, "is_query": is_query,
        "is_long": keys.characters >= 100, "document": document, "class": text.class, "classes": text.classes,
        "max_sketch_distance": text.max_sketch_distance, "sketch_1": sketch[0], "sketch_2": sketch[1],
        "other_1": other[0], "other_2": other[1], "wording": STANDARD.encode(text.wording),
    });
    format!("{line}\n")
}

#[test]
fn nodes_have_the_candidates_that_are_near_duplicates() {
    let folder = Folder::new();
    let [ferry, canceled, bus] = [
        "The ferry to the islands was cancelled because of fog.",
        "The ferry to the islands was canceled, because of fog!",
        "MongoDB integration component for Plone",
    ];
    // A long text, and a part of it that is short.
    let long = format!(
        "{ferry} The harbour stays closed until noon, said its board of directors this morning."
    );
    let short = &long[..long.len() - 24];
    // The sketches are near, the wordings are not.
    let other_wording = SearchKeys::new(bus).wording;
    let canceled_wording = STANDARD.encode(SearchKeys::new(canceled).wording);
    let near_bus = cell_line([6, 0], 7, canceled, true, false)
        .replace(&canceled_wording, &STANDARD.encode(other_wording));
    let lines = [
        // Both directions are one pair. A text is no candidate of itself.
        cell_line([1, 0], 8, ferry, true, true),
        cell_line([1, 0], 9, bus, true, true),
        cell_line([1, 0], 7, canceled, true, true),
        // Entries are candidates, queries are not.
        cell_line([2, 0], 8, ferry, true, false),
        cell_line([2, 0], 5, ferry, false, true),
        cell_line([2, 0], 7, canceled, false, true),
        // Cells of entries alone, and of queries alone.
        cell_line([3, 0], 8, ferry, true, false),
        cell_line([3, 0], 7, canceled, true, false),
        cell_line([3, 1], 8, ferry, false, true),
        cell_line([4, 1], 7, canceled, false, true),
        // The query of a long and a short text is not the smaller id.
        cell_line([5, 0], 3, short, true, false),
        cell_line([5, 0], 4, &long, false, true),
        near_bus,
        cell_line([6, 0], 8, ferry, false, true),
    ];
    let nodes = ["compare", "--nodes", "-", "--json"];
    let found = folder
        .cli_from(&nodes, lines.concat().as_bytes())
        .ends(0)
        .json();
    let pair = |query, document| json!({"query": query, "document": document});
    assert_eq!(
        found,
        [pair(7, 8), pair(7, 8), pair(5, 8), pair(7, 8), pair(4, 3)]
    );
    assert_eq!(folder.cli_from(&nodes, b"").ends(0).stdout, "");

    let disordered = [&lines[4][..], &lines[3]].concat();
    let classless = lines[0].replace("\"class\":", "\"class\":16,\"other\":");
    let misspelt = lines[0].replace("\"wording\":\"", "\"wording\":\"~");
    for (lines, said) in [
        (
            &disordered[..],
            "<stdin>:2: the entries of a cell must come before its other queries",
        ),
        (&misspelt, "<stdin>:1: the wording is not Base64"),
        (&classless, "is above 15"),
        ("{\"node\": 1}", "missing field"),
        ("[", "malformed JSON"),
    ] {
        folder.cli_from(&nodes, lines.as_bytes()).fails(&[said]);
    }
    folder.cli(&nodes[..3]).fails(&["--json"]);
    folder
        .cli(&[&nodes[..], &["--search"]].concat())
        .fails(&["--search"]);
}
