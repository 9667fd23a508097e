//! The tables of copies in a write transaction.

use super::WriteTransaction;
use crate::copies::Copies;
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::retention::{Expiry, Retention};
use crate::store::tables::copies::CopiesChanges;
use crate::store::tables::edit::{DocumentEdit, Refused};
use crate::store::tables::schema::{COPIED, REFUSED};

impl WriteTransaction {
    /// Applies edits to the tables of copies.
    pub(super) fn apply_copies(&mut self, edits: &[DocumentEdit]) -> Result<()> {
        if !self.keeps.copies() {
            return Ok(());
        }
        let latest = self.counters.counts().latest_arrival;
        let cutoff = Expiry::new(self.retention, latest, Timestamp::now).cutoff();
        let changes = self.tables()?.copies_changes(edits, cutoff)?;
        self.apply_copies_changes(changes)
    }

    /// Applies the copies that new documents bring, by ascending ids.
    pub(crate) fn add_copies<'c>(
        &mut self,
        documents: impl Iterator<Item = (DocId, &'c Copies)>,
    ) -> Result<()> {
        if !self.keeps.copies() {
            return Ok(());
        }
        let has_window = self.retention.is_some_and(Retention::has_window);
        let changes = self.tables()?.new_copies_changes(documents, has_window)?;
        self.apply_copies_changes(changes)
    }

    /// Adds refused documents whose copies are set elsewhere.
    pub(crate) fn add_refused(&mut self, refused: &[Refused]) -> Result<()> {
        let changes = self.tables()?.refused_changes(refused)?;
        self.apply_copies_changes(changes)
    }

    fn apply_copies_changes(&mut self, changes: CopiesChanges) -> Result<()> {
        self.apply_to(COPIED, changes.copied)?;
        self.apply_to(REFUSED, changes.refused)?;
        Ok(())
    }
}
