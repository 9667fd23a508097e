//! All pairs of documents within a radius.
//!
//! Copies are documents with the same fingerprint. [`copies`] finds them in one walk through
//! `block0`. [`tasks`] and [`join`] find the pairs of distinct fingerprints in the table of each
//! block: up to radius 3 in one walk, at larger radii with several reads of a range. [`low_halves`]
//! rejects most pairs that are compared. [`postings`] finds the documents of these fingerprints.
//!
//! The threads of the database do the work in turns. Between two turns these threads are idle, so a
//! visitor may use the database.

mod copies;
mod join;
mod low_halves;
mod postings;
mod tasks;

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::limits::QueryLimits;
use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::{SnapshotTables, View};
use copies::CopyScan;
use postings::PostingLists;
use tasks::{FingerprintPair, JoinQueue};

/// At least 16 tasks run in each turn, also on fewer than four cores.
const MIN_TASKS_AT_ONCE: usize = 16;
/// Four tasks for each core in each turn. With more tasks, the cores wait less for each other; with
/// fewer tasks, the visitor can stop the search sooner.
const TASKS_AT_ONCE_PER_CORE: usize = 4;
/// The approximate share of the time that the search for copies takes, for the reported progress.
const COPIES_SHARE: f64 = 0.15;

/// Two documents whose fingerprints differ in few bits, but in at least one: a claim about bits,
/// not about meaning.
///
/// Pairs are ordered by the first document, then by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pair {
    /// The document with the smaller id.
    pub a: DocId,
    /// The document with the larger id.
    pub b: DocId,
    /// The fingerprints of `a` and `b`.
    pub fingerprints: [Fingerprint; 2],
    /// The number of bits in which the fingerprints differ.
    pub distance: u32,
}

impl Pair {
    /// Sorts the two documents by id.
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
    /// The documents of a fingerprint that several documents have. Each such fingerprint is passed
    /// once, before the first pair.
    Copies {
        /// The fingerprint.
        fingerprint: Fingerprint,
        /// All documents with the fingerprint, two or more, in order of their ids. Pairs name only
        /// the first of these documents.
        documents: &'p [DocId],
    },
    /// Some pairs of documents with different fingerprints, sorted within the event; the order of
    /// events is unspecified. Each pair of fingerprints is passed once, with the smallest document
    /// id of each fingerprint.
    Pairs(&'p [Pair]),
}

/// Calls `visitor` with all copies and pairs among some ids within the radius, until `visitor`
/// breaks. Returns `Break` if `visitor` did.
pub(crate) fn pairs(
    view: &View,
    radius: u32,
    among: &IdRanges,
    limits: &QueryLimits,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(PairsEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut progress = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
    let postings = PostingLists::new(view, among);

    // Copies come first: a pair names one document of each fingerprint, and a visitor must know the
    // other documents by then.
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
        progress.advance_to_share(copies.done_share() * copies_share)?;
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
        // Pairs are gathered over several turns: a look-up of many fingerprints descends to each
        // chunk of `block0` once, a look-up of a single pair descends twice.
        if found.len() >= limits.pairs_per_lookup || queue.is_done() {
            let pairs = document_pairs(&postings, &found)?;
            found.clear();
            if !pairs.is_empty() && visitor(PairsEvent::Pairs(&pairs)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        progress.advance_to_share(copies_share + queue.done_share() * (1.0 - copies_share))?;
    }
    progress.finish()?;
    Ok(ControlFlow::Continue(()))
}

/// Returns the pairs of the first documents of these fingerprints, sorted.
fn document_pairs(postings: &PostingLists<'_>, found: &[FingerprintPair]) -> Result<Vec<Pair>> {
    let tables = &postings.view.tables;
    let mut fingerprints: Vec<u64> = found
        .iter()
        .flat_map(|(a, b)| [a.bits(), b.bits()])
        .collect();
    tables.in_parallel(|| fingerprints.par_sort_unstable());
    fingerprints.dedup();
    // Pairs without a document on each side are left out: the block tables keep the fingerprint of
    // a removed document until the next flush, and also the fingerprints of expired documents.
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

/// Runs one turn: removes tasks from the end of `pending`, and runs these tasks on the threads of
/// the database. Returns their outcomes in the order of the tasks.
fn run_concurrently<T: Send, O: Send>(
    tables: &SnapshotTables,
    pending: &mut Vec<T>,
    run: impl Fn(T) -> Result<O> + Send + Sync,
) -> Result<Vec<O>> {
    tables.in_parallel(|| {
        let at_once = MIN_TASKS_AT_ONCE.max(TASKS_AT_ONCE_PER_CORE * rayon::current_num_threads());
        pending
            .split_off(pending.len().saturating_sub(at_once))
            .into_par_iter()
            // One rayon job for each task: the times of tasks differ too much for larger jobs.
            .with_max_len(1)
            .map(run)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hamming;
    use crate::query::fixtures::store_with_fingerprints;
    use crate::store::{DocumentEdit, StoredDocument, TextEdit};

    /// Fingerprints with pairs at every small distance and with copies. In the crowded case, many
    /// fingerprints share one prefix.
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
            // Two hundred fingerprints are in the tables and in the memtable.
            let (stored, memtable) = (&list[..1400], distinct(&list[1200..]));
            let store = store_with_fingerprints(
                &folder,
                stored.iter().copied().map(Fingerprint::from_bits),
            );
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
                assert!((0.999..1.001).contains(&queue.done_share()));
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
        let store =
            store_with_fingerprints(&folder, list.iter().copied().map(Fingerprint::from_bits));
        // The memtable removes some documents, changes some and adds some.
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
                copies: None,
            })
            .collect();
        let mut write_guard = store.lock_writes().unwrap();
        store.commit(&mut write_guard, edits, None).unwrap();
        let view = store.read().unwrap();
        let mut reported = Vec::new();
        let progress = ProgressHandler::default();
        let limits = QueryLimits::small();
        let outcome = pairs(&view, 0, &IdRanges::ALL, &limits, &progress, &mut |event| {
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
            .filter(|group| group.len() > 1)
            .map(|group| (group[0], group.len()))
            .collect();
        reported.sort_unstable();
        assert!(reported == expected);
        assert!(expected.len() > 100);
    }
}
