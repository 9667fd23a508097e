//! Views with an overlay: the edits of a batch that is not committed yet.

use std::sync::OnceLock;

use super::View;
use crate::document::Match;
use crate::ids::Fingerprint;
use crate::retention::Expiry;
use crate::store::tables::edit::{DocumentEdit, StoredDocument};
use crate::store::view::source::FingerprintSource;

impl<T: FingerprintSource> View<T> {
    /// Lays edits over the view: queries then answer as after a commit of these edits. The totals do not
    /// change.
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
    pub(crate) fn in_overlay(&self, query: Fingerprint, radius: u32, limit: usize) -> Vec<Match> {
        let overlay = self.memtables.overlay_only();
        overlay.within_limit(query, radius, limit, |state| self.answers(state))
    }

    fn answers(&self, state: StoredDocument) -> bool {
        !self.expiry.is_expired(state.arrival)
    }
}
