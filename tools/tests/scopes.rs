//! Documents with scopes on the command line.

use serde_json::{Value, json};

use crate::common::Folder;

const FERRY: &str = "The ferry to the islands was cancelled because of fog.";

const PAGES: &str = concat!(
    r#"{"url":"a","lang":"en","text":"The ferry to the islands was cancelled because of fog."}"#,
    "\n",
    r#"{"url":"b","lang":"fr","text":"The ferry to the islands was cancelled because of fog."}"#,
    "\n",
    r#"{"url":"c","lang":null,"text":"The ferry to the islands was cancelled because of fog."}"#,
    "\n",
    r#"{"url":"d","lang":"en","text":"the ferry to the islands was cancelled, because of fog"}"#,
    "\n",
);

fn load_pages(folder: &Folder, options: &[&str]) -> Value {
    folder.write("pages.jsonl", PAGES);
    let load = [
        "pages.simdb",
        "pages.jsonl",
        "--key",
        "url",
        "--scope",
        "lang",
        "--json",
        "--keep-texts",
    ];
    folder
        .load(&[&load[..], options].concat())
        .ends(0)
        .one_json()
}

/// The keys of the documents that a query of the text finds.
fn found(folder: &Folder, scopes: &[&str]) -> Vec<String> {
    let mut query = vec!["query", "pages.simdb", "--text", FERRY, "--json"];
    query.extend(scopes.iter().flat_map(|scope| ["--within-scope", scope]));
    let ran = folder.cli(&query);
    let said = "no document has the scope \"unknown\"\n";
    let expected = if scopes.contains(&"unknown") {
        said
    } else {
        ""
    };
    assert_eq!(ran.stderr, expected);
    let found = ran.one_json();
    let matches = found["matches"].as_array().unwrap().iter();
    let mut keys: Vec<String> = matches
        .map(|found| found["key"].as_str().unwrap().to_owned())
        .collect();
    keys.sort();
    keys
}

#[test]
fn queries_find_the_documents_of_the_named_scopes() {
    let folder = Folder::new();
    load_pages(&folder, &[]);
    assert_eq!(found(&folder, &[]), ["a", "b", "c", "d"]);
    assert_eq!(found(&folder, &["en"]), ["a", "d"]);
    assert_eq!(found(&folder, &["fr", ""]), ["b", "c"]);
    assert!(found(&folder, &["unknown"]).is_empty());

    let get = |key| {
        folder
            .cli(&["get", "pages.simdb", "--key", key, "--json"])
            .ends(0)
            .one_json()
    };
    assert_eq!(get("b")["scope"], "fr");
    assert_eq!(get("c").get("scope"), None);
    let shown = folder
        .cli(&["get", "pages.simdb", "--key", "b"])
        .ends(0)
        .stdout;
    assert!(shown.contains("  fr  "), "{shown}");
    let stats = folder
        .cli(&["stats", "pages.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(stats["scopes"], json!(true));
}

#[test]
fn unique_documents_are_compared_within_their_scope() {
    for unique in ["3", "similar"] {
        let folder = Folder::new();
        let counts = load_pages(&folder, &["--unique", unique]);
        assert_eq!(counts["inserted"], json!(3), "{counts}");
        assert_eq!(found(&folder, &[]), ["a", "b", "c"], "--unique {unique}");
        let insert = |key, scope| {
            let insert = [
                "insert",
                "pages.simdb",
                "--key",
                key,
                "--scope",
                scope,
                "--text",
                FERRY,
                "--unique",
                unique,
                "--json",
            ];
            folder.cli(&insert).one_json()["outcome"].clone()
        };
        assert_eq!(insert("e", "en"), "duplicate");
        assert_eq!(insert("f", "de"), "inserted");
        assert_eq!(found(&folder, &["de"]), ["f"]);
    }
}

#[test]
fn pairs_and_clusters_are_limited_to_scopes() {
    let folder = Folder::new();
    load_pages(&folder, &[]);
    for verb in ["pairs", "clusters"] {
        for similar in [None, Some("--similar")] {
            let members = |scopes: &[&str]| {
                let mut arguments = vec![verb, "pages.simdb", "--json", "-o", "found.jsonl"];
                arguments.push("--force");
                arguments.extend(similar);
                arguments.extend(scopes.iter().flat_map(|scope| ["--within-scope", scope]));
                let counts = folder.cli(&arguments).one_json();
                match verb {
                    "clusters" => counts["members"].as_u64().unwrap(),
                    // A group of n copies and p pairs.
                    _ => counts["copies"].as_u64().unwrap() + counts["pairs"].as_u64().unwrap(),
                }
            };
            let context = format!("{verb} {similar:?}");
            assert!(members(&[]) > 3, "{context}");
            assert!((1..3).contains(&members(&["en"])), "{context}");
            assert_eq!(members(&["fr", ""]), 2, "{context}");
            assert_eq!(members(&["unknown"]), 0, "{context}");
        }
    }
}

#[test]
fn recent_documents_are_found() {
    let folder = Folder::new();
    let line = |id: u64, hour: u64| {
        let time = format!("2024-05-31T{hour:02}:00:00Z");
        format!("{}\n", json!({"id": id, "time": time, "text": FERRY}))
    };
    let lines = [line(1, 1), line(2, 11), line(3, 17)];
    folder.write("feed.jsonl", lines.concat());
    let load = [
        "feed.simdb",
        "feed.jsonl",
        "--time",
        "time",
        "--retention",
        "2d",
    ];
    folder.load(&load).ends(0);
    let ids_of = |asked: &[&str], since: &[&str]| {
        let query = [&["query", "feed.simdb", "--json"], asked, since].concat();
        let found = folder.cli(&query).one_json();
        let matches = found["matches"].as_array().unwrap().iter();
        let ids: Vec<u64> = matches.map(|found| found["id"].as_u64().unwrap()).collect();
        ids
    };
    let ids_since = |since: &[&str]| ids_of(&["--text", FERRY], since);
    assert_eq!(ids_since(&[]), [1, 2, 3]);
    assert_eq!(ids_since(&["--since", "6h"]), [2, 3]);
    assert_eq!(ids_since(&["--since", "1m"]), [3]);
    // The document of the query may be older than the matches.
    assert_eq!(ids_of(&["--id", "1"], &["--since", "6h"]), [2, 3]);
    assert_eq!(ids_of(&["--id", "3"], &["--since", "6h"]), [2]);
    let pairs = [
        "pairs",
        "feed.simdb",
        "--since",
        "6h",
        "--json",
        "-o",
        "p.jsonl",
    ];
    assert_eq!(folder.cli(&pairs).ends(0).one_json()["documents"], 2);
    folder.write("plain.jsonl", line(1, 1));
    folder.load(&["plain.simdb", "plain.jsonl"]).ends(0);
    let query = ["query", "plain.simdb", "--text", FERRY, "--since", "6h"];
    let failed = folder.cli(&query).ends(2);
    assert!(failed.stderr.contains("arrival"), "{}", failed.stderr);
}

#[test]
fn watch_answers_by_scope() {
    let folder = Folder::new();
    let watch = [
        "watch",
        "pages.simdb",
        "--create",
        "--key",
        "url",
        "--scope",
        "lang",
        "--unique",
        "3",
    ];
    let answers = folder.cli_from(&watch, PAGES.as_bytes()).ends(0).json();
    let verdicts: Vec<&Value> = answers.iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, ["new", "new", "new", "duplicate"]);
    assert_eq!(answers[3]["of_key"], "a");
}

#[test]
fn exports_are_loaded_with_their_scopes() {
    let folder = Folder::new();
    load_pages(&folder, &[]);
    // The export is in order of the scopes, so the copy has other ids.
    let export = |name: &str| {
        let mut documents = folder.cli(&["export", name]).ends(0).json();
        documents.sort_by_key(|document| document["key"].to_string());
        for document in &mut documents {
            document.as_object_mut().unwrap().remove("id");
        }
        documents
    };
    for format in ["jsonl", "csv", "parquet"] {
        let (file, copy) = (format!("copy.{format}"), format!("{format}.simdb"));
        let write = ["export", "pages.simdb", "--format", format, "-o", &file];
        folder.cli(&write).ends(0);
        let mut load = vec![&*copy, &*file, "--key", "key", "--scope", "scope"];
        load.extend(["--fingerprint", "fingerprint"]);
        if format != "parquet" {
            load.extend(["--text", "text", "--keep-texts"]);
        }
        folder.load(&load).ends(0);
        if format != "parquet" {
            assert_eq!(export(&copy), export("pages.simdb"), "{format}");
        }
        let get = ["get", &*copy, "--key", "b", "--json"];
        assert_eq!(
            folder.cli(&get).ends(0).one_json()["scope"],
            "fr",
            "{format}"
        );
    }
}

#[test]
fn top_prints_the_documents_of_the_named_scopes() {
    let folder = Folder::new();
    load_pages(&folder, &["--unique", "3", "--copies", "1"]);
    let top = |scope| {
        let top = ["top", "pages.simdb", "--json", "--within-scope", scope];
        folder.cli(&top)
    };
    assert_eq!(top("en").ends(0).one_json()["key"], "a");
    for without_copies in ["fr", "", "unknown"] {
        assert_eq!(top(without_copies).ends(1).stdout, "");
    }
}

#[test]
fn database_without_scopes_says_what_to_do() {
    let folder = Folder::new();
    folder.write("pages.jsonl", PAGES);
    folder
        .load(&["keys.simdb", "pages.jsonl", "--key", "url"])
        .ends(0);
    let load = [
        "keys.simdb",
        "pages.jsonl",
        "--key",
        "url",
        "--scope",
        "lang",
    ];
    folder
        .load(&load)
        .fails(&["--scope needs a database with scopes", "load into a new"]);
    let query = [
        "query",
        "keys.simdb",
        "--text",
        FERRY,
        "--within-scope",
        "en",
    ];
    let top = ["top", "keys.simdb", "--within-scope", "en"];
    for search in [&query[..], &top] {
        let said = ["keeps no scopes", "build another database with scopes"];
        folder.cli(search).fails(&said);
    }
    let insert = [
        "insert",
        "keys.simdb",
        "--key",
        "z",
        "--scope",
        "en",
        "--text",
        FERRY,
    ];
    folder.cli(&insert).fails(&["keeps no scopes"]);
    folder
        .load(&["new.simdb", "pages.jsonl", "--scope", "lang"])
        .fails(&["--key"]);
    let same = ["new.simdb", "pages.jsonl", "--key", "url", "--scope", "url"];
    folder.load(&same).fails(&["a field of its own"]);
    folder.write(
        "bad.jsonl",
        "{\"url\":\"a\",\"lang\":7,\"text\":\"a text\"}\n",
    );
    let bad = ["new.simdb", "bad.jsonl", "--key", "url", "--scope", "lang"];
    folder.load(&bad).fails(&["field \"lang\""]);
}
