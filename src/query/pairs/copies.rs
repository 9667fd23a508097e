//! Fingerprints that several documents have: one walk through `block0`, where documents are in order
//! of their fingerprints.

use std::ops::RangeInclusive;

use super::postings::PostingLists;
use super::run_next;
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

/// Fingerprints that several documents have, in order.
#[derive(Default)]
pub(super) struct CopyGroups {
    /// The documents of the first fingerprint, then those of the second, and so on.
    documents: Vec<DocId>,
    /// Each fingerprint, and the index behind its last document.
    ends: Vec<(u64, usize)>,
}

impl CopyGroups {
    pub(super) fn iter(&self) -> impl Iterator<Item = (Fingerprint, &[DocId])> {
        let mut start = 0;
        self.ends.iter().map(move |(bits, end)| {
            let documents = &self.documents[start..*end];
            start = *end;
            (Fingerprint::from_bits(*bits), documents)
        })
    }
}

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
    pub(super) fn run_next(&mut self) -> Result<Vec<CopyGroups>> {
        let (postings, max_documents) = (self.postings, self.limits.documents_per_turn);
        let walked = run_next(&postings.view.tables, &mut self.open, |range| {
            walk(postings, range, max_documents)
        })?;
        let (groups, rest): (Vec<_>, Vec<_>) = walked.into_iter().unzip();
        self.open.extend(rest.into_iter().flatten());
        Ok(groups)
    }
}

/// Returns the copies of a range, and the rest of the range if it has more than `max_documents`, all
/// of one fingerprint excepted.
fn walk(
    postings: &PostingLists<'_>,
    range: RangeInclusive<u64>,
    max_documents: usize,
) -> Result<(CopyGroups, Option<RangeInclusive<u64>>)> {
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
        // A document that the memtable changed may still have its fingerprint in the tables.
        entries.dedup();
    }
    let mut groups = CopyGroups::default();
    for same in entries
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() > 1)
    {
        let start = groups.documents.len();
        for (bits, id) in same {
            if memtable.binary_search(&(*bits, *id)).is_ok() || view.answers_from_tables(*id)? {
                groups.documents.push(*id);
            }
        }
        if groups.documents.len() - start > 1 {
            groups.ends.push((same[0].0, groups.documents.len()));
        } else {
            groups.documents.truncate(start);
        }
    }
    Ok((groups, rest))
}
