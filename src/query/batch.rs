//! Many queries at once: each block table is walked once for all of them.
//!
//! The queries are put in order of their keys, block by block. Each run of a block is then read
//! once, and compared with the queries whose keys are near enough to its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::candidates::{is_probing_cheaper, push_near};
use super::documents::for_each_document;
use crate::block::{self, BLOCK_BITS, Probes};
use crate::document::Match;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::hamming;
use crate::store::{Index, SCANNED};

/// Queries answered at a time. Each costs some 20 bytes of memory.
const QUERIES_AT_A_TIME: usize = 1 << 20;
/// If more hits than this come together, 128 MiB of them, fewer queries are answered at a time.
const HITS_AT_A_TIME: usize = 8 << 20;

/// Queries whose documents are looked up at a time, on all cores: as many as give about
/// [`MATCHES_AT_A_TIME`], and no more than this.
const MOST_LOOKED_UP: usize = 4096;
const MATCHES_AT_A_TIME: usize = 1 << 20;

/// A stored fingerprint that is within the radius of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    query: u32,
    distance: u32,
    fingerprint: u64,
}

/// Calls `visitor` with the number of each query, in order, and what
/// [`within`](super::within) gives for it, until the visitor says `false`; whether it never did.
pub(crate) fn within_batch(
    index: &(impl Index + Sync),
    queries: &[Fingerprint],
    radius: u32,
    limit: usize,
    visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
) -> Result<bool> {
    let batch = Batch {
        index,
        radius,
        limit,
    };
    let mut first = 0;
    for queries in queries.chunks(QUERIES_AT_A_TIME) {
        if !batch.answer(first, queries, visitor)? {
            return Ok(false);
        }
        first += queries.len();
    }
    Ok(true)
}

struct Batch<'i, I> {
    index: &'i I,
    radius: u32,
    limit: usize,
}

impl<I: Index + Sync> Batch<'_, I> {
    /// Answers queries of which the first has the number `first`, in halves where all at once
    /// have too many hits.
    fn answer(
        &self,
        first: usize,
        queries: &[Fingerprint],
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        if let [query] = queries {
            let matches = super::within(self.index, *query, self.radius, self.limit)?;
            return Ok(visitor(first, matches));
        }
        if let Some(mut hits) = self.hits(queries)? {
            hits.par_sort_unstable();
            return self.deliver(first, queries.len(), &hits, visitor);
        }
        let (front, back) = queries.split_at(queries.len() / 2);
        Ok(self.answer(first, front, visitor)?
            && self.answer(first + front.len(), back, visitor)?)
    }

    /// All hits, in no order; nothing if there are too many.
    fn hits(&self, queries: &[Fingerprint]) -> Result<Option<Vec<Hit>>> {
        let count = AtomicUsize::new(0);
        if self.limit == 0 {
            return Ok(Some(Vec::new()));
        }
        let probes = Probes::for_radius(self.radius);
        let hits = if is_probing_cheaper(self.index, &probes, queries.len())? {
            let mut hits = Vec::new();
            for block in probes.blocks() {
                hits.extend(self.probe(queries, &probes, block, &count)?);
            }
            hits
        } else {
            self.scan(queries, &count)?
        };
        Ok((count.into_inner() <= HITS_AT_A_TIME).then_some(hits))
    }

    /// The hits that `block` owns. `count` counts them; once it exceeds what is asked for at a
    /// time, no more are looked for.
    fn probe(
        &self,
        queries: &[Fingerprint],
        probes: &Probes,
        block: usize,
        count: &AtomicUsize,
    ) -> Result<Vec<Hit>> {
        let sorted = ByKey::of(queries, block);
        // A key differs from every key near it by one of these.
        let differences = probes.keys(block, 0);
        let keys = sorted.keys_near(&differences);
        self.index.look_up(block, &keys, |index, key, run, hits| {
            let mut near = Vec::new();
            for difference in &differences {
                for (number, rotated) in sorted.with_key(key ^ difference) {
                    if count.load(Ordering::Relaxed) > HITS_AT_A_TIME {
                        return Ok(());
                    }
                    push_near(
                        index,
                        probes,
                        block,
                        (key, run),
                        rotated,
                        self.radius,
                        &mut near,
                    )?;
                    let query = block::unrotate(rotated, block);
                    let before = hits.len();
                    hits.extend(near.drain(..).filter_map(|near| {
                        let fingerprint = block::unrotate(near, block);
                        let owned = probes.owner(query, fingerprint) == Some(block);
                        owned.then(|| Hit::new(number, query, fingerprint))
                    }));
                    if hits.len() > before {
                        count.fetch_add(hits.len() - before, Ordering::Relaxed);
                    }
                }
            }
            Ok(())
        })
    }

    /// The hits, by comparing every query with every fingerprint.
    fn scan(&self, queries: &[Fingerprint], count: &AtomicUsize) -> Result<Vec<Hit>> {
        self.index.scan(|fingerprints, hits| {
            let mut near = Vec::new();
            for (number, query) in queries.iter().enumerate() {
                if count.load(Ordering::Relaxed) > HITS_AT_A_TIME {
                    return;
                }
                let rotated = block::rotate(*query, SCANNED);
                hamming::push_within(fingerprints, rotated, self.radius, &mut near);
                count.fetch_add(near.len(), Ordering::Relaxed);
                hits.extend(
                    near.drain(..).map(|near| {
                        Hit::new(number as u32, *query, block::unrotate(near, SCANNED))
                    }),
                );
            }
        })
    }

    /// Looks up the documents of hits in order, and hands them over.
    fn deliver(
        &self,
        first: usize,
        queries: usize,
        hits: &[Hit],
        visitor: &mut dyn FnMut(usize, Vec<Match>) -> bool,
    ) -> Result<bool> {
        let mut hits = hits;
        let mut next = 0;
        let mut at_a_time = MOST_LOOKED_UP;
        while next < queries {
            let looked_up: Vec<&[Hit]> = (next..queries.min(next + at_a_time))
                .map(|query| {
                    let own = hits.partition_point(|hit| hit.query as usize <= query);
                    let (own, others) = hits.split_at(own);
                    hits = others;
                    own
                })
                .collect();
            let matches: Vec<Vec<Match>> = looked_up
                .par_iter()
                .with_min_len(16)
                .map(|hits| self.matches(hits))
                .collect::<Result<_>>()?;
            let count: usize = matches.iter().map(Vec::len).sum();
            for (number, matches) in matches.into_iter().enumerate() {
                if !visitor(first + next + number, matches) {
                    return Ok(false);
                }
            }
            next += looked_up.len();
            at_a_time = match count > MATCHES_AT_A_TIME {
                true => (at_a_time / 4).max(1),
                false => (at_a_time * 2).min(MOST_LOOKED_UP),
            };
        }
        Ok(true)
    }

    /// The matches of one query, whose hits are in order.
    fn matches(&self, hits: &[Hit]) -> Result<Vec<Match>> {
        let mut matches = Vec::new();
        for class in hits.chunk_by(|a, b| a.distance == b.distance) {
            let distance = class[0].distance;
            let fingerprints: Vec<u64> = class.iter().map(|hit| hit.fingerprint).collect();
            let goes_on = for_each_document(self.index, &fingerprints, |id, fingerprint| {
                matches.push(Match {
                    id,
                    fingerprint,
                    distance,
                });
                matches.len() < self.limit
            })?;
            if !goes_on {
                break;
            }
        }
        Ok(matches)
    }
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
    use super::*;
    use crate::query::spreads::{CENTRE, Spreads};

    #[test]
    fn probing_for_many_and_scanning_for_many_hit_the_same() {
        let spreads = Spreads::stored();
        let view = spreads.view();
        let mut queries = vec![CENTRE, CENTRE];
        queries.extend(spreads.fingerprints.iter().copied().step_by(10_007));
        for radius in 0..=9 {
            let batch = Batch {
                index: &view,
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
}
