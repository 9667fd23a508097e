//! [`Batch`]: decides changes in order, each as of the changes before it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::prefetch::{Answer, Found, Prefetched};
use super::{Change, Outcome, Prepared};
use crate::document::{DocId, Document, Match, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::{self, Similar, TextQuery};
use crate::store::{
    DocumentEdit, FingerprintSource, SnapshotTables, StoredDocument, TextEdit, View,
};

/// Changes that are decided and not committed yet.
///
/// The edits of the batch are laid over the view of the database in a memtable of their own, and the
/// expiry of the view follows the arrivals: so a change is answered by the queries that answer a
/// snapshot.
pub(crate) struct Batch<T = SnapshotTables> {
    /// The database with the edits of the batch laid over it, the pending ones excepted.
    view: View<T>,
    /// The net edit of each document that a change has looked up.
    edits: HashMap<DocId, DocumentEdit>,
    /// Documents edited since a query was asked. Laid over the view by the next query: a batch of
    /// one change, or of changes that ask no query, needs no memtable.
    pending: Vec<DocId>,
    prefetched: Prefetched,
    latest_arrival: Option<Timestamp>,
    /// The number of changes decided.
    decided: usize,
    /// Bytes of the texts brought.
    text_bytes: usize,
}

impl Batch<SnapshotTables> {
    /// Looks up, on all cores, the answers that these changes will need.
    pub(crate) fn prefetch<'c>(&mut self, changes: impl IntoIterator<Item = &'c Prepared>) {
        self.prefetched.look_up(&self.view, changes);
    }
}

impl<T: FingerprintSource> Batch<T> {
    /// A batch on top of a view of the last commit. No other commit may come between.
    pub(crate) fn new(view: View<T>) -> Self {
        Self {
            view,
            edits: HashMap::new(),
            pending: Vec::new(),
            prefetched: Prefetched::default(),
            latest_arrival: None,
            decided: 0,
            text_bytes: 0,
        }
    }

    /// Decides changes in order, up to the first that fails, and appends their outcomes.
    pub(crate) fn decide_all(
        &mut self,
        changes: &[Prepared],
        outcomes: &mut Vec<Outcome>,
    ) -> Result<()> {
        for change in changes {
            outcomes.push(self.decide(change)?);
        }
        Ok(())
    }

    /// The net edit of each document, and the latest arrival among the changes that counted.
    pub(crate) fn into_edits(self) -> (Vec<DocumentEdit>, Option<Timestamp>) {
        (self.edits.into_values().collect(), self.latest_arrival)
    }

    /// The number of changes, or of documents if these are more: a measure of the memory in use.
    pub(crate) fn len(&self) -> usize {
        self.edits.len().max(self.decided)
    }

    /// Bytes of the texts brought by the changes.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Removes expired documents: looks at up to `most` arrivals in the tables, from the cursor
    /// `from` on, and returns the next cursor. Skips damaged entries: expiry is best effort, and
    /// reads report damage.
    pub(crate) fn expire(&mut self, from: (u64, DocId), most: usize) -> (u64, DocId) {
        let Some(cutoff) = self.view.expiry().cutoff() else {
            return from;
        };
        let Ok((expired, next, _)) = self.view.arrived_before(cutoff, from, most) else {
            return from;
        };
        for id in expired {
            if let Ok(None) = self.look_up(id) {
                self.remove(id);
            }
        }
        next
    }

    /// Decides one change as of its arrival. A change that fails has changed nothing.
    fn decide(&mut self, prepared: &Prepared) -> Result<Outcome> {
        self.decided += 1;
        let expiry = self.view.expiry();
        let mut advanced = expiry;
        advanced.advance_to(prepared.arrival);
        self.view.set_expiry(advanced);
        let outcome = self.decide_at_arrival(prepared);
        let counts = match outcome {
            Ok(Outcome::Inserted | Outcome::Replaced { .. }) => true,
            Ok(Outcome::Duplicate(_) | Outcome::Similar(_)) => self.view.is_sliding(),
            _ => false,
        };
        if counts {
            self.latest_arrival = self.latest_arrival.max(prepared.arrival);
        } else {
            // Nothing of this arrival is stored. If it moved the time for the changes after it, their
            // outcomes would depend on the grouping of changes into batches.
            self.view.set_expiry(expiry);
        }
        outcome
    }

    fn decide_at_arrival(&mut self, prepared: &Prepared) -> Result<Outcome> {
        let id = prepared.change.id();
        let stored = self.look_up(id)?.map(|state| state.fingerprint);
        match &prepared.change {
            Change::Remove(_) => {
                if stored.is_some() {
                    self.remove(id);
                }
                Ok(removal(stored))
            }
            Change::RemoveOlder { than, .. } => {
                // Removes an expired document as well, although the outcome is then `Missing`.
                let arrival = self.latest_state(id).and_then(|state| state.arrival);
                let is_older = arrival.is_some_and(|arrival| arrival < *than);
                if is_older {
                    self.remove(id);
                }
                Ok(removal(stored.filter(|_| is_older)))
            }
            Change::Upsert(document) => {
                self.put(document, prepared.text.clone());
                Ok(stored.map_or(Outcome::Inserted, |stored| Outcome::Replaced { stored }))
            }
            Change::Insert(document)
            | Change::InsertUnique { document, .. }
            | Change::InsertUnlessSimilar { document, .. } => {
                if let Some(stored) = stored {
                    return Ok(Outcome::Exists { stored });
                }
                if let Some((duplicate, outcome)) = self.duplicate_of(prepared)? {
                    self.refresh(duplicate, document.arrival)?;
                    return Ok(outcome);
                }
                self.put(document, prepared.text.clone());
                Ok(Outcome::Inserted)
            }
        }
    }

    /// The stored document that a new document duplicates, and the outcome that names it.
    fn duplicate_of(&mut self, prepared: &Prepared) -> Result<Option<(DocId, Outcome)>> {
        match (&prepared.change, &prepared.query) {
            (Change::InsertUnique { document, radius }, _) if document.reliable => {
                let nearest = self.nearest(document.fingerprint, *radius)?;
                Ok(nearest.map(|found| (found.id, Outcome::Duplicate(found))))
            }
            (Change::InsertUnlessSimilar { document, .. }, Some(query)) => {
                let most_similar = self.most_similar(document.id, query)?;
                Ok(most_similar.map(|found| (found.id, Outcome::Similar(found))))
            }
            _ => Ok(None),
        }
    }

    /// A document, unless it is expired.
    fn look_up(&mut self, id: DocId) -> Result<Option<StoredDocument>> {
        let state = match self.edits.entry(id) {
            Entry::Occupied(edit) => edit.get().after,
            Entry::Vacant(vacant) => {
                let stored = self.view.stored(id)?;
                vacant.insert(DocumentEdit {
                    id,
                    before: stored,
                    after: stored,
                    text: TextEdit::Keep,
                });
                stored
            }
        };
        Ok(state.filter(|state| !self.has_expired(state)))
    }

    /// A document that was looked up, even if it is expired.
    fn latest_state(&self, id: DocId) -> Option<StoredDocument> {
        self.edits.get(&id)?.after
    }

    fn has_expired(&self, state: &StoredDocument) -> bool {
        self.view.expiry().has_passed(state.arrival)
    }

    /// Moves the arrival of a document to that of its duplicate, if retention is sliding.
    fn refresh(&mut self, id: DocId, arrival: Option<Timestamp>) -> Result<()> {
        if !self.view.is_sliding() {
            return Ok(());
        }
        self.look_up(id)?;
        if let Some(edit) = self.edits.get_mut(&id)
            && let Some(state) = &mut edit.after
        {
            state.arrival = state.arrival.max(arrival);
            self.pending.push(id);
        }
        Ok(())
    }

    fn put(&mut self, document: &Document, text: TextEdit) {
        let state = StoredDocument {
            fingerprint: document.fingerprint,
            reliable: document.reliable,
            arrival: document.arrival,
        };
        self.edit(document.id, Some(state), text);
    }

    fn remove(&mut self, id: DocId) {
        self.edit(id, None, TextEdit::Remove);
    }

    /// Edits a document that was looked up.
    fn edit(&mut self, id: DocId, after: Option<StoredDocument>, text: TextEdit) {
        let Some(edit) = self.edits.get_mut(&id) else {
            return;
        };
        self.text_bytes += text.len_bytes();
        edit.text = match text {
            // A document that comes back unchanged must still be committed, with its arrival: an edit
            // of equal states and a kept text would be dropped.
            TextEdit::Keep if edit.after != edit.before => TextEdit::Remove,
            text => text,
        };
        edit.after = after;
        self.pending.push(id);
    }

    /// Lays the pending edits over the view.
    fn lay_over(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let edits: Vec<DocumentEdit> = self
            .pending
            .drain(..)
            .filter_map(|id| self.edits.get(&id).cloned())
            .collect();
        self.view.overlay(&edits);
    }

    /// The nearest document within the radius, then the one with the smallest id.
    fn nearest(&mut self, query: Fingerprint, radius: u32) -> Result<Option<Match>> {
        self.lay_over();
        if let Some(answer) = self.prefetched.nearest(query, radius)
            && let Some(first) = self.first_valid(answer)?
        {
            let edited = self.view.in_overlay(query, radius, 1).pop();
            return Ok(first.into_iter().chain(edited).min_by_key(Match::order));
        }
        let nearest = query::within(&self.view, query, radius, 1)?.pop();
        let answer = Answer::nearest(nearest, self.view.expiry().cutoff());
        self.prefetched.keep_nearest(query, radius, answer);
        Ok(nearest)
    }

    /// The document whose text is most like that of the query. `id` is that of the query's document.
    fn most_similar(&mut self, id: DocId, query: &TextQuery) -> Result<Option<Similar>> {
        self.lay_over();
        if let Some(answer) = self.prefetched.take_similar(id)
            && let Some(first) = self.first_valid(&answer)?
        {
            let edited = query::similar_in_overlay(&self.view, query)?;
            let edited = edited.first().copied();
            return Ok(first.into_iter().chain(edited).min_by(Similar::order));
        }
        Ok(query::similar_in_turn(&self.view, query)?.first().copied())
    }

    /// The first document of a prefetched answer that is still right, `Some(None)` if the answer is
    /// that there is none, and `None` if the view has to be asked again.
    fn first_valid<A: Found>(&self, answer: &Answer<A>) -> Result<Option<Option<A>>> {
        let cutoff = self.view.expiry().cutoff();
        if answer.cutoff > cutoff {
            return Ok(None);
        }
        for found in &answer.documents {
            let state = match self.edits.get(&found.id()) {
                Some(edit) => edit.after.filter(|_| found.is_unchanged_by(edit)),
                None if answer.cutoff == cutoff => return Ok(Some(Some(*found))),
                None => self.view.stored(found.id())?,
            };
            if state.is_some_and(|state| !self.has_expired(&state)) {
                return Ok(Some(Some(*found)));
            }
        }
        Ok(answer.is_complete.then_some(None))
    }
}

fn removal(stored: Option<Fingerprint>) -> Outcome {
    stored.map_or(Outcome::Missing, |stored| Outcome::Removed { stored })
}
