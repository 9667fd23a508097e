//! Tails into the tables, in the background and at the end.

use std::sync::PoisonError;

use crate::error::Result;
use crate::store::Store;
use crate::store::commit::flush::merge;
use crate::store::commit::write_lock::Pen;
use crate::store::journal::Journal;
use crate::store::tables::schema::JournalMark;

impl Store {
    /// Merges what is set aside, as it is, until [`stop_merging`](Self::stop_merging) is called.
    pub(crate) fn merge_as_it_comes(&self) {
        loop {
            let mut tails = self.online.tails();
            while tails.older.is_none() || tails.has_failed {
                if tails.is_closing {
                    return;
                }
                tails = self.online.wait(tails);
            }
            if tails.is_closing {
                return;
            }
            drop(tails);
            if let Err(error) = self.merge_older() {
                self.fail(Some(error));
            }
        }
    }

    /// From now on nobody merges but who settles.
    pub(crate) fn stop_merging(&self) {
        self.online.tails().is_closing = true;
        self.online.tails_changed.notify_all();
    }

    /// Somebody merges again.
    pub(crate) fn start_merging(&self) {
        self.online.tails().is_closing = false;
    }

    /// Merges the tail that is set aside, if there is one.
    fn merge_older(&self) -> Result<()> {
        let merging = self.online.merging.lock();
        let _merging = merging.unwrap_or_else(PoisonError::into_inner);
        let (older, mark) = {
            let tails = self.online.tails();
            let Some(older) = tails.older.clone() else {
                return Ok(());
            };
            let open = tails.current.is_some();
            let merged_generation = tails.generation - u64::from(open);
            let mark = JournalMark {
                open,
                merged_generation,
            };
            (older, mark)
        };
        let merged = self.place.guarded(|| {
            merge(
                &older.net_edits(older.len()),
                self.pace,
                || self.begin_on_tables(),
                |last| {
                    // It stays, also where its document went.
                    let counts = self.online.tails().counts;
                    last.see_arrival(counts.and_then(|counts| counts.latest_arrival));
                    last.mark_journal(mark)
                },
            )
        });
        merged.map_err(|error| self.place.merging(error))?;
        let mut tails = self.online.tails();
        tails.older = None;
        if !mark.open {
            tails.counts = None;
        }
        self.online.tails_changed.notify_all();
        Ok(())
    }

    /// Merges everything: the tables then hold what the database holds.
    pub(crate) fn settle(&self, pen: &mut Pen) -> Result<()> {
        self.refuse_if_failed()?;
        self.merge_older().inspect_err(|_| self.fail(None))?;
        {
            let mut tails = self.online.tails();
            let Some((tail, _)) = tails.current.take() else {
                return Ok(());
            };
            tails.older = Some(tail);
            *pen.writing() = None;
        }
        self.merge_older().inspect_err(|_| self.fail(None))
    }

    /// How many tails there were: each was merged before the next but one began.
    pub(crate) fn generation(&self) -> u64 {
        self.online.tails().generation
    }

    /// Merges everything and removes the journals.
    pub(crate) fn close(&self) -> Result<()> {
        if self.refuse_changes().is_err() {
            return Ok(());
        }
        let mut pen = self.online.pen.take();
        self.settle(&mut pen)?;
        let mut tails = self.online.tails();
        if std::mem::take(&mut tails.has_files) {
            let last = tails.generation;
            for generation in [last.saturating_sub(1), last] {
                Journal::remove(&self.online.file, generation, &self.place)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::super::FailsWithPanic;
    use super::*;
    use crate::document::DocId;
    use crate::error::Error;
    use crate::fingerprint::Fingerprint;
    use crate::store::maintenance::check;
    use crate::store::{DocumentEdit, Header, Place, State, TextEdit};

    type Stored = BTreeMap<u64, u64>;

    fn state(bits: u64) -> State {
        State {
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
            .commit(&mut store.take_pen().unwrap(), edits, None)
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
        let store = Store::create(&Place::of_system(&path), header(), 16 << 20).unwrap();
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
            match store.commit(&mut store.take_pen().unwrap(), edits, None) {
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
        let store = Store::create(&Place::of_system(&path), header(), 16 << 20).unwrap();
        let mut stored = Stored::new();
        commit(&store, &mut stored, [(0, Some(0))].into_iter());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _pen = store.take_pen().unwrap();
            let _in_both = FailsWithPanic::new(&store);
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
        let refused = store.commit(&mut store.take_pen().unwrap(), vec![next], None);
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
            let store = Store::create(&Place::of_system(&path), header(), 16 << 20).unwrap();
            let mut stored = Stored::new();
            commit(
                &store,
                &mut stored,
                (0..150).map(|id| (id, Some(fingerprint(id)))),
            );
            store.settle(&mut store.take_pen().unwrap()).unwrap();
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
            let merged = merge(&edits, store.pace(), begin, |_| {
                let path = path.clone();
                Err(Error::Interrupted { path })
            });
            assert!(merged.is_err());
            let is_last = left.get() != u32::MAX;
            drop(store);

            let mut store = Store::open(&Place::of_system(&path), 16 << 20).unwrap();
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
                check::check(&mut store, &mut |_, _| ControlFlow::Continue(())).unwrap(),
                [""; 0]
            );
            if is_last {
                assert!(commits > 5, "only {commits} commits");
                return;
            }
        }
    }
}
