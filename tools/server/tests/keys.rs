//! Databases with keys: how addresses and bodies name documents.

use serde_json::{Value, json};

use crate::common::{Served, encoded};

const FERRY: &str = "The ferry to the islands was cancelled due to heavy fog.";
const BUSES: &str = "Buses to the northern districts are late this morning.";

fn insert(served: &Served, body: &Value) -> Value {
    let answer = served.post("/v1/documents?mode=insert_unique", body);
    answer.with(200)
}

#[test]
fn name_is_a_key_in_a_database_with_keys_and_an_id_in_another() {
    let served = Served::new(&["--no-token", "--keys", "--keep-texts"]);
    // The key of digits is the id of another document.
    assert_eq!(
        insert(&served, &json!({"key": "2", "text": FERRY}))["outcome"],
        "inserted"
    );
    assert_eq!(
        insert(&served, &json!({"key": "a/b", "text": BUSES}))["outcome"],
        "inserted"
    );
    let text = |path: &str| served.get(path).with(200)["text"].clone();
    assert_eq!(text("/v1/documents/2"), FERRY);
    assert_eq!(text("/v1/documents/2?by=key"), FERRY);
    assert_eq!(text("/v1/documents/2?by=id"), BUSES);
    assert_eq!(text("/v1/documents/a%2Fb"), BUSES);
    let missing = served.get("/v1/documents/1");
    assert_eq!(missing.kind(), "not_stored");
    assert_eq!(
        missing.json()["error"]["message"],
        "document \"1\" is not stored"
    );
    assert_eq!(served.get("/v1/documents/a/b").kind(), "no_address");
    assert_eq!(served.get("/v1/documents/%FF").kind(), "bad_request");
    assert_eq!(served.delete("/v1/documents/%FF").kind(), "bad_request");
    assert_eq!(served.get("/v1/documents/a?by=id").status, 400);
    assert_eq!(served.get("/v1/documents/2?by=text").status, 400);
    assert_eq!(
        served.delete("/v1/documents/1?by=id").with(200)["outcome"],
        "removed"
    );
    assert_eq!(served.get("/v1/documents/2").status, 404);

    let served = Served::new(&["--no-token"]);
    let document = json!({"id": 2, "text": FERRY});
    assert_eq!(insert(&served, &document)["outcome"], "inserted");
    served.get("/v1/documents/2").with(200);
    let refused = served.get("/v1/documents/2?by=key");
    assert_eq!((refused.status, &*refused.kind()), (400, "bad_request"));
    assert!(refused.body.contains("keeps no keys"), "{}", refused.body);
    assert_eq!(
        served.post("/v1/query", &json!({"key": "2"})).kind(),
        "bad_request"
    );
}

#[test]
fn key_of_each_byte_is_found_by_its_address() {
    let served = Served::new(&["--no-token", "--keys"]);
    let keys: Vec<String> = (1..=255_u8)
        .map(|byte| format!("key {} of a byte", char::from(byte)))
        .chain(["k".repeat(1024), "/".repeat(1024)])
        .collect();
    let documents = keys.iter().zip(1_u64..);
    let documents =
        documents.map(|(key, bits)| json!({"key": key, "fingerprint": format!("{bits:016x}")}));
    served.post("/v1/documents", &documents.collect()).with(200);
    for (key, bits) in keys.iter().zip(1_u64..) {
        let stored = served.get(&format!("/v1/documents/{}", encoded(key)));
        assert_eq!(
            stored.with(200)["fingerprint"],
            format!("{bits:016x}"),
            "{key:?}"
        );
    }
}

#[test]
fn bad_names_and_unkept_parts_are_refused_one_by_one() {
    let served = Served::new(&["--no-token", "--scopes", "--fields"]);
    let documents = json!([
        {"key": "a", "text": FERRY},
        {"id": 2, "text": FERRY},
        {"key": "", "text": FERRY},
        {"key": "k".repeat(1025), "text": FERRY},
        {"key": ["a"], "text": FERRY},
        {"key": "b", "scope": "s".repeat(65), "text": FERRY},
        {"key": "c", "scope": "a\u{7}", "text": FERRY},
        {"key": "d", "fields": "title", "text": FERRY},
        {"key": "e", "fields": {"title": "f".repeat(65_536)}, "text": FERRY},
        {"key": "f", "copies": {"count": 1}, "text": FERRY},
        {"key": 7, "scope": null, "fields": null, "copies": null, "text": FERRY},
        {"key": "g"},
    ]);
    let answers = served.post("/v1/documents", &documents).with(200);
    let outcome = |index: usize| answers[index]["outcome"].as_str().unwrap();
    let outcomes: Vec<_> = (0..12).map(outcome).collect();
    let mut expected = ["rejected"; 12];
    (expected[0], expected[10]) = ("inserted", "inserted");
    assert_eq!(outcomes, expected, "{answers}");
    // A refusal names its document.
    assert_eq!(
        (&answers[5]["key"], &answers[11]["key"]),
        (&json!("b"), &json!("g"))
    );
    assert_eq!(answers[10]["key"], "7");

    let served = Served::new(&["--no-token"]);
    for (name, value) in [
        ("key", json!("a")),
        ("scope", json!("en")),
        ("fields", json!({"title": "Fog"})),
        ("copies", json!({"count": 1})),
    ] {
        let mut document = json!({"id": 1, "text": FERRY});
        document[name] = value;
        let refused = served.post("/v1/documents", &document);
        assert_eq!((refused.status, &*refused.kind()), (400, "bad_document"));
        assert!(refused.body.contains(name), "{}", refused.body);
    }
    let scoped = json!({"text": FERRY, "scopes": ["en"]});
    assert_eq!(served.post("/v1/query", &scoped).kind(), "bad_request");
    let recent = json!({"text": FERRY, "since_seconds": 60});
    assert_eq!(served.post("/v1/query", &recent).kind(), "bad_request");
    for path in [
        "/v1/documents?mode=insert&within=all",
        "/v1/documents?mode=upsert&on_exists=replace",
    ] {
        let refused = served.post(path, &json!({"id": 1, "text": FERRY}));
        assert_eq!(refused.kind(), "bad_request", "{path}");
    }
}

#[test]
fn arrival_is_refused_where_none_is_kept() {
    let served = Served::new(&["--no-token"]);
    let mut document = json!({"id": 1, "arrival": "2026-11-30T00:00:00Z", "text": FERRY});
    let refused = served.post("/v1/documents", &document);
    assert_eq!((refused.status, &*refused.kind()), (400, "bad_document"));
    assert!(refused.body.contains("--arrivals"), "{}", refused.body);
    document["arrival"] = json!(null);
    assert_eq!(insert(&served, &document)["outcome"], "inserted");
}

#[test]
fn stream_of_keys_names_duplicates_and_removals_by_key() {
    let served = Served::new(&["--no-token", "--keys", "--copies", "2"]);
    let lines = [
        json!({"key": "a.example/1", "text": FERRY}),
        json!({"key": "b.example/7", "text": FERRY}),
        json!({"key": "b.example/7", "text": FERRY}),
    ];
    let lines = lines.map(|line| line.to_string() + "\n").concat();
    let answers = served.post_lines("/v1/documents?mode=insert_unique", &lines);
    let outcomes: Vec<_> = answers.iter().map(|answer| &answer["outcome"]).collect();
    assert_eq!(outcomes, ["inserted", "duplicate", "seen"]);
    assert_eq!(answers[1]["key"], "b.example/7");
    assert_eq!(answers[1]["match"]["key"], "a.example/1");
    let stored = served.get("/v1/documents/a.example%2F1").with(200);
    assert_eq!(stored["copies"]["count"], 1);
    assert_eq!(stored["copies"]["newest"][0]["document"], "b.example/7");
    let lines = "{\"key\":\"a.example/1\"}\n{\"key\":\"missing\"}\n{}\n";
    let answers = served.post_lines("/v1/documents?mode=remove", lines);
    let outcomes: Vec<_> = answers.iter().map(|answer| &answer["outcome"]).collect();
    assert_eq!(outcomes, ["removed", "missing", "rejected"]);
}

#[test]
fn exported_documents_are_inserted_as_they_are() {
    let options = [
        "--no-token",
        "--keep-texts",
        "--scopes",
        "--fields",
        "--copies",
        "2",
    ];
    let served = Served::new(&options);
    let document = json!({"key": "a", "scope": "en", "fields": {"n": 0.1}, "text": FERRY});
    insert(&served, &document);
    insert(&served, &json!({"key": "b", "scope": "en", "text": FERRY}));
    let exported = served.get("/v1/documents").with(200)["documents"][0].clone();
    assert_eq!(exported["copies"]["newest"][0]["document"], "b");
    let other = Served::new(&options);
    other.post("/v1/documents", &exported).with(200);
    assert_eq!(other.get("/v1/documents/a").with(200), exported);
    // The refused key is known there too.
    assert_eq!(
        insert(&other, &json!({"key": "b", "text": BUSES}))["outcome"],
        "seen"
    );
}

#[test]
fn copies_that_cannot_be_stored_are_refused_alone() {
    let served = Served::new(&["--no-token", "--keys", "--copies", "9"]);
    let time = "2026-01-01T00:00:00Z";
    let copies = |count: u64, document: &str, distance: u64| {
        let newest = json!([{"document": document, "seen": time, "kind": "duplicate", "distance": distance}]);
        json!({"count": count, "first_seen": time, "last_seen": time, "newest": newest})
    };
    let documents = [
        json!({"key": "a", "text": FERRY, "copies": copies(1, &"k".repeat(3000), 0)}),
        json!({"key": "b", "text": FERRY, "copies": copies(1, "", 0)}),
        json!({"key": "c", "text": FERRY, "copies": copies(0, "x", 0)}),
        json!({"key": "d", "text": FERRY, "copies": copies(1, "x", 65)}),
        json!({"key": "e", "text": FERRY, "copies": copies(1, "x", 64)}),
    ];
    let rejected = "rejected";
    let expected = [rejected, rejected, rejected, rejected, "inserted"];
    let answers = served.post("/v1/documents", &json!(documents)).with(200);
    let outcomes = answers.as_array().unwrap().iter();
    let outcomes: Vec<_> = outcomes.map(|answer| &answer["outcome"]).collect();
    assert_eq!(outcomes, expected, "{answers}");
    let lines = documents.map(|line| line.to_string() + "\n").concat();
    let answers = served.post_lines("/v1/documents?mode=upsert", &lines);
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert_eq!(answers[4]["outcome"], "replaced");
}

#[test]
fn ids_of_copies_stay_ids_when_a_document_is_sent_back() {
    let served = Served::new(&["--no-token", "--keep-texts", "--copies", "2"]);
    insert(&served, &json!({"id": 1, "text": FERRY}));
    insert(&served, &json!({"id": 2, "text": FERRY}));
    let stored = served.get("/v1/documents/1").with(200);
    served.post("/v1/documents?mode=upsert", &stored).with(200);
    assert_eq!(served.get("/v1/documents/1").with(200), stored);
    // The refused id is known as before.
    let again = insert(&served, &json!({"id": 2, "text": BUSES}));
    assert_eq!(again["outcome"], "seen");
    let mut with_key = stored;
    with_key["copies"]["newest"][0]["document"] = json!("a key");
    let refused = served.post("/v1/documents?mode=upsert", &with_key);
    assert_eq!(refused.kind(), "bad_document");
}

#[test]
fn options_of_a_new_database_are_refused_for_another() {
    let served = Served::new(&["--no-token"]);
    served.signal("TERM");
    let (_, _, folder) = served.wait();
    for option in ["--keys", "--fields", "--scopes"] {
        let mut command = crate::common::program();
        command
            .args(["a.simdb", "--listen", "127.0.0.1:0", option])
            .current_dir(folder.path());
        let ended = command.output().expect("it runs");
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2));
        assert!(
            text.contains("created without") && text.contains(option),
            "{text}"
        );
    }
}
