//! `simdb-cli pairs`: output, exit codes, errors.

use std::process::Stdio;

use crate::common::{Folder, Ran, TEXTS, raw_pairs, stop};
use serde_json::{Value, json};

/// Three copies, 3 being the first; 1 is two bits from them, 2 is three bits from 1.
const NEAR: [(u64, u64); 6] = [
    (9, 0xff00),
    (3, 0xff00),
    (5, 0xff00),
    (1, 0xff03),
    (2, 0xff03 | 0b111 << 40),
    (7, u64::MAX),
];

fn with_fingerprints(pairs: &[(u64, u64)]) -> Folder {
    let folder = Folder::new();
    folder.write("a.raw", raw_pairs(pairs));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    folder
}

fn pairs(folder: &Folder, more: &[&str]) -> Ran {
    let mut arguments = vec!["pairs", "a.simdb"];
    arguments.extend(more);
    folder.cli(&arguments)
}

#[test]
fn groups_come_first_and_pairs_use_their_first_document() {
    let folder = with_fingerprints(&NEAR);
    let ran = pairs(&folder, &["--sorted"]).ends(0);
    let group = json!({"fingerprint": "000000000000ff00", "documents": [3, 5, 9]});
    let pair = |a: u64, b: u64, distance: u64| json!({"a": a, "b": b, "distance": distance});
    assert_eq!(ran.json(), [group.clone(), pair(1, 2, 3), pair(1, 3, 2)]);
    assert_eq!(ran.stderr, "2 pairs, 1 group of 3 copies\n");
    let first = ran.stdout.lines().next().unwrap();
    assert_eq!(
        first,
        r#"{"fingerprint":"000000000000ff00","documents":[3,5,9]}"#
    );

    assert_eq!(pairs(&folder, &["--radius", "0"]).ends(0).json(), [group]);
    let farther = pairs(&folder, &["--radius", "5", "--sorted"])
        .ends(0)
        .json();
    assert_eq!(farther[1..], [pair(1, 2, 3), pair(1, 3, 2), pair(2, 3, 5)]);
}

#[test]
fn expand_lists_all_pairs_of_documents() {
    let folder = with_fingerprints(&NEAR);
    let ran = pairs(&folder, &["--sorted", "--expand", "--format", "csv"]).ends(0);
    let expected = [
        "a,b,distance",
        "1,2,3",
        "1,3,2",
        "1,5,2",
        "1,9,2",
        "3,5,0",
        "3,9,0",
        "5,9,0",
    ];
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
    assert!(ran.stderr.starts_with("7 pairs, "), "{}", ran.stderr);
}

#[test]
fn group_in_csv_pairs_its_first_document_with_the_rest() {
    let folder = with_fingerprints(&NEAR);
    let ran = pairs(&folder, &["--sorted", "--format", "csv"]).ends(0);
    let expected = ["a,b,distance", "3,5,0", "3,9,0", "1,2,3", "1,3,2"];
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn unsorted_output_has_the_same_lines() {
    let near = |id: u64| (id, (id / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (id % 3));
    let folder = with_fingerprints(&(0..6000).map(near).collect::<Vec<_>>());
    for more in [
        &[][..],
        &["--format", "csv"],
        &["--expand"],
        &["--radius", "9"],
    ] {
        let unsorted = pairs(&folder, more).ends(0);
        let sorted = pairs(&folder, &[more, &["--sorted"]].concat()).ends(0);
        let lines = |ran: &Ran| {
            let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert!(lines(&unsorted).len() >= 6000);
        assert_eq!(lines(&unsorted), lines(&sorted), "{more:?}");
        assert_eq!(unsorted.stderr, sorted.stderr);
    }
}

#[test]
fn no_pair_exits_with_1() {
    let folder = with_fingerprints(&[(1, 0), (2, 0xff)]);
    let ran = pairs(&folder, &[]).ends(1);
    assert_eq!(ran.stdout, "");
    assert_eq!(ran.stderr, "0 pairs, 0 groups of 0 copies\n");
}

#[test]
fn output_file_appears_when_complete() {
    let folder = with_fingerprints(&NEAR);
    let ran = pairs(&folder, &["-o", "pairs.jsonl", "--json"]).ends(0);
    let count = ran.one_json();
    for (name, expected) in [
        ("documents", 6),
        ("radius", 3),
        ("groups", 1),
        ("copies", 3),
        ("pairs", 2),
    ] {
        assert_eq!(count[name], expected, "{count}");
    }
    assert!(count["seconds"].is_f64());
    assert_eq!(folder.read_json("pairs.jsonl").len(), 3);
    assert_eq!(folder.names(), ["a.raw", "a.simdb", "pairs.jsonl"]);

    pairs(&folder, &["-o", "pairs.jsonl"]).fails(&["pairs.jsonl already exists"]);
    pairs(&folder, &["-o", "none/pairs.jsonl"]).fails(&["cannot write none/pairs.jsonl"]);
    let plain = pairs(&folder, &["-o", "pairs.csv", "--format", "csv"]).ends(0);
    assert_eq!(plain.stdout, "2 pairs, 1 group of 3 copies\n");
    // A search without matches writes an empty file.
    let none = pairs(&folder, &["-o", "none.jsonl", "--radius", "1", "--json"]).ends(0);
    assert_eq!(none.one_json()["pairs"], 0);
}

#[test]
fn texts_of_equal_wording_are_copies() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let found: Vec<Value> = pairs(&folder, &[]).ends(0).json();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["documents"], json!([1, 2]));
}

#[test]
fn failure_exits_with_2() {
    let folder = with_fingerprints(&NEAR);
    pairs(&folder, &["--radius", "65"]).ends(2);
    pairs(&folder, &["--json"]).ends(2);
    pairs(&folder, &["--json", "-o", "-"]).fails(&["--json", "name a file"]);
    pairs(&folder, &["--format", "raw"]).ends(2);
    folder
        .cli(&["pairs", "none.simdb"])
        .fails(&["there is no database none.simdb"]);
}

#[test]
fn dash_means_standard_output() {
    let folder = with_fingerprints(&NEAR);
    let plain = pairs(&folder, &[]).ends(0);
    let dashed = pairs(&folder, &["-o", "-"]).ends(0);
    assert_eq!(dashed.stdout, plain.stdout);
    assert_eq!(dashed.stderr, plain.stderr);
    assert_eq!(folder.names(), ["a.raw", "a.simdb"]);
}

#[test]
fn progress_is_shown_on_request() {
    let folder = with_fingerprints(&NEAR);
    let ran = pairs(&folder, &["--progress", "always", "-o", "pairs.jsonl"]).ends(0);
    assert!(ran.stderr.contains("pairing"), "{}", ran.stderr);
}

/// Thirty-six million pairs of copies take seconds to write.
#[cfg(unix)]
#[test]
fn interrupted_search_leaves_no_file() {
    let folder = with_fingerprints(&(0..12_000).map(|id| (id, id % 2)).collect::<Vec<_>>());
    let child = folder
        .command("simdb-cli")
        .args(["pairs", "a.simdb", "--expand", "-o", "pairs.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    folder.wait_for(|name| name.starts_with(".pairs.jsonl."));
    let ran = stop(child, "-INT");
    ran.fails(&["interrupted"]);
    assert_eq!(folder.names(), ["a.raw", "a.simdb"]);
}

#[test]
fn closed_pipe_is_no_error() {
    let folder = with_fingerprints(&(0..3000).map(|id| (id, id % 2)).collect::<Vec<_>>());
    let mut child = folder
        .command("simdb-cli")
        .args(["pairs", "a.simdb", "--expand"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    drop(child.stdout.take());
    let ran: Ran = child.wait_with_output().expect("the tool ends").into();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn similar_pairs_have_verdicts_and_need_texts() {
    let folder = Folder::new();
    let line = |id: u64, text: &str| format!("{}\n", json!({"id": id, "text": text}));
    let text = "The ferry to Oban was cancelled on Friday because of the storm.";
    let more = "The ferry to Oban was cancelled on Friday because of the storm. Buses run instead.";
    let not = "The ferry to Oban was not cancelled on Friday in spite of the storm.";
    let lines = [line(1, text), line(2, more), line(3, not), line(4, text)];
    folder.write("a.jsonl", lines.concat());
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    folder.load(&["bare.simdb", "a.jsonl"]).ends(0);

    let found = folder.cli(&["pairs", "a.simdb", "--similar", "--sorted"]);
    let found = found.ends(0).json();
    assert_eq!(found[0], json!({"documents": [1, 4]}));
    assert_eq!(found.len(), 2);
    let parts = ["a", "b", "verdict"].map(|name| found[1][name].clone());
    assert_eq!(parts, [json!(1), json!(2), json!("a_in_b")]);
    for verb in ["pairs", "clusters"] {
        let counts = folder.cli(&[
            verb,
            "a.simdb",
            "--similar",
            "--json",
            "-o",
            "r.jsonl",
            "--force",
        ]);
        assert_eq!(counts.ends(0).one_json()["radius"], json!(null));
    }
    let table = folder.cli(&["pairs", "a.simdb", "--similar", "--format", "csv"]);
    let table = table.ends(0).stdout;
    assert!(table.starts_with("a,b,distance\n1,4,0\n1,2,"), "{table}");

    let clusters = folder
        .cli(&["clusters", "a.simdb", "--similar"])
        .ends(0)
        .json();
    assert_eq!(clusters.len(), 1);
    assert_eq!(clusters[0]["keeper"], 2);
    let members = clusters[0]["members"].as_array().unwrap();
    let verdicts: Vec<_> = members.iter().map(|member| &member["verdict"]).collect();
    assert_eq!(verdicts, ["a_in_b", "same", "a_in_b"]);

    for (arguments, said) in [
        (&["pairs", "bare.simdb", "--similar"][..], "text"),
        (&["clusters", "bare.simdb", "--similar"], "text"),
        (
            &["pairs", "a.simdb", "--similar", "--radius", "3"],
            "cannot be used with",
        ),
        (&["pairs", "a.simdb", "--jaccard", "0.5"], "need --similar"),
        (
            &["clusters", "a.simdb", "--similar", "--radius", "3"],
            "for fingerprints",
        ),
        (
            &["clusters", "a.simdb", "--jaccard", "0.5"],
            "need --verify",
        ),
    ] {
        folder.cli(arguments).fails(&[said]);
    }
}
