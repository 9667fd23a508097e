//! Queries, comparisons and pages of documents.

use serde_json::{Value, json};

use crate::common::Served;

fn ids(matches: &Value) -> Vec<&str> {
    matches
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["id"].as_str().unwrap())
        .collect()
}

fn with_fingerprints(served: &Served, bits: &[u64]) {
    let documents = bits.iter().enumerate();
    let documents =
        documents.map(|(id, bits)| json!({"id": id, "fingerprint": format!("{bits:016x}")}));
    served.post("/v1/documents", &documents.collect()).with(200);
}

#[test]
fn query_has_matches_in_order_and_says_if_the_limit_cut_them() {
    let served = Served::new(&["--no-token"]);
    with_fingerprints(&served, &[0, 0b111, 0b1, 0b1111, 0]);
    let ask = |body: Value| served.post("/v1/query", &body).with(200);
    let zero = format!("{:016x}", 0);
    let answer = ask(json!({"fingerprint": zero}));
    assert_eq!(
        (ids(&answer["matches"]), &answer["is_cut"]),
        (vec!["0", "4", "2", "1"], &json!(false))
    );
    let answer = ask(json!({"fingerprint": zero, "radius": 4, "limit": 3}));
    assert_eq!(
        (ids(&answer["matches"]), &answer["is_cut"]),
        (vec!["0", "4", "2"], &json!(true))
    );
    // A document is not among its own matches.
    let answer = ask(json!({"id": "0", "limit": 3}));
    assert_eq!(
        (ids(&answer["matches"]), &answer["is_cut"]),
        (vec!["4", "2", "1"], &json!(false))
    );
    assert_eq!(ids(&ask(json!({"id": 3, "nearest": 1}))["matches"]), ["1"]);
    let answers = ask(json!({"queries": [{"id": 2}, {"fingerprint": zero}], "radius": 0}));
    let found: Vec<_> = answers["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| ids(&one["matches"]))
        .collect();
    assert_eq!(found, [vec![], vec!["0", "4"]]);
}

#[test]
fn bad_queries_are_refused_with_a_reason() {
    let served = Served::new(&["--no-token"]);
    for (path, body, status) in [
        ("/v1/query", json!({}), 400),
        ("/v1/query", json!({"text": "a", "id": 1}), 400),
        ("/v1/query", json!({"id": 1}), 404),
        ("/v1/query", json!({"id": -1}), 400),
        ("/v1/query", json!({"id": 1e300}), 400),
        ("/v1/query", json!({"text": 1}), 400),
        ("/v1/query", json!({"text": "a", "radius": 65}), 400),
        ("/v1/query", json!({"text": "a", "radius": 1e9}), 400),
        ("/v1/query", json!({"text": "a", "limit": 0}), 400),
        ("/v1/query", json!({"text": "a", "limit": 1_000_000}), 400),
        ("/v1/query", json!({"text": "a", "colour": "red"}), 400),
        ("/v1/query", json!({"text": "a", "queries": []}), 400),
        (
            "/v1/query",
            json!({"text": "a", "nearest": 1, "radius": 3}),
            400,
        ),
        ("/v1/query", json!([]), 400),
        ("/v1/similar", json!({"text": "a"}), 400),
        ("/v1/compare", json!({"a": {"text": "a"}}), 400),
        (
            "/v1/compare",
            json!({"a": {"text": "a"}, "b": {"id": 5}}),
            404,
        ),
        ("/v1/compare", json!({"pairs": [{"a": {}, "b": {}}]}), 400),
    ] {
        let refused = served.post(path, &body);
        assert_eq!(refused.status, status, "{path} {body}: {refused:?}");
    }
    // Texts are not kept here, but an unreliable text is no error.
    let answer = served.post("/v1/query", &json!({"text": "a"})).with(200);
    assert_eq!(
        (&answer["reliable"], &answer["matches"]),
        (&json!(false), &json!([]))
    );
}

#[test]
fn comparison_has_bits_measures_and_words() {
    let served = Served::new(&["--no-token", "--similar"]);
    let text = "The ferry to the islands was cancelled due to heavy fog.";
    let other = "The ferry to the islands was not cancelled due to heavy fog.";
    served
        .post("/v1/documents", &json!({"id": 1, "text": text}))
        .with(200);
    let pair = json!({"a": {"id": 1}, "b": {"text": other}});
    let found = served.post("/v1/compare", &pair).with(200);
    assert_eq!(found["containment"]["verdict"], "template");
    assert_eq!(found["containment"]["missing_in_a"][0]["word"], "not");
    assert_eq!(
        (&found["a"]["id"], &found["b"]["id"]),
        (&json!("1"), &Value::Null)
    );
    let many = served
        .post("/v1/compare", &json!({"pairs": [pair, pair]}))
        .with(200);
    assert_eq!(many["answers"], json!([found, found]));
    let bits =
        json!({"a": {"fingerprint": "00000000000000ff"}, "b": {"fingerprint": "000000000000000f"}});
    let found = served.post("/v1/compare", &bits).with(200);
    assert_eq!(
        (&found["distance"], &found["containment"]),
        (&json!(4), &Value::Null)
    );
}

#[test]
fn pages_have_all_documents_once_in_both_orders() {
    let served = Served::new(&["--no-token"]);
    // Dense ids, gaps, and ids like hashes.
    let mut all: Vec<u64> = (0..40).chain((1..20).map(|step| step << 58)).collect();
    all.extend([1000, 1001, u64::MAX - 1, u64::MAX]);
    all.sort_unstable();
    let documents = all
        .iter()
        .map(|id| json!({"id": id, "fingerprint": format!("{id:016x}")}));
    served.post("/v1/documents", &documents.collect()).with(200);
    for order in ["ascending", "descending"] {
        for limit in [1, 7, 1000] {
            let (mut found, mut from) = (Vec::new(), String::new());
            loop {
                let page = served
                    .get(&format!("/v1/documents?order={order}&limit={limit}{from}"))
                    .with(200);
                let of_page = ids(&page["documents"]);
                assert!((1..=limit).contains(&of_page.len()), "{page}");
                found.extend(of_page.iter().map(|id| id.parse::<u64>().unwrap()));
                match page["next"].as_str() {
                    Some(next) => from = format!("&from={next}"),
                    None => break,
                }
            }
            if order == "descending" {
                found.reverse();
            }
            assert_eq!(found, all, "{order} {limit}");
        }
    }
    for query in [
        "from=x",
        "limit=0",
        "limit=1001",
        "order=random",
        "colour=red",
    ] {
        assert_eq!(
            served.get(&format!("/v1/documents?{query}")).status,
            400,
            "{query}"
        );
    }
    assert_eq!(served.get("/v1/documents/x").status, 400);
}
