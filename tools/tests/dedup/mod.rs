//! `simdb-cli dedup`: output, exit codes, errors.

mod around;
mod certified;
mod columns;
mod corpora;
mod frames;
mod given;
mod ignored;
mod quoted;
mod resumed;
mod scope;
mod with_copies;

use std::io::{Read, Write};

use crate::common::{Folder, Ran, TEXTS, stop};
#[cfg(unix)]
use crate::common::{PATIENCE, in_thread};
use serde_json::{Value, json};

const FOX: &str = "The quick brown fox jumps over the lazy dog near the river bank this morning.";

fn dedup(folder: &Folder, arguments: &[&str]) -> Ran {
    folder.cli(&[&["dedup"], arguments].concat())
}

fn folder_with(name: &str, content: &str) -> Folder {
    let folder = Folder::new();
    folder.write(name, content);
    folder
}

/// The first text covers the third, the longest, and may stay in its place. The second text covers
/// the first, so the first text is in the star of the second.
#[test]
fn second_run_removes_nothing() {
    let ferry = "The ferry to the islands was cancelled because of fog.";
    let texts = [
        ferry.to_owned(),
        format!("{ferry} It sails again on Monday."),
        format!("{ferry}\nAll rights reserved. Share on Facebook."),
    ];
    let lines = (1..).zip(&texts);
    let lines = lines.map(|(id, text)| json!({"id": id, "text": text}).to_string() + "\n");
    let folder = folder_with("all.jsonl", &lines.collect::<String>());
    dedup(&folder, &["all.jsonl", "-o", "once.jsonl"]).ends(0);
    dedup(&folder, &["once.jsonl", "-o", "twice.jsonl"]).ends(0);
    assert!(folder.read_json("once.jsonl").len() < texts.len());
    assert_eq!(folder.read("once.jsonl"), folder.read("twice.jsonl"));
}

/// The lines of a text that begin with one of these prefixes.
fn lines_with(text: &str, starts: &[&str]) -> String {
    let kept = text
        .split_inclusive('\n')
        .filter(|line| starts.iter().any(|start| line.starts_with(start)));
    kept.collect()
}

#[test]
fn kept_records_are_copied_exactly_and_others_reported() {
    // Blank lines, odd spacing and unused fields are copied.
    let odd = TEXTS.replace("{\"id\":3,", "\n  { \"x\" : [1, 2.50],\t\"id\":3,");
    let folder = folder_with("a.jsonl", &odd);
    let arguments = [
        "a.jsonl",
        "-o",
        "out.jsonl",
        "--report",
        "gone.jsonl",
        "--json",
    ];
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    for (name, expected) in [
        ("read", 4),
        ("kept", 3),
        ("removed", 1),
        ("identical", 0),
        ("near", 1),
        ("against", 0),
        ("rejected", 0),
        ("unreliable", 0),
        ("clusters", 1),
        ("largest", 2),
        ("added", 0),
    ] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    // The blank line after document 2 is removed with the document.
    let expected = odd.replace("\n\n", "\n");
    let expected = lines_with(&expected, &["{\"id\":1", "  {", "{\"id\":4"]);
    assert_eq!(folder.read("out.jsonl"), expected);
    let report = folder.read_json("gone.jsonl");
    assert_eq!(report.len(), 1);
    assert_eq!(
        report[0],
        json!({"id": 2, "keeper": 1, "distance": report[0]["distance"], "cluster": 1,
            "against": false, "file": "a.jsonl", "line": 2, "verdict": "same", "missing": [],
            "forgiven": [],
            "text_hash": report[0]["text_hash"], "keeper_hash": report[0]["keeper_hash"],
            "weights": report[0]["weights"], "keeper_file": "a.jsonl", "keeper_line": 1})
    );
    assert_eq!(folder.names(), ["a.jsonl", "gone.jsonl", "out.jsonl"]);
    let table = dedup(&folder, &["a.jsonl", "-o", "again.jsonl"]).ends(0);
    assert!(table.stdout.contains("removed"), "{}", table.stdout);
}

#[test]
fn mark_writes_all_records_with_two_more_fields() {
    let folder = folder_with("a.jsonl", TEXTS);
    dedup(&folder, &["a.jsonl", "-o", "out.jsonl", "--mark"]).ends(0);
    let marked = folder.read_json("out.jsonl");
    let original = folder.read_json("a.jsonl");
    assert_eq!(marked.len(), 4);
    for (mut line, original) in marked.into_iter().zip(original) {
        let fields = line.as_object_mut().unwrap();
        let marks = [fields.remove("keeper"), fields.remove("distance")].map(Option::unwrap);
        if original["id"] == 2 {
            assert!(marks[0] == 1 && marks[1].as_u64() <= Some(3))
        } else {
            assert_eq!(marks, [Value::Null, Value::Null])
        }
        assert_eq!(line, original);
    }
    folder.write(
        "b.jsonl",
        TEXTS.replace("\"text\"", "\"keeper\":7,\"text\""),
    );
    dedup(&folder, &["b.jsonl", "-o", "b2.jsonl", "--mark"])
        .fails(&["there is a field \"keeper\" already", "b.jsonl"]);
    let renamed = ["b.jsonl", "-o", "b2.jsonl", "--mark=kept_for,distance"];
    dedup(&folder, &renamed).ends(0);
    assert_eq!(folder.read_json("b2.jsonl")[1]["kept_for"], 1);
    assert_eq!(folder.read_json("b2.jsonl")[1]["keeper"], 7);
}

#[test]
fn csv_keeps_quotes_line_ends_and_columns() {
    let table = format!(
        "\u{feff}id,\"text\",note\r\n1,\"{FOX}\",\"two\r\nlines\"\r\n\r\n2,{},x\r\n7,Something else \
         entirely: of ships and shoes and sealing wax and of cabbages and kings,",
        FOX.to_lowercase().replace(' ', "  ")
    );
    let folder = folder_with("a.csv", &table);
    dedup(&folder, &["a.csv", "-o", "out.csv"]).ends(0);
    let start = table.find("2,the").unwrap();
    let end = table.find("7,Some").unwrap();
    let expected = [&table[..start], &table[end..]].concat();
    assert_eq!(folder.read("out.csv"), expected);

    // A second input with the same columns follows without a header line.
    folder.write("b.csv", "id,\"text\",note\n9,Four score and seven years ago our fathers brought forth on this continent,z\n");
    dedup(&folder, &["a.csv", "b.csv", "-o", "two.csv"]).ends(0);
    let both = folder.read("two.csv");
    assert!(
        both.starts_with(&expected) && both.contains("kings,\n9,Four"),
        "{both}"
    );
    assert_eq!(both.matches("note").count(), 1);
    folder.write(
        "c.csv",
        "text,id,note\nFour score and seven years ago our fathers brought,9,z\n",
    );
    dedup(&folder, &["a.csv", "c.csv", "-o", "three.csv"]).fails(&["columns", "c.csv"]);

    dedup(&folder, &["a.csv", "-o", "marked.csv", "--mark"]).ends(0);
    let marked = folder.read("marked.csv");
    let lines: Vec<&str> = marked.split("\r\n").collect();
    assert_eq!(lines[0], "\u{feff}id,\"text\",note,keeper,distance");
    assert_eq!(lines[2], "lines\",,");
    assert!(
        lines[4].starts_with("2,the") && lines[4].contains(",x,1,"),
        "{marked}"
    );
    assert!(marked.ends_with("kings,,,"), "{marked}");
    dedup(&folder, &["marked.csv", "-o", "again.csv", "--mark"]).fails(&["\"keeper\" already"]);
}

#[test]
fn columns_of_all_inputs_are_checked_before_the_first_record() {
    let folder = folder_with("a.csv", "id,text\n1,a bad record,with a comma\n");
    folder.write("a.jsonl", "no json\n");
    folder.write("b.csv", "id,text,note\n2,a text,x\n");
    folder.write(
        "b.jsonl",
        "\n{\"id\":2,\"text\":\"a text\",\"distance\":1}\n",
    );
    let columns = "its columns differ from the columns of a.csv";
    for (inputs, option, said) in [
        (["a.csv", "b.csv"], "--keep=first", columns),
        (["a.csv", "b.csv"], "--mark=keeper,note", "\"note\" already"),
        (["a.csv", "b.csv"], "--text=note", "no column \"note\""),
        (["a.jsonl", "b.jsonl"], "--mark", "\"distance\" already"),
    ] {
        let arguments = [&inputs[..], &["-o", "out", option]].concat();
        let ran = dedup(&folder, &arguments).fails(&[said]);
        assert!(!ran.stderr.contains(":2: there are"), "{}", ran.stderr);
        assert!(!folder.names().contains(&"out".to_owned()));
    }
    // The same columns in quotation marks.
    folder.write("c.csv", "id,\"text\"\n3,a text\n");
    folder.write("d.csv", "\"id\",text\r\n4,another one\n");
    dedup(&folder, &["c.csv", "d.csv", "-o", "out.csv"]).ends(0);
    let expected = "id,\"text\"\n3,a text\n4,another one\n";
    assert_eq!(folder.read("out.csv"), expected);
    let cut = ["cut", "a.csv", "b.csv", "-o", "out", "--lines"];
    folder.cli(&cut).fails(&["b.csv", columns]);
}

#[test]
fn row_with_other_number_of_fields_is_no_good_row_after_marks() {
    let rows = [
        "1,a text",
        "2,a text, with commas, two",
        "3",
        "4,other words",
    ];
    let folder = folder_with("a.csv", &format!("id,text\n{}\n", rows.join("\n")));
    let mark = ["a.csv", "-o", "out.csv", "--mark"];
    dedup(&folder, &mark).fails(&["a.csv:3: there are 4 fields under 2 column names"]);
    assert_eq!(folder.names(), ["a.csv"]);
    dedup(&folder, &[&mark[..], &["--on-error", "keep"]].concat()).ends(0);
    let marked: String = rows.map(|row| format!("{row},,\n")).concat();
    assert_eq!(
        folder.read("out.csv"),
        format!("id,text,keeper,distance\n{marked}")
    );
}

#[test]
fn longest_or_oldest_is_kept_on_request() {
    let line = |id: u64, end: &str, day: u64| {
        let line = json!({"id": id, "text": format!("{FOX}{end}"), "day": 1_700_000_000 - day});
        format!("{line}\n")
    };
    let text = [line(1, "", 1), line(2, "!!!", 2), line(3, "!", 3)].concat();
    let folder = folder_with("a.jsonl", &text);
    for (keep, kept) in [("first", 1), ("longest", 2), ("oldest", 3)] {
        let output = format!("{keep}.jsonl");
        let mut arguments = vec!["a.jsonl", "-o", &output, "--keep", keep];
        if keep == "oldest" {
            arguments.extend(["--time", "day"]);
        }
        dedup(&folder, &arguments).ends(0);
        assert_eq!(
            folder.read(&output),
            lines_with(&text, &[&format!("{{\"id\":{kept},")])
        );
    }
    dedup(&folder, &["a.jsonl", "-o", "x.jsonl", "--keep", "oldest"]).fails(&["--time"]);
}

#[test]
fn highest_score_is_kept_without_ids() {
    let line = |votes: &str, end: &str| format!("{{\"votes\":{votes},\"text\":\"{FOX}{end}\"}}\n");
    let text = [line("-2", ""), line("10.5", "!"), line("\"9\"", "!!")].concat();
    let folder = folder_with("a.jsonl", &text);
    let arguments = [
        "a.jsonl",
        "-o",
        "out.jsonl",
        "--no-id",
        "--score",
        "votes",
        "--report",
        "gone",
    ];
    dedup(&folder, &arguments).ends(0);
    assert_eq!(folder.read("out.jsonl"), line("10.5", "!"));
    let gone = folder.read_json("gone");
    let reported: Vec<&Value> = gone
        .iter()
        .flat_map(|line| [&line["id"], &line["keeper"], &line["cluster"]])
        .collect();
    assert_eq!(reported, [1, 2, 1, 3, 2, 1]);

    folder.write("a.csv", format!("votes,text\n1,{FOX}\n7,{FOX}\n"));
    let arguments = [
        "a.csv", "a.csv", "-o", "out.csv", "--no-id", "--score", "votes", "--mark",
    ];
    dedup(&folder, &arguments).ends(0);
    let expected =
        format!("votes,text,keeper,distance\n1,{FOX},2,0\n7,{FOX},,\n1,{FOX},2,0\n7,{FOX},2,0\n");
    assert_eq!(folder.read("out.csv"), expected);

    folder.write("b.jsonl", line("\"many\"", ""));
    let arguments = [
        "b.jsonl",
        "-o",
        "b.out.jsonl",
        "--no-id",
        "--score",
        "votes",
    ];
    dedup(&folder, &arguments).fails(&["b.jsonl:1", "\"votes\"", "is not a number"]);
    dedup(
        &folder,
        &["b.jsonl", "-o", "b.out.jsonl", "--score", "text"],
    )
    .fails(&["--score"]);
    dedup(
        &folder,
        &["b.jsonl", "-o", "b.out.jsonl", "--score", "votes"],
    )
    .fails(&["there is no field \"id\""]);
}

#[test]
fn integer_scores_are_compared_exactly() {
    // As doubles all of these would be equal.
    let votes = [
        "1700000000000000001",
        "1700000000000000099",
        "1700000000000000098",
    ];
    let record = |votes: &str| format!("{{\"votes\":{votes},\"text\":\"{FOX}\"}}\n");
    let folder = folder_with("a.jsonl", &votes.map(record).concat());
    let options = ["--no-id", "--score", "votes"];
    dedup(
        &folder,
        &[&["a.jsonl", "-o", "out.jsonl"], &options[..]].concat(),
    )
    .ends(0);
    assert_eq!(folder.read("out.jsonl"), record(votes[1]));
    let row = |votes: &str| format!("{votes},{FOX}\n");
    folder.write("a.csv", format!("votes,text\n{}", votes.map(row).concat()));
    dedup(
        &folder,
        &[&["a.csv", "-o", "out.csv"], &options[..]].concat(),
    )
    .ends(0);
    assert_eq!(
        folder.read("out.csv"),
        format!("votes,text\n{}", row(votes[1]))
    );
}

#[test]
fn compressed_corpus_and_pipe_are_read_and_written() {
    let folder = Folder::new();
    let file = std::fs::File::create(folder.file("a.jsonl.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, Default::default());
    gzip.write_all(TEXTS.as_bytes()).unwrap();
    gzip.finish().unwrap();
    let expected = lines_with(TEXTS, &["{\"id\":1", "{\"id\":3", "{\"id\":4"]);

    dedup(&folder, &["a.jsonl.gz", "-o", "b.jsonl.gz"]).ends(0);
    let mut unpacked = String::new();
    let file = std::fs::File::open(folder.file("b.jsonl.gz")).unwrap();
    let mut gzip = flate2::read::GzDecoder::new(file);
    gzip.read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, expected);

    dedup(&folder, &["a.jsonl.gz", "-o", "c.jsonl.zst"]).ends(0);
    let file = std::fs::File::open(folder.file("c.jsonl.zst")).unwrap();
    assert_eq!(zstd::decode_all(file).unwrap(), expected.as_bytes());

    let arguments = ["dedup", "-", "-o", "d.jsonl", "--report", "d.report"];
    folder.cli_from(&arguments, TEXTS.as_bytes()).ends(0);
    assert_eq!(folder.read("d.jsonl"), expected);
    assert_eq!(folder.read_json("d.report")[0]["file"], "<stdin>");
    let names = [
        "a.jsonl.gz",
        "b.jsonl.gz",
        "c.jsonl.zst",
        "d.jsonl",
        "d.report",
    ];
    assert_eq!(folder.names(), names);
}

#[test]
fn plain_lines_are_identified_by_number() {
    let text = format!(
        "{FOX}\n\nSomething else entirely, of ships and shoes.\n{}",
        FOX.to_uppercase()
    );
    let folder = folder_with("a.txt", &text);
    folder.write("b.txt", format!("{FOX}\n"));
    dedup(
        &folder,
        &[
            "a.txt",
            "b.txt",
            "-o",
            "out.txt",
            "--report",
            "gone",
            "--first-id",
            "10",
        ],
    )
    .ends(0);
    assert_eq!(
        folder.read("out.txt"),
        text.rsplit_once('\n').unwrap().0.to_owned() + "\n"
    );
    let gone = folder.read_json("gone");
    let ids: Vec<&Value> = gone
        .iter()
        .flat_map(|line| [&line["id"], &line["keeper"], &line["line"]])
        .collect();
    assert_eq!(ids, [13, 10, 4, 14, 10, 1]);
    dedup(&folder, &["a.txt", "-o", "x.txt", "--mark"]).fails(&["plain lines have no fields"]);
}

#[test]
fn bad_record_aborts_or_is_skipped_and_reported() {
    let bad = format!(
        "{TEXTS}{{\"id\":\"x\",\"text\":\"a\"}}\n{{\"id\":9,\"text\":[\"A list is a bad text.\"]}}\nnone\n"
    );
    let folder = folder_with("a.jsonl", &bad);
    dedup(&folder, &["a.jsonl", "-o", "out.jsonl"]).fails(&["a.jsonl:5", "nothing was changed"]);
    assert_eq!(folder.names(), ["a.jsonl"]);
    let arguments = [
        "a.jsonl",
        "-o",
        "out.jsonl",
        "--on-error",
        "skip",
        "--rejects",
        "bad.jsonl",
        "--json",
    ];
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    let counts = ["read", "kept", "removed", "rejected"].map(|name| summary[name].clone());
    assert_eq!(counts, [7, 3, 1, 3]);
    assert_eq!(
        folder.read("out.jsonl"),
        lines_with(TEXTS, &["{\"id\":1", "{\"id\":3", "{\"id\":4"])
    );
    let rejects = folder.read_json("bad.jsonl");
    let mut lines: Vec<u64> = rejects
        .iter()
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [5, 6, 7]);
}

#[test]
fn repeated_record_is_duplicate_of_first_by_its_text() {
    let twice = [TEXTS, TEXTS].concat();
    let folder = folder_with("a.jsonl", &twice);
    let arguments = [
        "a.jsonl",
        "-o",
        "out.jsonl",
        "--json",
        "--report",
        "gone.jsonl",
    ];
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    let counts = ["read", "kept", "removed", "identical", "near"].map(|name| summary[name].clone());
    assert_eq!(counts, [8, 3, 5, 3, 2]);
    assert_eq!(
        folder.read("out.jsonl"),
        lines_with(TEXTS, &["{\"id\":1", "{\"id\":3", "{\"id\":4"])
    );
    let gone = folder.read_json("gone.jsonl");
    let gone: Vec<&Value> = gone
        .iter()
        .flat_map(|line| [&line["id"], &line["keeper"]])
        .collect();
    assert_eq!(gone, [2, 1, 5, 1, 6, 1, 7, 3, 8, 4]);
}

#[test]
fn uninformative_records_are_copies_by_their_texts_only() {
    let line = |id: u64, text| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let text = [line(1, "hello"), line(2, "Hello!"), line(3, "hello")].concat();
    let folder = folder_with("a.jsonl", &text);
    for (options, kept) in [(&[][..], 1), (&["--radius", "3"], 2)] {
        let arguments = [
            &["a.jsonl", "-o", "out.jsonl", "--json", "--force"],
            options,
        ]
        .concat();
        let summary = dedup(&folder, &arguments).ends(0).one_json();
        assert_eq!(
            (&summary["kept"], &summary["unreliable"]),
            (&json!(kept), &json!(3))
        );
    }
    assert_eq!(
        folder.read("out.jsonl"),
        [line(1, "hello"), line(2, "Hello!")].concat()
    );
}

#[test]
fn verify_keeps_unlike_texts() {
    let line = |id: u64, text: &str| {
        let line = json!({"id": id, "text": text, "fp": "00000000000000ff"});
        format!("{line}\n")
    };
    let text = [
        line(1, FOX),
        line(
            2,
            "Of ships and shoes and sealing wax, of cabbages and kings",
        ),
        line(3, &FOX.replace("lazy", "sleepy")),
    ]
    .concat();
    let folder = folder_with("a.jsonl", &text);
    let removed = |output: &str, more: &[&str]| {
        let arguments = ["a.jsonl", "-o", output, "--json", "--fingerprint", "fp"];
        let ran = dedup(&folder, &[&arguments[..], more].concat());
        ran.ends(0).one_json()["removed"].clone()
    };
    assert_eq!(removed("1.jsonl", &[]), 2);
    let verify = ["--text", "text", "--verify"];
    assert_eq!(removed("2.jsonl", &verify), 0);
    let alike = [&verify[..], &["--decide", "alike"]].concat();
    assert_eq!(removed("4.jsonl", &alike), 1);
    dedup(
        &folder,
        &[
            "a.jsonl",
            "-o",
            "3.jsonl",
            "--fingerprint",
            "fp",
            "--verify",
        ],
    )
    .fails(&["--text"]);
}

#[test]
fn records_in_database_are_dropped_and_rest_added() {
    // Fingerprints are compared with a database without texts.
    for (more, option) in [
        (&[][..], "--radius=3"),
        (&["--keep-texts"], "--progress=never"),
    ] {
        let folder = folder_with("old.jsonl", &lines_with(TEXTS, &["{\"id\":1", "{\"id\":3"]));
        folder
            .load(&[&["old.simdb", "old.jsonl"], more].concat())
            .ends(0);
        let new = TEXTS
            .replace("{\"id\":1,", "{\"id\":11,")
            .replace("{\"id\":2,", "{\"id\":12,")
            .replace("{\"id\":3,", "{\"id\":13,")
            + "{\"id\":5,\"text\":\"a database of fingerprints finds in microseconds, what a scan would find in seconds\"}\n";
        folder.write("new.jsonl", &new);
        let run = |output: &str, more: &[&str]| {
            let arguments = [
                "new.jsonl",
                "-o",
                output,
                "--against",
                "old.simdb",
                "--json",
                "--report",
                "gone.jsonl",
                "--force",
                option,
            ];
            dedup(&folder, &[&arguments[..], more].concat())
                .ends(0)
                .one_json()
        };
        let summary = run("out.jsonl", &[]);
        let counts = ["read", "kept", "removed", "against", "clusters", "added"]
            .map(|name| summary[name].clone());
        assert_eq!(counts, [5, 1, 4, 3, 1, 0]);
        // Identity of texts is known only if texts are stored.
        assert_eq!(summary["identical"], if more.is_empty() { 0 } else { 2 });
        let only = lines_with(&new, &["{\"id\":4"]);
        assert_eq!(folder.read("out.jsonl"), only);
        let gone = folder.read_json("gone.jsonl");
        let reported = |line: &Value| {
            (
                line["id"].as_u64().unwrap(),
                line["keeper"].as_u64().unwrap(),
                line["cluster"].as_u64(),
            )
        };
        let reported: Vec<_> = gone.iter().map(reported).collect();
        assert_eq!(
            reported,
            [(11, 1, None), (12, 1, None), (13, 3, None), (5, 4, Some(4))]
        );
        let before = folder.cli(&["stats", "old.simdb", "--json"]).one_json();
        assert_eq!(before["documents"], 2);

        let summary = run("added.jsonl", &["--add"]);
        assert_eq!(summary["added"], 1);
        assert_eq!(folder.read("added.jsonl"), only);
        let found = folder
            .cli(&["get", "old.simdb", "4", "--json"])
            .ends(0)
            .one_json();
        assert_eq!(found["text"].is_string(), !more.is_empty());
        // The second time all documents are stored already.
        let summary = run("again.jsonl", &["--add"]);
        assert_eq!(
            (&summary["kept"], &summary["added"]),
            (&json!(0), &json!(0))
        );
        assert_eq!(folder.read("again.jsonl"), "");
    }
}

#[test]
fn taken_id_with_add_is_a_bad_record() {
    let folder = folder_with("old.jsonl", &lines_with(TEXTS, &["{\"id\":3"]));
    folder
        .load(&["old.simdb", "old.jsonl", "--keep-texts"])
        .ends(0);
    folder.write(
        "new.jsonl",
        TEXTS
            .replace("{\"id\":4,", "{\"id\":3,")
            .replacen("{\"id\":3,", "{\"id\":8,", 1),
    );
    let against = ["new.jsonl", "--against", "old.simdb", "-o"];
    dedup(&folder, &[&against[..], &["a.jsonl", "--add"]].concat())
        .fails(&["new.jsonl:4", "the id 3 is taken"]);
    assert_eq!(
        folder.cli(&["stats", "old.simdb", "--json"]).one_json()["documents"],
        1
    );
    let skip = [
        &against[..],
        &["a.jsonl", "--add", "--on-error", "skip", "--json"],
    ]
    .concat();
    let summary = dedup(&folder, &skip).ends(0).one_json();
    let counts = ["kept", "removed", "rejected", "added"].map(|name| summary[name].clone());
    assert_eq!(counts, [1, 2, 1, 1]);
    // Without `--add` the ids in the database do not matter.
    let summary = dedup(&folder, &[&against[..], &["b.jsonl", "--json"]].concat())
        .ends(0)
        .one_json();
    assert_eq!(summary["rejected"], 0);
}

#[test]
fn kept_text_under_a_taken_id_is_no_loss_without_a_word() {
    let text = |power| {
        let text = format!("The generator of the village delivers 5 {power} of power since today.");
        json!({"id": 1, "text": text}).to_string()
    };
    let folder = folder_with("old.jsonl", &text("MW"));
    // One fingerprint, and neither text covers the other.
    folder.write("new.jsonl", text("mW"));
    folder
        .load(&["old.simdb", "old.jsonl", "--keep-texts"])
        .ends(0);
    let against = ["new.jsonl", "-o", "kept.jsonl", "--against"];
    dedup(&folder, &[&against[..], &["old.simdb", "--add"]].concat())
        .fails(&["new.jsonl:1", "the id 1 is taken"]);
    // A database with keys has ids of its own.
    folder
        .load(&["keys.simdb", "old.jsonl", "--key", "id", "--keep-texts"])
        .ends(0);
    dedup(&folder, &[&against[..], &["keys.simdb", "--add"]].concat())
        .fails(&["keys.simdb have keys", "--key"]);
    assert!(!folder.path().join("kept.jsonl").exists());
}

#[test]
fn invalid_request_is_refused_before_reading() {
    let folder = folder_with("a.jsonl", TEXTS);
    folder.write("b.csv", "id,text\n1,x\n");
    folder.write("c.raw", [0; 16]);
    folder.write("there.jsonl", "");
    for (arguments, said) in [
        (
            &["a.jsonl", "-o", "there.jsonl"][..],
            "there.jsonl already exists",
        ),
        (&["a.jsonl", "-o", "a.jsonl", "--force"], "is an input"),
        (&["a.jsonl", "b.csv", "-o", "x.jsonl"], "one format"),
        (&["a.jsonl", "-o", "x.csv"], "x.csv"),
        (&["c.raw", "-o", "x.raw"], "fingerprints alone are no texts"),
        (&["a.jsonl", "-o", "-"], "standard output"),
        (
            &["a.jsonl", "-o", "x.jsonl", "--report", "a.jsonl"],
            "is an input",
        ),
        (
            &[
                "a.jsonl",
                "-o",
                "x.jsonl",
                "--on-error",
                "skip",
                "--rejects",
                "x.jsonl",
            ],
            "is the output",
        ),
        (
            &["a.jsonl", "-o", "x.jsonl", "--against", "none.simdb"],
            "there is no database",
        ),
        (
            &[
                "a.jsonl",
                "-o",
                "x.jsonl",
                "--against",
                "none.simdb",
                "--add",
            ],
            "`simdb-load none.simdb --similar < /dev/null` makes an empty one",
        ),
        (
            &["a.jsonl", "-o", "none/x.jsonl"],
            "cannot write none/x.jsonl",
        ),
        (
            &["a.jsonl", "-o", "x.jsonl", "--mark=distance,distance"],
            "two different names",
        ),
        (&["none.jsonl", "-o", "x.jsonl"], "cannot read none.jsonl"),
    ] {
        dedup(&folder, arguments).fails(&[said]);
    }
    dedup(&folder, &["a.jsonl", "-o", "x.jsonl", "--add"]).ends(2);
    assert_eq!(folder.names(), ["a.jsonl", "b.csv", "c.raw", "there.jsonl"]);
}

#[cfg(unix)]
#[test]
fn run_interrupted_at_silent_pipe_leaves_no_file() {
    let folder = Folder::new();
    let mut child = folder
        .command("simdb-cli")
        .args(["dedup", "-", "-o", "out.jsonl"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let pipe = child.stdin.take();
    folder.wait_for(|name| name.starts_with(".simdb-copy-"));
    stop(child, "-INT").fails(&["interrupted"]);
    drop(pipe);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn first_record_after_byte_order_mark_is_marked() {
    let folder = folder_with("a.jsonl", &format!("\u{feff}{TEXTS}"));
    dedup(&folder, &["a.jsonl", "-o", "out.jsonl", "--mark"]).ends(0);
    let marked = folder.read("out.jsonl");
    let lines = marked.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.map(|line| line.expect("JSON")).collect();
    assert_eq!(lines.len(), TEXTS.lines().count());
    assert!(lines.iter().all(|line| line.get("keeper").is_some()));
}

#[test]
fn expired_documents_are_pruned_before_add() {
    let folder = Folder::new();
    let at = |id: u64, text: &str, day: u64| {
        let time = format!("2024-01-0{day}T00:00:00Z");
        format!("{}\n", json!({"id": id, "text": text, "t": time}))
    };
    let other = "A database of fingerprints finds in microseconds what a scan finds in seconds.";
    folder.write("old.jsonl", at(1, FOX, 1) + &at(2, other, 5));
    folder
        .load(&[
            "all.simdb",
            "old.jsonl",
            "--keep-texts",
            "--time",
            "t",
            "--retention",
            "1d",
        ])
        .ends(0);
    folder.write("new.jsonl", at(1, FOX, 5));
    let add = ["--time", "t", "--against", "all.simdb", "--add", "--json"];
    let arguments = [&["new.jsonl", "-o", "out.jsonl"][..], &add].concat();
    let summary = dedup(&folder, &arguments).ends(0).one_json();
    assert_eq!(
        (&summary["kept"], &summary["added"]),
        (&1.into(), &1.into())
    );
    let stored = folder
        .cli(&["get", "all.simdb", "1", "--json"])
        .ends(0)
        .one_json();
    assert!(stored.to_string().contains("2024-01-05"), "{stored}");
}

#[cfg(unix)]
#[test]
fn input_changed_between_passes_is_refused() {
    let record = |id: u32| format!("{{\"id\":{id},\"text\":\"{FOX}\"}}\n");
    let folder = folder_with("a.jsonl", &"{\"text\":\"It has no id.\"}\n".repeat(2000));
    folder.write("b.jsonl", record(5001));
    let made = std::process::Command::new("mkfifo")
        .arg(folder.file("report"))
        .status();
    assert!(made.expect("mkfifo").success());
    let mut command = folder.command("simdb-cli");
    command.args(["dedup", "a.jsonl", "b.jsonl", "-o", "out.jsonl"]);
    command.args(["--on-error", "skip", "--rejects", "report"]);
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let path = folder.file("report");
    let Ok(report) = in_thread(|| std::fs::File::open(path)).recv_timeout(PATIENCE) else {
        child.kill().expect("killed");
        panic!("it writes no report: {:?}", child.wait_with_output());
    };
    let mut report = report.expect("a pipe");
    // The list of bad records is longer than a pipe holds, and written at the end of the first
    // pass, so the run blocks between both passes until the list is read on.
    report.read_exact(&mut [0]).expect("a line of the report");
    folder.write("b.jsonl", record(5002));
    std::io::copy(&mut report, &mut std::io::sink()).expect("the rest of the report");
    let ran: Ran = child.wait_with_output().expect("the tool ends").into();
    ran.fails(&["b.jsonl has changed while it was read"]);
    assert_eq!(folder.names(), ["a.jsonl", "b.jsonl", "report"]);
}

#[test]
fn column_names_are_compared_ignoring_blank_lines_only() {
    let folder = Folder::new();
    let row = |id: u64, tab: &str| format!("{id}\ttext {id} like no other{tab}\n");
    folder.write("a.tsv", format!("id\ttext\n{}", row(1, "")));
    folder.write("more.tsv", format!("id\ttext\t\n{}", row(2, "\t")));
    folder.write("blank.tsv", format!("\n\nid\ttext\r\n\r\n\n{}", row(3, "")));
    for inputs in [["a.tsv", "more.tsv"], ["more.tsv", "a.tsv"]] {
        let arguments = [&inputs[..], &["-o", "out.tsv"]].concat();
        let [first, other] = inputs;
        dedup(&folder, &arguments).fails(&[other, &format!("differ from the columns of {first}")]);
    }
    dedup(&folder, &["a.tsv", "blank.tsv", "-o", "out.tsv"]).ends(0);
    let expected = format!("id\ttext\n{}{}", row(1, ""), row(3, ""));
    assert_eq!(folder.read("out.tsv"), expected);
}

/// Records of several shards whose ids restart, some with texts of one fingerprint.
fn shards() -> [String; 2] {
    let line = |(id, text): &(u64, &str)| format!("{}\n", json!({"id": id, "text": text}));
    let first = [(0, FOX), (1, "5"), (2, "1.5")];
    let second = [
        (
            0,
            "Bakers in the old town say the price of flour has doubled since spring",
        ),
        (1, "-5"),
        (2, "15"),
        (4, FOX),
        (
            4,
            "Another record under the id of the record before, and not a short one",
        ),
    ];
    [
        first.iter().map(line).collect(),
        second.iter().map(line).collect(),
    ]
}

#[test]
fn documents_of_repeated_ids_are_numbered_by_place() {
    let [first, second] = shards();
    for format in ["jsonl", "csv"] {
        let folder = Folder::new();
        let names = ["a", "b"].map(|name| format!("{name}.{format}"));
        for (name, lines) in names.iter().zip([&first, &second]) {
            let text = match format {
                "jsonl" => lines.clone(),
                _ => {
                    let rows = lines.lines().map(|line| {
                        let record: Value = serde_json::from_str(line).expect("an object");
                        format!("{},{}\n", record["id"], record["text"])
                    });
                    format!("id,text\n{}", rows.collect::<String>())
                }
            };
            folder.write(name, text);
        }
        let [a, b] = &names;
        let output = format!("out.{format}");
        let arguments = [a, b, "-o", &output, "--report", "gone.jsonl", "--json"];
        let ran = dedup(&folder, &arguments).ends(0);
        let said =
            "4 records have the id of an earlier record: all documents are numbered by their place";
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        let summary = ran.one_json();
        // Only the text of the fox is there twice.
        let counts = ["read", "kept", "removed", "rejected"].map(|name| summary[name].clone());
        assert_eq!(counts, [8, 7, 1, 0], "{format}");
        let gone = folder.read_json("gone.jsonl");
        assert_eq!(gone.len(), 1);
        assert_eq!(
            (&gone[0]["id"], &gone[0]["keeper"], &gone[0]["by_place"]),
            (&json!(7), &json!(1), &json!(true))
        );
        assert_eq!(
            (&gone[0]["file"], &gone[0]["keeper_file"]),
            (&json!(b), &json!(a))
        );
        folder.cli(&["check-report", "gone.jsonl", a, b]).ends(0);
    }
}

#[test]
fn record_without_an_id_is_compared_by_its_place() {
    let line = |id: Value| json!({"id": id, "text": "the quick brown fox"}).to_string() + "\n";
    let lines = [json!(1), json!("abc"), json!(1)].map(line).concat();
    let folder = folder_with("a.jsonl", &lines);
    let ran = dedup(
        &folder,
        &["a.jsonl", "-o", "out.jsonl", "--on-error", "keep"],
    )
    .ends(0);
    for said in [
        "not compared a.jsonl:2",
        "the records above that have a text but no id are compared",
        "removed           2",
    ] {
        let shown = format!("{}{}", ran.stderr, ran.stdout);
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn repeated_ids_are_refused_where_ids_name_documents() {
    let [first, second] = shards();
    let folder = folder_with("a.jsonl", &(first + &second));
    folder.write("c.csv", "doc_id,keeper\n1,0\n");
    folder.write("old.jsonl", "");
    folder
        .load(&["old.simdb", "old.jsonl", "--keep-texts"])
        .ends(0);
    for (options, named) in [
        (&["--clusters", "c.csv"][..], "--clusters names"),
        (&["--against", "old.simdb", "--add"], "--add names"),
    ] {
        let arguments = [&["a.jsonl", "-o", "o.jsonl"], options].concat();
        dedup(&folder, &arguments).fails(&["have the id of an earlier record", named, "unique"]);
    }
    // Marks name keepers by place, in the bytes of the record.
    dedup(&folder, &["a.jsonl", "-o", "o.jsonl", "--mark"]).ends(0);
    let marked = folder.read_json("o.jsonl");
    let keepers: Vec<&Value> = marked.iter().map(|line| &line["keeper"]).collect();
    assert_eq!(keepers.iter().filter(|keeper| !keeper.is_null()).count(), 1);
    assert_eq!(marked[6]["keeper"], 1);
    assert_eq!(marked[6]["id"], 4);
}

#[test]
fn record_without_text_duplicates_nothing() {
    let line = |id: u64, text: &str| format!("{{\"id\":{id},\"text\":{text},\"n\":{id}}}\n");
    let fox = json!(FOX).to_string();
    let text = [
        line(1, &fox),
        line(2, "null"),
        "{\"id\":3,\"n\":3}\n".to_owned(),
        line(4, "\"\""),
        line(5, "\" \\n\""),
        line(6, "\"\""),
        line(7, &fox),
        line(8, "null"),
    ];
    let folder = folder_with("a.jsonl", &text.concat());
    let plain = ["a.jsonl", "-o", "out.jsonl", "--json", "--force"];
    dedup(&folder, &plain).fails(&["a.jsonl:2", "document 2", "--on-error keep"]);
    for on_error in ["skip", "keep"] {
        for mark in [&[][..], &["--mark"]] {
            let arguments = [&plain[..], &["--on-error", on_error], mark].concat();
            let summary = dedup(&folder, &arguments).ends(0).one_json();
            let counts = ["read", "rejected", "uncompared"].map(|name| summary[name].clone());
            assert_eq!(counts, [8, 0, 6]);
            let ids: Vec<u64> = folder
                .read_json("out.jsonl")
                .iter()
                .filter(|line| line["keeper"].is_null())
                .map(|line| line["id"].as_u64().expect("an id"))
                .collect();
            assert_eq!(ids, [1, 2, 3, 4, 5, 6, 8]);
        }
    }
    let named = [&plain[..], &["--on-error", "skip", "--text", "body"]].concat();
    dedup(&folder, &named).fails(&["no record has a text", "\"body\"", "--text"]);
}

#[test]
fn bad_record_stays_with_on_error_keep() {
    let text =
        "{\"id\":1,\"text\":\"a text like no other text\"}\nno json\n{\"id\":[],\"text\":\"x\"}\n";
    let folder = folder_with("a.jsonl", text);
    let keep = [
        "a.jsonl",
        "--on-error",
        "keep",
        "--rejects",
        "r.jsonl",
        "--json",
        "--force",
        "-o",
    ];
    let summary = dedup(&folder, &[&keep[..], &["out.jsonl"]].concat())
        .ends(0)
        .one_json();
    let counts = ["read", "kept", "rejected", "uncompared"].map(|name| summary[name].clone());
    assert_eq!(counts, [3, 3, 0, 2]);
    assert_eq!(folder.read("out.jsonl"), text);
    assert_eq!(folder.read_json("r.jsonl").len(), 2);
    dedup(&folder, &[&keep[..], &["marked.jsonl", "--mark"]].concat()).ends(0);
    let marked = folder.read("marked.jsonl");
    let lines: Vec<&str> = marked.lines().collect();
    assert_eq!(lines[1], "no json");
    assert!(lines[2].contains("\"keeper\":null"), "{marked}");
}

#[test]
fn all_bad_records_end_the_command_and_some_are_a_share() {
    let good = "{\"id\":7,\"text\":\"a text like no other text\"}\n";
    let bad = "{\"id\":1}\n{\"id\":2,\"text\":7}\nx\n".replace("{\"id\":1}", "[]");
    let folder = folder_with("a.jsonl", &bad);
    folder.write("b.jsonl", format!("{good}{bad}"));
    let skip = ["--on-error", "skip", "--rejects", "r.jsonl", "--force"];
    let all = [&["a.jsonl", "-o", "out.jsonl"][..], &skip].concat();
    dedup(&folder, &all).fails(&["all 3 records are bad"]);
    assert_eq!(folder.names(), ["a.jsonl", "b.jsonl", "r.jsonl"]);
    assert_eq!(folder.read_json("r.jsonl").len(), 3);
    let ran = dedup(
        &folder,
        &[&["b.jsonl", "-o", "out.jsonl"][..], &skip].concat(),
    )
    .ends(0);
    let said = "warning: 75.0% of the records (3 of 4) were left out";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    for unique in [&[][..], &["--unique", "3"], &["--unique", "similar"]] {
        let load = [&["new.simdb", "a.jsonl"][..], &skip, unique].concat();
        folder.load(&load).fails(&["all 3 records are bad"]);
        assert!(!folder.names().contains(&"new.simdb".to_owned()));
    }
    let cut = ["cut", "a.jsonl", "-o", "c.jsonl", "--lines"];
    folder
        .cli(&[&cut[..], &skip].concat())
        .fails(&["all 3 records are bad"]);
}
