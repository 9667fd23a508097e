//! The memtables: that their edits are edits of the documents that the tables hold.

use std::collections::BTreeMap;

use super::{NAMED, TableCheck, unless_corrupt};
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::view::View;
use crate::store::view::source::FingerprintSource;

impl TableCheck {
    /// Looks up every document that is edited. A flush removes the entries of the old state that
    /// an edit names, so if the tables hold another state, both would stay.
    pub(super) fn memtables(&mut self, view: &View) -> Result<()> {
        // The fingerprints that the tables may hold for a document, `None` if they may hold none:
        // that before the first edit, and that after each, because a flush may have been cut short.
        let mut expected = BTreeMap::<DocId, Vec<Option<Fingerprint>>>::new();
        for edit in view.unflushed_edits().into_iter().flatten() {
            let [before, after] =
                [edit.before, edit.after].map(|state| state.map(|state| state.fingerprint));
            expected
                .entry(edit.id)
                .or_insert_with(|| vec![before])
                .push(after);
        }
        let mut named = 0;
        for (id, expected) in expected {
            let Some(stored) = unless_corrupt(view.tables.document(id), &mut self.damage)? else {
                // The tables were checked before, so that the damage is named already.
                return Ok(());
            };
            if named < NAMED && !expected.contains(&stored.map(|state| state.fingerprint)) {
                named += 1;
                self.damage.push(format!(
                    "the journal changes document {id}, of which the tables hold something else \
                     than what was changed"
                ));
            }
        }
        Ok(())
    }
}
