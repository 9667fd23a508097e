//! Loads that decide in memory leave what inserts one after the other leave.

use std::ops::ControlFlow;

use simdb::copies::{Copies, Sighting, SightingKind};
use simdb::in_memory::Deduplicator;
use simdb::{
    Builder, Change, Database, Decision, DocId, Document, Error, OnExtended, Outcome, SimilarRule,
    Timestamp,
};
use test_support::{SplitMix, assert_sound, builder, folder};

/// Real texts, each followed by copies and edits of earlier ones: with fewer, with more and with
/// other words. Some ids are used twice.
fn documents(database: &Database) -> Vec<Document> {
    let corpus = include_str!("../data/quotes_and_news.jsonl");
    // The forest of a database misses some near-duplicates of very short texts that the index
    // finds.
    let lines = corpus.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = line["text"].as_str().unwrap().to_owned();
        (text.is_ascii() && text.len() > 40).then_some(text)
    });
    let mut texts: Vec<String> = Vec::new();
    let mut draws = SplitMix(21);
    for text in lines.take(120) {
        texts.push(text);
        let earlier = texts[draws.below(texts.len() as u64) as usize].clone();
        let words: Vec<&str> = earlier.split(' ').collect();
        let edited = match draws.below(5) {
            0 => earlier.to_uppercase(),
            1 => words[..words.len() - words.len() / 6].join(" "),
            2 => format!("{earlier} indeed, quoth the raven"),
            3 => earlier.replacen("the ", "a ", 1) + " 7",
            _ => continue,
        };
        texts.push(edited);
    }
    let mut documents: Vec<Document> = (0..)
        .zip(&texts)
        .map(|(number, text)| {
            // Ids descend, so the order of ids is not the order of texts.
            let id = 10_000 - number + if number % 31 == 30 { 3 } else { 0 };
            let document = database.document(id, text).unwrap();
            document.with_arrival(1_700_000_000_000 + number)
        })
        .collect();
    // Stored and refused documents come again, some of them with another text.
    for place in (1..60).step_by(4) {
        let text = documents[place + usize::from(place % 3 == 0)].clone();
        documents.push(Document {
            id: documents[place].id,
            ..text
        });
    }
    documents
}

/// The copies of a document that are stored: some documents have more.
const NEWEST: u16 = 1;

fn with_copies() -> Builder {
    builder().similar(true).copies(NEWEST)
}

fn create(folder: &tempfile::TempDir, name: &str) -> Database {
    let path = folder.path().join(name);
    with_copies().create(path).unwrap()
}

fn all(database: &Database) -> Vec<Document> {
    let snapshot = database.snapshot().unwrap();
    snapshot.documents().map(Result::unwrap).collect()
}

/// Loads documents in parts, the first part into a new file.
fn load_in_parts(
    folder: &tempfile::TempDir,
    name: &str,
    documents: &[Document],
    rule: SimilarRule,
    part_len: usize,
) -> (Database, Vec<Outcome>) {
    let path = folder.path().join(name);
    let mut database = None;
    let mut outcomes = Vec::new();
    for part in documents.chunks(part_len) {
        let load = match &database {
            None => with_copies().bulk_create(&path, 16 << 20),
            Some(database) => Database::bulk_load(database, 16 << 20),
        };
        let mut load = load.unwrap().unique(rule).unwrap();
        for documents in part.chunks(37) {
            outcomes.extend(load.decide(documents.to_vec()).unwrap());
        }
        assert!(load.len_bytes() > 0);
        let load = load.into_load().unwrap();
        let report = load.finish(|_| ControlFlow::Break(())).unwrap();
        assert_eq!((report.present, report.conflicts), (0, 0));
        database.get_or_insert_with(|| builder().open(&path).unwrap());
    }
    (database.unwrap(), outcomes)
}

#[test]
fn unique_load_decides_like_one_insert_after_the_other() {
    let folder = folder();
    for (number, decision, on_extended) in [
        (0, Decision::Contained, OnExtended::KeepBoth),
        (1, Decision::Contained, OnExtended::Replace),
        (2, Decision::Alike, OnExtended::KeepBoth),
    ] {
        let rule = SimilarRule {
            decision,
            on_extended,
            ..SimilarRule::default()
        };
        let model = create(&folder, &format!("model{number}.simdb"));
        let documents = documents(&model);
        let expected: Vec<Outcome> = documents
            .iter()
            .cloned()
            .map(|document| Change::InsertUnlessSimilar { document, rule })
            .map(|change| model.apply_one(change).unwrap())
            .collect();
        let is_kind = |kind: fn(&Outcome) -> bool| expected.iter().filter(|o| kind(o)).count();
        assert!(is_kind(|outcome| matches!(outcome, Outcome::Similar(_))) > 20);
        assert!(is_kind(|outcome| matches!(outcome, Outcome::Exists { .. })) > 2);
        assert!(is_kind(|outcome| matches!(outcome, Outcome::Seen)) > 2);
        let extended =
            is_kind(|outcome| matches!(outcome, Outcome::Extends(_) | Outcome::Supersedes(_)));
        assert_eq!(extended > 4, decision == Decision::Contained, "{extended}");
        for part_len in [usize::MAX, 100] {
            let name = format!("parts{number}-{}.simdb", part_len % 7);
            let (database, outcomes) = load_in_parts(&folder, &name, &documents, rule, part_len);
            for ((document, found), expected) in documents.iter().zip(&outcomes).zip(&expected) {
                assert_eq!(found, expected, "{document:?}");
            }
            assert_eq!(outcomes.len(), expected.len());
            assert_eq!(all(&database), all(&model));
            let most = |database: &Database| {
                let snapshot = database.snapshot().unwrap();
                snapshot.most_copied(1_000, None).unwrap()
            };
            assert_eq!(most(&database), most(&model));
            assert!(most(&database)[0].1.count > u64::from(NEWEST));
            let mut database = database;
            assert_sound(&mut database);
        }
        if on_extended == OnExtended::KeepBoth {
            // Any keeper refuses a document, so the same documents are kept.
            let first = Deduplicator::new(rule).unwrap().stopping_at_first();
            // A deduplicator without a database knows no copies that come again.
            let both = documents.into_iter().zip(expected);
            let (documents, expected): (Vec<Document>, Vec<Outcome>) = both
                .filter(|(_, outcome)| *outcome != Outcome::Seen)
                .unzip();
            assert_keeps_as(first, &documents, &expected);
        }
    }
}

fn assert_keeps_as(mut first: Deduplicator, documents: &[Document], expected: &[Outcome]) {
    let (mut kept, mut covered) = (0, 0);
    for (documents, expected) in documents.chunks(50).zip(expected.chunks(50)) {
        let covering = first.covered(documents).unwrap();
        assert_eq!(first.kept(), kept);
        let outcomes = first.decide(documents).unwrap();
        for ((outcome, covering), expected) in outcomes.iter().zip(covering).zip(expected) {
            assert_eq!(outcome.is_inserted(), expected.is_inserted());
            if let (Some(covering), Outcome::Similar(found)) = (covering, outcome) {
                assert_eq!(&covering, found);
                covered += 1;
            }
            kept += usize::from(outcome.is_inserted());
        }
    }
    assert!(covered > 5, "{covered}");
}

#[test]
fn refusal_is_forgotten_with_the_text_that_covered_the_refused_text() {
    let folder = folder();
    let ferry = "The ferry to the islands was cancelled due to heavy fog.";
    let more = "The ferry to the islands was cancelled due to heavy fog. Buses are late.";
    let painter = "A painter opens a museum for children in the old harbour this summer.";
    let farmers = "Farmers met in the valley to count the sheep that the storm had scattered.";
    let rule = SimilarRule {
        on_extended: OnExtended::Replace,
        ..SimilarRule::default()
    };
    // The longer text replaces document 1, whose id or key may come again.
    let replaced = [(1, ferry), (2, ferry), (3, more), (2, farmers)];
    let taken_again = [
        (1, ferry),
        (2, ferry),
        (3, more),
        (1, painter),
        (1, painter),
        (2, farmers),
    ];
    for (name, has_keys, texts, expected) in [
        ("a", false, &replaced[..], &[true, false, true, true][..]),
        ("b", true, &replaced, &[true, false, true, true]),
        (
            "c",
            false,
            &taken_again,
            &[true, false, true, true, false, true],
        ),
        (
            "d",
            true,
            &taken_again,
            &[true, false, true, true, false, true],
        ),
    ] {
        let path = |kind: &str| folder.path().join(format!("{name}-{kind}.simdb"));
        let with_copies = || with_copies().keys(has_keys);
        let model = with_copies().create(path("model")).unwrap();
        let document = |(id, text): &(u64, &str)| match has_keys {
            false => model.document(*id, text).unwrap(),
            true => model.document(id.to_string(), text).unwrap(),
        };
        let documents: Vec<Document> = texts.iter().map(document).collect();
        let change = |document| Change::InsertUnlessSimilar { document, rule };
        let changes = documents.iter().cloned().map(change);
        let inserted = changes.map(|change| model.apply_one(change).unwrap().is_inserted());
        assert_eq!(inserted.collect::<Vec<_>>(), expected, "{name}");
        for part_len in [1, 2, documents.len()] {
            let path = path(&part_len.to_string());
            let load = with_copies().bulk_create(&path, 16 << 20).unwrap();
            let mut load = load.unique(rule).unwrap();
            let parts = documents.chunks(part_len);
            let outcomes = parts.flat_map(|part| load.decide(part.to_vec()).unwrap());
            let inserted: Vec<bool> = outcomes.map(|outcome| outcome.is_inserted()).collect();
            assert_eq!(inserted, expected, "{name} {part_len}");
        }
    }
}

/// As in an export.
#[test]
fn copies_that_a_document_brings_are_known_in_the_same_load() {
    let folder = folder();
    let ferry = "The ferry to the islands was cancelled due to heavy fog.";
    let model = with_copies().create(folder.path().join("a.simdb")).unwrap();
    let seen = Timestamp(1_700_000_000_000);
    let sighting = Sighting {
        document: DocId(2).into(),
        seen,
        kind: SightingKind::Same,
    };
    let mut original = model.document(1, ferry).unwrap();
    original.copies = Some(Copies {
        count: 1,
        first_seen: seen,
        last_seen: seen,
        newest: vec![sighting],
    });
    let documents = [original, model.document(2, ferry).unwrap()];
    for part_len in [1, 2] {
        let path = folder.path().join(format!("{part_len}.simdb"));
        let load = with_copies().bulk_create(&path, 16 << 20).unwrap();
        let mut load = load.unique(SimilarRule::default()).unwrap();
        let parts = documents.chunks(part_len);
        let outcomes = parts.flat_map(|part| load.decide(part.to_vec()).unwrap());
        assert_eq!(outcomes.last(), Some(Outcome::Seen));
        let load = load.into_load().unwrap();
        load.finish(|_| ControlFlow::Break(())).unwrap();
        let mut database = builder().open(&path).unwrap();
        let copies = database.snapshot().unwrap().copies(1).unwrap();
        assert_eq!(copies.unwrap().count, 1);
        assert_sound(&mut database);
    }
}

#[test]
fn unique_load_refuses_what_has_no_text() {
    let folder = folder();
    let textless = builder()
        .create(folder.path().join("textless.simdb"))
        .unwrap();
    let refused = textless.bulk_load(0).unwrap();
    let refused = refused.unique(SimilarRule::default()).unwrap_err();
    assert!(matches!(refused, Error::KeepsNoTexts { .. }), "{refused:?}");

    let database = create(&folder, "docs.simdb");
    let load = database.bulk_load(0).unwrap();
    let mut load = load.unique(SimilarRule::default()).unwrap();
    let with_text = database.document(1, "a text").unwrap();
    let without = database.document(2, "a text").unwrap();
    let without = Document {
        text: None,
        ..without
    };
    let refused = load.decide(vec![with_text.clone(), without]).unwrap_err();
    assert!(
        matches!(&refused, Error::TextMissing { id } if *id == 2.into()),
        "{refused:?}"
    );
    // The load can go on.
    assert!(load.decide(vec![with_text]).unwrap()[0].is_inserted());
    let load = load.into_load().unwrap();
    let report = load.finish(|_| ControlFlow::Break(())).unwrap();
    assert_eq!(report.inserted, 1);
}
