//! Many queries at once: each block table is read once for all queries.
//!
//! For each block, the queries are sorted by their block keys. Each bucket is then read once, and
//! compared with all queries whose keys are near enough to the key of the bucket.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::candidates::{MAX_BUCKET_PARTS, is_probing_cheaper, push_near_in_parts};
use super::documents::for_each_in_order;
use super::limits::QueryLimits;
use super::queries_by_key::QueriesByKey;
use super::single::within;
use crate::block::{self, Probes};
use crate::document::Match;
use crate::error::Result;
use crate::hamming;
use crate::ids::Fingerprint;
use crate::ids::scope::IdRanges;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::{Bucket, DocumentLookup, SCAN_BLOCK, SnapshotTables, View, VisitFlow};

/// Fewer queries than this are answered one by one.
const MIN_QUERIES: usize = 32;
/// At most 1,048,576 queries are answered together.
const MAX_QUERIES: usize = 1 << 20;
/// At most 8 Mi matching fingerprints, 128 MiB, are in memory. If queries have more matches
/// together, fewer queries are answered together.
const MAX_MATCHES: usize = 8 << 20;
/// Up to 4,096 answers are assembled together on all cores, and then passed to the visitor.
const QUERIES_PER_ROUND: usize = 4096;
/// At most 4,096 queries are compared in one scan. A scan holds the lock of a part of the bucket
/// cache while it compares eight buckets, which takes some milliseconds in a large batch.
const QUERIES_PER_SCAN: usize = 4096;
/// Block keys, some milliseconds at radius 3 in a database of ten million documents, that are
/// looked up between two reports of the progress. Fewer at a larger radius, at which each key has
/// more queries.
const KEYS_PER_REPORT: usize = 4096;
/// Enough keys for all cores.
const MIN_KEYS_PER_REPORT: usize = 256;
/// Matching fingerprints, some tens of milliseconds, whose documents are looked up between two
/// reports of the progress.
const FINGERPRINTS_PER_REPORT: usize = 1 << 16;
/// The approximate share of the time that the search for matching fingerprints takes, for the
/// reported progress.
const SEARCH_SHARE: f64 = 0.75;

/// Calls `visitor` with the index of each query, in order, and the answer of [`within`] to it,
/// until the visitor returns `false`.
pub(crate) fn within_batch(
    view: &View,
    queries: &[Fingerprint],
    radius: u32,
    among: &IdRanges,
    limit: usize,
    progress: &ProgressHandler,
    visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
) -> Result<()> {
    let batch = BatchQuery {
        view,
        radius,
        among,
        limit,
        limits: QueryLimits::default(),
    };
    let total = Some(queries.len() as u64);
    let mut progress = ProgressReporter::new(progress, Stage::Batch, total, view.path());
    batch.answer(queries, &mut progress, visitor)
}

struct BatchQuery<'v> {
    view: &'v View,
    radius: u32,
    among: &'v IdRanges,
    limit: usize,
    limits: QueryLimits,
}

/// A stored fingerprint within the radius of a query. The derived order is the order of answers: by
/// query, then by distance.
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
        progress: &mut ProgressReporter,
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<()> {
        let mut next = 0;
        let mut max_len = MAX_QUERIES;
        while next < queries.len() {
            let part = &queries[next..queries.len().min(next + max_len)];
            // The key tables of a batch, 65,537 entries for each block, do not pay for few queries.
            if part.len() < MIN_QUERIES {
                for query in part {
                    let (radius, among, limit) = (self.radius, self.among, self.limit);
                    if !visitor(next, within(self.view, *query, radius, among, limit)?) {
                        return Ok(());
                    }
                    next += 1;
                    progress.advance_to(next as u64)?;
                }
            } else if let Some(matches) = self.find(next, part, progress)? {
                if !self.deliver(next, part, &matches, progress, visitor)? {
                    return Ok(());
                }
                next += part.len();
                progress.advance_to(next as u64)?;
            } else {
                // Shrinks at once, and doubles with each part that succeeds. At the full length,
                // each part would be searched in vain first.
                max_len = part.len() / 8;
                continue;
            }
            max_len = (2 * max_len).min(MAX_QUERIES);
        }
        progress.finish()
    }

    /// Finds the matching fingerprints of all queries, sorted; `None` if they exceed
    /// [`MAX_MATCHES`]. `first` is the index of the first query.
    fn find(
        &self,
        first: usize,
        queries: &[Fingerprint],
        progress: &mut ProgressReporter,
    ) -> Result<Option<Vec<BatchMatch>>> {
        if self.limit == 0 || self.among.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let tables = &self.view.tables;
        let count = AtomicUsize::new(0);
        let probes = Probes::for_radius(self.radius);
        let mut matches = Vec::new();
        if is_probing_cheaper(tables, &probes, queries.len())? {
            let blocks = probes.blocks().count() as f64;
            for (index, block) in probes.blocks().enumerate() {
                let mut advance = |share_of_block: f64| {
                    let share = SEARCH_SHARE * (index as f64 + share_of_block) / blocks;
                    progress.advance_to(first as u64 + (queries.len() as f64 * share) as u64)
                };
                let mut found = self.probe(queries, &probes, block, &count, &mut advance)?;
                matches.append(&mut found);
                if are_too_many(&count) {
                    return Ok(None);
                }
            }
        } else {
            for (index, part) in queries.chunks(QUERIES_PER_SCAN).enumerate() {
                let scanned = index * QUERIES_PER_SCAN;
                progress.advance_to(first as u64 + (scanned as f64 * SEARCH_SHARE) as u64)?;
                matches.append(&mut self.scan(scanned, part, &count)?);
                if are_too_many(&count) {
                    return Ok(None);
                }
            }
        }
        progress.report()?;
        tables.in_parallel(|| matches.par_sort_unstable());
        progress.report()?;
        Ok(Some(matches))
    }

    /// Finds the matching fingerprints that `block` owns. Adds their number to `count`, and stops
    /// early if `count` exceeds [`MAX_MATCHES`]. Calls `advance` with the share of the block that
    /// is done.
    fn probe(
        &self,
        queries: &[Fingerprint],
        probes: &Probes,
        block: usize,
        count: &AtomicUsize,
        advance: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<Vec<BatchMatch>> {
        let tables = &self.view.tables;
        let sorted = tables.in_parallel(|| QueriesByKey::new(queries, block));
        // A bucket is probed for a query if the xor of their keys is one of these differences.
        let differences = probes.keys(block, 0);
        let keys = sorted.keys_near(&differences).into_iter();
        let keys: Vec<(usize, u16)> = keys.map(|key| (block, key)).collect();
        advance(0.0)?;
        let search_bucket = |source: &SnapshotTables,
                             (_, key): (usize, u16),
                             bucket: Bucket<'_>,
                             matches: &mut Vec<BatchMatch>|
         -> Result<()> {
            let mut near = Vec::new();
            // Moves the matches that this block owns from `near` to `matches`. The other matches
            // are found again, in the block that owns them.
            let mut keep_owned = |query_index, rotated, near: &mut Vec<u64>| {
                if near.is_empty() {
                    return;
                }
                let query = block::unrotate(rotated, block);
                let before = matches.len();
                matches.extend(near.drain(..).filter_map(|near| {
                    let fingerprint = block::unrotate(near, block);
                    let is_owned = probes.owner(query, fingerprint) == Some(block);
                    is_owned.then(|| BatchMatch::new(query_index, query, fingerprint))
                }));
                count.fetch_add(matches.len() - before, Ordering::Relaxed);
            };
            // Queries that need all of a bucket that is too large for the cache. One walk through
            // the bucket serves all of them, instead of a walk for each query.
            let mut whole_bucket_queries = Vec::new();
            let near_queries = differences
                .iter()
                .flat_map(|difference| sorted.with_key(key ^ difference));
            for (query_index, rotated) in near_queries {
                // `find` discards the matches and is repeated for fewer queries.
                if are_too_many(count) {
                    return Ok(());
                }
                if let Bucket::Whole(fingerprints) = bucket {
                    fingerprints.push_within(rotated, self.radius, &mut near);
                } else if let Some(parts) = probes.parts(block, rotated, key, MAX_BUCKET_PARTS) {
                    push_near_in_parts(source, block, &parts, rotated, self.radius, &mut near)?;
                } else {
                    whole_bucket_queries.push((query_index, rotated));
                }
                keep_owned(query_index, rotated, &mut near);
            }
            if whole_bucket_queries.is_empty() {
                return Ok(());
            }
            let (from, to) = block::front_range(key);
            source.visit_range(block, from, to, &mut |slice| {
                for (query_index, rotated) in &whole_bucket_queries {
                    hamming::push_within(slice, *rotated, self.radius, &mut near);
                    keep_owned(*query_index, *rotated, &mut near);
                }
                Ok(if are_too_many(count) {
                    VisitFlow::Stop
                } else {
                    VisitFlow::Next
                })
            })
        };
        let mut found = Vec::new();
        let per_report = (KEYS_PER_REPORT / differences.len().max(1)).max(MIN_KEYS_PER_REPORT);
        for (index, part) in keys.chunks(per_report).enumerate() {
            found.append(&mut tables.look_up(part, search_bucket)?);
            advance((index * per_report + part.len()) as f64 / keys.len() as f64)?;
        }
        Ok(found)
    }

    /// Compares every query with every stored fingerprint. `first` is the index of the first query.
    fn scan(
        &self,
        first: usize,
        queries: &[Fingerprint],
        count: &AtomicUsize,
    ) -> Result<Vec<BatchMatch>> {
        self.view.tables.scan(|fingerprints, matches| {
            let (mut near, mut unpacked) = (Vec::new(), Vec::new());
            // Unpacked once for all queries.
            let fingerprints = fingerprints.as_slice(&mut unpacked);
            for (query_index, query) in (first as u32..).zip(queries) {
                if are_too_many(count) {
                    return;
                }
                let rotated = block::rotate(*query, SCAN_BLOCK);
                hamming::push_within(fingerprints, rotated, self.radius, &mut near);
                count.fetch_add(near.len(), Ordering::Relaxed);
                matches.extend(near.drain(..).map(|near| {
                    BatchMatch::new(query_index, *query, block::unrotate(near, SCAN_BLOCK))
                }));
            }
        })
    }

    /// Looks up the documents of sorted matches, and calls `visitor` with the answer to each query.
    /// `first` is the index of the first query. Returns `false` if `visitor` did.
    fn deliver(
        &self,
        first: usize,
        queries: &[Fingerprint],
        matches: &[BatchMatch],
        progress: &mut ProgressReporter,
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let tables = &self.view.tables;
        let mut rest = matches;
        let mut next = 0;
        while next < queries.len() {
            // The matches of one query are not split, however many they are.
            let end = rest
                .get(self.limits.matches_per_lookup)
                .map_or(queries.len(), |found| (found.query as usize).max(next + 1));
            let current;
            (current, rest) = split_before(rest, end);
            // One walk in the order of `block0`. A batch of a million queries, with half a million
            // matches in 50 million documents, took 1.25 s; with a descent for each match it took
            // 2.1 s.
            let mut fingerprints: Vec<u64> =
                current.iter().map(|found| found.fingerprint).collect();
            tables.in_parallel(|| fingerprints.par_sort_unstable());
            fingerprints.dedup();
            progress.report()?;
            let mut documents = DocumentLookup::default();
            for part in fingerprints.chunks(FINGERPRINTS_PER_REPORT) {
                documents.append(tables.documents_of(part)?);
                progress.report()?;
            }
            let (range, queries) = (next..end, (first, queries));
            if !self.deliver_rounds(queries, range, current, &documents, progress, visitor)? {
                return Ok(false);
            }
            next = end;
        }
        Ok(true)
    }

    /// Calls `visitor` with the answers to a range of queries, given the documents of their
    /// matches.
    fn deliver_rounds(
        &self,
        (first, queries): (usize, &[Fingerprint]),
        range: Range<usize>,
        matches: &[BatchMatch],
        documents: &DocumentLookup,
        progress: &mut ProgressReporter,
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let mut matches = matches;
        let mut next = range.start;
        while next < range.end {
            let mut rest = matches;
            let round: Vec<(Fingerprint, &[BatchMatch])> =
                (next..range.end.min(next + QUERIES_PER_ROUND))
                    .map(|query| {
                        let current;
                        (current, rest) = split_before(rest, query + 1);
                        (queries[query], current)
                    })
                    .collect();
            // The answers of a round share the limit of documents in memory. The first query
            // ignores the limit, so that each round delivers an answer. The first query whose
            // answer does not fit ends the round, and is the first query of the next round.
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
            progress.advance_to((first + next) as u64)?;
        }
        Ok(true)
    }

    /// The answer to one query, given its sorted matches. Adds the number of documents to `count`;
    /// `None` if `count` then exceeds `max`.
    fn documents_of_one(
        &self,
        query: Fingerprint,
        matches: &[BatchMatch],
        documents: &DocumentLookup,
        max: usize,
        count: &AtomicUsize,
    ) -> Result<Option<Vec<Match>>> {
        // Checked before the memtables are read: a round has thousands of queries, and each may
        // find thousands of documents in the memtables.
        if count.load(Ordering::Relaxed) > max {
            return Ok(None);
        }
        let in_memtables = (self.view).in_memtables(query, self.radius, self.among, self.limit);
        let mut fits = count.fetch_add(in_memtables.len(), Ordering::Relaxed) <= max;
        let mut found = Vec::new();
        for group in matches.chunk_by(|a, b| a.distance == b.distance) {
            let distance = group[0].distance;
            let mut group_documents = DocumentLookup::default();
            for matched in group {
                group_documents.copy_from(documents, matched.fingerprint);
            }
            let visited_all = for_each_in_order(
                &self.view.tables,
                group_documents,
                self.among,
                |id, fingerprint| {
                    if !self.view.answers_from_tables(id)? {
                        return Ok(true);
                    }
                    fits = count.fetch_add(1, Ordering::Relaxed) < max;
                    found.push(Match {
                        id,
                        fingerprint,
                        distance,
                    });
                    Ok(fits && found.len() < self.limit)
                },
            )?;
            if !visited_all {
                break;
            }
        }
        // Tables and memtables have up to `limit` documents each: only the sorted union shows which
        // of them are within the limit.
        if !in_memtables.is_empty() {
            found.extend(in_memtables);
            found.sort_unstable();
            found.truncate(self.limit);
        }
        Ok(fits.then_some(found))
    }
}

/// Splits sorted matches into the matches of the queries before `query` and the rest.
fn split_before(matches: &[BatchMatch], query: usize) -> (&[BatchMatch], &[BatchMatch]) {
    matches.split_at(matches.partition_point(|found| (found.query as usize) < query))
}

fn are_too_many(count: &AtomicUsize) -> bool {
    count.load(Ordering::Relaxed) > MAX_MATCHES
}

impl BatchMatch {
    fn new(query_index: u32, query: Fingerprint, fingerprint: Fingerprint) -> Self {
        Self {
            query: query_index,
            distance: query.distance(fingerprint),
            fingerprint: fingerprint.bits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::query::fixtures::{CENTRE, SpreadFixture, inserts, store_with_fingerprints};

    fn small_batch(view: &View, radius: u32, limit: usize) -> BatchQuery<'_> {
        BatchQuery {
            view,
            radius,
            among: &IdRanges::ALL,
            limit,
            limits: QueryLimits::small(),
        }
    }

    /// A reporter without a handler.
    fn unreported(view: &View) -> ProgressReporter {
        ProgressReporter::new(&ProgressHandler::default(), Stage::Batch, None, view.path())
    }

    #[test]
    fn batch_probe_and_batch_scan_find_the_same_matches() {
        let fixture = SpreadFixture::new();
        let view = fixture.view();
        let mut queries = vec![CENTRE, CENTRE];
        queries.extend(fixture.fingerprints.iter().copied().step_by(10_007));
        for radius in (0..=9).chain([12]) {
            let batch = small_batch(&view, radius, usize::MAX);
            let count = AtomicUsize::new(0);
            let probes = Probes::for_radius(radius);
            let probed = probes.blocks().flat_map(|block| {
                let mut shares = Vec::new();
                let mut advance = |share| {
                    shares.push(share);
                    Ok(())
                };
                let found = batch.probe(&queries, &probes, block, &count, &mut advance);
                assert!(shares.is_sorted() && shares.last() == Some(&1.0));
                found.unwrap()
            });
            let mut probed: Vec<BatchMatch> = probed.collect();
            assert_eq!(probed.len(), count.into_inner());
            let mut scanned = batch.scan(0, &queries, &AtomicUsize::new(0)).unwrap();
            let (first, others) = queries.split_at(queries.len() / 2);
            let mut in_parts = batch.scan(0, first, &AtomicUsize::new(0)).unwrap();
            in_parts.extend(
                batch
                    .scan(first.len(), others, &AtomicUsize::new(0))
                    .unwrap(),
            );
            in_parts.sort_unstable();
            probed.sort_unstable();
            scanned.sort_unstable();
            assert!(probed == scanned, "radius {radius}");
            assert!(in_parts == scanned, "radius {radius}");
            let nearby = fixture
                .fingerprints
                .iter()
                .filter(|each| each.distance(CENTRE) <= radius);
            assert!(scanned.len() >= 2 * nearby.count());
        }
    }

    /// A hundred queries for a fingerprint with a thousand documents, more together than are held
    /// in memory.
    #[test]
    fn answers_above_the_held_limit_are_delivered_in_rounds() {
        let copies = QueryLimits::small().documents_held as u64 + 10;
        let folder = tempfile::tempdir().unwrap();
        let store = store_with_fingerprints(&folder, (0..copies).map(|_| CENTRE));
        let view = store.read().unwrap();
        let queries = vec![CENTRE; 100];
        for limit in [3, usize::MAX] {
            let expected = within(&view, CENTRE, 3, &IdRanges::ALL, limit).unwrap();
            assert_eq!(expected.len(), limit.min(copies as usize));
            let mut answered = 0;
            let mut visitor = |query_index, matches| {
                assert_eq!(query_index, answered);
                assert!(matches == expected);
                answered += 1;
                true
            };
            let batch = small_batch(&view, 3, limit);
            batch
                .answer(&queries, &mut unreported(&view), &mut visitor)
                .unwrap();
            assert_eq!(answered, 100);
        }
    }

    #[test]
    fn round_reads_memtables_for_its_own_queries_only() {
        const QUERIES: usize = 2_000;
        let count = QueryLimits::small().documents_held as u64 / 2 + 100;
        let folder = tempfile::tempdir().unwrap();
        let store = store_with_fingerprints(&folder, std::iter::empty());
        let copies = inserts((0..count).map(|_| CENTRE));
        let mut write_guard = store.lock_writes().unwrap();
        store.commit(&mut write_guard, copies, None).unwrap();
        let view = store.read().unwrap();
        assert_eq!(view.unflushed_changes(), count);
        let expected = within(&view, CENTRE, 3, &IdRanges::ALL, usize::MAX).unwrap();
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
            batch
                .answer(&queries, &mut unreported(&view), &mut visitor)
                .unwrap();
            assert_eq!(answered, queries.len());
            started.elapsed()
        };
        // If each round read the memtables for all remaining queries, the time would be quadratic:
        // an eighth of the queries would take a sixty-fourth of the time. The bound lies between.
        // Other load of the machine may spoil a measurement.
        let turns: Vec<_> = (0..5)
            .map(|_| (timed(QUERIES / 8), timed(QUERIES)))
            .take_while(|(eighth, all)| *all > *eighth * 24)
            .collect();
        assert!(turns.len() < 5, "{turns:?}");
    }
}
