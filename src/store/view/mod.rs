//! The database as of one commit: its tables, overlaid by the tail.

mod bands;
pub(crate) mod bucket_cache;
mod contents;
mod overlay;
pub(crate) mod pool;
pub(crate) mod postings;
pub(crate) mod read_view;
pub(crate) mod scan;
pub(crate) mod source;

use std::sync::OnceLock;
use std::time::SystemTime;

use crate::document::{DocId, Match, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::retention::{Expiry, Retention};
use crate::store::memtable::MemtableView;
use crate::store::tables::edit::{Counts, StoredDocument, TextEdit};
use crate::store::view::read_view::ReadView;
use crate::store::view::source::FingerprintSource;

/// The database as of one commit.
///
/// What the tables say of a document that the tail has touched does not count.
pub(crate) struct View<T = ReadView> {
    pub(crate) tables: T,
    tail: MemtableView,
    counts: Counts,
    expiry: Expiry,
    is_sliding: bool,
    /// Whether the tables hold anything that is expired, once that was asked.
    has_expired: OnceLock<bool>,
    /// The documents that the tail has touched, in order, once they were asked for.
    touched: OnceLock<Vec<DocId>>,
}

impl<T: FingerprintSource> View<T> {
    pub(super) fn new(
        tables: T,
        tail: MemtableView,
        counts: Counts,
        retention: Option<Retention>,
    ) -> Self {
        let by_clock = retention.is_some_and(|retention| retention.by_clock);
        let clock = by_clock.then(|| Timestamp::from(SystemTime::now()));
        Self {
            counts,
            expiry: Expiry::new(retention, counts.latest_arrival.max(clock)),
            is_sliding: retention.is_some_and(|retention| retention.sliding),
            has_expired: OnceLock::new(),
            tables,
            tail,
            touched: OnceLock::new(),
        }
    }

    /// What is expired.
    pub(crate) fn expiry(&self) -> Expiry {
        self.expiry
    }

    /// Whether the arrival of a duplicate refreshes the document that it duplicates.
    pub(crate) fn is_sliding(&self) -> bool {
        self.is_sliding
    }

    /// What is stored of a document beside its text, be it expired or not.
    pub(crate) fn stored(&self, id: DocId) -> Result<Option<StoredDocument>> {
        match self.tail.edit(id) {
            Some(current) => Ok(current.state),
            None => self.tables.document(id),
        }
    }

    /// The text of a document, where one is kept.
    pub(crate) fn text(&self, id: DocId) -> Result<Option<String>> {
        match self.tail.edit(id).map(|current| current.text) {
            Some(TextEdit::Put(banded)) => Ok(Some(banded.text.as_ref().to_owned())),
            Some(TextEdit::Remove) => Ok(None),
            Some(TextEdit::Keep) | None => self.tables.text(id),
        }
    }

    /// Whether bands are kept.
    pub(crate) fn keeps_bands(&self) -> bool {
        self.tables.keeps_bands()
    }

    /// Whether what the tables say of a document is what is stored of it.
    pub(crate) fn is_in_tables(&self, id: DocId) -> bool {
        !self.tail.touches(id)
    }

    /// Whether a document that the tables hold answers queries.
    pub(crate) fn answers_from_tables(&self, id: DocId) -> Result<bool> {
        if !self.is_in_tables(id) {
            return Ok(false);
        }
        Ok(!self.has_expired()? || !self.expiry.has_passed(self.tables.arrival(id)?))
    }

    fn has_expired(&self) -> Result<bool> {
        if self.expiry.cutoff().is_none() {
            return Ok(false);
        }
        if let Some(has_expired) = self.has_expired.get() {
            return Ok(*has_expired);
        }
        let has_expired = self.expiry.has_passed(self.tables.oldest_arrival()?);
        Ok(*self.has_expired.get_or_init(|| has_expired))
    }

    /// What the tail holds within the radius: the first `limit`, nearest first, then smallest id.
    pub(crate) fn in_tail(&self, query: Fingerprint, radius: u32, limit: usize) -> Vec<Match> {
        if self.tail.is_empty() {
            return Vec::new();
        }
        let answers = |state: StoredDocument| !self.expiry.has_passed(state.arrival);
        self.tail.within_limit(query, radius, limit, answers)
    }

    /// Documents that arrived before `cutoff`, as far as the tables tell: of the `most` entries
    /// there from `from` on those that count, where to go on, and whether there may be more.
    pub(crate) fn arrived_before(
        &self,
        cutoff: Timestamp,
        from: (u64, DocId),
        most: usize,
    ) -> Result<(Vec<DocId>, (u64, DocId), bool)> {
        let entries = self.tables.arrivals_before(cutoff, from, most)?;
        let next = match entries.last() {
            None => from,
            Some((time, id)) => match id.0.checked_add(1) {
                Some(id) => (time.0, DocId(id)),
                None => (time.0.saturating_add(1), DocId(0)),
            },
        };
        let may_be_more = entries.len() == most;
        let ids = entries.into_iter().map(|(_, id)| id);
        let ids = ids.filter(|id| self.is_in_tables(*id)).collect();
        Ok((ids, next, may_be_more))
    }
}
