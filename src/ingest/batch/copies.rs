//! The documents that a batch refuses as copies.

use std::sync::Arc;

use super::Batch;
use crate::copies::{Copies, Sighting, SightingKind, refused_hash};
use crate::error::Result;
use crate::ids::DocId;
use crate::ingest::{Outcome, PreparedChange};
use crate::measure::containment::Verdict;
use crate::record::Record;
use crate::store::{Refused, TextEdit, ViewAccess, id_after_moves, refused_of};

impl<A: ViewAccess> Batch<A> {
    /// Returns `true` if a change was refused before as a copy, within the window, or of a document
    /// that is still stored.
    pub(super) fn was_refused(&mut self, prepared: &PreparedChange) -> Result<bool> {
        if !self.view.keeps_copies() || !prepared.change.searches() {
            return Ok(false);
        }
        let hash = refused_hash(&prepared.doc_ref());
        match self.refused_value(hash)? {
            None => Ok(false),
            Some(time) if self.view.has_window() => Ok(self.view.knows_refusal_at(time)),
            Some(id) => {
                let keeps_scopes = self.view.keeps_scopes();
                let id = id_after_moves(DocId(id), |id| {
                    match keeps_scopes && self.look_up(id)?.is_none() {
                        true => self.refused_value(id.0),
                        false => Ok(None),
                    }
                })?;
                if self.look_up(id)?.is_none() {
                    return Ok(false);
                }
                // Another document may have the id since.
                Ok(self
                    .copies_of(id)?
                    .is_some_and(|copies| copies.may_have(hash)))
            }
        }
    }

    /// The last value of a refused key or id in table `refused`.
    fn refused_value(&self, hash: u64) -> Result<Option<u64>> {
        match self.refused.get(&hash) {
            Some(value) => Ok(Some(*value)),
            None => self.view.refused(hash),
        }
    }

    /// Adds a refused document, and the copies that it brings, to the copies of a document.
    pub(super) fn add_copy(
        &mut self,
        id: DocId,
        kind: SightingKind,
        prepared: &PreparedChange,
    ) -> Result<()> {
        let Some(seen) = prepared.seen else {
            return Ok(());
        };
        self.look_up(id)?;
        let document = prepared.doc_ref();
        let hash = refused_hash(&document);
        let sighting = Sighting {
            document,
            seen,
            kind,
        };
        let before = self.copies_of(id)?;
        let own = prepared.text.record().and_then(Record::copies);
        let newest = self.view.newest_copies();
        let copies = Copies::with(before.as_deref(), sighting, own.as_ref(), newest);
        let has_window = self.view.has_window();
        let value = if has_window { seen.0 } else { id.0 };
        let mut refused = own.map_or(Vec::new(), |own| refused_of(&own, id, has_window));
        refused.push(Refused { hash, value });
        self.text_bytes += copies.len_bytes();
        self.set_copies(id, Some(Arc::new(copies)), refused);
        Ok(())
    }

    /// The copies of a document that was looked up.
    pub(super) fn copies_of(&self, id: DocId) -> Result<Option<Arc<Copies>>> {
        let Some(edit) = self.edits.get(&id) else {
            return self.view.copies(id);
        };
        match (edit.new_copies(), &edit.text) {
            (Some(copies), _) => Ok(Some(Arc::clone(copies))),
            (None, TextEdit::Put(text)) => Ok(text.record().copies().map(Arc::new)),
            (None, TextEdit::Remove) => Ok(None),
            (None, TextEdit::Keep) => self.view.copies(id),
        }
    }

    /// Sets the copies of a document that was looked up, unless they are `None`, and adds refused
    /// documents.
    pub(super) fn set_copies(
        &mut self,
        id: DocId,
        copies: Option<Arc<Copies>>,
        refused: Vec<Refused>,
    ) {
        self.refused
            .extend(refused.iter().map(|one| (one.hash, one.value)));
        if let Some(edit) = self.edits.get_mut(&id) {
            let mut edited = edit.copies.take().unwrap_or_default();
            edited.state = copies.or(edited.state);
            edited.refused.extend(refused);
            edit.copies = Some(edited);
        }
    }
}

/// The kind of a copy; `None` if the outcome refuses no copy.
pub(crate) fn kind_of(outcome: &Outcome) -> Option<SightingKind> {
    match outcome {
        Outcome::Duplicate(found) => Some(SightingKind::Duplicate {
            distance: found.distance,
        }),
        Outcome::Similar(found) => Some(match found.verdict() {
            Some(Verdict::AInB) => SightingKind::AInB,
            Some(Verdict::SameBody) => SightingKind::SameBody,
            Some(_) => SightingKind::Same,
            None => SightingKind::Alike,
        }),
        _ => None,
    }
}
