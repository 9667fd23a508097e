//! Many queries at once: each block table is read once for all of them.
//!
//! The queries are sorted by their keys, block by block. Each bucket of a block is then read once, and
//! compared with the queries whose keys are near enough to its own.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::candidates::{is_probing_cheaper, parts_to_read, push_near_in_parts};
use super::documents::for_each_in_order;
use super::limits::QueryLimits;
use super::single::within;
use crate::block::{self, BLOCK_BITS, Probes};
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::hamming;
use crate::store::{Bucket, DocumentsOf, FingerprintSource, SCANNED, Step, View};

/// Fewer queries than this are answered one by one.
const MIN_QUERIES: usize = 32;
/// Queries answered at a time.
const MAX_QUERIES: usize = 1 << 20;
/// Matching fingerprints held at a time, of 16 bytes each. If there are more, fewer queries are
/// answered at a time.
const MAX_MATCHES: usize = 8 << 20;
/// Queries whose documents are put in order at a time, on all cores.
const QUERIES_PER_ROUND: usize = 4096;

/// Calls `visitor` with the index of each query, in order, and the answer of [`within`] to it, until
/// the visitor returns `false`.
pub(crate) fn within_batch(
    view: &View,
    queries: &[Fingerprint],
    radius: u32,
    limit: usize,
    visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
) -> Result<()> {
    let batch = BatchQuery {
        view,
        radius,
        limit,
        limits: QueryLimits::default(),
    };
    batch.answer(queries, visitor)
}

struct BatchQuery<'v> {
    view: &'v View,
    radius: u32,
    limit: usize,
    limits: QueryLimits,
}

/// A stored fingerprint within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BatchMatch {
    /// The index of the query.
    query: u32,
    distance: u32,
    fingerprint: u64,
}

impl BatchQuery<'_> {
    fn answer(
        &self,
        queries: &[Fingerprint],
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<()> {
        let mut next = 0;
        let mut at_a_time = MAX_QUERIES;
        while next < queries.len() {
            let part = &queries[next..queries.len().min(next + at_a_time)];
            if part.len() < MIN_QUERIES {
                for query in part {
                    if !visitor(next, within(self.view, *query, self.radius, self.limit)?) {
                        return Ok(());
                    }
                    next += 1;
                }
            } else if let Some(matches) = self.find(part)? {
                if !self.deliver(next, part, &matches, visitor)? {
                    return Ok(());
                }
                next += part.len();
            } else {
                at_a_time = part.len() / 8;
                continue;
            }
            at_a_time = (2 * at_a_time).min(MAX_QUERIES);
        }
        Ok(())
    }

    /// Finds the matching fingerprints of all queries, in order; `None` if there are too many.
    fn find(&self, queries: &[Fingerprint]) -> Result<Option<Vec<BatchMatch>>> {
        if self.limit == 0 {
            return Ok(Some(Vec::new()));
        }
        let tables = &self.view.tables;
        let count = AtomicUsize::new(0);
        let probes = Probes::for_radius(self.radius);
        let mut matches = Vec::new();
        if is_probing_cheaper(tables, &probes, queries.len())? {
            for block in probes.blocks() {
                matches.append(&mut self.probe(queries, &probes, block, &count)?);
                if are_too_many(&count) {
                    return Ok(None);
                }
            }
        } else {
            matches = self.scan(queries, &count)?;
        }
        if are_too_many(&count) {
            return Ok(None);
        }
        tables.in_parallel(|| matches.par_sort_unstable());
        Ok(Some(matches))
    }

    /// Finds the matching fingerprints that `block` owns, by probing its buckets. Adds their number
    /// to `count`, and stops early once that is too large.
    fn probe(
        &self,
        queries: &[Fingerprint],
        probes: &Probes,
        block: usize,
        count: &AtomicUsize,
    ) -> Result<Vec<BatchMatch>> {
        let tables = &self.view.tables;
        let sorted = tables.in_parallel(|| QueriesByKey::new(queries, block));
        // A bucket key differs from the key of each query near it by one of these.
        let differences = probes.keys(block, 0);
        let keys = sorted.keys_near(&differences);
        tables.look_up(block, &keys, |index, key, bucket, matches| {
            let mut near = Vec::new();
            // Moves the fingerprints that this block owns from `near` to the matches.
            let mut keep_owned = |number, rotated, near: &mut Vec<u64>| {
                if near.is_empty() {
                    return;
                }
                let query = block::unrotate(rotated, block);
                let before = matches.len();
                matches.extend(near.drain(..).filter_map(|near| {
                    let fingerprint = block::unrotate(near, block);
                    let is_owned = probes.owner(query, fingerprint) == Some(block);
                    is_owned.then(|| BatchMatch::new(number, query, fingerprint))
                }));
                count.fetch_add(matches.len() - before, Ordering::Relaxed);
            };
            // Queries that need all of a bucket too large for the cache: it is read once for them.
            let mut for_all = Vec::new();
            let near_queries = differences
                .iter()
                .flat_map(|difference| sorted.with_key(key ^ difference));
            for (number, rotated) in near_queries {
                if are_too_many(count) {
                    return Ok(());
                }
                if let Bucket::Whole(fingerprints) = bucket {
                    hamming::push_within(fingerprints, rotated, self.radius, &mut near);
                } else if let Some(parts) = parts_to_read(probes, block, key, rotated) {
                    push_near_in_parts(index, block, &parts, rotated, self.radius, &mut near)?;
                } else {
                    for_all.push((number, rotated));
                }
                keep_owned(number, rotated, &mut near);
            }
            if for_all.is_empty() {
                return Ok(());
            }
            let (from, to) = block::front_range(key);
            index.visit_range(block, from, to, &mut |piece| {
                for (number, rotated) in &for_all {
                    hamming::push_within(piece, *rotated, self.radius, &mut near);
                    keep_owned(*number, *rotated, &mut near);
                }
                Ok(if are_too_many(count) {
                    Step::Stop
                } else {
                    Step::Next
                })
            })
        })
    }

    /// Finds the matching fingerprints by comparing every query with every stored fingerprint.
    fn scan(&self, queries: &[Fingerprint], count: &AtomicUsize) -> Result<Vec<BatchMatch>> {
        self.view.tables.scan(|fingerprints, matches| {
            let mut near = Vec::new();
            for (number, query) in (0..).zip(queries) {
                if are_too_many(count) {
                    return;
                }
                let rotated = block::rotate(*query, SCANNED);
                hamming::push_within(fingerprints, rotated, self.radius, &mut near);
                count.fetch_add(near.len(), Ordering::Relaxed);
                matches.extend(
                    near.drain(..).map(|near| {
                        BatchMatch::new(number, *query, block::unrotate(near, SCANNED))
                    }),
                );
            }
        })
    }

    /// Looks up the documents of matching fingerprints, which are in order, and visits the answers.
    /// `first` is the index of the first query. Returns `false` if the visitor did.
    fn deliver(
        &self,
        first: usize,
        queries: &[Fingerprint],
        matches: &[BatchMatch],
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let tables = &self.view.tables;
        let mut rest = matches;
        let mut next = 0;
        while next < queries.len() {
            // The matches of one query are looked up together, however many they are.
            let end = rest
                .get(self.limits.matches_per_lookup)
                .map_or(queries.len(), |found| (found.query as usize).max(next + 1));
            let own;
            (own, rest) = split_before(rest, end);
            let mut fingerprints: Vec<u64> = own.iter().map(|found| found.fingerprint).collect();
            tables.in_parallel(|| fingerprints.par_sort_unstable());
            fingerprints.dedup();
            let documents = tables.documents_of(&fingerprints)?;
            if !self.deliver_rounds((first, queries), next..end, own, &documents, visitor)? {
                return Ok(false);
            }
            next = end;
        }
        Ok(true)
    }

    /// Visits the answers to a range of queries, given the documents of their matches.
    fn deliver_rounds(
        &self,
        (first, queries): (usize, &[Fingerprint]),
        range: Range<usize>,
        matches: &[BatchMatch],
        documents: &DocumentsOf,
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let mut matches = matches;
        let mut next = range.start;
        while next < range.end {
            let mut rest = matches;
            let round: Vec<(Fingerprint, &[BatchMatch])> =
                (next..range.end.min(next + QUERIES_PER_ROUND))
                    .map(|query| {
                        let own;
                        (own, rest) = split_before(rest, query + 1);
                        (queries[query], own)
                    })
                    .collect();
            // Only the first query is sure of its answer; the first one that does not fit, and all
            // after it, are left to the next round.
            let count = AtomicUsize::new(0);
            let answer = |(position, (query, matches)): (usize, &(Fingerprint, &[BatchMatch]))| {
                let max = if position == 0 {
                    usize::MAX
                } else {
                    self.limits.documents_held
                };
                self.documents_of_one(*query, matches, documents, max, &count)
            };
            let answers: Vec<Option<Vec<Match>>> = self.view.tables.in_parallel(|| {
                let round = round.par_iter().with_min_len(16).enumerate();
                round.map(answer).collect::<Result<_>>()
            })?;
            for answer in answers.into_iter().map_while(|answer| answer) {
                if !visitor(first + next, answer) {
                    return Ok(false);
                }
                next += 1;
            }
            (_, matches) = split_before(matches, next);
        }
        Ok(true)
    }

    /// The documents of one query, given its matching fingerprints in order. Adds their number to
    /// `count`; `None` if that is then above `max`.
    fn documents_of_one(
        &self,
        query: Fingerprint,
        matches: &[BatchMatch],
        documents: &DocumentsOf,
        max: usize,
        count: &AtomicUsize,
    ) -> Result<Option<Vec<Match>>> {
        // Before the memtables are read: a round has thousands of queries, and each may have
        // thousands of documents there.
        if count.load(Ordering::Relaxed) > max {
            return Ok(None);
        }
        let in_memtables = self.view.in_memtables(query, self.radius, self.limit);
        let mut fits = count.fetch_add(in_memtables.len(), Ordering::Relaxed) <= max;
        let mut found = Vec::new();
        let mut failed = Ok(());
        for class in matches.chunk_by(|a, b| a.distance == b.distance) {
            let distance = class[0].distance;
            let mut own = DocumentsOf::default();
            for of_class in class {
                own.take(documents, of_class.fingerprint);
            }
            let goes_on = for_each_in_order(&self.view.tables, own, |id, fingerprint| {
                match self.view.answers_from_tables(id) {
                    Ok(true) => {}
                    Ok(false) => return true,
                    Err(error) => {
                        failed = Err(error);
                        return false;
                    }
                }
                fits = count.fetch_add(1, Ordering::Relaxed) < max;
                found.push(Match {
                    id,
                    fingerprint,
                    distance,
                });
                fits && found.len() < self.limit
            })?;
            if !goes_on {
                break;
            }
        }
        failed?;
        if !in_memtables.is_empty() {
            found.extend(in_memtables);
            found.sort_unstable_by_key(Match::order);
            found.truncate(self.limit);
        }
        Ok(fits.then_some(found))
    }
}

/// Splits matches, which are in order, into those of the queries before `query` and the others.
fn split_before(matches: &[BatchMatch], query: usize) -> (&[BatchMatch], &[BatchMatch]) {
    matches.split_at(matches.partition_point(|found| (found.query as usize) < query))
}

fn are_too_many(count: &AtomicUsize) -> bool {
    count.load(Ordering::Relaxed) > MAX_MATCHES
}

impl BatchMatch {
    fn new(number: u32, query: Fingerprint, fingerprint: Fingerprint) -> Self {
        Self {
            query: number,
            distance: query.distance(fingerprint),
            fingerprint: fingerprint.bits(),
        }
    }
}

/// Queries sorted by their keys in one block.
struct QueriesByKey {
    /// The index and the rotation of each query.
    queries: Vec<(u32, u64)>,
    /// For each key, and for the end, the position of the first query with this key or a larger one.
    starts: Vec<u32>,
}

impl QueriesByKey {
    fn new(queries: &[Fingerprint], block: usize) -> Self {
        let mut queries: Vec<(u32, u64)> = (0..)
            .zip(queries)
            .map(|(number, query)| (number, block::rotate(*query, block)))
            .collect();
        queries.par_sort_unstable_by_key(|(_, rotated)| *rotated);
        let mut starts = vec![0; (1 << BLOCK_BITS) + 1];
        for (_, rotated) in &queries {
            starts[usize::from(block::front_key(*rotated)) + 1] += 1;
        }
        let mut start = 0;
        for count in &mut starts {
            start += *count;
            *count = start;
        }
        Self { queries, starts }
    }

    /// The index and the rotation of each query with this key.
    fn with_key(&self, key: u16) -> impl Iterator<Item = (u32, u64)> {
        let key = usize::from(key);
        let (start, end) = (self.starts[key] as usize, self.starts[key + 1] as usize);
        self.queries[start..end].iter().copied()
    }

    /// The keys that differ from the key of some query by one of these differences, in order.
    fn keys_near(&self, differences: &[u16]) -> Vec<u16> {
        let mut is_near = vec![false; 1 << BLOCK_BITS];
        for key in 0..=u16::MAX {
            if self.with_key(key).next().is_some() {
                for difference in differences {
                    is_near[usize::from(key ^ difference)] = true;
                }
            }
        }
        (0..=u16::MAX)
            .filter(|key| is_near[usize::from(*key)])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::query::fixtures::{CENTRE, SpreadFixture, inserts, store_of};

    fn small_batch(view: &View, radius: u32, limit: usize) -> BatchQuery<'_> {
        BatchQuery {
            view,
            radius,
            limit,
            limits: QueryLimits::small(),
        }
    }

    #[test]
    fn probing_and_scanning_for_many_queries_find_the_same() {
        let spreads = SpreadFixture::new();
        let view = spreads.view();
        let mut queries = vec![CENTRE, CENTRE];
        queries.extend(spreads.fingerprints.iter().copied().step_by(10_007));
        for radius in (0..=9).chain([12]) {
            let batch = small_batch(&view, radius, usize::MAX);
            let count = AtomicUsize::new(0);
            let probes = Probes::for_radius(radius);
            let probed = probes
                .blocks()
                .flat_map(|block| batch.probe(&queries, &probes, block, &count).unwrap());
            let mut probed: Vec<BatchMatch> = probed.collect();
            assert_eq!(probed.len(), count.into_inner());
            let mut scanned = batch.scan(&queries, &AtomicUsize::new(0)).unwrap();
            probed.sort_unstable();
            scanned.sort_unstable();
            assert!(probed == scanned, "radius {radius}");
            let nearby = spreads
                .fingerprints
                .iter()
                .filter(|each| each.distance(CENTRE) <= radius);
            assert!(scanned.len() >= 2 * nearby.count());
        }
    }

    /// A fingerprint of a thousand documents, asked for a hundred times, has more matches than are
    /// held at a time.
    #[test]
    fn answers_that_do_not_fit_together_are_delivered_in_rounds() {
        let copies = QueryLimits::small().documents_held as u64 + 10;
        let folder = tempfile::tempdir().unwrap();
        let store = store_of(&folder, (0..copies).map(|_| CENTRE));
        let view = store.read().unwrap();
        let queries = vec![CENTRE; 100];
        for limit in [3, usize::MAX] {
            let expected = within(&view, CENTRE, 3, limit).unwrap();
            assert_eq!(expected.len(), limit.min(copies as usize));
            let mut answered = 0;
            let mut visitor = |number, matches| {
                assert_eq!(number, answered);
                assert!(matches == expected);
                answered += 1;
                true
            };
            let batch = small_batch(&view, 3, limit);
            batch.answer(&queries, &mut visitor).unwrap();
            assert_eq!(answered, 100);
        }
    }

    #[test]
    fn memtables_are_read_only_for_the_queries_of_a_round() {
        const QUERIES: usize = 2_000;
        let count = QueryLimits::small().documents_held as u64 / 2 + 100;
        let folder = tempfile::tempdir().unwrap();
        let store = store_of(&folder, std::iter::empty());
        let copies = inserts((0..count).map(|_| CENTRE));
        let mut write_guard = store.lock_writes().unwrap();
        store.commit(&mut write_guard, copies, None).unwrap();
        let view = store.read().unwrap();
        assert_eq!(view.unflushed_changes(), count);
        let expected = within(&view, CENTRE, 3, usize::MAX).unwrap();
        assert_eq!(expected.len() as u64, count);
        let timed = |queries| {
            let queries = vec![CENTRE; queries];
            let started = Instant::now();
            let mut answered = 0;
            let mut visitor = |_, matches| {
                assert!(matches == expected);
                answered += 1;
                true
            };
            let batch = small_batch(&view, 3, usize::MAX);
            batch.answer(&queries, &mut visitor).unwrap();
            assert_eq!(answered, queries.len());
            started.elapsed()
        };
        // If each round read the memtables for all queries left, an eighth of the queries would take a
        // sixty-fourth of the time. Other load of the machine may spoil a turn.
        let turns: Vec<_> = (0..5)
            .map(|_| (timed(QUERIES / 8), timed(QUERIES)))
            .take_while(|(eighth, all)| *all > *eighth * 24)
            .collect();
        assert!(turns.len() < 5, "{turns:?}");
    }
}
