//! Changes that are not in the tables yet: that they are changes of what the tables hold.

use std::collections::BTreeMap;

use super::{NAMED, Walk, noted};
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::view::View;
use crate::store::view::source::FingerprintSource;

/// The fingerprints that the tables may hold for a document, nothing where it may be in none of
/// them: what the first change found, and what each made of it, as a merge may have been cut short.
type Expected = BTreeMap<DocId, Vec<Option<Fingerprint>>>;

impl Walk {
    /// Looks up every document that is changed. A merge takes away what a change says it found, so
    /// of a document of which that is not true, both would stay.
    pub(super) fn tail(&mut self, view: &View) -> Result<()> {
        let mut misled = Vec::new();
        for (id, expected) in expected(view) {
            let Some(stored) = noted(view.tables.document(id), &mut self.damage)? else {
                // Said already, where the tables were walked.
                return Ok(());
            };
            if !expected.contains(&stored.map(|state| state.fingerprint)) {
                misled.push(id);
            }
        }
        for id in misled.iter().take(NAMED) {
            self.damage.push(format!(
                "the journal changes document {id}, of which the tables hold something else than \
                 what was changed"
            ));
        }
        Ok(())
    }
}

fn expected(view: &View) -> Expected {
    let mut expected = Expected::new();
    for edit in view.unflushed_edits().into_iter().flatten() {
        let [before, after] =
            [edit.before, edit.after].map(|state| state.map(|state| state.fingerprint));
        expected
            .entry(edit.id)
            .or_insert_with(|| vec![before])
            .push(after);
    }
    expected
}
