//! The verbs of `simdb-cli`: standard output, standard error, exit codes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::common::{Folder, Ran, TEXTS, raw_pairs, stop};
use serde_json::{Value, json};

/// A folder with a database `a.simdb` of [`TEXTS`], texts stored.
fn with_texts() -> Folder {
    let folder = Folder::new();
    folder.write("a.jsonl", TEXTS);
    folder.load(&["a.simdb", "a.jsonl", "--keep-texts"]).ends(0);
    folder
}

/// A folder with a database `a.simdb` of these fingerprints.
fn with_fingerprints(pairs: &[(u64, u64)]) -> Folder {
    let folder = Folder::new();
    folder.write("a.raw", raw_pairs(pairs));
    folder.load(&["a.simdb", "a.raw"]).ends(0);
    folder
}

fn hex(bits: u64) -> String {
    format!("{bits:016x}")
}

/// The ids and distances in a line of `query --json`.
fn matches(line: &Value) -> Vec<(u64, u64)> {
    let found = line["matches"].as_array().expect("matches");
    let number = |found: &Value, name: &str| found[name].as_u64().expect("a number");
    found
        .iter()
        .map(|found| (number(found, "id"), number(found, "distance")))
        .collect()
}

#[test]
fn invalid_command_line_exits_with_2() {
    let folder = with_fingerprints(&[(1, 1)]);
    let one = hex(1);
    for arguments in [
        &[][..],
        &["unknown"],
        &["query", "a.simdb"],
        &["query", "a.simdb", "--text", "a", "--id", "1"],
        &["query", "a.simdb", "--id", "1", "--radius", "65"],
        &[
            "query",
            "a.simdb",
            "--id",
            "1",
            "--limit",
            "2",
            "--nearest",
            "2",
        ],
        &["query", "a.simdb", "--fingerprint", "ff"],
        &["insert", "a.simdb", "1"],
        &[
            "insert",
            "a.simdb",
            "1",
            "--fingerprint",
            &one,
            "--unique",
            "3",
            "--replace",
        ],
        &["get", "a.simdb"],
        &["get", "a.simdb", "-1"],
        &["prune", "a.simdb"],
        &["prune", "a.simdb", "--older-than", "soon"],
        &["prune", "a.simdb", "--older-than", "2d", "--before", "0"],
        &["watch", "a.simdb", "--unique", "65"],
        &["watch", "a.simdb", "--first-id", "1"],
        &["watch", "a.simdb", "--key", "k", "--first-id", "1"],
        &["compare", "one text", "another text", "--search"],
        &["dedup", "a.jsonl", "-o", "b.jsonl", "--first-id", "7"],
        &["query", "a.simdb", "--file", "a.csv"],
        &["insert", "a.simdb", "1", "--fields", "{\"f\":1,\"f\":2}"],
        &["watch", "a.simdb", "--text", "id"],
        &["completions", "nonesuch"],
    ] {
        let ran = folder.cli(arguments).ends(2);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        assert_ne!(ran.stderr, "", "{arguments:?}");
    }
    for verb in ["get", "remove", "insert"] {
        let ran = folder.cli(&[verb, "a.simdb"]).ends(2);
        assert!(ran.stderr.contains("--key"), "{ran:#?}");
    }
}

#[test]
fn stats_have_the_documented_shape() {
    let folder = with_texts();
    let ran = folder.cli(&["stats", "a.simdb", "--json"]).ends(0);
    let stats = ran.one_json();
    assert_eq!(stats["documents"], 4);
    assert_eq!(stats["distinct_fingerprints"], 3);
    assert_eq!(stats["unreliable"], 0);
    assert_eq!(stats["recipe"], "ngram");
    assert_eq!(stats["keep_texts"], true);
    assert_eq!(stats["similar"], false);
    assert_eq!(stats["frozen"], false);
    assert!(stats["file_bytes"].as_u64().expect("a size") > 0);
    let tables = stats["tables"].as_array().expect("tables");
    assert!(
        tables
            .iter()
            .any(|table| table["name"] == "block3" && table["entries"] == 3)
    );

    let human = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    for said in [
        "documents",
        "ngram",
        "counts copies",
        "ignores frames",
        "block0",
        "fill",
    ] {
        assert!(human.contains(said), "{said}: {human}");
    }
}

#[test]
fn stats_of_an_empty_database_have_no_bytes_per_document() {
    let folder = Folder::new();
    folder.write("a.jsonl", "");
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let stats = folder
        .cli(&["stats", "a.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(
        (&stats["documents"], &stats["bytes_per_document"]),
        (&json!(0), &Value::Null)
    );
    folder.cli(&["stats", "a.simdb"]).ends(0);
    folder
        .cli(&[
            "query",
            "a.simdb",
            "--fingerprint",
            &hex(0),
            "--nearest",
            "3",
        ])
        .ends(1);
    assert_eq!(folder.cli(&["export", "a.simdb"]).ends(0).stdout, "");
}

#[test]
fn documents_are_shown_by_id() {
    let folder = with_texts();
    let got = folder
        .cli(&["get", "a.simdb", "3", "1", "--json"])
        .ends(0)
        .json();
    assert_eq!((&got[0]["id"], &got[1]["id"]), (&json!(3), &json!(1)));
    assert!(got[0]["text"].as_str().expect("a text").starts_with("生活"));
    assert_eq!(got[0]["fingerprint"].as_str().map(str::len), Some(16));
    assert_eq!(got[0]["reliable"], true);
    let human = folder.cli(&["get", "a.simdb", "1"]).ends(0).stdout;
    assert!(
        human.starts_with("1  ") && human.contains("The quick brown"),
        "{human}"
    );
}

#[test]
fn absent_document_exits_with_1() {
    let folder = with_texts();
    let ran = folder.cli(&["get", "a.simdb", "99", "1", "--json"]).ends(1);
    assert_eq!(ran.one_json()["id"], 1);
    assert!(
        ran.stderr.contains("document 99 is not stored"),
        "{}",
        ran.stderr
    );
    folder.cli(&["query", "a.simdb", "--id", "99"]).ends(1);
    folder.cli(&["remove", "a.simdb", "99"]).ends(1);
}

#[test]
fn text_not_stored_is_shown_as_absent() {
    let folder = with_fingerprints(&[(1, 1)]);
    let got = folder
        .cli(&["get", "a.simdb", "1", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(got["text"], Value::Null);
    assert_eq!(
        folder.cli(&["get", "a.simdb", "1"]).ends(0).stdout,
        format!("1  {}  -\n", hex(1))
    );
    let found = folder
        .cli(&["query", "a.simdb", "--fingerprint", &hex(0)])
        .ends(0);
    assert_eq!(found.stdout, format!("1  1  {}\n", hex(1)));
}

#[test]
fn query_finds_documents_within_radius_nearest_first() {
    let folder = with_fingerprints(&[(9, 0), (5, 0b1), (4, 0b10), (3, 0b111), (2, 0b1111)]);
    let ask = |more: &[&str]| {
        let zero = hex(0);
        let fixed = ["query", "a.simdb", "--fingerprint", &zero, "--json"];
        matches(&folder.cli(&[&fixed, more].concat()).ends(0).one_json())
    };
    assert_eq!(ask(&[]), [(9, 0), (4, 1), (5, 1), (3, 3)]);
    assert_eq!(ask(&["--radius", "0"]), [(9, 0)]);
    assert_eq!(ask(&["--radius", "64"]).len(), 5);
    assert_eq!(ask(&["--limit", "2"]), [(9, 0), (4, 1)]);
    assert_eq!(
        ask(&["--nearest", "5"]),
        [(9, 0), (4, 1), (5, 1), (3, 3), (2, 4)]
    );
    assert_eq!(
        ask(&["--nearest", "5", "--radius", "1"]),
        [(9, 0), (4, 1), (5, 1)]
    );
}

#[test]
fn query_output_has_documented_shape_without_matches() {
    let folder = with_fingerprints(&[(9, 0)]);
    let far = hex(u64::MAX);
    let ran = folder
        .cli(&["query", "a.simdb", "--fingerprint", &far, "--json"])
        .ends(1);
    assert_eq!(
        ran.one_json(),
        json!({"query": 0, "fingerprint": far, "reliable": true, "matches": []})
    );
    let ran = folder
        .cli(&["query", "a.simdb", "--fingerprint", &hex(2), "--json"])
        .ends(0);
    let found = json!({"id": 9, "fingerprint": hex(0), "distance": 1, "text": null});
    assert_eq!(
        ran.one_json(),
        json!({"query": 0, "fingerprint": hex(2), "reliable": true, "matches": [found]})
    );
    let ran = folder
        .cli(&["query", "a.simdb", "--fingerprint", &far])
        .ends(1);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn query_by_text_shows_matching_texts() {
    let folder = with_texts();
    let text = "THE QUICK brown fox jumps over the lazy dog near the river bank this morning!";
    let ran = folder
        .cli(&["query", "a.simdb", "--text", text, "--json"])
        .ends(0);
    let line = ran.one_json();
    let ids: Vec<_> = matches(&line).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [1, 2]);
    assert!(
        line["matches"][0]["text"]
            .as_str()
            .expect("a text")
            .starts_with("The quick")
    );
    let human = folder
        .cli(&["query", "a.simdb", "--text", text])
        .ends(0)
        .stdout;
    assert!(human.contains("The quick brown fox"), "{human}");
    assert_eq!(human.lines().count(), 2);
}

#[test]
fn document_does_not_match_itself() {
    let folder = with_fingerprints(&[(1, 0), (2, 0), (3, 0b11)]);
    let ask = |more: &[&str]| {
        let fixed = ["query", "a.simdb", "--id", "2", "--json"];
        matches(&folder.cli(&[&fixed, more].concat()).ends(0).one_json())
    };
    assert_eq!(ask(&[]), [(1, 0), (3, 2)]);
    assert_eq!(ask(&["--limit", "1"]), [(1, 0)]);
    assert_eq!(ask(&["--nearest", "2"]), [(1, 0), (3, 2)]);
}

#[test]
fn uninformative_query_text_matches_nothing_with_warning() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        "{\"id\":1,\"text\":\"\"}\n{\"id\":2,\"text\":\"\"}\n",
    );
    folder.load(&["a.simdb", "a.jsonl"]).ends(0);
    let ran = folder
        .cli(&["query", "a.simdb", "--text", "", "--radius", "64", "--json"])
        .ends(1);
    assert_eq!(ran.one_json()["reliable"], false);
    assert_eq!(matches(&ran.one_json()), []);
    assert!(ran.stderr.contains("too short"), "{}", ran.stderr);
    folder
        .cli(&["query", "a.simdb", "--id", "1", "--radius", "64"])
        .ends(1);
}

#[test]
fn queries_from_file_are_answered_in_order() {
    let pairs: Vec<_> = (0..5000u64)
        .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let folder = with_fingerprints(&pairs);
    let jsonl: String = pairs
        .iter()
        .map(|(_, bits)| format!("{{\"fingerprint\":\"{}\",\"other\":[1]}}\n", hex(*bits)))
        .collect();
    let raw: Vec<u8> = pairs
        .iter()
        .flat_map(|(_, bits)| bits.to_le_bytes())
        .collect();
    folder.write("q.raw", &raw);
    let fixed = ["query", "a.simdb", "--radius", "0", "--json", "--file"];
    for (more, stdin) in [
        (&["-"][..], jsonl.as_bytes()),
        (&["q.raw"], b""),
        (&["-", "--format", "raw"], &raw),
    ] {
        let lines = folder
            .cli_from(&[&fixed, more].concat(), stdin)
            .ends(0)
            .json();
        assert_eq!(lines.len(), pairs.len());
        for (number, (line, (id, bits))) in lines.iter().zip(&pairs).enumerate() {
            assert_eq!(line["query"], number);
            assert_eq!(line["fingerprint"], hex(*bits));
            assert_eq!(matches(line), [(*id, 0)]);
        }
    }
}

#[test]
fn output_of_get_is_a_valid_query() {
    let folder = with_texts();
    let got = folder
        .cli(&["get", "a.simdb", "4", "1", "--json"])
        .ends(0)
        .stdout;
    let queries = format!("{got}\n{{\"text\":\"something that nobody has written before\"}}\n");
    let ran = folder.cli_from(
        &["query", "a.simdb", "--file", "-", "--json"],
        queries.as_bytes(),
    );
    let lines = ran.ends(0).json();
    assert_eq!(matches(&lines[0]), [(4, 0)]);
    assert_eq!(matches(&lines[1]).len(), 2);
    assert_eq!(matches(&lines[2]), []);
    let human = folder
        .cli_from(&["query", "a.simdb", "--file", "-"], queries.as_bytes())
        .ends(0);
    let numbers: Vec<_> = human.stdout.lines().map(|line| &line[..3]).collect();
    assert_eq!(numbers, ["0  ", "1  ", "1  "]);
    let none = b"{\"text\":\"something that nobody has written before\"}\n";
    folder
        .cli_from(&["query", "a.simdb", "--file", "-"], none)
        .ends(1);
}

#[test]
fn invalid_query_is_reported_by_line() {
    let folder = with_fingerprints(&[(1, 1)]);
    folder.write(
        "q.jsonl",
        format!("{{\"fingerprint\":\"{}\"}}\n\n{{}}\n", hex(1)),
    );
    let ran = folder
        .cli(&["query", "a.simdb", "--file", "q.jsonl"])
        .ends(2);
    assert!(ran.stderr.contains("error: q.jsonl:3: "), "{}", ran.stderr);
    folder.write("q.json", "[\n{\"text\":\"a\"}\n]\n");
    let ran = folder
        .cli(&["query", "a.simdb", "--file", "q.json"])
        .ends(2);
    assert!(ran.stderr.contains("jq -c '.[]'"), "{}", ran.stderr);
    folder.write("q.raw", [0; 13]);
    let ran = folder.cli(&["query", "a.simdb", "--file", "q.raw"]).ends(2);
    assert!(ran.stderr.contains("q.raw: byte 8"), "{}", ran.stderr);
    folder
        .cli(&["query", "a.simdb", "--file", "missing.jsonl"])
        .fails(&["missing.jsonl"]);
}

#[test]
fn hash_prints_the_stored_fingerprint() {
    let folder = with_texts();
    let got = folder
        .cli(&["get", "a.simdb", "1", "--json"])
        .ends(0)
        .one_json();
    let text = got["text"].as_str().expect("a text");
    let hash = folder.cli(&["hash", text]).ends(0);
    assert_eq!(hash.stdout.trim_end(), got["fingerprint"]);
    let piped = folder
        .cli_from(&["hash"], format!("{text}\n").as_bytes())
        .ends(0);
    assert_eq!(piped.stdout, hash.stdout);
    let line = folder.cli(&["hash", text, "--json"]).ends(0).one_json();
    assert_eq!(
        line,
        json!({"fingerprint": got["fingerprint"], "reliable": true, "recipe": "ngram"})
    );
    let wide = folder.cli(&["hash", text, "--bits", "128"]).ends(0).stdout;
    assert_eq!(wide.trim_end().len(), 32);
    let jieba = folder
        .cli(&["hash", text, "--recipe", "jieba", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(jieba["recipe"], "jieba");
    folder
        .cli(&["hash", text, "--recipe", "magic"])
        .fails(&["magic"]);
    folder
        .cli_from(&["hash"], b"\xff")
        .fails(&["invalid UTF-8"]);
}

#[test]
fn hash_explain_shows_features_and_weights() {
    let folder = Folder::new();
    let text = "The quick brown fox jumps over the lazy dog near the river bank";
    let line = folder
        .cli(&["hash", text, "--explain", "--json"])
        .ends(0)
        .one_json();
    let features = line["features"].as_array().expect("features");
    assert!(!features.is_empty());
    let weights: Vec<_> = features
        .iter()
        .map(|feature| feature["weight"].as_f64().expect("a weight"))
        .collect();
    assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
    // `the` occurs three times: weight 1 + ln 3, to the nearest 1/1024.
    assert_eq!(weights[0], 2149.0 / 1024.0);
    assert_eq!(weights.last(), Some(&1.0));
    let explained = folder
        .cli(&["compare", text, text, "--features", "--json"])
        .ends(0)
        .one_json();
    let heaviest = &explained["features"]["both"]["heaviest"];
    assert_eq!(heaviest[0]["a"], features[0]["weight"]);
    assert!(features.iter().all(|feature| feature["token"].is_string()));
    let human = folder.cli(&["hash", text, "--explain"]).ends(0).stdout;
    assert_eq!(human.lines().count(), 1 + features.len());
    assert!(human.contains("2.099  "), "{human}");
}

#[test]
fn hash_reports_unreliable_fingerprint() {
    let folder = Folder::new();
    let ran = folder.cli(&["hash", "", "--json"]).ends(0);
    assert_eq!(ran.one_json()["reliable"], false);
    let ran = folder.cli(&["hash", ""]).ends(0);
    assert!(ran.stderr.contains("too short"), "{}", ran.stderr);
}

#[test]
fn repeated_phrase_is_not_reported_as_short() {
    let folder = with_texts();
    let text = "haha ".repeat(100);
    let hash = folder.cli(&["hash", &text]).ends(0);
    let query = folder.cli(&["query", "a.simdb", "--text", &text]).ends(1);
    for ran in [hash, query] {
        assert!(ran.stderr.contains("one phrase over and over"), "{ran:#?}");
    }
    let queries = "{\"text\":\"\"}\n";
    let ran = folder
        .cli_from(&["query", "a.simdb", "--file", "-"], queries.as_bytes())
        .ends(1);
    assert!(
        ran.stderr.contains("1 of 1 texts have too little content"),
        "{ran:#?}"
    );
}

#[test]
fn hash_explain_of_128_bits_is_refused() {
    let folder = Folder::new();
    folder
        .cli(&["hash", "a text", "--bits", "128", "--explain"])
        .fails(&["--explain", "--bits 128"]);
    folder
        .cli(&["hash", "a text", "--bits", "64", "--explain"])
        .ends(0);
}

#[test]
fn message_for_taken_id_names_the_replacing_option() {
    let folder = with_fingerprints(&[(1, 1)]);
    let two = hex(2);
    let insert = ["insert", "a.simdb", "1", "--fingerprint", &two];
    folder
        .cli(&insert)
        .fails(&["document 1 is already stored", &hex(1), "--replace"]);
    folder.cli(&[&insert[..], &["--replace"]].concat()).ends(0);
}

#[test]
fn progress_is_monotonic() {
    let folder = with_texts();
    let check = ["check", "a.simdb", "--progress", "always"];
    let load = ["b.simdb", "a.jsonl", "--progress", "always"];
    for ran in [folder.cli(&check).ends(0), folder.load(&load).ends(0)] {
        let percents: Vec<u32> = ran
            .stderr
            .lines()
            .filter_map(|line| line.split_once('%')?.0.rsplit(' ').next()?.parse().ok())
            .collect();
        assert!(!percents.is_empty(), "{ran:#?}");
        assert!(percents.is_sorted() && percents[0] == 0, "{ran:#?}");
    }
}

#[test]
fn documents_are_inserted_and_removed() {
    let folder = with_texts();
    let insert = |more: &[&str], code| {
        let fixed = ["insert", "a.simdb", "--json"];
        folder.cli(&[&fixed, more].concat()).ends(code).one_json()
    };
    let text = "The quick brown fox jumps over the lazy dog near the river bank this morning";
    let refused = insert(&["10", "--text", text, "--unique", "3"], 1);
    assert_eq!(refused["outcome"], "duplicate");
    assert_eq!(
        (&refused["duplicate_of"], &refused["distance"]),
        (&json!(1), &json!(0))
    );
    let inserted = insert(&["10", "--text", text], 0);
    assert_eq!(
        (&inserted["outcome"], &inserted["duplicate_of"]),
        (&json!("inserted"), &Value::Null)
    );
    assert_eq!(insert(&["10", "--text", text], 0)["outcome"], "present");
    let got = folder
        .cli(&["get", "a.simdb", "10", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(got["text"], text);

    let ff = hex(0xff);
    folder
        .cli(&["insert", "a.simdb", "10", "--fingerprint", &ff])
        .fails(&["document 10"]);
    assert_eq!(
        insert(&["10", "--fingerprint", &ff, "--replace"], 0)["outcome"],
        "replaced"
    );
    assert_eq!(
        insert(&["11", "--fingerprint", &hex(0xf0), "--unique", "3"], 0)["outcome"],
        "inserted"
    );

    let removed = folder
        .cli(&["remove", "a.simdb", "10", "99", "--json"])
        .ends(1)
        .json();
    assert_eq!(
        removed[0],
        json!({"id": 10, "removed": true, "fingerprint": ff})
    );
    assert_eq!(
        removed[1],
        json!({"id": 99, "removed": false, "fingerprint": null})
    );
    folder.cli(&["get", "a.simdb", "10"]).ends(1);
    folder.cli(&["remove", "a.simdb", "11"]).ends(0);
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn check_of_sound_database_exits_with_0() {
    let folder = with_texts();
    let ran = folder.cli(&["check", "a.simdb", "--json"]).ends(0);
    assert_eq!(ran.one_json(), json!({"ok": true, "documents": 4}));
    assert_eq!(
        folder.cli(&["check", "a.simdb"]).ends(0).stdout,
        "sound  4 documents\n"
    );
}

/// A folder with `a.simdb`, in which a bit of a table page is flipped.
fn with_damage() -> Folder {
    let pairs: Vec<_> = (0..20_000u64)
        .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let folder = with_fingerprints(&pairs);
    let mut bytes = std::fs::read(folder.file("a.simdb")).expect("the database");
    // A chunk of ids has each fingerprint less the least one: the difference of two neighbours is
    // kept.
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let step = pairs[10_001].1.wrapping_sub(pairs[10_000].1);
    let place = bytes
        .windows(16)
        .position(|window| number(&window[8..]).wrapping_sub(number(&window[..8])) == step)
        .expect("the fingerprints");
    bytes[place] ^= 1;
    folder.write("a.simdb", bytes);
    folder
}

#[test]
fn check_of_damaged_database_exits_with_1() {
    let folder = with_damage();
    let line = folder
        .cli(&["check", "a.simdb", "--json"])
        .ends(1)
        .one_json();
    assert_eq!(line["ok"], false);
    assert!(
        !line["damage"].as_array().expect("a list").is_empty(),
        "{line}"
    );
    let human = folder.cli(&["check", "a.simdb"]).ends(1).stdout;
    assert!(human.starts_with("damaged  "), "{human}");
}

#[test]
fn backup_is_a_database_and_overwrites_no_file() {
    let folder = with_texts();
    let line = folder
        .cli(&["backup", "a.simdb", "b.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(line["documents"], 4);
    let export = |database| folder.cli(&["export", database]).ends(0).stdout;
    assert_eq!(export("a.simdb"), export("b.simdb"));
    folder
        .cli(&["backup", "a.simdb", "b.simdb"])
        .fails(&["b.simdb already exists; choose another name"]);
    folder
        .cli(&["backup", "a.simdb", "a.simdb", "--force"])
        .fails(&["is the database"]);
    folder.cli(&["remove", "a.simdb", "1"]).ends(0);
    for _ in 0..2 {
        let arguments = ["backup", "a.simdb", "b.simdb", "--force"];
        folder.cli(&arguments).ends(0);
        assert_eq!(export("a.simdb"), export("b.simdb"));
    }
    folder.write("none.simdb", "no database");
    folder
        .cli(&["backup", "a.simdb", "none.simdb", "--force"])
        .fails(&["cannot replace none.simdb", "is not a simdb database"]);
    let names = ["a.jsonl", "a.simdb", "b.simdb", "none.simdb"];
    assert_eq!(folder.names(), names);
}

#[test]
fn folder_with_other_files_is_not_replaced() {
    let folder = with_texts();
    let export = |force: &[&str]| {
        let arguments = ["export", "a.simdb", "--format", "npy", "-o", "out"];
        folder.cli(&[&arguments[..], force].concat())
    };
    export(&[]).ends(0);
    folder.write("out/fingerprints.npy", "old");
    folder.write("out/old.npy", "old");
    export(&[]).fails(&["out already exists", "--force"]);
    export(&["--force"]).ends(0);
    assert!(!folder.file("out/old.npy").exists());
    let written = std::fs::metadata(folder.file("out/fingerprints.npy")).expect("it is there");
    assert_eq!(written.len(), 128 + 4 * 8);
    folder.write("out/notes.txt", "precious");
    export(&["--force"]).fails(&["cannot replace out", "out/notes.txt"]);
    assert_eq!(folder.read("out/notes.txt"), "precious");
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb", "out"]);
}

#[test]
fn vacuum_keeps_all_documents() {
    let folder = with_texts();
    let before = folder.cli(&["export", "a.simdb"]).ends(0).stdout;
    let line = folder
        .cli(&["vacuum", "a.simdb", "--json"])
        .ends(0)
        .one_json();
    assert!(line["after_bytes"].as_u64().expect("a size") > 0, "{line}");
    assert_eq!(folder.cli(&["export", "a.simdb"]).ends(0).stdout, before);
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb"]);
}

#[test]
fn export_writes_documents_in_order_of_id() {
    let folder = with_fingerprints(&[(7, 0xff), (3, 1)]);
    let csv = folder
        .cli(&["export", "a.simdb", "--format", "csv"])
        .ends(0)
        .stdout;
    assert_eq!(
        csv,
        format!(
            "id,fingerprint,reliable\n3,{},true\n7,{},true\n",
            hex(1),
            hex(0xff)
        )
    );
    let raw = folder
        .cli(&["export", "a.simdb", "--format", "raw"])
        .ends(0)
        .stdout_bytes;
    assert_eq!(raw, raw_pairs(&[(3, 1), (7, 0xff)]));
    let jsonl = folder.cli(&["export", "a.simdb"]).ends(0).json();
    assert_eq!(
        jsonl[0],
        json!({
            "id": 3, "fingerprint": hex(1), "reliable": true, "arrival": null, "text": null
        })
    );
    folder.write("there", "before");
    folder
        .cli(&["export", "a.simdb", "-o", "there"])
        .fails(&["there"]);
    assert_eq!(folder.read("there"), "before");
}

#[test]
fn arrivals_are_shown_with_retention() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        r#"{"id":1,"fp":"0000000000000001","at":"2024-02-29T20:34:56.007+08:00"}
{"id":2,"fp":"0000000000000002","at":1709210096}
"#,
    );
    let fields = ["--fingerprint", "fp", "--time", "at", "--retention", "36h"];
    folder
        .load(&[&["a.simdb", "a.jsonl"], &fields[..]].concat())
        .ends(0);
    let (first, second) = ("2024-02-29T12:34:56.000Z", "2024-02-29T12:34:56.007Z");
    let got = folder.cli(&["get", "a.simdb", "1"]).ends(0).stdout;
    assert_eq!(got, format!("1  {}  {second}  -\n", hex(1)));
    let got = folder.cli(&["get", "a.simdb", "2", "--json"]).ends(0);
    assert_eq!(got.one_json()["arrival"], first);
    let csv = folder
        .cli(&["export", "a.simdb", "--format", "csv"])
        .ends(0);
    assert_eq!(
        csv.stdout,
        format!(
            "id,fingerprint,reliable,arrival\n1,{},true,{second}\n2,{},true,{first}\n",
            hex(1),
            hex(2)
        )
    );
    let stats = folder.cli(&["stats", "a.simdb", "--json"]).ends(0);
    let stats = stats.one_json();
    assert_eq!(
        (&stats["oldest_arrival"], &stats["latest_arrival"]),
        (&json!(first), &json!(second))
    );
    assert_eq!(
        (&stats["keep_arrivals"], &stats["retention_seconds"]),
        (&json!(true), &json!(129_600.0))
    );
    assert_eq!([&stats["by_clock"], &stats["sliding"]], [&json!(false); 2]);
    let human = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    let now = "counts back from        the latest arrival\n";
    for said in ["1d 12h", now, first, second, "arrivals"] {
        assert!(human.contains(said), "{said}: {human}");
    }
    folder.cli(&["check", "a.simdb"]).ends(0);
}

#[test]
fn arrivals_are_not_shown_without_retention() {
    let folder = with_fingerprints(&[(1, 1)]);
    let stats = folder.cli(&["stats", "a.simdb", "--json"]).ends(0);
    let stats = stats.one_json();
    assert_eq!(stats["keep_arrivals"], false);
    assert_eq!(stats["oldest_arrival"], Value::Null);
    let human = folder.cli(&["stats", "a.simdb"]).ends(0).stdout;
    assert!(!human.contains("arrival"), "{human}");
}

#[cfg(unix)]
#[test]
fn interrupted_export_leaves_no_partial_file() {
    let pairs: Vec<_> = (0..300_000u64)
        .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let folder = with_fingerprints(&pairs);
    for signal in ["-INT", "-TERM"] {
        let child = folder
            .command("simdb-cli")
            .args(["export", "a.simdb", "-o", "out.jsonl"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the export starts");
        folder.wait_for(|name| name.contains("out.jsonl"));
        let ran = stop(child, signal);
        // The export may end before the signal.
        if ran.code == 0 {
            assert_eq!(folder.read_json("out.jsonl").len(), pairs.len());
            std::fs::remove_file(folder.file("out.jsonl")).expect("removed");
        } else {
            ran.fails(&["interrupted"]);
        }
        assert_eq!(folder.names(), ["a.raw", "a.simdb"]);
    }
}

#[test]
fn export_overwrites_no_file() {
    let folder = with_texts();
    folder
        .cli(&["export", "a.simdb", "-o", "a.jsonl"])
        .fails(&["a.jsonl already exists"]);
    assert_eq!(folder.read("a.jsonl"), TEXTS);
    folder
        .cli(&["export", "a.simdb", "-o", "no/such.jsonl"])
        .fails(&["cannot write no/such.jsonl"]);
    assert_eq!(folder.names(), ["a.jsonl", "a.simdb"]);
}

#[test]
fn text_may_begin_with_hyphen() {
    let folder = with_texts();
    let text = "--the quick brown fox jumps over the lazy dog near the river bank this morning";
    folder
        .cli(&["insert", "a.simdb", "10", "--text", text])
        .ends(0);
    let found = folder
        .cli(&["query", "a.simdb", "--text", text, "--json"])
        .ends(0);
    assert!(matches(&found.one_json()).iter().any(|(id, _)| *id == 10));
    let hash = folder.cli(&["hash", "--", text]).ends(0).stdout;
    assert_eq!(hash.trim_end(), found.one_json()["fingerprint"]);
    let help = folder.cli(&["hash", "--help"]).ends(0).stdout;
    assert!(help.contains("put -- before"), "{help}");
}

#[test]
fn completions_exist_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.cli(&["completions", shell]).ends(0).stdout;
        assert!(
            script.contains("simdb-cli") && script.contains("query"),
            "{shell}"
        );
    }
}

#[test]
fn exit_code_does_not_depend_on_closed_output() {
    fn end(folder: &Folder, arguments: &[&str], code: i32) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = folder.command("simdb-cli");
        let command = command.args(arguments).stdout(writer);
        let ran = Ran::from(command.output().expect("the tool runs"));
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
    }
    let folder = with_fingerprints(&[(1, 0), (2, u64::MAX)]);
    let insert = [
        "insert",
        "a.simdb",
        "9",
        "--fingerprint",
        "0000000000000001",
        "--unique",
        "3",
    ];
    end(&folder, &insert, 1);
    end(&folder, &["remove", "a.simdb", "1", "1000"], 1);
    end(&folder, &insert, 0);
    end(&folder, &["remove", "a.simdb", "9"], 0);
    end(&folder, &["check", "a.simdb"], 0);
    let folder = with_damage();
    end(&folder, &["check", "a.simdb"], 1);
    end(&folder, &["salvage", "a.simdb", "b.simdb"], 1);
}

#[test]
fn closed_pipe_exits_with_0() {
    let pairs: Vec<_> = (0..50_000u64)
        .map(|id| (id, id.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let folder = with_fingerprints(&pairs);
    let mut child = folder
        .command("simdb-cli")
        .args(["export", "a.simdb"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(
        lines
            .next()
            .expect("a line")
            .expect("UTF-8")
            .contains("\"id\":0")
    );
    drop(lines);
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut stderr)
        .expect("UTF-8");
    assert_eq!(child.wait().expect("the tool ends").code(), Some(0));
    assert_eq!(stderr, "");
}

#[test]
fn readers_share_database_and_exclude_writers() {
    let folder = with_fingerprints(&[(1, 1)]);
    // A reader that waits for queries holds the database open.
    let mut reader = folder
        .command("simdb-cli")
        .args(["query", "a.simdb", "--json", "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut pipe = reader.stdin.take().expect("a pipe");
    // More than a batch, so that answers come while the tool waits for more queries, and less than
    // a pipe holds, so that the tool never blocks on its output.
    const QUERIES: usize = 1500;
    let query = format!("{{\"fingerprint\":\"{}\"}}\n", hex(1));
    pipe.write_all(query.repeat(QUERIES).as_bytes())
        .expect("written");
    let mut answers = BufReader::new(reader.stdout.take().expect("a pipe")).lines();
    assert!(answers.next().is_some());

    let holder = if cfg!(target_os = "linux") {
        format!("process {} has it open", reader.id())
    } else {
        "another process has it open".to_owned()
    };
    folder.cli(&["stats", "a.simdb"]).ends(0);
    folder
        .cli(&["insert", "a.simdb", "2", "--fingerprint", &hex(2)])
        .fails(&[&holder]);
    folder.write("b.raw", raw_pairs(&[(2, 2)]));
    folder.load(&["a.simdb", "b.raw"]).fails(&[&holder]);

    drop(pipe);
    assert_eq!(answers.count(), QUERIES - 1);
    assert_eq!(reader.wait().expect("the tool ends").code(), Some(0));
    folder
        .cli(&["insert", "a.simdb", "2", "--fingerprint", &hex(2)])
        .ends(0);
}
