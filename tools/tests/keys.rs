//! Documents with keys and fields on the command line.

use serde_json::{Value, json};

use crate::common::Folder;

const PAGES: &str = concat!(
    r#"{"url":"https://example.org/a","title":"Cats","n":1,"text":"Three cats sat on the mat and would not be moved."}"#,
    "\n",
    r#"{"url":"https://example.org/b","title":null,"n":[1,2],"text":"The ferry to the islands was cancelled because of fog."}"#,
    "\n",
    r#"{"url":"https://example.org/c","title":"Cats again","text":"three cats sat on the mat, and would not be moved"}"#,
    "\n",
);

fn with_pages() -> Folder {
    let folder = Folder::new();
    folder.write("pages.jsonl", PAGES);
    let load = [
        "pages.simdb",
        "pages.jsonl",
        "--key",
        "url",
        "--keep",
        "title,n",
        "--keep-texts",
    ];
    folder.load(&load).ends(0);
    folder
}

#[test]
fn rejected_line_has_its_key() {
    let folder = Folder::new();
    let lines = concat!(
        r#"{"url":"u1","text":5}"#,
        "\n",
        r#"{"url":"u2","text":"Three cats sat on the mat and would not be moved."}"#,
        "\n",
        r#"{"url":7,"text":"#,
        "\n"
    );
    let watch = ["watch", "pages.simdb", "--create", "--key", "url"];
    let answers = folder.cli_from(&watch, lines.as_bytes()).ends(0).json();
    let answers: Vec<_> = answers
        .iter()
        .map(|answer| (answer["key"].as_str(), &answer["verdict"]))
        .collect();
    let (rejected, new) = (&json!("rejected"), &json!("new"));
    assert_eq!(
        answers,
        [(Some("u1"), rejected), (Some("u2"), new), (None, rejected)]
    );
}

#[test]
fn loaded_documents_are_found_by_key_with_their_fields() {
    let folder = with_pages();
    let get = [
        "get",
        "pages.simdb",
        "--key",
        "https://example.org/a",
        "--json",
    ];
    let page = folder.cli(&get).ends(0).one_json();
    assert_eq!(page["key"], "https://example.org/a");
    assert_eq!(page["fields"], json!({"title": "Cats", "n": 1}));
    let page = folder
        .cli(&["get", "pages.simdb", "2", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(page["fields"], json!({"n": [1, 2]}));
    let shown = folder.cli(&["get", "pages.simdb", "1"]).ends(0);
    assert!(
        shown.stdout.starts_with("https://example.org/a  "),
        "{}",
        shown.stdout
    );

    let query = [
        "query",
        "pages.simdb",
        "--key",
        "https://example.org/a",
        "--json",
    ];
    let found = folder.cli(&query).ends(0).one_json();
    assert_eq!(found["matches"][0]["key"], "https://example.org/c");
    assert_eq!(found["matches"][0]["fields"]["title"], "Cats again");
    folder
        .cli(&["get", "pages.simdb", "--key", "https://example.org/z"])
        .ends(1);

    let compare = |one: &str, other: &str| {
        let compare = ["compare", "--database", "pages.simdb", one, other, "--json"];
        folder.cli(&compare)
    };
    let found = compare("https://example.org/a", "https://example.org/c").ends(0);
    let found = found.one_json();
    assert_eq!(found["a"]["key"], "https://example.org/a");
    assert_eq!(found["b"]["key"], "https://example.org/c");
    // Digits are a key too.
    let missing = compare("https://example.org/a", "1").ends(2).stderr;
    assert!(
        missing.contains("document \"1\" is not stored"),
        "{missing}"
    );

    // A second load changes nothing; with --unique a copy is refused under its key.
    let again = ["pages.simdb", "pages.jsonl", "--key", "url", "--json"];
    let counts = folder.load(&again).ends(0).one_json();
    assert_eq!(
        (&counts["inserted"], &counts["present"]),
        (&json!(0), &json!(3))
    );
    let stats = folder
        .cli(&["stats", "pages.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(
        (&stats["keys"], &stats["fields"]),
        (&json!(true), &json!(true))
    );
}

#[test]
fn documents_are_inserted_and_removed_by_key() {
    let folder = with_pages();
    let key = "https://example.org/d";
    let insert = [
        "insert",
        "pages.simdb",
        "--key",
        key,
        "--fields",
        r#"{"title":"New"}"#,
        "--text",
        "A text about something else, which no page has.",
        "--json",
    ];
    let inserted = folder.cli(&insert).ends(0).one_json();
    assert_eq!(
        (&inserted["key"], &inserted["outcome"]),
        (&json!(key), &json!("inserted"))
    );
    let get = ["get", "pages.simdb", "--key", key, "--json"];
    assert_eq!(
        folder.cli(&get).ends(0).one_json()["fields"]["title"],
        "New"
    );
    let removed = folder
        .cli(&["remove", "pages.simdb", "--key", key, "--json"])
        .ends(0);
    assert_eq!(removed.one_json()["removed"], true);
    folder.cli(&get).ends(1);
    folder
        .cli(&["insert", "pages.simdb", "7", "--text", "a text"])
        .fails(&["has no key"]);
}

#[test]
fn watch_names_the_document_that_a_line_repeats() {
    let folder = Folder::new();
    let watch = [
        "watch",
        "pages.simdb",
        "--create",
        "--key",
        "url",
        "--keep",
        "title",
        "--unique",
        "3",
    ];
    let answers = folder.cli_from(&watch, PAGES.as_bytes()).ends(0).json();
    assert_eq!(answers[0]["key"], "https://example.org/a");
    assert_eq!(answers[0]["verdict"], "new");
    assert_eq!(answers[2]["verdict"], "duplicate");
    assert_eq!(answers[2]["of_key"], "https://example.org/a");
    let again = folder.cli_from(&watch, PAGES.as_bytes()).ends(0).json();
    assert_eq!(
        (&again[0]["verdict"], &again[0]["repeated"]),
        (&json!("exists"), &json!(true))
    );
}

#[test]
fn export_is_loaded_with_keys_and_fields() {
    let folder = with_pages();
    for (format, name) in [("jsonl", "copy.jsonl"), ("csv", "copy.csv")] {
        let export = ["export", "pages.simdb", "--format", format, "-o", name];
        folder.cli(&export).ends(0);
    }
    let load = [
        "copy.simdb",
        "copy.jsonl",
        "--key",
        "key",
        "--keep",
        "fields",
        "--fingerprint",
        "fingerprint",
        "--text",
        "text",
        "--keep-texts",
    ];
    folder.load(&load).ends(0);
    let export = |name| folder.cli(&["export", name]).ends(0).stdout;
    assert_eq!(export("copy.simdb"), export("pages.simdb"));
    let load = [
        "csv.simdb",
        "copy.csv",
        "--key",
        "key",
        "--keep",
        "reliable",
        "--fingerprint",
        "fingerprint",
    ];
    folder.load(&load).ends(0);
    let page = folder.cli(&[
        "get",
        "csv.simdb",
        "--key",
        "https://example.org/b",
        "--json",
    ]);
    assert_eq!(
        page.ends(0).one_json()["fields"],
        json!({"reliable": "true"})
    );
    let parquet = [
        "export",
        "pages.simdb",
        "--format",
        "parquet",
        "-o",
        "copy.parquet",
    ];
    folder.cli(&parquet).ends(0);
    folder
        .load(&[
            "parquet.simdb",
            "copy.parquet",
            "--key",
            "key",
            "--fingerprint",
            "fingerprint",
        ])
        .ends(0);
    folder
        .cli(&["get", "parquet.simdb", "--key", "https://example.org/c"])
        .ends(0);
}

#[test]
fn keys_and_ids_do_not_mix() {
    let folder = with_pages();
    folder.write(
        "ids.jsonl",
        "{\"id\":1,\"text\":\"a text\"}\n{\"id\":2,\"text\":\"a text\"}\n",
    );
    folder.load(&["pages.simdb", "ids.jsonl"]).fails(&["--key"]);
    folder.load(&["ids.simdb", "ids.jsonl"]).ends(0);
    folder
        .load(&["ids.simdb", "pages.jsonl", "--key", "url"])
        .fails(&["--id"]);
    folder
        .load(&["new.simdb", "ids.jsonl", "--key", "url"])
        .fails(&["no field \"url\"; nothing was changed"]);
    folder.write(
        "long.jsonl",
        format!("{{\"url\":\"{}\",\"text\":\"a\"}}\n", "k".repeat(1025)),
    );
    folder
        .load(&["new.simdb", "long.jsonl", "--key", "url"])
        .fails(&["a key has 1 to 1024 bytes"]);
}

#[test]
fn fields_of_a_kept_object_are_kept_without_nulls() {
    let folder = Folder::new();
    let page =
        json!({"url": "a", "meta": {"title": "Cats", "author": null}, "text": "Three cats sat."});
    folder.write("a.jsonl", format!("{page}\n"));
    folder
        .load(&["a.simdb", "a.jsonl", "--key", "url", "--keep", "meta"])
        .ends(0);
    let get = ["get", "a.simdb", "--key", "a", "--json"];
    let found = folder.cli(&get).ends(0).one_json();
    assert_eq!(found["fields"], json!({"title": "Cats"}));
    // Two values of one name.
    let page = json!({"url": "a", "meta": {"title": "Cats"}, "title": "Dogs", "text": "Cats sat."});
    folder.write("b.jsonl", format!("{page}\n"));
    folder
        .load(&["b.simdb", "b.jsonl", "--key", "url", "--keep", "title,meta"])
        .fails(&["b.jsonl:1", "two fields \"title\""]);
    // As in an export as CSV.
    let export = ["export", "a.simdb", "--format", "csv"];
    folder.write("c.csv", folder.cli(&export).ends(0).stdout);
    let fingerprint = [
        "--fingerprint",
        "fingerprint",
        "--key",
        "key",
        "--keep",
        "fields",
    ];
    folder
        .load(&[&["c.simdb", "c.csv"], &fingerprint[..]].concat())
        .ends(0);
    let get = ["get", "c.simdb", "--key", "a", "--json"];
    let found = folder.cli(&get).ends(0).one_json();
    assert_eq!(found["fields"], json!({"title": "Cats"}));
}

#[test]
fn field_that_no_record_has_is_noted() {
    let folder = with_pages();
    let load = |name: &str, options: &[&str]| {
        let load = [name, "pages.jsonl", "--key", "url"];
        folder.load(&[&load[..], options].concat()).ends(0).stderr
    };
    let misspelt = load("a.simdb", &["--keep", "titel", "--scope", "lnag"]);
    assert!(
        misspelt.contains("--keep: titel") && misspelt.contains("--scope: lnag"),
        "{misspelt}"
    );
    assert!(!load("b.simdb", &["--keep", "titel,text"]).contains("no record"));
}

#[test]
fn load_replaces_documents_by_their_corrected_texts() {
    let folder = with_pages();
    let longer = "The ferry to the islands was cancelled because of fog. Buses run.";
    let other = "The ferry to Oban left as usual, and nobody was there to see it.";
    let line = |url: &str, text: &str| format!("{}\n", json!({"url": url, "text": text}));
    let text_of = |key: &str| {
        let get = ["get", "pages.simdb", "--key", key, "--json"];
        folder.cli(&get).ends(0).one_json()["text"].clone()
    };
    let b = "https://example.org/b";
    let load = |text: &str, options: &[&str]| {
        folder.write("again.jsonl", line(b, text));
        let load = ["pages.simdb", "again.jsonl", "--key", "url", "--json"];
        folder.load(&[&load[..], options].concat())
    };
    // Another text under a stored key is a bad record, unless the stored document is to be left.
    load(longer, &[]).fails(&["its key is stored with another text", "--on-exists replace"]);
    for unique in [&[][..], &["--unique", "3"]] {
        let options = [&["--on-exists", "keep"], unique].concat();
        let counts = load(longer, &options).ends(0).one_json();
        assert_eq!(
            (&counts["present"], &counts["rejected"]),
            (&json!(1), &json!(0))
        );
    }
    for (text, rule, unique, replaced, stored) in [
        (other, "replace-if-extends", "3", 0, None),
        (longer, "replace-if-extends", "3", 1, Some(longer)),
        (longer, "replace", "similar", 0, Some(longer)),
        (other, "replace", "similar", 1, Some(other)),
    ] {
        let options = ["--on-exists", rule, "--unique", unique];
        let counts = load(text, &options).ends(0).one_json();
        assert_eq!(counts["replaced"], replaced, "{text} {rule}: {counts}");
        assert_eq!(counts["inserted"], replaced, "{text} {rule}: {counts}");
        if let Some(stored) = stored {
            assert_eq!(text_of(b), *stored);
        }
    }
    // Without --unique, and under the same id.
    let counts = load(longer, &["--on-exists", "replace"]).ends(0).one_json();
    assert_eq!(counts["replaced"], 1, "{counts}");
    assert_eq!(text_of(b), *longer);
    let get = ["get", "pages.simdb", "2", "--json"];
    assert_eq!(folder.cli(&get).ends(0).one_json()["key"], b);
    // A database without texts.
    folder.write("again.jsonl", line("a", longer));
    let load = [
        "new.simdb",
        "again.jsonl",
        "--key",
        "url",
        "--on-exists",
        "replace-if-extends",
    ];
    let failed = folder.load(&load).ends(2);
    assert!(failed.stderr.contains("keeps none"), "{}", failed.stderr);
}

#[test]
fn results_name_documents_by_key() {
    let folder = with_pages();
    // A key that CSV must quote, and a document near no other.
    let far = json!({"url": "far", "text": "Parliament voted on the budget of the next year."});
    let copy = json!({
        "url": "odd,\"key\"", "text": "Three cats sat on the mat and would not be moved.",
    });
    folder.write("more.jsonl", format!("{copy}\n{far}\n"));
    let load = ["pages.simdb", "more.jsonl", "--key", "url"];
    folder.load(&load).ends(0);

    let (a, c) = ("https://example.org/a", "https://example.org/c");
    let groups = folder
        .cli(&["pairs", "pages.simdb", "--sorted"])
        .ends(0)
        .json();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["documents"], json!([1, 3, 4]));
    assert_eq!(groups[0]["keys"], json!([a, c, "odd,\"key\""]));
    let csv = ["pairs", "pages.simdb", "--sorted", "--format", "csv"];
    let expected =
        format!("a,b,distance,a_key,b_key\n1,3,0,{a},{c}\n1,4,0,{a},\"odd,\"\"key\"\"\"\n");
    assert_eq!(folder.cli(&csv).ends(0).stdout, expected);
    let similar = ["pairs", "pages.simdb", "--similar", "--decide", "alike"];
    let pair = folder.cli(&similar).ends(0).json().pop().unwrap();
    assert_eq!((&pair["a_key"], &pair["b_key"]), (&json!(a), &json!(c)));

    let cluster = folder.cli(&["clusters", "pages.simdb"]).ends(0).one_json();
    assert_eq!(cluster["keeper_key"], a);
    let keys = |cluster: &serde_json::Value| -> Vec<serde_json::Value> {
        let members = cluster["members"].as_array().unwrap().iter();
        members.map(|member| member["key"].clone()).collect()
    };
    assert_eq!(keys(&cluster), [a, c, "odd,\"key\""]);
    let similar = ["clusters", "pages.simdb", "--similar"];
    assert_eq!(
        keys(&folder.cli(&similar).ends(0).one_json()),
        [a, c, "odd,\"key\""]
    );
    let parquet = [
        "clusters",
        "pages.simdb",
        "--format",
        "parquet",
        "-o",
        "c.parquet",
    ];
    folder.cli(&parquet).ends(0);
    // The members are read by their keys.
    let load = [
        "c.simdb",
        "c.parquet",
        "--key",
        "key",
        "--fingerprint",
        "doc_id",
    ];
    folder.load(&load).ends(0);
    let get = ["get", "c.simdb", "--key", "odd,\"key\""];
    folder.cli(&get).ends(0);
}

#[test]
fn outcomes_name_documents_by_key() {
    let folder = with_pages();
    let insert = |more: &[&str]| {
        let insert = ["insert", "pages.simdb", "--key", "https://example.org/d"];
        folder.cli(&[&insert[..], more].concat())
    };
    let copy = "The ferry to the islands was cancelled because of fog.";
    let unique = ["--text", copy, "--unique", "3"];
    let shown = insert(&unique).ends(1).stdout;
    assert!(
        shown.contains("  of https://example.org/b at distance 0"),
        "{shown}"
    );
    let line = insert(&[&unique[..], &["--json"]].concat())
        .ends(1)
        .one_json();
    assert_eq!(line["duplicate_of_key"], "https://example.org/b");
    let longer = "The ferry to the islands was cancelled because of fog. Buses run.";
    let similar = ["--text", longer, "--unique", "similar", "--json"];
    let line = insert(&similar).ends(0).one_json();
    assert_eq!(
        (&line["extends"], &line["extends_keys"]),
        (&json!([2]), &json!(["https://example.org/b"]))
    );

    let watched = json!({"url": "w", "text": format!("{longer} Trains too.")});
    let watch = [
        "watch",
        "pages.simdb",
        "--key",
        "url",
        "--unique",
        "similar",
    ];
    let line = folder
        .cli_from(&watch, format!("{watched}\n").as_bytes())
        .ends(0)
        .one_json();
    let extended = line["extends_keys"].as_array().unwrap();
    assert_eq!(extended.len(), 1, "{line}");
    assert!(
        extended[0]
            .as_str()
            .unwrap()
            .starts_with("https://example.org/"),
        "{line}"
    );
    // Neither keys nor empty columns in a database with ids.
    folder.write("ids.jsonl", "{\"id\":1,\"fingerprint\":\"00000000000000ff\"}\n{\"id\":2,\"fingerprint\":\"00000000000000ff\"}\n");
    folder
        .load(&["ids.simdb", "ids.jsonl", "--fingerprint", "fingerprint"])
        .ends(0);
    let lines = folder.cli(&["pairs", "ids.simdb"]).ends(0).stdout;
    assert!(!lines.contains("key"), "{lines}");
}

/// A report names documents by their keys, also documents that later documents of the load replace.
#[test]
fn report_of_duplicates_has_keys() {
    let ferry = "The ferry to the islands was cancelled because of fog.";
    let longer = format!("{ferry} Buses run instead.");
    let longest = format!("{longer} Trains do not.");
    let pages = [
        ("a", ferry),
        ("b", ferry),
        ("c", &longer),
        ("d", &longer),
        ("e", &longest),
    ];
    let line = |(key, text): (&str, &str)| json!({"url": key, "text": text}).to_string() + "\n";
    // By an index in memory, and by a transaction.
    for arrivals in [&[][..], &["--arrivals"]] {
        let folder = Folder::new();
        let load = |pages: &[(&str, &str)]| {
            folder.write(
                "p.jsonl",
                pages.iter().copied().map(line).collect::<String>(),
            );
            let load = ["p.simdb", "p.jsonl", "--key", "url", "--unique", "similar"];
            let more = [
                "--on-extended",
                "replace",
                "--duplicates",
                "d.jsonl",
                "--force",
            ];
            let shown = folder.load(&[&load[..], &more, arrivals, &["--show-duplicates"]].concat());
            let shown = shown.ends(0).stdout;
            let lines = folder.read_json("d.jsonl");
            let names = ["key", "duplicate_of_key", "duplicate_of", "id"];
            let lines = lines
                .iter()
                .map(|line| names.map(|name| line[name].clone()));
            (lines.collect::<Vec<_>>(), shown)
        };
        let (lines, shown) = load(&pages);
        let get = |key: &str| folder.cli(&["get", "p.simdb", "--key", key, "--json"]);
        let id = get("e").ends(0).one_json()["id"].clone();
        let keys: Vec<_> = lines.iter().map(|[key, of, ..]| (key, of)).collect();
        let expected = [("b", "a"), ("a", "c"), ("d", "c"), ("c", "e")];
        let expected = expected.map(|(key, of)| (json!(key), json!(of)));
        assert_eq!(keys, expected.each_ref().map(|(key, of)| (key, of)));
        let [_, _, of, own] = &lines[3];
        assert_eq!((of, own), (&id, &Value::Null));
        for (kept, dropped) in [("a", "b"), ("c", "a"), ("e", "c")] {
            let has_row = |row: [&str; 2]| {
                let mut lines = shown.lines();
                lines.any(|line| line.split_whitespace().take(2).eq(row))
            };
            let are_shown = has_row(["kept", kept]) && has_row(["dropped", dropped]);
            assert!(are_shown, "{shown}");
        }
        // A document that was stored before is named by its key too.
        let (lines, _) = load(&[("f", &longest), ("g", &format!("{longest} Nobody walks."))]);
        let keys: Vec<_> = lines.iter().map(|[key, of, ..]| json!([key, of])).collect();
        assert_eq!(keys, [json!(["f", "e"]), json!(["e", "g"])]);
        get("e").ends(1);
        // Outcomes of single documents.
        let text = format!("{longest} Nobody walks. Horses rest.");
        let insert = ["insert", "p.simdb", "--key", "h", "--unique", "similar"];
        let more = ["--on-extended", "replace", "--text", &text, "--json"];
        let inserted = folder
            .cli(&[&insert[..], &more].concat())
            .ends(0)
            .one_json();
        assert_eq!(inserted["replaces_keys"], json!(["g"]));
    }
}
