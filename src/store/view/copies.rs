//! The copies of documents.

use std::sync::Arc;

use super::View;
use crate::copies::Copies;
use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Timestamp};
use crate::record::Record;
use crate::retention::Retention;
use crate::store::tables::copies::{Copied, MAX_COUNT};
use crate::store::tables::packed::entry::pair;
use crate::store::tables::schema::COPIED;
use crate::store::view::access::ViewAccess;

impl<A: ViewAccess> View<A> {
    pub(crate) fn keeps_copies(&self) -> bool {
        self.tables.keeps.copies()
    }

    /// Returns `true` if documents expire.
    pub(crate) fn has_window(&self) -> bool {
        self.retention().is_some_and(Retention::has_window)
    }

    /// Returns `true` if a refusal at a time is known, until the refused document would have
    /// expired itself.
    pub(crate) fn knows_refusal_at(&self, time: u64) -> bool {
        let cutoff = self.expiry().cutoff();
        cutoff.is_none_or(|cutoff| time >= cutoff.0)
    }

    /// The number of sightings of a document that are stored.
    pub(crate) fn newest_copies(&self) -> usize {
        usize::from(self.tables.keeps.newest_copies)
    }

    /// The copies of a stored document, even if the document is expired; `None` without a copy.
    pub(crate) fn copies(&self, id: DocId) -> Result<Option<Arc<Copies>>> {
        if !self.keeps_copies() {
            return Ok(None);
        }
        match self.edited_copies(id) {
            Some(copies) => Ok(copies),
            None => {
                let record = self.tables.record(id)?;
                Ok(record.as_ref().and_then(Record::copies).map(Arc::new))
            }
        }
    }

    /// The copies of a document that a memtable has edited; `None` if the tables have them.
    pub(super) fn edited_copies(&self, id: DocId) -> Option<Option<Arc<Copies>>> {
        self.memtables.copies(id)
    }

    /// The last value of a refused key or id in table `refused`, for a writer: edits that are not
    /// visible count too.
    pub(crate) fn refused(&self, hash: u64) -> Result<Option<u64>> {
        match self.memtables.refused(hash) {
            Some(value) => Ok(Some(value)),
            None => self.tables.refused(hash),
        }
    }
}

impl View {
    /// The documents with the most copies among the documents with some ids and a copy since a
    /// time, the most first, then smallest id. At most `limit` documents.
    pub(crate) fn most_copied(
        &self,
        limit: usize,
        since: Option<Timestamp>,
        among: &IdRanges,
    ) -> Result<Vec<(DocId, Copies)>> {
        let since = since.unwrap_or(Timestamp(0));
        let mut most = MostCopied {
            documents: Vec::new(),
            limit,
            since,
        };
        for id in self.ids_in_memtables() {
            if among.contains(*id)
                && let Some(copies) = self.copies(*id)?
                && self.contains(*id)?
            {
                most.add(*id, &copies);
            }
        }
        let mut in_tables: Vec<Copied> = Vec::new();
        if let Some(table) = self.tables.kept(COPIED) {
            for (first, last) in among.ranges() {
                let (from, to) = (pair(first.0, 0), pair(last.0, u64::MAX));
                table.visit_entries(from, to, |entry| {
                    let copied = Copied::new(entry);
                    if copied.may_have_since(since) && self.is_in_tables(copied.id) {
                        in_tables.push(copied);
                    }
                    true
                })?;
            }
        }
        in_tables.sort_unstable_by_key(|copied| (std::cmp::Reverse(copied.count), copied.id));
        for copied in in_tables {
            // The largest number in the table stands for all larger numbers.
            if copied.count < MAX_COUNT && most.is_beyond(copied.count, copied.id) {
                break;
            }
            if let Some(copies) = self.copies(copied.id)?
                && self.contains(copied.id)?
            {
                most.add(copied.id, &copies);
            }
        }
        Ok(most.documents)
    }
}

/// The first documents so far, the most copies first.
struct MostCopied {
    documents: Vec<(DocId, Copies)>,
    limit: usize,
    since: Timestamp,
}

impl MostCopied {
    /// Returns `true` if a document with this number of copies comes after the last document.
    fn is_beyond(&self, count: u64, id: DocId) -> bool {
        let last = self
            .documents
            .last()
            .filter(|_| self.documents.len() >= self.limit);
        last.is_some_and(|(last, copies)| (count, last.0) < (copies.count, id.0))
    }

    fn add(&mut self, id: DocId, copies: &Copies) {
        if copies.last_seen < self.since || self.is_beyond(copies.count, id) {
            return;
        }
        let precedes = |(other, of): &(DocId, Copies)| (of.count, id) > (copies.count, *other);
        let place = self.documents.partition_point(precedes);
        self.documents.insert(place, (id, copies.clone()));
        self.documents.truncate(self.limit);
    }
}
