//! Reports, metrics and backups.

use serde_json::json;
use simdb::Database;

use crate::common::{Served, metric};

#[test]
fn reports_are_json_or_the_text_of_simdb_cli() {
    let served = Served::new(&["--no-token", "--keep-texts"]);
    let documents = (1..=3).map(|id| json!({"id": id, "text": "The same text, three times over."}));
    served.post("/v1/documents", &documents.collect()).with(200);
    let stats = served.get("/v1/stats").with(200);
    assert_eq!(
        (&stats["documents"], &stats["distinct_fingerprints"]),
        (&json!(3), &json!(1))
    );
    let text = served.get("/v1/stats?format=text").body;
    assert!(text.contains("merged in the background"), "{text}");
    let doctor = served.get("/v1/doctor").with(200);
    assert!(
        doctor["blocks"]
            .as_array()
            .is_some_and(|blocks| blocks.len() == 4),
        "{doctor}"
    );
    let text = served.get("/v1/doctor?format=text").body;
    assert!(text.contains("fingerprints a key"), "{text}");
    assert_eq!(served.get("/v1/doctor?format=xml").status, 400);
}

#[test]
fn backup_is_a_database_in_the_folder_and_nowhere_else() {
    let served = Served::new(&["--no-token"]);
    assert_eq!(
        served
            .post("/v1/backup", &json!({"name": "b.simdb"}))
            .kind(),
        "no_backups"
    );
    drop(served);
    let served = Served::new(&["--no-token", "--backups", "."]);
    served
        .post("/v1/documents", &json!({"id": 1, "text": "one"}))
        .with(200);
    served
        .post("/v1/backup", &json!({"name": "b.simdb"}))
        .with(200);
    let copy = Database::open_read_only(served.file("b.simdb")).expect("the copy");
    assert_eq!(copy.len().unwrap(), 1);
    assert_eq!(
        served
            .post("/v1/backup", &json!({"name": "b.simdb"}))
            .status,
        409
    );
    for name in [
        "",
        ".",
        "..",
        "../b.simdb",
        "/tmp/b.simdb",
        "a/b.simdb",
        "a\\b.simdb",
        "a\0",
    ] {
        assert_eq!(
            served.post("/v1/backup", &json!({"name": name})).status,
            400,
            "{name:?}"
        );
    }
}

#[test]
fn metrics_count_documents_answers_and_refusals() {
    let served = Served::new(&["--no-token"]);
    served
        .post("/v1/documents", &json!({"id": 1, "text": "one"}))
        .with(200);
    served.get("/v1/documents/2").with(404);
    let text = served.metrics_of_groups();
    for (name, expected) in [
        ("simdb_stored_documents", 1.0),
        ("simdb_unmerged_changes", 1.0),
        ("simdb_commit_changes_count", 1.0),
        ("simdb_commit_seconds_count", 1.0),
        ("simdb_refusals_total{kind=\"not_stored\"}", 1.0),
        (
            "simdb_answers_total{method=\"post\",path=\"/v1/documents\",status=\"2xx\"}",
            1.0,
        ),
        (
            "simdb_answers_total{method=\"get\",path=\"/v1/documents/{name}\",status=\"4xx\"}",
            1.0,
        ),
    ] {
        assert_eq!(metric(&text, name), expected, "{name}");
    }
    assert!(metric(&text, "simdb_received_bytes_total") > 0.0);
}
