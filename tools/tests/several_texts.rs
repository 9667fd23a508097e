//! Texts of several fields: `--text title --text body`.

use serde_json::{Value, json};

use crate::common::Folder;

const TITLE: &str = "Ferry cancelled";
const BODY: &str = "The ferry to the islands was cancelled because of fog.";

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Loads a file, and returns the texts that are stored, by id.
fn loaded(folder: &Folder, load: &[&str]) -> Vec<Value> {
    let common = ["a.simdb", "--keep-texts"];
    folder.load(&[&common[..], load].concat()).ends(0);
    let export = folder.cli(&["export", "a.simdb"]).ends(0);
    std::fs::remove_file(folder.file("a.simdb")).unwrap();
    let documents = export.json().into_iter();
    documents.map(|document| document["text"].clone()).collect()
}

#[test]
fn fields_make_one_text_in_order() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        lines(&[
            json!({"id": 1, "body": BODY, "meta": {"title": TITLE}}),
            json!({"id": 2, "body": BODY, "meta": {"title": null}}),
            json!({"id": 3, "body": BODY}),
            json!({"id": 4, "meta": {"title": TITLE}, "body": ""}),
            json!({"id": 5, "meta": {"title": " "}, "body": null}),
        ]),
    );
    let both = format!("{TITLE}\n{BODY}");
    let texts = loaded(
        &folder,
        &["a.jsonl", "--text", "meta.title", "--text", "body"],
    );
    assert_eq!(texts, [&both, BODY, BODY, TITLE, ""]);
    let texts = loaded(
        &folder,
        &["a.jsonl", "--text", "body", "--text", "meta.title"],
    );
    assert_eq!(texts[0], format!("{BODY}\n{TITLE}"));

    folder.write(
        "a.csv",
        format!("id,title,body\n1,{TITLE},{BODY}\n2,,{BODY}\n"),
    );
    let texts = loaded(&folder, &["a.csv", "--text", "title", "--text", "body"]);
    assert_eq!(texts, [&both, BODY]);

    // An export in Parquet has the columns key and text.
    let page = json!({"url": TITLE, "text": BODY});
    folder.write("pages.jsonl", lines(&[page]));
    folder
        .load(&["pages.simdb", "pages.jsonl", "--key", "url", "--keep-texts"])
        .ends(0);
    let export = [
        "export",
        "pages.simdb",
        "--format",
        "parquet",
        "--similar",
        "-o",
        "a.parquet",
    ];
    folder.cli(&export).ends(0);
    let columns = ["--id", "doc_id", "--text", "key", "--text", "text"];
    let texts = loaded(&folder, &[&["a.parquet"], &columns[..]].concat());
    assert_eq!(texts, [both]);
}

#[test]
fn bad_fields_are_refused_by_name() {
    let folder = Folder::new();
    let load = |record: Value, more: &[&str]| {
        folder.write("a.jsonl", lines(&[record]));
        folder.load(&[&["a.simdb", "a.jsonl"], more].concat())
    };
    let both = ["--text", "title", "--text", "body"];
    load(json!({"id": 1, "title": null, "text": BODY}), &both)
        .fails(&["none of the fields of --text is there"]);
    load(json!({"id": 1, "title": TITLE, "body": 7}), &both)
        .fails(&["field \"body\": it is a number; a string is expected"]);
    let long = [&both[..], &["--max-text", "60"]].concat();
    load(json!({"id": 1, "title": TITLE, "body": BODY}), &long)
        .fails(&["the text has 70 bytes; at most 60 are read"]);
    let twice = ["--text", "title", "--text", "title"];
    load(json!({"id": 1, "title": TITLE}), &twice).fails(&["must name different fields"]);
    let five = ["a", "b", "c", "d", "e"]
        .map(|name| ["--text", name])
        .concat();
    load(json!({"id": 1}), &five).fails(&["a text has at most 4 fields; --text is given 5 times"]);
    let key = [&both[..], &["--key", "body"]].concat();
    load(json!({"title": TITLE, "body": BODY}), &key).fails(&["must name different fields"]);

    folder.write("a.csv", format!("id,title\n1,{TITLE}\n"));
    folder
        .load(&[&["a.simdb", "a.csv"], &both[..]].concat())
        .fails(&["\"body\"", "--text"]);
    let cut = ["cut", "a.jsonl", "--lines", "-o", "b.jsonl"];
    folder
        .cli(&[&cut[..], &both].concat())
        .fails(&["give --text once"]);
}

#[test]
fn dedup_and_watch_compare_the_whole_text() {
    let folder = Folder::new();
    let records = [
        json!({"id": 1, "title": TITLE, "body": BODY}),
        json!({"id": 2, "title": null, "body": format!("{TITLE}\n{BODY}")}),
        json!({"id": 3, "title": "Council votes against the new bridge", "body": BODY}),
    ];
    folder.write("a.jsonl", lines(&records));
    let both = ["--text", "title", "--text", "body"];
    let dedup = ["dedup", "a.jsonl", "-o", "b.jsonl", "--report", "r.jsonl"];
    folder.cli(&[&dedup[..], &both].concat()).ends(0);
    // The records are copied whole.
    assert_eq!(
        folder.read_json("b.jsonl"),
        [records[0].clone(), records[2].clone()]
    );
    let check = ["check-report", "r.jsonl", "a.jsonl"];
    folder.cli(&[&check[..], &both].concat()).ends(0);

    let watch = ["watch", "w.simdb", "--create", "--unique", "similar"];
    let answers = folder.cli_from(&[&watch[..], &both].concat(), lines(&records).as_bytes());
    let verdicts: Vec<_> = answers
        .ends(0)
        .json()
        .into_iter()
        .map(|answer| answer["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["new", "duplicate", "new"]);
}
