//! `simdb-cli` with the address of a server in place of a path: the same output and exit codes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::json;

use crate::common::Served;

/// The program, built if it is not there, or older than its sources.
static SIMDB_CLI: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut build = Command::new(env!("CARGO"));
    // As the other programs are built, so that nothing is compiled twice.
    build
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["build", "--quiet", "--bin", "simdb-cli"]);
    assert!(build.status().expect("cargo runs").success());
    Path::new(env!("CARGO_BIN_EXE_simdb-serve")).with_file_name("simdb-cli")
});

/// Standard output and the exit code; or the messages of an error.
fn run(folder: &Path, token: Option<&str>, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(&*SIMDB_CLI);
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("SIMDB_TOKEN");
    command.envs(token.map(|token| ("SIMDB_TOKEN", token)));
    let ran = command.output().expect("it runs");
    let output = if ran.status.code() == Some(2) {
        &ran.stderr
    } else {
        &ran.stdout
    };
    (
        String::from_utf8_lossy(output).into_owned(),
        ran.status.code(),
    )
}

const TEXTS: [&str; 5] = [
    "The ferry to the islands was cancelled due to heavy fog.",
    "The ferry to the islands was not cancelled due to heavy fog.",
    "The ferry to the islands was cancelled due to heavy fog. Buses are late.",
    "你妈妈喊你回家吃饭哦，回家罗回家罗",
    "a",
];

/// Verbs that read a database: `DB` stands for its address.
const READING: [&[&str]; 19] = [
    &["get", "DB", "1", "4", "5"],
    &["get", "DB", "1", "9", "--json"],
    &["query", "DB", "--text", TEXTS[0]],
    &[
        "query", "DB", "--text", TEXTS[0], "--radius", "20", "--json",
    ],
    &[
        "query", "DB", "--text", TEXTS[0], "--radius", "20", "--limit", "1",
    ],
    &["query", "DB", "--id", "1", "--nearest", "2", "--json"],
    &["query", "DB", "--id", "9"],
    &["query", "DB", "--text", "a"],
    &["query", "DB", "--fingerprint", "0123456789abcdef"],
    &["query", "DB", "--text", TEXTS[0], "--similar"],
    &[
        "query",
        "DB",
        "--id",
        "1",
        "--similar",
        "--decide",
        "alike",
        "--json",
    ],
    &[
        "query", "DB", "--id", "1", "--verify", "--radius", "12", "--json",
    ],
    &["query", "DB", "--file", "queries.jsonl", "--json"],
    &["query", "DB", "--file", "queries.jsonl", "--similar"],
    &["doctor", "DB"],
    &["doctor", "DB", "--json"],
    &["export", "DB"],
    &["export", "DB", "--format", "csv"],
    &["compare", "--database", "DB", "1", "2", "--bits", "--json"],
];

fn at(address: &str, arguments: &[&str]) -> Vec<String> {
    arguments
        .iter()
        .map(|one| one.replace("DB", address))
        .collect()
}

fn compare(
    folder: &Path,
    token: Option<&str>,
    address: &str,
    arguments: &[&str],
    expected: &(String, Option<i32>),
) {
    let given = at(address, arguments);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    assert_eq!(&run(folder, token, &given), expected, "{given:?}");
}

/// A folder with a database of [`TEXTS`], closed, and a file of queries.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let database = simdb::Database::builder()
        .similar(true)
        .create(folder.path().join("a.simdb"))
        .unwrap();
    for (id, text) in (1_u64..).zip(TEXTS) {
        assert!(
            database
                .insert(database.document(id, text).unwrap())
                .unwrap()
                .is_inserted()
        );
    }
    database.close().unwrap();
    let queries = TEXTS.map(|text| serde_json::json!({ "text": text }).to_string() + "\n");
    std::fs::write(folder.path().join("queries.jsonl"), queries.concat()).unwrap();
    folder
}

#[test]
fn verbs_print_the_same_for_a_file_and_for_its_server() {
    let folder = folder();
    let of_file = READING.map(|arguments| {
        let given = at("a.simdb", arguments);
        run(
            folder.path(),
            None,
            &given.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    });
    let stats = run(folder.path(), None, &["stats", "a.simdb", "--json"]);
    let served = Served::start(folder, &["--listen", "127.0.0.1:0"]);
    let token = served.token.as_deref();
    let address = format!("http://{}", served.address);
    for (arguments, expected) in READING.iter().zip(&of_file) {
        compare(served.path(), token, &address, arguments, expected);
    }
    assert_eq!(
        run(served.path(), token, &["stats", &address, "--json"]),
        stats
    );
    // The link that the server has printed, without a variable.
    let link = format!("{address}/?token={}", token.expect("a token"));
    compare(served.path(), None, &link, READING[0], &of_file[0]);
}

#[test]
fn changes_print_the_same_for_a_file_and_for_its_server() {
    const CHANGING: [&[&str]; 11] = [
        &["insert", "DB", "11", "--text", TEXTS[0], "--unique", "3"],
        &[
            "insert", "DB", "11", "--text", TEXTS[0], "--unique", "similar", "--json",
        ],
        &[
            "insert",
            "DB",
            "12",
            "--text",
            "Another text, about quite another thing.",
            "--json",
        ],
        &[
            "insert",
            "DB",
            "12",
            "--text",
            "Another text, about quite another thing.",
        ],
        &[
            "insert",
            "DB",
            "12",
            "--text",
            "A third text, about a third thing.",
            "--replace",
        ],
        &[
            "insert",
            "DB",
            "13",
            "--fingerprint",
            "0123456789abcdef",
            "--json",
        ],
        &["insert", "DB", "13", "--fingerprint", "0123456789abcdee"],
        &[
            "insert",
            "DB",
            "14",
            "--text",
            "Another text, about quite another thing. And more.",
            "--unique",
            "similar",
        ],
        &["remove", "DB", "12", "99"],
        &["remove", "DB", "13", "98", "--json"],
        &["get", "DB", "11", "12", "13", "14"],
    ];
    let of_file = folder();
    let served = Served::start(folder(), &["--listen", "unix:simdb.sock"]);
    let token = served.token.as_deref();
    for arguments in CHANGING {
        let given = at("a.simdb", arguments);
        let expected = run(
            of_file.path(),
            None,
            &given.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        compare(
            served.path(),
            token,
            "unix:simdb.sock",
            arguments,
            &expected,
        );
    }
}

#[test]
fn more_removals_than_a_request_takes_are_several_requests() {
    let served = Served::new(&["--no-token"]);
    let address = format!("http://{}", served.address);
    let last = json!({"id": 10_050, "text": TEXTS[0]});
    served.post("/v1/documents", &last).with(200);
    let ids: Vec<String> = (1..=10_050).map(|id: u64| id.to_string()).collect();
    let arguments = ["remove", &address].into_iter();
    let arguments: Vec<&str> = arguments.chain(ids.iter().map(String::as_str)).collect();
    let (text, code) = run(served.path(), None, &arguments);
    assert_eq!(code, Some(1), "{text:.200}");
    assert!(text.starts_with("removed  10050  "), "{text:.200}");
}

#[test]
fn errors_of_a_server_say_what_to_do() {
    let served = Served::new(&[]);
    let address = format!("http://{}", served.address);
    let failing = |token: Option<&str>, arguments: &[&str]| {
        let (text, code) = run(served.path(), token, arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        text
    };
    for (token, said) in [
        (None, "the request has no token"),
        (
            Some("wrong-token-0123456789"),
            "not the token of this server",
        ),
    ] {
        let text = failing(token, &["stats", &address]);
        assert!(
            text.contains(said) && text.contains("SIMDB_TOKEN"),
            "{text}"
        );
    }
    let token = served.token.as_deref();
    assert!(
        failing(token, &["query", &address, "--text", "a", "--similar"]).contains("keeps none")
    );
    assert!(
        failing(token, &["get", &address, "1", "--recipe", "jieba"]).contains("leave --recipe out")
    );
    assert!(failing(token, &["get", "https://127.0.0.1:1", "1"]).contains("TLS is for a proxy"));
    assert!(
        failing(token, &["get", "unix:missing.sock", "1"])
            .contains("cannot ask the server at unix:missing.sock")
    );
    // A verb that needs the file refuses an address.
    assert!(failing(token, &["check", &address]).contains("not the address of a server"));
}

/// A folder with a database with keys, scopes, fields, copies and arrival times, closed.
fn folder_of_keys() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let database = simdb::Database::builder()
        .similar(true)
        .scopes(true)
        .keys(true)
        .fields(true)
        .copies(2)
        .retention(simdb::Retention::default())
        .create(folder.path().join("a.simdb"))
        .unwrap();
    let hour_ms = 3_600_000;
    for (number, text) in (1_u64..).zip(TEXTS) {
        let document = database
            .document(format!("https://example.org/{number}?a=b#c"), text)
            .unwrap()
            .with_scope(if number < 3 { "en" } else { "新闻" })
            .with_fields(format!(r#"{{"title":"no {number}","id":"17","n":1.10}}"#))
            .with_arrival(1_700_000_000_000 + number * hour_ms);
        assert!(database.insert(document).unwrap().is_inserted());
        let copy = database.document(format!("copy {number}"), text).unwrap();
        let copy = copy
            .with_arrival(1_700_000_000_000 + (number + 1) * hour_ms)
            .compared_within(simdb::Within::All);
        let _ = database.insert_unique(copy, 3).unwrap();
    }
    database.close().unwrap();
    folder
}

const FIRST_KEY: &str = "https://example.org/1?a=b#c";
const SECOND_KEY: &str = "https://example.org/2?a=b#c";

#[test]
fn verbs_with_keys_and_scopes_print_the_same_for_a_file_and_for_its_server() {
    let texts = ["--text", TEXTS[0], "--radius", "20"];
    let reading: Vec<Vec<&str>> = vec![
        vec!["get", "DB", "--key", FIRST_KEY, "--key", "missing"],
        vec![
            "get", "DB", "--key", FIRST_KEY, "--key", SECOND_KEY, "--json",
        ],
        vec!["get", "DB", "--key", ""],
        vec!["get", "DB", "1099511627777", "--json"],
        [&["query", "DB", "--json"], &texts[..]].concat(),
        [&["query", "DB", "--within-scope", "en"], &texts[..]].concat(),
        [&["query", "DB", "--within-scope", ""], &texts[..]].concat(),
        [
            &[
                "query",
                "DB",
                "--within-scope",
                "en",
                "--since",
                "4h",
                "--json",
            ],
            &texts[..],
        ]
        .concat(),
        [
            &["query", "DB", "--since", "270m", "--similar"],
            &texts[..2],
        ]
        .concat(),
        vec![
            "query",
            "DB",
            "--key",
            FIRST_KEY,
            "--nearest",
            "3",
            "--json",
        ],
        vec![
            "query",
            "DB",
            "--key",
            SECOND_KEY,
            "--similar",
            "--decide",
            "alike",
            "--json",
        ],
        vec!["query", "DB", "--key", "missing"],
        // The document of the query arrived before.
        vec!["query", "DB", "--key", FIRST_KEY, "--since", "1h"],
        vec![
            "compare",
            "--database",
            "DB",
            FIRST_KEY,
            SECOND_KEY,
            "--bits",
            "--json",
        ],
        vec!["compare", "--database", "DB", FIRST_KEY, "--text", TEXTS[0]],
        vec!["top", "DB"],
        vec![
            "top",
            "DB",
            "--limit",
            "1",
            "--show",
            "title,id,n",
            "--json",
        ],
        vec!["top", "DB", "--since", "2h", "--json"],
        vec!["export", "DB"],
        vec!["export", "DB", "--format", "csv"],
        vec!["doctor", "DB", "--json"],
        vec!["stats", "DB", "--json"],
    ];
    let folder = folder_of_keys();
    let of_file = reading.iter().map(|arguments| {
        let given = at("a.simdb", arguments);
        let given: Vec<_> = given.iter().map(String::as_str).collect();
        run(folder.path(), None, &given)
    });
    let of_file: Vec<_> = of_file.collect();
    // The verbs have something to print.
    let printed = reading.iter().zip(&of_file);
    let empty = printed.filter(|(_, (text, _))| text.is_empty());
    let empty: Vec<_> = empty.map(|(arguments, _)| arguments.join(" ")).collect();
    assert_eq!(empty.len(), 4, "{empty:#?}");
    let served = Served::start(folder, &["--listen", "127.0.0.1:0"]);
    let address = format!("http://{}", served.address);
    for (arguments, expected) in reading.iter().zip(&of_file) {
        compare(
            served.path(),
            served.token.as_deref(),
            &address,
            arguments,
            expected,
        );
    }
}

#[test]
fn changes_by_key_print_the_same_for_a_file_and_for_its_server() {
    let insert = |key: &'static str, text: &'static str, more: &[&'static str]| {
        let arguments = ["insert", "DB", "--key", key, "--text", text];
        [&arguments[..], more].concat()
    };
    let fields = r#"{"title":"Fog","n":0.10,"none":[1]}"#;
    let changing: Vec<Vec<&str>> = vec![
        insert("7", TEXTS[0], &["--scope", "en", "--unique", "3"]),
        insert(
            "8",
            TEXTS[0],
            &["--scope", "en", "--unique", "similar", "--json"],
        ),
        insert(
            "8",
            TEXTS[0],
            &["--scope", "en", "--unique", "similar", "--json"],
        ),
        insert(
            "9",
            TEXTS[0],
            &["--scope", "fr", "--unique", "3", "--fields", fields],
        ),
        insert(
            "10",
            "Ferries are cancelled. So are the buses and trams.",
            &["--json"],
        ),
        insert(
            "10",
            "Another text of the same key.",
            &["--replace", "--json"],
        ),
        insert(
            "11",
            "The ferry to the islands was cancelled due to heavy fog. Trams are late, too.",
            &["--scope", "en", "--unique", "similar", "--json"],
        ),
        // With keys and fields, and without the times of arrival, which differ.
        vec![
            "query", "DB", "--text", TEXTS[0], "--radius", "64", "--json",
        ],
        vec!["remove", "DB", "--key", "9", "--key", "missing", "--json"],
        vec!["remove", "DB", "1099511627777", "99"],
        vec![
            "insert",
            "DB",
            "12",
            "--text",
            "An id in a database with keys.",
        ],
        insert(
            "13",
            "A scope with a control character.",
            &["--scope", "a\u{7}"],
        ),
        insert("14", "An empty scope.", &["--scope", ""]),
    ];
    let of_file = folder_of_keys();
    let served = Served::start(folder_of_keys(), &["--listen", "unix:simdb.sock"]);
    for arguments in &changing {
        let given = at("a.simdb", arguments);
        let given: Vec<_> = given.iter().map(String::as_str).collect();
        let (text, code) = run(of_file.path(), None, &given);
        if code == Some(2) {
            let given = at("unix:simdb.sock", arguments);
            let given: Vec<_> = given.iter().map(String::as_str).collect();
            let (of_server, code) = run(served.path(), served.token.as_deref(), &given);
            assert_eq!(code, Some(2), "{text} {of_server}");
            continue;
        }
        compare(
            served.path(),
            served.token.as_deref(),
            "unix:simdb.sock",
            arguments,
            &(text, code),
        );
    }
}

#[test]
fn copies_with_ids_print_the_same_for_a_file_and_for_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let database = simdb::Database::builder()
        .copies(2)
        .create(folder.path().join("a.simdb"))
        .unwrap();
    for id in 1..4_u64 {
        let document = database.document(id, TEXTS[0]).unwrap();
        let _ = database.insert_unique(document, 3).unwrap();
    }
    database.close().unwrap();
    let arguments = ["get", "DB", "1", "--json"];
    let given = at("a.simdb", &arguments);
    let given: Vec<_> = given.iter().map(String::as_str).collect();
    let expected = run(folder.path(), None, &given);
    assert!(expected.0.contains("\"document\":3"), "{expected:?}");
    let served = Served::start(folder, &["--listen", "127.0.0.1:0", "--no-token"]);
    let address = format!("http://{}", served.address);
    compare(served.path(), None, &address, &arguments, &expected);
}
