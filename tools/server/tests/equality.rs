//! Answers of the server compared with answers of the library, after the same random changes.

use proptest::prelude::*;
use serde_json::{Value, json};
use simdb::{Change, Database, DocId, Document, Outcome, SimilarRule};

use crate::common::Served;

/// Texts of which many are near-duplicates: words are drawn from a few sentences.
pub fn text() -> impl Strategy<Value = String> {
    let sentences = prop::sample::select(vec![
        "The ferry to the islands was cancelled due to heavy fog.",
        "The ferry to the islands was not cancelled due to heavy fog.",
        "Ferries to the island were cancelled, due to heavy fog",
        "Buses to the northern districts are late this morning.",
        "你妈妈喊你回家吃饭哦，回家罗回家罗",
        "你媽媽喊你回家吃飯，回家囉",
        "short",
        "",
    ]);
    (
        sentences,
        prop::option::of("[a-z <&\"\u{202e}\u{1f600}]{0,12}"),
    )
        .prop_map(|(sentence, more)| match more {
            Some(more) => format!("{sentence} {more}"),
            None => sentence.to_owned(),
        })
}

#[derive(Clone, Debug)]
enum Step {
    Change {
        mode: &'static str,
        id: u64,
        text: String,
    },
    Remove {
        id: u64,
    },
    Query {
        text: String,
        radius: u32,
    },
    Similar {
        text: String,
    },
    Get {
        id: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let modes = ["insert", "upsert", "insert_unique", "insert_unless_similar"];
    let id = prop_oneof![0..12_u64, Just(u64::MAX)];
    prop_oneof![
        6 => (prop::sample::select(modes.to_vec()), id.clone(), text())
            .prop_map(|(mode, id, text)| Step::Change { mode, id, text }),
        1 => id.clone().prop_map(|id| Step::Remove { id }),
        2 => (text(), 0..=64_u32).prop_map(|(text, radius)| Step::Query { text, radius }),
        2 => text().prop_map(|text| Step::Similar { text }),
        1 => id.prop_map(|id| Step::Get { id }),
    ]
}

/// The name of an outcome, and the id of the document that it names.
pub fn named(outcome: &Outcome) -> (&'static str, Option<String>) {
    let id = |id: DocId| Some(id.to_string());
    match outcome {
        Outcome::Inserted { .. } => ("inserted", None),
        Outcome::Exists { .. } => ("exists", None),
        Outcome::Duplicate(found) => ("duplicate", id(found.id)),
        Outcome::Similar(found) => ("similar", id(found.id)),
        Outcome::Extends(found) => ("extends", id(found.id)),
        Outcome::Replaced { .. } => ("replaced", None),
        Outcome::Removed { .. } => ("removed", None),
        Outcome::Missing => ("missing", None),
        Outcome::Seen => ("seen", None),
        other => panic!("{other}"),
    }
}

/// The change of a document by the mode of a request.
pub fn change_of(mode: &str, document: Document) -> Change {
    match mode {
        "insert" => Change::Insert(document),
        "upsert" => Change::Upsert(document),
        "insert_unique" => Change::InsertUnique {
            document,
            radius: 3,
        },
        _ => Change::InsertUnlessSimilar {
            document,
            rule: SimilarRule::default(),
        },
    }
}

fn check(served: &Served, database: &Database, step: &Step) {
    match step {
        Step::Change { mode, id, text } => {
            let document = database.document(*id, text).unwrap();
            let made = document.text_fingerprint();
            let change = change_of(mode, document);
            let expected = database.apply_one(change).unwrap();
            let path = format!("/v1/documents?mode={mode}");
            let answer = served
                .post(&path, &json!({"id": id, "text": text}))
                .with(200);
            let of = answer["match"]["id"].as_str().map(str::to_owned);
            assert_eq!(
                (answer["outcome"].as_str().unwrap(), of),
                named(&expected),
                "{step:?}"
            );
            assert_eq!(answer["fingerprint"], made.fingerprint.to_string());
            assert_eq!(answer["reliable"], made.reliable);
        }
        Step::Remove { id } => {
            let expected = database.remove(DocId(*id)).unwrap();
            let answer = served.delete(&format!("/v1/documents/{id}")).json();
            assert_eq!(answer["outcome"], named(&expected).0);
        }
        Step::Query { text, radius } => {
            let expected = database.within_text(text, *radius).unwrap();
            let body = json!({"text": text, "radius": radius, "limit": 10_000});
            let answer = served.post("/v1/query", &body).with(200);
            let expected: Value = expected
                .iter()
                .map(|found| json!({"id": found.id.to_string(), "fingerprint": found.fingerprint.to_string(), "distance": found.distance}))
                .collect();
            assert_eq!(answer["matches"], expected, "{step:?}");
            // The same query in a batch, behind another.
            let body = json!({"queries": [{"fingerprint": "0123456789abcdef"}, {"text": text}], "radius": radius, "limit": 1000});
            let answers = served.post("/v1/query", &body).with(200);
            assert_eq!(answers["answers"][1]["matches"], expected, "{step:?}");
        }
        Step::Similar { text } => {
            // Written and read as the answer is: reading may round a number.
            let expected = serde_json::to_string(&database.similar_text(text).unwrap()).unwrap();
            let mut expected: Value = serde_json::from_str(&expected).unwrap();
            for found in expected.as_array_mut().unwrap() {
                found["id"] = found["id"].to_string().into();
            }
            let answer = served
                .post("/v1/similar", &json!({"text": text, "limit": 10_000}))
                .with(200);
            assert_eq!(answer["matches"], expected, "{step:?}");
        }
        Step::Get { id } => {
            let answer = served.get(&format!("/v1/documents/{id}"));
            match database.get(DocId(*id)).unwrap() {
                None => assert_eq!(answer.status, 404),
                Some(document) => {
                    let mut expected = serde_json::to_value(document).unwrap();
                    expected["id"] = id.to_string().into();
                    // An answer has no part that is absent, and no instruction to an insert.
                    let optional = ["key", "fields", "copies", "scope"];
                    let fields = expected.as_object_mut().unwrap();
                    fields.retain(|name, value| {
                        !optional.contains(&name.as_str()) || !value.is_null()
                    });
                    fields.retain(|name, _| !["within", "on_exists"].contains(&name.as_str()));
                    assert_eq!(answer.with(200), expected);
                }
            }
        }
    }
}

proptest! {
    // A case starts a server, which takes a tenth of a second.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn server_answers_as_the_library(steps in prop::collection::vec(step(), 1..40)) {
        let served = Served::new(&["--no-token", "--similar"]);
        let folder = tempfile::tempdir().unwrap();
        let database = Database::builder().similar(true).create(folder.path().join("b.simdb")).unwrap();
        for step in &steps {
            check(&served, &database, step);
        }
        let all = served.get("/v1/documents?limit=1000").with(200);
        let stored = database.snapshot().unwrap().documents().count();
        assert_eq!(all["documents"].as_array().unwrap().len(), stored);
    }
}
