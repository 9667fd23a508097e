//! CSV files, as other software and as the tools write them.

use crate::common::Folder;
use serde_json::{Value, json};

const LINES: &str = "id,text\n1,\"alpha beta\n2,lorem ipsum\n3,\"one two\"\n4,red green\n";

#[test]
fn stray_quotation_mark_does_not_swallow_next_records() {
    let folder = Folder::new();
    folder.write("a.csv", LINES);
    folder
        .load(&["a.simdb", "a.csv"])
        .fails(&["a.csv:2: text follows a closing quotation mark"]);
    let skip = ["--on-error", "skip", "--rejects", "r.jsonl", "--json"];
    let ran = folder.load(&[&["a.simdb", "a.csv"], &skip[..]].concat());
    let counts = ran.ends(0).one_json();
    let expected = [("read", 2), ("inserted", 1), ("rejected", 1)];
    for (name, expected) in expected {
        assert_eq!(counts[name], expected, "{name}: {counts}");
    }
    assert_eq!(folder.read_json("r.jsonl")[0]["line"], 2);
    folder.write("names.csv", LINES.replace("id,", "\"id\"x,"));
    folder
        .load(&["b.simdb", "names.csv"])
        .fails(&["names.csv:1: text follows a closing quotation mark"]);
    // A quotation mark inside an unquoted field is literal.
    folder.write("inch.csv", "id,text\n1,a 5\" disk\n2,\"a 3\"\" disk\"\n");
    folder.load(&["c.simdb", "inch.csv"]).ends(0);
}

#[test]
fn csv_with_bare_carriage_returns_is_refused() {
    let folder = Folder::new();
    let arguments = ["a.simdb", "a.csv", "--id", "id", "--fingerprint", "f"];
    for lines in [
        "id,f,x\r1,00000000000000ff,a\r",
        "id,f\r1,00000000000000ff\r",
    ] {
        folder.write("a.csv", lines);
        folder
            .load(&arguments)
            .fails(&["a.csv:1: a carriage return stands where no line ends"]);
        folder.write("a.tsv", lines.replace(',', "\t"));
        folder
            .load(&[&["a.simdb", "a.tsv"], &arguments[2..]].concat())
            .fails(&["a.tsv:1: a carriage return stands where no line ends"]);
    }
    // Within quotation marks a carriage return is part of a name.
    folder.write("a.csv", "id,f,\"of\rtwo\"\r\n1,00000000000000ff,\r\n");
    folder.load(&arguments).ends(0);
}

#[test]
fn texts_ending_in_carriage_return_survive_csv() {
    let folder = Folder::new();
    let texts = [
        "ends in one\r",
        "in two\r\r",
        "\r",
        "in a line\r\n",
        "in none",
    ];
    let objects = (1..)
        .zip(texts)
        .map(|(id, text)| json!({"id": id, "text": text}));
    let lines: Vec<String> = objects.map(|object| format!("{object}\n")).collect();
    folder.write("a.jsonl", lines.concat());
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    let export = ["export", "a.simdb", "--format", "csv"];
    let exported = folder.cli(&export).ends(0).stdout;
    for (name, table) in [("b", exported.clone()), ("c", with_returns(&exported))] {
        let (csv, made) = (format!("{name}.csv"), format!("{name}.simdb"));
        folder.write(&csv, &table);
        folder.load(&[&made, &csv, "--keep-texts"]).ends(0);
        let again = folder.cli(&["export", &made]).ends(0).json();
        let again: Vec<&Value> = again.iter().map(|object| &object["text"]).collect();
        assert_eq!(again, texts, "{table:?}");
    }
}

/// The table with a carriage return before each line feed that ends a record.
fn with_returns(table: &str) -> String {
    let mut is_quoted = false;
    let mut made = String::new();
    for character in table.chars() {
        is_quoted ^= character == '"';
        if character == '\n' && !is_quoted {
            made.push('\r');
        }
        made.push(character);
    }
    made
}

#[test]
fn record_of_empty_fields_counts_with_any_line_end() {
    let folder = Folder::new();
    for end in ["\n", "\r\n"] {
        folder.write(
            "a.csv",
            ["note,text", ",", "", "x,last"]
                .map(|line| format!("{line}{end}"))
                .concat(),
        );
        let arguments = ["dedup", "a.csv", "-o", "out.csv", "--no-id", "--json"];
        let counts = folder.cli(&arguments).ends(0).one_json();
        assert_eq!(counts["read"], 2, "{end:?}: {counts}");
        std::fs::remove_file(folder.file("out.csv")).expect("removed");
    }
}

/// Longer than a record may be if texts have at most 1 KiB.
const MANY: usize = (1 << 20) + (8 << 10);

#[test]
fn oversized_record_is_rejected_and_next_are_read() {
    let folder = Folder::new();
    let lines = "a \"\"b\"\", c\n".repeat(MANY / 10);
    let line = "a b c ".repeat(MANY / 5);
    let line_feeds = lines.matches('\n').count();
    folder.write(
        "a.csv",
        format!("id,text\n1,one\n2,\"{lines}\"\n\n3,three\nx,bad\n4,{line}\n5,five\n6,{line}"),
    );
    folder.write(
        "a.tsv",
        format!("id\ttext\n1\tone\n2\t\"{line}\n3\tthree\r\n4\t{line}"),
    );
    let skip = ["--on-error", "skip", "--max-text", "1KiB", "--rejects"];
    for (name, bad_lines, inserted) in [
        (
            "a.csv",
            vec![
                3,
                3 + line_feeds + 3,
                3 + line_feeds + 4,
                3 + line_feeds + 6,
            ],
            vec![1, 3, 5],
        ),
        ("a.tsv", vec![3, 5], vec![1, 3]),
    ] {
        let (database, rejects) = (format!("{name}.simdb"), format!("{name}.jsonl"));
        let arguments = [&database, name];
        folder
            .load(&[&arguments[..], &skip, &[&rejects]].concat())
            .ends(0);
        let exported = folder.cli(&["export", &database]).ends(0).json();
        let ids: Vec<_> = exported.iter().map(|line| line["id"].clone()).collect();
        assert_eq!(ids, inserted, "{name}");
        let rejects = folder.read_json(&rejects);
        let lines: Vec<_> = rejects.iter().map(|line| line["line"].clone()).collect();
        assert_eq!(lines, bad_lines, "{name}");
        for reject in &rejects {
            let reason = reject["reason"].as_str().expect("a reason");
            let is_long = reason.starts_with(
                "the record is longer than 1050624 bytes; a larger --max-text allows more",
            );
            assert!(is_long || reason.contains("is not an id"), "{reason}");
        }
        // A copy lacks the rejected records, and nothing else.
        let copy = format!("kept-{name}");
        let dedup = ["dedup", name, "-o", &copy, "--on-error", "skip"];
        folder
            .cli(&[&dedup[..], &["--max-text", "1KiB"]].concat())
            .ends(0);
        let copied = folder.read(&copy);
        assert!(copied.len() < 100 && copied.contains("three"), "{copied}");
        folder
            .load(&["b.simdb", name, "--max-text", "1KiB"])
            .fails(&["a.", ":3: the record is longer than", "--max-text"]);
    }
}

#[test]
fn unclosed_quotation_mark_is_reported_in_any_file_length() {
    let folder = Folder::new();
    let line = "a b c d e\n".repeat(MANY / 10);
    let skip = "--max-text 1KiB --on-error skip --rejects r --force";
    let skip: Vec<&str> = skip.split(' ').collect();
    for (name, end, said, read) in [
        ("open.csv", "", "never closed", 2),
        (
            "far.csv",
            "8,\"eight\"\n9,nine\n",
            "text follows a closing",
            3,
        ),
    ] {
        folder.write(name, format!("id,text\n1,one\n2,\"{line}{end}"));
        let database = format!("{name}.simdb");
        let ran = folder.load(&[&[&database, name, "--json"], &skip[..]].concat());
        assert_eq!(ran.ends(0).one_json()["read"], read, "{name}");
        let reject = &folder.read_json("r")[0];
        let reason = reject["reason"].as_str().expect("a reason");
        assert!(reject["line"] == 3 && reason.contains(said), "{reject}");
    }
    // A column name that extends over the whole file.
    folder.write("names.csv", format!("id,\"{line}\",text\n1,a,b\n"));
    folder
        .load(&["names.simdb", "names.csv", "--max-text", "1KiB"])
        .fails(&["names.csv:1: the record is longer than", "--max-text"]);
}
