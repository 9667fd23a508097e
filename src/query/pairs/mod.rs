//! All pairs of documents within a radius.
//!
//! Copies, the documents of one fingerprint, are found in one walk through the documents in order of
//! their fingerprints ([`copies`]); pairs of distinct fingerprints in one walk through each block's
//! table ([`tasks`], [`join`]); the documents of these, in `block0` ([`postings`]). The work is done
//! by the database's own threads, some of it at a time; in between they are idle, so that a visitor
//! may use the database.

mod copies;
mod join;
mod postings;
mod tasks;

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::limits::QueryLimits;
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::{FingerprintSource, SnapshotTables, View};
use copies::CopyScan;
use postings::PostingLists;
use tasks::{FingerprintPair, JoinQueue};

/// Tasks that are done at a time, at least or for each core: the more, the less the cores wait for
/// each other; the fewer, the sooner a visitor is asked whether to go on.
const MIN_TASKS_AT_ONCE: usize = 16;
const TASKS_AT_ONCE_PER_CORE: usize = 4;
/// Share of the time that finding copies takes, about.
const COPIES_SHARE: f64 = 0.15;

/// Two documents whose fingerprints differ, in few bits: a claim about bits, not about meaning.
///
/// Pairs are ordered by the first document, then by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The document with the smaller id.
    pub a: DocId,
    /// The document with the larger id.
    pub b: DocId,
    /// The fingerprints of both, in this order.
    pub fingerprints: [Fingerprint; 2],
    /// Number of bits in which the fingerprints differ.
    pub distance: u32,
}

impl Pair {
    /// The pair of two documents, in whichever order they are given.
    pub(crate) fn new(one: (DocId, Fingerprint), other: (DocId, Fingerprint)) -> Self {
        let (first, second) = if one.0 <= other.0 {
            (one, other)
        } else {
            (other, one)
        };
        Self {
            a: first.0,
            b: second.0,
            fingerprints: [first.1, second.1],
            distance: first.1.distance(second.1),
        }
    }
}

/// An event that [`Snapshot::pairs`](crate::Snapshot::pairs) passes to its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PairsEvent<'p> {
    /// The documents of a fingerprint that several documents have. Each such fingerprint comes once,
    /// and all of them before the first pair.
    Copies {
        /// The fingerprint.
        fingerprint: Fingerprint,
        /// All documents that have it, two or more, in order of their ids. In pairs the first of them
        /// stands for all.
        documents: &'p [DocId],
    },
    /// Some pairs of documents with different fingerprints, in order; two events are in no order. Each
    /// pair of fingerprints comes once, with the smallest id of the documents that have each.
    Pairs(&'p [Pair]),
}

/// Calls `visitor` with all pairs within the radius until it breaks. Returns `Break` if it did.
pub(crate) fn pairs(
    view: &View,
    radius: u32,
    limits: &QueryLimits,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(PairsEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut progress = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
    let postings = PostingLists::new(view);

    // Copies come first, because a pair names only the first document that has a fingerprint.
    let mut copies = CopyScan::new(&postings, limits);
    let copies_share = if radius == 0 { 1.0 } else { COPIES_SHARE };
    while !copies.is_done() {
        for (fingerprint, documents) in copies.run_next()? {
            let event = PairsEvent::Copies {
                fingerprint,
                documents: &documents,
            };
            if visitor(event).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        progress.advance_to_share(copies.done() * copies_share)?;
    }
    if radius == 0 {
        progress.finish()?;
        return Ok(ControlFlow::Continue(()));
    }

    let memtable = postings.memtable_fingerprints();
    let mut queue = JoinQueue::new(&view.tables, &memtable, radius, limits);
    let mut found = Vec::new();
    while !queue.is_done() {
        queue.run_next(&mut found)?;
        // A look-up of many fingerprints descends to each chunk of `block0` once, a look-up of two
        // fingerprints twice for each pair.
        if found.len() >= limits.pairs_per_lookup || queue.is_done() {
            let pairs = look_up(&postings, &found)?;
            found.clear();
            if !pairs.is_empty() && visitor(PairsEvent::Pairs(&pairs)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        progress.advance_to_share(copies_share + queue.done() * (1.0 - copies_share))?;
    }
    progress.finish()?;
    Ok(ControlFlow::Continue(()))
}

/// Returns the first documents of these fingerprints, in order. A pair is left out if no document
/// that answers queries has one of its fingerprints: the block tables still hold the fingerprint of a
/// document that was removed since the last flush, or that has expired.
fn look_up(postings: &PostingLists<'_>, found: &[FingerprintPair]) -> Result<Vec<Pair>> {
    let tables = &postings.view.tables;
    let mut fingerprints: Vec<u64> = found
        .iter()
        .flat_map(|(a, b)| [a.bits(), b.bits()])
        .collect();
    tables.in_parallel(|| fingerprints.par_sort_unstable());
    fingerprints.dedup();
    let first_documents = postings.first_documents(&fingerprints)?;
    let with_document = |fingerprint: Fingerprint| {
        let index = first_documents.binary_search_by_key(&fingerprint.bits(), |(bits, _)| *bits);
        let (_, id) = first_documents.get(index.ok()?)?;
        Some((*id, fingerprint))
    };
    Ok(tables.in_parallel(|| {
        let mut pairs: Vec<Pair> = found
            .par_iter()
            .with_min_len(1024)
            .filter_map(|(a, b)| Some(Pair::new(with_document(*a)?, with_document(*b)?)))
            .collect();
        pairs.par_sort_unstable();
        pairs
    }))
}

/// Takes the next tasks off the end of `open`, and does each in one of the database's own threads.
/// Returns their outcomes in the order in which they stood there.
fn run_concurrently<T: Send, O: Send>(
    tables: &SnapshotTables,
    open: &mut Vec<T>,
    run: impl Fn(T) -> Result<O> + Send + Sync,
) -> Result<Vec<O>> {
    tables.in_parallel(|| {
        let at_once = MIN_TASKS_AT_ONCE.max(TASKS_AT_ONCE_PER_CORE * rayon::current_num_threads());
        open.split_off(open.len().saturating_sub(at_once))
            .into_par_iter()
            .with_max_len(1)
            .map(run)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hamming;
    use crate::query::fixtures::store_of;
    use crate::store::{DocumentEdit, StoredDocument, TextEdit};

    /// Fingerprints among which there are pairs at every small distance, some very often, and in the
    /// crowded case most in one prefix.
    fn fingerprints(count: usize, is_crowded: bool) -> Vec<u64> {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ state >> 32
        };
        let mut list: Vec<u64> = vec![random()];
        while list.len() < count {
            let near = list[random() as usize % list.len()];
            list.push(match random() % 5 {
                0 => near,
                1 | 2 if is_crowded => random() >> 40,
                1 | 2 => random(),
                flips => (0..2 * flips).fold(near, |near, _| near ^ 1 << (random() % 64)),
            });
        }
        list
    }

    fn distinct(list: &[u64]) -> Vec<u64> {
        let mut distinct = list.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        distinct
    }

    #[test]
    fn join_queue_finds_each_pair_of_tables_and_memtable_once() {
        let limits = QueryLimits::small();
        for is_crowded in [false, true] {
            let list = fingerprints(2000, is_crowded);
            let folder = tempfile::tempdir().unwrap();
            // Two hundred are in both.
            let (stored, memtable) = (&list[..1400], distinct(&list[1200..]));
            let store = store_of(&folder, stored.iter().copied().map(Fingerprint::from_bits));
            let view = store.read().unwrap();
            let all = distinct(&list);
            for radius in [1, 2, 3, 4, 6, 8, 28] {
                let mut expected = Vec::new();
                hamming::push_pairs_among(&all, radius, &mut expected);
                let mut queue = JoinQueue::new(&view.tables, &memtable, radius, &limits);
                let mut pairs = Vec::new();
                let mut turns = 0;
                while !queue.is_done() {
                    queue.run_next(&mut pairs).unwrap();
                    turns += 1;
                }
                assert!((0.999..1.001).contains(&queue.done()));
                assert!(turns > 2);
                let bits =
                    |(a, b): &FingerprintPair| (a.bits().min(b.bits()), a.bits().max(b.bits()));
                let mut found: Vec<(u64, u64)> = pairs.iter().map(bits).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert!(found == expected, "radius {radius}, crowded {is_crowded}");
            }
        }
    }

    #[test]
    fn each_group_of_copies_is_reported_once_and_whole() {
        let mut list = fingerprints(3000, false);
        list.extend([0, u64::MAX].repeat(300));
        let folder = tempfile::tempdir().unwrap();
        let store = store_of(&folder, list.iter().copied().map(Fingerprint::from_bits));
        // In the memtable some are removed, some changed and some new.
        let mut current: Vec<Option<u64>> = list.iter().copied().map(Some).collect();
        for (id, bits) in list.iter().enumerate().step_by(10) {
            current[id] = (id % 20 == 0).then_some(!bits);
        }
        current.extend(list[2950..3050].iter().map(|bits| Some(*bits)));
        let stored = |bits: u64| StoredDocument {
            fingerprint: Fingerprint::from_bits(bits),
            reliable: true,
            arrival: None,
        };
        let edits = (0..)
            .zip(&current)
            .map(|(id, bits)| DocumentEdit {
                id: DocId(id),
                before: list.get(id as usize).copied().map(stored),
                after: bits.map(stored),
                text: TextEdit::Keep,
            })
            .collect();
        let mut write_guard = store.lock_writes().unwrap();
        store.commit(&mut write_guard, edits, None).unwrap();
        let view = store.read().unwrap();
        let mut reported = Vec::new();
        let progress = ProgressHandler::default();
        let limits = QueryLimits::small();
        let outcome = pairs(&view, 0, &limits, &progress, &mut |event| {
            if let PairsEvent::Copies {
                fingerprint,
                documents,
            } = event
            {
                assert!(documents.len() > 1 && documents.is_sorted_by(|a, b| a < b));
                for id in documents {
                    assert_eq!(current[id.0 as usize], Some(fingerprint.bits()));
                }
                reported.push((fingerprint.bits(), documents.len()));
            }
            ControlFlow::Continue(())
        });
        assert!(outcome.unwrap().is_continue());
        let mut sorted: Vec<u64> = current.into_iter().flatten().collect();
        sorted.sort_unstable();
        let expected: Vec<_> = sorted
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len() > 1)
            .map(|same| (same[0], same.len()))
            .collect();
        reported.sort_unstable();
        assert!(reported == expected);
        assert!(expected.len() > 100);
    }
}
