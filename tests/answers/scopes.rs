//! Databases with scopes: the answers equal a plain scan of the documents of the scopes, and every
//! way to copy, repair or load a database keeps the scopes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use simdb::clusters::{Clustering, ClustersEvent, Keep};
use simdb::join::{SimilarJoin, SimilarPairsEvent};
use simdb::{
    Change, Database, DocId, Document, Error, Fingerprint, Outcome, SimilarRule, Snapshot, Within,
};
use test_support::{INSERTED, Model, SplitMix, assert_sound, builder, copy_open, folder};

fn with_scopes() -> simdb::Builder {
    builder().scopes(true)
}

/// A document with a fingerprint of few bits, so that many documents are near each other.
fn document(key: &str, scope: &str, bits: u64) -> Document {
    let document = Document::new(key, Fingerprint::from_bits(bits));
    match scope {
        "" => document,
        scope => document.with_scope(scope),
    }
}

/// Each pair of documents in some scopes within the radius, by comparison with every document.
fn plain_pairs(plain: &Model, scopes: Option<&[String]>, radius: u32) -> BTreeSet<(DocId, DocId)> {
    let all = Fingerprint::from_bits(0);
    let among = plain.within_scopes(scopes, all, 64);
    let pairs = among.iter().flat_map(|a| {
        let near = among
            .iter()
            .filter(|b| a.id < b.id && a.fingerprint.distance(b.fingerprint) <= radius);
        near.map(|b| (a.id, b.id))
    });
    pairs.collect()
}

fn pairs_of(snapshot: &Snapshot, radius: u32) -> BTreeSet<(DocId, DocId)> {
    let mut found = BTreeSet::new();
    snapshot
        .document_pairs(radius, |pair| {
            assert!(found.insert((pair.a, pair.b)), "{pair:?} comes twice");
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// Compares every answer of a snapshot in some scopes with the plain scan.
fn compare(snapshot: Snapshot, plain: &Model, scopes: Option<&[String]>, queries: &[Fingerprint]) {
    let snapshot = match scopes {
        Some(scopes) => snapshot.in_scopes(scopes).unwrap(),
        None => snapshot,
    };
    for query in queries {
        for radius in [0, 3, 12, 64] {
            let expected = plain.within_scopes(scopes, *query, radius);
            assert_eq!(snapshot.within(*query, radius).unwrap(), expected);
            for limit in [1, 3] {
                let first = &expected[..limit.min(expected.len())];
                let limited = snapshot.within_limit(*query, radius, limit).unwrap();
                assert_eq!(limited, first, "radius {radius}, limit {limit}");
            }
        }
        let mut nearest = plain.within_scopes(scopes, *query, 64);
        nearest.truncate(2);
        assert_eq!(snapshot.nearest(*query, 2).unwrap(), nearest);
    }
    // Thousands of documents, most of them copies, have a million pairs.
    if plain.documents.len() < 500 {
        let expected = plain_pairs(plain, scopes, 3);
        assert_eq!(pairs_of(&snapshot, 3), expected, "pairs in {scopes:?}");
    }
    let answers = snapshot.within_batch(queries, 3).unwrap();
    for (query, answer) in queries.iter().zip(answers) {
        assert_eq!(answer, plain.within_scopes(scopes, *query, 3));
    }
}

fn assert_equals(database: &Database, plain: &Model, queries: &[Fingerprint]) {
    let snapshot = database.snapshot().unwrap();
    let stored: Vec<Document> = snapshot.documents().map(Result::unwrap).collect();
    let expected: Vec<Document> = plain.documents.values().cloned().collect();
    assert_eq!(stored, expected);
    for document in plain.documents.values() {
        let key = document.key.as_deref().unwrap();
        assert_eq!(snapshot.get(key).unwrap().as_ref(), Some(document));
    }
    drop(snapshot);
    compare(database.snapshot().unwrap(), plain, None, queries);
    let mut names = vec![String::new(), "unknown".to_owned()];
    names.extend(plain.scopes.iter().cloned());
    for name in &names {
        let snapshot = database.snapshot().unwrap();
        let mut scopes = plain.documents.values().map(|document| &document.scope);
        let is_stored = scopes.any(|scope| scope.as_deref().unwrap_or_default() == name);
        assert_eq!(snapshot.has_scope(name).unwrap(), is_stored, "{name}");
        compare(snapshot, plain, Some(std::slice::from_ref(name)), queries);
    }
    for scopes in [&names[..0], &names[1..], &names[..]] {
        compare(database.snapshot().unwrap(), plain, Some(scopes), queries);
    }
}

const SCOPES: [&str; 5] = ["", "zh", "en", "a scope of several words", "范围"];

#[derive(Clone, Debug)]
enum Step {
    Change {
        kind: u8,
        key: u8,
        scope: u8,
        bits: u64,
        within: u8,
    },
    Merge,
    Reopen,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let bits = prop_oneof![
        4 => Just(0_u64),
        4 => (0..64_u32, 0..64_u32).prop_map(|(one, other)| 1 << one | 1 << other),
        1 => any::<u64>(),
    ];
    prop_oneof![
        30 => (0..8_u8, 0..40_u8, 0..5_u8, bits, 0..5_u8).prop_map(
            |(kind, key, scope, bits, within)| Step::Change { kind, key, scope, bits, within }
        ),
        1 => Just(Step::Merge),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
    ]
}

fn change(kind: u8, key: u8, scope: u8, bits: u64, within: u8) -> Change {
    let key = format!("https://example.org/{key}");
    let within = match within {
        0 => Within::All,
        1 => Within::Scopes(vec!["en".to_owned(), String::new(), "unknown".to_owned()]),
        _ => Within::Scope,
    };
    let made = document(&key, SCOPES[usize::from(scope)], bits).compared_within(within);
    match kind {
        0 => Change::RemoveKey(key),
        1 => Change::Upsert(made),
        2 => Change::Insert(made),
        3 => Change::Insert(Document {
            reliable: false,
            ..made
        }),
        _ => Change::InsertUnique {
            document: made,
            radius: 3,
        },
    }
}

/// Leaves the database as a kill would, and opens it.
fn crashed(database: Database, path: &Path) -> Database {
    let copy = path.with_extension("crashed");
    copy_open(path, &copy);
    drop(database);
    for number in [1, 2] {
        let _ = std::fs::remove_file(test_support::journal(path, number));
        let journal = test_support::journal(&copy, number);
        if journal.exists() {
            std::fs::rename(journal, test_support::journal(path, number)).unwrap();
        }
    }
    std::fs::rename(&copy, path).unwrap();
    builder().open(path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn answers_in_scopes_equal_the_plain_scan_of_their_documents(
        steps in prop::collection::vec(step(), 1..120),
        batch in 1..9_usize,
    ) {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let mut database = with_scopes().create(&path).unwrap();
        let mut plain = Model::default();
        // A scope keeps its number from the commit of its first document on.
        for (number, name) in SCOPES.iter().enumerate() {
            let first = document(&format!("first of {name}"), name, 1 << number);
            assert_eq!(database.insert(first.clone()).unwrap(), INSERTED);
            assert_eq!(plain.apply(Change::Insert(first)), INSERTED);
        }
        let mut waiting: Vec<Change> = Vec::new();
        for step in steps.iter().chain([&Step::Merge]) {
            if let Step::Change { kind, key, scope, bits, within } = *step {
                waiting.push(change(kind, key, scope, bits, within));
            }
            if waiting.len() == batch || !matches!(step, Step::Change { .. }) {
                let changes = std::mem::take(&mut waiting);
                let outcomes = database.apply(changes.clone()).unwrap();
                let expected: Vec<Outcome> =
                    changes.into_iter().map(|change| plain.apply(change)).collect();
                prop_assert_eq!(outcomes, expected);
            }
            match step {
                Step::Change { .. } => {}
                Step::Merge => database.merge().unwrap(),
                Step::Reopen => {
                    drop(database);
                    database = builder().open(&path).unwrap();
                }
                Step::Crash => database = crashed(database, &path),
            }
        }
        let queries = [0, 1, 0b11, u64::MAX].map(Fingerprint::from_bits);
        assert_equals(&database, &plain, &queries);
        assert_sound(&mut database);
    }
}

/// Documents in several scopes, most of them copies of one another.
fn corpus(count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(7);
    (0..count)
        .map(|number| {
            let scope = ["", "zh", "en", "fr"][sequence.below(4) as usize];
            let bits = sequence.below(20) << 30;
            let key = format!("https://example.org/{number}");
            document(&key, scope, bits).with_text(format!("the text of document {number}"))
        })
        .collect()
}

fn queries() -> Vec<Fingerprint> {
    (0..40)
        .map(|number| Fingerprint::from_bits(number << 30))
        .collect()
}

fn plain_of(documents: &[Document]) -> Model {
    let mut plain = Model {
        keeps_texts: true,
        ..Model::default()
    };
    for document in documents {
        assert_eq!(plain.apply(Change::Insert(document.clone())), INSERTED);
    }
    plain
}

#[test]
fn bulk_load_gives_the_ids_and_scopes_of_inserts() {
    let folder = folder();
    let corpus = corpus(3_000);
    let plain = plain_of(&corpus);
    let place = |name: &str| folder.path().join(name);
    let settings = || with_scopes().similar(true);
    let load = |mut load: simdb::bulk::BulkLoad<'_>, documents: &[Document]| {
        documents
            .iter()
            .for_each(|document| load.push(document.clone()).unwrap());
        let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
        assert_eq!(report.inserted, documents.len() as u64);
    };
    load(
        settings()
            .bulk_create(place("new.simdb"), 16 << 20)
            .unwrap(),
        &corpus,
    );
    let existing = settings().create(place("existing.simdb")).unwrap();
    existing
        .apply(corpus[..1_000].iter().cloned().map(Change::Insert))
        .unwrap();
    load(existing.bulk_load(16 << 20).unwrap(), &corpus[1_000..]);
    drop(existing);
    for name in ["new.simdb", "existing.simdb"] {
        let mut database = builder().open(place(name)).unwrap();
        assert_equals(&database, &plain, &queries());
        assert_sound(&mut database);
        // A new scope has a new number.
        let mut plain = plain.clone();
        let new = document("another", "de", 7);
        assert_eq!(database.insert(new.clone()).unwrap(), INSERTED);
        assert_eq!(plain.apply(Change::Insert(new)), INSERTED);
        assert_equals(&database, &plain, &queries());
    }
}

#[test]
fn copies_of_a_database_keep_scopes() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let corpus = corpus(2_000);
    let plain = plain_of(&corpus);
    let database = with_scopes()
        .similar(true)
        .create(place("docs.simdb"))
        .unwrap();
    database
        .apply(corpus[..1_500].iter().cloned().map(Change::Insert))
        .unwrap();
    database.merge().unwrap();
    // In the journal only.
    database
        .apply(corpus[1_500..].iter().cloned().map(Change::Insert))
        .unwrap();
    database.backup(place("backup.simdb")).unwrap();
    copy_open(&place("docs.simdb"), &place("open.simdb"));
    let saved = builder()
        .salvage(place("open.simdb"), place("saved.simdb"), 16 << 20)
        .unwrap();
    assert_eq!((saved.documents, saved.damage), (2_000, Vec::new()));
    drop(database);
    Database::vacuum(place("docs.simdb")).unwrap();
    let read_only = builder().open_read_only(place("docs.simdb")).unwrap();
    assert_equals(&read_only, &plain, &queries());
    drop(read_only);
    for name in ["docs.simdb", "backup.simdb", "saved.simdb"] {
        let mut copy = builder().open(place(name)).unwrap();
        assert_equals(&copy, &plain, &queries());
        assert_sound(&mut copy);
        assert!(copy.settings().scopes && copy.settings().keys);
    }
}

#[test]
fn documents_of_scopes_whose_names_are_lost_stay_apart() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let name = "a name of a scope that is nowhere else";
    let database = with_scopes().create(place("docs.simdb")).unwrap();
    for (key, scope) in [("a", name), ("b", "zh"), ("c", ""), ("d", "zh")] {
        assert_eq!(database.insert(document(key, scope, 7)).unwrap(), INSERTED);
    }
    database.close().unwrap();
    let mut bytes = std::fs::read(place("docs.simdb")).unwrap();
    let at = |bytes: &[u8]| {
        bytes
            .windows(name.len())
            .position(|window| window == name.as_bytes())
    };
    while let Some(at) = at(&bytes) {
        bytes[at] ^= 1;
    }
    std::fs::write(place("damaged.simdb"), bytes).unwrap();
    assert!(builder().open(place("damaged.simdb")).is_err());
    // The page has the settings too, so the builder names them.
    let settings = with_scopes().recipe(simdb::Recipe::ngram());
    let saved = settings
        .salvage(place("damaged.simdb"), place("saved.simdb"), 16 << 20)
        .unwrap();
    assert_eq!(saved.documents, 4);
    let said = saved.damage.join("\n");
    assert!(said.contains("name of scope 1 is lost"), "{said}");
    let mut copy = builder().open(place("saved.simdb")).unwrap();
    let scope_of = |key| copy.get(key).unwrap().unwrap().scope;
    let scopes = ["a", "b", "c", "d"].map(scope_of);
    let lost = |number| Some(format!("lost-{number}"));
    assert_eq!(scopes, [lost(1), lost(2), None, lost(2)]);
    assert_sound(&mut copy);
}

#[test]
fn copies_in_other_scopes_are_passed_over() {
    let folder = folder();
    let database = with_scopes()
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let mut plain = Model::default();
    // More copies than a page of a posting list, and than a chunk of a table.
    for (round, scope, count) in [(0, "zh", 900), (1, "en", 3), (2, "zh", 500), (3, "fr", 600)] {
        let copies = (0..count)
            .map(|number| Change::Insert(document(&format!("{round}-{number}"), scope, 7)));
        let copies: Vec<Change> = copies.collect();
        database.apply(copies.clone()).unwrap();
        copies
            .into_iter()
            .for_each(|copy| assert_eq!(plain.apply(copy), INSERTED));
    }
    for _ in 0..2 {
        assert_equals(&database, &plain, &[0, 7].map(Fingerprint::from_bits));
        // Once in the memtable, once in the tables.
        database.merge().unwrap();
    }
}

#[test]
fn expired_documents_of_a_scope_are_not_found() {
    let folder = folder();
    let window = test_support::window(std::time::Duration::from_millis(100));
    let path = folder.path().join("docs.simdb");
    let database = with_scopes().retention(window).create(path).unwrap();
    let arriving = |key: &str, scope, arrival: u64| {
        let document = document(key, scope, 7).with_arrival(simdb::Timestamp(arrival));
        database.insert_unique(document, 3).unwrap()
    };
    assert_eq!(arriving("a", "zh", 1_000), INSERTED);
    assert_eq!(arriving("b", "en", 1_000), INSERTED);
    assert!(matches!(arriving("c", "zh", 1_050), Outcome::Duplicate(_)));
    assert_eq!(arriving("d", "fr", 1_150), INSERTED);
    // The first documents are expired now, in every scope.
    assert_eq!(arriving("e", "zh", 1_150), INSERTED);
    let found = |scope| {
        let snapshot = database.snapshot().unwrap().in_scopes([scope]).unwrap();
        let found = snapshot.within(Fingerprint::from_bits(7), 3).unwrap();
        assert_eq!(snapshot.has_scope(scope).unwrap(), !found.is_empty());
        found.len()
    };
    assert_eq!(["zh", "en", "fr"].map(found), [1, 0, 1]);
}

#[test]
fn most_copied_documents_are_limited_to_scopes() {
    let folder = folder();
    let database = with_scopes()
        .copies(2)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    for (key, scope) in ["zh", "en", "", "zh", "en", "en"].iter().enumerate() {
        let document = document(&key.to_string(), scope, 7);
        let _ = database.insert_unique(document, 3).unwrap();
    }
    for _ in 0..2 {
        let most = |scopes: &[&str], limit| {
            let snapshot = database.snapshot().unwrap().in_scopes(scopes).unwrap();
            let most = snapshot.most_copied(limit, None).unwrap().into_iter();
            let named = most.map(|(id, copies)| {
                let key = snapshot.key(id).unwrap().unwrap();
                format!("{key}: {}", copies.count)
            });
            named.collect::<Vec<_>>()
        };
        assert_eq!(most(&["zh"], 9), ["0: 1"]);
        assert_eq!(most(&["", "zh", "en", "unknown"], 9), ["1: 2", "0: 1"]);
        assert_eq!(most(&["zh", "en"], 1), ["1: 2"]);
        assert!(most(&["", "unknown"], 9).is_empty());
        // Once in the memtable, once in the tables.
        database.merge().unwrap();
    }
}

#[test]
fn invalid_scopes_are_refused_by_name() {
    let folder = folder();
    let database = with_scopes()
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let long = "s".repeat(65);
    for scope in ["", "a\nb", &long] {
        let document = Document::new("key", Fingerprint::from_bits(1)).with_scope(scope);
        let error = database.insert(document).unwrap_err();
        assert!(
            matches!(&error, Error::InvalidScope { scope: of } if of == scope),
            "{error:?}"
        );
    }
    let asking = Within::Scopes(vec![long.clone()]);
    let asking = document("key", "zh", 1).compared_within(asking);
    let error = database.insert_unique(asking, 3).unwrap_err();
    assert!(matches!(error, Error::InvalidScope { .. }), "{error:?}");
    assert!(database.snapshot().unwrap().in_scopes([&long]).is_err());
    assert!(database.snapshot().unwrap().has_scope(&long).is_err());
    let without_key = test_support::document(1, 1).with_scope("zh");
    let error = database.insert(without_key).unwrap_err();
    assert!(matches!(error, Error::KeyMissing { .. }), "{error:?}");
    assert!(database.is_empty().unwrap());
    // The longest name.
    let longest = document("key", &long[1..], 1);
    assert_eq!(database.insert(longest).unwrap(), INSERTED);

    let path = folder.path().join("keys.simdb");
    let without = builder().keys(true).create(&path).unwrap();
    let error = without.insert(document("key", "zh", 1)).unwrap_err();
    assert!(matches!(error, Error::KeepsNoScopes { .. }), "{error:?}");
    let error = without.snapshot().unwrap().in_scopes(["zh"]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("build another database with scopes"),
        "{error}"
    );
    drop(without);
    let error = with_scopes().open(&path);
    assert!(
        matches!(error, Err(Error::SettingsMismatch { .. })),
        "{error:?}"
    );
}

const FERRY: &str = "The ferry to the islands was cancelled because of fog.";
const EDITED: &str = "The ferry to the islands was canceled because of fog!";

/// Decides each text in the scope of each document alone.
fn assert_decided_by_scope(database: &Database) {
    let insert = |key: &str, scope: &str, text: &str| {
        let document = database.document(key, text).unwrap().with_scope(scope);
        database
            .insert_unless_similar(document, SimilarRule::default())
            .unwrap()
    };
    assert_eq!(insert("zh-1", "zh", FERRY), INSERTED);
    assert_eq!(insert("en-1", "en", EDITED), INSERTED);
    let Outcome::Similar(of) = insert("zh-2", "zh", EDITED) else {
        panic!("the copy in its scope was inserted");
    };
    assert_eq!(
        database.snapshot().unwrap().key(of.id).unwrap().as_deref(),
        Some("zh-1")
    );
    let everywhere = database.document("fr-1", FERRY).unwrap().with_scope("fr");
    let everywhere = everywhere.compared_within(Within::All);
    let outcome = database
        .insert_unless_similar(everywhere, SimilarRule::default())
        .unwrap();
    assert!(matches!(outcome, Outcome::Similar(_)), "{outcome}");
    let query = database.text_query(FERRY).unwrap();
    let keys_in = |scopes: Option<&[&str]>| {
        let snapshot = database.snapshot().unwrap();
        let snapshot = match scopes {
            Some(scopes) => snapshot.in_scopes(scopes).unwrap(),
            None => snapshot,
        };
        let found = snapshot.similar(&query).unwrap().into_iter();
        let mut keys: Vec<String> = found
            .map(|found| snapshot.key(found.id).unwrap().unwrap())
            .collect();
        keys.sort();
        keys
    };
    for _ in 0..2 {
        assert_eq!(keys_in(None), ["en-1", "zh-1"]);
        assert_eq!(keys_in(Some(&["en"])), ["en-1"]);
        assert_eq!(keys_in(Some(&["fr", "zh"])), ["zh-1"]);
        assert!(keys_in(Some(&["fr"])).is_empty());
        // Once in the memtable, once in the tables.
        database.merge().unwrap();
    }
}

#[test]
fn similar_texts_of_other_scopes_do_not_count() {
    let folder = folder();
    for (name, similar) in [("texts.simdb", false), ("forest.simdb", true)] {
        let path = folder.path().join(name);
        let settings = with_scopes().keep_texts(true).similar(similar);
        let mut database = settings.create(&path).unwrap();
        assert_decided_by_scope(&database);
        // An upsert moves a document to another scope, with the forest keys of its text.
        let moved = database.document("zh-1", FERRY).unwrap().with_scope("fr");
        let outcome = database.upsert(moved).unwrap();
        assert!(matches!(outcome, Outcome::Replaced { .. }), "{outcome}");
        let query = database.text_query(FERRY).unwrap();
        let found_in = |database: &Database, scope| {
            let snapshot = database.snapshot().unwrap().in_scopes([scope]).unwrap();
            snapshot.similar(&query).unwrap().len()
        };
        let crashed = crashed(database, &path);
        assert_eq!(
            ["zh", "fr", "en"].map(|scope| found_in(&crashed, scope)),
            [0, 1, 1]
        );
        database = crashed;
        assert_sound(&mut database);
        assert_eq!(
            ["zh", "fr", "en"].map(|scope| found_in(&database, scope)),
            [0, 1, 1]
        );
    }
}

#[test]
fn copies_in_another_scope_do_not_hide_a_similar_text() {
    let folder = folder();
    let database = with_scopes()
        .similar(true)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let insert = |key: &str, scope: &str, text: &str| {
        Change::Insert(database.document(key, text).unwrap().with_scope(scope))
    };
    // More neighbours than a node of the forest that is taken whole.
    let mut sequence = SplitMix(3);
    let copies = (0..6_000).map(|number| {
        let text = format!("{FERRY} Train {} is late.", sequence.below(1 << 40));
        insert(&format!("copy {number}"), "zh", &text)
    });
    database.apply(copies).unwrap();
    database.apply([insert("own", "en", FERRY)]).unwrap();
    for _ in 0..2 {
        let query = database.text_query(EDITED).unwrap();
        let snapshot = database.snapshot().unwrap().in_scopes(["en"]).unwrap();
        let found = snapshot.similar(&query).unwrap();
        assert_eq!(found.len(), 1);
        drop(snapshot);
        database.merge().unwrap();
    }
}

/// The clusters of a snapshot, by keys: each keeper with its members.
fn clusters_of(snapshot: &Snapshot, similar: bool) -> Vec<Vec<String>> {
    let names = snapshot.documents().map(Result::unwrap);
    let names: BTreeMap<DocId, String> = names
        .map(|document| (document.id, document.key.unwrap()))
        .collect();
    let mut clusters = Vec::new();
    let visitor = |event: ClustersEvent<'_>| {
        if let ClustersEvent::Cluster(cluster) = event {
            let members = cluster.members.iter().map(|member| member.id);
            let ids = std::iter::once(cluster.keeper).chain(members);
            clusters.push(ids.map(|id| names[&id].clone()).collect());
        }
        ControlFlow::Continue(())
    };
    match similar {
        true => snapshot.similar_clusters(&SimilarJoin::default(), Keep::First, visitor),
        false => snapshot.clusters(&Clustering::default(), visitor),
    }
    .unwrap();
    clusters
}

/// The number of documents in groups and pairs of similar texts.
fn similar_pairs_of(snapshot: &Snapshot) -> [usize; 2] {
    let [mut copies, mut pairs] = [0, 0];
    let count = |event: SimilarPairsEvent<'_>| {
        match event {
            SimilarPairsEvent::Copies(documents) => copies += documents.len(),
            SimilarPairsEvent::Pairs(some) => pairs += some.len(),
            _ => {}
        }
        ControlFlow::Continue(())
    };
    snapshot
        .similar_pairs(&SimilarJoin::default(), count)
        .unwrap();
    [copies, pairs]
}

/// Documents of stories, each in several scopes.
fn stories(count: u64) -> Vec<Document> {
    let mut sequence = SplitMix(11);
    let document = |number: u64| {
        let scope = ["", "zh", "en", "fr"][sequence.below(4) as usize];
        let story = sequence.below(60);
        let more = "It is late. ".repeat(number as usize % 3);
        let words = format!("{:x} {:x}", SplitMix(story).next(), SplitMix(!story).next());
        let bits = SplitMix(story).next() ^ 1 << sequence.below(64);
        let document = document(&format!("https://example.org/{number}"), scope, bits);
        Document {
            // Equal texts of unreliable documents are a cluster too.
            reliable: !number.is_multiple_of(7),
            ..document.with_text(format!(
                "Train {words} to the {story} islands is there. {more}"
            ))
        }
    };
    (0..count).map(document).collect()
}

fn inserts(documents: &[Document]) -> impl Iterator<Item = Change> {
    documents.iter().cloned().map(Change::Insert)
}

#[test]
fn clusters_in_scopes_equal_the_clusters_of_a_database_of_their_documents() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let documents = stories(600);
    let whole = with_scopes().keep_texts(true);
    let whole = whole.create(place("whole.simdb")).unwrap();
    whole.apply(inserts(&documents[..400])).unwrap();
    whole.merge().unwrap();
    whole.apply(inserts(&documents[400..])).unwrap();
    let asked = [&["zh"][..], &["", "en"], &["unknown"]];
    for (number, scopes) in asked.into_iter().enumerate() {
        let is_own = |document: &&Document| {
            let scope = document.scope.as_deref().unwrap_or_default();
            scopes.contains(&scope)
        };
        let mut own: Vec<Document> = documents.iter().filter(is_own).cloned().collect();
        // In the order of the ids of the whole database.
        own.sort_by_key(|document| document.scope.is_some());
        own.iter_mut().for_each(|document| document.scope = None);
        let alone = builder().keys(true).keep_texts(true);
        let alone = alone.create(place(&format!("alone{number}"))).unwrap();
        alone.apply(inserts(&own)).unwrap();
        let alone = alone.snapshot().unwrap();
        let snapshot = whole.snapshot().unwrap().in_scopes(scopes).unwrap();
        for similar in [false, true] {
            let clusters = clusters_of(&snapshot, similar);
            assert_eq!(clusters, clusters_of(&alone, similar), "{scopes:?}");
            assert_eq!(clusters.is_empty(), scopes == ["unknown"]);
        }
        let pairs = similar_pairs_of(&snapshot);
        assert_eq!(pairs, similar_pairs_of(&alone), "{scopes:?}");
    }
}

#[test]
fn unique_load_compares_texts_of_one_scope() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = with_scopes().similar(true).create(&path).unwrap();
    let document = |key: &str, scope: &str, text: &str| {
        database.document(key, text).unwrap().with_scope(scope)
    };
    assert_eq!(
        database.insert(document("stored", "en", FERRY)).unwrap(),
        INSERTED
    );
    let load = database.bulk_load(16 << 20).unwrap();
    let mut load = load.unique(SimilarRule::default()).unwrap();
    let opera = "The opera opened its season with a work of a young composer.";
    let outcomes = load
        .decide(vec![
            document("copy", "en", EDITED),
            document("elsewhere", "zh", EDITED),
            document("again", "zh", FERRY),
            document("stored", "zh", opera),
            document("opera", "zh", opera),
            document("opera", "en", opera),
            document("again", "fr", opera),
        ])
        .unwrap();
    assert!(matches!(outcomes[0], Outcome::Similar(_)), "{outcomes:?}");
    assert!(outcomes[1].is_inserted());
    assert!(matches!(outcomes[2], Outcome::Similar(_)), "{outcomes:?}");
    assert!(
        matches!(outcomes[3], Outcome::Exists { .. }),
        "{outcomes:?}"
    );
    assert!(outcomes[4].is_inserted());
    assert!(
        matches!(outcomes[5], Outcome::Exists { .. }),
        "{outcomes:?}"
    );
    assert!(outcomes[6].is_inserted());
    let asking = document("asking", "zh", "Another text.").compared_within(Within::All);
    let refused = load.decide(vec![asking]);
    assert!(
        matches!(refused, Err(Error::WithinOtherScopes { .. })),
        "{refused:?}"
    );
    let load = load.into_load().unwrap();
    assert_eq!(
        load.finish(|_| ControlFlow::Continue(())).unwrap().inserted,
        3
    );
    let snapshot = database.snapshot().unwrap();
    let scopes = ["stored", "elsewhere", "opera", "again"].map(|key| {
        let stored = snapshot.get(key).unwrap().unwrap();
        stored.scope.unwrap()
    });
    assert_eq!(scopes, ["en", "zh", "zh", "fr"]);
    drop(snapshot);
    let mut database = database;
    assert_sound(&mut database);
}

/// A file of the fixture: the database of [`corpus`], with its last documents in a journal.
fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/format-6-scopes")
        .join(name)
}

#[test]
fn fixture_with_scopes_has_its_documents() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    for (name, path) in [
        ("docs.simdb.zst", path.clone()),
        ("docs.journal-1.zst", test_support::journal(&path, 1)),
        ("docs.journal-2.zst", test_support::journal(&path, 2)),
    ] {
        let packed = std::fs::read(fixture(name)).unwrap();
        std::fs::write(path, zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
    }
    let plain = plain_of(&corpus(300));
    let reading = builder().open_read_only(&path).unwrap();
    assert_equals(&reading, &plain, &queries());
    drop(reading);
    let mut database = builder().open(&path).unwrap();
    assert_equals(&database, &plain, &queries());
    // The forest has the keys of each scope.
    assert_sound(&mut database);
    assert_equals(&database, &plain, &queries());
}

#[test]
#[ignore = "writes the fixture anew: only when the format changes, into another folder"]
fn write_fixture_with_scopes() {
    let target = fixture("");
    std::fs::create_dir_all(&target).unwrap();
    assert!(
        !target.join("docs.simdb.zst").exists(),
        "files are never written again"
    );
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let corpus = corpus(300);
    let database = with_scopes()
        .similar(true)
        .create(place("docs.simdb"))
        .unwrap();
    database
        .apply(corpus[..200].iter().cloned().map(Change::Insert))
        .unwrap();
    database.merge().unwrap();
    database
        .apply(corpus[200..].iter().cloned().map(Change::Insert))
        .unwrap();
    copy_open(&place("docs.simdb"), &place("copy.simdb"));
    for (name, path) in [
        ("docs.simdb.zst", place("copy.simdb")),
        (
            "docs.journal-1.zst",
            test_support::journal(&place("copy.simdb"), 1),
        ),
        (
            "docs.journal-2.zst",
            test_support::journal(&place("copy.simdb"), 2),
        ),
    ] {
        let packed = zstd::encode_all(std::fs::read(path).unwrap().as_slice(), 19).unwrap();
        std::fs::write(target.join(name), packed).unwrap();
    }
}
