//! The report of `simdb-cli dedup`, and `simdb-cli check-report`.

use serde_json::{Value, json};

use super::{dedup, folder_with};
use crate::common::{Folder, TEXTS};

fn check(folder: &Folder, arguments: &[&str], code: i32) -> Vec<Value> {
    let all = [&["check-report"], arguments, &["--json"]].concat();
    folder.cli(&all).ends(code).json()
}

/// The reason why the only line that does not hold does not.
#[track_caller]
fn reason(folder: &Folder, arguments: &[&str]) -> String {
    let lines = check(folder, arguments, 1);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[1]["unproved"], 1);
    lines[0]["reason"].as_str().unwrap().to_owned()
}

/// A report of one line about document 2 of [`TEXTS`], which document 1 says.
fn reported() -> (Folder, Value) {
    let folder = folder_with("a.jsonl", TEXTS);
    dedup(
        &folder,
        &["a.jsonl", "-o", "o.jsonl", "--report", "gone.jsonl"],
    )
    .ends(0);
    let line = folder.read_json("gone.jsonl").remove(0);
    (folder, line)
}

#[test]
fn report_of_a_file_that_is_given_twice_is_refused() {
    let folder = folder_with("a.jsonl", TEXTS);
    let twice = ["a.jsonl", "./a.jsonl", "-o", "out.jsonl"];
    dedup(&folder, &[&twice[..], &["--report", "gone.jsonl"]].concat()).fails(&["given twice"]);
    dedup(&folder, &twice).ends(0);
}

#[test]
fn report_is_proved_from_inputs_that_moved() {
    let (folder, line) = reported();
    assert_eq!(line["verdict"], "same");
    assert_eq!(
        [&line["keeper_file"], &line["keeper_line"]],
        [&json!("a.jsonl"), &json!(1)]
    );
    let proved = json!({"ok": true, "lines": 1, "unproved": 0, "forgiven": []});
    assert_eq!(
        check(&folder, &["gone.jsonl", "a.jsonl"], 0),
        std::slice::from_ref(&proved)
    );
    std::fs::create_dir(folder.file("b")).unwrap();
    std::fs::rename(folder.file("a.jsonl"), folder.file("b/a.jsonl")).unwrap();
    assert_eq!(check(&folder, &["gone.jsonl", "b/a.jsonl"], 0), [proved]);
    folder.write("none.jsonl", "");
    let none = check(&folder, &["none.jsonl", "b/a.jsonl"], 0);
    assert_eq!(
        none,
        [json!({"ok": true, "lines": 0, "unproved": 0, "forgiven": []})]
    );
}

#[test]
fn changed_text_of_either_document_is_noticed() {
    let (folder, _) = reported();
    for (old, new, whose) in [
        (
            "the quick  brown",
            "the quick brown",
            "its text has changed",
        ),
        (
            "\"The quick",
            "\"A quick",
            "the text of its keeper has changed",
        ),
    ] {
        assert!(TEXTS.contains(old));
        folder.write("a.jsonl", TEXTS.replace(old, new));
        let reason = reason(&folder, &["gone.jsonl", "a.jsonl"]);
        assert!(reason.contains(whose), "{reason}");
    }
}

#[test]
fn wrong_verdict_words_weights_or_id_are_noticed() {
    let (folder, line) = reported();
    for (field, value, said) in [
        (
            "verdict",
            json!("a_in_b"),
            "verdict is \"same\", not \"a_in_b\"",
        ),
        ("verdict", json!(null), "no verdict"),
        ("missing", json!([["fox", 2.5]]), "missing words are []"),
        ("weights", json!("mine 00"), "weights mine 00"),
        ("id", json!(3), "a.jsonl:2 is document 2, not 3"),
        (
            "line",
            json!(99),
            "its text is missing: a.jsonl:99: it is no document",
        ),
        (
            "keeper_line",
            json!(3),
            "its keeper is missing: a.jsonl:3 is document 3",
        ),
        (
            "keeper_file",
            json!(null),
            "its keeper is not in the inputs",
        ),
    ] {
        let mut line = line.clone();
        line[field] = value;
        folder.write("bad.jsonl", line.to_string());
        let reason = reason(&folder, &["bad.jsonl", "a.jsonl"]);
        assert!(reason.contains(said), "{field}: {reason}");
    }
}

#[test]
fn keeper_that_does_not_cover_text_is_noticed() {
    let (folder, mut line) = reported();
    // A line that is true in all but the keeper: another document of the corpus.
    line["keeper"] = json!(4);
    line["keeper_line"] = json!(4);
    line["keeper_hash"] = json!("0");
    folder.write("bad.jsonl", line.to_string());
    assert!(reason(&folder, &["bad.jsonl", "a.jsonl"]).contains("has changed"));

    // Fingerprints alone remove a text with another name; the report admits it.
    let text = |name| {
        format!(
            "Wind data and the wind rose of the weather station at {name} pier in the north sea area for one year"
        )
    };
    let lines = ["Alpha", "Omega"].map(text).join("\n");
    folder.write("n.txt", lines);
    let radius = ["--radius", "24"];
    let arguments = ["n.txt", "-o", "o.txt", "--report", "n.report"];
    dedup(&folder, &[&arguments[..], &radius].concat()).ends(0);
    let line = folder.read_json("n.report").remove(0);
    assert_eq!(
        (&line["verdict"], &line["missing"][0][0]),
        (&json!("template"), &json!("omega"))
    );
    let reason = reason(&folder, &["n.report", "n.txt"]);
    assert!(reason.contains("document 1, does not cover"), "{reason}");
}

#[test]
fn removed_keeper_and_text_removed_twice_are_noticed() {
    let (folder, line) = reported();
    let mut swapped = line.clone();
    for (one, other) in [
        ("id", "keeper"),
        ("line", "keeper_line"),
        ("text_hash", "keeper_hash"),
    ] {
        swapped[one] = line[other].clone();
        swapped[other] = line[one].clone();
    }
    folder.write("bad.jsonl", format!("{line}\n{swapped}\n{line}\n"));
    let lines = check(&folder, &["bad.jsonl", "a.jsonl"], 1);
    let reasons: Vec<_> = lines
        .iter()
        .filter_map(|line| line["reason"].as_str())
        .collect();
    assert_eq!(
        reasons,
        [
            "its keeper, document 1, is removed too",
            "its keeper, document 2, is removed too",
            "an earlier line removes the same record",
        ]
    );
    let text = folder
        .cli(&["check-report", "bad.jsonl", "a.jsonl"])
        .ends(1);
    assert!(
        text.stdout.contains("bad.jsonl:1: document 2: its keeper"),
        "{text:?}"
    );
    assert!(
        text.stdout.ends_with("not proved  3 of 3 removals\n"),
        "{text:?}"
    );
}

#[test]
fn foreign_file_is_no_report() {
    let (folder, line) = reported();
    let check = |report: &str| folder.cli(&["check-report", report, "a.jsonl"]);
    check("a.jsonl").fails(&["a.jsonl:1", "no line of dedup --report"]);
    let mut old = line.clone();
    old.as_object_mut().unwrap().remove("verdict");
    folder.write("old.jsonl", old.to_string());
    check("old.jsonl").fails(&["old.jsonl:1", "has no verdict"]);
    let mut other = line;
    other["file"] = json!("other.jsonl");
    folder.write("other.report", other.to_string());
    check("other.report").fails(&["names other.jsonl", "not one of the inputs"]);
    check("missing.jsonl").fails(&["missing.jsonl"]);
}

#[test]
fn keeper_in_database_is_proved_with_against() {
    let folder = folder_with("a.jsonl", TEXTS);
    folder
        .load(&["all.simdb", "a.jsonl", "--keep-texts"])
        .ends(0);
    folder.write(
        "b.jsonl",
        TEXTS
            .lines()
            .nth(1)
            .unwrap()
            .replace("\"id\":2", "\"id\":9"),
    );
    let arguments = [
        "b.jsonl",
        "-o",
        "o.jsonl",
        "--report",
        "gone.jsonl",
        "--against",
        "all.simdb",
    ];
    dedup(&folder, &arguments).ends(0);
    assert_eq!(folder.read_json("gone.jsonl")[0]["verdict"], "same");
    check(
        &folder,
        &["gone.jsonl", "b.jsonl", "--against", "all.simdb"],
        0,
    );
    folder
        .cli(&["check-report", "gone.jsonl", "b.jsonl"])
        .fails(&["name the database with --against"]);
    let wrong = [
        "gone.jsonl",
        "b.jsonl",
        "--against",
        "all.simdb",
        "--text",
        "nope",
    ];
    assert!(reason(&folder, &wrong).contains("there is no field \"nope\""));
}
