//! [`PostingLists`]: the documents of each fingerprint.

use rayon::prelude::*;

use crate::error::Result;
use crate::ids::DocId;
use crate::ids::scope::IdRanges;
use crate::store::{DocumentLookup, View};

/// The documents of each fingerprint, from the tables and from the memtables. Only documents that
/// answer queries and have one of some ids are returned: no removed, outdated or expired ones.
pub(super) struct PostingLists<'v> {
    pub(super) view: &'v View,
    pub(super) among: &'v IdRanges,
    /// The reliable documents of the memtables, sorted by fingerprint, then by id.
    memtable: Vec<(u64, DocId)>,
}

impl<'v> PostingLists<'v> {
    pub(super) fn new(view: &'v View, among: &'v IdRanges) -> Self {
        let mut memtable: Vec<(u64, DocId)> = view
            .reliable_in_memtables()
            .filter(|(id, _)| among.contains(*id))
            .map(|(id, fingerprint)| (fingerprint.bits(), id))
            .collect();
        view.tables.in_parallel(|| memtable.par_sort_unstable());
        Self {
            view,
            among,
            memtable,
        }
    }

    /// The distinct fingerprints of the memtables, in order.
    pub(super) fn memtable_fingerprints(&self) -> Vec<u64> {
        self.memtable
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| group[0].0)
            .collect()
    }

    /// The entries of the memtables with fingerprints in `from..=to`.
    pub(super) fn in_memtable(&self, from: u64, to: u64) -> &[(u64, DocId)] {
        let start = self.memtable.partition_point(|(bits, _)| *bits < from);
        let rest = &self.memtable[start..];
        &rest[..rest.partition_point(|(bits, _)| *bits <= to)]
    }

    /// Returns the smallest document id of each of these ascending fingerprints. Leaves out
    /// fingerprints without a document.
    pub(super) fn first_documents(&self, fingerprints: &[u64]) -> Result<Vec<(u64, DocId)>> {
        let stored = self.view.tables.documents_of(fingerprints)?;
        self.view.tables.in_parallel(|| {
            fingerprints
                .par_iter()
                // At least 256 look-ups in a job: most of them are a few binary searches in memory.
                .with_min_len(256)
                .filter_map(|bits| {
                    let first = self.first_document(*bits, &stored).transpose()?;
                    Some(first.map(|id| (*bits, id)))
                })
                .collect()
        })
    }

    /// Returns the smallest document id of a fingerprint, given the documents `stored` in the
    /// tables.
    fn first_document(&self, bits: u64, stored: &DocumentLookup) -> Result<Option<DocId>> {
        let first_in_memtable = self.in_memtable(bits, bits).first().map(|(_, id)| *id);
        let start = stored.documents.partition_point(|(other, _)| *other < bits);
        let looked_up = stored.documents[start..]
            .iter()
            .take_while(|(other, _)| *other == bits)
            .filter(|(_, id)| self.among.contains(*id))
            .map(|(_, id)| Ok(*id));
        // The look-up leaves out fingerprints whose documents may fill several chunks. Their
        // documents are read only up to the first that answers queries.
        let is_left_out = stored.others.binary_search(&bits).is_ok();
        let left_out = is_left_out
            .then(|| self.view.tables.documents_with(bits, self.among))
            .into_iter()
            .flatten();
        for id in looked_up.chain(left_out) {
            let id = id?;
            if self.view.answers_from_tables(id)? {
                return Ok(Some(first_in_memtable.map_or(id, |other| other.min(id))));
            }
        }
        Ok(first_in_memtable)
    }
}
