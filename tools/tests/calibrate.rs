//! `simdb-cli calibrate`: output, exit codes, errors.

use std::io::Write;
use std::process::Stdio;

use crate::common::{Folder, stop};
use serde_json::{Value, json};

const SHIPS: &str = "Three ships sailed past the lighthouse, and nobody saw them go.";
const FOX: &str = "The quick brown fox jumps over the lazy dog near the river bank.";
const LIFE: &str = "生活就像一盒巧克力，你永远不知道下一颗是什么味道，明天又是新的一天。";

/// Fingerprints find the second and third pair at any radius. Similar search also finds the first
/// one, whose texts are too short for fingerprints. The third pair should not be found.
fn pairs() -> String {
    let shout = |text: &str| text.to_uppercase();
    lines(&[
        json!({"a": "hello", "b": "HELLO!", "label": 1}),
        json!({"a": SHIPS, "b": shout(SHIPS), "label": true}),
        json!({"a": FOX, "b": shout(FOX), "label": 0}),
        json!({"a": LIFE, "b": SHIPS, "label": false}),
    ])
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// A folder with a file `pairs.jsonl`.
fn with_pairs() -> Folder {
    let folder = Folder::new();
    folder.write("pairs.jsonl", pairs());
    folder
}

/// The class of this name.
fn class<'l>(line: &'l Value, name: &str) -> &'l Value {
    let mut classes = line["classes"].as_array().expect("classes").iter();
    let found = classes.find(|class| class["class"] == name);
    found.unwrap_or_else(|| panic!("{name} is not there: {line}"))
}

/// Counts of a confusion matrix: tp, fp, fn, tn.
fn cells(counts: &Value) -> [u64; 4] {
    ["tp", "fp", "fn", "tn"].map(|cell| counts[cell].as_u64().expect("a count"))
}

/// Documents 1 and 2, and 3 and 4, differ in formatting only; 5 is unrelated.
fn documents(families: bool) -> String {
    let family = |number: u64| if families { json!(number) } else { json!(null) };
    lines(&[
        json!({"id": 1, "text": SHIPS, "fam": 1, "kind": "short"}),
        json!({"id": 2, "text": SHIPS.to_uppercase(), "fam": 1, "kind": "short"}),
        json!({"id": 3, "text": FOX, "fam": family(7), "kind": "long"}),
        json!({"id": "4", "text": FOX.to_uppercase(), "fam": family(7), "kind": "long"}),
        json!({"id": 5, "text": LIFE, "kind": "short"}),
    ])
}

#[test]
fn help_has_examples_and_describes_exclusions() {
    let help = Folder::new().cli(&["calibrate", "--help"]).ends(0).stdout;
    assert!(help.contains("Examples:\n  simdb-cli calibrate "), "{help}");
    assert!(help.contains("about the listed pairs only"), "{help}");
}

#[test]
fn counts_of_tiny_set_equal_hand_count() {
    let folder = with_pairs();
    let line = folder.cli(&["calibrate", "pairs.jsonl", "--json"]);
    let line = line.ends(0).one_json();
    assert_eq!(line["recipe"], json!("ngram"));
    // SHIPS is in two pairs.
    assert_eq!((&line["documents"], &line["pairs"]), (&json!(7), &json!(4)));
    assert_eq!(line["closed"], json!(false));
    let names = line["classes"].as_array().unwrap().iter();
    let names: Vec<_> = names
        .map(|class| class["class"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["0-10", "30-100", "all"]);

    let all = class(&line, "all");
    assert_eq!(
        (&all["pairs"], &all["near_duplicates"]),
        (&json!(4), &json!(2))
    );
    assert_eq!(
        (&all["documents"], &all["unreliable"]),
        (&json!(7), &json!(2))
    );
    for way in ["fingerprints", "checked"] {
        let radii = all[way].as_array().expect("radii");
        assert_eq!(radii.len(), 17);
        for counts in radii {
            assert_eq!(cells(counts), [1, 1, 1, 1]);
            let shares = ["precision", "recall", "f1"].map(|share| counts[share].as_f64());
            assert_eq!(shares, [Some(0.5); 3]);
        }
    }
    assert_eq!(cells(&all["similar"]), [2, 1, 0, 1]);
    assert_eq!(all["similar"]["precision"], json!(2.0 / 3.0));
    assert_eq!(all["similar"]["recall"], json!(1.0));
    assert_eq!(all["similar"]["f1"], json!(0.8));
    let none = json!({"best": 0, "precise": null});
    assert_eq!(
        all["recommended"],
        json!({"fingerprints": none, "checked": none, "check_pays": false})
    );

    let short = class(&line, "0-10");
    assert_eq!(cells(&short["fingerprints"][16]), [0, 0, 1, 0]);
    assert_eq!(short["fingerprints"][16]["precision"], json!(null));
    assert_eq!(short["recommended"]["fingerprints"]["best"], json!(null));
    assert_eq!(cells(&short["similar"]), [1, 0, 0, 0]);
    assert_eq!(
        (&short["documents"], &short["unreliable"]),
        (&json!(2), &json!(2))
    );
}

#[test]
fn pair_is_found_from_its_distance_on_and_verify_drops_unlike_texts() {
    let folder = Folder::new();
    let edited = SHIPS.replace("nobody", "no one");
    folder.write(
        "pairs.jsonl",
        lines(&[json!({"a": SHIPS, "b": edited, "label": 1})]),
    );
    let distance = folder
        .cli(&["explain", SHIPS, &edited, "--json", "--decide", "alike"])
        .ends(0)
        .one_json();
    let distance = distance["distance"].as_u64().expect("a distance") as usize;
    assert!((1..=16).contains(&distance), "{distance}");
    let run = |edits: &str| {
        let wording = [
            "--edit-similarity",
            edits,
            "--jaccard",
            "1",
            "--decide",
            "alike",
        ];
        let line = folder.cli(&[&["calibrate", "pairs.jsonl", "--json"][..], &wording].concat());
        line.ends(0).one_json()
    };
    let line = run("0.8");
    let all = class(&line, "all");
    for way in ["fingerprints", "checked"] {
        for radius in 0..17 {
            let expected = u64::from(radius >= distance);
            assert_eq!(cells(&all[way][radius]), [expected, 0, 1 - expected, 0]);
        }
        assert_eq!(
            all["recommended"][way],
            json!({"best": distance, "precise": 16})
        );
    }
    let line = run("1");
    let all = class(&line, "all");
    assert_eq!(cells(&all["fingerprints"][16]), [1, 0, 0, 0]);
    assert_eq!(cells(&all["checked"][16]), [0, 0, 1, 0]);
    assert_eq!(cells(&all["similar"]), [0, 0, 1, 0]);
}

#[test]
fn text_paired_with_itself_is_two_documents() {
    let folder = Folder::new();
    let pair = json!({"a": SHIPS, "b": SHIPS, "label": 1});
    let reversed = json!({"a": LIFE, "b": SHIPS, "label": 0});
    let again = json!({"a": SHIPS, "b": LIFE, "label": 0});
    folder.write("pairs.jsonl", lines(&[pair.clone(), pair, reversed, again]));
    let line = folder
        .cli(&["calibrate", "pairs.jsonl", "--json"])
        .ends(0)
        .one_json();
    assert_eq!((&line["documents"], &line["pairs"]), (&json!(3), &json!(2)));
    let all = class(&line, "all");
    assert_eq!(cells(&all["fingerprints"][0]), [1, 0, 0, 1]);
    assert_eq!(cells(&all["similar"]), [1, 0, 0, 1]);
}

#[test]
fn unlisted_pairs_count_only_for_closed_sets() {
    let folder = Folder::new();
    folder.write("docs.jsonl", documents(false));
    folder.write("families.jsonl", documents(true));
    folder.write("pairs.jsonl", lines(&[json!({"a": 1, "b": 5, "label": 0})]));
    folder.write("grey.jsonl", lines(&[json!({"a": 4, "b": 3})]));
    let run = |arguments: &[&str]| {
        let line = folder.cli(&[&["calibrate", "pairs.jsonl", "--json"], arguments].concat());
        let line = line.ends(0).one_json();
        let all = class(&line, "all");
        let found = [cells(&all["fingerprints"][3]), cells(&all["similar"])];
        assert_eq!(found[0], found[1]);
        (found[0], line["unlisted"].clone())
    };
    let docs = ["--docs", "docs.jsonl"];
    assert_eq!(run(&docs), ([0, 0, 0, 1], json!(null)));
    // 1 and 2 are of one family; 3 and 4 have none.
    let closed = ["--docs", "docs.jsonl", "--closed"];
    let one = json!({"counted": 1, "ignored": 1});
    assert_eq!(run(&closed), ([0, 1, 0, 1], one));
    let none = json!({"counted": 0, "ignored": 2});
    let grey = [&closed[..], &["--grey", "grey.jsonl"]].concat();
    assert_eq!(run(&grey), ([0, 0, 0, 1], none.clone()));
    let families = ["--docs", "families.jsonl", "--closed"];
    assert_eq!(run(&families), ([0, 0, 0, 1], none));
    // Listed pairs count by their labels, whatever their families.
    folder.write("pairs.jsonl", lines(&[json!({"a": 2, "b": 1, "label": 1})]));
    assert_eq!(run(&closed).0, [1, 1, 0, 0]);
}

#[test]
fn classes_can_be_named() {
    let folder = Folder::new();
    folder.write("docs.jsonl", documents(false));
    let pair = json!({"a": 1, "b": 2, "label": 1, "kind": "mine"});
    folder.write("pairs.jsonl", lines(&[pair]));
    let arguments = [
        "calibrate",
        "pairs.jsonl",
        "--docs",
        "docs.jsonl",
        "--closed",
        "--class",
        "kind",
        "--json",
    ];
    let line = folder.cli(&arguments).ends(0).one_json();
    assert_eq!(cells(&class(&line, "mine")["similar"]), [1, 0, 0, 0]);
    // Pairs not listed have the class of their documents.
    assert_eq!(cells(&class(&line, "long")["similar"]), [0, 1, 0, 0]);
    assert_eq!(cells(&class(&line, "all")["similar"]), [1, 1, 0, 0]);
}

#[test]
fn report_states_conclusions_and_limits() {
    let folder = with_pairs();
    let said = folder.cli(&["calibrate", "pairs.jsonl"]).ends(0).stdout;
    for part in [
        "0-10: 1 pair, 1 of them near-duplicates; 100.0% of 2 documents have an unreliable",
        "all: 4 pairs, 2 of them near-duplicates; 28.6% of 7 documents",
        "radius   precision  recall      F1  checked: precision",
        "\n16          0.5000  0.5000  0.5000",
        "similar",
        "0.6667  1.0000  0.8000",
        "best F1: fingerprints alone radius 0 (F1 0.5000), with the wording check radius 0",
        "precision of at least 0.99: fingerprints alone no radius",
        "the wording check does not pay",
        "only the listed pairs are counted",
    ] {
        assert!(said.contains(part), "{part:?} is not said: {said}");
    }
    let said = folder
        .cli(&["calibrate", "pairs.jsonl", "--precision", "0.5"])
        .ends(0)
        .stdout;
    assert!(
        said.contains("at least 0.5: fingerprints alone radius 16"),
        "{said}"
    );
}

#[test]
fn pairs_are_read_compressed_and_from_standard_input() {
    let folder = with_pairs();
    let given = folder
        .cli(&["calibrate", "pairs.jsonl", "--json"])
        .ends(0)
        .stdout;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(pairs().as_bytes()).expect("compressed");
    folder.write("pairs.jsonl.gz", gzip.finish().expect("compressed"));
    let read = folder.cli(&["calibrate", "pairs.jsonl.gz", "--json"]);
    assert_eq!(read.ends(0).stdout, given);
    let read = folder.cli_from(&["calibrate", "-", "--json"], pairs().as_bytes());
    assert_eq!(read.ends(0).stdout, given);
}

#[test]
fn bad_line_is_reported_or_skipped() {
    let folder = Folder::new();
    folder.write("docs.jsonl", documents(false));
    folder.write("empty.jsonl", "\n\n");
    let docs = ["--docs", "docs.jsonl"];
    for (line, options, said) in [
        (json!({"a": "x", "b": "y"}), &[][..], "no field \"label\""),
        (
            json!({"a": "x", "b": "y", "label": 2}),
            &[],
            "0, 1, true or false",
        ),
        // The output of `simdb-cli pairs` has no labels.
        (
            json!({"a": 1, "b": 2, "distance": 0}),
            &[],
            "no field \"label\"",
        ),
        (json!({"a": 1, "b": 2, "label": 1}), &[], "--docs"),
        (
            json!({"a": null, "b": "y", "label": 1}),
            &[],
            "a string is expected",
        ),
        (json!([1, 2]), &[], "not a JSON object"),
        (
            json!({"a": SHIPS, "b": SHIPS.to_uppercase(), "label": 0}),
            &[],
            "another label",
        ),
        (
            json!({"a": 1, "b": 9, "label": 1}),
            &docs,
            "document 9 is not in docs.jsonl",
        ),
        (
            json!({"a": 1, "b": 1, "label": 1}),
            &docs,
            "paired with itself",
        ),
        (json!({"a": -1, "b": 1, "label": 1}), &docs, "is not an id"),
    ] {
        let first = match options {
            [] => json!({"a": SHIPS, "b": SHIPS.to_uppercase(), "label": 1}),
            _ => json!({"a": 1, "b": 2, "label": 1}),
        };
        folder.write("pairs.jsonl", lines(&[first, line]));
        let arguments = [&["calibrate", "pairs.jsonl", "--json"], options].concat();
        folder.cli(&arguments).fails(&["pairs.jsonl:2: ", said]);
        let skipping = [&arguments[..], &["--on-error", "skip"]].concat();
        let ran = folder.cli(&skipping).ends(0);
        assert!(ran.stderr.contains("1 bad line left out"), "{ran:?}");
        assert_eq!(ran.one_json()["pairs"], json!(1));
    }
    folder
        .cli(&["calibrate", "empty.jsonl"])
        .fails(&["empty.jsonl", "nothing in it"]);
    folder
        .cli(&["calibrate", "missing.jsonl"])
        .fails(&["missing.jsonl"]);
    folder
        .cli(&["calibrate", "pairs.jsonl", "--recipe", "weighted"])
        .fails(&["weighted", "no fingerprints of texts"]);
    let twice = json!({"id": 1, "text": "again"});
    folder.write("twice.jsonl", documents(false) + &lines(&[twice]));
    folder
        .cli(&["calibrate", "pairs.jsonl", "--docs", "twice.jsonl"])
        .fails(&["twice.jsonl:6: document 1 is there already"]);
    for arguments in [
        &["calibrate"][..],
        &["calibrate", "pairs.jsonl", "--closed"],
        &["calibrate", "pairs.jsonl", "--precision", "2"],
    ] {
        assert_eq!(folder.cli(arguments).ends(2).stdout, "", "{arguments:?}");
    }
}

#[test]
fn picture_is_well_formed_and_names_its_curves() {
    let folder = with_pairs();
    folder
        .cli(&["calibrate", "pairs.jsonl", "--svg", "curves.svg"])
        .ends(0);
    let svg = folder.read("curves.svg");
    assert!(svg.starts_with("<svg "), "{svg}");
    assert_eq!(open_tags(&svg), Vec::<&str>::new());
    for part in [
        "0-10: 1 pair, 1 near-duplicates",
        "30-100: 3 pairs",
        "all: 4 pairs, 2 near-duplicates",
        "precision, fingerprints",
        "recall, with wording",
        "F1, similar",
        "radius",
    ] {
        assert!(svg.contains(part), "{part:?} is not there");
    }
    // The temporary file of the picture is gone.
    assert_eq!(folder.names(), ["curves.svg", "pairs.jsonl"]);
    folder
        .cli(&["calibrate", "pairs.jsonl", "--svg", "missing/curves.svg"])
        .fails(&["cannot write missing/curves.svg"]);
}

/// The tags left open at the end of a document, or the first tag closed without being open.
fn open_tags(xml: &str) -> Vec<&str> {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('&') || text.contains(';'), "{text}");
        let word = tag.split_whitespace().next().unwrap_or_default();
        if let Some(closed) = word.strip_prefix('/') {
            if open.pop() != Some(closed) {
                return vec![closed];
            }
        } else if !tag.ends_with('/') && !word.starts_with('?') && !word.starts_with('!') {
            open.push(word);
        }
    }
    open
}

/// Thousands of similar texts take seconds to compare.
#[cfg(unix)]
#[test]
fn interrupted_calibration_leaves_no_temporary_folder() {
    let folder = Folder::new();
    let line = |id: u32| {
        let text = format!("One of very many texts that differ in a number, which is {id} here.");
        json!({"id": id, "text": text}).to_string() + "\n"
    };
    folder.write("docs.jsonl", (0..20_000).map(line).collect::<String>());
    folder.write("pairs.jsonl", "{\"a\":0,\"b\":1,\"label\":1}\n");
    let child = folder
        .command("simdb-cli")
        .args([
            "calibrate",
            "pairs.jsonl",
            "--docs",
            "docs.jsonl",
            "--closed",
        ])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    folder.wait_for(|name| name.starts_with(".tmp"));
    stop(child, "-INT").fails(&["interrupted"]);
    assert_eq!(folder.names(), ["docs.jsonl", "pairs.jsonl"]);
}
