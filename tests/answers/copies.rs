//! Databases with copies: the copies of each document equal the refusals of a plain model, and
//! every way to copy or load a database keeps them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use simdb::copies::{Copies, Sighting, SightingKind};
use simdb::{
    Builder, Change, Database, DocId, DocRef, Document, Error, Fingerprint, OnExists, Outcome,
    SimilarRule, Snapshot, Timestamp,
};
use test_support::engine::with_engine;
use test_support::{
    INSERTED, Model, SplitMix, assert_holds, assert_sound, builder, copy_open, document, folder,
    keyed, planted, window, with_key,
};

const NEWEST: u16 = 3;

/// Changes of documents around a few fingerprints, some of them of documents that were refused.
fn changes(sequence: &mut SplitMix, has_keys: bool) -> Vec<Change> {
    let change = |sequence: &mut SplitMix| {
        let centre = Fingerprint::from_bits(SplitMix(sequence.below(40)).next());
        let distance = sequence.below(3) as u32;
        let fingerprint = planted(sequence, centre, distance);
        let id = sequence.below(400);
        let document = document(id, fingerprint.bits())
            .with_arrival(1_700_000_000_000 + sequence.below(1 << 30));
        let mut document = match id % 3 {
            0 => document,
            _ => document.with_text(format!("the text of document {id}")),
        };
        document.copies = (sequence.below(8) == 0).then(|| brought(sequence, has_keys));
        let change = match sequence.below(12) {
            0 => Change::Remove(DocId(id)),
            1 => Change::Upsert(document),
            _ => Change::InsertUnique {
                document,
                radius: 3,
            },
        };
        match has_keys {
            true => with_key(change),
            false => change,
        }
    };
    (0..sequence.below(60)).map(|_| change(sequence)).collect()
}

/// The copies that a document brings, as from an export.
fn brought(sequence: &mut SplitMix, has_keys: bool) -> Copies {
    let seen = Timestamp(1_700_000_000_000 + sequence.below(1 << 30));
    let refused = document(sequence.below(400), 0);
    let refused = match has_keys {
        true => keyed(refused),
        false => refused,
    };
    Copies {
        count: 1 + sequence.below(4),
        first_seen: Timestamp(seen.0 - sequence.below(1 << 20)),
        last_seen: seen,
        newest: vec![Sighting {
            document: refused.doc_ref(),
            seen,
            kind: SightingKind::Same,
        }],
    }
}

fn assert_holds_copies(snapshot: &Snapshot, model: &Model) {
    assert_holds(snapshot, model);
    for document in model.documents.values() {
        assert_eq!(snapshot.copies(document.id).unwrap(), document.copies);
    }
    for since in [None, Some(Timestamp(1_700_000_000_000 + (1 << 29)))] {
        let late = model.most_copied(since);
        for limit in [1, 7, 1_000] {
            let most = snapshot.most_copied(limit, since).unwrap();
            assert_eq!(most, late[..limit.min(late.len())]);
        }
    }
}

#[test]
fn copies_equal_the_refusals_of_plain_model() {
    for (seed, has_keys, keeps_texts) in [(1, true, true), (2, false, true), (3, false, false)] {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let builder = || builder().merge_after_changes(150);
        let created = builder()
            .keep_texts(keeps_texts)
            .keys(has_keys)
            .fields(has_keys);
        let mut database = created.copies(NEWEST).create(&path).unwrap();
        let mut sequence = SplitMix(seed);
        let mut model = Model {
            keeps_texts,
            keeps_fields: has_keys,
            newest_copies: usize::from(NEWEST),
            ..Model::default()
        };
        for round in 0..60 {
            let changes = changes(&mut sequence, has_keys);
            let expected: Vec<Outcome> = changes
                .iter()
                .cloned()
                .map(|change| model.apply(change))
                .collect();
            let outcomes = match round % 5 {
                0 => {
                    let one_by_one = changes.into_iter().map(|one| database.apply_one(one));
                    one_by_one.collect::<Result<Vec<_>, _>>().unwrap()
                }
                1 => {
                    let mut transaction = database.begin().unwrap();
                    let outcomes = transaction.apply(changes).unwrap();
                    transaction.commit().unwrap();
                    outcomes
                }
                _ => database.apply(changes).unwrap(),
            };
            assert_eq!(outcomes, expected, "{seed}, round {round}");
            assert_holds_copies(&database.snapshot().unwrap(), &model);
            if round % 10 == 4 {
                database.merge().unwrap();
                assert_holds_copies(&database.snapshot().unwrap(), &model);
            }
            if round % 10 == 9 {
                // As after a crash: the journal is replayed.
                let copy = folder.path().join(format!("copy{round}.simdb"));
                copy_open(&path, &copy);
                let mut copied = builder().open(&copy).unwrap();
                assert_holds_copies(&copied.snapshot().unwrap(), &model);
                assert_sound(&mut copied);
                drop(database);
                database = builder().open(&path).unwrap();
            }
        }
        let snapshot = database.snapshot().unwrap();
        let copied = snapshot.most_copied(1, None).unwrap();
        assert!(copied[0].1.count > 5, "{copied:?}");
        drop(snapshot);
        assert_sound(&mut database);
        drop(database);
        assert_every_copy_has_the_copies(folder.path(), &model);
    }
}

/// Vacuum, backup, salvage and a load of the documents.
fn assert_every_copy_has_the_copies(folder: &Path, model: &Model) {
    let place = |name: &str| folder.join(name);
    let original = builder().open(place("docs.simdb")).unwrap();
    original.backup(place("backup.simdb")).unwrap();
    let load = builder().settings(original.settings());
    let mut load = load.bulk_create(place("loaded.simdb"), 16 << 20).unwrap();
    let snapshot = original.snapshot().unwrap();
    for document in snapshot.documents() {
        load.push(document.unwrap()).unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    drop(snapshot);
    // A copy in the journal only.
    let stored = snapshot_of(&original).documents().next().unwrap().unwrap();
    let copy = match &stored.key {
        Some(_) => keyed(document(1 << 40, stored.fingerprint.bits())),
        None => document(1 << 40, stored.fingerprint.bits()),
    };
    let copy = copy.with_arrival(1_700_000_000_000);
    let outcome = original.insert_unique(copy.clone(), 3).unwrap();
    let Outcome::Duplicate(of) = outcome else {
        panic!("{outcome}")
    };
    copy_open(&place("docs.simdb"), &place("open.simdb"));
    let mut with_last = model.clone();
    let again = Change::InsertUnique {
        document: copy,
        radius: 3,
    };
    assert_eq!(with_last.apply(again), Outcome::Duplicate(of));
    let saved = builder().salvage(place("open.simdb"), place("saved.simdb"), 16 << 20);
    assert_eq!(saved.unwrap().damage, Vec::<String>::new());
    drop(original);
    Database::vacuum(place("docs.simdb")).unwrap();

    for (name, model) in [
        ("backup.simdb", model),
        ("docs.simdb", &with_last),
        ("saved.simdb", &with_last),
        ("loaded.simdb", model),
    ] {
        let mut database = builder().open(place(name)).unwrap();
        let snapshot = database.snapshot().unwrap();
        if name == "loaded.simdb" {
            // A database with keys gives new ids.
            let copies = |documents: Vec<Document>| -> Vec<_> {
                documents
                    .into_iter()
                    .map(|one| (one.key, one.copies))
                    .collect()
            };
            let stored = snapshot.documents().map(Result::unwrap).collect();
            assert_eq!(
                copies(stored),
                copies(model.documents.values().cloned().collect())
            );
        } else {
            assert_holds_copies(&snapshot, model);
        }
        drop(snapshot);
        assert_sound(&mut database);
        // A load knows the newest copies, any other copy of the database all of them.
        let copies = (model.documents.values()).filter_map(|document| document.copies.as_ref());
        let newest = copies.flat_map(|copies| copies.newest.iter().map(|one| one.document.clone()));
        let known: Vec<DocRef> = match name {
            "loaded.simdb" => newest.take(20).collect(),
            _ => model.known_refusals().step_by(3).collect(),
        };
        assert!(known.len() > 10, "{name}");
        for known in &known {
            // The known copies are known in each copy of the database, whatever their text.
            let again = Document::new(known.clone(), Fingerprint::from_bits(7));
            let outcome = database.insert_unique(again, 0).unwrap();
            let is_stored = matches!(outcome, Outcome::Exists { .. });
            assert!(
                is_stored || outcome == Outcome::Seen,
                "{name}: {known} is {outcome}"
            );
        }
    }
}

fn snapshot_of(database: &Database) -> Snapshot {
    database.snapshot().unwrap()
}

const HOUR_MS: u64 = 3_600_000;
const START_MS: u64 = 1_700_000_000_000;

fn feed() -> Builder {
    let two_days = window(Duration::from_millis(48 * HOUR_MS));
    builder().keys(true).copies(NEWEST).retention(two_days)
}

/// A document of one story that arrives at an hour.
fn item(key: &str, story: u64, hour: u64) -> Document {
    let fingerprint = Fingerprint::from_bits(SplitMix(story).next());
    Document::new(key, fingerprint).with_arrival(START_MS + hour * HOUR_MS)
}

fn arrive(database: &Database, key: &str, story: u64, hour: u64) -> Outcome {
    database.insert_unique(item(key, story, hour), 3).unwrap()
}

#[test]
fn refused_key_is_known_until_it_would_have_expired_itself() {
    let folder = folder();
    let path = folder.path().join("feed.simdb");
    let mut database = feed().create(&path).unwrap();
    assert_eq!(arrive(&database, "original", 1, 0), INSERTED);
    for hour in [1, 40] {
        let copy = arrive(&database, &format!("copy {hour}"), 1, hour);
        assert!(matches!(copy, Outcome::Duplicate(_)), "{copy}");
    }
    let copies = snapshot_of(&database).copies("original").unwrap().unwrap();
    let hours = [copies.first_seen, copies.last_seen].map(|time| (time.0 - START_MS) / HOUR_MS);
    assert_eq!((copies.count, hours), (2, [1, 40]));

    // The original expires, and its copies with it. The copy of hour 40 is known by its key.
    assert_eq!(arrive(&database, "other", 2, 60), INSERTED);
    assert_eq!(snapshot_of(&database).copies("original").unwrap(), None);
    assert!(
        snapshot_of(&database)
            .most_copied(9, None)
            .unwrap()
            .is_empty()
    );
    assert_eq!(arrive(&database, "copy 40", 1, 61), Outcome::Seen);
    for reopen in [false, true] {
        if reopen {
            drop(database);
            database = feed().open(&path).unwrap();
        }
        assert_eq!(arrive(&database, "copy 40", 1, 62), Outcome::Seen);
    }
    // The copy of hour 1 would have expired at hour 49.
    assert_eq!(arrive(&database, "copy 1", 1, 63), INSERTED);
    assert!(matches!(
        arrive(&database, "copy 41", 1, 64),
        Outcome::Duplicate(_)
    ));
    assert_eq!(arrive(&database, "another", 3, 89), INSERTED);
    let again = arrive(&database, "copy 40", 1, 89);
    assert!(matches!(again, Outcome::Duplicate(_)), "{again}");
    let copies = snapshot_of(&database).copies("copy 1").unwrap().unwrap();
    assert_eq!(copies.count, 2);
    assert_sound(&mut database);
}

#[test]
fn polled_feed_stores_and_counts_each_item_once() {
    let folder = folder();
    let database = feed().create(folder.path().join("feed.simdb")).unwrap();
    // Each story has an item in each of 12 sources, more than the newest sightings that are kept.
    // A source shows its items for 40 hours, and each item arrives when it is polled. The first
    // item of a story expires while others are shown.
    let mut known = BTreeSet::new();
    for hour in 0..96 {
        let all = (0..96_u64).flat_map(|story| (0..12).map(move |source| (story, source)));
        let shown =
            all.filter(|(story, source)| (0..40).contains(&(hour - (story + source) as i64)));
        let shown: Vec<(u64, u64)> = shown.collect();
        let inserts = shown.iter().map(|(story, source)| Change::InsertUnique {
            document: item(
                &format!("https://{source}.example/{story}"),
                *story,
                hour as u64,
            ),
            radius: 3,
        });
        let outcomes = database.apply(inserts).unwrap();
        for ((story, source), outcome) in shown.into_iter().zip(outcomes) {
            let is_first = known.insert((story, source));
            let is_expected = match outcome {
                Outcome::Inserted { .. } => is_first && source == 0,
                Outcome::Duplicate(_) => is_first && source > 0,
                Outcome::Exists { .. } => !is_first && source == 0,
                Outcome::Seen => !is_first && source > 0,
                _ => false,
            };
            assert!(is_expected, "hour {hour}, {story}, {source}: {outcome}");
        }
        if hour % 20 == 7 {
            database.merge().unwrap();
        }
    }
    database.merge().unwrap();
    let most = snapshot_of(&database).most_copied(5, None).unwrap();
    for (_, copies) in most {
        assert_eq!(
            (copies.count, copies.newest.len()),
            (11, usize::from(NEWEST))
        );
    }
    // Most of the refused items that would have expired by now are forgotten.
    let refused = known.iter().filter(|(_, source)| *source > 0).count() as u64;
    let tables = snapshot_of(&database).stats().unwrap().tables;
    let table = tables.iter().find(|table| table.name == "refused").unwrap();
    assert!(
        table.entries < refused * 4 / 5,
        "{} of {refused}",
        table.entries
    );
}

#[test]
fn sliding_window_keeps_a_story_with_its_copies() {
    let folder = folder();
    let sliding = simdb::Retention {
        sliding: true,
        ..window(Duration::from_millis(48 * HOUR_MS))
    };
    let database = builder().keys(true).copies(NEWEST).retention(sliding);
    let database = database.create(folder.path().join("feed.simdb")).unwrap();
    assert_eq!(arrive(&database, "original", 1, 0), INSERTED);
    for hour in (40..400).step_by(40) {
        let copy = arrive(&database, &format!("copy {hour}"), 1, hour);
        assert!(matches!(copy, Outcome::Duplicate(_)), "{copy}");
    }
    let copies = snapshot_of(&database).copies("original").unwrap().unwrap();
    assert_eq!(copies.count, 9);
}

#[test]
fn similar_texts_leave_the_verdict() {
    let folder = folder();
    let database = builder().similar(true).copies(NEWEST);
    let mut database = database.create(folder.path().join("docs.simdb")).unwrap();
    let insert = |id, text| {
        let document = database.document(id, text).unwrap();
        database
            .insert_unless_similar(document, SimilarRule::default())
            .unwrap()
    };
    let ferry = "The ferry to the islands was cancelled due to heavy fog. Buses are late.";
    assert_eq!(insert(1, ferry), INSERTED);
    assert!(matches!(insert(2, ferry), Outcome::Similar(_)));
    let part = "The ferry to the islands was cancelled due to heavy fog.";
    assert!(matches!(insert(3, part), Outcome::Similar(_)));
    assert_eq!(insert(3, "Another text."), Outcome::Seen);
    let copies = snapshot_of(&database).copies(1).unwrap().unwrap();
    let kinds: Vec<_> = copies.newest.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [SightingKind::AInB, SightingKind::Same]);
    // The copies do not change the text, or the search for the text.
    assert!(matches!(insert(4, ferry), Outcome::Similar(_)));
    database.merge().unwrap();
    assert!(matches!(insert(5, ferry), Outcome::Similar(_)));
    let stored = database.get(1).unwrap().unwrap();
    assert_eq!(
        (stored.text.as_deref(), stored.copies.unwrap().count),
        (Some(ferry), 4)
    );
    assert_sound(&mut database);
}

#[test]
fn databases_without_copies_and_bad_numbers_are_refused_by_name() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let without = builder().create(place("without.simdb")).unwrap();
    let error = snapshot_of(&without).copies(1).unwrap_err();
    assert!(matches!(error, Error::KeepsNoCopies { .. }), "{error:?}");
    let error = snapshot_of(&without).most_copied(1, None).unwrap_err();
    assert!(matches!(error, Error::KeepsNoCopies { .. }), "{error:?}");
    drop(without);
    let error = builder().copies(4).open(place("without.simdb"));
    assert!(
        matches!(error, Err(Error::SettingsMismatch { .. })),
        "{error:?}"
    );
    for newest in [0, 1_001] {
        let error = builder().copies(newest).create(place("docs.simdb"));
        assert!(matches!(error, Err(Error::CopiesLimit { .. })), "{error:?}");
    }
    let database = builder().copies(1_000).create(place("docs.simdb")).unwrap();
    let error = snapshot_of(&database).most_copied(0, None).unwrap_err();
    assert!(matches!(error, Error::ZeroLimit), "{error:?}");
    assert_eq!(snapshot_of(&database).copies(1).unwrap(), None);
    assert_eq!(database.settings().copies, Some(1_000));
}

#[test]
fn corrected_text_replaces_the_document_with_its_key() {
    let folder = folder();
    let database = builder()
        .keys(true)
        .fields(true)
        .similar(true)
        .copies(NEWEST);
    let mut database = database.create(folder.path().join("feed.simdb")).unwrap();
    let insert = |key: &str, text: &str, on_exists| {
        let document = database.document(key, text).unwrap().replacing(on_exists);
        database.insert_unique(document, 3).unwrap()
    };
    let ferry = "The ferry to the islands was cancelled due to heavy fog.";
    let buses = "The ferry to the islands was cancelled due to heavy fog. Buses are late.";
    let corrected = "The ferry to the harbour was cancelled due to heavy fog. Buses are late.";
    assert_eq!(insert("a", ferry, OnExists::Replace), INSERTED);
    assert!(matches!(
        insert("b", ferry, OnExists::Replace),
        Outcome::Duplicate(_)
    ));
    let exists = |outcome| matches!(outcome, Outcome::Exists { .. });
    let replaced = |outcome| matches!(outcome, Outcome::Replaced { .. });
    assert!(exists(insert("a", buses, OnExists::Keep)));
    assert!(exists(insert("a", corrected, OnExists::ReplaceIfExtends)));
    // A repetition changes nothing.
    assert!(exists(insert("a", ferry, OnExists::Replace)));
    assert!(exists(insert("a", ferry, OnExists::ReplaceIfExtends)));
    assert!(replaced(insert("a", buses, OnExists::ReplaceIfExtends)));
    assert!(exists(insert("a", ferry, OnExists::ReplaceIfExtends)));
    assert!(replaced(insert("a", corrected, OnExists::Replace)));
    let fields = database.document("a", corrected).unwrap().with_fields("{}");
    let fields = fields.replacing(OnExists::Replace);
    assert!(replaced(database.insert(fields).unwrap()));
    // The story keeps its id and its copies, and a refused key is still known.
    let stored = database.get("a").unwrap().unwrap();
    assert_eq!(
        (stored.id, stored.text.as_deref()),
        (DocId(1), Some(corrected))
    );
    assert_eq!(stored.copies.unwrap().count, 1);
    assert_eq!(insert("b", corrected, OnExists::Replace), Outcome::Seen);
    assert_sound(&mut database);
}

#[test]
fn refused_id_is_known_by_the_document_that_it_repeated_last() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let new = |id, bits| document(id, bits).with_arrival(7);
    for (number, flushes) in [1, 0].into_iter().enumerate() {
        let path = path.with_extension(number.to_string());
        let mut database = builder().copies(NEWEST).create(&path).unwrap();
        let unique =
            |database: &Database, id, bits| database.insert_unique(new(id, bits), 3).unwrap();
        assert_eq!(unique(&database, 9, 7), INSERTED);
        assert!(matches!(unique(&database, 50, 7), Outcome::Duplicate(of) if of.id == DocId(9)));
        let _removed = database.remove(9).unwrap();
        assert_eq!(unique(&database, 3, 7), INSERTED);
        assert!(matches!(unique(&database, 50, 7), Outcome::Duplicate(of) if of.id == DocId(3)));
        // Another document with the id of the first.
        assert_eq!(unique(&database, 9, u64::MAX), INSERTED);
        for _ in 0..flushes {
            database.merge().unwrap();
        }
        assert_eq!(unique(&database, 50, 7), Outcome::Seen);
        let _removed = database.remove(3).unwrap();
        assert_eq!(unique(&database, 50, 7), INSERTED, "{flushes} flushes");
        assert_sound(&mut database);
    }
}

#[test]
fn text_is_stored_after_its_original_gave_its_id_to_another_document() {
    let folder = folder();
    let mut database = builder()
        .copies(NEWEST)
        .create(folder.path().join("docs.simdb"))
        .unwrap();
    let unique = |id, bits| database.insert_unique(document(id, bits), 3).unwrap();
    assert_eq!(unique(1, 7), INSERTED);
    assert!(matches!(unique(2, 7), Outcome::Duplicate(_)));
    assert_eq!(unique(2, 7), Outcome::Seen);
    let _removed = database.remove(1).unwrap();
    // Another document, which refuses another copy.
    assert_eq!(unique(1, u64::MAX), INSERTED);
    assert!(matches!(unique(3, u64::MAX), Outcome::Duplicate(_)));
    assert_eq!(unique(2, 7), INSERTED);
    assert_sound(&mut database);
}

#[test]
fn copies_that_no_read_would_decode_are_refused() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().copies(NEWEST).create(&path).unwrap();
    let with = |count, last_seen, distance| {
        let sighting = |id| Sighting {
            document: DocRef::Id(DocId(id)),
            seen: Timestamp(5),
            kind: SightingKind::Duplicate { distance },
        };
        let mut document = document(1, 7);
        document.copies = Some(Copies {
            count,
            first_seen: Timestamp(5),
            last_seen: Timestamp(last_seen),
            newest: (8..8 + u64::from(NEWEST) + 2).map(sighting).collect(),
        });
        document
    };
    for invalid in [with(4, 5, 3), with(5, 4, 3), with(5, 5, 65)] {
        let error = database.insert(invalid.clone()).unwrap_err();
        assert!(matches!(error, Error::InvalidCopies { .. }), "{error:?}");
        let mut load = database.bulk_load(16 << 20).unwrap();
        let error = load.push(invalid).unwrap_err();
        assert!(matches!(error, Error::InvalidCopies { .. }), "{error:?}");
    }
    assert_eq!(database.insert(with(5, 5, 64)).unwrap(), INSERTED);
    let none = Document {
        copies: Some(Copies {
            count: 0,
            newest: Vec::new(),
            ..with(5, 5, 3).copies.unwrap()
        }),
        ..document(2, 1 << 40)
    };
    assert_eq!(database.insert(none).unwrap(), INSERTED);
    // As after a crash: the journal is replayed.
    let copy = folder.path().join("copy.simdb");
    copy_open(&path, &copy);
    let mut copy = builder().open(copy).unwrap();
    for database in [&copy, &database] {
        let copies = snapshot_of(database).copies(1).unwrap().unwrap();
        assert_eq!((copies.count, copies.newest.len()), (5, NEWEST.into()));
        assert_eq!(snapshot_of(database).copies(2).unwrap(), None);
    }
    assert_sound(&mut copy);
}

/// As in an export of a feed, in which a key was forgotten and then refused again.
#[test]
fn key_in_the_copies_of_two_documents_is_stored_once() {
    for has_window in [false, true] {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        let builder = match has_window {
            true => builder().retention(window(Duration::from_secs(3600))),
            false => builder(),
        };
        let mut load = builder.copies(2).bulk_create(&path, 16 << 20).unwrap();
        let first = 1_700_000_000_000;
        // The later refusal is known, in any order of the documents.
        for (id, seen) in [(1, first + 2), (2, first), (3, first + 1)] {
            let mut document = document(id, 1 << (20 * id)).with_arrival(first + 2);
            document.copies = Some(Copies {
                count: 1,
                first_seen: Timestamp(seen),
                last_seen: Timestamp(seen),
                newest: vec![Sighting {
                    document: DocId(9).into(),
                    seen: Timestamp(seen),
                    kind: SightingKind::Same,
                }],
            });
            load.push(document).unwrap();
        }
        load.finish(|_| ControlFlow::Continue(())).unwrap();
        let mut database = test_support::builder().open(&path).unwrap();
        assert_sound(&mut database);
        let again = document(9, 7).with_arrival(first + 3_600_002);
        assert_eq!(database.insert_unique(again, 3).unwrap(), Outcome::Seen);
    }
}

#[test]
fn document_in_another_scope_keeps_its_refused_keys() {
    let folder = folder();
    // More copies than are stored.
    let creating = builder().scopes(true).copies(1);
    let mut database = creating.create(folder.path().join("docs.simdb")).unwrap();
    let of = |key: &str, scope: &str| {
        let document = Document::new(key, Fingerprint::from_bits(7));
        document.with_scope(scope).with_arrival(7)
    };
    assert_eq!(database.insert(of("a", "zh")).unwrap(), INSERTED);
    for key in ["b", "c"] {
        let outcome = database.insert_unique(of(key, "zh"), 3).unwrap();
        assert!(matches!(outcome, Outcome::Duplicate(_)), "{outcome}");
    }
    for scope in ["en", "fr", "zh", "en"] {
        let outcome = database.upsert(of("a", scope)).unwrap();
        assert!(matches!(outcome, Outcome::Replaced { .. }), "{outcome}");
        let copies = snapshot_of(&database).copies("a").unwrap().unwrap();
        assert_eq!(copies.count, 2);
        for key in ["b", "c"] {
            let again = database.insert_unique(of(key, "it"), 3).unwrap();
            assert_eq!(again, Outcome::Seen, "{key} {scope}");
        }
        if scope == "fr" {
            database.merge().unwrap();
        }
    }
    let _removed = database.remove("a").unwrap();
    assert_eq!(database.insert_unique(of("b", "it"), 3).unwrap(), INSERTED);
    assert_sound(&mut database);
}

/// The entries of table `refused`.
fn refused_entries(path: &Path) -> u64 {
    let mut entries = 0;
    with_engine(path, |engine| {
        let table = TableDefinition::<u128, &[u8]>::new("refused");
        let table = engine.begin_read().unwrap().open_table(table).unwrap();
        for row in table.iter().unwrap() {
            let chunk = row.unwrap().1.value().to_vec();
            entries += u64::from(u16::from_le_bytes([chunk[4], chunk[5]]));
        }
    });
    entries
}

#[test]
fn vacuum_forgets_copies_of_documents_that_are_not_stored() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let database = builder().scopes(true).copies(2).create(&path).unwrap();
    let of = |key: String, scope: &str, number: u64| {
        let document = Document::new(key, Fingerprint::from_bits(number * 0x0101_0101_0101));
        document.with_scope(scope).with_arrival(7)
    };
    for number in 1..=20 {
        let inserted = database.insert(of(format!("a{number}"), "zh", number));
        assert_eq!(inserted.unwrap(), INSERTED);
        for copy in 0..50 {
            let copy = of(format!("a{number} {copy}"), "zh", number);
            let outcome = database.insert_unique(copy, 0).unwrap();
            assert!(matches!(outcome, Outcome::Duplicate(_)), "{outcome}");
        }
    }
    for scope in ["en", "fr"] {
        let _moved = database.upsert(of("a1".to_owned(), scope, 1)).unwrap();
    }
    for number in 3..=20 {
        let _removed = database.remove(format!("a{number}").as_str()).unwrap();
    }
    database.close().unwrap();
    assert_eq!(refused_entries(&path), 20 * 50 + 2);
    Database::vacuum(&path).unwrap();
    assert_eq!(refused_entries(&path), 2 * 50 + 2);

    let mut database = builder().open(&path).unwrap();
    assert_sound(&mut database);
    for number in [1, 2] {
        let again = of(format!("a{number} 7"), "it", number);
        assert_eq!(database.insert_unique(again, 0).unwrap(), Outcome::Seen);
    }
    let again = of("a3 7".to_owned(), "it", 3);
    assert_eq!(database.insert_unique(again, 0).unwrap(), INSERTED);
}

#[test]
fn vacuum_keeps_a_copy_that_two_documents_brought() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let original = document(1, 7).with_arrival(7);
    let mut load = builder().copies(2).bulk_create(&path, 16 << 20).unwrap();
    let database = builder()
        .copies(2)
        .create(folder.path().join("other.simdb"));
    let database = database.unwrap();
    assert_eq!(database.insert(original).unwrap(), INSERTED);
    let _refused = database
        .insert_unique(document(3, 7).with_arrival(7), 0)
        .unwrap();
    let copies = database.get(1).unwrap().unwrap().copies;
    assert!(copies.is_some());
    for (id, bits) in [(1, 7), (2, 7 << 40)] {
        let document = document(id, bits).with_arrival(7);
        load.push(Document {
            copies: copies.clone(),
            ..document
        })
        .unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    // The later of the two has the copy in table `refused`.
    let database = builder().open(&path).unwrap();
    let _removed = database.remove(2).unwrap();
    database.close().unwrap();
    Database::vacuum(&path).unwrap();
    let mut database = builder().open(&path).unwrap();
    assert_sound(&mut database);
    let again = document(3, 7).with_arrival(7);
    assert_eq!(database.insert_unique(again, 0).unwrap(), Outcome::Seen);
}
