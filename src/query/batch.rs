//! Many queries at once: each block table is walked once for all of them.
//!
//! The queries are put in order of their keys, block by block. Each run of a block is then read
//! once, and compared with the queries whose keys are near enough to its own.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::candidates::{is_probing_cheaper, parts_to_read, push_near_in_parts};
use super::documents::for_each_in_order;
use super::single::within;
use crate::block::{self, BLOCK_BITS, Probes};
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::hamming;
use crate::store::{Bucket, DocumentsOf, FingerprintSource, SCANNED, SnapshotTables, Step, View};

/// Fewer queries than this are answered one by one.
const LEAST_QUERIES: usize = 32;
/// The most queries answered at a time.
const MOST_QUERIES: usize = 1 << 20;
/// The most hits that are held at a time, of 16 bytes each: where more come together, fewer queries
/// are answered at a time.
const MOST_HITS: usize = 8 << 20;

/// Hits whose documents are looked up together, in one walk.
const HITS_LOOKED_UP: usize = if cfg!(test) { 1 << 6 } else { 1 << 19 };
/// Queries whose matches are put together at a time, on all cores.
const QUERIES_PUT_TOGETHER: usize = 4096;
/// The most matches that are held at a time, but for those of one query. (Few in unit tests.)
const MOST_MATCHES: usize = if cfg!(test) { 1 << 10 } else { 2 << 20 };

/// A stored fingerprint that is within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    query: u32,
    distance: u32,
    fingerprint: u64,
}

/// Calls `visitor` with the number of each query, in order, and what [`within`] gives for it, until
/// the visitor says `false`.
pub(crate) fn within_batch(
    view: &View,
    queries: &[Fingerprint],
    radius: u32,
    limit: usize,
    visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
) -> Result<()> {
    let batch = Batch {
        view,
        index: &view.tables,
        radius,
        limit,
    };
    let mut next = 0;
    let mut at_a_time = MOST_QUERIES;
    while next < queries.len() {
        let part = &queries[next..queries.len().min(next + at_a_time)];
        if part.len() < LEAST_QUERIES {
            for query in part {
                if !visitor(next, within(view, *query, radius, limit)?) {
                    return Ok(());
                }
                next += 1;
            }
        } else if let Some(hits) = batch.hits(part)? {
            if !batch.deliver(next, part, &hits, visitor)? {
                return Ok(());
            }
            next += part.len();
        } else {
            at_a_time = part.len() / 8;
            continue;
        }
        at_a_time = (2 * at_a_time).min(MOST_QUERIES);
    }
    Ok(())
}

struct Batch<'v> {
    view: &'v View,
    index: &'v SnapshotTables,
    radius: u32,
    limit: usize,
}

impl Batch<'_> {
    /// All hits, in order; nothing if there are too many.
    fn hits(&self, queries: &[Fingerprint]) -> Result<Option<Vec<Hit>>> {
        if self.limit == 0 {
            return Ok(Some(Vec::new()));
        }
        let count = AtomicUsize::new(0);
        let probes = Probes::for_radius(self.radius);
        let mut hits = Vec::new();
        if is_probing_cheaper(self.index, &probes, queries.len())? {
            for block in probes.blocks() {
                hits.append(&mut self.probe(queries, &probes, block, &count)?);
                if are_too_many(&count) {
                    return Ok(None);
                }
            }
        } else {
            hits = self.scan(queries, &count)?;
        }
        if are_too_many(&count) {
            return Ok(None);
        }
        self.index.in_parallel(|| hits.par_sort_unstable());
        Ok(Some(hits))
    }

    /// The hits that `block` owns. `count` counts them; once they are too many, no more are looked
    /// for.
    fn probe(
        &self,
        queries: &[Fingerprint],
        probes: &Probes,
        block: usize,
        count: &AtomicUsize,
    ) -> Result<Vec<Hit>> {
        let sorted = self.index.in_parallel(|| ByKey::of(queries, block));
        // A key differs from every key near it by one of these.
        let differences = probes.keys(block, 0);
        let keys = sorted.keys_near(&differences);
        self.index.look_up(block, &keys, |index, key, run, hits| {
            let mut near = Vec::new();
            // Takes those of the near fingerprints that this block owns.
            let mut take = |number, rotated, near: &mut Vec<u64>| {
                if near.is_empty() {
                    return;
                }
                let query = block::unrotate(rotated, block);
                let before = hits.len();
                hits.extend(near.drain(..).filter_map(|near| {
                    let fingerprint = block::unrotate(near, block);
                    let owned = probes.owner(query, fingerprint) == Some(block);
                    owned.then(|| Hit::new(number, query, fingerprint))
                }));
                count.fetch_add(hits.len() - before, Ordering::Relaxed);
            };
            // Those for which all of a long run must be read: together, once.
            let mut for_all = Vec::new();
            let near_queries = differences
                .iter()
                .flat_map(|difference| sorted.with_key(key ^ difference));
            for (number, rotated) in near_queries {
                if are_too_many(count) {
                    return Ok(());
                }
                if let Bucket::Whole(fingerprints) = run {
                    hamming::push_within(fingerprints, rotated, self.radius, &mut near);
                } else if let Some(parts) = parts_to_read(probes, block, key, rotated) {
                    push_near_in_parts(index, block, &parts, rotated, self.radius, &mut near)?;
                } else {
                    for_all.push((number, rotated));
                }
                take(number, rotated, &mut near);
            }
            if for_all.is_empty() {
                return Ok(());
            }
            let (from, to) = block::front_range(key);
            index.visit_range(block, from, to, &mut |piece| {
                for (number, rotated) in &for_all {
                    hamming::push_within(piece, *rotated, self.radius, &mut near);
                    take(*number, *rotated, &mut near);
                }
                Ok(if are_too_many(count) {
                    Step::Stop
                } else {
                    Step::Next
                })
            })
        })
    }

    /// The hits, by comparing every query with every fingerprint.
    fn scan(&self, queries: &[Fingerprint], count: &AtomicUsize) -> Result<Vec<Hit>> {
        self.index.scan(|fingerprints, hits| {
            let mut near = Vec::new();
            for (number, query) in (0..).zip(queries) {
                if are_too_many(count) {
                    return;
                }
                let rotated = block::rotate(*query, SCANNED);
                hamming::push_within(fingerprints, rotated, self.radius, &mut near);
                count.fetch_add(near.len(), Ordering::Relaxed);
                let hit = |near| Hit::new(number, *query, block::unrotate(near, SCANNED));
                hits.extend(near.drain(..).map(hit));
            }
        })
    }

    /// Looks up the documents of hits, which are in order, and hands them over; whether the visitor
    /// never said `false`.
    fn deliver(
        &self,
        first: usize,
        queries: &[Fingerprint],
        hits: &[Hit],
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let mut rest = hits;
        let mut next = 0;
        while next < queries.len() {
            // All hits of a query are looked up at once.
            let end = rest
                .get(HITS_LOOKED_UP)
                .map_or(queries.len(), |hit| (hit.query as usize).max(next + 1));
            let (own, others) = split_before(rest, end);
            let mut fingerprints: Vec<u64> = own.iter().map(|hit| hit.fingerprint).collect();
            self.index.in_parallel(|| fingerprints.par_sort_unstable());
            fingerprints.dedup();
            let documents = self.index.documents_of(&fingerprints)?;
            if !self.put_together((first, queries), next..end, own, &documents, visitor)? {
                return Ok(false);
            }
            (next, rest) = (end, others);
        }
        Ok(true)
    }

    /// Hands over the matches of some queries, of whose hits the documents were looked up.
    fn put_together(
        &self,
        (first, queries): (usize, &[Fingerprint]),
        range: Range<usize>,
        hits: &[Hit],
        documents: &DocumentsOf,
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let mut hits = hits;
        let mut next = range.start;
        while next < range.end {
            let mut rest = hits;
            let of_each: Vec<(Fingerprint, &[Hit])> =
                (next..range.end.min(next + QUERIES_PUT_TOGETHER))
                    .map(|query| {
                        let (own, others) = split_before(rest, query + 1);
                        rest = others;
                        (queries[query], own)
                    })
                    .collect();
            // Once there are too many matches, only the first query is sure to get all of its own.
            let count = AtomicUsize::new(0);
            let answer = |(db_path, (query, hits)): (usize, &(Fingerprint, &[Hit]))| {
                let most = if db_path == 0 {
                    usize::MAX
                } else {
                    MOST_MATCHES
                };
                self.matches(*query, hits, documents, most, &count)
            };
            let answers: Vec<Option<Vec<Match>>> = self.index.in_parallel(|| {
                let of_each = of_each.par_iter().with_min_len(16).enumerate();
                of_each.map(answer).collect::<Result<_>>()
            })?;
            for matches in answers.into_iter().map_while(|answer| answer) {
                if !visitor(first + next, matches) {
                    return Ok(false);
                }
                next += 1;
            }
            hits = split_before(hits, next).1;
        }
        Ok(true)
    }

    /// The matches of one query, whose hits are in order; nothing if with those that `count` counts
    /// they are more than `most`.
    fn matches(
        &self,
        query: Fingerprint,
        hits: &[Hit],
        documents: &DocumentsOf,
        most: usize,
        count: &AtomicUsize,
    ) -> Result<Option<Vec<Match>>> {
        // There may be thousands of queries, and thousands of documents of each in the tail.
        if count.load(Ordering::Relaxed) > most {
            return Ok(None);
        }
        let in_tail = self.view.in_memtables(query, self.radius, self.limit);
        let mut are_few = count.fetch_add(in_tail.len(), Ordering::Relaxed) <= most;
        let mut matches = Vec::new();
        let mut failed = Ok(());
        for class in hits.chunk_by(|a, b| a.distance == b.distance) {
            let distance = class[0].distance;
            let mut own = DocumentsOf::default();
            class
                .iter()
                .for_each(|hit| own.take(documents, hit.fingerprint));
            let goes_on = for_each_in_order(self.index, own, |id, fingerprint| {
                match self.view.answers_from_tables(id) {
                    Ok(true) => {}
                    Ok(false) => return true,
                    Err(error) => {
                        failed = Err(error);
                        return false;
                    }
                }
                are_few = count.fetch_add(1, Ordering::Relaxed) < most;
                matches.push(Match {
                    id,
                    fingerprint,
                    distance,
                });
                are_few && matches.len() < self.limit
            })?;
            if !goes_on {
                break;
            }
        }
        failed?;
        if !in_tail.is_empty() {
            matches.extend(in_tail);
            matches.sort_unstable_by_key(Match::order);
            matches.truncate(self.limit);
        }
        Ok(are_few.then_some(matches))
    }
}

/// Hits, which are in order, of the queries before one, and of the others.
fn split_before(hits: &[Hit], query: usize) -> (&[Hit], &[Hit]) {
    hits.split_at(hits.partition_point(|hit| (hit.query as usize) < query))
}

fn are_too_many(count: &AtomicUsize) -> bool {
    count.load(Ordering::Relaxed) > MOST_HITS
}

impl Hit {
    fn new(number: u32, query: Fingerprint, fingerprint: Fingerprint) -> Self {
        Self {
            query: number,
            distance: query.distance(fingerprint),
            fingerprint: fingerprint.bits(),
        }
    }
}

/// Queries in order of their keys in one block.
struct ByKey {
    /// Number and rotation of each.
    queries: Vec<(u32, u64)>,
    /// For each key, and for the end, the position of the first that has it or a larger one.
    starts: Vec<u32>,
}

impl ByKey {
    fn of(queries: &[Fingerprint], block: usize) -> Self {
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

    /// Number and rotation of each query that has this key.
    fn with_key(&self, key: u16) -> impl Iterator<Item = (u32, u64)> {
        let key = usize::from(key);
        let (start, end) = (self.starts[key] as usize, self.starts[key + 1] as usize);
        self.queries[start..end].iter().copied()
    }

    /// Every key that differs from that of some query by one of these, in order.
    fn keys_near(&self, differences: &[u16]) -> Vec<u16> {
        let mut is_near = vec![false; 1 << BLOCK_BITS];
        for same_key in self
            .queries
            .chunk_by(|(_, a), (_, b)| block::front_key(*a) == block::front_key(*b))
        {
            let key = block::front_key(same_key[0].1);
            for difference in differences {
                is_near[usize::from(key ^ difference)] = true;
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
    use crate::query::spreads::{CENTRE, Spreads, inserts, store_of};

    #[test]
    fn probing_for_many_and_scanning_for_many_hit_the_same() {
        let spreads = Spreads::stored();
        let view = spreads.view();
        let mut queries = vec![CENTRE, CENTRE];
        queries.extend(spreads.fingerprints.iter().copied().step_by(10_007));
        for radius in (0..=9).chain([12]) {
            let batch = Batch {
                index: &view.tables,
                view: &view,
                radius,
                limit: usize::MAX,
            };
            let count = AtomicUsize::new(0);
            let probes = Probes::for_radius(radius);
            let probed = probes
                .blocks()
                .flat_map(|block| batch.probe(&queries, &probes, block, &count).unwrap());
            let mut probed: Vec<Hit> = probed.collect();
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
    /// A text that came a thousand times, asked for a hundred times, has more matches than are
    /// held at a time.
    #[test]
    fn what_many_queries_match_together_need_not_fit() {
        let copies = MOST_MATCHES as u64 + 10;
        let folder = tempfile::tempdir().unwrap();
        let store = store_of(&folder, (0..copies).map(|_| CENTRE));
        let view = store.read().unwrap();
        let queries = vec![CENTRE; 100];
        for limit in [3, usize::MAX] {
            let expected = within(&view, CENTRE, 3, limit).unwrap();
            assert_eq!(expected.len(), limit.min(copies as usize));
            let mut answered = 0;
            within_batch(&view, &queries, 3, limit, &mut |number, matches| {
                assert_eq!(number, answered);
                assert!(matches == expected);
                answered += 1;
                true
            })
            .unwrap();
            assert_eq!(answered, 100);
        }
    }

    /// What is answered in a later round is not gathered in each round before it.
    #[test]
    fn copies_in_the_tail_are_gathered_for_the_queries_of_a_round() {
        const QUERIES: usize = 2_000;
        const COPIES: u64 = MOST_MATCHES as u64 / 2 + 100;
        let folder = tempfile::tempdir().unwrap();
        let store = store_of(&folder, std::iter::empty());
        let copies = inserts((0..COPIES).map(|_| CENTRE));
        let mut write_guard = store.lock_writes().unwrap();
        store.commit(&mut write_guard, copies, None).unwrap();
        let view = store.read().unwrap();
        assert_eq!(view.unflushed_changes(), COPIES);
        let expected = within(&view, CENTRE, 3, usize::MAX).unwrap();
        assert_eq!(expected.len() as u64, COPIES);
        let timed = |count| {
            let queries = vec![CENTRE; count];
            let started = Instant::now();
            let mut answered = 0;
            within_batch(&view, &queries, 3, usize::MAX, &mut |_, matches| {
                assert!(matches == expected);
                answered += 1;
                true
            })
            .unwrap();
            assert_eq!(answered, count);
            started.elapsed()
        };
        // Gathered in each round, an eighth of them would take a sixty-fourth of the time. What else
        // the machine does may spoil a turn.
        let turns: Vec<_> = (0..5)
            .map(|_| (timed(QUERIES / 8), timed(QUERIES)))
            .take_while(|(eighth, all)| *all > *eighth * 24)
            .collect();
        assert!(turns.len() < 5, "{turns:?}");
    }
}
