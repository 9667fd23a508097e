//! `simdb-load`: inputs, rejected records, reports, and files left behind.

use std::io::Write;

use crate::common::{Folder, Ran, TEXTS, raw_pairs, stop};
use serde_json::{Value, json};
#[cfg(unix)]
use test_support::small_disk::SmallDisk;

/// The counts of records by fate, from the summary.
fn counts(ran: &Ran) -> [u64; 5] {
    let summary = ran.one_json();
    ["read", "inserted", "duplicates", "rejected", "present"]
        .map(|name| summary[name].as_u64().expect("a count"))
}

fn documents(folder: &Folder, database: &str) -> u64 {
    let stats = folder
        .cli(&["stats", database, "--json"])
        .ends(0)
        .one_json();
    stats["documents"].as_u64().expect("a count")
}

/// The ids and texts of a database, in order of id.
fn texts(folder: &Folder, database: &str) -> Vec<(u64, String)> {
    let exported = folder.cli(&["export", database]).ends(0).json();
    let text = |line: &Value| line["text"].as_str().expect("a text").to_owned();
    exported
        .iter()
        .map(|line| (line["id"].as_u64().expect("an id"), text(line)))
        .collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn summary_has_the_documented_shape() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let ran = folder.load(&["a.simdb", "a.jsonl", "--json"]).ends(0);
    assert_eq!(counts(&ran), [4, 4, 0, 0, 0]);
    let summary = ran.one_json();
    assert_eq!(summary["unreliable"], 0);
    for name in ["seconds", "documents_per_second"] {
        assert!(summary[name].as_f64().expect("a number") > 0.0, "{summary}");
    }
    let file_bytes = std::fs::metadata(folder.file("a.simdb"))
        .expect("the database")
        .len();
    assert_eq!(summary["file_bytes"], file_bytes);
    assert_eq!(ran.stderr, "");
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb"]);
}

#[test]
fn summary_is_a_table_without_json() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let ran = folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    assert!(
        ran.stdout.contains("inserted") && ran.stdout.contains("a.simdb"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn every_format_of_texts_is_read() {
    let expected = [(1, "one text"), (2, "another, with \"quotes\"")];
    for (name, content) in [
        (
            "a.jsonl",
            "{\"id\":1,\"text\":\"one text\"}\n\n{\"text\":\"another, with \\\"quotes\\\"\",\"id\":\"2\"}",
        ),
        (
            "a.csv",
            "\u{feff}text,id\r\none text,1\r\n\"another, with \"\"quotes\"\"\",2\r\n",
        ),
        (
            "a.tsv",
            "id\ttext\n1\tone text\n2\tanother, with \"quotes\"\n",
        ),
        ("a.txt", "one text\nanother, with \"quotes\"\n"),
    ] {
        let folder = Folder::new();
        folder.write(name, content);
        folder.load(&["a.simdb", name, "--keep-texts"]).ends(0);
        let read = texts(&folder, "a.simdb");
        let read: Vec<_> = read.iter().map(|(id, text)| (*id, text.as_str())).collect();
        assert_eq!(read, expected, "{name}");
    }
}

#[test]
fn raw_pairs_are_read() {
    let folder = Folder::new();
    folder.write("a.raw", raw_pairs(&[(u64::MAX, 0xff), (7, 1 << 63)]));
    let ran = folder.load(&["a.simdb", "a.raw", "--json"]).ends(0);
    assert_eq!(counts(&ran), [2, 2, 0, 0, 0]);
    let got = folder
        .cli(&["get", "a.simdb", "18446744073709551615", "7", "--json"])
        .ends(0);
    assert_eq!(got.json()[0]["id"], u64::MAX);
    assert_eq!(got.json()[0]["fingerprint"], "00000000000000ff");
    assert_eq!(got.json()[1]["fingerprint"], "8000000000000000");
}

#[test]
fn compressed_inputs_are_read_through() {
    let folder = Folder::new();
    let (first, second) = TEXTS.split_at(TEXTS.find("{\"id\":3").expect("the third text"));
    folder.write("members.jsonl.gz", [gzip(first), gzip(second)].concat());
    let ran = folder
        .load(&["gz.simdb", "members.jsonl.gz", "--json"])
        .ends(0);
    assert_eq!(counts(&ran), [4, 4, 0, 0, 0]);

    let frame = |text: &str| zstd::encode_all(text.as_bytes(), 3).expect("compressed");
    folder.write("frames.jsonl.zst", [frame(first), frame(second)].concat());
    let ran = folder
        .load(&["zst.simdb", "frames.jsonl.zst", "--json"])
        .ends(0);
    assert_eq!(counts(&ran), [4, 4, 0, 0, 0]);
}

#[test]
fn truncated_compressed_input_is_refused_and_leaves_no_file() {
    let folder = Folder::new();
    let gz = gzip(TEXTS);
    folder.write("cut.jsonl.gz", &gz[..gz.len() / 2]);
    let zst = zstd::encode_all(TEXTS.as_bytes(), 3).expect("compressed");
    folder.write("cut.jsonl.zst", &zst[..zst.len() / 2]);
    folder.write("no.jsonl.gz", TEXTS);
    for name in ["cut.jsonl.gz", "cut.jsonl.zst", "no.jsonl.gz"] {
        // Skipping applies to records, not to the rest of a file.
        for on_error in ["abort", "skip"] {
            folder
                .load(&["a.simdb", name, "--on-error", on_error])
                .fails(&["cannot read", name, "caused by"]);
            assert!(!folder.file("a.simdb").exists());
        }
    }
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn standard_input_is_read_as_json_lines_unless_told_otherwise() {
    let folder = Folder::new();
    let ran = folder
        .load_from(&["a.simdb", "-", "--json"], TEXTS.as_bytes())
        .ends(0);
    assert_eq!(counts(&ran), [4, 4, 0, 0, 0]);
    let ran = folder
        .load_from(&["b.simdb", "--json"], TEXTS.as_bytes())
        .ends(0);
    assert_eq!(counts(&ran), [4, 4, 0, 0, 0]);
    let raw = raw_pairs(&[(1, 2)]);
    let ran = folder
        .load_from(&["c.simdb", "-", "--format", "raw", "--json"], &raw)
        .ends(0);
    assert_eq!(counts(&ran), [1, 1, 0, 0, 0]);
    folder
        .load_from(&["d.simdb", "-"], b"no json\n")
        .fails(&["<stdin>:1", "malformed JSON"]);
    folder.load(&["d.simdb", "-", "-"]).fails(&["only once"]);
}

#[test]
fn fields_are_selected_by_name() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        "{\"nr\":5,\"body\":\"some text or other\",\"id\":\"x\"}\n",
    );
    folder
        .load(&[
            "a.simdb",
            "a.jsonl",
            "--id",
            "nr",
            "--text",
            "body",
            "--keep-texts",
        ])
        .ends(0);
    assert_eq!(
        texts(&folder, "a.simdb"),
        [(5, "some text or other".to_owned())]
    );
    folder.write("a.csv", "nr,fp\n6,00000000000000ff\n");
    folder
        .load(&["a.simdb", "a.csv", "--id", "nr", "--fingerprint", "fp"])
        .ends(0);
    let got = folder
        .cli(&["get", "a.simdb", "6", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(got["fingerprint"], "00000000000000ff");
    assert_eq!(got["text"], Value::Null);
    folder
        .load(&["a.simdb", "a.csv", "--id", "nr", "--text", "body"])
        .fails(&["a.csv:1", "no column \"body\"", "nr, fp"]);
    folder
        .load(&["a.simdb", "a.csv", "--id", "x", "--text", "x"])
        .fails(&["different fields"]);
}

#[test]
fn line_ids_continue_over_all_inputs() {
    let folder = Folder::new();
    folder.write("a.txt", "one\n\nthree");
    folder.write("b.txt", "four\n");
    folder
        .load(&["a.simdb", "a.txt", "b.txt", "--keep-texts"])
        .ends(0);
    let ids: Vec<_> = texts(&folder, "a.simdb")
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, [1, 3, 4]);
    folder
        .load(&["a.simdb", "b.txt", "--first-id", "100"])
        .ends(0);
    assert_eq!(texts(&folder, "a.simdb")[3], (100, "four".to_owned()));
}

#[test]
fn bad_record_aborts_with_its_place_and_leaves_no_file() {
    let good = "{\"id\":1,\"text\":\"a good text\"}\n";
    for (bad, said) in [
        ("{\"id\":2,", "malformed JSON"),
        ("[2]", "a JSON object"),
        ("[", "jq -c '.[]'"),
        ("{\"text\":\"a\"}", "no field \"id\""),
        ("{\"id\":2}", "no field \"text\""),
        ("{\"id\":2,\"text\":3}", "field \"text\": it is a number"),
        ("{\"id\":-2,\"text\":\"a\"}", "-2 is not an id"),
        ("{\"id\":2.5,\"text\":\"a\"}", "2.5 is not an id"),
        (
            "{\"id\":18446744073709551616,\"text\":\"a\"}",
            "is not an id",
        ),
        ("{\"id\":\"two\",\"text\":\"a\"}", "\"two\" is not an id"),
        (
            "{\"id\":1,\"text\":\"a text that is not the same at all\"}",
            "the id 1 is taken",
        ),
    ] {
        for mode in [&[][..], &["--unique", "3"]] {
            let folder = Folder::new();
            folder.write("a.jsonl", format!("{good}\n{bad}\n"));
            let arguments = [&["a.simdb", "a.jsonl"], mode].concat();
            folder
                .load(&arguments)
                .fails(&["a.jsonl:3: ", said, "nothing was changed"]);
            assert_eq!(folder.names(), ["a.jsonl"]);
        }
    }
}

#[test]
fn invalid_utf8_is_refused_with_its_place() {
    let folder = Folder::new();
    folder.write("a.txt", b"good\nb\xffd\n");
    folder
        .load(&["a.simdb", "a.txt"])
        .fails(&["a.txt:2: invalid UTF-8"]);
    folder.write("a.jsonl", b"{\"id\":1,\"text\":\"\xff\"}\n");
    folder
        .load(&["a.simdb", "a.jsonl"])
        .fails(&["a.jsonl:1: invalid UTF-8"]);
    folder.write("a.csv", b"id,text\n1,\xff\n");
    folder
        .load(&["a.simdb", "a.csv"])
        .fails(&["a.csv:2: ", "invalid UTF-8"]);
}

#[test]
fn truncated_raw_record_is_refused_with_its_offset() {
    let folder = Folder::new();
    let mut bytes = raw_pairs(&[(1, 1), (2, 2)]);
    bytes.extend([0; 5]);
    folder.write("a.raw", bytes);
    folder
        .load(&["a.simdb", "a.raw"])
        .fails(&["a.raw: byte 32", "5 of its 16 bytes"]);
    let ran = folder
        .load(&[
            "a.simdb",
            "a.raw",
            "--on-error",
            "skip",
            "--rejects",
            "r.jsonl",
            "--json",
        ])
        .ends(0);
    assert_eq!(counts(&ran), [3, 2, 0, 1, 0]);
    let [reject] = &folder.read_json("r.jsonl")[..] else {
        panic!("one reject")
    };
    assert_eq!(
        (&reject["line"], &reject["byte"]),
        (&Value::Null, &json!(32))
    );
}

#[test]
fn skipped_records_are_listed_with_file_line_id_and_reason() {
    for mode in [&[][..], &["--unique", "0"]] {
        let folder = Folder::new();
        folder.write(
            "a.jsonl",
            "{\"id\":1,\"text\":\"the first text of this file, which is stored\"}\nbad\n\n{\"id\":2}\n",
        );
        folder.write(
            "b.csv",
            "id,text\n3,\"three\nlines\nof a record that is stored\"\nx,four\n1,another text under a taken id\n5\n",
        );
        let fixed = [
            "a.simdb",
            "a.jsonl",
            "b.csv",
            "--on-error",
            "skip",
            "--rejects",
            "r.jsonl",
            "--json",
        ];
        let ran = folder.load(&[&fixed, mode].concat()).ends(0);
        assert_eq!(counts(&ran), [7, 2, 0, 5, 0]);
        let mut places: Vec<_> = folder
            .read_json("r.jsonl")
            .iter()
            .map(|reject| {
                assert!(
                    reject["reason"]
                        .as_str()
                        .is_some_and(|reason| !reason.is_empty())
                );
                let file = reject["file"].as_str().expect("a file").to_owned();
                (
                    file,
                    reject["line"].as_u64().expect("a line"),
                    reject["id"].as_u64(),
                )
            })
            .collect();
        places.sort();
        let place = |file: &str, line, id| (file.to_owned(), line, id);
        assert_eq!(
            places,
            [
                place("a.jsonl", 2, None),
                place("a.jsonl", 4, Some(2)),
                place("b.csv", 5, None),
                place("b.csv", 6, Some(1)),
                place("b.csv", 7, Some(5)),
            ]
        );
        assert_eq!(documents(&folder, "a.simdb"), 2);
    }
}

#[test]
fn skipped_records_are_listed_on_standard_error_by_default() {
    let folder = Folder::new();
    folder.write("a.jsonl", "bad\n".repeat(9));
    let ran = folder
        .load(&["a.simdb", "a.jsonl", "--on-error", "skip"])
        .ends(2);
    assert!(
        ran.stderr.contains("skipped a.jsonl:5: malformed JSON"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("skipped 4 records after these"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("a.jsonl:6"), "{}", ran.stderr);
}

#[test]
fn unreadable_input_is_named_before_the_load() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.write("a.unknown", TEXTS);
    folder
        .load(&["a.simdb", "a.jsonl", "missing.jsonl"])
        .fails(&["missing.jsonl", "caused by"]);
    folder
        .load(&["a.simdb", "a.jsonl", "."])
        .fails(&["directory"]);
    folder
        .load(&["a.simdb", "a.unknown"])
        .fails(&["a.unknown", "--format"]);
    folder
        .load(&["a.simdb", "a.unknown", "--format", "jsonl"])
        .ends(0);
    folder
        .load(&["no/such/a.simdb", "a.jsonl"])
        .fails(&["there is no folder no/such"]);
}

#[test]
fn empty_text_is_stored_as_unreliable() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        "{\"id\":1,\"text\":\"\"}\n{\"id\":2,\"text\":\"\"}\n",
    );
    let ran = folder
        .load(&["a.simdb", "a.jsonl", "--unique", "64", "--json"])
        .ends(0);
    assert_eq!(counts(&ran), [2, 2, 0, 0, 0]);
    assert_eq!(ran.one_json()["unreliable"], 2);
    let got = folder
        .cli(&["get", "a.simdb", "1", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(got["reliable"], false);
}

#[test]
fn repeated_load_changes_nothing() {
    for mode in [&[][..], &["--unique", "3"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", TEXTS);
        folder
            .load(&[&["a.simdb", "a.jsonl"], mode].concat())
            .ends(0);
        let stored = documents(&folder, "a.simdb");
        let ran = folder
            .load(&[&["a.simdb", "a.jsonl", "--json"], mode].concat())
            .ends(0);
        assert_eq!(counts(&ran), [4, 0, 4 - stored, 0, stored]);
        assert_eq!(documents(&folder, "a.simdb"), stored);
    }
}

#[test]
fn failed_load_leaves_database_unchanged() {
    for mode in [&[][..], &["--unique", "3"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", TEXTS);
        folder.load(&["a.simdb", "a.jsonl"]).ends(0);
        folder.write(
            "b.jsonl",
            "{\"id\":50,\"text\":\"something new and long enough\"}\nbad\n",
        );
        folder
            .load(&[&["a.simdb", "b.jsonl"], mode].concat())
            .fails(&["b.jsonl:2"]);
        folder.write(
            "c.jsonl",
            "{\"id\":60,\"text\":\"new\"}\n{\"id\":1,\"text\":\"not what is stored under one\"}\n",
        );
        folder
            .load(&[&["a.simdb", "c.jsonl"], mode].concat())
            .fails(&["c.jsonl:2", "the id 1"]);
        assert_eq!(documents(&folder, "a.simdb"), 4);
        folder.cli(&["check", "a.simdb"]).ends(0);
    }
}

#[test]
fn unique_keeps_first_of_near_duplicates_and_reports_rest() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let ran = folder
        .load(&[
            "a.simdb",
            "a.jsonl",
            "--unique",
            "3",
            "--duplicates",
            "d.jsonl",
            "--json",
        ])
        .ends(0);
    assert_eq!(counts(&ran), [4, 3, 1, 0, 0]);
    let [duplicate] = &folder.read_json("d.jsonl")[..] else {
        panic!("one duplicate")
    };
    assert_eq!(duplicate["id"], 2);
    assert_eq!(duplicate["duplicate_of"], 1);
    assert_eq!(duplicate["file"], "a.jsonl");
    assert_eq!(duplicate["line"], 2);
    assert!(duplicate["distance"].as_u64().expect("a distance") <= 3);
    assert_eq!(duplicate["fingerprint"].as_str().map(str::len), Some(16));
    assert!(
        duplicate["text"]
            .as_str()
            .expect("a text")
            .starts_with("the quick")
    );
    folder.cli(&["get", "a.simdb", "2"]).ends(1);
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "d.jsonl"]);

    // Documents of the existing database count as well.
    folder.write("b.jsonl", "{\"id\":9,\"text\":\"THE QUICK BROWN FOX jumps over the lazy dog near the river bank this morning\"}\n");
    let ran = folder
        .load(&["a.simdb", "b.jsonl", "--unique", "3", "--json"])
        .ends(0);
    assert_eq!(counts(&ran), [1, 0, 1, 0, 0]);
}

#[test]
fn unique_drops_equal_texts_of_unreliable_fingerprints() {
    let folder = Folder::new();
    let texts = [
        "ok",
        "ok ok ok ok",
        "ok",
        "ok ok ok ok ok ok",
        "",
        "ok",
        "",
        "12345",
        "12345",
    ];
    let lines = texts
        .iter()
        .zip(1..)
        .map(|(text, id)| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n"));
    folder.write("a.jsonl", lines.collect::<String>());
    let load = ["a.simdb", "a.jsonl", "--unique", "3", "--json"];
    let ran = folder
        .load(&[&load[..], &["--duplicates", "gone.jsonl"]].concat())
        .ends(0);
    assert_eq!(ran.one_json()["duplicates"], 3);
    let gone = folder.read_json("gone.jsonl");
    let pair = |line: &Value| {
        (
            line["id"].as_u64(),
            line["duplicate_of"].as_u64(),
            line["distance"].as_u64(),
        )
    };
    let pairs: Vec<_> = gone.iter().map(pair).collect();
    let expected = [(3, 1), (6, 1), (9, 8)].map(|(id, of)| (Some(id), Some(of), Some(0)));
    assert_eq!(pairs, expected);
    assert_eq!(documents(&folder, "a.simdb"), 6);
    // A repeated load drops the same documents.
    let again = folder.load(&load).ends(0).one_json();
    assert_eq!(
        (&again["present"], &again["duplicates"], &again["inserted"]),
        (&6.into(), &3.into(), &0.into())
    );
}

#[test]
fn duplicates_on_standard_output_come_without_summary() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let ran = folder
        .load(&["a.simdb", "a.jsonl", "--unique", "3", "--duplicates", "-"])
        .ends(0);
    assert_eq!(ran.one_json()["duplicate_of"], 1);
    assert!(ran.stderr.contains("inserted"), "{}", ran.stderr);
}

#[test]
fn duplicates_are_shown_with_kept_document() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let arguments = [
        "a.simdb",
        "a.jsonl",
        "--keep-texts",
        "--unique",
        "3",
        "--show-duplicates",
    ];
    let ran = folder.load(&arguments).ends(0);
    let shown: Vec<_> = ran.stdout.lines().take(3).collect();
    assert!(shown[0].ends_with("apart"), "{}", ran.stdout);
    assert!(
        shown[1].contains("kept") && shown[1].contains("The quick brown"),
        "{}",
        ran.stdout
    );
    assert!(
        shown[2].contains("dropped") && shown[2].contains("the quick brown"),
        "{}",
        ran.stdout
    );
}

#[test]
fn failed_load_reports_no_duplicates() {
    let folder = Folder::new();
    folder.write("a.jsonl", format!("{TEXTS}bad\n"));
    folder
        .load(&[
            "a.simdb",
            "a.jsonl",
            "--unique",
            "3",
            "--duplicates",
            "d.jsonl",
        ])
        .fails(&["a.jsonl:5"]);
    assert_eq!(folder.names(), ["a.jsonl"]);
}

#[test]
fn failed_load_keeps_earlier_reports() {
    let folder = Folder::new();
    folder.write("bad.jsonl", format!("{TEXTS}bad\n"));
    const DUPLICATES: &str = "{\"id\":7,\"fingerprint\":\"00000000000000ff\",\"duplicate_of\":1}\n";
    const REJECTS: &str = "{\"file\":\"a.jsonl\",\"line\":7,\"byte\":null}\n";
    folder.write("d.jsonl", DUPLICATES);
    folder.write("r.jsonl", REJECTS);
    folder.write("x.csv", "no,columns\n");
    let reports = ["--duplicates", "d.jsonl", "--rejects", "r.jsonl"];
    let fixed = [
        "a.simdb",
        "bad.jsonl",
        "--unique",
        "3",
        "--on-error",
        "skip",
    ];
    let replaced = [&fixed[..], &reports, &["--force"]].concat();
    folder
        .load(&[&replaced[..], &["x.csv"]].concat())
        .fails(&["x.csv:1: there is no column"]);
    assert_eq!(folder.read("d.jsonl"), DUPLICATES);
    assert_eq!(folder.read("r.jsonl"), REJECTS);
    assert_eq!(folder.names(), ["bad.jsonl", "d.jsonl", "r.jsonl", "x.csv"]);

    folder.load(&replaced).ends(0);
    assert_eq!(folder.read_json("d.jsonl")[0]["id"], 2);
    assert_eq!(folder.read_json("r.jsonl")[0]["line"], 5);
}

#[test]
fn report_over_database_or_input_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.write("b.jsonl", "");
    folder.load(&["old.simdb", "a.jsonl"]).ends(0);
    folder.load(&["other.simdb", "b.jsonl"]).ends(0);
    std::fs::create_dir(folder.file("sub")).expect("a folder");
    let database = std::fs::read(folder.file("old.simdb")).expect("the database");
    let before = folder.names();
    let absolute = folder.file("a.jsonl").display().to_string();
    for target in ["old.simdb", "new.simdb"] {
        let refused = |options: &[&str], said: &str| {
            let fixed = [target, "b.jsonl", "a.jsonl", "--unique", "3", "--force"];
            let skip = ["--on-error", "skip"];
            folder
                .load(&[&fixed[..], &skip, options].concat())
                .fails(&[said]);
        };
        for option in ["--rejects", "--duplicates"] {
            let other_name = format!("sub/../{target}");
            refused(&[option, target], "is the database");
            refused(&[option, &other_name], "is the database");
            refused(&[option, "a.jsonl"], "is an input");
            refused(&[option, &absolute], "is an input");
            refused(&[option, "sub"], "cannot write sub: it is a folder");
            refused(&[option, "other.simdb"], "other.simdb is a database");
        }
        let same = ["--rejects", "r.jsonl", "--duplicates", "./r.jsonl"];
        refused(&same, "is the output of --rejects");
    }
    assert_eq!(folder.names(), before);
    assert_eq!(folder.read("a.jsonl"), TEXTS);
    let after = std::fs::read(folder.file("old.simdb")).expect("the database");
    assert!(after == database, "the database was changed");
}

#[cfg(unix)]
#[test]
fn report_over_linked_input_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    std::fs::hard_link(folder.file("a.jsonl"), folder.file("hard")).expect("a link");
    std::os::unix::fs::symlink("a.jsonl", folder.file("soft")).expect("a link");
    for link in ["hard", "soft"] {
        folder
            .load(&[
                "a.simdb",
                "a.jsonl",
                "--on-error",
                "skip",
                "--rejects",
                link,
                "--force",
            ])
            .fails(&[link, "is an input"]);
    }
    assert_eq!(folder.read("a.jsonl"), TEXTS);
}

#[cfg(unix)]
#[test]
fn report_to_device_or_standard_output_is_streamed() {
    let folder = Folder::new();
    folder.write("a.jsonl", format!("{TEXTS}bad\n"));
    let fixed = ["a.jsonl", "--unique", "3", "--on-error", "skip"];
    let null = ["--rejects", "/dev/null", "--duplicates", "/dev/null"];
    folder
        .load(&[&["a.simdb"], &fixed[..], &null].concat())
        .ends(0);
    let stdout = ["--rejects", "/dev/null", "--duplicates", "/dev/stdout"];
    let ran = folder
        .load(&[&["b.simdb"], &fixed[..], &stdout].concat())
        .ends(0);
    assert_eq!(ran.one_json()["duplicate_of"], 1);
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "b.simdb"]);
}

#[test]
fn frozen_database_is_loaded_once() {
    for mode in [&[][..], &["--unique", "3"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", TEXTS);
        let fixed = ["a.simdb", "a.jsonl", "--frozen", "--keep-texts"];
        folder.load(&[&fixed, mode].concat()).ends(0);
        let stats = folder
            .cli(&["stats", "a.simdb", "--json"])
            .ends(0)
            .one_json();
        assert_eq!(
            (&stats["frozen"], &stats["keep_texts"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(stats["documents"], 4 - u64::from(!mode.is_empty()));
        folder.write("b.jsonl", "{\"id\":9,\"text\":\"one text more\"}\n");
        folder.load(&["a.simdb", "b.jsonl"]).fails(&["frozen"]);
        assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "b.jsonl"]);
    }
}

#[test]
fn similar_option_stores_texts_and_forest() {
    for mode in [&[][..], &["--unique", "3"], &["--frozen"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", TEXTS);
        let similar = ["a.simdb", "a.jsonl", "--similar"];
        folder.load(&[&similar, mode].concat()).ends(0);
        let stats = folder
            .cli(&["stats", "a.simdb", "--json"])
            .ends(0)
            .one_json();
        assert_eq!(
            (&stats["similar"], &stats["keep_texts"]),
            (&json!(true), &json!(true))
        );
        let tables = stats["tables"].as_array().expect("tables");
        let forest = tables.iter().find(|table| table["name"] == "forest");
        let entries = forest.expect("forest")["entries"].as_u64();
        assert!(entries >= stats["texts"].as_u64(), "{stats}");
        folder.cli(&["check", "a.simdb"]).ends(0);
    }
}

#[test]
fn options_fixed_at_creation_cannot_be_changed() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    folder
        .load(&["a.simdb", "a.jsonl", "--recipe", "ngram"])
        .ends(0);
    folder
        .load(&["a.simdb", "a.jsonl", "--recipe", "jieba"])
        .fails(&["recipe", "jieba", "ngram"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--recipe", "magic"])
        .fails(&["no recipe", "magic"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--keep-texts"])
        .fails(&["without --keep-texts"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--similar"])
        .fails(&["without --similar"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--frozen"])
        .fails(&["without --frozen"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--arrivals"])
        .fails(&["without --arrivals"]);
    folder
        .load(&["a.simdb", "a.jsonl", "--retention", "48h"])
        .fails(&["without --retention 2d"]);
}

#[test]
fn retention_cannot_be_changed() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    let load =
        |database: &str, options: &[&str]| folder.load(&[&[database, "a.jsonl"], options].concat());
    load("window.simdb", &["--retention", "2d"]).ends(0);
    load("window.simdb", &[]).ends(0);
    load("window.simdb", &["--retention", "48h"]).ends(0);
    load("window.simdb", &["--retention", "3d"]).fails(&["created with --retention 2d"]);
    load("window.simdb", &["--arrivals"]).fails(&["created with --retention 2d"]);
    load("window.simdb", &["--retention", "2d", "--sliding"]).fails(&["without --sliding"]);
    load("times.simdb", &["--arrivals", "--sliding"]).ends(0);
    load("times.simdb", &["--arrivals"]).ends(0);
    load("times.simdb", &["--retention", "2d"]).fails(&["without --retention 2d"]);
    let stats = folder
        .cli(&["stats", "window.simdb", "--json"])
        .ends(0)
        .json();
    assert_eq!(stats[0]["max_ahead_seconds"], 86_400.0);
    // Documents without a time arrive by the clock.
    assert_eq!(stats[0]["by_clock"], true);
    for (database, is_shown) in [("window.simdb", true), ("times.simdb", false)] {
        let human = folder.cli(&["stats", database]).ends(0).stdout;
        let said = "counts back from        the clock";
        assert_eq!(human.contains(said), is_shown, "{human}");
    }
    load("window.simdb", &["--max-ahead", "1d"]).fails(&["--max-ahead needs"]);
    load("window.simdb", &["--retention", "2d", "--max-ahead", "24h"]).ends(0);
    load("window.simdb", &["--retention", "2d", "--max-ahead", "3d"])
        .fails(&["created with --max-ahead 1d"]);
    load("new.simdb", &["--sliding"]).fails(&["--sliding needs"]);
    load("new.simdb", &["--retention", "0s"]).fails(&["retention window"]);
    load("new.simdb", &["--retention", "soon"]).ends(2);
    load("new.simdb", &["--retention", "2d", "--arrivals"]).ends(2);
    assert_eq!(folder.names(), ["a.jsonl", "times.simdb", "window.simdb"]);
}

/// The id and arrival of every document.
fn arrivals(folder: &Folder, database: &str) -> Vec<(u64, String)> {
    let exported = folder.cli(&["export", database]).ends(0).json();
    exported
        .iter()
        .map(|line| {
            let arrival = line["arrival"].as_str().expect("a time");
            (line["id"].as_u64().expect("an id"), arrival.to_owned())
        })
        .collect()
}

#[test]
fn arrivals_are_read_from_every_format_with_fields() {
    let folder = Folder::new();
    let times = [
        "2024-02-29T20:34:56+08:00",
        "1709210096.007",
        "1709210096008",
    ];
    folder.write(
        "a.jsonl",
        format!(
            "{{\"id\":3,\"text\":\"a\",\"at\":\"{}\"}}\n{{\"id\":1,\"text\":\"b\",\"at\":{}}}\n\
             {{\"id\":2,\"text\":\"c\",\"at\":{}}}\n",
            times[0], times[1], times[2]
        ),
    );
    for (name, comma) in [("a.csv", ","), ("a.tsv", "\t")] {
        let [one, two, three] = times;
        folder.write(
            name,
            format!("at,id,text\n{one},3,a\n{two},1,b\n{three},2,c\n").replace(',', comma),
        );
    }
    let expected = [
        (1, "2024-02-29T12:34:56.007Z".to_owned()),
        (2, "2024-02-29T12:34:56.008Z".to_owned()),
        (3, "2024-02-29T12:34:56.000Z".to_owned()),
    ];
    // With `--unique` the documents go through changes instead of a bulk load.
    for name in ["a.jsonl", "a.csv", "a.tsv"] {
        for unique in [&[][..], &["--unique", "3"]] {
            let database = format!("{name}.{}.simdb", unique.len());
            let options = ["--time", "at", "--arrivals"];
            folder
                .load(&[&[database.as_str(), name], &options[..], unique].concat())
                .ends(0);
            assert_eq!(arrivals(&folder, &database), expected, "{name}");
        }
    }
    folder
        .load(&[
            "frozen.simdb",
            "a.csv",
            "--time",
            "at",
            "--arrivals",
            "--frozen",
            "--unique",
            "3",
        ])
        .ends(0);
    assert_eq!(arrivals(&folder, "frozen.simdb"), expected);
    folder
        .cli(&["export", "frozen.simdb", "--format", "csv", "-o", "b.csv"])
        .ends(0);
    folder
        .load(&[
            "b.simdb",
            "b.csv",
            "--fingerprint",
            "fingerprint",
            "--time",
            "arrival",
            "--arrivals",
        ])
        .ends(0);
    assert_eq!(arrivals(&folder, "b.simdb"), expected);
}

#[test]
fn documents_without_arrival_arrive_at_load() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl", "--arrivals"]).ends(0);
    let arrivals = arrivals(&folder, "a.simdb");
    assert_eq!(arrivals.len(), 4);
    assert!(arrivals.iter().all(|(_, time)| time == &arrivals[0].1));
    assert!(arrivals[0].1.as_str() > "2024-01-01");
}

#[test]
fn invalid_arrivals_are_rejected_with_reason() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        r#"{"id":1,"text":"a","at":-1}
{"id":2,"text":"a"}
{"id":3,"text":"a","at":null}
{"id":4,"text":"a","at":"yesterday"}
{"id":5,"text":"a","at":1709210096007000}
{"id":6,"text":"a","at":1709210096}
"#,
    );
    let options = [
        "--time",
        "at",
        "--arrivals",
        "--on-error",
        "skip",
        "--rejects",
        "r.jsonl",
    ];
    folder
        .load(&[&["a.simdb", "a.jsonl"], &options[..]].concat())
        .ends(0);
    assert_eq!(documents(&folder, "a.simdb"), 1);
    let rejects = folder.read_json("r.jsonl");
    let said = [
        "field \"at\": -1 is not a time: it is before 1970",
        "there is no field \"at\"",
        "field \"at\": null is not a time",
        "field \"at\": \"yesterday\" is not a time",
        "name its unit with --time-unit",
    ];
    assert_eq!(rejects.len(), said.len());
    for ((reject, said), line) in rejects.iter().zip(said).zip(1..) {
        assert_eq!(
            (&reject["line"], &reject["id"]),
            (&line.into(), &line.into())
        );
        let reason = reject["reason"].as_str().expect("a reason");
        assert!(reason.contains(said), "{reason}");
    }
}

#[test]
fn time_option_needs_retention_and_time_field() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.write("a.txt", "text\n");
    folder.write("a.raw", raw_pairs(&[(1, 1)]));
    folder
        .load(&["a.simdb", "a.jsonl", "--time", "at"])
        .fails(&["--time needs", "--arrivals"]);
    for input in ["a.txt", "a.raw"] {
        folder
            .load(&["a.simdb", input, "--time", "at", "--arrivals"])
            .fails(&["no field for --time"]);
    }
    folder
        .load(&["a.simdb", "a.jsonl", "--time", "id", "--arrivals"])
        .fails(&["different fields"]);
}

#[test]
fn recipe_of_new_database_can_be_chosen() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder
        .load(&["a.simdb", "a.jsonl", "--recipe", "jieba"])
        .ends(0);
    let stats = folder
        .cli(&["stats", "a.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(stats["recipe"], "jieba");
}

#[test]
fn non_database_is_left_unchanged() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.write("a.simdb", "this is a text, not a database");
    folder.load(&["a.simdb", "a.jsonl"]).fails(&["a.simdb"]);
    assert_eq!(folder.read("a.simdb"), "this is a text, not a database");
}

#[test]
fn parallel_load_keeps_order_of_documents() {
    let folder = Folder::new();
    let mut lines = String::new();
    for id in 0..30_000u64 {
        // Every tenth text is a copy of the previous one.
        let text = (id - u64::from(id % 10 == 9)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        lines.push_str(&format!(
            "{{\"id\":{id},\"text\":\"{text:x} {:x} {:x}\"}}\n",
            text >> 7,
            !text
        ));
    }
    folder.write("a.jsonl", lines);
    let arguments = [
        "a.simdb",
        "a.jsonl",
        "--unique",
        "0",
        "--threads",
        "4",
        "--duplicates",
        "d.jsonl",
        "--json",
    ];
    let ran = folder.load(&arguments).ends(0);
    assert_eq!(counts(&ran), [30_000, 27_000, 3_000, 0, 0]);
    for (nth, duplicate) in folder.read_json("d.jsonl").iter().enumerate() {
        let id = 10 * nth as u64 + 9;
        assert_eq!(
            (
                &duplicate["id"],
                &duplicate["duplicate_of"],
                &duplicate["line"]
            ),
            (&json!(id), &json!(id - 1), &json!(id + 1))
        );
    }
}

#[test]
fn export_can_be_loaded_again() {
    let folder = Folder::new();
    folder.write("a.jsonl", format!("{TEXTS}{{\"id\":5,\"text\":\"\"}}\n"));
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    let original = folder.cli(&["export", "a.simdb"]).ends(0).stdout;
    for format in ["jsonl", "csv"] {
        let (file, copy) = (format!("b.{format}"), format!("{format}.simdb"));
        folder
            .cli(&["export", "a.simdb", "--format", format, "-o", &file])
            .ends(0);
        let fields = [
            "--fingerprint",
            "fingerprint",
            "--text",
            "text",
            "--keep-texts",
        ];
        folder
            .load(&[&[copy.as_str(), &file], &fields[..]].concat())
            .ends(0);
        assert_eq!(
            folder.cli(&["export", &copy]).ends(0).stdout,
            original,
            "{format}"
        );
    }
    let raw = folder
        .cli(&["export", "a.simdb", "--format", "raw"])
        .ends(0);
    assert_eq!(raw.stdout_bytes.len(), 4 * 16);
    assert!(raw.stderr.contains("left out 1 document"), "{}", raw.stderr);
    folder
        .load_from(&["raw.simdb", "-", "--format", "raw"], &raw.stdout_bytes)
        .ends(0);
    assert_eq!(documents(&folder, "raw.simdb"), 4);
}

#[test]
fn progress_is_shown_only_on_request() {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    assert_eq!(folder.load(&["a.simdb", "a.jsonl"]).ends(0).stderr, "");
    let ran = folder
        .load(&["b.simdb", "a.jsonl", "--progress", "always"])
        .ends(0);
    assert!(ran.stderr.contains("reading"), "{}", ran.stderr);
    let ran = folder
        .load(&["c.simdb", "a.jsonl", "--progress", "never"])
        .ends(0);
    assert_eq!(ran.stderr, "");
}

#[test]
fn contradictory_options_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "text\n");
    folder
        .load(&["a.simdb", "a.txt", "--memory", "1MiB"])
        .fails(&["--memory"]);
    folder
        .load(&["a.simdb", "a.txt", "--fingerprint", "f"])
        .fails(&["--fingerprint"]);
    for arguments in [
        &["a.simdb", "a.txt", "--memory", "much"][..],
        &["a.simdb", "a.txt", "--unique", "65"],
        &["a.simdb", "a.txt", "--duplicates", "d.jsonl"],
        &["a.simdb", "a.txt", "--threads", "0"],
        &[],
    ] {
        folder.load(arguments).ends(2);
    }
}

/// The process gets the signal while it waits for input.
#[cfg(unix)]
#[test]
fn interrupted_load_leaves_no_file() {
    use std::process::Stdio;
    let reports = ["--unique", "3", "--duplicates", "d.jsonl"];
    let rejects = ["--on-error", "skip", "--rejects", "r.jsonl"];
    for mode in [&[][..], &rejects, &reports] {
        for signal in ["-INT", "-TERM"] {
            let folder = Folder::new();
            let mut child = folder
                .command("simdb-load")
                .args(["a.simdb", "-"])
                .args(mode)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the loader starts");
            let mut pipe = child.stdin.take().expect("a pipe");
            pipe.write_all(TEXTS.as_bytes()).expect("written");
            // The signal handler is installed before the temporary file is created.
            folder.wait_for(|_| true);
            let ran = stop(child, signal);
            drop(pipe);
            ran.fails(&["interrupted; nothing was changed"]);
            assert!(folder.names().is_empty(), "{:?}", folder.names());
        }
    }
}

/// Loads `a.raw` into `a.simdb`, with files limited to this many blocks.
#[cfg(unix)]
fn load_with_files_of(blocks: u32, folder: &Folder) -> Ran {
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let output = std::process::Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", &limited, env!("CARGO_BIN_EXE_simdb-load")])
        .args(["a.simdb", "a.raw", "--unique", "0", "--threads", "1"])
        .output()
        .expect("the loader runs");
    Ran::from(output)
}

/// A limit on file sizes stands in for a full disk.
#[cfg(unix)]
#[test]
fn unwritable_new_database_is_reported_as_not_created() {
    for blocks in [1, 100, 2000, 6000] {
        let folder = Folder::new();
        let pairs: Vec<_> = (0..200_000u64)
            .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        folder.write("a.raw", raw_pairs(&pairs));
        let ran =
            load_with_files_of(blocks, &folder).fails(&["a.simdb was not created", "caused by"]);
        assert!(!ran.stderr.contains("new.simdb"), "{}", ran.stderr);
        assert_eq!(folder.names(), ["a.raw"]);
    }
}

/// The database is small enough to stay in its journal until the close.
#[cfg(unix)]
#[test]
fn new_database_is_whole_or_reported_as_not_created() {
    let pairs: Vec<_> = (0..60_000u64)
        .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let mut ends = [0, 0];
    for blocks in [2000, 5000, 7000, 9000, 20_000] {
        let folder = Folder::new();
        folder.write("a.raw", raw_pairs(&pairs));
        let ran = load_with_files_of(blocks, &folder);
        let is_there = ran.code == 0;
        ends[usize::from(is_there)] += 1;
        if is_there {
            assert_eq!(folder.names(), ["a.raw", "a.simdb"]);
            let checked = folder.cli(&["check", "a.simdb"]).ends(0);
            assert!(checked.stdout.contains("60,000 documents"), "{checked:?}");
        } else {
            ran.fails(&["a.simdb was not created", "caused by"]);
            assert_eq!(folder.names(), ["a.raw"]);
        }
    }
    assert!(ends.iter().all(|times| *times > 0), "{ends:?}");
}

/// Records of raw pairs with ids from `first` on.
fn raw_records(first: u64, count: u64) -> Vec<u8> {
    let pairs: Vec<_> = (first..first + count)
        .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    raw_pairs(&pairs)
}

#[cfg(unix)]
#[test]
fn load_on_a_full_disk_says_what_is_there_and_to_free_space() {
    let folder = Folder::new();
    folder.write("some.raw", raw_records(0, 1_000));
    folder.write("many.raw", raw_records(1_000, 300_000));
    for options in [&[][..], &["--unique", "0"]] {
        let Some(disk) = SmallDisk::new("8m") else {
            return;
        };
        let database = disk.path().join("a.simdb");
        let database = database.to_str().expect("a path in UTF-8");
        let many = ["many.raw", "--memory", "64MiB"];
        let load = [&[database], &many[..], options].concat();
        let full = "the disk is full: free some space on it";
        let ran = folder.load(&load);
        let ran = ran.fails(&["nothing was loaded", "a.simdb was not created", full]);
        assert_eq!(
            ran.stderr.matches("No space left").count(),
            1,
            "{}",
            ran.stderr
        );

        folder.load(&[database, "some.raw"]).ends(0);
        let ran = folder.load(&load);
        let ran = ran.fails(&["nothing was loaded", "a.simdb is as it was", full]);
        assert_eq!(
            ran.stderr.matches("No space left").count(),
            1,
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("unknown"), "{}", ran.stderr);
        let checked = folder.cli(&["check", database]).ends(0);
        assert!(checked.stdout.contains("1,000 documents"), "{checked:?}");
    }
}

#[test]
fn load_that_loses_the_race_to_create_the_database_says_to_repeat_it() {
    use std::process::Stdio;
    for mode in [&[][..], &["--unique", "3"]] {
        let folder = Folder::new();
        folder.write("a.jsonl", TEXTS);
        let mut child = folder
            .command("simdb-load")
            .args(["a.simdb", "-"])
            .args(mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the loader starts");
        // Its temporary file or folder.
        folder.wait_for(|name| name.starts_with(".simdb-"));
        folder.load(&["a.simdb", "a.jsonl"]).ends(0);
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(TEXTS.as_bytes()).expect("written");
        drop(pipe);
        let ran = Ran::from(child.wait_with_output().expect("the loader ends"));
        let ran = ran.fails(&["nothing was loaded", "a.simdb", "repeat the load"]);
        assert!(!ran.stderr.contains("another name"), "{}", ran.stderr);
        assert_eq!(folder.names(), ["a.jsonl", "a.simdb"]);
    }
}

#[test]
fn help_has_examples() {
    let folder = Folder::new();
    for help in ["-h", "--help"] {
        let ran = folder.load(&[help]).ends(0);
        assert!(
            ran.stdout.contains("Examples:\n  simdb-load "),
            "{}",
            ran.stdout
        );
    }
    let help = folder.load(&["--help"]).ends(0).stdout;
    // Without line ends, which any new word moves.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        ".simdb-load-",
        "even if its text has changed",
        "Formats:",
        "2 not loaded, or loaded but a report",
    ] {
        assert!(help.contains(said), "{said}: {help}");
    }
}
