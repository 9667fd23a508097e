//! Fingerprint and radius to probes, candidates, and matches in order.
//!
//! Everything here answers exactly what comparing with every stored fingerprint would answer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::block::{self, BLOCK_BITS, Probes};
use crate::document::{DocId, Match};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::hamming;
use crate::store::Index;

/// The largest distance there is: at this radius everything matches.
const MAX_RADIUS: u32 = 64;

/// The radii at which the nearest documents are looked for, in turn: the largest ones before a
/// block takes on another bit, then what scans tell apart.
const GROWING_RADII: [u32; 6] = [3, 7, 11, 15, 23, 31];

/// Every document within the radius, nearest first, then smallest id; at most `limit` of them.
pub(crate) fn within(
    index: &impl Index,
    query: Fingerprint,
    radius: u32,
    limit: usize,
) -> Result<Vec<Match>> {
    let mut matches = Vec::new();
    if limit == 0 {
        return Ok(matches);
    }
    for_each_match(index, query, radius, |found| {
        matches.push(found);
        matches.len() < limit
    })?;
    Ok(matches)
}

/// The `count` nearest documents, ties by id: exact, by growing the radius until they are found.
pub(crate) fn nearest(index: &impl Index, query: Fingerprint, count: usize) -> Result<Vec<Match>> {
    for radius in GROWING_RADII {
        let matches = within(index, query, radius, count)?;
        if matches.len() >= count {
            return Ok(matches);
        }
    }
    within(index, query, MAX_RADIUS, count)
}

/// Calls `visitor` with every document within the radius, nearest first, then smallest id, until
/// it says `false`. The documents of a fingerprint are read as they are asked for, so a million
/// copies of one text cost no more than those that are looked at.
pub(crate) fn for_each_match(
    index: &impl Index,
    query: Fingerprint,
    radius: u32,
    mut visitor: impl FnMut(Match) -> bool,
) -> Result<()> {
    let mut fingerprints = fingerprints_within(index, query, radius)?;
    fingerprints.sort_unstable_by_key(|fingerprint| (fingerprint.distance(query), *fingerprint));
    for class in fingerprints.chunk_by(|a, b| a.distance(query) == b.distance(query)) {
        let distance = class[0].distance(query);
        let mut postings: Vec<Postings> = Vec::with_capacity(class.len());
        let mut heads = BinaryHeap::with_capacity(class.len());
        for fingerprint in class {
            let mut documents = Postings::new(*fingerprint);
            if let Some(id) = documents.next(index)? {
                heads.push(Reverse((id, postings.len())));
                postings.push(documents);
            }
        }
        while let Some(Reverse((id, source))) = heads.pop() {
            let fingerprint = postings[source].fingerprint;
            if !visitor(Match {
                id,
                fingerprint,
                distance,
            }) {
                return Ok(());
            }
            if let Some(id) = postings[source].next(index)? {
                heads.push(Reverse((id, source)));
            }
        }
    }
    Ok(())
}

/// The distinct reliable fingerprints within the radius, each once, in no order.
fn fingerprints_within(
    index: &impl Index,
    query: Fingerprint,
    radius: u32,
) -> Result<Vec<Fingerprint>> {
    let probes = Probes::for_radius(radius);
    if probing_cost(index, &probes)? < scanning_cost(index)? {
        probe(index, query, radius, &probes)
    } else {
        scan(index, query, radius)
    }
}

/// Looks at the fingerprints whose block keys are near enough to the query's.
fn probe(
    index: &impl Index,
    query: Fingerprint,
    radius: u32,
    probes: &Probes,
) -> Result<Vec<Fingerprint>> {
    let mut found = Vec::new();
    for probed in probes.blocks() {
        let rotated = block::rotate(query, probed);
        for key in probes.keys(probed, block::front_key(rotated)) {
            let (from, to) = block::front_range(key);
            index.visit_rotated(probed, from, to, &mut |chunk| {
                hamming::for_each_within(chunk, rotated, radius, |_, candidate| {
                    // A chunk holds other keys too, whose matches are found when those are probed.
                    let in_range = (from..=to).contains(&candidate);
                    let candidate = block::unrotate(candidate, probed);
                    // Block 0 repeats a fingerprint for each of its documents.
                    let repeated = found.last() == Some(&candidate);
                    if in_range && !repeated && probes.owner(query, candidate) == Some(probed) {
                        found.push(candidate);
                    }
                });
            })?;
        }
    }
    Ok(found)
}

/// The table that a scan reads: it holds each distinct fingerprint once, in half the bytes that
/// the documents take.
const SCANNED: usize = 1;

/// Looks at every fingerprint.
fn scan(index: &impl Index, query: Fingerprint, radius: u32) -> Result<Vec<Fingerprint>> {
    let mut found = Vec::new();
    let rotated = block::rotate(query, SCANNED);
    index.visit_rotated(SCANNED, 0, u64::MAX, &mut |chunk| {
        hamming::for_each_within(chunk, rotated, radius, |_, candidate| {
            found.push(block::unrotate(candidate, SCANNED));
        });
    })?;
    Ok(found)
}

/// What finding the first chunk of a key costs, in chunks read in a row.
const DESCENT_COST: f64 = 2.0;

/// What probing costs, in chunks read in a row.
fn probing_cost(index: &impl Index, probes: &Probes) -> Result<f64> {
    let mut cost = 0.0;
    for block in probes.blocks() {
        let chunks_a_key = index.chunks(block)? as f64 / (1_u64 << BLOCK_BITS) as f64;
        // The chunks at both ends hold other keys too.
        cost += probes.count(block) as f64 * (DESCENT_COST + 1.0 + chunks_a_key);
    }
    Ok(cost)
}

/// What a scan costs, in chunks read in a row.
fn scanning_cost(index: &impl Index) -> Result<f64> {
    Ok(DESCENT_COST + index.chunks(SCANNED)? as f64)
}

/// The documents of one fingerprint, read a chunk at a time.
struct Postings {
    fingerprint: Fingerprint,
    page: std::vec::IntoIter<DocId>,
    /// Where the next page starts; nothing when there is none.
    from: Option<DocId>,
}

impl Postings {
    fn new(fingerprint: Fingerprint) -> Self {
        Self {
            fingerprint,
            page: Vec::new().into_iter(),
            from: Some(DocId(0)),
        }
    }

    fn next(&mut self, index: &impl Index) -> Result<Option<DocId>> {
        if self.page.len() == 0
            && let Some(from) = self.from
        {
            let (page, may_be_more) = index.documents_with(self.fingerprint, from)?;
            let next = page.last().and_then(|last| last.0.checked_add(1));
            self.from = next.filter(|_| may_be_more).map(DocId);
            self.page = page.into_iter();
        }
        Ok(self.page.next())
    }
}
