//! Answers of a server of a database with keys, scopes, fields, copies and arrival times, compared
//! with answers of the library after the same random changes.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use simdb::{Database, DocRef, Document, OnExists, Outcome, Settings, Snapshot, Timestamp, Within};

use crate::common::{Served, encoded};
use crate::equality::{change_of, named, text};

/// Keys of digits, keys that an address must encode, and two Unicode forms of a letter.
const KEYS: [&str; 8] = [
    "7",
    "18446744073709551616",
    "https://example.org/a?b=c&d#e",
    "a b%2Fc",
    "..%",
    "新闻/一",
    "\u{e9}",
    "e\u{301}",
];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Debug)]
struct NewDocument {
    key: usize,
    text: String,
    scope: Option<&'static str>,
    fields: Option<Value>,
    is_old: bool,
}

#[derive(Clone, Debug)]
enum Sought {
    Key(usize),
    Id(u64),
    Text(String),
}

#[derive(Clone, Debug)]
enum Step {
    Change {
        mode: &'static str,
        on_exists: &'static str,
        is_within_all: bool,
        document: NewDocument,
    },
    Remove {
        key: usize,
    },
    RemoveId {
        id: u64,
    },
    Query {
        sought: Sought,
        scopes: Option<Vec<&'static str>>,
        is_recent: bool,
        is_similar: bool,
    },
    Get {
        key: usize,
    },
    Compare {
        a: usize,
        b: usize,
    },
    Top,
}

fn scope() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["en", "新闻"])
}

fn new_document() -> impl Strategy<Value = NewDocument> {
    let fields = prop::option::of(prop_oneof![
        Just(json!({"title": "Fog", "id": "17"})),
        Just(json!({"n": 0.1, "nested": {"a": [1, 2.50]}})),
    ]);
    let parts = (
        0..KEYS.len(),
        text(),
        prop::option::of(scope()),
        fields,
        any::<bool>(),
    );
    parts.prop_map(|(key, text, scope, fields, is_old)| NewDocument {
        key,
        text,
        scope,
        fields,
        is_old,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let modes = ["insert", "upsert", "insert_unique", "insert_unless_similar"];
    let rules = ["keep", "replace", "replace_if_extends"];
    let changes = (
        prop::sample::select(modes.to_vec()),
        prop::sample::select(rules.to_vec()),
        any::<bool>(),
        new_document(),
    );
    let key = 0..KEYS.len();
    let sought = prop_oneof![
        key.clone().prop_map(Sought::Key),
        (0..12_u64).prop_map(Sought::Id),
        text().prop_map(Sought::Text),
    ];
    let scopes = prop::option::of(prop::collection::vec(prop_oneof![scope(), Just("")], 0..3));
    let queries = (sought, scopes, any::<bool>(), any::<bool>());
    prop_oneof![
        12 => changes.prop_map(|(mode, on_exists, is_within_all, document)| Step::Change {
            mode, on_exists, is_within_all, document
        }),
        1 => key.clone().prop_map(|key| Step::Remove { key }),
        1 => (0..12_u64).prop_map(|id| Step::RemoveId { id }),
        6 => queries.prop_map(|(sought, scopes, is_recent, is_similar)| Step::Query {
            sought, scopes, is_recent, is_similar
        }),
        2 => key.clone().prop_map(|key| Step::Get { key }),
        1 => (key.clone(), key).prop_map(|(a, b)| Step::Compare { a, b }),
        1 => Just(Step::Top),
    ]
}

struct Pair {
    served: Served,
    database: Database,
    /// The start of the test, from which arrivals count.
    start: Timestamp,
}

/// A document as the server answers it.
fn wire(document: &Document) -> Value {
    let mut value = serde_json::to_value(document).unwrap();
    let fields = document.fields.as_deref();
    let object = value.as_object_mut().unwrap();
    object["id"] = document.id.to_string().into();
    object["fields"] = fields.map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    let instructions = ["within", "on_exists"];
    let optional = ["key", "fields", "copies", "scope"];
    object.retain(|name, value| {
        let is_left_out = optional.contains(&name.as_str()) && value.is_null();
        !is_left_out && !instructions.contains(&name.as_str())
    });
    value
}

/// A match of the library as the server answers it: with its key, and its id as a string.
fn with_key(snapshot: &Snapshot, found: impl serde::Serialize, id: simdb::DocId) -> Value {
    // Written and read as the answer is: reading may round a number.
    let text = serde_json::to_string(&found).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["id"] = id.to_string().into();
    value["key"] = snapshot.key(id).unwrap().expect("a key").into();
    value
}

impl Pair {
    fn new() -> Self {
        let served = Served::new(&[
            "--no-token",
            "--similar",
            "--scopes",
            "--fields",
            "--copies",
            "3",
            "--arrivals",
        ]);
        let settings: Settings =
            serde_json::from_value(served.get("/v1/settings").with(200)).unwrap();
        let database = Database::builder()
            .settings(&settings)
            .create(served.file("library.simdb"))
            .unwrap();
        Self {
            served,
            database,
            start: Timestamp::now(),
        }
    }

    fn check(&self, number: usize, step: &Step) {
        match step {
            Step::Change {
                mode,
                on_exists,
                is_within_all,
                document,
            } => {
                let age = if document.is_old { 10 * DAY } else { DAY / 2 };
                let arrival =
                    Timestamp(self.start.0 - age.as_millis() as u64 + 1000 * number as u64);
                self.change(mode, on_exists, *is_within_all, document, arrival);
            }
            Step::Remove { key } => {
                let expected = self.database.remove(KEYS[*key]).unwrap();
                let path = format!("/v1/documents/{}", encoded(KEYS[*key]));
                let answer = self.served.delete(&path).json();
                assert_eq!(answer["outcome"], named(&expected).0, "{step:?}");
                assert_eq!(answer["key"], KEYS[*key]);
            }
            Step::RemoveId { id } => {
                let expected = self.database.remove(simdb::DocId(*id)).unwrap();
                let path = "/v1/documents?mode=remove";
                let answer = self.served.post(path, &json!({"id": id})).with(200);
                assert_eq!(answer["outcome"], named(&expected).0, "{step:?}");
                assert_eq!(answer["id"], id.to_string());
            }
            Step::Query {
                sought,
                scopes,
                is_recent,
                is_similar,
            } => self.query(sought, scopes.as_deref(), *is_recent, *is_similar),
            Step::Get { key } => {
                let stored = self.database.get(KEYS[*key]).unwrap();
                let by_key = self
                    .served
                    .get(&format!("/v1/documents/{}?by=key", encoded(KEYS[*key])));
                let Some(stored) = stored else {
                    assert_eq!((by_key.status, &*by_key.kind()), (404, "not_stored"));
                    let message = by_key.json()["error"]["message"].to_string();
                    let name = DocRef::from(KEYS[*key]).to_string();
                    let name = serde_json::to_string(&name).unwrap();
                    assert!(message.contains(name.trim_matches('"')), "{message}");
                    return;
                };
                assert_eq!(by_key.with(200), wire(&stored));
                let by_id = format!("/v1/documents/{}?by=id", stored.id);
                assert_eq!(self.served.get(&by_id).with(200), wire(&stored));
                let from_key = format!("/v1/documents?from_key={}&limit=1", encoded(KEYS[*key]));
                let page = self.served.get(&from_key).with(200);
                assert_eq!(page["documents"], json!([wire(&stored)]));
            }
            Step::Compare { a, b } => self.compare(KEYS[*a], KEYS[*b]),
            Step::Top => {
                let snapshot = self.database.snapshot().unwrap();
                let most = snapshot.most_copied(3, None).unwrap();
                let documents = most.iter().map(|(id, _)| snapshot.get(*id).unwrap());
                let expected: Value = documents.map(|one| wire(&one.unwrap())).collect();
                let answer = self.served.get("/v1/top?limit=3").with(200);
                assert_eq!(answer["documents"], expected);
            }
        }
    }

    fn change(
        &self,
        mode: &str,
        on_exists: &str,
        is_within_all: bool,
        new: &NewDocument,
        arrival: Timestamp,
    ) {
        let database = &self.database;
        let mut document = database.document(KEYS[new.key], &new.text).unwrap();
        document.scope = new.scope.map(str::to_owned);
        document.fields = new.fields.as_ref().map(Value::to_string);
        document = document.with_arrival(arrival);
        let mut path = format!("/v1/documents?mode={mode}");
        if mode != "upsert" {
            path += &format!("&on_exists={on_exists}");
            document = document.replacing(match on_exists {
                "keep" => OnExists::Keep,
                "replace" => OnExists::Replace,
                _ => OnExists::ReplaceIfExtends,
            });
        }
        let is_unique = !["insert", "upsert"].contains(&mode);
        if is_unique && is_within_all {
            path += "&within=all";
            document = document.compared_within(Within::All);
        }
        let change = change_of(mode, document);
        let expected = database.apply_one(change).unwrap();
        let body = json!({
            "key": KEYS[new.key],
            "text": new.text,
            "scope": new.scope,
            "fields": new.fields,
            "arrival": arrival.0,
        });
        let answer = self.served.post(&path, &body).with(200);
        let context = || format!("{path} {body}: {answer}");
        let (name, id) = named(&expected);
        assert_eq!(answer["outcome"], name, "{}", context());
        assert_eq!(
            (&answer["key"], &answer["id"]),
            (&json!(KEYS[new.key]), &Value::Null)
        );
        let found = &answer["match"];
        assert_eq!(found["id"], json!(id), "{}", context());
        let of = match &expected {
            Outcome::Duplicate(found) => Some(found.id),
            Outcome::Similar(found) | Outcome::Extends(found) => Some(found.id),
            _ => None,
        };
        let key = of.map(|id| database.snapshot().unwrap().key(id).unwrap());
        assert_eq!(found["key"], json!(key.flatten()), "{}", context());
    }

    fn query(
        &self,
        sought: &Sought,
        scopes: Option<&[&'static str]>,
        is_recent: bool,
        is_similar: bool,
    ) {
        let (whole, mut snapshot) = (
            self.database.snapshot().unwrap(),
            self.database.snapshot().unwrap(),
        );
        let mut options = Map::new();
        if is_recent {
            let since = Timestamp(Timestamp::now().0 - DAY.as_millis() as u64);
            snapshot = snapshot.since(since).unwrap();
            options.insert("since_seconds".to_owned(), DAY.as_secs().into());
        }
        if let Some(scopes) = scopes {
            snapshot = snapshot.in_scopes(scopes).unwrap();
            options.insert("scopes".to_owned(), json!(scopes));
        }
        let (name, value, asked) = match sought {
            Sought::Text(text) => ("text", json!(text), None),
            Sought::Key(key) => ("key", json!(KEYS[*key]), Some(DocRef::from(KEYS[*key]))),
            Sought::Id(id) => ("id", json!(id), Some(DocRef::from(*id))),
        };
        let path = match is_similar {
            true => "/v1/similar",
            false => "/v1/query",
        };
        let mut body = Value::Object(options);
        body["limit"] = json!(1000);
        let mut batch = body.clone();
        body[name] = value.clone();
        let answered = self.served.post(path, &body);
        let document = asked
            .clone()
            .map(|asked| whole.get(asked).unwrap().ok_or(()));
        let document = match document.transpose() {
            Ok(document) => document,
            Err(()) => {
                assert_eq!((answered.status, &*answered.kind()), (404, "not_stored"));
                return;
            }
        };
        let itself = document.as_ref().map(|document| document.id);
        let text = match (&document, sought) {
            (Some(document), _) => document.text.clone().unwrap(),
            (None, Sought::Text(text)) => text.clone(),
            _ => unreachable!("a document is stored"),
        };
        let made = match &document {
            Some(document) => document.text_fingerprint(),
            None => self.database.fingerprint(&text).unwrap(),
        };
        let expected: Vec<Value> = if is_similar {
            let query = self.database.text_query(&text).unwrap();
            let found = snapshot.similar(&query.with_fingerprint(made)).unwrap();
            let others = found.into_iter().filter(|one| Some(one.id) != itself);
            others
                .map(|one| with_key(&snapshot, &one, one.id))
                .collect()
        } else if made.reliable {
            let found = snapshot.within(made.fingerprint, 3).unwrap();
            let others = found.into_iter().filter(|one| Some(one.id) != itself);
            others.map(|one| with_key(&snapshot, one, one.id)).collect()
        } else {
            Vec::new()
        };
        assert_eq!(answered.with(200)["matches"], json!(expected), "{body}");
        // The same query in a batch, behind another.
        batch["queries"] = json!([{"text": "another text of a query"}, {name: value}]);
        let answers = self.served.post(path, &batch).with(200);
        assert_eq!(answers["answers"][1]["matches"], json!(expected), "{batch}");
    }

    fn compare(&self, a: &str, b: &str) {
        let snapshot = self.database.snapshot().unwrap();
        let stored = [a, b].map(|key| snapshot.get(key).unwrap());
        let answered = self
            .served
            .post("/v1/compare", &json!({"a": {"key": a}, "b": {"key": b}}));
        let [Some(one), Some(other)] = stored else {
            assert_eq!((answered.status, &*answered.kind()), (404, "not_stored"));
            return;
        };
        let answer = answered.with(200);
        assert_eq!(
            (&answer["a"]["key"], &answer["b"]["key"]),
            (&json!(a), &json!(b))
        );
        assert_eq!(answer["a"]["id"], one.id.to_string());
        let distance = one.fingerprint.distance(other.fingerprint);
        assert_eq!(answer["distance"], distance);
    }
}

proptest! {
    // A case starts a server, which takes a tenth of a second.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn server_of_keys_and_scopes_answers_as_the_library(steps in prop::collection::vec(step(), 1..60)) {
        let pair = Pair::new();
        for (number, step) in steps.iter().enumerate() {
            pair.check(number, step);
        }
        let all = pair.served.get("/v1/documents?limit=1000").with(200);
        let snapshot = pair.database.snapshot().unwrap();
        let expected: Value = snapshot.documents().map(|document| wire(&document.unwrap())).collect();
        prop_assert_eq!(&all["documents"], &expected);
    }
}
