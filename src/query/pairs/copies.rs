//! Fingerprints that several documents have: one walk through `block0`, where documents are in order
//! of their fingerprints.

use std::ops::RangeInclusive;

use super::postings::PostingLists;
use super::run_concurrently;
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::limits::QueryLimits;

/// The search for copies, as far as it is not done.
pub(super) struct CopyScan<'p> {
    postings: &'p PostingLists<'p>,
    limits: &'p QueryLimits,
    /// Ranges of fingerprints that were not walked through yet, the next one last.
    open: Vec<RangeInclusive<u64>>,
}

/// A fingerprint that several documents have, and these documents in order of their ids.
pub(super) type CopyGroup = (Fingerprint, Vec<DocId>);

impl<'p> CopyScan<'p> {
    pub(super) fn new(postings: &'p PostingLists<'p>, limits: &'p QueryLimits) -> Self {
        let step = u64::MAX / limits.copy_ranges;
        let last = limits.copy_ranges - 1;
        let mut open: Vec<_> = (0..last)
            .map(|number| number * step..=(number + 1) * step - 1)
            .collect();
        open.push(last * step..=u64::MAX);
        open.reverse();
        Self {
            postings,
            limits,
            open,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the share of the work that is done, from 0 to 1, if fingerprints are spread evenly.
    pub(super) fn done(&self) -> f64 {
        1.0 - self.open.len() as f64 / self.limits.copy_ranges as f64
    }

    /// Walks through the next ranges on all cores.
    pub(super) fn run_next(&mut self) -> Result<Vec<CopyGroup>> {
        let (postings, max_documents) = (self.postings, self.limits.documents_per_turn);
        let walked = run_concurrently(&postings.view.tables, &mut self.open, |range| {
            walk(postings, range, max_documents)
        })?;
        let (groups, rest): (Vec<_>, Vec<_>) = walked.into_iter().unzip();
        self.open.extend(rest.into_iter().flatten());
        Ok(groups.into_iter().flatten().collect())
    }
}

/// Returns the copies of a range, and the rest of the range if it has more than `max_documents` and
/// not all of them have one fingerprint.
fn walk(
    postings: &PostingLists<'_>,
    range: RangeInclusive<u64>,
    max_documents: usize,
) -> Result<(Vec<CopyGroup>, Option<RangeInclusive<u64>>)> {
    let (from, mut to) = range.into_inner();
    let mut entries: Vec<(u64, DocId)> = Vec::new();
    let mut rest = None;
    let PostingLists { view, .. } = postings;
    view.tables.visit_documents(from, to, |bits, id| {
        let is_first = entries.last().is_none_or(|(last, _)| *last != bits);
        if is_first && entries.len() >= max_documents {
            rest = Some(bits..=to);
            to = bits - 1;
            return Ok(false);
        }
        entries.push((bits, id));
        Ok(true)
    })?;
    let memtable = postings.in_memtable(from, to);
    if !memtable.is_empty() {
        entries.extend_from_slice(memtable);
        // The stable sort merges two sorted runs in one pass.
        entries.sort();
        // The tables may still hold an entry that the memtable holds, too.
        entries.dedup();
    }
    let mut groups = Vec::new();
    for same in entries.chunk_by(|a, b| a.0 == b.0) {
        // Nearly every fingerprint has one document, which need not be looked up then.
        if same.len() == 1 {
            continue;
        }
        let mut documents = Vec::new();
        for entry in same {
            if memtable.binary_search(entry).is_ok() || view.answers_from_tables(entry.1)? {
                documents.push(entry.1);
            }
        }
        if documents.len() > 1 {
            groups.push((Fingerprint::from_bits(same[0].0), documents));
        }
    }
    Ok((groups, rest))
}
