//! Which fingerprints several documents have: one walk through the documents in order of their
//! fingerprints.

use rayon::prelude::*;

use super::holders::Holders;
use super::most_at_once;
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::FingerprintSource;

/// Into so many ranges of fingerprints the walk is cut at first.
const RANGES: u64 = if cfg!(test) { 7 } else { 1 << 10 };
/// A walk through a range is left off with so many documents: what has half a million copies is
/// handed over before the next such is gathered.
const MOST_DOCUMENTS: usize = if cfg!(test) { 20 } else { 1 << 16 };

/// The work of finding all copies, as far as it is not done.
pub(super) struct Copies<'h> {
    holders: &'h Holders<'h>,
    /// The first and the last fingerprint of what is to be walked through, the next one last.
    open: Vec<(u64, u64)>,
}

/// Fingerprints that several documents have, in order.
#[derive(Default)]
pub(super) struct Groups {
    /// The documents of one fingerprint after those of another.
    documents: Vec<DocId>,
    /// Each fingerprint, and where its documents end.
    ends: Vec<(u64, usize)>,
}

impl Groups {
    pub(super) fn iter(&self) -> impl Iterator<Item = (Fingerprint, &[DocId])> {
        let mut start = 0;
        self.ends.iter().map(move |(bits, end)| {
            let documents = &self.documents[start..*end];
            start = *end;
            (Fingerprint::from_bits(*bits), documents)
        })
    }
}

impl<'h> Copies<'h> {
    pub(super) fn new(holders: &'h Holders<'h>) -> Self {
        let step = u64::MAX / RANGES;
        let range = |number| {
            let to = if number + 1 == RANGES {
                u64::MAX
            } else {
                (number + 1) * step - 1
            };
            (number * step, to)
        };
        Self {
            holders,
            open: (0..RANGES).rev().map(range).collect(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Which share of the work is done, where fingerprints are spread evenly.
    pub(super) fn done(&self) -> f64 {
        1.0 - self.open.len() as f64 / RANGES as f64
    }

    /// Does some of the work, on all cores.
    pub(super) fn go_on(&mut self) -> Result<Vec<Groups>> {
        let open = &mut self.open;
        let holders = self.holders;
        let walked = holders.view.tables.in_parallel(|| {
            let ranges = open.split_off(open.len().saturating_sub(most_at_once()));
            let ranges = ranges.into_par_iter().with_max_len(1);
            let walked = ranges.map(|(from, to)| Walk::through(holders, from, to));
            walked.collect::<Result<Vec<_>>>()
        })?;
        let (groups, rest): (Vec<Groups>, Vec<Option<(u64, u64)>>) = walked.into_iter().unzip();
        self.open.extend(rest.into_iter().flatten());
        Ok(groups)
    }
}

/// A walk through a range of fingerprints.
struct Walk<'h> {
    holders: &'h Holders<'h>,
    /// What is met next in the tail.
    in_tail: &'h [(u64, DocId)],
    /// The fingerprint just met in the tables, and the documents that it has there.
    same: Option<u64>,
    documents: Vec<DocId>,
    groups: Groups,
}

impl<'h> Walk<'h> {
    /// The copies of a range, and what is left of the range if they are many.
    fn through(
        holders: &'h Holders<'h>,
        from: u64,
        to: u64,
    ) -> Result<(Groups, Option<(u64, u64)>)> {
        let mut walk = Walk {
            holders,
            in_tail: holders.in_tail(from, to),
            same: None,
            documents: Vec::new(),
            groups: Groups::default(),
        };
        let mut rest = None;
        let tables = &holders.view.tables;
        tables.visit_documents(from, to, |bits, id| {
            if walk.same != Some(bits) {
                walk.finish()?;
                walk.take_from_tail(Some(bits));
                if walk.groups.documents.len() >= MOST_DOCUMENTS {
                    rest = Some((bits, to));
                    return Ok(false);
                }
                walk.same = Some(bits);
            }
            walk.documents.push(id);
            Ok(true)
        })?;
        if rest.is_none() {
            walk.finish()?;
            walk.take_from_tail(None);
        }
        Ok((walk.groups, rest))
    }

    /// Takes what has the fingerprint just met, if it is several documents.
    fn finish(&mut self) -> Result<()> {
        let Some(bits) = self.same.take() else {
            return Ok(());
        };
        let others = self.in_tail.iter().take_while(|(other, _)| *other == bits);
        let (own, rest) = self.in_tail.split_at(others.count());
        self.in_tail = rest;
        if self.documents.len() + own.len() > 1 {
            let start = self.groups.documents.len();
            for id in &self.documents {
                if self.holders.view.answers_from_tables(*id)? {
                    self.groups.documents.push(*id);
                }
            }
            self.groups.documents.extend(own.iter().map(|(_, id)| *id));
            self.close(bits, start);
        }
        self.documents.clear();
        Ok(())
    }

    /// Takes what only the tail has, below a fingerprint or to the end.
    fn take_from_tail(&mut self, below: Option<u64>) {
        while let Some((bits, _)) = self.in_tail.first()
            && below.is_none_or(|below| *bits < below)
        {
            let same = self.in_tail.iter().take_while(|(other, _)| other == bits);
            let (own, rest) = self.in_tail.split_at(same.count());
            let start = self.groups.documents.len();
            self.groups.documents.extend(own.iter().map(|(_, id)| *id));
            self.close(*bits, start);
            self.in_tail = rest;
        }
    }

    /// Makes a group of the documents from a place on, if they are several.
    fn close(&mut self, bits: u64, start: usize) {
        let documents = &mut self.groups.documents;
        if documents.len() - start < 2 {
            documents.truncate(start);
            return;
        }
        documents[start..].sort_unstable();
        self.groups.ends.push((bits, documents.len()));
    }
}
