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
fn field_without_a_text_in_any_record_is_noted() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        lines(&[json!({"id": 1, "title": TITLE, "body": BODY})]),
    );
    let load = |database: &str, title: &str| {
        let ran = folder.load(&[database, "a.jsonl", "--text", title, "--text", "body"]);
        ran.ends(0).stderr
    };
    let said = load("a.simdb", "titel");
    let expected = "warning: no record has a text in the field of --text: titel\n";
    assert!(said.contains(expected), "{said}");
    assert!(!load("b.simdb", "title").contains("warning"));
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

#[test]
fn queries_of_a_file_have_several_fields() {
    let folder = Folder::new();
    let both = format!("{TITLE}\n{BODY}");
    folder.write(
        "a.jsonl",
        lines(&[
            json!({"id": 1, "text": both}),
            json!({"id": 2, "text": BODY}),
        ]),
    );
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    folder.write(
        "q.jsonl",
        lines(&[
            // The named fields are the query, not the fingerprint.
            json!({"title": TITLE, "body": BODY, "fingerprint": "00000000000000ff"}),
            json!({"title": null, "body": BODY}),
            json!({"title": "", "body": ""}),
        ]),
    );
    let query = |more: &[&str]| {
        let query = ["query", "a.simdb", "--file", "q.jsonl", "--json"];
        folder.cli(&[&query, more].concat())
    };
    let answers = query(&["--text", "title", "--text", "body"]).ends(0).json();
    let nearest = |answer: &Value| {
        let nearest = &answer["matches"][0];
        (nearest["id"].as_u64(), nearest["distance"].as_u64())
    };
    assert_eq!(answers.len(), 3);
    assert_eq!(nearest(&answers[0]), (Some(1), Some(0)));
    assert_eq!(nearest(&answers[1]), (Some(2), Some(0)));
    assert_eq!(answers[2]["matches"], json!([]));
    let answers = query(&["--text", "body", "--similar"]).ends(0).json();
    assert_eq!(nearest(&answers[0]).1, Some(0));

    query(&["--text", "head", "--text", "lead"]).fails(&["q.jsonl:1:", "none of the fields"]);
    query(&["--text", "body", "--text", "body"]).fails(&["different fields"]);
    query(&["--text", "a", "--format", "raw"]).fails(&["JSON Lines"]);
    let five = ["a", "b", "c", "d", "e"]
        .map(|name| ["--text", name])
        .concat();
    query(&five).fails(&["at most 4 fields"]);
    let two = ["query", "a.simdb", "--text", "one", "--text", "two"];
    folder.cli(&two).fails(&["a query is one text"]);
    for other in [
        ["--id", "1"],
        ["--fingerprint", "00000000000000ff"],
        ["--key", "k"],
    ] {
        let both = [&["query", "a.simdb", "--text", "one"], &other[..]].concat();
        let refused = folder.cli(&both).ends(2).stderr;
        assert!(refused.contains("cannot be used with"), "{refused}");
    }
}

#[test]
fn compare_names_the_field_of_a_missing_word() {
    let folder = Folder::new();
    let article = |title: &str, day: &str| json!({"meta": {"title": title}, "body": format!("The harbour was closed to all ships on {day}.")});
    let pairs = [
        json!({
            "n": 7,
            "a": article("Storm warning", "Monday"),
            "b": article("Flood warning", "Thursday")
        }),
        json!({"n": 8, "a": article("Storm warning", "Monday"), "b": {"body": "A note."}}),
    ];
    folder.write("p.jsonl", lines(&pairs));
    let compare = [
        "compare",
        "--pairs",
        "p.jsonl",
        "--text",
        "meta.title",
        "--text",
        "body",
    ];
    let found = folder
        .cli(&[&compare[..], &["--json"]].concat())
        .ends(0)
        .json();
    let fields = |side: &str| {
        let missing = found[0][side].as_array().unwrap().iter();
        missing
            .map(|row| json!([row[0], row[2]]))
            .collect::<Value>()
    };
    assert_eq!(
        fields("missing_in_b"),
        json!([["storm", "meta.title"], ["monday", "body"]])
    );
    assert_eq!(
        fields("missing_in_a"),
        json!([["flood", "meta.title"], ["thursday", "body"]])
    );
    // The same words and weights as of the joined texts.
    let joined = |value: &Value| {
        let [title, body] = [&value["meta"]["title"], &value["body"]].map(Value::as_str);
        format!("{}\n{}", title.unwrap(), body.unwrap())
    };
    let texts = json!({"a": joined(&pairs[0]["a"]), "b": joined(&pairs[0]["b"])});
    folder.write("t.jsonl", lines(&[texts]));
    let plain = folder
        .cli(&["compare", "--pairs", "t.jsonl", "--json"])
        .ends(0)
        .one_json();
    for side in ["missing_in_b", "missing_in_a"] {
        let found = found[0][side].as_array().unwrap().iter();
        let found: Value = found.map(|row| json!([row[0], row[1]])).collect();
        assert_eq!(found, plain[side]);
    }
    for name in ["verdict", "jaccard", "edit_similarity", "alike"] {
        assert_eq!(found[0][name], plain[name], "{name}");
    }
    let table = folder.cli(&compare).ends(0).stdout;
    assert!(
        table.contains("in b: meta.title:storm body:monday"),
        "{table}"
    );

    for (line, said) in [
        (
            json!({"a": "a text", "b": {"body": "x"}}),
            "\"a\" is missing, or no object",
        ),
        (json!({"a": {"body": 7}, "b": {"body": "x"}}), "\"body\""),
        (
            json!({"a": {"x": "y"}, "b": {"body": "x"}}),
            "none of the fields",
        ),
    ] {
        folder.write("p.jsonl", lines(&[line]));
        folder
            .cli(&[&compare[..], &["--json"]].concat())
            .fails(&["p.jsonl:1", said]);
    }
    folder
        .cli(&["compare", "one", "--text", "two"])
        .fails(&["--database"]);
}
