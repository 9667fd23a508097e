//! Tables of comma-separated values as others write them, and as the tools write them.

use crate::common::Folder;
use serde_json::{Value, json};

const LINES: &str = "id,text\n1,\"alpha beta\n2,lorem ipsum\n3,\"one two\"\n4,red green\n";

#[test]
fn a_quotation_mark_too_many_does_not_swallow_the_records_behind_it() {
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
    // A mark within a field that does not begin with one is only that.
    folder.write("inch.csv", "id,text\n1,a 5\" disk\n2,\"a 3\"\" disk\"\n");
    folder.load(&["c.simdb", "inch.csv"]).ends(0);
}

#[test]
fn a_table_whose_lines_end_in_carriage_returns_alone_is_refused() {
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
    // Within quotation marks it is part of a name.
    folder.write("a.csv", "id,f,\"of\rtwo\"\r\n1,00000000000000ff,\r\n");
    folder.load(&arguments).ends(0);
}

#[test]
fn texts_that_end_in_carriage_returns_come_back_out_of_csv_as_they_were() {
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

/// The same table with a carriage return before each line feed that ends a record.
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
fn a_record_of_empty_fields_is_one_whatever_ends_its_line() {
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
