//! The memtables: each edit begins at a state that the tables may hold.

use std::collections::BTreeMap;

use super::{NAMED, TableCheck, unless_corrupt};
use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::store::view::View;

impl TableCheck {
    /// Looks up every edited document. A flush removes the old state that an edit names; another
    /// state in the tables would stay beside the new one.
    pub(super) fn memtables(&mut self, view: &View) -> Result<()> {
        // The states that the tables may hold: the one before the first edit and, after a flush
        // that was cut short, the one after any edit.
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
                // The check of the tables has named the rest.
                return Ok(());
            };
            if named < NAMED && !expected.contains(&stored.map(|state| state.fingerprint)) {
                named += 1;
                self.damage.push(format!(
                    "the journal changes document {id}, but the tables hold another state of it \
                     than the one that was changed"
                ));
            }
        }
        Ok(())
    }
}
