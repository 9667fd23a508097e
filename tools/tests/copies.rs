//! The copies of documents on the command line.

use serde_json::{Value, json};

use crate::common::Folder;

/// Four items of one story, with another between them.
fn items() -> String {
    let cats = "Three cats sat on the mat and would not be moved by anyone.";
    let ferry = "The ferry to the islands was cancelled because of heavy fog.";
    let items = [
        ("a/1", cats, "Cats", "10:00"),
        ("b/1", cats, "More cats", "11:00"),
        ("a/2", ferry, "Ferry", "11:30"),
        ("c/1", cats, "Cats again", "12:00"),
        ("b/1", cats, "More cats", "12:30"),
    ];
    let line = |(key, text, title, time)| {
        let time = format!("2024-05-31T{time}:00Z");
        json!({"guid": key, "text": text, "title": title, "time": time}).to_string() + "\n"
    };
    items.map(line).concat()
}

const WATCH: [&str; 16] = [
    "watch",
    "feed.simdb",
    "--create",
    "--key",
    "guid",
    "--keep",
    "title",
    "--time",
    "time",
    "--retention",
    "2d",
    "--unique",
    "3",
    "--copies",
    "2",
    "--keep-texts",
];

/// The verdicts of `watch`, one line at a time, so that each line has a commit of its own.
fn watch_one_by_one(folder: &Folder) -> Vec<Value> {
    let answer = |line: &str| {
        let line = format!("{line}\n");
        folder.cli_from(&WATCH, line.as_bytes()).ends(0).one_json()
    };
    items().lines().map(answer).collect()
}

#[test]
fn watch_counts_copies_and_knows_refused_items() {
    let folder = Folder::new();
    let answers = watch_one_by_one(&folder);
    let verdicts: Vec<&str> = answers
        .iter()
        .map(|one| one["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["new", "duplicate", "new", "duplicate", "seen"]);
    assert_eq!(answers[1]["copies"], 1);
    assert_eq!(
        (
            &answers[3]["copies"],
            &answers[3]["of_key"],
            &answers[3]["first_seen"]
        ),
        (&json!(2), &json!("a/1"), &json!("2024-05-31T11:00:00.000Z"))
    );
    let again = folder.cli_from(&WATCH, items().as_bytes()).ends(0);
    let verdicts: Vec<Value> = again
        .json()
        .iter()
        .map(|one| one["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["exists", "seen", "exists", "seen", "seen"]);
    assert!(again.stderr.contains("3 seen before"), "{}", again.stderr);
}

#[test]
fn copy_of_document_that_has_expired_since_has_a_field_for_its_key() {
    let folder = Folder::new();
    // One commit or several: the last line expires the first document in any case.
    let last = json!({"guid": "d/1", "text": "Another story of another day, about the harbour.",
        "title": "Harbour", "time": "2024-06-05T10:00:00Z"});
    let lines = format!("{}{last}\n", items());
    let answers = folder.cli_from(&WATCH, lines.as_bytes()).ends(0).json();
    assert_eq!(answers[1]["verdict"], "duplicate");
    let key = &answers[1].as_object().unwrap()["of_key"];
    assert!(key.is_null() || key == "a/1", "{key}");
    assert_eq!(answers[5]["verdict"], "new");
}

#[test]
fn top_and_get_show_the_copies() {
    let folder = Folder::new();
    watch_one_by_one(&folder);
    let top = folder
        .cli(&["top", "feed.simdb", "--show", "title", "--json"])
        .ends(0);
    assert_eq!(
        top.one_json(),
        json!({
            "copies": 2, "id": 1, "key": "a/1", "first_seen": "2024-05-31T11:00:00.000Z",
            "last_seen": "2024-05-31T12:00:00.000Z", "title": "Cats"
        })
    );
    let top = folder
        .cli(&["top", "feed.simdb", "--show", "title,titel"])
        .ends(0);
    assert!(top.stdout.ends_with("  Cats -\n"), "{}", top.stdout);
    let unknown = "no shown document has a field \"titel\"\n";
    assert!(top.stderr.ends_with(unknown), "{}", top.stderr);
    folder
        .cli(&["top", "feed.simdb", "--show", "key", "--json"])
        .fails(&["--json has a field \"key\" of its own"]);
    let top = folder.cli(&["top", "feed.simdb", "--since", "10m"]).ends(0);
    assert!(
        top.stdout.starts_with("2  a/1  2024-05-31T11:00:00.000Z  "),
        "{}",
        top.stdout
    );
    // In a pipe, a line is whole.
    assert!(top.stdout.ends_with("by anyone.\n"), "{}", top.stdout);
    let get = folder
        .cli(&["get", "feed.simdb", "--key", "a/1", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(get["copies"]["count"], 2);
    assert_eq!(
        get["copies"]["newest"][0],
        json!({"document": "c/1", "seen": "2024-05-31T12:00:00.000Z", "kind": "duplicate", "distance": 0})
    );
    let get = folder.cli(&["get", "feed.simdb", "1"]).ends(0);
    assert!(get.stdout.contains("  2 copies  "), "{}", get.stdout);
    assert!(get.stdout.ends_with("by anyone.\n"), "{}", get.stdout);
    let stats = folder
        .cli(&["stats", "feed.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(stats["copies"], 2);
}

#[test]
fn export_is_loaded_with_copies() {
    let folder = Folder::new();
    watch_one_by_one(&folder);
    folder
        .cli(&["export", "feed.simdb", "-o", "copy.jsonl"])
        .ends(0);
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
        "--time",
        "arrival",
        "--copies-from",
        "copies",
        "--retention",
        "2d",
    ];
    folder.load(&load).fails(&["--copies-from", "--copies"]);
    folder
        .load(&[&load[..], &["--copies", "2"]].concat())
        .ends(0);
    let export = |name| folder.cli(&["export", name]).ends(0).stdout;
    assert_eq!(export("copy.simdb"), export("feed.simdb"));
    let top = folder
        .cli(&["top", "copy.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!((&top["key"], &top["copies"]), (&json!("a/1"), &json!(2)));
    folder.cli(&["check", "copy.simdb"]).ends(0);
}

#[test]
fn tables_of_an_export_are_loaded_with_copies() {
    let folder = Folder::new();
    watch_one_by_one(&folder);
    let copies = |database: &str| -> Vec<Value> {
        let documents = folder.cli(&["export", database]).ends(0).json().into_iter();
        documents
            .map(|document| json!([document["key"], document["copies"]]))
            .collect()
    };
    for format in ["csv", "parquet"] {
        let (file, copy) = (format!("copy.{format}"), format!("{format}.simdb"));
        folder
            .cli(&["export", "feed.simdb", "--format", format, "-o", &file])
            .ends(0);
        let load = [
            &copy,
            &file,
            "--key",
            "key",
            "--fingerprint",
            "fingerprint",
            "--copies-from",
            "copies",
            "--copies",
            "2",
        ];
        folder.load(&load).ends(0);
        assert_eq!(copies(&copy), copies("feed.simdb"), "{format}");
        folder.cli(&["check", &copy]).ends(0);
    }
    // A document without a copy, and copies that are damaged.
    assert!(
        folder
            .read("copy.csv")
            .lines()
            .any(|line| line.ends_with(','))
    );
    let damaged = folder
        .read("copy.csv")
        .replace("\"\"count\"\"", "\"\"number\"\"");
    folder.write("damaged.csv", damaged);
    let load = [
        "damaged.simdb",
        "damaged.csv",
        "--key",
        "key",
        "--fingerprint",
        "fingerprint",
        "--copies-from",
        "copies",
        "--copies",
        "2",
    ];
    folder.load(&load).fails(&["column \"copies\"", "count"]);
    // A database without copies has no such column.
    folder.write(
        "ids.jsonl",
        "{\"id\":1,\"fingerprint\":\"00000000000000ff\"}\n",
    );
    folder
        .load(&["ids.simdb", "ids.jsonl", "--fingerprint", "fingerprint"])
        .ends(0);
    let csv = folder
        .cli(&["export", "ids.simdb", "--format", "csv"])
        .ends(0)
        .stdout;
    assert!(csv.starts_with("id,fingerprint,reliable\n"), "{csv}");
}

#[test]
fn misspelt_field_of_copies_is_reported() {
    let folder = Folder::new();
    let line = "{\"id\":1,\"text\":\"Three cats sat on the mat.\",\"copies\":4}\n";
    folder.write("one.jsonl", line);
    let asks = ["--copies", "4", "--copies-from"];
    let load = |name, field| folder.load(&[&[name, "one.jsonl"], &asks[..], &[field]].concat());
    let said = "no record has copies in the field of --copies-from: copeis";
    assert!(load("a.simdb", "copeis").ends(0).stderr.contains(said));
    assert!(!load("b.simdb", "copies").ends(0).stderr.contains("warning"));
    load("c.simdb", "text").fails(&["--copies-from names a field twice"]);
    let watch = [&["watch", "d.simdb", "--create"], &asks[..], &["copeis"]].concat();
    let watched = folder.cli_from(&watch, line.as_bytes()).ends(0);
    assert!(watched.stderr.contains(said), "{watched:#?}");
    folder.write("one.jsonl", line.replace('4', "[4]"));
    load("c.simdb", "copies").fails(&["no number of copies and no object of count"]);
}

#[test]
fn database_without_copies_is_refused_with_the_option() {
    let folder = Folder::new();
    folder.write(
        "one.jsonl",
        "{\"id\":1,\"text\":\"Three cats sat on the mat.\"}\n",
    );
    folder.load(&["docs.simdb", "one.jsonl"]).ends(0);
    folder
        .cli(&["top", "docs.simdb"])
        .fails(&["records no copies"]);
    folder
        .cli(&["top", "docs.simdb", "--show", "nope"])
        .fails(&["--show names fields, and docs.simdb keeps none"]);
    folder
        .load(&["docs.simdb", "one.jsonl", "--copies", "4"])
        .fails(&["without --copies 4"]);
    folder
        .load(&["new.simdb", "one.jsonl", "--copies", "4"])
        .ends(0);
    folder.cli(&["top", "new.simdb"]).ends(1);
    folder
        .load(&["bad.simdb", "one.jsonl", "--copies", "0"])
        .fails(&["1..=1000"]);
}

#[test]
fn corrected_item_replaces_its_document_on_request() {
    let folder = Folder::new();
    watch_one_by_one(&folder);
    let item = |text: &str| {
        json!({"guid": "a/2", "title": "Ferry", "time": "2024-05-31T13:00:00Z", "text": text})
            .to_string()
            + "\n"
    };
    let watch = |on_exists: &str, text: &str| {
        let watch = [&WATCH[..], &["--on-exists", on_exists]].concat();
        let answered = folder.cli_from(&watch, item(text).as_bytes()).ends(0);
        answered.one_json()["verdict"].as_str().unwrap().to_owned()
    };
    let longer = "The ferry to the islands was cancelled because of heavy fog. Buses are late.";
    assert_eq!(watch("keep", longer), "exists");
    assert_eq!(
        watch(
            "replace-if-extends",
            "A text about something else altogether."
        ),
        "exists"
    );
    assert_eq!(watch("replace-if-extends", longer), "replaced");
    assert_eq!(watch("replace", longer), "exists");
    assert_eq!(
        watch("replace", "A text about something else altogether."),
        "replaced"
    );
    let get = folder
        .cli(&["get", "feed.simdb", "--key", "a/2", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(get["text"], "A text about something else altogether.");
}

#[test]
fn load_in_memory_counts_copies() {
    let folder = Folder::new();
    folder.write("items.jsonl", items());
    let load = [
        "feed.simdb",
        "items.jsonl",
        "--key",
        "guid",
        "--copies",
        "2",
    ];
    let load = [&load[..], &["--unique", "similar", "--json"]].concat();
    let counts = folder.load(&load).ends(0).one_json();
    let expected = json!({"inserted": 2, "duplicates": 2, "present": 1});
    for (name, expected) in expected.as_object().unwrap() {
        assert_eq!(counts[name], *expected, "{name}: {counts}");
    }
    let top = folder
        .cli(&["top", "feed.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!((&top["key"], &top["copies"]), (&json!("a/1"), &json!(2)));
    // A second load counts nothing again.
    let counts = folder.load(&load).ends(0).one_json();
    assert_eq!(counts["present"], 5, "{counts}");
    let again = folder
        .cli(&["top", "feed.simdb", "--json"])
        .ends(0)
        .one_json();
    assert_eq!(again["copies"], top["copies"]);
}

#[test]
fn copies_that_cannot_be_stored_are_a_bad_record() {
    let folder = Folder::new();
    let seen = "2026-11-26T08:00:00Z";
    let line = |distance: u32, count: u32| {
        let newest =
            json!([{"document": 7, "seen": seen, "kind": "duplicate", "distance": distance}]);
        let copies =
            json!({"count": count, "first_seen": seen, "last_seen": seen, "newest": newest});
        json!({"id": 1, "text": "The ferry was cancelled.", "copies": copies}).to_string()
    };
    let load = [
        "a.simdb",
        "a.jsonl",
        "--keep-texts",
        "--copies",
        "4",
        "--copies-from",
        "copies",
    ];
    for (distance, count, said) in [(300, 1, "a distance is above 64"), (3, 0, "their count")] {
        folder.write("a.jsonl", line(distance, count));
        folder.load(&load).fails(&["a.jsonl:1", said]);
    }
    folder.write("a.jsonl", line(64, 1));
    folder.load(&load).ends(0);
    folder.cli(&["check", "a.simdb"]).ends(0);
}
