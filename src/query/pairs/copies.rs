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

    /// Appends a group, unless it has fewer than two documents.
    fn push(&mut self, bits: u64, mut documents: Vec<DocId>) {
        if documents.len() > 1 {
            documents.sort_unstable();
            self.documents.append(&mut documents);
            self.ends.push((bits, self.documents.len()));
        }
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
        let (postings, max_copies) = (self.postings, self.limits.copies_per_turn);
        let walked = run_next(&postings.view.tables, &mut self.open, |range| {
            walk(postings, range, max_copies)
        })?;
        let (groups, rest): (Vec<_>, Vec<_>) = walked.into_iter().unzip();
        self.open.extend(rest.into_iter().flatten());
        Ok(groups)
    }
}

/// Returns the copies of a range, and the rest of the range if it stopped after `max_copies`.
fn walk(
    postings: &PostingLists<'_>,
    range: RangeInclusive<u64>,
    max_copies: usize,
) -> Result<(CopyGroups, Option<RangeInclusive<u64>>)> {
    let (from, to) = range.into_inner();
    let mut builder = GroupBuilder {
        postings,
        memtable: postings.in_memtable(from, to),
        fingerprint: None,
        stored: Vec::new(),
        groups: CopyGroups::default(),
    };
    let mut rest = None;
    let tables = &postings.view.tables;
    tables.visit_documents(from, to, |bits, id| {
        if builder.fingerprint != Some(bits) {
            builder.close_before(Some(bits))?;
            if builder.groups.documents.len() >= max_copies {
                rest = Some(bits..=to);
                return Ok(false);
            }
            builder.fingerprint = Some(bits);
        }
        builder.stored.push(id);
        Ok(true)
    })?;
    if rest.is_none() {
        builder.close_before(None)?;
    }
    Ok((builder.groups, rest))
}

/// The merge of the tables' documents with the memtable's, both in order of their fingerprints.
struct GroupBuilder<'p> {
    postings: &'p PostingLists<'p>,
    /// The memtable's entries that are in no group yet.
    memtable: &'p [(u64, DocId)],
    /// The fingerprint last met in the tables, until its group is closed.
    fingerprint: Option<u64>,
    /// The documents of that fingerprint in the tables.
    stored: Vec<DocId>,
    groups: CopyGroups,
}

impl GroupBuilder<'_> {
    /// Closes the groups of all fingerprints below `end`, or of all.
    fn close_before(&mut self, end: Option<u64>) -> Result<()> {
        // The memtable's fingerprints below that of the tables were closed before that was met.
        while let Some(bits) = self
            .fingerprint
            .or_else(|| self.memtable.first().map(|(bits, _)| *bits))
            && end.is_none_or(|end| bits < end)
        {
            self.close(bits)?;
        }
        Ok(())
    }

    /// Makes a group of all documents of a fingerprint if they are several.
    fn close(&mut self, bits: u64) -> Result<()> {
        let recent = self.memtable.iter().take_while(|entry| entry.0 == bits);
        let (recent, rest) = self.memtable.split_at(recent.count());
        self.memtable = rest;
        // Nearly every fingerprint has one document, which need not be looked at then.
        if self.stored.len() + recent.len() > 1 {
            let mut documents = Vec::new();
            for id in &self.stored {
                if self.postings.view.answers_from_tables(*id)? {
                    documents.push(*id);
                }
            }
            documents.extend(recent.iter().map(|(_, id)| *id));
            self.groups.push(bits, documents);
        }
        self.fingerprint = None;
        self.stored.clear();
        Ok(())
    }
}
