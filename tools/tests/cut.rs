//! `simdb-cli cut`: output, exit codes, errors.

use std::collections::{HashMap, HashSet};
use std::fs::File;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use crate::common::{Folder, Ran};

const NAV: &str = "Home | Products | Log in";
const END: &str = "We use cookies. All prices include VAT.";

fn cut(folder: &Folder, arguments: &[&str]) -> Ran {
    folder.cli(&[&["cut"], arguments].concat())
}

fn folder_with(name: &str, content: &str) -> Folder {
    let folder = Folder::new();
    folder.write(name, content);
    folder
}

fn records(texts: &[&str]) -> String {
    let line = |(id, text): (usize, &&str)| {
        let text = json!(text);
        format!("{{ \"x\":1.50, \"id\":{id}, \"text\" : {text} ,\"y\":\"\\u00e9\"}}\n")
    };
    (1..).zip(texts).map(line).collect()
}

/// The texts of a.jsonl without repeated blocks.
fn texts(folder: &Folder, options: &[&str]) -> Vec<String> {
    let arguments = [&["a.jsonl", "-o", "o.jsonl", "--force"], options].concat();
    cut(folder, &arguments).ends(0);
    let text = |line: Value| line["text"].as_str().unwrap().to_owned();
    folder.read_json("o.jsonl").into_iter().map(text).collect()
}

#[test]
fn repeated_paragraph_stays_in_first_document_and_rest_is_copied_exactly() {
    let shouted = END.to_uppercase();
    let input = records(&[
        &format!("{NAV}\n\nA kettle.\n\n{END}"),
        &format!("{NAV}\n\nA toaster.\n\n{shouted}"),
        "Nothing is repeated here.",
        &format!("HOME · Products, log in\n\n{END}\n\n{END}\n"),
    ]);
    let folder = folder_with("a.jsonl", &input);
    let arguments = [
        "a.jsonl",
        "-o",
        "o.jsonl",
        "--paragraphs",
        "--report",
        "cut.jsonl",
        "--json",
    ];
    let summary = cut(&folder, &arguments).ends(0).one_json();
    let removed_bytes = 2 * NAV.len() + 3 * END.len() + 9;
    for (name, expected) in [
        ("read", 4),
        ("changed", 2),
        ("emptied", 1),
        ("rejected", 0),
        ("blocks", 2),
        ("removed", 5),
        ("removed_bytes", removed_bytes),
    ] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    let lines: Vec<&str> = input.lines().collect();
    let expected = [
        lines[0].to_owned(),
        lines[1].replace(
            &json!(format!("{NAV}\n\nA toaster.\n\n{shouted}")).to_string(),
            "\"A toaster.\"",
        ),
        lines[2].to_owned(),
        "{ \"x\":1.50, \"id\":4, \"text\" : \"\" ,\"y\":\"\\u00e9\"}".to_owned(),
    ];
    assert_eq!(folder.read("o.jsonl"), expected.join("\n") + "\n");
    let report = folder.read_json("cut.jsonl");
    assert_eq!(
        report,
        [
            json!({"text": NAV, "documents": 3, "removed": 2, "id": 1, "file": "a.jsonl", "line": 1}),
            json!({"text": END, "documents": 3, "removed": 3, "id": 1, "file": "a.jsonl", "line": 1}),
        ]
    );
    let table = cut(&folder, &["a.jsonl", "-o", "p.jsonl", "--paragraphs"]).ends(0);
    assert!(table.stdout.contains("paragraphs"), "{table:?}");
    assert_eq!(
        folder.names(),
        ["a.jsonl", "cut.jsonl", "o.jsonl", "p.jsonl"]
    );
}

#[test]
fn threshold_counts_documents_and_not_occurrences() {
    let input = records(&["same\nsame\nsame\nA", "same\nB", "C\nSame!"]);
    let folder = folder_with("a.jsonl", &input);
    assert_eq!(
        texts(&folder, &["--lines", "--in-documents", "4"]),
        ["same\nsame\nsame\nA", "same\nB", "C\nSame!"]
    );
    // Three documents are the default. All occurrences in the first document stay.
    let expected = ["same\nsame\nsame\nA", "B", "C"];
    assert_eq!(texts(&folder, &["--lines"]), expected);
    assert_eq!(
        texts(&folder, &["--lines", "--in-documents", "3"]),
        expected
    );
    let two = records(&["same\nA", "same\nB"]);
    folder.write("a.jsonl", two);
    assert_eq!(texts(&folder, &["--lines"]), ["same\nA", "same\nB"]);
    assert_eq!(
        texts(&folder, &["--lines", "--in-documents", "2"]),
        ["same\nA", "B"]
    );
    for bad in ["0", "1", "-1", "x"] {
        cut(
            &folder,
            &["a.jsonl", "-o", "b.jsonl", "--lines", "--in-documents", bad],
        )
        .fails(&["--in-documents"]);
    }
}

#[test]
fn line_ends_widths_and_chinese_characters_make_no_difference() {
    let input = records(&[
        "版權所有，翻印必究\r\n甲\r\n1962",
        "版权所有 翻印必究\r\n\r\n乙\r\n1962",
        "丙\n《版权所有；翻印必究》",
        "版权所有翻印必究。\n1962",
        "1962",
    ]);
    let folder = folder_with("a.jsonl", &input);
    // A line without a letter stays: a number is no boilerplate.
    assert_eq!(
        texts(&folder, &["--lines"]),
        [
            "版權所有，翻印必究\r\n甲\r\n1962",
            "\r\n乙\r\n1962",
            "丙",
            "1962",
            "1962"
        ]
    );
}

#[test]
fn empty_inputs_and_repeated_documents_are_copied() {
    let folder = folder_with("a.jsonl", "");
    for unit in ["--lines", "--paragraphs"] {
        assert!(texts(&folder, &[unit]).is_empty());
    }
    let text = "first\nsecond\n";
    folder.write("a.jsonl", records(&[text, text, text, "", "\n\n"]));
    assert_eq!(texts(&folder, &["--lines"]), [text, "", "", "", "\n\n"]);
    assert_eq!(
        texts(&folder, &["--paragraphs"]),
        [text, "", "", "", "\n\n"]
    );
}

#[test]
fn huge_line_is_counted_and_cut() {
    let huge = "long line ".repeat(300_000);
    let folder = folder_with(
        "a.jsonl",
        &records(&[&huge, &format!("{huge}\nmine"), &huge]),
    );
    assert_eq!(texts(&folder, &["--lines"]), [&huge, "mine", ""]);
}

#[test]
fn all_formats_are_cut() {
    let table = format!(
        "\u{feff}text,id\r\n\"{NAV}\nA, \"\"kettle\"\"\",1\r\n\"{NAV}\nB\",2\r\n\r\n{NAV},3\r\n\"C\n{NAV}\",4"
    );
    let folder = folder_with("a.csv", &table);
    cut(&folder, &["a.csv", "-o", "o.csv", "--lines"]).ends(0);
    let expected = format!(
        "\u{feff}text,id\r\n\"{NAV}\nA, \"\"kettle\"\"\",1\r\n\"B\",2\r\n\r\n\"\",3\r\n\"C\",4"
    );
    assert_eq!(folder.read("o.csv"), expected);
    // A table of one column keeps its empty record.
    folder.write("one.csv", "text\nsame\nsame\nsame\n");
    let arguments = ["one.csv", "-o", "o1.csv", "--lines", "--no-id"];
    cut(&folder, &arguments).ends(0);
    assert_eq!(folder.read("o1.csv"), "text\nsame\n\"\"\n\"\"\n");

    folder.write("a.tsv", "id\ttext\n1\tsame\n2\tsame\n3\tother\n4\tsame\n");
    cut(&folder, &["a.tsv", "-o", "o.tsv", "--paragraphs"]).ends(0);
    assert_eq!(
        folder.read("o.tsv"),
        "id\ttext\n1\tsame\n2\t\n3\tother\n4\t\n"
    );

    // The number of a line is its id, so lines stay as blank lines.
    folder.write("a.txt", "same\r\n\nsame\r\nother\nsame");
    cut(&folder, &["a.txt", "-o", "o.txt", "--lines"]).ends(0);
    assert_eq!(folder.read("o.txt"), "same\r\n\n\r\nother\n");

    let lines = records(&["same\nA", "same\nB", "same\nC"]);
    folder
        .cli_from(
            &["cut", "-", "-o", "o.jsonl.gz", "--lines"],
            lines.as_bytes(),
        )
        .ends(0);
    cut(&folder, &["o.jsonl.gz", "-o", "o.jsonl", "--lines"]).ends(0);
    assert_eq!(folder.read("o.jsonl"), records(&["same\nA", "B", "C"]));
}

/// Writes rows of an id and a text, in row groups of two rows.
fn write_parquet(folder: &Folder, name: &str, rows: &[(i64, Option<&str>)]) {
    let schema = "message m { optional binary text (STRING); required int64 id; }";
    let schema = parse_message_type(schema).unwrap();
    let file = File::create(folder.file(name)).unwrap();
    let mut file = SerializedFileWriter::new(file, schema.into(), Default::default()).unwrap();
    for rows in rows.chunks(2) {
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.1.is_some())).collect();
        let texts = rows.iter().filter_map(|row| row.1.map(ByteArray::from));
        let texts: Vec<ByteArray> = texts.collect();
        let writer = column.typed::<ByteArrayType>();
        writer.write_batch(&texts, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.0).collect();
        column
            .typed::<Int64Type>()
            .write_batch(&ids, None, None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    file.close().unwrap();
}

#[test]
fn texts_of_parquet_are_cut_beside_bad_rows() {
    let folder = Folder::new();
    let rows = [
        (1, Some("same\nA")),
        (2, None),
        (3, None),
        (4, Some("B\nsame")),
        (5, Some("untouched")),
        (6, Some("same")),
    ];
    write_parquet(&folder, "a.parquet", &rows);
    let options = ["--lines", "--on-error", "skip", "--json", "--report", "r"];
    for output in ["o.parquet", "out"] {
        let arguments = [&["a.parquet", "-o", output, "--force"], &options[..]].concat();
        let summary = cut(&folder, &arguments).ends(0).one_json();
        let counts = ["read", "rejected", "changed", "removed"].map(|name| &summary[name]);
        assert_eq!(counts, [6, 2, 2, 2]);
        let path = folder.file(output);
        let path = if output == "out" {
            path.join("a.parquet")
        } else {
            path
        };
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows: Vec<String> = (file.get_row_iter(None).unwrap())
            .map(|row| row.unwrap().to_string())
            .collect();
        let expected = [("same\nA", 1), ("B", 4), ("untouched", 5), ("", 6)];
        let expected = expected.map(|(text, id)| format!("{{text: {text:?}, id: {id}}}"));
        assert_eq!(rows, expected.map(|row| row.replace("\\n", "\n")));
        let place = &folder.read_json("r")[0];
        assert_eq!((&place["row"], &place["line"]), (&json!(0), &Value::Null));
    }
}

#[test]
fn blocks_of_groups_are_counted_for_themselves() {
    let record = |id: u64, site: &str, text: &str| {
        format!("{}\n", json!({"id": id, "site": site, "text": text}))
    };
    let lines = [
        record(1, "a", "same\nA"),
        record(2, "b", "same\nB"),
        record(3, "a", "same\nC"),
        record(4, "b", "same\nD"),
        record(5, "c", "same\nE"),
    ];
    let folder = folder_with("a.jsonl", &lines.concat());
    let options = ["--lines", "--in-documents", "2"];
    assert_eq!(texts(&folder, &options), ["same\nA", "B", "C", "D", "E"]);
    let within = [&options[..], &["--within", "site"]].concat();
    assert_eq!(
        texts(&folder, &within),
        ["same\nA", "same\nB", "C", "D", "same\nE"]
    );
}

#[test]
fn contradicting_options_are_refused() {
    let folder = folder_with("a.jsonl", &records(&["a"]));
    for (options, said) in [
        (&["--lines", "--paragraphs"][..], "cannot be used with"),
        (&[], "--lines"),
        (
            &["--lines", "--fingerprint", "fp"],
            "name their field with --text",
        ),
        (&["--lines", "--rejects", "r"], "--on-error skip"),
    ] {
        let arguments = [&["a.jsonl", "-o", "o.jsonl"], options].concat();
        cut(&folder, &arguments).fails(&[said]);
    }
    assert_eq!(folder.names(), ["a.jsonl"]);
}

#[test]
fn outputs_are_replaced_with_force_only_and_bad_records_abort() {
    let input = records(&["same", "same", "same"]) + "none\n";
    let folder = folder_with("a.jsonl", &input);
    let arguments = ["a.jsonl", "-o", "o.jsonl", "--lines", "--report", "r.jsonl"];
    cut(&folder, &arguments).fails(&["a.jsonl:4", "nothing was changed"]);
    assert_eq!(folder.names(), ["a.jsonl"]);
    let skip = [
        &arguments[..],
        &["--on-error", "skip", "--rejects", "bad.jsonl"],
    ]
    .concat();
    cut(&folder, &skip).ends(0);
    assert_eq!(folder.read("o.jsonl"), records(&["same", "", ""]));
    assert_eq!(folder.read_json("bad.jsonl")[0]["line"], 4);
    folder.write("b.jsonl", records(&["a"]) + &"none\n".repeat(6));
    let keep = ["b.jsonl", "-o", "b.out", "--lines", "--on-error", "keep"];
    let kept = cut(&folder, &keep).ends(0).stderr;
    assert!(kept.contains("kept 1 record after these"), "{kept}");
    cut(&folder, &skip).fails(&["o.jsonl", "--force"]);
    cut(&folder, &[&skip[..], &["--force"]].concat()).ends(0);
    cut(&folder, &["a.jsonl", "-o", "a.jsonl", "--lines", "--force"]).fails(&["an input"]);
    cut(&folder, &["none.jsonl", "-o", "x.jsonl", "--lines"]).fails(&["none.jsonl"]);
}

#[test]
fn random_texts_are_cut_as_by_plain_model() {
    // A small generator, seeded: words of few letters, so that lines repeat.
    let mut state = 42_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut documents = Vec::new();
    for _ in 0..60 {
        let lines = (0..next(6)).map(|_| match next(8) {
            0 => String::new(),
            1 => "---".to_owned(),
            2 => format!("Line {}!", next(9)),
            _ => format!("line {}", next(40)),
        });
        documents.push(lines.collect::<Vec<_>>().join("\n"));
    }
    let form = |line: &str| line.to_lowercase().replace('!', "");
    let mut counts: HashMap<String, HashSet<usize>> = HashMap::new();
    for (number, text) in documents.iter().enumerate() {
        for line in text.split('\n').filter(|line| line.contains("ine")) {
            counts.entry(form(line)).or_default().insert(number);
        }
    }
    let model = |number: usize, text: &str, in_documents: usize| {
        let is_kept = |line: &&str| {
            let documents = counts
                .get(&form(line))
                .filter(|all| all.len() >= in_documents);
            documents.is_none_or(|all| all.iter().min() == Some(&number))
        };
        text.split('\n')
            .filter(is_kept)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let texts_in: Vec<&str> = documents.iter().map(String::as_str).collect();
    let folder = folder_with("a.jsonl", &records(&texts_in));
    for in_documents in [2, 3, 6] {
        let all = (0..).zip(&documents);
        let expected: Vec<String> = all
            .map(|(number, text)| model(number, text, in_documents))
            .collect();
        let number = in_documents.to_string();
        let found = texts(&folder, &["--lines", "--in-documents", &number]);
        assert_eq!(found, expected, "{in_documents}");
    }
}
