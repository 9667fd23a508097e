//! Memtables into the tables, in the background and at the end.

use crate::error::Result;
use crate::store::Store;
use crate::store::commit::flush::merge;
use crate::store::commit::write_lock::WriteGuard;
use crate::store::journal::Journal;
use crate::store::tables::schema::JournalMark;

impl Store {
    /// Merges what is set aside, as it is, until [`stop_flushing`](Self::stop_flushing) is called.
    pub(crate) fn flush_loop(&self) {
        loop {
            let mut memtables = self.commit_state.memtables.lock();
            while memtables.older.is_none() || memtables.is_poisoned {
                if memtables.is_closing {
                    return;
                }
                self.commit_state.memtables_changed.wait(&mut memtables);
            }
            if memtables.is_closing {
                return;
            }
            drop(memtables);
            if let Err(error) = self.flush_sealed() {
                self.fail(Some(error));
            }
        }
    }

    /// From now on nobody merges but who settles.
    pub(crate) fn stop_flushing(&self) {
        self.commit_state.memtables.lock().is_closing = true;
        self.commit_state.memtables_changed.notify_all();
    }

    /// Somebody merges again.
    pub(crate) fn start_flushing(&self) {
        self.commit_state.memtables.lock().is_closing = false;
    }

    /// Merges the tail that is set aside, if there is one.
    fn flush_sealed(&self) -> Result<()> {
        let _merging = self.commit_state.merging.lock();
        let (older, mark) = {
            let memtables = self.commit_state.memtables.lock();
            let Some(older) = memtables.older.clone() else {
                return Ok(());
            };
            let open = memtables.current.is_some();
            let merged_generation = memtables.generation - u64::from(open);
            let mark = JournalMark {
                open,
                merged_generation,
            };
            (older, mark)
        };
        let merged = self.db_path.guarded(|| {
            merge(
                &older.net_edits(older.len()),
                self.flush_options,
                || self.begin_on_tables(),
                |last| {
                    // It stays, also where its document went.
                    let counts = self.commit_state.memtables.lock().counts;
                    last.see_arrival(counts.and_then(|counts| counts.latest_arrival));
                    last.mark_journal(mark)
                },
            )
        });
        merged.map_err(|error| self.db_path.merging(error))?;
        let mut memtables = self.commit_state.memtables.lock();
        memtables.older = None;
        if !mark.open {
            memtables.counts = None;
        }
        self.commit_state.memtables_changed.notify_all();
        Ok(())
    }

    /// Merges everything: the tables then hold what the database holds.
    pub(crate) fn flush_all(&self, write_guard: &mut WriteGuard) -> Result<()> {
        self.refuse_if_poisoned()?;
        self.flush_sealed().inspect_err(|_| self.fail(None))?;
        {
            let mut memtables = self.commit_state.memtables.lock();
            let Some((tail, _)) = memtables.current.take() else {
                return Ok(());
            };
            memtables.older = Some(tail);
            *write_guard.active() = None;
        }
        self.flush_sealed().inspect_err(|_| self.fail(None))
    }

    /// How many memtables there were: each was merged before the next but one began.
    pub(crate) fn generation(&self) -> u64 {
        self.commit_state.memtables.lock().generation
    }

    /// Merges everything and removes the journals.
    pub(crate) fn close(&self) -> Result<()> {
        if self.refuse_changes().is_err() {
            return Ok(());
        }
        let mut write_guard = self.commit_state.write_lock.lock();
        self.flush_all(&mut write_guard)?;
        let mut memtables = self.commit_state.memtables.lock();
        if std::mem::take(&mut memtables.has_files) {
            let last = memtables.generation;
            for generation in [last.saturating_sub(1), last] {
                Journal::remove(&self.commit_state.file, generation, &self.db_path)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::super::PoisonOnPanic;
    use super::*;
    use crate::document::DocId;
    use crate::error::Error;
    use crate::fingerprint::Fingerprint;
    use crate::progress::ProgressHandler;
    use crate::store::maintenance::check;
    use crate::store::{DbPath, DocumentEdit, Header, StoredDocument, TextEdit};

    type Stored = BTreeMap<u64, u64>;

    fn state(bits: u64) -> StoredDocument {
        StoredDocument {
            fingerprint: Fingerprint::from_bits(bits),
            reliable: true,
            arrival: None,
        }
    }

    /// Commits what makes each document have this fingerprint, or none.
    fn commit(
        store: &Store,
        stored: &mut Stored,
        changes: impl Iterator<Item = (u64, Option<u64>)>,
    ) {
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
            }
        });
        let edits = edits.collect();
        store
            .commit(&mut store.lock_writes().unwrap(), edits, None)
            .unwrap();
    }

    fn assert_holds(store: &Store, stored: &Stored) {
        let view = store.read().unwrap();
        assert_eq!(view.len(), stored.len() as u64);
        let mut found = Stored::new();
        let mut from = DocId(0);
        loop {
            let page = view.documents_from(from).unwrap();
            let Some(last) = page.last() else {
                break;
            };
            from = DocId(last.id.0 + 1);
            let documents = page.into_iter();
            found.extend(documents.map(|document| (document.id.0, document.fingerprint.bits())));
        }
        assert_eq!(found, *stored);
    }

    fn header() -> Header {
        Header {
            recipe: String::new(),
            keep_texts: false,
            bands: None,
            frozen: false,
            retention: None,
        }
    }

    #[test]
    fn where_no_second_journal_can_be_created_the_tail_ends_and_a_commit_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = Store::create(&DbPath::of_system(&path), header(), 16 << 20).unwrap();
        let mut stored = Stored::new();
        commit(&store, &mut stored, [(0, Some(0))].into_iter());
        // Something that cannot be taken away has its name.
        let taken = folder.path().join("store.journal-2");
        std::fs::create_dir(&taken).unwrap();
        std::fs::write(taken.join("file"), "").unwrap();
        let insert = |id: u64| DocumentEdit {
            id: DocId(id),
            before: None,
            after: Some(state(id << 32)),
            text: TextEdit::Keep,
        };
        let mut told = None;
        for round in 1..100_u64 {
            let ids = round * 1000..round * 1000 + 100;
            let edits: Vec<DocumentEdit> = ids.clone().map(insert).collect();
            match store.commit(&mut store.lock_writes().unwrap(), edits, None) {
                Ok(()) => stored.extend(ids.map(|id| (id, id << 32))),
                Err(error) => {
                    told = Some(error);
                    break;
                }
            }
            assert!(store.read().unwrap().changes_in_tail() < 1000);
        }
        assert!(matches!(told, Some(Error::Io { .. })), "{told:?}");
        assert_holds(&store, &stored);
        std::fs::remove_dir_all(&taken).unwrap();
        commit(&store, &mut stored, [(1, Some(1))].into_iter());
        assert_holds(&store, &stored);
        store.close().unwrap();
        assert_holds(&store, &stored);
    }

    #[test]
    fn a_panic_within_a_commit_ends_all_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = Store::create(&DbPath::of_system(&path), header(), 16 << 20).unwrap();
        let mut stored = Stored::new();
        commit(&store, &mut stored, [(0, Some(0))].into_iter());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _pen = store.lock_writes().unwrap();
            let _in_both = PoisonOnPanic::new(&store);
            // Not a word on standard error.
            resume_unwind(Box::new("on purpose"));
        }));
        panicked.unwrap_err();
        let next = DocumentEdit {
            id: DocId(1),
            before: None,
            after: Some(state(1)),
            text: TextEdit::Keep,
        };
        let refused = store.commit(&mut store.lock_writes().unwrap(), vec![next], None);
        assert!(
            matches!(refused, Err(Error::WritesFailed { .. })),
            "{refused:?}"
        );
        assert_holds(&store, &stored);
    }

    /// A merge that is cut after any of its commits, a restart, and then changes of what was half
    /// merged, back and forth.
    #[test]
    fn what_a_merge_left_half_done_can_be_changed_again() {
        let fingerprint = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for commits in 0_u32.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store");
            let store = Store::create(&DbPath::of_system(&path), header(), 16 << 20).unwrap();
            let mut stored = Stored::new();
            commit(
                &store,
                &mut stored,
                (0..150).map(|id| (id, Some(fingerprint(id)))),
            );
            store.flush_all(&mut store.lock_writes().unwrap()).unwrap();
            let others = (100..200).map(|id| (id, Some(fingerprint(id) ^ 1)));
            commit(
                &store,
                &mut stored,
                others.chain((0..50).map(|id| (id, None))),
            );

            let edits = store.read().unwrap().edits_in_tail().concat();
            let left = Cell::new(commits);
            let begin = || match left.replace(left.get().wrapping_sub(1)) {
                0 => Err(Error::Interrupted { path: path.clone() }),
                _ => store.begin_on_tables(),
            };
            let merged = merge(&edits, store.flush_options(), begin, |_| {
                let path = path.clone();
                Err(Error::Interrupted { path })
            });
            assert!(merged.is_err());
            let is_last = left.get() != u32::MAX;
            drop(store);

            let mut store = Store::open(&DbPath::of_system(&path), 16 << 20).unwrap();
            assert_holds(&store, &stored);
            let removed = (100..130).chain(50..60).map(|id| (id, None));
            let back = (130..160).map(|id| (id, Some(fingerprint(id))));
            let again = (0..20).map(|id| (id, Some(fingerprint(id))));
            let anew = (160..220).map(|id| (id, Some(fingerprint(id) ^ 2)));
            commit(
                &store,
                &mut stored,
                removed.chain(back).chain(again).chain(anew),
            );
            assert_holds(&store, &stored);
            store.close().unwrap();
            assert_holds(&store, &stored);
            assert_eq!(
                check::check(&mut store, &ProgressHandler::default()).unwrap(),
                [""; 0]
            );
            if is_last {
                assert!(commits > 5, "only {commits} commits");
                return;
            }
        }
    }
}
