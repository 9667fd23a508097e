//! Stored documents in whose place a new document comes.

use super::Batch;
use crate::analysis::Analysed;
use crate::document::{Document, OnExists};
use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint};
use crate::ingest::{Outcome, PreparedChange};
use crate::measure::containment::Verdict;
use crate::measure::decision::Decision;
use crate::query::{self, Similar, TextQuery};
use crate::record::Record;
use crate::store::{Refused, TextEdit, ViewAccess};

impl<A: ViewAccess> Batch<A> {
    /// Returns `true` if a document replaces the stored document with its id or key.
    pub(super) fn replaces(
        &self,
        id: DocId,
        stored: Fingerprint,
        document: &Document,
        prepared: &PreparedChange,
    ) -> Result<bool> {
        if document.on_exists == OnExists::Keep {
            return Ok(false);
        }
        let old = match self.edits.get(&id).map(|edit| &edit.text) {
            Some(TextEdit::Put(text)) => Some(text.record().clone()),
            Some(TextEdit::Remove) => None,
            Some(TextEdit::Keep) | None => self.view.record(id)?,
        };
        let parts = |record: &Record| {
            let fields = record.fields().map(str::to_owned);
            (fields, record.clone().into_text())
        };
        let old = old.as_ref().map(parts).unwrap_or_default();
        let new = prepared.text.record().map(parts).unwrap_or_default();
        Ok(match document.on_exists {
            OnExists::Keep => false,
            OnExists::Replace => stored != document.fingerprint || new != old,
            OnExists::ReplaceIfExtends => match (&new.1, &old.1) {
                (Some(new), Some(old)) => {
                    let (new, old) = (Analysed::lazy(new.as_str()), Analysed::lazy(old.as_str()));
                    let found = new.removable(&old, Decision::Contained);
                    found.is_some_and(|found| found.verdict == Verdict::BInA)
                }
                _ => false,
            },
        })
    }

    /// Replaces a stored document, unless the new one arrived before the window.
    pub(super) fn replace(
        &mut self,
        id: DocId,
        stored: Fingerprint,
        document: &Document,
        prepared: &PreparedChange,
    ) -> Result<Outcome> {
        if let Some(outcome) = self.expired_outcome(prepared) {
            return Ok(outcome);
        }
        // A corrected document is the same document, and has the same copies.
        let copies = match self.view.keeps_copies() {
            true => self.copies_of(id)?,
            false => None,
        };
        let new = self.upserted_id(id, prepared)?;
        self.put(new, document, prepared, copies.clone());
        // Without a window, a refused document is known by the id of the document that it repeats.
        if copies.is_some() && new != id && !self.view.has_window() {
            let (hash, value) = (id.0, new.0);
            self.set_copies(new, None, vec![Refused { hash, value }]);
        }
        Ok(Outcome::Replaced { stored })
    }

    /// Removes the documents whose texts are contained in the text of a query that no stored text
    /// contains. A removal for each new document keeps the stored texts free of contained texts
    /// that are near.
    pub(super) fn remove_extended(
        &mut self,
        query: &TextQuery,
        among: &IdRanges,
    ) -> Result<Vec<Similar>> {
        // The prefetched answer has the first documents only.
        let mut extended = query::similar_sequential(&self.view, query, among)?;
        for document in &mut extended {
            self.look_up(document.id)?;
            document.key = self.key_of(document.id)?;
        }
        for document in &extended {
            self.remove(document.id);
        }
        Ok(extended)
    }
}
