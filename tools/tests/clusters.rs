//! `simdb-cli clusters`: output, exit codes, errors.

use crate::common::{Folder, Ran, TEXTS, raw_pairs};
use serde_json::{Value, json};

/// A chain of three with 9 in the middle, and two copies.
const CHAIN: [(u64, u64); 6] = [
    (9, 0b0000_0111),
    (4, 0b0000_0000),
    (6, 0b0011_1111),
    (2, 0xff << 40),
    (3, 0xff << 40),
    (1, u64::MAX),
];

fn with_fingerprints(pairs: &[(u64, u64)]) -> Folder {
    let folder = Folder::new();
    folder.write("a.raw", raw_pairs(pairs));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    folder
}

fn clusters(folder: &Folder, more: &[&str]) -> Ran {
    let mut arguments = vec!["clusters", "a.simdb"];
    arguments.extend(more);
    folder.cli(&arguments)
}

/// The expected line of a cluster, from members and their distances, the keeper first.
fn cluster(id: u64, diameter: u32, members: &[(u64, u32)]) -> Value {
    let mut in_order = members.to_vec();
    in_order.sort_unstable();
    let line = |(id, distance): &(u64, u32)| json!({"id": id, "distance": distance});
    json!({
        "cluster": id,
        "keeper": members[0].0,
        "size": members.len(),
        "diameter": diameter,
        "most_diameter": diameter,
        "members": in_order.iter().map(line).collect::<Vec<_>>(),
    })
}

#[test]
fn empty_texts_are_in_no_cluster_and_no_pair() {
    let folder = Folder::new();
    let texts = ["", "", "   ", "...", "..."];
    let line = |(id, text): (usize, &&str)| format!("{}\n", json!({"id": id, "text": text}));
    folder.write(
        "a.jsonl",
        texts.iter().enumerate().map(line).collect::<String>(),
    );
    folder.load(&["a.simdb", "a.jsonl", "--similar"]).ends(0);
    let found = clusters(&folder, &["--similar"]).ends(0).one_json();
    let members: Vec<_> = [0, 1].map(|at| found["members"][at]["id"].clone()).into();
    assert_eq!(
        (members, &found["size"]),
        (vec![json!(3), json!(4)], &json!(2))
    );
    let pairs = folder.cli(&["pairs", "a.simdb", "--similar"]).ends(0);
    assert_eq!(pairs.one_json()["documents"], json!([3, 4]));
}

#[test]
fn star_ends_at_radius_of_keeper_and_component_spans_chain() {
    let folder = with_fingerprints(&CHAIN);
    let copies = cluster(2, 0, &[(2, 0), (3, 0)]);
    let ran = clusters(&folder, &[]).ends(0);
    let star = cluster(4, 3, &[(4, 0), (9, 3)]);
    assert_eq!(ran.json(), [copies.clone(), star]);
    assert_eq!(ran.stderr, "2 clusters of 4 documents, the largest of 2\n");

    let ran = clusters(&folder, &["--shape", "connected"]).ends(0);
    let component = cluster(4, 6, &[(4, 0), (6, 6), (9, 3)]);
    assert_eq!(ran.json(), [copies.clone(), component]);

    let ran = clusters(&folder, &["--radius", "6"]).ends(0);
    let star = cluster(4, 6, &[(4, 0), (6, 6), (9, 3)]);
    assert_eq!(ran.json(), [copies.clone(), star]);
    assert_eq!(
        clusters(&folder, &["--radius", "0"]).ends(0).json(),
        [copies]
    );
}

#[test]
fn component_above_cap_is_split_with_warning() {
    let folder = with_fingerprints(&CHAIN);
    let ran = clusters(&folder, &["--shape", "connected", "--cap", "2"]).ends(0);
    assert_eq!(ran.json(), clusters(&folder, &[]).json());
    assert!(
        ran.stderr
            .starts_with("warning: 3 documents are connected with document 4, more than --cap 2"),
        "{}",
        ran.stderr
    );
    for cap in ["3", "0"] {
        let ran = clusters(&folder, &["--shape", "connected", "--cap", cap]).ends(0);
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    }
    clusters(&folder, &["--cap", "3"]).fails(&["--cap", "--shape connected"]);
}

#[test]
fn csv_has_one_line_per_member() {
    let folder = with_fingerprints(&CHAIN);
    let ran = clusters(&folder, &["--format", "csv"]).ends(0);
    let expected = [
        "cluster,doc_id,keeper,distance",
        "2,2,2,0",
        "2,3,2,0",
        "4,4,4,0",
        "4,9,4,3",
    ];
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn output_file_appears_when_complete() {
    let folder = with_fingerprints(&CHAIN);
    let ran = clusters(
        &folder,
        &["-o", "out.jsonl", "--json", "--shape", "connected"],
    )
    .ends(0);
    let count = ran.one_json();
    for (name, expected) in [
        ("documents", 6),
        ("radius", 3),
        ("clusters", 2),
        ("members", 5),
        ("largest", 3),
        ("split", 0),
    ] {
        assert_eq!(count[name], expected, "{count}");
    }
    assert_eq!(folder.read_json("out.jsonl").len(), 2);
    clusters(&folder, &["-o", "out.jsonl"]).fails(&["out.jsonl already exists"]);
    clusters(&folder, &["--json"]).ends(2);
    assert_eq!(folder.names(), ["a.raw", "a.simdb", "out.jsonl"]);
}

#[test]
fn no_cluster_exits_with_1() {
    let folder = with_fingerprints(&[(1, 0), (2, 0xff)]);
    let ran = clusters(&folder, &[]).ends(1);
    assert_eq!(ran.stdout, "");
    assert_eq!(ran.stderr, "0 clusters of 0 documents, the largest of 0\n");
}

#[test]
fn oldest_or_longest_is_kept_if_stored() {
    let folder = Folder::new();
    let text = |id: u64, end: &str, day: u64| {
        let line = json!({
            "id": id,
            "text": format!("The quick brown fox jumps over the lazy dog near the river bank{end}"),
            "day": format!("2024-05-{day:02}T12:00:00Z"),
        });
        format!("{line}\n")
    };
    folder.write(
        "a.jsonl",
        [text(1, "", 9), text(2, " !!!", 8), text(3, ".", 7)].concat(),
    );
    let options = [
        "a.simdb",
        "a.jsonl",
        "--keep-texts",
        "--arrivals",
        "--time",
        "day",
    ];
    folder.load(&options).ends(0);
    let keeper = |keep| clusters(&folder, &["--keep", keep]).ends(0).json()[0]["keeper"].clone();
    assert_eq!(
        [keeper("first"), keeper("oldest"), keeper("longest")],
        [1, 3, 2]
    );
    let found = clusters(&folder, &["--keep", "longest"]).json();
    assert_eq!(found[0]["cluster"], 1);
}

#[test]
fn verify_splits_clusters_by_text() {
    let folder = Folder::new();
    let line = |id: u64, text: &str| {
        let line = json!({"id": id, "text": text, "fp": "00000000000000ff"});
        format!("{line}\n")
    };
    let fox = "The quick brown fox jumps over the lazy dog near the river bank";
    let other = "A database of fingerprints finds in microseconds what a scan would not";
    folder.write(
        "a.jsonl",
        [
            line(1, fox),
            line(2, other),
            line(3, &fox.replace("lazy", "sleepy")),
        ]
        .concat(),
    );
    let options = [
        "a.simdb",
        "a.jsonl",
        "--keep-texts",
        "--fingerprint",
        "fp",
        "--text",
        "text",
    ];
    folder.load(&options).ends(0);
    let sizes = |more: &[&str]| {
        let ran = clusters(&folder, more);
        let sizes: Vec<Value> = ran.json().iter().map(|line| line["size"].clone()).collect();
        sizes
    };
    assert_eq!(sizes(&[]), [3]);
    let alike = ["--verify", "--decide", "alike"];
    assert_eq!(sizes(&alike), [2]);
    let connected = [&alike[..], &["--shape", "connected"]].concat();
    assert_eq!(sizes(&connected), [2]);
    let none: [Value; 0] = [];
    let thresholds = ["--edit-similarity", "0.99", "--jaccard", "0.99"];
    assert_eq!(sizes(&[&alike[..], &thresholds].concat()), none);
    // Both texts say something of their own.
    assert_eq!(sizes(&["--verify"]), none);
    clusters(&folder, &["--jaccard", "0.9"]).fails(&["--verify"]);
}

#[test]
fn keep_rule_without_stored_data_is_refused() {
    let folder = with_fingerprints(&CHAIN);
    clusters(&folder, &["--keep", "oldest"]).fails(&["--keep oldest needs times", "a.simdb"]);
    clusters(&folder, &["--keep", "longest"]).fails(&["--keep longest needs texts", "a.simdb"]);
    clusters(&folder, &["--verify"]).fails(&["--verify compares texts", "a.simdb"]);
    clusters(&folder, &["--radius", "65"]).ends(2);
    folder
        .cli(&["clusters", "none.simdb"])
        .fails(&["there is no database none.simdb"]);
}

#[test]
fn progress_is_shown_on_request() {
    let folder = with_fingerprints(&CHAIN);
    let ran = clusters(&folder, &["--progress", "always", "-o", "out.jsonl"]).ends(0);
    assert!(ran.stderr.contains("pairing ["), "{}", ran.stderr);
}

#[test]
fn file_name_of_another_format_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let before = folder.names();
    for verb in ["clusters", "pairs", "export"] {
        for name in ["x.csv", "x.parquet", "x.npy", "x.txt"] {
            folder.cli(&[verb, "a.simdb", "-o", name]).fails(&[
                name,
                "another format than its name says",
                "--format",
            ]);
        }
        for name in ["x.jsonl.gz", "x.jsonl.zst", "x.gz"] {
            folder
                .cli(&[verb, "a.simdb", "-o", name])
                .fails(&[name, "would not be compressed"]);
        }
        folder
            .cli(&[verb, "a.simdb", "-o", "x.jsonl", "--format", "csv"])
            .fails(&["x.jsonl", "another format than its name says"]);
        assert_eq!(folder.names(), before);
        for (name, format) in [("x.csv", "csv"), ("x.ndjson", "jsonl"), ("x", "csv")] {
            folder
                .cli(&[verb, "a.simdb", "-o", name, "--format", format])
                .ends(0);
            std::fs::remove_file(folder.file(name)).expect("removed");
        }
    }
}
