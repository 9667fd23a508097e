//! From fingerprints to the documents that have them and answer queries.

use rayon::prelude::*;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::{DocumentsOf, FingerprintSource, View};

/// Who has a fingerprint, by the tables and by the tail.
pub(super) struct Holders<'v> {
    pub(super) view: &'v View,
    /// Fingerprint and document, in that order, of the documents of the tail that answer queries.
    in_tail: Vec<(u64, DocId)>,
}

impl<'v> Holders<'v> {
    pub(super) fn new(view: &'v View) -> Self {
        let documents = view.reliable_in_memtables();
        let mut in_tail: Vec<(u64, DocId)> = documents
            .map(|(id, fingerprint)| (fingerprint.bits(), id))
            .collect();
        view.tables.in_parallel(|| in_tail.par_sort_unstable());
        Self { view, in_tail }
    }

    /// The distinct fingerprints of the tail, in order.
    pub(super) fn fingerprints_in_tail(&self) -> Vec<u64> {
        let of_each = self.in_tail.chunk_by(|a, b| a.0 == b.0);
        of_each.map(|of_one| of_one[0].0).collect()
    }

    /// Fingerprint and document of those of the tail whose fingerprints are in `from..=to`.
    pub(super) fn in_tail(&self, from: u64, to: u64) -> &[(u64, DocId)] {
        let start = self.in_tail.partition_point(|(bits, _)| *bits < from);
        let rest = &self.in_tail[start..];
        &rest[..rest.partition_point(|(bits, _)| *bits <= to)]
    }

    /// Of each of these fingerprints, which ascend, the document with the smallest id; nothing if no
    /// document has it.
    pub(super) fn first(&self, fingerprints: &[u64]) -> Result<Vec<Option<DocId>>> {
        let found = self.view.tables.documents_of(fingerprints)?;
        self.view.tables.in_parallel(|| {
            let of_each = fingerprints.par_iter().with_min_len(256);
            of_each
                .map(|bits| {
                    let in_tail = self.in_tail(*bits, *bits).first().map(|(_, id)| *id);
                    let in_tables = self.first_in_tables(*bits, &found)?;
                    Ok(in_tail.into_iter().chain(in_tables).min())
                })
                .collect()
        })
    }

    /// The document with the smallest id by the tables, given what was found there.
    fn first_in_tables(&self, bits: u64, found: &DocumentsOf) -> Result<Option<DocId>> {
        let mut own = DocumentsOf::default();
        own.take(found, bits);
        for (_, id) in &own.documents {
            if self.view.answers_from_tables(*id)? {
                return Ok(Some(*id));
            }
        }
        if own.documents.is_empty() && found.others.binary_search(&bits).is_ok() {
            return self.first_of_many(bits);
        }
        Ok(None)
    }

    /// The same where any number of documents may have the fingerprint.
    fn first_of_many(&self, bits: u64) -> Result<Option<DocId>> {
        for id in self.view.tables.documents_with(bits) {
            let id = id?;
            if self.view.answers_from_tables(id)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// Of fingerprints in order and what was found of each, what was found of one.
pub(super) fn found_of(
    fingerprints: &[u64],
    first: &[Option<DocId>],
    fingerprint: Fingerprint,
) -> Option<DocId> {
    let db_path = fingerprints.binary_search(&fingerprint.bits()).ok()?;
    first.get(db_path).copied().flatten()
}
