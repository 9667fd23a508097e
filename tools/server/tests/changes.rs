//! Inserts, replacements and removals.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::common::{Served, metric};

const FERRY: &str = "The ferry to the islands was cancelled due to heavy fog.";
const FERRIES: &str = "Ferries, to island, was canceled due to heavy fogs";
const FERRY_AND_BUS: &str =
    "The ferry to the islands was cancelled due to heavy fog. Buses are late.";

#[test]
fn one_document_is_answered_with_an_object() {
    let served = Served::new(&["--no-token", "--keep-texts"]);
    let answer = served
        .post("/v1/documents", &json!({"id": u64::MAX, "text": FERRY}))
        .with(200);
    assert_eq!(answer["id"], u64::MAX.to_string());
    assert_eq!(
        (&answer["outcome"], &answer["reliable"]),
        (&json!("inserted"), &json!(true))
    );
    let path = format!("/v1/documents/{}", u64::MAX);
    let stored = served.get(&path).with(200);
    assert_eq!(
        (&stored["text"], &stored["fingerprint"]),
        (&json!(FERRY), &answer["fingerprint"])
    );

    let again = served.post(
        "/v1/documents",
        &json!({"id": u64::MAX.to_string(), "text": FERRY}),
    );
    let again = again.with(200);
    assert_eq!(
        (&again["outcome"], &again["repeated"]),
        (&json!("exists"), &json!(true))
    );
    let other = served.post(
        "/v1/documents",
        &json!({"id": u64::MAX, "text": "Another text."}),
    );
    assert_eq!(other.with(200)["repeated"], json!(false));
    let body = json!({"id": u64::MAX, "text": "Another text."});
    let replaced = served.post("/v1/documents?mode=upsert", &body).with(200);
    assert_eq!(
        (&replaced["outcome"], &replaced["stored"]),
        (&json!("replaced"), &answer["fingerprint"])
    );

    assert_eq!(served.delete(&path).with(200)["outcome"], "removed");
    assert_eq!(served.delete(&path).with(404)["outcome"], "missing");
    assert_eq!(served.get(&path).kind(), "not_stored");
}

#[test]
fn outcomes_of_unique_and_similar_inserts_name_the_stored_document() {
    let served = Served::new(&["--no-token", "--similar"]);
    let insert = |options: &str, id: u64, text: &str| {
        served
            .post(
                &format!("/v1/documents?mode={options}"),
                &json!({"id": id, "text": text}),
            )
            .with(200)
    };
    assert_eq!(
        insert("insert_unique&radius=3", 1, FERRY)["outcome"],
        "inserted"
    );
    let copy = insert("insert_unique", 2, &FERRY.to_uppercase());
    assert_eq!(
        (&copy["outcome"], &copy["match"]["id"]),
        (&json!("duplicate"), &json!("1"))
    );
    assert_eq!(copy["match"]["distance"], 0);
    let similar = insert("insert_unless_similar", 3, FERRIES);
    assert_eq!(
        (&similar["outcome"], &similar["match"]["id"]),
        (&json!("similar"), &json!("1"))
    );
    assert_eq!(similar["match"]["containment"]["verdict"], "same");
    let extends = insert("insert_unless_similar", 4, FERRY_AND_BUS);
    assert_eq!(
        (&extends["outcome"], &extends["match"]["id"]),
        (&json!("extends"), &json!("1"))
    );
    let options = "insert_unless_similar&on_extended=replace";
    let more = format!("{FERRY_AND_BUS} So are the trains from the northern districts.");
    let supersedes = insert(options, 5, &more);
    assert_eq!(supersedes["outcome"], "supersedes");
    let ids: Vec<_> = supersedes["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["id"])
        .collect();
    assert_eq!(ids, ["4"]);
}

#[test]
fn array_is_one_commit_and_refuses_its_bad_documents_only() {
    let served = Served::new(&["--no-token"]);
    let documents = json!([
        {"id": 1, "text": FERRY},
        {"id": 1, "text": FERRY},
        {"id": "two", "text": FERRY},
        {"id": 3},
        {"id": 4, "text": 4},
        {"id": 5, "fingerprint": "00000000000000ff", "reliable": false, "source": "ignored"},
        {"id": 6, "features": {"ferry": 1.5, "fog": 2}},
        {"id": 7, "fingerprint": "xyz"},
        7,
    ]);
    let answers = served.post("/v1/documents", &documents).with(200);
    let outcomes: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    let rejected = "rejected";
    let expected = [
        "inserted", "exists", rejected, rejected, rejected, "inserted", "inserted", rejected,
        rejected,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(served.get("/v1/stats").with(200)["documents"], 3);
    let metrics = served.metrics_of_groups();
    assert_eq!(metric(&metrics, "simdb_commit_changes_count"), 1.0);
    assert_eq!(metric(&metrics, "simdb_commit_changes_sum"), 4.0);
    assert_eq!(
        metric(&metrics, "simdb_refusals_total{kind=\"bad_document\"}"),
        5.0
    );
    assert_eq!(served.post("/v1/documents", &json!({"id": 8})).status, 400);
    let metrics = served.get("/metrics").body;
    assert_eq!(
        metric(&metrics, "simdb_refusals_total{kind=\"bad_document\"}"),
        6.0
    );
}

#[test]
fn removals_of_one_request_are_one_commit() {
    let served = Served::new(&["--no-token"]);
    let ids = json!([{"id": 1, "text": FERRY}, {"id": 2, "text": FERRIES}]);
    served.post("/v1/documents", &ids).with(200);
    let lines = served.post_lines(
        "/v1/documents?mode=remove",
        "{\"id\":1}\n{\"id\":\"2\"}\n{\"id\":3}\n",
    );
    let outcomes: Vec<_> = lines
        .iter()
        .map(|line| line["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["removed", "removed", "missing"]);
    assert_eq!(served.get("/v1/stats").with(200)["documents"], 0);
}

#[test]
fn lines_are_numbered_and_blank_lines_are_not_answered() {
    let served = Served::new(&["--no-token"]);
    let lines =
        "\n{\"id\":1,\"text\":\"one\"}\r\n  \nnonsense\n\u{feff}\n{\"id\":2,\"text\":\"two\"}";
    let answers = served.post_lines("/v1/documents", lines);
    let seen: Vec<_> = answers
        .iter()
        .map(|line| {
            (
                line["line"].as_u64().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (2, "inserted"),
            (4, "rejected"),
            (5, "rejected"),
            (6, "inserted")
        ]
    );
    let mut invalid = b"{\"id\":3,\"text\":\"".to_vec();
    invalid.extend([0xff, b'"', b'}']);
    let ndjson = [("Content-Type", "application/x-ndjson; charset=utf-8")];
    let answered = served.send("POST", "/v1/documents", &ndjson, &invalid);
    assert!(
        answered.body.contains("the line is not UTF-8"),
        "{answered:?}"
    );
}

#[test]
fn each_line_is_answered_before_the_next_is_sent() {
    let served = Served::new(&["--no-token"]);
    let mut stream = served.connect();
    let mut head = format!(
        "POST /v1/documents HTTP/1.1\r\nHost: {}\r\n",
        served.address
    );
    head += "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    for id in 1..=3 {
        let line = format!("{{\"id\":{id},\"text\":\"document number {id}\"}}\n");
        write!(stream, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        let answer = answers.find_map(|line| {
            let line = line.expect("an answer");
            line.starts_with('{')
                .then(|| serde_json::from_str::<Value>(&line).expect("JSON"))
        });
        let answer = answer.expect("an answer");
        assert_eq!(
            (&answer["line"], &answer["outcome"]),
            (&json!(id), &json!("inserted"))
        );
        assert_eq!(served.get(&format!("/v1/documents/{id}")).status, 200);
    }
}

#[test]
fn arrival_far_ahead_is_refused_alone() {
    let served = Served::new(&["--no-token", "--retention", "2d"]);
    let lines = "{\"id\":1,\"text\":\"a\",\"arrival\":\"2199-01-01T00:00:00Z\"}\n{\"id\":2,\"text\":\"b\"}\n\
                 {\"id\":3,\"text\":\"c\",\"arrival\":\"1999-01-01T00:00:00Z\"}\n{\"id\":4,\"text\":\"d\",\"arrival\":\"soon\"}";
    let answers = served.post_lines("/v1/documents", lines);
    let seen: Vec<_> = answers
        .iter()
        .map(|line| line["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(seen, ["rejected", "inserted", "expired", "rejected"]);
}

#[test]
fn options_that_the_mode_does_not_use_are_refused() {
    let served = Served::new(&["--no-token"]);
    let document = json!({"id": 1, "text": FERRY});
    for options in [
        "mode=unique",
        "mode=insert&radius=3",
        "radius=3",
        "mode=insert_unique&radius=65",
        "mode=insert_unique&radius=-1",
        "mode=insert_unique&jaccard=0.5",
        "colour=red",
        "mode=insert_unless_similar&jaccard=7",
        "mode=insert_unless_similar",
        "mode=upsert&mode=insert",
    ] {
        let refused = served.post(&format!("/v1/documents?{options}"), &document);
        assert_eq!(refused.status, 400, "{options}: {refused:?}");
    }
    assert_eq!(served.get("/v1/stats").with(200)["documents"], 0);
}

#[test]
fn bad_request_of_a_wave_refuses_no_other_request() {
    // The library refuses the radius, and not the server.
    let served = Served::new(&["--no-token"]);
    let rounds = 40;
    let insert = |client: u64| {
        for round in 0..rounds {
            let id = client << 32 | round;
            let body = json!({"id": id, "fingerprint": format!("{:016x}", !id)});
            let (options, status) = match client {
                0 => ("mode=insert_unique&radius=65", 400),
                _ => ("mode=insert", 200),
            };
            let answer = served.post(&format!("/v1/documents?{options}"), &body);
            assert_eq!(answer.status, status, "{answer:?}");
            if client > 0 {
                assert_eq!(answer.json()["id"], id.to_string());
                assert_eq!(answer.json()["outcome"], "inserted");
            }
        }
    };
    std::thread::scope(|scope| {
        for client in 0..16 {
            let insert = &insert;
            scope.spawn(move || insert(client));
        }
    });
    let metrics = served.get("/metrics").body;
    let stored = metric(&metrics, "simdb_stored_documents");
    assert_eq!(stored, 15.0 * rounds as f64);
    // Requests of several connections were one commit.
    let commits = metric(&metrics, "simdb_commit_changes_count");
    assert!(commits < stored, "{commits} commits");
}
