//! The ids of the documents that a batch changes.

use super::Batch;
use crate::error::Result;
use crate::ids::DocId;
use crate::ids::scope::ScopeNumber;
use crate::ingest::{Change, PreparedChange};
use crate::store::ViewAccess;

impl<A: ViewAccess> Batch<A> {
    /// The document of a change. A new document with a key gets the next id, which is taken when
    /// the document is put. `None` for the removal of an unknown key.
    pub(super) fn id_of(&mut self, prepared: &PreparedChange) -> Result<Option<DocId>> {
        let key = match (&prepared.key, &prepared.change) {
            (Some(key), _) => key,
            (None, Change::Remove(id) | Change::RemoveOlder { id, .. }) => return Ok(Some(*id)),
            (None, change) => return Ok(change.document().map(|document| document.id)),
        };
        let known = match self.keys.get(key) {
            Some(id) => Some(*id),
            None => self.view.id_of(key)?,
        };
        // A document that an earlier change has removed is gone, as after its commit: ids do not
        // depend on the grouping of changes.
        let is_removed = |id: &DocId| (self.edits.get(id)).is_some_and(|edit| edit.after.is_none());
        let known = known.filter(|id| !is_removed(id));
        if let Some(id) = known {
            let is_stored = self.look_up(id)?.is_some();
            if is_stored || prepared.change.document().is_none() {
                return Ok(known);
            }
            // Expired documents are removed in the background. The id of a new document must not
            // depend on the time of the removal.
            self.expired_holder = known;
        } else if prepared.change.document().is_none() {
            return Ok(None);
        }
        self.new_id(prepared.scope).map(Some)
    }

    /// The id of a document that replaces the document with an id. A document that changes its
    /// scope gets a new id, because the scope is a part of the id; the document with the old id is
    /// removed.
    pub(super) fn upserted_id(&mut self, id: DocId, prepared: &PreparedChange) -> Result<DocId> {
        if prepared.key.is_none() || ScopeNumber::of(id) == prepared.scope {
            return Ok(id);
        }
        self.remove(id);
        let id = self.new_id(prepared.scope)?;
        self.look_up(id)?;
        Ok(id)
    }

    /// The id of the next new document with a key. The id is taken when the document is put.
    fn new_id(&mut self, scope: ScopeNumber) -> Result<DocId> {
        let sequence = match self.next_sequence {
            Some(sequence) => sequence,
            None => *self.next_sequence.insert(self.view.next_sequence()?),
        };
        Ok(scope.id(sequence))
    }
}
