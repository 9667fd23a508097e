//! Inputs and options that are not possible, and the sentences that refuse them.

use crate::common::Folder;
use serde_json::Value;

const TEXT: &str = "The ferry to the islands was cancelled due to heavy fog.";

/// A folder with `a.simdb`, which holds document 1.
fn stored() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", format!("{{\"id\":1,\"text\":\"{TEXT}\"}}\n"));
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    folder
}

#[test]
fn limit_of_0_and_negative_numbers_are_refused_with_the_reason() {
    let folder = stored();
    let query = ["query", "a.simdb", "--id", "1"];
    for (option, value, said) in [
        ("--limit", "0", "give 1 or more"),
        ("--nearest", "0", "give 1 or more"),
        ("--limit", "-1", "\"-1\" is not a number of matches"),
        ("--nearest", "-1", "\"-1\" is not a number of matches"),
        ("--radius", "-1", "-1 is not in 0..=64"),
        ("--radius", "65", "65 is not in 0..=64"),
    ] {
        let ran = folder.cli(&[&query[..], &[option, value]].concat());
        assert!(!ran.stderr.contains("-- -1"), "{ran:?}");
        ran.fails(&[said]);
    }
    let ran = folder.cli(&["get", "a.simdb", "-1"]);
    assert!(!ran.stderr.contains("-- -1"), "{ran:?}");
    ran.fails(&["\"-1\" is not an id"]);
    let ran = folder.load(&["b.simdb", "a.jsonl", "--threads", "-1"]);
    assert!(!ran.stderr.contains("-- -1"), "{ran:?}");
    ran.fails(&["-1 is not in 1..=1024"]);
}

#[test]
fn rejects_need_on_error_skip() {
    let folder = stored();
    let rejects = ["--rejects", "r.jsonl"];
    folder
        .load(&[&["b.simdb", "a.jsonl"], &rejects[..]].concat())
        .fails(&["--rejects", "it needs --on-error skip"]);
    folder
        .cli(&[&["dedup", "a.jsonl", "-o", "b.jsonl"], &rejects[..]].concat())
        .fails(&["--rejects", "it needs --on-error skip"]);
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb"]);
}

#[test]
fn advice_names_the_tools_and_no_functions() {
    let folder = stored();
    let mut bytes = std::fs::read(folder.file("a.simdb")).unwrap();
    let len = bytes.len();
    bytes[4096..len / 2].fill(7);
    folder.write("damaged.simdb", bytes);
    folder.write("random", [0, 159, 146, 150].repeat(5000));
    for name in ["damaged.simdb", "random"] {
        let ran = folder.cli(&["stats", name]);
        assert!(!ran.stderr.contains("Builder::"), "{ran:?}");
        ran.fails(&["`simdb-cli salvage`"]);
    }
}

#[test]
fn each_foreign_file_is_refused_with_its_own_sentence() {
    let folder = stored();
    folder.write("empty", "");
    let mut sqlite = b"SQLite format 3\0".to_vec();
    sqlite.resize(4096, 0);
    folder.write("sqlite", sqlite);
    for (name, said) in [
        (
            ".",
            "is not a simdb database: it is a folder; give the path of a file",
        ),
        ("empty", "is not a simdb database: it is empty"),
        (
            "sqlite",
            "is not a simdb database: it is an SQLite database",
        ),
        ("a.jsonl", "is not a simdb database: it is a text file"),
        ("none", "there is no database none"),
    ] {
        folder.cli(&["stats", name]).fails(&[said]);
    }
}

#[test]
fn time_is_refused_with_the_reason_and_year_9999_is_read_in_each_notation() {
    let folder = Folder::new();
    let load = |time: &str| {
        folder.write(
            "t.jsonl",
            format!("{{\"id\":1,\"text\":\"{TEXT}\",\"at\":{time}}}\n"),
        );
        let options = ["--time", "at", "--arrivals"];
        let _ = std::fs::remove_file(folder.file("t.simdb"));
        folder.load(&[&["t.simdb", "t.jsonl"], &options[..]].concat())
    };
    load("\"2024-05-31T12:00:00\"").fails(&["t.jsonl:1", "it has no zone; append Z for UTC"]);
    load("\"2024-05-31\"").fails(&["it has no time of day"]);
    load("\"+10000-01-01T00:00:00Z\"").fails(&["is after the year 9999"]);
    load("253402300800000").fails(&["name its unit with --time-unit"]);
    for notation in [
        "\"9999-12-31T23:59:59Z\"",
        "\"9999-12-31T23:59:59.000+00:00\"",
    ] {
        // Read, and then refused as too far ahead.
        load(notation).fails(&["arrival time 9999-12-31T23:59:59.000Z"]);
    }
}

#[test]
fn duration_that_is_too_long_is_refused_as_such() {
    let folder = stored();
    for option in ["99999999999d", "184467440737095516160ms"] {
        folder
            .load(&["b.simdb", "a.jsonl", "--retention", option])
            .fails(&["is too long"]);
        folder
            .cli(&["prune", "a.simdb", "--older-than", option])
            .fails(&["is too long"]);
    }
}

/// Runs the last command line of the examples of `export --help`, and compares what comes out of
/// both databases.
#[test]
fn export_into_load_keeps_texts_and_times_as_the_help_says() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        format!(
            "{{\"id\":1,\"text\":\"{TEXT}\",\"at\":1700000000}}\n\
             {{\"id\":2,\"text\":\"short\",\"at\":\"2024-02-29T12:34:56.007Z\"}}\n\
             {{\"id\":3,\"text\":\"quote \\\" and\\nline\",\"at\":1700000001.5}}\n"
        ),
    );
    let options = ["--keep-texts", "--arrivals", "--time", "at"];
    folder
        .load(&[&["old.simdb", "a.jsonl"], &options[..]].concat())
        .ends(0);
    let help = folder.cli(&["export", "--help"]).ends(0).stdout;
    // The help may be wrapped.
    let words: Vec<&str> = help.split_whitespace().collect();
    let last = words
        .windows(3)
        .rposition(|words| words == ["simdb-cli", "export", "old.simdb"]);
    let command = &words[last.unwrap()..];
    let (export, load) = command.split_at(command.iter().position(|word| *word == "|").unwrap());
    assert_eq!(load[1], "simdb-load");
    let exported = folder.cli(&export[1..]).ends(0);
    folder.load_from(&load[2..], &exported.stdout_bytes).ends(0);
    let again = folder.cli(&["export", "new.simdb"]).ends(0);
    assert_eq!(again.stdout, exported.stdout);
    assert!(
        again.stdout.contains("2024-02-29T12:34:56.007Z"),
        "{again:?}"
    );
}

#[test]
fn dedup_help_lists_the_formats() {
    let folder = Folder::new();
    let help = folder.cli(&["dedup", "--help"]).ends(0).stdout;
    for format in [
        "jsonl (",
        "csv (",
        "tsv (",
        "lines (",
        "parquet (",
        ".ndjson",
        "npy",
    ] {
        assert!(help.contains(format), "{format}: {help}");
    }
}

#[test]
fn rejects_come_in_input_order_with_their_ids() {
    let folder = stored();
    let fingerprint = |bits: u64| format!("{bits:016x}");
    let mut lines = String::new();
    // Every third record is bad, every third has a taken id, in falling order of ids.
    for number in (1..=300_u64).rev() {
        lines.push_str(&match number % 3 {
            0 => format!("{{\"id\":{number},\"f\":\"no\"}}\n"),
            1 => format!("{{\"id\":1000,\"f\":\"{}\"}}\n", fingerprint(number)),
            _ => format!(
                "{{\"id\":{number},\"f\":\"{}\"}}\n",
                fingerprint(number << 32)
            ),
        });
    }
    folder.write("b.jsonl", lines);
    let skip = [
        "--fingerprint",
        "f",
        "--on-error",
        "skip",
        "--rejects",
        "r.jsonl",
        "--force",
    ];
    for unique in [&[][..], &["--unique", "0"]] {
        let _ = std::fs::remove_file(folder.file("b.simdb"));
        folder
            .load(&[&["b.simdb", "b.jsonl"], &skip[..], unique].concat())
            .ends(0);
        let rejects = folder.read_json("r.jsonl");
        let lines: Vec<u64> = rejects
            .iter()
            .map(|line| line["line"].as_u64().unwrap())
            .collect();
        assert_eq!(lines.len(), 199, "{unique:?}");
        assert!(lines.is_sorted_by(|a, b| a < b), "{unique:?}: {lines:?}");
        assert!(
            rejects.iter().all(|line| line["id"] != Value::Null),
            "{rejects:?}"
        );
    }
}

#[test]
fn id_of_a_bad_csv_record_is_reported_if_it_could_be_read() {
    let folder = Folder::new();
    folder.write(
        "a.csv",
        "id,text,x\n1,a,b,c\n2,a\n3,\"a\"b,c\n4,\"never closed,c\n5,a,b\n",
    );
    let skip = ["--on-error", "skip", "--rejects", "r.jsonl"];
    folder
        .load(&[&["a.simdb", "a.csv"], &skip[..]].concat())
        .ends(2);
    let rejects = folder.read_json("r.jsonl");
    let ids: Vec<_> = rejects.iter().map(|line| line["id"].as_u64()).collect();
    assert_eq!(ids, [Some(1), Some(2), Some(3), Some(4)]);
    let reason = rejects[3]["reason"].as_str().unwrap();
    assert!(
        reason.contains("never closed; lines 5 to 6 were read as one record"),
        "{reason}"
    );
}

#[test]
fn lines_that_an_unterminated_quotation_mark_swallowed_are_named() {
    let folder = Folder::new();
    folder.write(
        "a.csv",
        "id,text\n1,\"alpha\n2,beta\n3,\"gamma\"\n4,delta\n",
    );
    folder.load(&["a.simdb", "a.csv"]).fails(&[
        "a.csv:2",
        "lines 2 to 4 were read as one record, because of a quotation mark",
    ]);
}

#[test]
fn empty_path_is_refused_with_its_own_sentence() {
    let folder = Folder::new();
    folder.write("a.csv", "id,text\n1,alpha\n");
    let said = "the path is empty; give the path of a file";
    folder.cli(&["stats", ""]).fails(&[said, "DATABASE"]);
    folder.load(&["", "a.csv"]).fails(&[said, "DATABASE"]);
    folder
        .load(&["a.simdb", "a.csv", "--duplicates", "", "--unique", "3"])
        .fails(&[said]);
}
