//! The tables of copies in a write transaction.

use super::WriteTransaction;
use crate::copies::Copies;
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::retention::{Expiry, Retention};
use crate::store::tables::copies::CopiesChanges;
use crate::store::tables::edit::{DocumentEdit, Refused};
use crate::store::tables::packed::ApplyCounts;
use crate::store::tables::schema::{COPIED, REFUSED};

impl WriteTransaction {
    /// Applies edits to the tables of copies.
    pub(super) fn apply_copies(&mut self, edits: &[DocumentEdit]) -> Result<()> {
        if !self.keeps.copies() {
            return Ok(());
        }
        let latest = self.counters.counts().latest_arrival;
        let cutoff = Expiry::new(self.retention, latest, Timestamp::now).cutoff();
        let tables = self.tables()?;
        let changes = tables.copies_changes(edits, cutoff)?;
        drop(tables);
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
        let tables = self.tables()?;
        let has_window = self.retention.is_some_and(Retention::has_window);
        let changes = tables.new_copies_changes(documents, has_window)?;
        drop(tables);
        self.apply_copies_changes(changes)
    }

    /// Adds refused documents whose copies are set elsewhere.
    pub(crate) fn add_refused(&mut self, refused: &[Refused]) -> Result<()> {
        let tables = self.tables()?;
        let changes = tables.refused_changes(refused)?;
        drop(tables);
        self.apply_copies_changes(changes)
    }

    fn apply_copies_changes(&mut self, changes: CopiesChanges) -> Result<()> {
        let CopiesChanges { copied, refused } = changes;
        let mut tables = self.tables()?;
        let copied = tables.apply(COPIED, copied)?;
        let refused = tables.apply(REFUSED, refused)?;
        drop(tables);
        self.is_changed |= copied != ApplyCounts::default() || refused != ApplyCounts::default();
        Ok(())
    }
}
