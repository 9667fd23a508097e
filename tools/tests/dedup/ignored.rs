//! `simdb-cli dedup --ignore-repeated-paragraphs`, and the proof of its report.

use serde_json::{Value, json};

use super::{FOX, dedup, folder_with};
use crate::common::Folder;

const NAV: &str = "Home | Products | Service | Blog | Contact | Log in | Basket with nothing in it";
const END: &str = "Subscribe to our newsletter and never miss an offer of kitchen devices again.";
const SHIPS: &str =
    "Of ships and shoes and sealing wax, of cabbages and kings, and why the sea is hot.";
const PRINT: &str = "Printed view of this page, without the pictures and the comments of readers.";

/// Records of these paragraphs, with ids from 1.
fn records(documents: &[&[&str]]) -> String {
    let line = |(id, paragraphs): (u64, &&[&str])| {
        format!("{}\n", json!({"id": id, "text": paragraphs.join("\n\n")}))
    };
    (1..).zip(documents).map(line).collect()
}

/// The ids that stay. The report is proved.
fn kept(folder: &Folder, options: &[&str]) -> Vec<u64> {
    let arguments = ["a.jsonl", "-o", "o.jsonl", "--report", "r.jsonl", "--force"];
    dedup(folder, &[&arguments[..], options].concat()).ends(0);
    let proved = folder.cli(&["check-report", "r.jsonl", "a.jsonl"]);
    assert!(proved.ends(0).stdout.starts_with("proved"));
    let output = folder.read("o.jsonl");
    let input = folder.read("a.jsonl");
    // Kept documents are copied as they are.
    assert!(output.lines().all(|line| input.contains(line)));
    let id = |line: &Value| line["id"].as_u64().unwrap();
    folder.read_json("o.jsonl").iter().map(id).collect()
}

const IGNORE: &str = "--ignore-repeated-paragraphs";
const THREE: [&str; 1] = ["--ignore-repeated-paragraphs=3"];

#[test]
fn bodies_within_other_boilerplate_are_compared() {
    let print = FOX.to_uppercase();
    let folder = folder_with(
        "a.jsonl",
        &records(&[
            &[NAV, FOX, END],
            &[NAV, SHIPS, END],
            &[&print],
            &[
                NAV,
                "A third page about nothing in particular, long enough to be compared.",
                END,
            ],
        ]),
    );
    assert_eq!(kept(&folder, &[]), [1, 2, 3, 4]);
    assert_eq!(kept(&folder, &[IGNORE]), [1, 2, 3, 4]);
    assert_eq!(kept(&folder, &THREE), [1, 2, 4]);
    assert_eq!(
        kept(&folder, &[&THREE[..], &["--keep", "longest"]].concat()),
        [1, 2, 4]
    );
}

#[test]
fn document_of_repeated_paragraphs_is_compared_whole() {
    let fox: &[&str] = &[NAV, FOX, END];
    let ships: &[&str] = &[NAV, SHIPS, END];
    // Each paragraph is in three documents, so no other paragraph is left in any.
    let folder = folder_with("a.jsonl", &records(&[fox, ships, fox, ships, fox, ships]));
    assert_eq!(kept(&folder, &THREE), [1, 2]);
}

#[test]
fn document_stays_for_paragraph_that_no_kept_document_has() {
    let others = [
        "The weather on the day of the harvest was better than in all the years before.",
        "An electrician repairs radios in a garage beside the mill and likes the work.",
    ];
    let bodies = [FOX, SHIPS].map(|body| [PRINT, others[0], others[1]].map(|other| [body, other]));
    let documents: Vec<&[&str]> = bodies.iter().flatten().map(|each| &each[..]).collect();
    let folder = folder_with("a.jsonl", &records(&documents));
    // Both bodies are in three documents. What is compared of documents 4 to 6 is said by 1 to 3,
    // and the body of 4 is in no kept document but 4.
    assert_eq!(kept(&folder, &THREE), [1, 2, 3, 4]);
    let arguments = ["a.jsonl", "-o", "p.jsonl", "--json"];
    let summary = dedup(&folder, &[&arguments[..], &THREE].concat())
        .ends(0)
        .one_json();
    for (name, expected) in [
        ("removed", 2),
        ("restored", 1),
        ("ignored", 2),
        ("clusters", 2),
        ("largest", 2),
    ] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }

    // A report that removes document 4 too is not proved.
    let mut report = folder.read_json("r.jsonl");
    let mut lost = report[0].clone();
    for (field, value) in [("id", 4), ("line", 4), ("keeper", 1), ("keeper_line", 1)] {
        lost[field] = json!(value);
    }
    report.push(lost);
    let lines: Vec<String> = report.iter().map(Value::to_string).collect();
    folder.write("bad.jsonl", lines.join("\n"));
    let ran = folder
        .cli(&["check-report", "bad.jsonl", "a.jsonl"])
        .ends(1);
    let lost = "a paragraph that was not compared is in no document that is kept";
    assert_eq!(ran.stdout.matches(lost).count(), 3, "{ran:?}");
}

#[test]
fn wrong_threshold_and_lost_paragraph_are_not_proved() {
    let folder = folder_with(
        "a.jsonl",
        &records(&[
            &[NAV, FOX],
            &[
                END,
                "The quick brown fox jumps over the lazy dog near the river bank this morning",
            ],
            &[NAV, END, SHIPS],
            &[
                NAV,
                END,
                "A third page about nothing in particular, long enough to be compared.",
            ],
        ]),
    );
    assert_eq!(kept(&folder, &THREE), [1, 3, 4]);
    let line = folder.read_json("r.jsonl").remove(0);
    assert_eq!(
        (&line["in_documents"], &line["verdict"]),
        (&json!(3), &json!("same"))
    );
    let reason = |line: &Value, code: i32| {
        folder.write("bad.jsonl", line.to_string());
        let ran = folder.cli(&["check-report", "bad.jsonl", "a.jsonl"]);
        ran.ends(code).stdout
    };
    let mut other = line.clone();
    other["in_documents"] = json!(4);
    assert!(reason(&other, 1).contains("has changed since"));
    let mut whole = line.clone();
    whole.as_object_mut().unwrap().remove("in_documents");
    assert!(reason(&whole, 1).contains("has changed since"));
    for bad in [json!(1), json!("3"), json!(null)] {
        other["in_documents"] = bad;
        folder.write("bad.jsonl", other.to_string());
        folder
            .cli(&["check-report", "bad.jsonl", "a.jsonl"])
            .fails(&["\"in_documents\" is no integer above 1"]);
    }
    folder.write("bad.jsonl", format!("{line}\n{whole}\n"));
    folder
        .cli(&["check-report", "bad.jsonl", "a.jsonl"])
        .fails(&["they are of two reports"]);
}

#[test]
fn report_of_standard_input_is_proved_from_standard_input() {
    let folder = Folder::new();
    let input = records(&[&[NAV, FOX], &[NAV, SHIPS], &[NAV, &FOX.to_uppercase()]]);
    let arguments = [
        "dedup", "-", "-o", "o.jsonl", "--report", "r.jsonl", "--json",
    ];
    let arguments = [&arguments[..], &THREE].concat();
    let ran = folder.cli_from(&arguments, input.as_bytes()).ends(0);
    assert_eq!(ran.one_json()["removed"], 1);
    let check = ["check-report", "r.jsonl", "-", "--json"];
    let counts = folder.cli_from(&check, input.as_bytes()).ends(0).one_json();
    assert_eq!(
        counts,
        json!({"ok": true, "lines": 1, "unproved": 0, "in_documents": 3, "forgiven": []})
    );
}

#[test]
fn combinations_that_cannot_be_proved_are_refused() {
    let folder = folder_with("a.jsonl", &records(&[&[FOX], &[FOX], &[SHIPS]]));
    for (options, said) in [
        (&["--radius", "3"][..], "needs the comparison of texts"),
        (&["--against", "x.simdb"], "cannot be used with"),
        (&["--within", "site"], "cannot be used with"),
        (&["--clusters", "c.jsonl"], "cannot be used with"),
    ] {
        let arguments = [&["a.jsonl", "-o", "o.jsonl", IGNORE], options].concat();
        dedup(&folder, &arguments).fails(&[said]);
    }
    let twice = folder.read("a.jsonl").repeat(2);
    folder.write("b.jsonl", twice);
    for (more, said) in [
        (&[][..], "have the id of an earlier record"),
        (&["--no-id"], ""),
    ] {
        let arguments = [&["b.jsonl", "-o", "o.jsonl", IGNORE, "--force"], more].concat();
        let ran = dedup(&folder, &arguments).ends(0);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(folder.read_json("o.jsonl").len(), 2);
    }
}
