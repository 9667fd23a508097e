//! The search for copies: one walk through `block0`, where documents are in order of their
//! fingerprints.

use std::ops::RangeInclusive;

use super::postings::PostingLists;
use super::run_concurrently;
use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::query::limits::QueryLimits;

/// The ranges that remain of the search for copies.
pub(super) struct CopyScan<'p> {
    postings: &'p PostingLists<'p>,
    limits: &'p QueryLimits,
    /// The ranges of fingerprints that are not read yet, the next range last.
    pending: Vec<RangeInclusive<u64>>,
}

/// A fingerprint that several documents have, and the documents in order of their ids.
pub(super) type FingerprintCopies = (Fingerprint, Vec<DocId>);

impl<'p> CopyScan<'p> {
    pub(super) fn new(postings: &'p PostingLists<'p>, limits: &'p QueryLimits) -> Self {
        let step = u64::MAX / limits.copy_ranges;
        let last = limits.copy_ranges - 1;
        let mut pending: Vec<_> = (0..last)
            .map(|number| number * step..=(number + 1) * step - 1)
            .collect();
        pending.push(last * step..=u64::MAX);
        pending.reverse();
        Self {
            postings,
            limits,
            pending,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// An estimate, from 0 to 1, as if fingerprints were spread evenly.
    pub(super) fn done_share(&self) -> f64 {
        1.0 - self.pending.len() as f64 / self.limits.copy_ranges as f64
    }

    /// Runs one turn: reads the next ranges on all cores, and returns their copies.
    pub(super) fn run_next(&mut self) -> Result<Vec<FingerprintCopies>> {
        let (postings, max_documents) = (self.postings, self.limits.documents_per_turn);
        let scanned = run_concurrently(&postings.view.tables, &mut self.pending, |range| {
            scan_range(postings, range, max_documents)
        })?;
        let (groups, rest): (Vec<_>, Vec<_>) = scanned.into_iter().unzip();
        // The rests of interrupted ranges are read in the next turn.
        self.pending.extend(rest.into_iter().flatten());
        Ok(groups.into_iter().flatten().collect())
    }
}

/// Returns the copies of a range, and the rest of the range if it has more than `max_documents`.
/// All documents of a fingerprint are read in one turn, even if they are more.
fn scan_range(
    postings: &PostingLists<'_>,
    range: RangeInclusive<u64>,
    max_documents: usize,
) -> Result<(Vec<FingerprintCopies>, Option<RangeInclusive<u64>>)> {
    let (from, mut to) = range.into_inner();
    let mut entries: Vec<(u64, DocId)> = Vec::new();
    let mut rest = None;
    let PostingLists { view, among, .. } = postings;
    view.tables.visit_documents(from, to, |bits, id| {
        // Stops only between two fingerprints, so that a group of copies is whole.
        let is_first = entries.last().is_none_or(|(last, _)| *last != bits);
        if is_first && entries.len() >= max_documents {
            rest = Some(bits..=to);
            to = bits - 1;
            return Ok(false);
        }
        if among.contains(id) {
            entries.push((bits, id));
        }
        Ok(true)
    })?;
    let memtable = postings.in_memtable(from, to);
    if !memtable.is_empty() {
        entries.extend_from_slice(memtable);
        // The stable sort merges two sorted runs in one pass.
        entries.sort();
        // A document may have the same fingerprint in the tables and in the memtable.
        entries.dedup();
    }
    let mut groups = Vec::new();
    for group in entries.chunk_by(|a, b| a.0 == b.0) {
        // Nearly every fingerprint has one document, and the check below would look up each of
        // them.
        if group.len() == 1 {
            continue;
        }
        let mut documents = Vec::new();
        for entry in group {
            // An entry of the tables may be outdated: the document was changed, removed or has
            // expired.
            if memtable.binary_search(entry).is_ok() || view.answers_from_tables(entry.1)? {
                documents.push(entry.1);
            }
        }
        if documents.len() > 1 {
            groups.push((Fingerprint::from_bits(group[0].0), documents));
        }
    }
    Ok((groups, rest))
}
