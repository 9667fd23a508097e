//! Frames that a database learns and keeps: through a reopening, a crash and copies of the file,
//! and by scope.

use std::path::Path;

use simdb::containment::Equality;
use simdb::frames::{Frame, FrameLearner, Frames, TextEnds};
use simdb::in_memory::Deduplicator;
use simdb::{Database, DocId, Document, Outcome, SimilarRule, Within};
use test_support::{builder, folder};

const TOWNS: [&str; 12] = [
    "Kirkwall",
    "Stromness",
    "Lerwick",
    "Wick",
    "Thurso",
    "Oban",
    "Ullapool",
    "Mallaig",
    "Tain",
    "Dornoch",
    "Golspie",
    "Brora",
];
const HERALD: &str = "The Northern Herald brings the islands together every morning.";
const POST: &str = "More of our reporting from the coast stands in the Saturday Post.";

fn story(number: usize) -> String {
    let town = TOWNS[number % TOWNS.len()];
    let events = [
        "closed her harbour on Sunday after a trawler lost an anchor beside pier",
        "voted to repaint the old lighthouse and to plant birch trees along road",
        "welcomed a choir of forty singers who had crossed the firth by ferry",
    ];
    let event = events[number / TOWNS.len() % events.len()];
    format!("{town} {event} {number}, said mayor number {number} of {town} to reporter {number}.")
}

fn herald(number: usize) -> String {
    format!("{HERALD}\n{}", story(number))
}

fn insert(database: &Database, id: u64, text: &str) -> bool {
    let document = database.document(id, text).unwrap();
    let outcome = database.insert_unless_similar(document, SimilarRule::default());
    outcome.unwrap().is_inserted()
}

fn frames(database: &Database) -> Vec<Frame> {
    database.frames().unwrap().iter().cloned().collect()
}

fn learning(path: &Path, texts: impl IntoIterator<Item = usize>) -> Database {
    let database = builder()
        .similar(true)
        .frames(5)
        .open_or_create(path)
        .unwrap();
    for number in texts {
        insert(&database, number as u64 + 1, &herald(number));
    }
    database
}

#[test]
fn database_that_is_reopened_learns_what_a_learner_learns_in_one_go() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut learner = FrameLearner::new(5);
    for number in 0..30 {
        // Each text comes twice: a refused copy counts too, except the copy of the first text.
        for id in [1, 1001] {
            let database = learning(&path, []);
            let is_inserted = insert(&database, number + id, &herald(number as usize));
            assert_eq!(is_inserted, id == 1, "{number}");
            learner.learn([(0, TextEnds::new(&herald(number as usize)))]);
            let expected: Vec<String> = learner.frames().iter().map(|f| f.text.clone()).collect();
            let found: Vec<String> = frames(&database).into_iter().map(|f| f.text).collect();
            assert_eq!(found, expected, "{number}");
            database.close().unwrap();
        }
    }
    let database = Database::builder().open_read_only(&path).unwrap();
    assert_eq!(database.settings().frames, Some(5));
    let [frame] = &frames(&database)[..] else {
        panic!("{:?}", frames(&database));
    };
    assert_eq!((&*frame.text, frame.documents), (HERALD, 59));
    let found = database.similar_text(&story(3)).unwrap();
    assert!(found.iter().any(|found| found.id == DocId(4)));
}

#[test]
fn frames_outlive_a_crash_and_copies_of_the_file() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = learning(&path, 0..12);
    database.merge().unwrap();
    // Not merged: in the journal alone.
    for number in 12..24 {
        insert(
            &database,
            number as u64 + 1,
            &format!("{}\n{POST}", story(number)),
        );
    }
    let backup = folder.path().join("backup.simdb");
    database.backup(&backup).unwrap();
    // The files as a killed process leaves them.
    let killed = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), killed.path().join(entry.file_name())).unwrap();
    }
    let expected = frames(&database);
    assert_eq!(expected.len(), 2);
    database.close().unwrap();
    let texts = |frames: Vec<Frame>| frames.into_iter().map(|f| f.text).collect::<Vec<_>>();
    let after_kill = Database::open(killed.path().join("docs.simdb")).unwrap();
    assert_eq!(texts(frames(&after_kill)), texts(expected.clone()));
    assert!(!insert(&after_kill, 99, &story(2)));
    assert_eq!(after_kill.check().unwrap(), [""; 0]);

    Database::builder().vacuum(&path).unwrap();
    for path in [&path, &backup] {
        let copy = Database::open(path).unwrap();
        assert_eq!(frames(&copy), expected);
        assert_eq!(copy.check().unwrap(), [""; 0]);
        assert!(!insert(&copy, 99, &story(20)));
    }
}

#[test]
fn bulk_load_and_transaction_learn() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut load = builder()
        .similar(true)
        .frames(5)
        .bulk_create(&path, 64 << 20)
        .unwrap();
    let made = learning(&folder.path().join("other.simdb"), []);
    for number in 0..6 {
        load.push(made.document(number as u64 + 1, &herald(number)).unwrap())
            .unwrap();
    }
    load.finish(|_| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(frames(&database).len(), 1);
    let tailed = |number| format!("{}\n{POST}", story(number));
    let mut load = database.bulk_load(64 << 20).unwrap();
    for number in 6..9 {
        load.push(made.document(number as u64 + 1, &tailed(number)).unwrap())
            .unwrap();
    }
    load.finish(|_| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let mut transaction = database.begin().unwrap();
    for number in 9..24 {
        let document = made.document(number as u64 + 1, &tailed(number)).unwrap();
        transaction
            .apply([simdb::Change::Insert(document)])
            .unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    let texts: Vec<String> = frames(&Database::open(&path).unwrap())
        .into_iter()
        .map(|frame| frame.text)
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
}

#[test]
fn decisions_in_memory_leave_frames_out() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let recipe = Database::create(folder.path().join("other.simdb")).unwrap();
    let document = |id: u64, text: &str| {
        let document = Document::new(id, recipe.fingerprint(text).unwrap());
        document.with_text(text)
    };
    let rule = SimilarRule::default();
    let framed = |number| document(number as u64 + 1, &herald(number));
    let (clean, copy) = (document(91, &story(3)), document(92, &story(20)));

    let mut learner = FrameLearner::new(5);
    learner.learn((0..6).map(|number| (0, TextEnds::new(&herald(number)))));
    let mut deduplicator = Deduplicator::new(rule).unwrap();
    deduplicator.set_frames(Frames::clone(learner.frames()));
    for documents in [[framed(3), clean.clone()], [copy.clone(), framed(20)]] {
        let outcomes = deduplicator.decide(&documents).unwrap();
        let Outcome::Similar(found) = &outcomes[1] else {
            panic!("{outcomes:?}");
        };
        let forgiven = &found.containment.as_ref().unwrap().forgiven;
        assert!(forgiven.iter().any(|each| each.class == Equality::Frame));
    }

    let load = builder()
        .similar(true)
        .frames(5)
        .bulk_create(&path, 64 << 20);
    let mut load = load.unwrap().unique(rule).unwrap();
    let mut documents: Vec<Document> = (0..6).map(framed).collect();
    documents.push(clean);
    let outcomes = load.decide(documents).unwrap();
    assert!(outcomes[..6].iter().all(Outcome::is_inserted));
    assert!(matches!(outcomes[6], Outcome::Similar(_)));
    // A refused text counts, and no text counts twice.
    let outcomes = load.decide(vec![document(93, &herald(3))]).unwrap();
    assert!(matches!(outcomes[0], Outcome::Similar(_)));
    let load = load.into_load().unwrap();
    load.finish(|_| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let database = Database::open(&path).unwrap();
    let documents: Vec<u64> = frames(&database).iter().map(|f| f.documents).collect();
    assert_eq!(documents, [7]);
    // An existing database.
    let mut load = database.bulk_load(64 << 20).unwrap().unique(rule).unwrap();
    let outcomes = load.decide(vec![copy, framed(20), document(94, &story(4))]);
    let refused: Vec<bool> = outcomes.unwrap().iter().map(|o| !o.is_inserted()).collect();
    assert_eq!(refused, [false, true, true]);
}

#[test]
fn each_scope_has_its_own_frames() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder()
        .similar(true)
        .scopes(true)
        .frames(5)
        .create(&path)
        .unwrap();
    let document = |key: String, scope: &str, text: &str| -> Document {
        database
            .document(key.as_str(), text)
            .unwrap()
            .with_scope(scope)
    };
    let unless_similar = |document: Document| {
        let outcome = database.insert_unless_similar(document, SimilarRule::default());
        outcome.unwrap().is_inserted()
    };
    for number in 0..12 {
        let post = format!("{}\n{POST}", story(number + 12));
        unless_similar(document(format!("h{number}"), "herald", &herald(number)));
        unless_similar(document(format!("p{number}"), "post", &post));
    }
    let known = database.frames().unwrap();
    let mut named: Vec<(Option<String>, String)> = known
        .iter()
        .map(|frame| (database.scope_of_frame(frame).unwrap(), frame.text.clone()))
        .collect();
    named.sort();
    let expected = [("herald", HERALD), ("post", POST)];
    assert_eq!(
        named,
        expected.map(|(scope, text)| (Some(scope.into()), text.to_owned()))
    );

    // The line of another scope is a part of the text, and so is the line of no scope.
    let is_refused = |key: &str, scope: &str, text: &str, within: Within| {
        let document = document(key.to_owned(), scope, text).compared_within(within);
        !unless_similar(document)
    };
    assert!(is_refused("a", "herald", &story(3), Within::Scope));
    let elsewhere = format!("{POST}\n{}", story(3));
    assert!(!is_refused("b", "herald", &elsewhere, Within::Scope));
    // A text of a scope is compared with the texts of all scopes, each without its own frames.
    let framed = format!("{}\n{POST}", story(4));
    assert!(is_refused("c", "post", &framed, Within::All));
    // A query has no scope.
    let found = database.snapshot().unwrap().in_scopes(["post"]).unwrap();
    let query = database.text_query(&story(20)).unwrap();
    assert_eq!(found.similar(&query).unwrap().len(), 1);
}

#[test]
fn file_without_frames_has_no_table_of_frames() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().similar(true).create(&path).unwrap();
    insert(&database, 1, &herald(1));
    database.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"frames"));
    let database = Database::open(&path).unwrap();
    assert!(database.frames().unwrap().is_empty());
    let other = builder().frames(5).open(&path);
    drop(database);
    assert!(other.is_err());
}
