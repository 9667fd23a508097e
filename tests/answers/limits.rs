//! Limits: empty databases, smallest and largest values, refused input, copies, a full disk.
//!
//! If `SIMDB_TEST_MUST_MOUNT` is set, a test that cannot mount its small disk fails instead of
//! being skipped.

// A skipped test reports that it was skipped.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use simdb::bulk::Conflict;
use simdb::{
    Change, Database, DocId, DocRef, Document, Error, Fingerprint, Match, Outcome, Timestamp,
};
use test_support::small_disk::SmallDisk;
use test_support::timing::{SetWhenDropped, shortest, timed};
use test_support::{
    INSERTED, Model, SplitMix, assert_holds, assert_sound, builder, document, documents, folder,
    names_in, planted, window,
};

const ZERO: Fingerprint = Fingerprint::from_bits(0);
const ONES: Fingerprint = Fingerprint::from_bits(u64::MAX);
const RADII: [u32; 6] = [0, 1, 3, 4, 63, 64];

fn in_folder(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join(name);
    (folder, path)
}

fn insert_all(database: &Database, documents: &[Document]) {
    let outcomes = database
        .apply(documents.iter().cloned().map(Change::Insert))
        .unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_inserted()));
}

fn ids(matches: &[Match]) -> Vec<u64> {
    matches.iter().map(|found| found.id.0).collect()
}

#[test]
fn empty_database_answers_everything() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(&path).unwrap();
    assert!(database.is_empty().unwrap());
    let snapshot = database.snapshot().unwrap();
    for query in [ZERO, ONES, Fingerprint::from_bits(1 << 40)] {
        for radius in RADII {
            assert_eq!(snapshot.within(query, radius).unwrap(), []);
        }
        assert_eq!(snapshot.nearest(query, 10).unwrap(), []);
    }
    assert_eq!(snapshot.get(DocId(0)).unwrap(), None);
    assert_eq!(snapshot.get(DocId(u64::MAX)).unwrap(), None);
    assert_eq!(snapshot.documents().count(), 0);
    let stats = snapshot.stats().unwrap();
    assert_eq!(
        (stats.documents, stats.distinct_fingerprints, stats.texts),
        (0, 0, 0)
    );
    for block in snapshot.diagnose().unwrap().blocks {
        assert_eq!(block.keys.len(), 65_536);
        assert!(block.keys.iter().all(|key| key.documents == 0));
    }
    drop(snapshot);
    assert_eq!(database.remove(DocId(0)).unwrap(), Outcome::Missing);
    assert_eq!(database.apply([]).unwrap(), []);
    assert_sound(&mut database);
    drop(database);
    Database::vacuum(&path).unwrap();
    assert_eq!(builder().open_read_only(&path).unwrap().len().unwrap(), 0);
}

#[test]
fn extreme_ids_and_fingerprints_are_stored_and_found() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(&path).unwrap();
    let mut model = Model::default();
    for id in [0, 1, u64::MAX - 1, u64::MAX] {
        for (place, fingerprint) in [0, 1, u64::MAX - 1, u64::MAX].into_iter().enumerate() {
            let id = id ^ (place as u64) << 32;
            insert_all(&database, &[document(id, fingerprint)]);
            let _ = model.apply(Change::Insert(document(id, fingerprint)));
        }
    }
    let snapshot = database.snapshot().unwrap();
    assert_holds(&snapshot, &model);
    for document in model.documents.values() {
        assert_eq!(snapshot.get(document.id).unwrap().as_ref(), Some(document));
        for radius in RADII {
            let found = snapshot.within(document.fingerprint, radius).unwrap();
            assert_eq!(
                found,
                model.within(document.fingerprint, radius),
                "radius {radius}"
            );
        }
    }
    for count in 1..=17 {
        assert_eq!(
            snapshot.nearest(ONES, count).unwrap(),
            model.nearest(ONES, count)
        );
    }
    drop(snapshot);
    let all: Vec<DocId> = model.documents.keys().copied().collect();
    for id in all {
        let stored = model.documents[&id].fingerprint;
        assert_eq!(database.remove(id).unwrap(), Outcome::Removed { stored });
    }
    assert!(database.is_empty().unwrap());
    assert_sound(&mut database);
}

#[test]
fn extreme_radius_limit_and_count_are_accepted() {
    let (_folder, path) = in_folder("docs.simdb");
    let database = builder().create(path).unwrap();
    // One document at each distance from 0 to 64, the farthest first.
    let stored: Vec<Document> = (0..=64)
        .map(|id| document(id, u64::MAX.checked_shl(id as u32).unwrap_or(0)))
        .collect();
    insert_all(&database, &stored);
    let snapshot = database.snapshot().unwrap();
    for radius in 0..=64 {
        let found = snapshot.within(ZERO, radius).unwrap();
        let expected: Vec<u64> = (64 - u64::from(radius)..=64).rev().collect();
        assert_eq!(ids(&found), expected, "radius {radius}");
    }
    for (limit, expected) in [(1, 1), (64, 64), (65, 65), (usize::MAX, 65)] {
        assert_eq!(
            snapshot.within_limit(ZERO, 64, limit).unwrap().len(),
            expected
        );
        assert_eq!(snapshot.nearest(ZERO, limit).unwrap().len(), expected);
    }
    assert_eq!(ids(&snapshot.nearest(ZERO, 3).unwrap()), [64, 63, 62]);
}

#[test]
fn two_copies_find_each_other() {
    let (_folder, path) = in_folder("docs.simdb");
    let database = builder().create(path).unwrap();
    for bits in [0, 0x00ff_00ff_00ff_00ff, u64::MAX] {
        insert_all(&database, &[document(1, bits), document(2, bits)]);
        let query = Fingerprint::from_bits(bits);
        for radius in RADII {
            assert_eq!(
                ids(&database.within(query, radius).unwrap()),
                [1, 2],
                "{bits:#x}, radius {radius}"
            );
        }
        database
            .apply([Change::Remove(DocId(1)), Change::Remove(DocId(2))])
            .unwrap();
    }
}

/// The memtable is read no further than the limit, also if its documents may be expired.
#[test]
fn limit_bounds_reads_of_copies_in_memtable() {
    let retention = window(Duration::from_secs(1000));
    let (_folder, path) = in_folder("docs.simdb");
    let database = builder().retention(retention).create(path).unwrap();
    let shared = Fingerprint::from_bits(0x00ff_00ff_00ff_00ff);
    let copy = |id| Document {
        arrival: Some(Timestamp(1_000_000 + id)),
        ..Document::new(DocId(id), shared)
    };
    let copies: Vec<Document> = (0..20_000).map(copy).collect();
    insert_all(&database, &copies);
    let snapshot = database.snapshot().unwrap();
    assert_eq!(snapshot.stats().unwrap().unmerged_changes, 20_000);
    let search = |limit| {
        timed(|| {
            for _ in 0..20 {
                let found = snapshot.within_limit(shared, 3, limit).unwrap();
                assert_eq!(found.len(), limit.min(copies.len()));
            }
        })
    };
    let (one, all) = shortest(5, || search(1), || search(usize::MAX));
    assert!(one * 2 < all, "{one:?} for one match, {all:?} for all");

    let decide = || {
        let more = (20_000..21_000).map(|id| Change::InsertUnique {
            document: copy(id),
            radius: 3,
        });
        let mut transaction = database.begin().unwrap();
        for outcome in transaction.apply(more).unwrap() {
            assert!(matches!(outcome, Outcome::Duplicate(of) if of.id == DocId(0)));
        }
    };
    let (unique, all) = shortest(5, || timed(decide), || search(usize::MAX));
    assert!(
        unique < all * 10,
        "{unique:?} for a thousand, {all:?} for all twenty times"
    );
}

#[test]
fn equal_fingerprints_are_all_found_and_limit_stops_early() {
    const COPIES: u64 = 10_000;
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(path).unwrap();
    let shared = Fingerprint::from_bits(0x00ff_00ff_00ff_00ff);
    let near = planted(&mut SplitMix(1), shared, 3);
    let copies: Vec<Document> = (0..COPIES)
        .map(|id| Document::new(DocId(id * 3), shared))
        .collect();
    insert_all(&database, &copies);
    insert_all(&database, &[Document::new(DocId(1), near)]);
    let snapshot = database.snapshot().unwrap();
    assert_eq!(snapshot.stats().unwrap().distinct_fingerprints, 2);
    for query in [shared, near] {
        let found = snapshot.within(query, 3).unwrap();
        let expected = Model::new(
            copies
                .iter()
                .cloned()
                .chain([Document::new(DocId(1), near)]),
            false,
        );
        assert_eq!(found, expected.within(query, 3));
    }
    assert_eq!(
        ids(&snapshot.within_limit(shared, 3, 5).unwrap()),
        [0, 3, 6, 9, 12]
    );
    assert_eq!(ids(&snapshot.nearest(near, 2).unwrap()), [1, 0]);
    // A limit ends the search before all copies are read: a query for one match takes less than
    // half the time of a query for all.
    let search = |limit| {
        timed(|| {
            for _ in 0..20 {
                snapshot.within_limit(shared, 3, limit).unwrap();
            }
        })
    };
    let (one, all) = shortest(5, || search(1), || search(usize::MAX));
    assert!(one * 2 < all, "{one:?} for one match, {all:?} for all");
    drop(snapshot);

    let copy = database.insert_unique(Document::new(2, shared), 0).unwrap();
    let Outcome::Duplicate(of) = copy else {
        panic!("a copy was not refused");
    };
    assert_eq!((of.id, of.distance), (DocId(0), 0));
    let removals = (0..COPIES - 1).map(|id| Change::Remove(DocId(id * 3)));
    database.apply(removals).unwrap();
    assert_eq!(
        ids(&database.within(shared, 3).unwrap()),
        [(COPIES - 1) * 3, 1]
    );
    let removed = database.remove(DocId((COPIES - 1) * 3)).unwrap();
    assert!(matches!(removed, Outcome::Removed { .. }), "{removed}");
    assert_eq!(ids(&database.within(shared, 3).unwrap()), [1]);
    assert_eq!(
        database
            .snapshot()
            .unwrap()
            .stats()
            .unwrap()
            .distinct_fingerprints,
        1
    );
    assert_sound(&mut database);
}

#[test]
fn hot_key_in_every_block_equals_plain_scan() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(path).unwrap();
    let mut sequence = SplitMix(3);
    // Each fingerprint is unusual in one block and shares the other keys with thousands.
    let stored: Vec<Document> = (0..4_000)
        .map(|id| {
            let ordinary = 0xffff << (16 * (id % 4));
            document(
                id,
                0x5555_5555_5555_5555 & !ordinary | sequence.next() & ordinary,
            )
        })
        .collect();
    insert_all(&database, &stored);
    let model = Model::new(stored, false);
    let snapshot = database.snapshot().unwrap();
    for document in model.documents.values().step_by(80) {
        let query = planted(&mut sequence, document.fingerprint, 2);
        for radius in [0, 3, 6] {
            assert_eq!(
                snapshot.within(query, radius).unwrap(),
                model.within(query, radius)
            );
        }
    }
    // The tables count these.
    drop(snapshot);
    database.merge().unwrap();
    let snapshot = database.snapshot().unwrap();
    for block in snapshot.diagnose().unwrap().blocks {
        let hottest = &block.hottest[0];
        assert!(
            hottest.key == 0x5555 && hottest.distinct_fingerprints > 2_500,
            "{hottest:?}"
        );
    }
    drop(snapshot);
    assert_sound(&mut database);
}

#[test]
fn id_used_twice_is_refused_with_stored_fingerprint() {
    let (_folder, path) = in_folder("docs.simdb");
    let database = builder().create(path).unwrap();
    let (id, first, second) = (
        DocId(7),
        Fingerprint::from_bits(1),
        Fingerprint::from_bits(2),
    );
    test_support::insert(&database, Document::new(id, first));
    for taken in [
        database.insert(Document::new(id, second)).unwrap(),
        database.insert(Document::new(id, first)).unwrap(),
        database.insert_unique(Document::new(id, ONES), 3).unwrap(),
    ] {
        assert_eq!(taken, Outcome::Exists { stored: first });
        assert!(taken.to_string().contains("0000000000000001"), "{taken}");
    }
    let twice = [
        Change::Insert(document(8, 5)),
        Change::Insert(document(8, 6)),
    ];
    let stored = Fingerprint::from_bits(5);
    assert_eq!(
        database.apply(twice).unwrap(),
        [INSERTED, Outcome::Exists { stored }]
    );
    assert_eq!(database.len().unwrap(), 2);
}

#[test]
fn upsert_replaces_fingerprint_reliability_and_text() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().keep_texts(true).create(path).unwrap();
    let with_text = Document {
        text: Some("first".to_owned()),
        ..document(1, 10)
    };
    insert_all(&database, std::slice::from_ref(&with_text));
    assert_eq!(database.get(DocId(1)).unwrap(), Some(with_text));
    let replacements = [
        Document {
            text: Some("second".to_owned()),
            ..document(1, 10)
        },
        Document {
            text: Some("third".to_owned()),
            reliable: false,
            ..document(1, 10)
        },
        document(1, 20),
        Document {
            reliable: false,
            ..document(1, 20)
        },
        Document {
            text: Some(String::new()),
            ..document(1, 20)
        },
    ];
    let mut stored = Fingerprint::from_bits(10);
    for replacement in replacements {
        let outcomes = database
            .apply([Change::Upsert(replacement.clone())])
            .unwrap();
        assert_eq!(outcomes, [Outcome::Replaced { stored }]);
        stored = replacement.fingerprint;
        assert_eq!(database.get(DocId(1)).unwrap(), Some(replacement.clone()));
        let found = database.within(replacement.fingerprint, 0).unwrap();
        assert_eq!(found.len(), usize::from(replacement.reliable));
        let stats = database.snapshot().unwrap().stats().unwrap();
        assert_eq!(stats.texts, u64::from(replacement.text.is_some()));
        assert_eq!(stats.unreliable, u64::from(!replacement.reliable));
        assert_sound(&mut database);
    }
    assert_eq!(database.within(Fingerprint::from_bits(10), 0).unwrap(), []);
    let upsert = |fingerprint| database.upsert(Document::new(2, fingerprint)).unwrap();
    assert_eq!(upsert(ONES), INSERTED);
    assert_eq!(upsert(ZERO), Outcome::Replaced { stored: ONES });
}

#[test]
fn removing_absent_document_changes_nothing() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(path).unwrap();
    test_support::insert(&database, Document::new(5, ONES));
    for id in [0, 4, 6, u64::MAX] {
        assert_eq!(database.remove(DocId(id)).unwrap(), Outcome::Missing);
    }
    let removed = database.remove(DocId(5)).unwrap();
    assert_eq!(removed, Outcome::Removed { stored: ONES });
    assert_eq!(database.remove(DocId(5)).unwrap(), Outcome::Missing);
    let again = [
        Change::Insert(document(5, 1)),
        Change::Remove(DocId(5)),
        Change::Remove(DocId(5)),
    ];
    let stored = Fingerprint::from_bits(1);
    let expected = [INSERTED, Outcome::Removed { stored }, Outcome::Missing];
    assert_eq!(database.apply(again).unwrap(), expected);
    assert!(database.is_empty().unwrap());
    assert_sound(&mut database);
}

#[test]
fn unreliable_document_is_stored_and_never_matches() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(path).unwrap();
    let unreliable = |id| Document {
        reliable: false,
        ..document(id, 0)
    };
    insert_all(&database, &[unreliable(1), unreliable(2)]);
    let snapshot = database.snapshot().unwrap();
    assert_eq!(snapshot.len().unwrap(), 2);
    assert_eq!(snapshot.get(DocId(1)).unwrap(), Some(unreliable(1)));
    for radius in RADII {
        assert_eq!(snapshot.within(ZERO, radius).unwrap(), []);
    }
    assert_eq!(snapshot.nearest(ZERO, 5).unwrap(), []);
    drop(snapshot);
    // An unreliable document neither causes nor gets a refusal.
    assert_eq!(
        database.insert_unique(Document::new(3, ZERO), 3).unwrap(),
        INSERTED
    );
    for document in [unreliable(4), unreliable(5)] {
        let change = Change::InsertUnique {
            document,
            radius: 64,
        };
        let outcome = database.apply_one(change).unwrap();
        assert_eq!(outcome, Outcome::Inserted { reliable: false });
    }
    assert_eq!(ids(&database.within(ZERO, 64).unwrap()), [3]);
    let removed = database.remove(DocId(1)).unwrap();
    assert_eq!(removed, Outcome::Removed { stored: ZERO });
    assert_eq!(database.snapshot().unwrap().stats().unwrap().unreliable, 3);
    assert_sound(&mut database);
}

#[test]
fn oversized_text_is_refused_with_length_and_limit() {
    let (_folder, path) = in_folder("docs.simdb");
    let database = builder().keep_texts(true).create(path).unwrap();
    let limit = 256 << 20;
    let too_long = Document {
        text: Some("x".repeat(limit + 1)),
        ..document(1, 1)
    };
    let mut load = database.bulk_load(16 << 20).unwrap();
    let at_push = load.push(too_long.clone()).unwrap_err();
    // The load continues without the document.
    load.push(document(2, 2)).unwrap();
    assert_eq!(
        load.finish(|_| ControlFlow::Continue(())).unwrap().inserted,
        1
    );
    let refused = [
        at_push,
        database.apply([Change::Insert(too_long)]).unwrap_err(),
    ];
    for refused in refused {
        let Error::TextTooLong {
            id: DocRef::Id(DocId(1)),
            len_bytes,
            limit_bytes,
        } = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((len_bytes, limit_bytes), (limit + 1, limit));
    }
    assert_holds(
        &database.snapshot().unwrap(),
        &Model::new([document(2, 2)], true),
    );
}

#[test]
fn long_texts_are_returned_whole() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().keep_texts(true).create(&path).unwrap();
    let mut sequence = SplitMix(4);
    let noise: String = (0..300_000)
        .map(|_| char::from(b'!' + sequence.below(90) as u8))
        .collect();
    let texts = [
        String::new(),
        "短".to_owned(),
        "名言".repeat(1 << 20),
        noise,
    ];
    let stored: Vec<Document> = (0..)
        .zip(texts)
        .map(|(id, text)| Document {
            text: Some(text),
            ..document(id, id)
        })
        .collect();
    insert_all(&database, &stored);
    assert_sound(&mut database);
    drop(database);
    let database = builder().open_read_only(&path).unwrap();
    assert_holds(&database.snapshot().unwrap(), &Model::new(stored, true));
}

#[test]
fn database_that_keeps_no_texts_ignores_them() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut database = builder().create(path).unwrap();
    let with_text = |id| Document {
        text: Some("a text".to_owned()),
        ..document(id, id)
    };
    insert_all(&database, &[with_text(1)]);
    let mut load = database.bulk_load(16 << 20).unwrap();
    load.push(with_text(2)).unwrap();
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(database.get(DocId(1)).unwrap(), Some(document(1, 1)));
    assert_eq!(database.get(DocId(2)).unwrap(), Some(document(2, 2)));
    assert_eq!(database.snapshot().unwrap().stats().unwrap().texts, 0);
    assert_sound(&mut database);
}

#[test]
fn open_with_options_other_than_at_creation_is_refused() {
    let (folder, path) = in_folder("plain.simdb");
    builder().create(&path).unwrap().close().unwrap();
    let full = folder.path().join("full.simdb");
    let day = test_support::window(Duration::from_secs(24 * 60 * 60));
    let has_all = || builder().similar(true).retention(day);
    has_all().create(&full).unwrap().close().unwrap();
    let sliding = simdb::Retention {
        sliding: true,
        ..day
    };
    for (options, path, missing) in [
        (builder().keep_texts(true), &path, "keep_texts"),
        (builder().similar(true), &path, "similar"),
        (builder().retention(day), &path, "retention"),
        (builder().frozen(true), &path, "frozen"),
        (has_all().retention(sliding), &full, "retention"),
        (has_all().frozen(true), &full, "frozen"),
    ] {
        for refused in [
            options.clone().open(path),
            options.clone().open_read_only(path),
            options.clone().open_or_create(path),
        ] {
            let refused = refused.unwrap_err();
            assert!(
                matches!(&refused, Error::SettingsMismatch { path: named, setting }
                    if named == path && *setting == missing),
                "{refused:?}"
            );
        }
    }
    // A window is stored in whole milliseconds.
    let odd = builder().retention(test_support::window(Duration::from_micros(1_999)));
    let kept_odd = folder.path().join("odd.simdb");
    for _ in 0..2 {
        odd.clone().open_or_create(&kept_odd).unwrap();
    }
    // A file may have more than the requested options.
    for options in [builder(), builder().keep_texts(true), has_all()] {
        let database = options.open(&full).unwrap();
        let like_it = folder.path().join("like it.simdb");
        let made = builder().settings(database.settings()).create(&like_it);
        assert_eq!(made.unwrap().settings(), database.settings());
        std::fs::remove_file(like_it).unwrap();
    }
}

#[test]
fn frozen_database_refuses_every_change() {
    assert_refuses_changes_when_frozen(false);
}

#[test]
fn database_that_a_vacuum_has_frozen_refuses_every_change() {
    assert_refuses_changes_when_frozen(true);
}

fn assert_refuses_changes_when_frozen(by_vacuum: bool) {
    let (_folder, path) = in_folder("docs.simdb");
    let stored = documents(1, 0, 3_000);
    let load = builder().frozen(!by_vacuum);
    let mut load = load.bulk_create(&path, 16 << 20).unwrap();
    stored
        .iter()
        .for_each(|document| load.push(document.clone()).unwrap());
    load.finish(|_| ControlFlow::Continue(())).unwrap();
    if by_vacuum {
        let vacuumed = builder().frozen(true).vacuum(&path).unwrap();
        assert!(vacuumed.after_bytes < vacuumed.before_bytes, "{vacuumed:?}");
    }
    let mut database = builder().open(&path).unwrap();
    assert!(database.settings().frozen);
    let refusals = [
        database.insert(document(9_999, 0)).unwrap_err(),
        database.upsert(document(1, 0)).unwrap_err(),
        database.insert_unique(document(9_999, 0), 3).unwrap_err(),
        database.remove(DocId(1)).unwrap_err(),
        database.apply([]).unwrap_err(),
        database.begin().err().unwrap(),
        database.bulk_load(16 << 20).err().unwrap(),
    ];
    for refused in refusals {
        assert!(
            matches!(&refused, Error::Frozen { path: named } if *named == path),
            "{refused:?}"
        );
    }
    assert_holds(&database.snapshot().unwrap(), &Model::new(stored, false));
    assert_sound(&mut database);
}

#[test]
fn read_only_handle_refuses_every_change() {
    let (_folder, path) = in_folder("docs.simdb");
    test_support::insert(&builder().create(&path).unwrap(), Document::new(1, ONES));
    let bytes = std::fs::read(&path).unwrap();
    let database = builder().open_read_only(&path).unwrap();
    let refusals = [
        database.insert(document(2, 0)).unwrap_err(),
        database.remove(DocId(1)).unwrap_err(),
        database.begin().err().unwrap(),
        database.bulk_load(16 << 20).err().unwrap(),
    ];
    for refused in refusals {
        assert!(
            matches!(&refused, Error::ReadOnly { path: named } if *named == path),
            "{refused:?}"
        );
    }
    assert_eq!(ids(&database.within(ONES, 0).unwrap()), [1]);
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    drop(database);
    assert!(
        std::fs::read(&path).unwrap() == bytes,
        "reading changed the file"
    );
}

#[test]
fn create_refuses_existing_file_and_missing_folder() {
    let (folder, path) = in_folder("docs.simdb");
    std::fs::write(&path, "something else").unwrap();
    for refused in [
        builder().create(&path).unwrap_err(),
        builder().bulk_create(&path, 16 << 20).err().unwrap(),
        builder().create(folder.path()).unwrap_err(),
    ] {
        assert!(
            matches!(refused, Error::AlreadyExists { .. }),
            "{refused:?}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    let nowhere = folder.path().join("missing").join("docs.simdb");
    for refused in [
        builder().create(&nowhere).unwrap_err(),
        builder().bulk_create(&nowhere, 16 << 20).err().unwrap(),
        builder().open_or_create(&nowhere).unwrap_err(),
    ] {
        assert!(
            matches!(&refused, Error::Io { path, .. } if *path == nowhere),
            "{refused:?}"
        );
    }
    let refused = builder().open(&nowhere).unwrap_err();
    assert!(
        matches!(&refused, Error::NotFound { path } if *path == nowhere),
        "{refused:?}"
    );
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
}

#[test]
fn create_refuses_dangling_symbolic_link() {
    let (folder, path) = in_folder("docs.simdb");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &path).unwrap();
    let refused = builder().create(&path).unwrap_err();
    assert!(
        matches!(refused, Error::AlreadyExists { .. }),
        "{refused:?}"
    );
}

// ---- bulk loads ----

/// The third and the fifth document have an earlier id and another fingerprint, the fourth is a
/// repetition: the first two are stored unchanged.
#[test]
fn bulk_load_keeps_first_of_duplicate_ids_and_reports_rest() {
    for first_text in [Some("first".to_owned()), None] {
        let (_folder, path) = in_folder("docs.simdb");
        let with_text = |text: Option<String>, document| Document { text, ..document };
        let pushed = [
            with_text(first_text, document(5, 50)),
            document(6, 60),
            with_text(Some("of another fingerprint".to_owned()), document(5, 51)),
            document(5, 50),
            document(6, 61),
        ];
        let mut load = builder()
            .keep_texts(true)
            .bulk_create(&path, 16 << 20)
            .unwrap();
        pushed
            .iter()
            .for_each(|document| load.push(document.clone()).unwrap());
        let mut conflicts = Vec::new();
        let report = load
            .finish(|conflict| {
                conflicts.push((conflict.position, conflict.id.0, conflict.stored.bits()));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(
            (report.inserted, report.present, report.conflicts),
            (2, 1, 2)
        );
        assert_eq!(conflicts, [(2, 5, 50), (4, 6, 60)]);
        let mut database = builder().open(&path).unwrap();
        assert_holds(
            &database.snapshot().unwrap(),
            &Model::new(pushed[..2].to_vec(), true),
        );
        assert_sound(&mut database);
    }
}

#[test]
fn repeated_bulk_load_changes_nothing() {
    let (_folder, path) = in_folder("docs.simdb");
    let mut stored = documents(1, 0, 3_000);
    for document in stored.iter_mut().step_by(4) {
        document.reliable = false;
        document.text = Some(format!("text {}", document.id));
    }
    let mut database = builder().keep_texts(true).create(path).unwrap();
    insert_all(&database, &stored[..1_000]);
    for (inserted, present) in [(2_000, 1_000), (0, 3_000)] {
        let mut load = database.bulk_load(16 << 20).unwrap();
        stored
            .iter()
            .rev()
            .for_each(|document| load.push(document.clone()).unwrap());
        let report = load.finish(|_| ControlFlow::Continue(())).unwrap();
        assert_eq!(
            (report.inserted, report.present, report.conflicts),
            (inserted, present, 0)
        );
        assert_holds(
            &database.snapshot().unwrap(),
            &Model::new(stored.clone(), true),
        );
        assert_sound(&mut database);
    }
}

/// In any order of ids, and with sorts that spill to files: the database equals a plain model, the
/// first document of an id counts, and the file is as short as after a load in order.
#[test]
fn bulk_load_in_any_order_equals_a_plain_model() {
    const COUNT: u64 = 420_000;
    let repeated = |number: u64| {
        // From half way on ids repeat: some with their fingerprint, some with another.
        let id = if number < COUNT / 2 {
            number
        } else {
            number - COUNT / 4
        };
        (
            id,
            id / 2 + u64::from(number % 3 == 2 && number > COUNT / 2),
        )
    };
    type Order = fn(u64) -> (u64, u64);
    let orders: [(&str, Order); 5] = [
        ("ascending", |number| (number, number / 2)),
        ("descending", |number| (COUNT - number, number)),
        ("shuffled", |number| {
            (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number)
        }),
        ("two ascending runs", |number| {
            (number % (COUNT / 2) * 2 + number / (COUNT / 2), number)
        }),
        ("repeated", repeated),
    ];
    for (name, order) in orders {
        let (_folder, path) = in_folder("docs.simdb");
        let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
        let (mut stored, mut expected) = (BTreeMap::new(), Vec::new());
        for number in 0..COUNT {
            let (id, seed) = order(number);
            let mut pushed = document(id, SplitMix(seed).next());
            pushed.reliable = number % 1_000 != 0;
            // The first document of an id counts; a later one with another fingerprint is a
            // conflict.
            let first = stored.entry(id).or_insert_with(|| pushed.clone()).clone();
            if first.fingerprint != pushed.fingerprint {
                expected.push((id, number, first.fingerprint));
            }
            load.push(pushed).unwrap();
        }
        expected.sort_unstable_by_key(|(id, number, _)| (*id, *number));
        let mut conflicts = Vec::new();
        let report = load
            .finish(
                |Conflict {
                     position,
                     id,
                     stored,
                     ..
                 }| {
                    conflicts.push((id.0, position, stored));
                    ControlFlow::Continue(())
                },
            )
            .unwrap();
        assert_eq!(conflicts, expected, "{name}");
        let inserted = stored.len() as u64;
        let present = COUNT - inserted - expected.len() as u64;
        assert_eq!(
            (report.inserted, report.present, report.conflicts),
            (inserted, present, expected.len() as u64),
            "{name}"
        );
        // A load in order takes up to 60 bytes a document with random ids; redb doubling the file
        // would take far more.
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert!(bytes < inserted * 65, "{name}: {bytes} bytes");
        let mut database = builder().open(&path).unwrap();
        let snapshot = database.snapshot().unwrap();
        assert_eq!(snapshot.len().unwrap(), inserted);
        for (id, document) in stored.iter().step_by(7) {
            let found = snapshot.get(DocId(*id)).unwrap().expect("the document");
            assert_eq!(&found, document, "{name}");
        }
        drop(snapshot);
        assert_sound(&mut database);
        let folder = path.parent().unwrap();
        assert_eq!(names_in(folder), ["docs.simdb"]);
    }
}

/// redb doubles a growing file; a published bulk load has no such slack.
#[test]
fn bulk_loaded_file_has_no_slack() {
    for count in [20_000, 100_000, 300_000, 700_000] {
        let (_folder, path) = in_folder("docs.simdb");
        let mut load = builder().bulk_create(&path, 64 << 20).unwrap();
        let mut sequence = SplitMix(count);
        for id in 0..count {
            load.push(document(id, sequence.next())).unwrap();
        }
        load.finish(|_| ControlFlow::Continue(())).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len();
        // Allowance for table roots and branch pages above the chunks.
        let allowed = count * 48 + (200 << 10);
        assert!(bytes <= allowed, "{bytes} bytes for {count} documents");
    }
}

/// Each page is written once. Without memory to sort in, each sort run is also written once.
#[cfg(target_os = "linux")]
#[test]
fn bulk_load_writes_each_page_once() {
    const NAME: &str = "bulk_load_writes_each_page_once";
    if std::env::var_os(NAME).is_none() {
        // The written bytes are counted per process, so the load runs in a process of its own.
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("limits::{NAME}")])
            .env(NAME, "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{child:?}");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let written_bytes = || {
        let io = std::fs::read_to_string("/proc/self/io").unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
        line.unwrap().parse::<u64>().unwrap()
    };
    // In the second load 16 bytes a document go through runs once, and 8 bytes three times.
    const COUNT: u64 = 1_000_000;
    for (memory_bytes, run_bytes) in [(64 << 20, 0), (16 << 20, COUNT * (16 + 3 * 8))] {
        let (_folder, path) = in_folder("docs.simdb");
        let before = written_bytes();
        let mut load = builder().bulk_create(&path, memory_bytes).unwrap();
        let mut sequence = SplitMix(3);
        for id in 0..COUNT {
            load.push(document(id, sequence.next())).unwrap();
        }
        load.finish(|_| ControlFlow::Continue(())).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len();
        let written = written_bytes() - before;
        assert!(
            written <= bytes + bytes / 10 + run_bytes,
            "{written} bytes written for a file of {bytes} and runs of {run_bytes}"
        );
        let mut database = builder().open(&path).unwrap();
        assert_eq!(database.len().unwrap(), COUNT);
        assert_sound(&mut database);
    }
}

/// redb closes no file while a panic unwinds. Finishing a load or copying a database during a panic
/// gives a complete file or an error.
#[test]
fn new_file_during_panic_is_whole_or_refused() {
    struct Finish<F: FnMut()>(F);
    impl<F: FnMut()> Drop for Finish<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    fn while_panicking(work: impl FnMut()) {
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _finish = Finish(work);
            std::panic::resume_unwind(Box::new("on its way"));
        }));
        assert!(unwound.is_err());
    }
    const COUNT: u64 = 20_000;
    let load_into = |path: &Path| {
        let mut load = builder().bulk_create(path, 16 << 20)?;
        for id in 0..COUNT {
            load.push(document(id, SplitMix(id).next()))?;
        }
        load.finish(|_| ControlFlow::Continue(()))
    };
    let (folder, path) = in_folder("docs.simdb");
    load_into(&path).unwrap();
    let [loaded, copy] = ["loaded.simdb", "copy.simdb"].map(|name| folder.path().join(name));
    let (mut is_loaded, mut is_copied) = (false, false);
    while_panicking(|| is_loaded = load_into(&loaded).is_ok());
    while_panicking(|| is_copied = builder().open(&path).unwrap().backup(&copy).is_ok());
    while_panicking(|| drop(Database::vacuum(&path)));
    for (path, is_there) in [(&path, true), (&loaded, is_loaded), (&copy, is_copied)] {
        assert_eq!(path.exists(), is_there, "{path:?}");
        if is_there {
            let mut database = builder().open(path).unwrap();
            assert_eq!(database.len().unwrap(), COUNT);
            assert_sound(&mut database);
        }
    }
}

#[test]
fn dropped_or_interrupted_bulk_load_leaves_no_file() {
    for interrupted in [false, true] {
        let (folder, path) = in_folder("docs.simdb");
        let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
        for id in 0..200_000 {
            load.push(document(id, SplitMix(id).next())).unwrap();
        }
        if interrupted {
            let load = load.on_progress(|_| ControlFlow::Break(()));
            let error = load.finish(|_| ControlFlow::Continue(())).unwrap_err();
            assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
        } else {
            drop(load);
        }
        assert_eq!(names_in(folder.path()), Vec::<String>::new());
    }
}

// ---- copies ----

fn with_everything(path: &Path) -> (Database, Model) {
    let mut stored = documents(1, 0, 5_000);
    for (place, document) in stored.iter_mut().enumerate() {
        document.reliable = place % 9 != 0;
        document.text = (place % 5 == 0).then(|| format!("text {place}"));
    }
    let database = builder().keep_texts(true).create(path).unwrap();
    insert_all(&database, &stored);
    (database, Model::new(stored, true))
}

#[test]
fn backup_equals_the_database_and_overwrites_nothing() {
    let (folder, path) = in_folder("docs.simdb");
    let copy = folder.path().join("copy.simdb");
    let (database, model) = with_everything(&path);
    // The first copy reads the journal's changes, the second one the tables.
    database.backup(&copy).unwrap();
    let mut early = builder().open(&copy).unwrap();
    assert_holds(&early.snapshot().unwrap(), &model);
    assert_sound(&mut early);
    drop(early);
    std::fs::remove_file(&copy).unwrap();
    database.merge().unwrap();
    database.backup(&copy).unwrap();
    let names = ["copy.simdb", "docs.simdb", "docs.simdb.journal-1"];
    assert_eq!(names_in(folder.path()), names);
    for taken in [&copy, &path] {
        let refused = database.backup(taken).unwrap_err();
        assert!(
            matches!(&refused, Error::AlreadyExists { path } if path == taken),
            "{refused:?}"
        );
    }
    let mut copy = builder().open(&copy).unwrap();
    assert_eq!(copy.settings(), database.settings());
    assert_holds(&copy.snapshot().unwrap(), &model);
    assert_sound(&mut copy);
    drop(database);
    assert_eq!(names_in(folder.path()), ["copy.simdb", "docs.simdb"]);
}

#[test]
fn backup_during_writes_is_one_whole_commit() {
    const SIZE: u64 = 40;
    let (folder, path) = in_folder("docs.simdb");
    let database = builder().create(&path).unwrap();
    insert_all(&database, &documents(0, 0, SIZE));
    let done = std::sync::atomic::AtomicBool::new(false);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        let ended = SetWhenDropped(&done);
        let writer = scope.spawn(|| {
            for batch in 1.. {
                if done.load(relaxed) {
                    return batch;
                }
                insert_all(&database, &documents(batch, batch * SIZE, SIZE));
            }
            unreachable!()
        });
        for number in 0..5 {
            let copy = folder.path().join(format!("copy{number}.simdb"));
            let at_least = database.len().unwrap();
            database.backup(&copy).unwrap();
            let mut copy = builder().open(&copy).unwrap();
            let batches = copy.len().unwrap() / SIZE;
            assert!(copy.len().unwrap() >= at_least);
            let expected = (0..batches).flat_map(|batch| documents(batch, batch * SIZE, SIZE));
            assert_holds(&copy.snapshot().unwrap(), &Model::new(expected, false));
            assert_sound(&mut copy);
        }
        drop(ended);
        let batches = writer.join().unwrap();
        assert_eq!(database.len().unwrap(), batches * SIZE);
    });
}

#[test]
fn vacuum_keeps_answers_and_shrinks_file() {
    let (folder, path) = in_folder("docs.simdb");
    let (database, mut model) = with_everything(&path);
    for batch in documents(2, 100_000, 60_000).chunks(20_000) {
        insert_all(&database, batch);
    }
    // Without this flush the removed documents would never be in the tables.
    database.merge().unwrap();
    let removals = (100_000..160_000).map(|id| Change::Remove(DocId(id)));
    database.apply(removals).unwrap();
    model.apply_all((0..500).map(|id| Change::Remove(DocId(id))));
    database
        .apply((0..500).map(|id| Change::Remove(DocId(id))))
        .unwrap();
    let settings = database.settings().clone();
    drop(database);
    let had = std::fs::metadata(&path).unwrap().len();
    let simdb::maintenance::Vacuumed {
        before_bytes: before,
        after_bytes: after,
    } = Database::vacuum(&path).unwrap();
    assert_eq!(
        (before, after),
        (had, std::fs::metadata(&path).unwrap().len())
    );
    assert!(after * 2 < before, "{before} bytes before, {after} after");
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    let mut database = builder().open(&path).unwrap();
    assert_eq!(*database.settings(), settings);
    let snapshot = database.snapshot().unwrap();
    assert_holds(&snapshot, &model);
    for document in model.documents.values().step_by(100) {
        let query = document.fingerprint;
        assert_eq!(snapshot.within(query, 3).unwrap(), model.within(query, 3));
    }
    drop(snapshot);
    assert_sound(&mut database);
    insert_all(&database, &documents(3, 200_000, 100));
    drop(database);
    let refused = Database::vacuum(folder.path().join("missing.simdb")).unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused:?}");
}

// ---- full disk ----

#[test]
fn full_disk_is_an_error_and_acknowledged_changes_survive() {
    // The first disk becomes full while the journal grows, the second during the flush.
    // Acknowledged changes are flushed once there is room again.
    for (size, ballast_bytes) in [("8m", 6 << 20), ("16m", 10 << 20)] {
        let Some(disk) = SmallDisk::new(size) else {
            return;
        };
        fill(&disk, ballast_bytes);
    }
}

fn fill(disk: &SmallDisk, ballast_bytes: usize) {
    let path = disk.path().join("docs.simdb");
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; ballast_bytes]).unwrap();
    let database = builder().create(&path).unwrap();
    let mut acknowledged = Vec::new();
    let error = loop {
        let batch = documents(7, acknowledged.len() as u64, 500);
        match database.apply(batch.iter().cloned().map(Change::Insert)) {
            Ok(_) => acknowledged.extend(batch),
            Err(error) => break error,
        }
        // How many documents fit depends on how often the writer waits for a flush: 150,000 to
        // 160,000 on the larger disk with two free cores, more than 200,000 on a busy machine.
        assert!(
            acknowledged.len() < 1_000_000,
            "the disk does not become full"
        );
    };
    assert!(
        acknowledged.len() > 1_000,
        "only {} documents",
        acknowledged.len()
    );
    let reports_full_disk = matches!(
        error,
        Error::Storage { .. } | Error::CommitUnknown { .. } | Error::Io { .. }
    );
    assert!(reports_full_disk, "{error:?}");
    assert!(error.to_string().contains("docs.simdb"), "{error}");
    drop(database);

    std::fs::remove_file(&ballast).unwrap();
    let mut database = builder().open(&path).unwrap();
    let stored = database.snapshot().unwrap();
    // The batch with unknown outcome is stored whole, or not at all.
    if stored.len().unwrap() > acknowledged.len() as u64 {
        assert!(matches!(error, Error::CommitUnknown { .. }), "{error:?}");
        acknowledged.extend(documents(7, acknowledged.len() as u64, 500));
    }
    assert_holds(&stored, &Model::new(acknowledged, false));
    drop(stored);
    assert_sound(&mut database);
    test_support::insert(&database, Document::new(u64::MAX, ONES));
}

#[test]
fn new_file_beyond_disk_size_leaves_no_file() {
    let Some(disk) = SmallDisk::new("4m") else {
        return;
    };
    let path = disk.path().join("docs.simdb");
    // The first load does not fit as sort runs, the second not as a database.
    for count in [400_000, 120_000] {
        let mut load = builder().bulk_create(&path, 16 << 20).unwrap();
        let pushed = documents(1, 0, count)
            .into_iter()
            .try_for_each(|document| load.push(document));
        let failed = pushed.and_then(|()| load.finish(|_| ControlFlow::Continue(())));
        let error = failed.unwrap_err();
        let reports_full_disk = matches!(
            error,
            Error::Storage { .. } | Error::CommitUnknown { .. } | Error::Io { .. }
        );
        assert!(reports_full_disk, "{error:?}");
        assert_eq!(names_in(disk.path()), Vec::<String>::new());
    }
    // A copy that does not fit leaves the database unchanged.
    let database = builder().create(&path).unwrap();
    insert_all(&database, &documents(1, 0, 10_000));
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; 4 << 20]).unwrap_err();
    database.backup(disk.path().join("copy.simdb")).unwrap_err();
    let names = ["ballast", "docs.simdb", "docs.simdb.journal-1"];
    assert_eq!(names_in(disk.path()), names);
    // There is no room for the flush either.
    database.close().unwrap_err();
    Database::vacuum(&path).unwrap_err();
    assert_eq!(names_in(disk.path()), names);
    std::fs::remove_file(&ballast).unwrap();
    let mut database = builder().open(&path).unwrap();
    assert_holds(
        &database.snapshot().unwrap(),
        &Model::new(documents(1, 0, 10_000), false),
    );
    assert_sound(&mut database);
}
