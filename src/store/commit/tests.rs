//! Commits and flushes that fail or are cut short.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use super::flush::flush_edits;
use crate::error::Error;
use crate::ids::{DocId, Fingerprint};
use crate::store::limits::Limits;
use crate::store::maintenance::check;
use crate::store::{DbPath, DocumentEdit, Header, Store, StoredDocument, TextEdit};

type Stored = BTreeMap<u64, u64>;

fn state(bits: u64) -> StoredDocument {
    StoredDocument {
        fingerprint: Fingerprint::from_bits(bits),
        reliable: true,
        arrival: None,
    }
}

/// Commits the given changes: a new fingerprint for a document, or its removal.
fn commit(store: &Store, stored: &mut Stored, changes: impl Iterator<Item = (u64, Option<u64>)>) {
    let edits = changes.map(|(id, bits)| {
        let before = match bits {
            Some(bits) => stored.insert(id, bits),
            None => stored.remove(&id),
        };
        DocumentEdit {
            id: DocId(id),
            before: before.map(state),
            after: bits.map(state),
            text: TextEdit::Keep,
            copies: None,
        }
    });
    let edits = edits.collect();
    store
        .commit(&mut store.lock_writes().unwrap(), edits, None)
        .unwrap();
}

fn assert_holds(store: &Store, stored: &Stored) {
    let view = store.read().unwrap();
    assert_eq!(view.stored_len(), stored.len() as u64);
    let documents = view.documents_from(DocId(0)).map(Result::unwrap);
    let found: Stored = documents
        .map(|document| (document.id.0, document.fingerprint.bits()))
        .collect();
    assert_eq!(found, *stored);
}

fn create(path: &Path) -> Store {
    let header = Header {
        recipe: String::new(),
        keep_texts: false,
        text_keys: None,
        frozen: false,
        retention: None,
        keys: false,
        fields: false,
        copies: 0,
        scopes: false,
        frames: 0,
    };
    Store::create(
        &DbPath::on_system_disk(path),
        header,
        16 << 20,
        Limits::small(),
    )
    .unwrap()
}

#[test]
fn without_second_journal_memtable_stays_bounded_and_commit_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = create(&path);
    let mut stored = Stored::new();
    commit(&store, &mut stored, [(0, Some(0))].into_iter());
    // The name of the second journal is taken by a folder that cannot be removed.
    let taken = folder.path().join("store.journal-2");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("file"), "").unwrap();
    let insert = |id: u64| DocumentEdit {
        id: DocId(id),
        before: None,
        after: Some(state(id << 32)),
        text: TextEdit::Keep,
        copies: None,
    };
    let mut failed = None;
    for round in 1..100_u64 {
        let ids = round * 1000..round * 1000 + 100;
        let edits: Vec<DocumentEdit> = ids.clone().map(insert).collect();
        match store.commit(&mut store.lock_writes().unwrap(), edits, None) {
            Ok(()) => stored.extend(ids.map(|id| (id, id << 32))),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        assert!(store.read().unwrap().unflushed_changes() < 1000);
    }
    assert!(matches!(failed, Some(Error::Io { .. })), "{failed:?}");
    assert_holds(&store, &stored);
    std::fs::remove_dir_all(&taken).unwrap();
    commit(&store, &mut stored, [(1, Some(1))].into_iter());
    assert_holds(&store, &stored);
    store.close().unwrap();
    assert_holds(&store, &stored);
}

#[test]
fn panic_within_commit_poisons_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = create(&path);
    let mut stored = Stored::new();
    commit(&store, &mut stored, [(0, Some(0))].into_iter());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _write_guard = store.lock_writes().unwrap();
        // `panic!` would print a message and a backtrace.
        store.poisoned_by_panic(|| resume_unwind(Box::new("on purpose")))
    }));
    panicked.unwrap_err();
    let next = DocumentEdit {
        id: DocId(1),
        before: None,
        after: Some(state(1)),
        text: TextEdit::Keep,
        copies: None,
    };
    let refused = store.commit(&mut store.lock_writes().unwrap(), vec![next], None);
    assert!(
        matches!(refused, Err(Error::WritesFailed { .. })),
        "{refused:?}"
    );
    assert_holds(&store, &stored);
}

/// For each transaction of a flush: the flush fails there, the database is reopened, and documents
/// that are in some tables only are changed again.
#[test]
fn documents_of_interrupted_flush_can_be_changed_after_reopen() {
    let fingerprint = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for commits in 0_u32.. {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = create(&path);
        let mut stored = Stored::new();
        commit(
            &store,
            &mut stored,
            (0..150).map(|id| (id, Some(fingerprint(id)))),
        );
        store.flush_all(&mut store.lock_writes().unwrap()).unwrap();
        // Changed, inserted and removed documents, in the memtable only.
        let changed = (100..200).map(|id| (id, Some(fingerprint(id) ^ 1)));
        commit(
            &store,
            &mut stored,
            changed.chain((0..50).map(|id| (id, None))),
        );

        // The flush fails after `commits` transactions, at the latest before its last one.
        let edits = store.read().unwrap().unflushed_edits().concat();
        let remaining = Cell::new(commits);
        let begin = || match remaining.replace(remaining.get().wrapping_sub(1)) {
            0 => Err(Error::Interrupted { path: path.clone() }),
            _ => store.begin_on_tables(),
        };
        let flushed = flush_edits(&edits, store.flush_options, begin, |_| {
            let path = path.clone();
            Err(Error::Interrupted { path })
        });
        assert!(flushed.is_err());
        // Wrapped to `u32::MAX` if a transaction was refused.
        let is_complete = remaining.get() != u32::MAX;
        drop(store);

        let store = Store::open(&DbPath::on_system_disk(&path), 16 << 20, Limits::small()).unwrap();
        assert_holds(&store, &stored);
        let removed = (100..130).chain(50..60).map(|id| (id, None));
        let changed_back = (130..160).map(|id| (id, Some(fingerprint(id))));
        let reinserted = (0..20).map(|id| (id, Some(fingerprint(id))));
        let changed_again = (160..220).map(|id| (id, Some(fingerprint(id) ^ 2)));
        commit(
            &store,
            &mut stored,
            removed
                .chain(changed_back)
                .chain(reinserted)
                .chain(changed_again),
        );
        assert_holds(&store, &stored);
        store.close().unwrap();
        assert_holds(&store, &stored);
        assert_eq!(
            check::check(&store, &crate::progress::ProgressHandler::default()).unwrap(),
            [""; 0]
        );
        if is_complete {
            assert!(commits > 5, "only {commits} commits");
            return;
        }
    }
}
