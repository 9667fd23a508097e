//! All pairs of documents within a radius.
//!
//! Copies, the documents of one fingerprint, are found in one walk through the documents in order of
//! their fingerprints ([`copies`]); pairs of distinct fingerprints in one walk through each block's
//! table ([`parts`], [`join`]); which documents stand for these, in `block0` ([`holders`]). The work
//! is done by the database's own threads, some of it at a time; in between they are idle, so that a
//! visitor may ask the database whatever it likes.

mod copies;
mod holders;
mod join;
mod parts;

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::{FingerprintSource, View};
use copies::Copies;
use holders::{Holders, found_of};
use parts::{Edge, Parts};

/// Edges whose documents are looked up together, the more of them the nearer to each other: 4 MiB.
const EDGES_LOOKED_UP: usize = if cfg!(test) { 100 } else { 1 << 18 };
/// So many tasks are done at a time, or so many for each core: the more, the less the cores wait for
/// each other; the fewer, the sooner a visitor is asked whether to go on.
const LEAST_AT_ONCE: usize = 16;
const AT_ONCE_A_CORE: usize = 4;
/// What finding copies takes of the time that pairs take, about.
const COPIES_SHARE: f64 = 0.15;

/// Two documents whose fingerprints differ, in few bits: a claim about bits, not about meaning.
///
/// Pairs are ordered by the first document, then by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The one with the smaller id.
    pub a: DocId,
    /// The other one.
    pub b: DocId,
    /// The fingerprints of both, in this order.
    pub fingerprints: [Fingerprint; 2],
    /// In how many bits these differ.
    pub distance: u32,
}

impl Pair {
    /// The pair of two documents, whichever comes first.
    pub(crate) fn of(one: (DocId, Fingerprint), other: (DocId, Fingerprint)) -> Self {
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

/// What [`Snapshot::pairs`](crate::Snapshot::pairs) tells its visitor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PairsEvent<'p> {
    /// Several documents that have the same fingerprint. Each such fingerprint is told of once, and
    /// all of them before the first pair.
    Copies {
        /// The fingerprint.
        fingerprint: Fingerprint,
        /// All documents that have it, two or more, in order of their ids. In pairs the first of them
        /// stands for all.
        documents: &'p [DocId],
    },
    /// Some pairs of documents with different fingerprints, in order, but not in order with those
    /// told of before and after. Each pair of fingerprints is told of once; of the documents that
    /// have one of them, the one with the smallest id is named.
    Pairs(&'p [Pair]),
}

/// Tells `visitor` of all pairs within the radius until it breaks; whether it did.
pub(crate) fn pairs(
    view: &View,
    radius: u32,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(PairsEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut progress = ProgressReporter::new_shares(progress, Stage::Pairs, view.path());
    let holders = Holders::new(view);
    let mut copies = Copies::new(&holders);
    let copies_share = if radius == 0 { 1.0 } else { COPIES_SHARE };
    while !copies.is_done() {
        for groups in copies.go_on()? {
            for (fingerprint, documents) in groups.iter() {
                let event = PairsEvent::Copies {
                    fingerprint,
                    documents,
                };
                if visitor(event).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        progress.advance_to_share(copies.done() * copies_share)?;
    }
    if radius == 0 {
        progress.finish()?;
        return Ok(ControlFlow::Continue(()));
    }
    let mut parts = Parts::new(&view.tables, radius, &holders.fingerprints_in_tail());
    let mut edges = Vec::new();
    while !parts.is_done() {
        parts.go_on(&mut edges)?;
        if edges.len() >= EDGES_LOOKED_UP || parts.is_done() {
            let found = pairs_of(&holders, &edges)?;
            edges.clear();
            if !found.is_empty() && visitor(PairsEvent::Pairs(&found)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        progress.advance_to_share(copies_share + parts.done() * (1.0 - copies_share))?;
    }
    progress.finish()?;
    Ok(ControlFlow::Continue(()))
}

/// The documents that stand for these fingerprints, in order. Fingerprints that no document has any
/// more are left out.
fn pairs_of(holders: &Holders<'_>, edges: &[Edge]) -> Result<Vec<Pair>> {
    let tables = &holders.view.tables;
    let ends = edges.iter().flat_map(|(a, b)| [a.bits(), b.bits()]);
    let mut fingerprints: Vec<u64> = ends.collect();
    tables.in_parallel(|| fingerprints.par_sort_unstable());
    fingerprints.dedup();
    let first = holders.first(&fingerprints)?;
    let document = |fingerprint| found_of(&fingerprints, &first, fingerprint);
    Ok(tables.in_parallel(|| {
        let of_each = edges.par_iter().with_min_len(1024);
        let pairs =
            of_each.filter_map(|(a, b)| Some(Pair::of((document(*a)?, *a), (document(*b)?, *b))));
        let mut pairs: Vec<Pair> = pairs.collect();
        pairs.par_sort_unstable();
        pairs
    }))
}

/// How many tasks to do at a time, asked in a thread of the database's own.
fn most_at_once() -> usize {
    LEAST_AT_ONCE.max(AT_ONCE_A_CORE * rayon::current_num_threads())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hamming;
    use crate::query::spreads::store_of;

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

    /// Stretches are cut, read again and left off here: in tests they are very short.
    #[test]
    fn parts_of_tables_and_tail_have_every_pair_once() {
        for is_crowded in [false, true] {
            let list = fingerprints(2000, is_crowded);
            let folder = tempfile::tempdir().unwrap();
            // Some are in both.
            let (stored, tail) = (&list[..1400], distinct(&list[1200..]));
            let store = store_of(&folder, stored.iter().copied().map(Fingerprint::from_bits));
            let view = store.read().unwrap();
            let all = distinct(&list);
            for radius in [1, 2, 3, 4, 6, 8, 28] {
                let mut expected = Vec::new();
                hamming::push_pairs_among(&all, radius, &mut expected);
                let mut parts = Parts::new(&view.tables, radius, &tail);
                let mut edges = Vec::new();
                let mut turns = 0;
                while !parts.is_done() {
                    parts.go_on(&mut edges).unwrap();
                    turns += 1;
                }
                assert!((0.999..1.001).contains(&parts.done()));
                assert!(turns > 2);
                let bits = |(a, b): &Edge| (a.bits().min(b.bits()), a.bits().max(b.bits()));
                let mut found: Vec<(u64, u64)> = edges.iter().map(bits).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert!(found == expected, "radius {radius}, crowded {is_crowded}");
            }
        }
    }

    #[test]
    fn every_group_of_copies_is_told_of_once_and_whole() {
        let mut list = fingerprints(3000, false);
        list.extend([0, u64::MAX].repeat(300));
        let folder = tempfile::tempdir().unwrap();
        let store = store_of(&folder, list.iter().copied().map(Fingerprint::from_bits));
        let view = store.read().unwrap();
        let mut told = Vec::new();
        let outcome = pairs(&view, 0, &ProgressHandler::default(), &mut |event| {
            if let PairsEvent::Copies {
                fingerprint,
                documents,
            } = event
            {
                assert!(documents.len() > 1 && documents.is_sorted_by(|a, b| a < b));
                for id in documents {
                    assert_eq!(list[id.0 as usize], fingerprint.bits());
                }
                told.push((fingerprint.bits(), documents.len()));
            }
            ControlFlow::Continue(())
        });
        assert!(outcome.unwrap().is_continue());
        let mut sorted = list.clone();
        sorted.sort_unstable();
        let of_each = sorted.chunk_by(|a, b| a == b);
        let expected: Vec<_> = of_each
            .filter(|same| same.len() > 1)
            .map(|same| (same[0], same.len()))
            .collect();
        told.sort_unstable();
        assert!(told == expected);
        assert!(expected.len() > 100);
    }
}
