//! Salvage of damaged files: everything that is stored twice is saved, and nothing is invented.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use redb::{TableDefinition, TableHandle};
use simdb::maintenance::Salvage;
use simdb::progress::Stage;
use simdb::{Change, DocId, Document, Error, Fingerprint, Retention, Timestamp};
use tempfile::TempDir;
use test_support::engine::with_engine;
use test_support::{
    Model, SplitMix, assert_holds, assert_sound, builder, copy_open, documents, folder, journal,
    keyed, window,
};

const PAGE_BYTES: usize = 4096;

fn salvage(damaged: &Path, saved: &Path) -> Result<Salvage, Error> {
    let _ = std::fs::remove_file(saved);
    builder().salvage(damaged, saved, 16 << 20)
}

/// Documents of every kind: some unreliable, some with texts, many with one fingerprint.
fn corpus(seed: u64, first: u64, count: u64) -> Vec<Document> {
    let mut corpus = documents(seed, first, count);
    for (place, document) in corpus.iter_mut().enumerate() {
        document.reliable = place % 7 != 0;
        document.arrival = Some(Timestamp(1_700_000_000_000 + place as u64));
        let is_kept = place % 3 == 1;
        document.text = is_kept.then(|| format!("the text of document {}", document.id));
    }
    corpus
}

/// A window longer than any age: no document of the corpus expires, though it is old by the clock.
fn without_expiry() -> simdb::Builder {
    let two_days = window(Duration::from_secs(2 * 24 * 60 * 60));
    builder().similar(true).retention(two_days)
}

/// The latest arrival in the corpus.
fn latest_of(model: &Model) -> Option<Timestamp> {
    model
        .documents
        .values()
        .filter_map(|document| document.arrival)
        .max()
}

fn model_of(documents: Vec<Document>) -> Model {
    Model {
        keeps_texts: true,
        keeps_arrivals: true,
        ..Model::default()
    }
    .with(documents)
}

/// Creates and closes a database; returns its model.
fn database(path: &Path) -> Model {
    let corpus = corpus(1, 0, 4_000);
    let database = without_expiry().create(path).unwrap();
    for batch in corpus.chunks(1_000) {
        database
            .apply(batch.iter().cloned().map(Change::Insert))
            .unwrap();
    }
    database.close().unwrap();
    model_of(corpus)
}

/// A folder, the path of a database in it, and the path for salvaged documents.
fn database_and_target() -> (TempDir, PathBuf, PathBuf) {
    let folder = folder();
    let place = |name| folder.path().join(name);
    let (path, saved) = (place("docs.simdb"), place("saved"));
    (folder, path, saved)
}

/// The journal of the last generation of a database that was copied while it was open.
fn last_journal(copy: &Path) -> PathBuf {
    let journals = [1, 2].map(|number| journal(copy, number));
    let mut there = journals.into_iter().filter(|journal| journal.exists());
    there.next_back().unwrap()
}

fn saved_documents(saved: &Path) -> Vec<Document> {
    let mut database = builder().open(saved).unwrap();
    assert_sound(&mut database);
    let snapshot = database.snapshot().unwrap();
    snapshot.documents().map(Result::unwrap).collect()
}

#[test]
fn sound_file_is_saved_whole() {
    let (folder, path, saved) = database_and_target();
    let model = database(&path);
    let before = std::fs::read(&path).unwrap();
    let found = salvage(&path, &saved).unwrap();
    let documents = model.documents.len() as u64;
    let mut nothing_lost = Salvage::default();
    nothing_lost.documents = documents;
    assert_eq!(found, nothing_lost);
    let mut copy = builder().open(&saved).unwrap();
    assert_holds(&copy.snapshot().unwrap(), &model);
    assert_sound(&mut copy);
    assert!(std::fs::read(&path).unwrap() == before);
    // Salvage overwrites no file.
    let refused = builder().salvage(&path, &saved, 16 << 20).unwrap_err();
    assert!(
        matches!(refused, Error::AlreadyExists { .. }),
        "{refused:?}"
    );
    let stopped = builder().on_progress(|_| ControlFlow::Break(()));
    let refused = stopped.salvage(&path, folder.path().join("none"), 16 << 20);
    assert!(
        matches!(refused, Err(Error::Interrupted { .. })),
        "{refused:?}"
    );
    assert!(!folder.path().join("none").exists());
}

/// Counts of the ways that salvage took, over many damaged files.
#[derive(Debug, Default)]
struct SalvageCounts {
    tried: u64,
    /// Only texts were lost.
    whole: u64,
    /// The recipe was lost.
    recipe_lost: u64,
    /// redb cannot open the file, so salvage scanned its pages.
    by_pages: u64,
    /// A table, or the root page of one, was lost.
    tables_lost: u64,
    from_one_table: u64,
    made_again: u64,
    unreliable_lost: u64,
    texts_lost: u64,
}

#[test]
fn lost_page_loses_only_data_stored_once() {
    let (_folder, path, saved) = database_and_target();
    let model = database(&path);
    let sound = std::fs::read(&path).unwrap();
    let pages = sound.len() / PAGE_BYTES;
    let mut ways = SalvageCounts::default();
    // Damage the pages at both ends more often: the roots are there.
    let is_near_an_end = |page: usize| page < 32 || page + 32 >= pages;
    for page in (0..pages).filter(|page| is_near_an_end(*page) || page % 2 == 0) {
        let mut damaged = sound.clone();
        damaged[page * PAGE_BYTES..(page + 1) * PAGE_BYTES].fill(0);
        std::fs::write(&path, &damaged).unwrap();
        let found = match salvage(&path, &saved) {
            Ok(found) => found,
            Err(Error::Corrupt { what, .. }) if what.contains("recipe") => {
                ways.recipe_lost += 1;
                let named = without_expiry().recipe(simdb::Recipe::ngram());
                named.salvage(&path, &saved, 16 << 20).unwrap()
            }
            Err(error) => panic!("page {page}: {error:?}"),
        };
        let reports = |begin: &str| found.damage.iter().any(|what| what.starts_with(begin));
        let is_by_pages = reports("the file cannot be opened");
        ways.by_pages += u64::from(is_by_pages);
        ways.tables_lost += u64::from(reports("table "));
        let stored = saved_documents(&saved);
        assert_eq!(stored.len() as u64, found.documents, "page {page}");
        let (mut unreliable_lost, mut made_again, mut texts_lost) = (0, 0, 0);
        let mut stored = stored.iter().peekable();
        for expected in model.documents.values() {
            let Some(stored) = stored.next_if(|stored| stored.id == expected.id) else {
                // The fingerprint of an unreliable document is in one table only.
                assert!(
                    !expected.reliable && expected.text.is_none(),
                    "page {page}: {expected:?}"
                );
                unreliable_lost += 1;
                continue;
            };
            assert_eq!(stored.arrival, expected.arrival, "page {page}");
            if stored.fingerprint != expected.fingerprint {
                // The fingerprint is in one table only, and does not follow from the text.
                assert!(
                    !expected.reliable && !stored.reliable,
                    "page {page}: {stored:?}"
                );
                made_again += 1;
            } else {
                assert_eq!(stored.reliable, expected.reliable, "page {page}");
            }
            assert!(stored.text == expected.text || stored.text.is_none());
            texts_lost += u64::from(stored.text != expected.text);
        }
        assert!(stored.next().is_none(), "page {page}: {:?}", stored.next());
        assert_eq!(found.from_text, made_again, "page {page}: {found:?}");
        assert_eq!(
            found.without_fingerprint, unreliable_lost,
            "page {page}: {found:?}"
        );
        assert!(found.without_text >= texts_lost, "{found:?}");
        assert_eq!((found.ambiguous, found.without_arrival), (0, 0));
        ways.from_one_table += found.from_one_table;
        ways.made_again += made_again;
        ways.unreliable_lost += unreliable_lost;
        ways.texts_lost += texts_lost;
        ways.whole += u64::from(unreliable_lost == 0);
        ways.tried += 1;
    }
    let SalvageCounts { tried, whole, .. } = ways;
    assert!(tried > 100 && whole * 10 > tried * 8, "{ways:?}");
    for count in [
        ways.recipe_lost,
        ways.by_pages,
        ways.tables_lost,
        ways.from_one_table,
        ways.made_again,
        ways.unreliable_lost,
        ways.texts_lost,
    ] {
        assert!(count > 0, "{ways:?}");
    }
}

/// Keys, scopes, fields, texts, a forest, a window and copies.
fn with_keys() -> simdb::Builder {
    without_expiry().scopes(true).fields(true).copies(2)
}

/// Creates and closes a database [`with_keys`]; returns its model. Every ninth document has two
/// copies.
fn database_with_keys(path: &Path, count: u64) -> Model {
    let in_scope = |document: Document| {
        let scope = ["", "zh", "en"][document.id.0 as usize % 3];
        let document = keyed(document);
        match scope {
            "" => document,
            scope => document.with_scope(scope),
        }
    };
    let corpus: Vec<Document> = corpus(1, 0, count).into_iter().map(in_scope).collect();
    let copies = corpus.iter().enumerate().step_by(9);
    let copies = copies.flat_map(|(place, original)| {
        let copy = |number| Document {
            key: Some(format!("copy {place} {number}")),
            ..original.clone()
        };
        [1, 2].map(copy)
    });
    let copies: Vec<Document> = copies.collect();
    let mut model = Model {
        keeps_fields: true,
        newest_copies: 2,
        has_window: true,
        ..model_of(Vec::new())
    };
    let database = with_keys().create(path).unwrap();
    let unique = |document| Change::InsertUnique {
        document,
        radius: 0,
    };
    let inserts = corpus.into_iter().map(Change::Insert);
    let changes: Vec<Change> = inserts.chain(copies.into_iter().map(unique)).collect();
    for batch in changes.chunks(1_000) {
        let expected = model.apply_all(batch.to_vec());
        assert_eq!(database.apply(batch.to_vec()).unwrap(), expected);
    }
    database.close().unwrap();
    model
}

#[test]
fn lost_page_of_database_with_keys_invents_no_key_copy_or_scope() {
    let (_folder, path, saved) = database_and_target();
    let model = database_with_keys(&path, 4_000);
    assert!(model.most_copied(None).len() > 300);
    let sound = std::fs::read(&path).unwrap();
    let (mut keys_lost, mut by_pages, mut tried) = (0, 0, 0);
    let (mut copies_saved, mut scopes_lost) = (0_u64, 0_u64);
    for page in (0..sound.len() / PAGE_BYTES).filter(|page| *page < 8 || page % 5 == 0) {
        let mut damaged = sound.clone();
        damaged[page * PAGE_BYTES..(page + 1) * PAGE_BYTES].fill(0);
        std::fs::write(&path, &damaged).unwrap();
        let found = salvage(&path, &saved).or_else(|_| {
            let named = with_keys().recipe(simdb::Recipe::ngram());
            named.salvage(&path, &saved, 16 << 20)
        });
        let found = found.unwrap();
        let stored = saved_documents(&saved);
        assert_eq!(stored.len() as u64, found.documents, "page {page}");
        let mut keys_replaced = 0;
        for stored in stored {
            let expected = &model.documents[&stored.id];
            if stored.key != expected.key {
                let key = stored.key.as_ref().unwrap();
                let begin = format!("salvaged:{}:", stored.id);
                assert!(key.starts_with(&begin), "page {page}: {key}");
                keys_replaced += 1;
            }
            assert!(stored.fields == expected.fields || stored.fields.is_none());
            assert!(stored.text == expected.text || stored.text.is_none());
            assert!(stored.copies == expected.copies || stored.copies.is_none());
            let is_lost = |scope: &str| scope.starts_with("lost-");
            let has_scope = stored.scope == expected.scope;
            assert!(
                has_scope || stored.scope.as_deref().is_some_and(is_lost),
                "page {page}: {stored:?}"
            );
            copies_saved += u64::from(stored.copies.is_some());
            scopes_lost += u64::from(!has_scope);
        }
        let lost = model.documents.len() as u64 - found.documents;
        assert_eq!(lost, found.without_fingerprint, "page {page}: {found:?}");
        assert_eq!(keys_replaced, found.without_key, "page {page}: {found:?}");
        // A page has the keys of some hundred documents.
        assert!(found.without_key < 1_000, "page {page}: {found:?}");
        keys_lost += found.without_key;
        by_pages += u64::from(
            found
                .damage
                .iter()
                .any(|what| what.contains("cannot be opened")),
        );
        tried += 1;
    }
    assert!(
        tried > 30 && keys_lost > 0 && by_pages > 0,
        "{tried} {keys_lost} {by_pages}"
    );
    // Most pages have no copies, and one page has the names of all scopes.
    assert!(
        copies_saved > 300 * tried && scopes_lost > 0,
        "{copies_saved} {scopes_lost}"
    );
}

#[test]
fn document_without_its_key_is_saved_with_another_key() {
    let (folder, path, saved) = database_and_target();
    let create = || builder().keys(true).fields(true).keep_texts(true);
    let database = create().create(&path).unwrap();
    let document = |key: &str| {
        let text = format!("the text of {key}");
        database.document(key, &text).unwrap().with_fields("{}")
    };
    for number in 1..=40 {
        let inserted = database.insert(document(&format!("k{number}")));
        assert!(inserted.unwrap().is_inserted());
    }
    let inserted: Vec<Document> = {
        let snapshot = database.snapshot().unwrap();
        snapshot.documents().map(Result::unwrap).collect()
    };
    database.close().unwrap();
    let lose_keys = |path: &Path| {
        with_engine(path, |engine| {
            let transaction = engine.begin_write().unwrap();
            {
                let texts = TableDefinition::<u64, &[u8]>::new("texts");
                let mut texts = transaction.open_table(texts).unwrap();
                // The keys of the ids 0 to 31.
                texts.remove(1_u64 << 63).unwrap().unwrap();
            }
            transaction.commit().unwrap();
        });
    };
    let without_key = |document: &Document| Document {
        key: None,
        ..document.clone()
    };
    // The second salvage finds the keys that the first gave.
    let again = folder.path().join("again");
    for (from, to) in [(&path, &saved), (&saved, &again)] {
        lose_keys(from);
        let found = salvage(from, to).unwrap();
        assert_eq!((found.documents, found.without_key), (40, 31), "{found:?}");
        let stored = saved_documents(to);
        assert!(
            stored
                .iter()
                .map(without_key)
                .eq(inserted.iter().map(without_key))
        );
        assert!(stored[31..] == inserted[31..]);
        let database = builder().open(to).unwrap();
        for document in &stored {
            let key = document.key.as_deref().unwrap();
            assert_eq!(database.get(key).unwrap().as_ref(), Some(document));
        }
    }
}

/// Zeroes the pages with the settings, and with `by_pages` the page that locates all others.
fn lose_settings(path: &Path, by_pages: bool) {
    let mut bytes = std::fs::read(path).unwrap();
    for (number, page) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
        let has = |name: &[u8]| page.windows(name.len()).any(|part| part == name);
        let is_lost = has(b"counters") && has(b"recipes");
        let is_lost = is_lost || by_pages && number == ENGINE_HEADER;
        if is_lost {
            page.fill(0);
        }
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn lost_settings_are_inferred_from_readable_parts() {
    for by_pages in [false, true] {
        let (_folder, path, saved) = database_and_target();
        let model = database_with_keys(&path, 900);
        let settings = builder().open(&path).unwrap().settings().clone();
        lose_settings(&path, by_pages);
        let refused = salvage(&path, &saved).unwrap_err().to_string();
        assert!(refused.contains("recipe"), "{refused}");

        let named = || builder().recipe(simdb::Recipe::ngram());
        let window = settings.retention.unwrap();
        let found = named().retention(window).salvage(&path, &saved, 16 << 20);
        let found = found.unwrap();
        let losses = |found: &Salvage| (found.from_text, found.without_key);
        assert_eq!(losses(&found), (0, 0), "{found:?}");
        assert_eq!(*builder().open(&saved).unwrap().settings(), settings);
        let stored = saved_documents(&saved);
        let is_named = |document: &Document| Document {
            // The page with the settings has the names of the scopes too.
            scope: (document.scope.as_ref()).map(|_| format!("lost-{}", document.id.0 >> 40)),
            ..document.clone()
        };
        let expected: Vec<Document> = model.documents.values().map(is_named).collect();
        assert!(stored == expected, "{by_pages} {}", stored.len());
        assert!(!found.damage.iter().any(|what| what.contains("window")));

        std::fs::remove_file(&saved).unwrap();
        let found = named().salvage(&path, &saved, 16 << 20).unwrap();
        assert!(saved_documents(&saved) == expected, "{by_pages}");
        let names_window = |what: &String| what.contains("the window of the arrival times");
        assert!(found.damage.iter().any(names_window), "{found:?}");
        assert_eq!(losses(&found), (0, 0), "{found:?}");
    }
}

#[test]
fn lost_settings_leave_documents_with_large_ids() {
    for by_pages in [false, true] {
        let (_folder, path, saved) = database_and_target();
        let database = without_expiry().create(&path).unwrap();
        let corpus = corpus(3, (1 << 63) - 50, 100);
        let inserts = corpus.iter().cloned().map(Change::Insert);
        database.apply(inserts).unwrap();
        database.close().unwrap();
        lose_settings(&path, by_pages);
        let named = without_expiry().recipe(simdb::Recipe::ngram());
        let found = named.salvage(&path, &saved, 16 << 20).unwrap();
        assert_eq!(found.documents, 100, "{found:?}");
        assert!(
            found
                .damage
                .iter()
                .any(|what| what.contains("settings are lost"))
        );
        assert!(
            saved_documents(&saved) == model_of(corpus).documents.into_values().collect::<Vec<_>>()
        );
    }
}

#[test]
fn settings_of_lost_file_are_inferred_from_its_journal() {
    let (folder, path, saved) = database_and_target();
    let open = with_keys().create(&path).unwrap();
    let document = |key: &str| {
        let text = "The ferry was cancelled because of fog.";
        let document = open.document(key, text).unwrap();
        document.with_scope("zh").with_fields("{}")
    };
    assert!(open.insert_unique(document("a"), 3).unwrap().is_inserted());
    assert!(!open.insert_unique(document("b"), 3).unwrap().is_inserted());
    let expected = open.get("a").unwrap().unwrap();
    assert!(expected.copies.is_some());
    let copy = folder.path().join("copy.simdb");
    copy_open(&path, &copy);
    std::fs::write(&copy, vec![0; 100_000]).unwrap();
    let named = builder().recipe(simdb::Recipe::ngram());
    named.salvage(&copy, &saved, 16 << 20).unwrap();
    assert_eq!(saved_documents(&saved), [expected]);
}

/// Deletes tables of a file, which gets right checksums.
fn lose_tables(path: &Path, names: &[&str]) {
    with_engine(path, |engine| {
        let transaction = engine.begin_write().unwrap();
        let tables: Vec<_> = transaction.list_tables().unwrap().collect();
        for table in tables {
            if names.contains(&table.name()) {
                assert!(transaction.delete_table(table).unwrap());
            }
        }
        transaction.commit().unwrap();
    });
}

#[test]
fn lost_table_is_rebuilt_from_its_twin_or_reported() {
    let (folder, path, saved) = database_and_target();
    let model = database(&path);
    let sound = std::fs::read(&path).unwrap();
    let made_of = {
        let database = builder().open(&path).unwrap();
        move |text: &str| database.fingerprint(text).unwrap()
    };
    let path = folder.path().join("damaged.simdb");
    for lost in [
        &["fingerprints"][..],
        &["block0"],
        &["fingerprints", "block0"],
        &["unreliable"],
        &["block0", "unreliable"],
        &["times"],
        &["arrivals"],
        &["times", "arrivals"],
        &["texts"],
        &["fingerprints", "texts"],
        &DERIVED_TABLES,
    ] {
        let is_lost = |table: &str| lost.contains(&table);
        std::fs::write(&path, &sound).unwrap();
        lose_tables(&path, lost);
        let found = salvage(&path, &saved).unwrap();
        let saved = saved_documents(&saved);
        let mut saved = saved.iter().peekable();
        let (mut from_one_table, mut from_text, mut lost_ids) = (0, 0, Vec::new());
        for document in model.documents.values() {
            let mut expected = document.clone();
            if is_lost("texts") {
                expected.text = None;
            }
            // Both tables have the fingerprint of a reliable document.
            let is_in_block0 = document.reliable && !is_lost("block0");
            if is_lost("fingerprints") && is_in_block0 {
                from_one_table += 1;
            } else if is_lost("fingerprints") {
                let Some(text) = &expected.text else {
                    lost_ids.push(document.id);
                    continue;
                };
                let made = made_of(text);
                expected.fingerprint = made.fingerprint;
                expected.reliable = document.reliable && made.reliable;
                from_text += 1;
            }
            if is_lost("unreliable") && is_lost("block0") {
                // Most fingerprints are reliable.
                let text = expected.text.as_deref();
                expected.reliable = text.is_none_or(|text| made_of(text).reliable);
            }
            if is_lost("times") && is_lost("arrivals") {
                expected.arrival = latest_of(&model);
            }
            assert_eq!(*saved.next().unwrap(), expected, "{lost:?}");
        }
        assert!(saved.next().is_none(), "{lost:?}");
        let all = model.documents.len() as u64;
        let of_all = |is_lost: bool| u64::from(is_lost) * all;
        assert_eq!(found.from_one_table, from_one_table, "{lost:?}");
        assert_eq!(found.from_text, from_text, "{lost:?}");
        assert_eq!(found.ambiguous, 0, "{lost:?}");
        assert_eq!(found.without_fingerprint, lost_ids.len() as u64, "{lost:?}");
        assert_eq!(found.documents + found.without_fingerprint, all, "{lost:?}");
        assert_eq!(found.without_text, of_all(is_lost("texts")), "{lost:?}");
        assert_eq!(
            found.without_arrival,
            of_all(is_lost("times") && is_lost("arrivals")),
            "{lost:?}"
        );
        // The report names the first lost ids only.
        lost_ids.truncate(100);
        assert_eq!(found.lost_ids, lost_ids, "{lost:?}");
        // Derived tables are rebuilt, so they do not count as lost.
        let mut named = lost.iter().filter(|table| !DERIVED_TABLES.contains(table));
        let reports = |begin: &str| found.damage.iter().any(|what| what.starts_with(begin));
        assert!(
            named
                .clone()
                .all(|table| reports(&format!("table {table} cannot be opened"))),
            "{found:?}"
        );
        let is_of_one = |what: &String| named.clone().any(|table| what.contains(table));
        assert!(found.damage.iter().all(is_of_one), "{found:?}");
        assert_eq!(named.next().is_none(), found.damage.is_empty(), "{found:?}");
        // The loss of the largest table shows in each count.
        if is_lost("fingerprints") {
            let counts = [found.without_fingerprint, found.lost_ids.len() as u64];
            assert!(counts.iter().all(|count| *count > 0), "{found:?}");
            assert!(from_one_table > 0 || is_lost("block0"), "{found:?}");
            assert!(from_text > 0 || is_lost("texts"), "{found:?}");
        }
    }
}

/// Tables that are derived from other tables.
const DERIVED_TABLES: [&str; 4] = ["block1", "block2", "block3", "forest"];

#[test]
fn lost_arrival_becomes_latest_readable_arrival() {
    let (_folder, path, saved) = database_and_target();
    let model = database(&path);
    // The last arrival and the last chunk of arrivals are lost.
    lose_tables(&path, &["meta", "arrivals"]);
    with_engine(&path, |engine| {
        let transaction = engine.begin_write().unwrap();
        {
            let times = TableDefinition::<u128, &[u8]>::new("times");
            let mut times = transaction.open_table(times).unwrap();
            times.pop_last().unwrap().unwrap();
        }
        transaction.commit().unwrap();
    });
    let like_it = without_expiry().recipe(simdb::Recipe::ngram());
    let found = like_it.salvage(&path, &saved, 16 << 20).unwrap();
    let stored = saved_documents(&saved);
    assert_eq!(stored.len(), model.documents.len());
    let (kept, lost): (Vec<_>, Vec<_>) = stored
        .iter()
        .partition(|stored| stored.arrival == model.documents[&stored.id].arrival);
    assert!(kept.len() > 1_000 && lost.len() as u64 + 1 >= found.without_arrival);
    assert!(found.without_arrival > 10, "{found:?}");
    let last = kept.iter().filter_map(|stored| stored.arrival).max();
    assert!(lost.iter().all(|stored| stored.arrival == last));
}

#[test]
fn lost_arrival_becomes_now_with_clock_retention() {
    let (_folder, path, saved) = database_and_target();
    let day = Duration::from_secs(24 * 60 * 60);
    let by_clock = Retention {
        by_clock: true,
        ..window(day)
    };
    let database = builder().retention(by_clock).create(&path).unwrap();
    let corpus = documents(1, 0, 2_000);
    database
        .apply(corpus.iter().cloned().map(Change::Insert))
        .unwrap();
    database.close().unwrap();
    lose_tables(&path, &["times", "arrivals"]);
    let before = Timestamp::from(SystemTime::now());
    let found = salvage(&path, &saved).unwrap();
    assert_eq!(found.without_arrival, 2_000);
    let stored = saved_documents(&saved);
    assert_eq!(stored.len(), 2_000);
    let arrived_now = |document: &Document| document.arrival >= Some(before);
    assert!(stored.iter().all(arrived_now));
}

#[test]
fn scan_of_pages_counts_lost_records() {
    let (_folder, path, saved) = database_and_target();
    let create = || builder().keep_texts(true).fields(true);
    let database = create().create(&path).unwrap();
    let corpus: Vec<Document> = (1..=2_000_u64)
        .map(|id| {
            let text = format!("document {id} says {}", id * 7_919);
            database.document(id, &text).unwrap().with_fields("{}")
        })
        .collect();
    database
        .apply(corpus.into_iter().map(Change::Insert))
        .unwrap();
    database.close().unwrap();
    let sound = std::fs::read(&path).unwrap();
    let mut lost_of = Vec::new();
    for cut in [10, 7, 5] {
        let mut bytes = sound[..sound.len() * cut / 10].to_vec();
        bytes[ENGINE_HEADER * PAGE_BYTES..(ENGINE_HEADER + 1) * PAGE_BYTES].fill(0);
        std::fs::write(&path, &bytes).unwrap();
        let named = create().recipe(simdb::Recipe::ngram());
        let _ = std::fs::remove_file(&saved);
        let found = named.salvage(&path, &saved, 16 << 20).unwrap();
        let stored = saved_documents(&saved);
        let lost = stored.iter().filter(|stored| stored.text.is_none()).count() as u64;
        let counted = found.without_text;
        assert!(
            (lost..=lost + found.without_fingerprint).contains(&counted),
            "{lost}: {found:?}"
        );
        lost_of.push(lost);
    }
    assert_eq!(lost_of[0], 0);
    assert!(lost_of[1..].iter().any(|lost| *lost > 0), "{lost_of:?}");
}

#[test]
fn latest_arrival_of_removed_document_is_saved() {
    let (folder, path, saved) = database_and_target();
    let day = Duration::from_secs(24 * 60 * 60);
    let database = builder().retention(window(day)).create(&path).unwrap();
    let arrive = |id: u64, time: u64| {
        let document = Document::new(id, Fingerprint::from_bits(id)).with_arrival(time);
        assert!(database.insert(document).unwrap().is_inserted());
    };
    let now = 1_700_000_000_000;
    arrive(1, now);
    arrive(2, now + 5_000);
    let _removed = database.remove(2).unwrap();
    // In the journal, and in the tables.
    let copy = folder.path().join("copy.simdb");
    copy_open(&path, &copy);
    database.close().unwrap();
    for path in [&copy, &path] {
        salvage(path, &saved).unwrap();
        let snapshot = builder().open(&saved).unwrap().snapshot().unwrap();
        assert_eq!(snapshot.now(), Some(Timestamp(now + 5_000)));
    }
}

#[test]
fn impossible_salvage_is_refused_before_reading() {
    let (folder, path, saved) = database_and_target();
    // Not a database.
    std::fs::write(&path, vec![7; 100_000]).unwrap();
    std::fs::write(&saved, "another's").unwrap();
    let refused = builder().salvage(&path, &saved, 16 << 20);
    assert!(
        matches!(refused, Err(Error::AlreadyExists { .. })),
        "{refused:?}"
    );
    // A scan of single pages can be interrupted, too.
    let path = folder.path().join("large.simdb");
    insert_all(&path, 200_000);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..3 * PAGE_BYTES].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let target = folder.path().join("none");
    let reports = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&reports);
    let refused = builder()
        .recipe(simdb::Recipe::ngram())
        .on_progress(move |progress| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert_eq!((progress.stage, progress.done), (Stage::Salvage, 0));
            ControlFlow::Break(())
        })
        .salvage(&path, &target, 16 << 20);
    assert!(
        matches!(refused, Err(Error::Interrupted { .. })),
        "{refused:?}"
    );
    assert_eq!(reports.load(Ordering::Relaxed), 1);
    assert!(!target.exists());
}

/// Creates a database of `count` fingerprints by a bulk load.
fn insert_all(path: &Path, count: u64) {
    let mut load = builder().bulk_create(path, 16 << 20).unwrap();
    for document in documents(1, 0, count) {
        load.push(document).unwrap();
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
}

/// The page with the header of redb: behind the superblock and a page of checksums.
const ENGINE_HEADER: usize = 2;

#[test]
fn conflicting_fingerprints_in_pages_are_resolved_and_reported() {
    let (_folder, path, saved) = database_and_target();
    let before = database(&path);
    let mut after = before.clone();
    let open = builder().open(&path).unwrap();
    let mut sequence = SplitMix(8);
    // Pages with the previous versions stay in the file, unused.
    let changed: Vec<Change> = (0..60)
        .map(|_| {
            let old = &before.documents[&DocId(sequence.below(4_000))];
            Change::Upsert(Document {
                fingerprint: Fingerprint::from_bits(sequence.next()),
                ..old.clone()
            })
        })
        .collect();
    after.apply_all(changed.clone());
    open.apply(changed).unwrap();
    open.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[ENGINE_HEADER * PAGE_BYTES..(ENGINE_HEADER + 1) * PAGE_BYTES].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let found = salvage(&path, &saved).unwrap();
    assert!(
        found.damage[0].starts_with("the file cannot be opened"),
        "{found:?}"
    );
    let stored = saved_documents(&saved);
    assert!(
        stored
            .iter()
            .map(|stored| stored.id)
            .eq(after.documents.keys().copied())
    );
    let (mut changed, mut old_taken) = (0, 0);
    for stored in &stored {
        let (old, new) = (&before.documents[&stored.id], &after.documents[&stored.id]);
        // A document that never changed keeps its fingerprint.
        assert!(
            stored.fingerprint == old.fingerprint || stored.fingerprint == new.fingerprint,
            "{stored:?}"
        );
        changed += u64::from(old.fingerprint != new.fingerprint);
        old_taken += u64::from(stored.fingerprint != new.fingerprint);
        let others = (stored.reliable, stored.arrival, &stored.text);
        assert_eq!(others, (old.reliable, old.arrival, &old.text));
    }
    assert!(
        found.ambiguous > 0 && found.ambiguous <= changed,
        "{found:?}"
    );
    assert!(
        old_taken > 0 && old_taken <= found.ambiguous,
        "{old_taken}: {found:?}"
    );
    assert_eq!((found.without_fingerprint, found.without_arrival), (0, 0));
}

#[test]
fn report_counts_documents_lost_with_each_page() {
    let (_folder, path, saved) = database_and_target();
    let model = database(&path);
    // Vacuum: the file has no free pages.
    simdb::Database::vacuum(&path).unwrap();
    let sound = std::fs::read(&path).unwrap();
    let pages = (sound.len() / PAGE_BYTES) as u64;
    let mut sums = Salvage::default();
    let mut by_tables = 0;
    for seed in 0..24 {
        let mut sequence = SplitMix(seed);
        let mut damaged = sound.clone();
        for _ in 0..8 {
            // The first pages, which locate all others, stay.
            let page = 3 + sequence.below(pages - 3) as usize;
            damaged[page * PAGE_BYTES..(page + 1) * PAGE_BYTES].fill(0xff);
        }
        std::fs::write(&path, &damaged).unwrap();
        let found = match salvage(&path, &saved) {
            Ok(found) => found,
            Err(Error::Corrupt { what, .. }) if what.contains("recipe") => continue,
            Err(error) => panic!("seed {seed}: {error:?}"),
        };
        let first = found.damage.first();
        if first.is_some_and(|what| what.starts_with("the file cannot be opened")) {
            continue;
        }
        by_tables += 1;
        let stored = saved_documents(&saved);
        let mut stored = stored.iter().peekable();
        let (mut missing, mut made_again, mut arrived_last, mut texts_lost) = (Vec::new(), 0, 0, 0);
        for expected in model.documents.values() {
            let Some(stored) = stored.next_if(|stored| stored.id == expected.id) else {
                missing.push(expected.id);
                continue;
            };
            made_again += u64::from(stored.fingerprint != expected.fingerprint);
            texts_lost += u64::from(stored.text != expected.text);
            assert!(stored.text == expected.text || stored.text.is_none());
            if stored.arrival != expected.arrival {
                assert_eq!(stored.arrival, latest_of(&model), "seed {seed}");
                arrived_last += 1;
            }
        }
        assert!(stored.next().is_none(), "seed {seed}");
        assert_eq!(found.without_arrival, arrived_last, "seed {seed}");
        assert_eq!(found.from_text, made_again, "seed {seed}");
        assert!(found.without_text >= texts_lost, "seed {seed}");
        // Some documents have lost even their id.
        let without_fingerprint = found.without_fingerprint as usize;
        assert!(
            without_fingerprint <= missing.len(),
            "seed {seed}: {found:?}"
        );
        assert_eq!(
            found.lost_ids.len(),
            without_fingerprint.min(100),
            "seed {seed}"
        );
        assert!(
            found.lost_ids.iter().all(|id| missing.contains(id)),
            "seed {seed}"
        );
        assert_eq!(found.ambiguous, 0);
        sums.from_one_table += found.from_one_table;
        sums.from_text += found.from_text;
        sums.without_fingerprint += found.without_fingerprint;
        sums.without_text += found.without_text;
    }
    assert!(by_tables > 5, "{by_tables}");
    // Arrival times are in two tables of few pages each, and are hardly ever lost in both.
    for count in [
        sums.from_one_table,
        sums.from_text,
        sums.without_fingerprint,
        sums.without_text,
    ] {
        assert!(count > 0, "{by_tables}: {sums:?}");
    }
}

#[test]
fn damaged_journal_loses_only_the_damaged_commits() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let mut model = database(&path);
    let open = builder().open(&path).unwrap();
    let more = corpus(9, 1 << 40, 300);
    let tables = model.clone();
    // `without[n]` lacks commit n.
    let mut without = vec![model.clone(); 3];
    for (number, batch) in more.chunks(100).enumerate() {
        let mut changes: Vec<Change> = batch.iter().cloned().map(Change::Insert).collect();
        let id = batch[0].id.0 % 1_000;
        changes.push(Change::Remove(DocId(id)));
        let outcomes = model.apply_all(changes.clone());
        assert_eq!(open.apply(changes.clone()).unwrap(), outcomes);
        for (lost, model) in without.iter_mut().enumerate() {
            if lost != number {
                model.apply_all(changes.clone());
            }
        }
    }
    let (copy, saved) = (
        folder.path().join("copy.simdb"),
        folder.path().join("saved"),
    );
    copy_open(&path, &copy);
    drop(open);
    let found = salvage(&copy, &saved).unwrap();
    assert_eq!(found.damage, Vec::<String>::new());
    assert_holds(&builder().open(&saved).unwrap().snapshot().unwrap(), &model);

    let journal = [journal(&copy, 1), journal(&copy, 2)];
    let journal = journal.iter().find(|journal| journal.exists()).unwrap();
    let sound = std::fs::read(journal).unwrap();
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
    let mut sequence = SplitMix(3);
    let mut counts = [0; 3];
    for _ in 0..30 {
        let mut damaged = sound.clone();
        damaged[64 + sequence.below(used as u64 - 64) as usize] ^= 1;
        std::fs::write(journal, &damaged).unwrap();
        let found = salvage(&copy, &saved).unwrap();
        let stored = saved_documents(&saved);
        let is_it = |model: &Model| stored.iter().eq(model.documents.values());
        if found.damage.is_empty() {
            assert!(is_it(&model), "{found:?}");
            continue;
        }
        let lost = without.iter().position(is_it).expect("one lost commit");
        let named = format!(
            "has lost record {lost}, which is before record {}",
            lost + 1
        );
        assert!(found.damage[0].contains(&named), "{lost}: {found:?}");
        counts[lost] += 1;
    }
    assert!(counts.into_iter().all(|count| count > 0), "{counts:?}");
    let mut headless = sound.clone();
    headless[0] ^= 1;
    std::fs::write(journal, &headless).unwrap();
    let found = salvage(&copy, &saved).unwrap();
    assert!(found.damage[0].contains("does not begin with"), "{found:?}");
    headless[0] ^= 1;
    headless[12] ^= 1;
    std::fs::write(journal, &headless).unwrap();
    let found = salvage(&copy, &saved).unwrap();
    assert!(found.damage[0].contains("has lost its header"), "{found:?}");
    assert!(saved_documents(&saved).iter().eq(model.documents.values()));
    std::fs::remove_file(journal).unwrap();
    let found = salvage(&copy, &saved).unwrap();
    assert!(found.damage[0].contains("is missing"), "{found:?}");
    let stored = saved_documents(&saved);
    assert!(stored.iter().eq(tables.documents.values()));
}

#[test]
fn text_that_a_lost_commit_replaced_is_not_saved_as_the_text_of_a_later_commit() {
    let builder = || builder().keep_texts(true).copies(4);
    let fingerprint_of = |text: &str| Fingerprint::from_bits(text.len() as u64 * 0x0101_0101);
    let document = |id, text: &str| Document::new(id, fingerprint_of(text)).with_text(text);
    let texts = [
        "the ferry to the island was cancelled",
        "a fox was seen in the harbour",
    ];
    for is_in_tables in [true, false] {
        let (_folder, path, saved) = database_and_target();
        let open = builder().create(&path).unwrap();
        let changes = vec![Change::Insert(document(1_u64, texts[0]))];
        open.apply(changes).unwrap();
        let open = match is_in_tables {
            true => {
                open.close().unwrap();
                builder().open(&path).unwrap()
            }
            false => open,
        };
        open.apply(vec![Change::Upsert(document(1, texts[1]))])
            .unwrap();
        // Its copy changes the counts of the document, and keeps its text.
        let unique = Change::InsertUnique {
            document: document(2, texts[1]),
            radius: 3,
        };
        open.apply(vec![unique]).unwrap();
        let copy = path.with_extension("copy");
        copy_open(&path, &copy);
        drop(open);
        let journal = last_journal(&copy);
        let mut bytes = std::fs::read(&journal).unwrap();
        let text = texts[1].as_bytes();
        let at = bytes.windows(text.len()).position(|window| window == text);
        bytes[at.unwrap()] ^= 1;
        std::fs::write(&journal, bytes).unwrap();

        let found = builder().salvage(&copy, &saved, 16 << 20).unwrap();
        assert_eq!((found.documents, found.without_text), (1, 1), "{found:?}");
        let database = builder().open(&saved).unwrap();
        let stored = database.snapshot().unwrap().get(DocId(1)).unwrap().unwrap();
        assert_eq!(stored.text, None);
        assert_eq!(stored.fingerprint, fingerprint_of(texts[1]));
        assert_eq!(stored.copies.map(|copies| copies.count), Some(1));
    }
}

#[test]
fn key_whose_removal_is_lost_belongs_to_its_later_document() {
    let builder = || builder().keep_texts(true).keys(true);
    let document = |key: &str, n: u64| {
        let text = format!("the text number {n} of the document under {key}");
        Document::new(key, Fingerprint::from_bits(n)).with_text(text)
    };
    for is_in_tables in [true, false] {
        let (_folder, path, saved) = database_and_target();
        let open = builder().create(&path).unwrap();
        let both = [document("k", 1), document("other", 2)];
        open.apply(both.map(Change::Insert)).unwrap();
        let open = match is_in_tables {
            true => {
                open.close().unwrap();
                builder().open(&path).unwrap()
            }
            false => open,
        };
        open.apply([Change::RemoveKey("k".into())]).unwrap();
        let removal = usize::from(!is_in_tables);
        open.apply([Change::Insert(document("k", 3))]).unwrap();
        let copy = path.with_extension("copy");
        copy_open(&path, &copy);
        drop(open);
        let journal = last_journal(&copy);
        let mut bytes = std::fs::read(&journal).unwrap();
        // The headers of the records begin at multiples of 64; sequence numbers are at 16..24.
        let header = (64..bytes.len()).step_by(64).find(|at| {
            let number = u64::from_le_bytes(bytes[at + 16..at + 24].try_into().unwrap());
            let len = u32::from_le_bytes(bytes[at + 24..at + 28].try_into().unwrap());
            bytes[*at..at + 8] != [0; 8] && number == removal as u64 && (1..1_000).contains(&len)
        });
        bytes[header.unwrap()] ^= 1;
        std::fs::write(&journal, bytes).unwrap();

        let found = builder().salvage(&copy, &saved, 16 << 20).unwrap();
        let lost = format!("has lost record {removal}");
        assert!(found.damage[0].contains(&lost), "{found:?}");
        let database = builder().open(&saved).unwrap();
        let snapshot = database.snapshot().unwrap();
        let text = |key: &str| snapshot.get(key).unwrap().unwrap().text;
        assert_eq!(text("k"), document("k", 3).text);
        assert_eq!(text("other"), document("other", 2).text);
        assert_eq!((found.documents, snapshot.len().unwrap()), (2, 2));
    }
}

#[test]
fn journal_is_saved_without_its_file() {
    let (folder, path, saved) = database_and_target();
    let open = builder().create(&path).unwrap();
    let stored = documents(4, 0, 50);
    let changes = stored.iter().cloned().map(Change::Insert);
    open.apply(changes).unwrap();
    let copy = folder.path().join("copy.simdb");
    copy_open(&path, &copy);
    std::fs::write(&copy, vec![0; 100_000]).unwrap();
    let refused = salvage(&copy, &saved).unwrap_err().to_string();
    assert!(refused.contains("name the recipe"), "{refused}");
    // The specific advice replaces the general one.
    assert!(!refused.contains("backup"), "{refused}");
    let named = builder().recipe(simdb::Recipe::ngram());
    let found = named.salvage(&copy, &saved, 16 << 20).unwrap();
    assert!(!found.damage.is_empty(), "{found:?}");
    assert_eq!(found.documents, stored.len() as u64);
    assert!(saved_documents(&saved) == stored);
}

#[test]
fn non_database_is_refused() {
    let folder = folder();
    let saved = folder.path().join("saved");
    let refused = salvage(&folder.path().join("missing"), &saved).unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused:?}");
    let mut sequence = SplitMix(5);
    let random: Vec<u8> = (0..100_000).map(|_| sequence.next() as u8).collect();
    let text = b"this is a text, not a database\n".repeat(1_000);
    let path = folder.path().join("other");
    for bytes in [Vec::new(), vec![0; 50_000], random, text] {
        std::fs::write(&path, bytes).unwrap();
        let named = builder().recipe(simdb::Recipe::ngram());
        for builder in [builder(), named] {
            let refused = builder.salvage(&path, &saved, 16 << 20);
            let refused = refused.unwrap_err();
            assert!(
                matches!(&refused, Error::NothingToSalvage { path: said } if *said == path),
                "{refused:?}"
            );
            assert!(!saved.exists());
        }
    }
    let path = folder.path().join("docs.simdb");
    let held = builder().create(&path).unwrap();
    let refused = salvage(&path, &saved).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused:?}");
    drop(held);
}
