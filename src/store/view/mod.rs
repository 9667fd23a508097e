//! The database as of one commit: the memtables over the tables.
//!
//! - [`View`] is the whole database: the documents of the memtables, and the documents of the
//!   tables that no memtable has edited.
//! - [`ViewAccess`] is the way to read the tables: in a snapshot through the [caches](super::cache)
//!   and on all cores, or in a write transaction.
//! - [`TableStore`](table_store::TableStore) is the open file, which all snapshots share.
//!
//! This folder uses the tables, the pager, the memtables and the caches, and writes nothing to the
//! file. `kept_frames` has what is learned about frames, which all snapshots share.

pub(crate) mod access;
mod copies;
mod documents;
mod kept_frames;
mod keys;
mod lookup;
pub(crate) mod postings;
mod scan;
mod scopes;
mod similar;
pub(crate) mod table_store;

use std::sync::{Arc, OnceLock};

use crate::document::Match;
use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::record::Record;
use crate::retention::{Expiry, Retention};
use crate::store::memtable::MemtableView;
use crate::store::tables::Tables;
use crate::store::tables::edit::{DocumentEdit, StoredDocument, TextEdit, Totals};
use crate::store::tables::scopes::ScopeNames;
use crate::store::view::access::{SnapshotAccess, ViewAccess};

/// The database as of one commit.
///
/// A document that a memtable has edited is read from the memtables alone: the tables may hold an
/// older state of the document, or the entries of a newer state that an unfinished flush has
/// written.
pub(crate) struct View<A: ViewAccess = SnapshotAccess> {
    /// Shared with the views of [`since`](Self::since).
    pub(crate) tables: Arc<Tables<A>>,
    memtables: MemtableView,
    counts: Totals,
    expiry: Expiry,
    retention: Option<Retention>,
    /// Shared with the open database, so it may have newer names.
    scopes: Arc<ScopeNames>,
    /// `true` if the tables hold an expired document; computed on first use.
    has_expired: OnceLock<bool>,
    /// The ids of edited documents, ascending; computed on first use.
    ids_in_memtables: OnceLock<Vec<DocId>>,
}

impl<A: ViewAccess> View<A> {
    pub(super) fn new(
        tables: Tables<A>,
        memtables: MemtableView,
        counts: Totals,
        retention: Option<Retention>,
        scopes: &Arc<ScopeNames>,
    ) -> Self {
        // The clock is read once: all answers of a view have one expiry.
        Self {
            counts,
            expiry: Expiry::new(retention, counts.latest_arrival, Timestamp::now),
            retention,
            has_expired: OnceLock::new(),
            tables: Arc::new(tables),
            memtables,
            scopes: Arc::clone(scopes),
            ids_in_memtables: OnceLock::new(),
        }
    }

    /// The view without the documents that arrived before a time, as if they had expired.
    pub(crate) fn since(&self, time: Timestamp) -> Self {
        Self {
            tables: Arc::clone(&self.tables),
            memtables: self.memtables.clone(),
            counts: self.counts,
            expiry: self.expiry.since(time),
            retention: self.retention,
            scopes: Arc::clone(&self.scopes),
            has_expired: OnceLock::new(),
            ids_in_memtables: OnceLock::new(),
        }
    }

    pub(crate) fn expiry(&self) -> Expiry {
        self.expiry
    }

    pub(crate) fn retention(&self) -> Option<Retention> {
        self.retention
    }

    /// Returns `true` if a duplicate renews the arrival of the document that it duplicates.
    pub(crate) fn is_sliding(&self) -> bool {
        self.retention.is_some_and(|retention| retention.sliding)
    }

    /// A document without its text, even if it is expired.
    pub(crate) fn stored(&self, id: DocId) -> Result<Option<StoredDocument>> {
        match self.memtables.latest(id) {
            Some(latest) => Ok(latest.state),
            None => self.tables.document(id),
        }
    }

    /// The fingerprint of a stored document.
    pub(crate) fn fingerprint(&self, id: DocId) -> Result<Option<Fingerprint>> {
        match self.memtables.latest(id) {
            Some(latest) => Ok(latest.state.map(|state| state.fingerprint)),
            None => self.tables.fingerprint(id),
        }
    }

    /// `None` if no text is stored.
    pub(crate) fn text(&self, id: DocId) -> Result<Option<String>> {
        Ok(self.record(id)?.and_then(Record::into_text))
    }

    /// The text with the key and the fields of its document; `None` if no record is stored. The
    /// record may have earlier [copies](Self::copies).
    pub(crate) fn record(&self, id: DocId) -> Result<Option<Record>> {
        match self.memtables.latest(id).map(|latest| latest.text) {
            Some(TextEdit::Put(keyed)) => Ok(Some(keyed.record().clone())),
            Some(TextEdit::Remove) => Ok(None),
            Some(TextEdit::Keep) | None => self.tables.record(id),
        }
    }

    /// Returns `true` if no memtable has edited the document, so that its state in the tables is
    /// valid.
    pub(crate) fn is_in_tables(&self, id: DocId) -> bool {
        !self.memtables.contains(id)
    }

    /// Returns `true` if queries may return this document of the tables: no memtable has edited it,
    /// and it is not expired.
    pub(crate) fn answers_from_tables(&self, id: DocId) -> Result<bool> {
        if !self.is_in_tables(id) {
            return Ok(false);
        }
        // The arrival time is a table lookup, so it is skipped if no document can be expired.
        Ok(!self.has_expired()? || !self.expiry.is_expired(self.tables.arrival_of(id)?))
    }

    fn has_expired(&self) -> Result<bool> {
        if self.expiry.cutoff().is_none() {
            return Ok(false);
        }
        if let Some(has_expired) = self.has_expired.get() {
            return Ok(*has_expired);
        }
        // The first arrival is the oldest.
        let has_expired = self.expiry.is_expired(self.tables.first_arrival()?);
        Ok(*self.has_expired.get_or_init(|| has_expired))
    }

    /// The first `limit` documents of the memtables among some ids within the radius, nearest
    /// first, then smallest id.
    pub(crate) fn in_memtables(
        &self,
        query: Fingerprint,
        radius: u32,
        among: &IdRanges,
        limit: usize,
    ) -> Vec<Match> {
        if self.memtables.is_empty() {
            return Vec::new();
        }
        self.memtables
            .within_limit(query, radius, among, limit, |state| self.answers(state))
    }

    /// The documents of the tables that arrived before `cutoff`, from position `from` on. Reads up
    /// to `limit` arrivals. Returns the ids that no memtable has edited, the position of the next
    /// arrival, and `true` if there may be more.
    pub(crate) fn arrived_before(
        &self,
        cutoff: Timestamp,
        from: (u64, DocId),
        limit: usize,
    ) -> Result<(Vec<DocId>, (u64, DocId), bool)> {
        let arrivals = self.tables.find_arrivals(cutoff, from, limit)?;
        // A position is an entry of the table: arrival time, then id.
        let next = match arrivals.last() {
            None => from,
            Some((time, id)) => match id.0.checked_add(1) {
                Some(id) => (time.0, DocId(id)),
                None => (time.0.saturating_add(1), DocId(0)),
            },
        };
        let may_have_more = arrivals.len() == limit;
        let ids = arrivals.into_iter().map(|(_, id)| id);
        let ids = ids.filter(|id| self.is_in_tables(*id)).collect();
        Ok((ids, next, may_have_more))
    }

    /// Lays edits over the view: queries then answer as after a commit of these edits. The totals
    /// do not change.
    pub(crate) fn overlay(&mut self, edits: &[DocumentEdit]) {
        self.memtables.overlay(edits);
        // The computed ids lack the edits.
        self.ids_in_memtables = OnceLock::new();
    }

    /// Replaces the expiry, so that queries answer as of another time.
    pub(crate) fn set_expiry(&mut self, expiry: Expiry) {
        if expiry.cutoff() != self.expiry.cutoff() {
            self.has_expired = OnceLock::new();
        }
        self.expiry = expiry;
    }

    /// [`in_memtables`](Self::in_memtables) for the overlay alone.
    pub(crate) fn in_overlay(
        &self,
        query: Fingerprint,
        radius: u32,
        among: &IdRanges,
        limit: usize,
    ) -> Vec<Match> {
        let overlay = self.memtables.overlay_only();
        overlay.within_limit(query, radius, among, limit, |state| self.answers(state))
    }

    fn answers(&self, state: StoredDocument) -> bool {
        !self.expiry.is_expired(state.arrival)
    }
}
