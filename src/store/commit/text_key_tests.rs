//! The documents of every forest key equal the documents of a plain map, after any sequence of
//! commits, flushes, crashes, bulk loads and copies.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tempfile::TempDir;

use crate::analysis::Analysed;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::forest::{self, ForestSearch, Reach};
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::progress::ProgressHandler;
use crate::retention::Retention;
use crate::store::bulk::Load;
use crate::store::commit::flush::flush_edits;
use crate::store::commit::flush_options::FlushOptions;
use crate::store::limits::Limits;
use crate::store::maintenance::{check, copy};
use crate::store::{DbPath, DocumentEdit, Header, Store, StoredDocument, TextEdit, View};

const CACHE_BYTES: usize = 16 << 20;
const MEMORY_BYTES: u64 = 16 << 20;
/// The number of texts, and of endings with the same beginning.
const TEXTS: usize = 12;
const ENDINGS: usize = 4;
/// With retention, a document expires 50 ms before the latest arrival.
const WINDOW_MS: u64 = 50;

/// With more than 200 changes in the memtables, a commit flushes first. Without a flush thread, a
/// writer that had to wait for a flush would wait for ever.
const MAX_UNFLUSHED: u64 = 200;

/// One of the texts. Texts with the same beginning share minima.
fn text(number: usize) -> String {
    let beginnings = [
        "the quick brown fox jumps over the lazy dog and runs away from all of it",
        "海内存知己，天涯若比邻。无为在歧路，儿女共沾巾。",
        "short",
    ];
    let endings = [
        "",
        " again",
        "!",
        " once more, and then never again in this life",
    ];
    format!(
        "{}{}",
        beginnings[number / ENDINGS],
        endings[number % ENDINGS]
    )
}

fn header(retention: Option<Retention>, frozen: bool) -> Header {
    Header {
        recipe: String::new(),
        keep_texts: true,
        text_keys: Some(forest::description()),
        frozen,
        retention,
        keys: false,
        fields: false,
        copies: 0,
        scopes: false,
        frames: 0,
    }
}

fn create(path: &Path, header: Header) -> Result<Store> {
    Store::create(
        &DbPath::on_system_disk(path),
        header,
        CACHE_BYTES,
        Limits::small(),
    )
}

fn open(path: &Path) -> Store {
    Store::open(&DbPath::on_system_disk(path), CACHE_BYTES, Limits::small()).unwrap()
}

fn flush_options() -> FlushOptions {
    FlushOptions::new(Limits::small().flush_changes(true))
}

fn window() -> Retention {
    Retention {
        window: Some(Duration::from_millis(WINDOW_MS)),
        sliding: true,
        ..Retention::default()
    }
}

/// The expected documents, each with the number of its text.
type Stored = BTreeMap<u64, (StoredDocument, Option<usize>)>;

/// A database and a plain map of its expected content.
struct CheckedStore {
    store: Option<Store>,
    path: PathBuf,
    stored: Stored,
    /// The forest keys of each text.
    keys: Vec<Vec<u64>>,
    keeps_arrivals: bool,
    latest: u64,
    folder: TempDir,
}

/// A change of one document.
#[derive(Clone, Debug)]
enum Edit {
    Put(usize),
    PutWithoutText,
    Remove,
    /// A new arrival time; the text stays.
    Refresh,
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(u64, Edit)>),
    /// Enough edits to seal a memtable: first id, number of the first text.
    Flood(u64, usize),
    FlushAll,
    Kill,
    /// A flush of the oldest memtable fails after this number of transactions, and the process
    /// ends.
    InterruptFlush(u32),
    Bulk(Vec<(u64, Option<usize>)>),
    Backup,
    Vacuum,
}

impl CheckedStore {
    fn new(retention: Option<Retention>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        Self {
            store: Some(create(&path, header(retention, false)).unwrap()),
            path,
            stored: Stored::new(),
            keys: (0..TEXTS)
                .map(|number| forest::keys(&text(number)))
                .collect(),
            keeps_arrivals: retention.is_some(),
            latest: 0,
            folder,
        }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(open(&self.path));
    }

    /// A document that arrives now.
    fn arriving(&mut self, id: u64) -> StoredDocument {
        self.latest += 3;
        StoredDocument {
            fingerprint: Fingerprint::from_bits(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            reliable: !id.is_multiple_of(3),
            arrival: self.keeps_arrivals.then_some(Timestamp(self.latest)),
        }
    }

    fn commit(&mut self, changes: &[(u64, Edit)]) {
        if self.store().read().unwrap().unflushed_changes() > MAX_UNFLUSHED {
            self.step(&Step::FlushAll);
        }
        let mut edits = BTreeMap::new();
        for (id, change) in changes {
            let before = self.stored.get(id).copied();
            let (after, edit) = match change {
                Edit::Put(number) => {
                    let keyed = Arc::new(Analysed::keyed(text(*number)));
                    (
                        Some((self.arriving(*id), Some(*number))),
                        TextEdit::Put(keyed),
                    )
                }
                Edit::PutWithoutText => (Some((self.arriving(*id), None)), TextEdit::Remove),
                Edit::Remove => (None, TextEdit::Remove),
                Edit::Refresh => {
                    let arrival = self.arriving(*id).arrival;
                    let refresh = |(state, text)| (StoredDocument { arrival, ..state }, text);
                    (before.map(refresh), TextEdit::Keep)
                }
            };
            // A commit edits a document at most once.
            if edits.contains_key(id) {
                continue;
            }
            let state = |stored: Option<(StoredDocument, _)>| stored.map(|(state, _)| state);
            edits.insert(
                *id,
                DocumentEdit {
                    id: DocId(*id),
                    before: state(before),
                    after: state(after),
                    text: edit,
                    copies: None,
                },
            );
            match after {
                Some(after) => self.stored.insert(*id, after),
                None => self.stored.remove(id),
            };
        }
        let latest = self.keeps_arrivals.then_some(Timestamp(self.latest));
        let mut write_guard = self.store().lock_writes().unwrap();
        let edits = edits.into_values().collect();
        self.store()
            .commit(&mut write_guard, edits, latest)
            .unwrap();
    }

    fn bulk_load(&mut self, documents: &[(u64, Option<usize>)]) {
        // The load removes expired documents, so their ids are free.
        let expiry = self.store().read().unwrap().expiry();
        self.stored
            .retain(|_, (state, _)| !expiry.is_expired(state.arrival));
        let mut load = Load::into_existing(self.store(), MEMORY_BYTES).unwrap();
        let mut pushed = Vec::new();
        for (id, number) in documents {
            let state = self.arriving(*id);
            pushed.push((*id, (state, *number)));
            load.push(document(*id, state, *number)).unwrap();
        }
        load.finish(&ProgressHandler::default(), &mut |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
        // The load keeps no document that has expired by its end.
        let expiry = self.store().read().unwrap().expiry();
        let mut loaded = BTreeMap::new();
        for (id, document) in pushed {
            if !self.stored.contains_key(&id) {
                loaded.entry(id).or_insert(document);
            }
        }
        loaded.retain(|_, (state, _)| !expiry.is_expired(state.arrival));
        self.stored.extend(loaded);
    }

    /// Flushes the oldest memtable in `commits` transactions, then fails, and reopens the database.
    fn interrupt_flush(&mut self, commits: u32) {
        let store = self.store();
        let Some(edits) = store.read().unwrap().unflushed_edits().into_iter().next() else {
            return;
        };
        let interrupted = || Error::Interrupted {
            path: self.path.clone(),
        };
        let remaining = Cell::new(commits);
        let begin = || match remaining.replace(remaining.get().saturating_sub(1)) {
            0 => Err(interrupted()),
            _ => store.begin_on_tables(),
        };
        assert!(flush_edits(&edits, flush_options(), begin, |_| Err(interrupted())).is_err());
        self.assert_answers();
        self.reopen();
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Commit(changes) => self.commit(changes),
            Step::Flood(from, number) => {
                let flood: Vec<_> = (0..300)
                    .map(|n| match n % 7 {
                        6 => (from + n, Edit::Remove),
                        _ => (from + n, Edit::Put((number + n as usize % 2) % TEXTS)),
                    })
                    .collect();
                self.commit(&flood);
            }
            Step::FlushAll => {
                let mut write_guard = self.store().lock_writes().unwrap();
                self.store().flush_all(&mut write_guard).unwrap();
            }
            Step::Kill => self.reopen(),
            Step::InterruptFlush(commits) => self.interrupt_flush(*commits),
            Step::Bulk(documents) => self.bulk_load(documents),
            Step::Backup => {
                let path = self.folder.path().join("backup");
                copy::backup(self.store(), &path, &ProgressHandler::default()).unwrap();
                let backup = open(&path);
                self.assert_answers_of(&backup);
                assert_sound(backup);
                std::fs::remove_file(&path).unwrap();
            }
            Step::Vacuum => {
                self.store = None;
                let db_path = DbPath::on_system_disk(&self.path);
                copy::vacuum(&db_path, false, None, &ProgressHandler::default()).unwrap();
                self.reopen();
            }
        }
    }

    fn assert_answers(&self) {
        self.assert_answers_of(self.store());
    }

    /// Compares the documents of each key of each text with the plain map.
    fn assert_answers_of(&self, store: &Store) {
        let view = store.read().unwrap();
        let mut expected: BTreeMap<u64, Vec<DocId>> = BTreeMap::new();
        for key in self.keys.iter().flatten() {
            expected.insert(*key, Vec::new());
        }
        for (id, (state, number)) in &self.stored {
            if view.expiry().is_expired(state.arrival) {
                continue;
            }
            for key in number.iter().flat_map(|number| &self.keys[*number]) {
                expected.entry(*key).or_default().push(DocId(*id));
            }
        }
        for (key, documents) in &expected {
            assert_eq!(documents_of(&view, &[*key]), *documents);
        }
        let keys: Vec<u64> = expected.keys().rev().copied().collect();
        let all: BTreeSet<DocId> = expected.values().flatten().copied().collect();
        let by_key = expected;
        assert!(documents_of(&view, &keys).iter().eq(&all));
        assert_eq!(documents_of(&view, &[7]), []);
        // Twice: the second search reads nodes from the cache.
        for _ in 0..2 {
            for (number, keys) in self.keys.iter().enumerate() {
                let query = Analysed::new(&text(number));
                let search = ForestSearch::new(&query, Reach::ALIKE, 0.5);
                let found = view.candidates_in_forest(&search, &IdRanges::ALL).unwrap();
                // Copies are in the nodes of their own text, and no other document is found.
                let copies = keys.iter().flat_map(|key| &by_key[key]);
                assert!(copies.clone().all(|id| found.binary_search(id).is_ok()));
                assert!(found.iter().all(|id| all.contains(id)));
            }
        }
    }
}

fn documents_of(view: &View, keys: &[u64]) -> Vec<DocId> {
    let search = ForestSearch::of_keys(keys.to_vec());
    view.candidates_in_forest(&search, &IdRanges::ALL).unwrap()
}

fn document(id: u64, state: StoredDocument, number: Option<usize>) -> Document {
    Document {
        reliable: state.reliable,
        arrival: state.arrival,
        text: number.map(text),
        ..Document::new(DocId(id), state.fingerprint)
    }
}

fn assert_sound(store: Store) {
    assert_eq!(
        check::check(&store, &ProgressHandler::default()).unwrap(),
        [""; 0]
    );
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = 0..40_u64;
    let edit = prop_oneof![
        4 => (0..TEXTS).prop_map(Edit::Put),
        1 => Just(Edit::PutWithoutText),
        2 => Just(Edit::Remove),
        1 => Just(Edit::Refresh),
    ];
    let pushed = (id.clone(), proptest::option::weighted(0.8, 0..TEXTS));
    prop_oneof![
        8 => vec((id, edit), 1..25).prop_map(Step::Commit),
        2 => (0..200_u64, 0..TEXTS).prop_map(|(from, text)| Step::Flood(from, text)),
        2 => Just(Step::FlushAll),
        2 => Just(Step::Kill),
        3 => (0..30_u32).prop_map(Step::InterruptFlush),
        2 => vec(pushed, 0..30).prop_map(Step::Bulk),
        1 => Just(Step::Backup),
        1 => Just(Step::Vacuum),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/proptest-regressions/forest.txt",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn documents_of_every_key_equal_plain_map(
        steps in vec(any_step(), 1..20),
        expires: bool,
    ) {
        let mut checked = CheckedStore::new(expires.then(window));
        for step in &steps {
            checked.step(step);
            checked.assert_answers();
        }
        let store = checked.store.take().unwrap();
        store.close().unwrap();
        checked.assert_answers_of(&store);
        assert_sound(store);
    }
}

/// The memtable gives documents other texts or removes them. The flush fails after each of its
/// first eight transactions, then after every fifth.
#[test]
fn flush_interrupted_at_any_transaction_and_repeated_gives_same_forest() {
    let mut seen_all = false;
    for commits in (0..8).chain((8..).step_by(5)) {
        let mut checked = CheckedStore::new(None);
        checked.step(&Step::Flood(0, 0));
        checked.step(&Step::FlushAll);
        checked.step(&Step::Flood(100, 5));
        let view = checked.store().read().unwrap();
        let edits = view.unflushed_edits().concat();
        drop(view);
        let begun = Cell::new(0);
        let begin = || {
            begun.set(begun.get() + 1);
            if begun.get() > commits {
                Err(interrupted(&checked.path))
            } else {
                checked.store().begin_on_tables()
            }
        };
        assert!(
            flush_edits(&edits, flush_options(), begin, |_| Err(interrupted(
                &checked.path
            )))
            .is_err()
        );
        seen_all |= begun.get() <= commits;
        checked.assert_answers();
        checked.reopen();
        checked.assert_answers();
        checked.step(&Step::Commit(vec![(101, Edit::Put(9)), (5, Edit::Remove)]));
        checked.step(&Step::FlushAll);
        checked.assert_answers();
        assert_sound(checked.store.take().unwrap());
        if seen_all {
            assert!(commits > 15, "only {commits} commits");
            return;
        }
    }
}

fn interrupted(path: &Path) -> Error {
    Error::Interrupted {
        path: path.to_path_buf(),
    }
}

/// More documents than the sort holds in memory. Some ids are repeated: first without a text, then
/// with one. The first document counts, so its later text and forest keys must be removed.
#[test]
fn bulk_loaded_file_holds_forest_of_its_texts() -> Result<()> {
    const COUNT: u64 = 12_000;
    for frozen in [false, true] {
        let mut checked = CheckedStore::new(None);
        checked.store = None;
        checked.path = checked.folder.path().join("loaded");
        let mut load = Load::create(
            &DbPath::on_system_disk(&checked.path),
            &header(None, frozen),
            MEMORY_BYTES,
        )?;
        let mut with_later_text = BTreeSet::new();
        for n in 0..COUNT {
            // Every id twice, the second time with another text.
            let id = n.wrapping_mul(7_919) % (COUNT / 2);
            let number = (!n.is_multiple_of(7)).then_some((n % TEXTS as u64) as usize);
            let state = checked.arriving(id);
            load.push(document(id, state, number))?;
            let (_, first) = *checked.stored.entry(id).or_insert((state, number));
            if first.is_none() && number.is_some() {
                with_later_text.insert(id);
            }
        }
        assert!(with_later_text.len() > 100);
        load.finish(&ProgressHandler::default(), &mut |_| {
            ControlFlow::Continue(())
        })?;
        let store = open(&checked.path);
        checked.assert_answers_of(&store);
        let stats = crate::store::maintenance::stats::stats(&store.read()?)?;
        let forest = stats
            .tables
            .iter()
            .find(|table| table.name == "forest")
            .unwrap();
        let keys = |(_, number): &(StoredDocument, Option<usize>)| {
            number.map_or(0, |n| checked.keys[n].len())
        };
        let expected: usize = checked.stored.values().map(keys).sum();
        assert_eq!(forest.entries, expected as u64);
        if frozen {
            // A chunk of one key ends where the next key would make all its entries wider.
            assert!(forest.fill > 0.75, "{}", forest.fill);
            drop(store);
            let store = open(&checked.path);
            assert_eq!(check::check(&store, &ProgressHandler::default())?, [""; 0]);
        } else {
            assert_sound(store);
        }
    }
    Ok(())
}

#[test]
fn file_with_another_forest_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let other = Header {
        text_keys: Some("other forest".to_owned()),
        ..header(None, false)
    };
    let refused = create(&path, other);
    let Err(Error::ForestMismatch { stored, known, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (stored.as_str(), known),
        ("other forest", forest::description())
    );
}
