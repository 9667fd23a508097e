//! [`Batch`]: decides changes in order, each as of the changes before it.

mod copies;
mod ids;
mod replace;
mod search;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

pub(crate) use copies::kind_of;

use super::prefetch::PrefetchCache;
use super::{Change, Outcome, PreparedChange};
use crate::copies::Copies;
use crate::document::Document;
use crate::error::Result;
use crate::ids::scope::sequence;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::measure::decision::{Resolution, SimilarRule};
use crate::record::Record;
use crate::store::{
    CopiesEdit, DocumentEdit, Limits, SnapshotAccess, StoredDocument, TextEdit, View, ViewAccess,
    refused_of,
};

/// Changes that are decided and not committed yet.
///
/// The edits of the batch are an overlay of the view, and the expiry of the view advances with the
/// arrivals. So the queries of a snapshot also answer for a batch.
pub(crate) struct Batch<A: ViewAccess = SnapshotAccess> {
    /// The view with an overlay of all edits except the pending edits.
    view: View<A>,
    /// The net edit of each document that a change has looked up.
    edits: HashMap<DocId, DocumentEdit>,
    /// Documents edited since the last query. The next query or prefetch adds their edits to the
    /// overlay, so a batch of one change needs no overlay.
    pending: Vec<DocId>,
    prefetch_cache: PrefetchCache,
    /// The documents that the batch has put with a key.
    keys: HashMap<String, DocId>,
    /// The last refusal of each document that the batch has refused, as an entry of table
    /// `refused`.
    refused: HashMap<u64, u64>,
    /// The expired document that has the key of the change, if the change may put a document.
    expired_holder: Option<DocId>,
    /// The [sequence](crate::ids::scope::sequence) of the id of the next new document with a key,
    /// once it is needed.
    next_sequence: Option<u64>,
    /// The latest arrival among the stored documents and the refreshed ones.
    latest_arrival: Option<Timestamp>,
    decided: usize,
    /// Bytes of the texts of all edits, including texts that a later edit replaced.
    text_bytes: usize,
}

impl Batch<SnapshotAccess> {
    /// Looks up the answers that these changes need, on all cores.
    pub(crate) fn prefetch<'c>(
        &mut self,
        changes: impl Iterator<Item = &'c PreparedChange> + Clone,
    ) {
        // A document that a pending edit has refreshed may be expired in a view without the edit.
        // No answer would list the document, and no search of the overlay finds a text that is
        // stored below the overlay. Changes without a search need no overlay.
        if changes.clone().any(|prepared| prepared.change.searches()) {
            self.apply_pending_edits();
        }
        self.prefetch_cache.fill(&self.view, changes);
    }
}

impl<A: ViewAccess> Batch<A> {
    /// Creates an empty batch over a view of the last commit, or of an open write transaction. The
    /// caller holds the write lock until the edits are committed.
    pub(crate) fn new(view: View<A>) -> Self {
        Self {
            view,
            edits: HashMap::new(),
            pending: Vec::new(),
            prefetch_cache: PrefetchCache::default(),
            keys: HashMap::new(),
            refused: HashMap::new(),
            expired_holder: None,
            next_sequence: None,
            latest_arrival: None,
            decided: 0,
            text_bytes: 0,
        }
    }

    /// Decides changes in order, up to the first failure, and appends their outcomes.
    pub(crate) fn decide_all(
        &mut self,
        changes: &[PreparedChange],
        outcomes: &mut Vec<Outcome>,
    ) -> Result<()> {
        for change in changes {
            outcomes.push(self.decide(change)?);
        }
        Ok(())
    }

    /// Returns the net edit of each document, and the latest arrival, which advances the expiry.
    pub(crate) fn into_edits(self) -> (Vec<DocumentEdit>, Option<Timestamp>) {
        let Self { edits, refused, .. } = self;
        let edits = edits
            .into_values()
            .map(|edit| last_refusals(edit, &refused));
        (edits.collect(), self.latest_arrival)
    }

    /// The number of changes or of edited documents, whichever is larger.
    pub(crate) fn len(&self) -> usize {
        self.edits.len().max(self.decided)
    }

    /// Returns `true` if a change has edited a document.
    pub(crate) fn has_edits(&self) -> bool {
        self.edits.values().any(DocumentEdit::changes_something)
    }

    /// Returns `true` if the changes should be made in the tables, not in the journal and the
    /// memtable.
    pub(crate) fn is_large(&self, limits: Limits) -> bool {
        self.len() > limits.flush_changes(self.view.keeps_forest())
            || self.text_bytes > limits.max_transaction_bytes
    }

    /// Removes expired documents. Reads up to `most` arrivals of the tables from the cursor `from`
    /// on, and returns the next cursor.
    pub(crate) fn expire(&mut self, from: (u64, DocId), most: usize) -> (u64, DocId) {
        let Some(cutoff) = self.view.expiry().cutoff() else {
            return from;
        };
        // Best effort: an error here would refuse all changes of a group, and the next group would
        // meet the same damaged page. Reads report the damage.
        let Ok((expired, next, _)) = self.view.arrived_before(cutoff, from, most) else {
            return from;
        };
        for id in expired {
            // `Some` if a change of this batch has stored the document again.
            if let Ok(None) = self.look_up(id) {
                self.remove(id);
            }
        }
        next
    }

    /// Decides one change as of its arrival. A change that fails edits nothing.
    pub(crate) fn decide(&mut self, prepared: &PreparedChange) -> Result<Outcome> {
        self.decided += 1;
        self.expired_holder = None;
        self.check_arrival(prepared)?;
        let expiry = self.view.expiry();
        // A change is decided as of its own arrival, which may expire documents.
        let mut advanced = expiry;
        advanced.advance_to(prepared.arrival);
        self.view.set_expiry(advanced);
        let outcome = self.decide_at_arrival(prepared);
        let keeps_arrival = match outcome {
            Ok(Outcome::Replaced { .. }) => true,
            Ok(ref outcome) if outcome.is_inserted() => true,
            Ok(Outcome::Duplicate(_) | Outcome::Similar(_)) => self.view.is_sliding(),
            _ => false,
        };
        if keeps_arrival {
            self.latest_arrival = self.latest_arrival.max(prepared.arrival);
        } else {
            // The next batch will not know an arrival that is not stored. If the arrival expired
            // documents for the rest of this batch, outcomes would depend on the grouping of
            // changes.
            self.view.set_expiry(expiry);
        }
        outcome
    }

    /// Refuses an arrival that is too far ahead of the clock. No stored arrival counts, so a
    /// decision depends neither on the grouping of changes nor on their history.
    fn check_arrival(&self, prepared: &PreparedChange) -> Result<()> {
        let (Some(retention), Some(arrival)) = (self.view.retention(), prepared.arrival) else {
            return Ok(());
        };
        retention.check_arrival_of(|| prepared.doc_ref(), arrival, Timestamp::now())
    }

    fn decide_at_arrival(&mut self, prepared: &PreparedChange) -> Result<Outcome> {
        let Some(id) = self.id_of(prepared)? else {
            return Ok(Outcome::Missing);
        };
        let stored = self.look_up(id)?.map(|state| state.fingerprint);
        match &prepared.change {
            Change::Remove(_) | Change::RemoveKey(_) => {
                // An expired document is `Missing`, and is left to `expire`.
                if stored.is_some() {
                    self.remove(id);
                }
                Ok(removal_outcome(stored))
            }
            Change::RemoveOlder { than, .. } => {
                // An expired document is removed too, so that a bulk load after a prune finds its
                // id free. The outcome is `Missing`, because queries no longer find the document.
                let arrival = self.latest_state(id).and_then(|state| state.arrival);
                let is_older = arrival.is_some_and(|arrival| arrival < *than);
                if is_older {
                    self.remove(id);
                }
                Ok(removal_outcome(stored.filter(|_| is_older)))
            }
            Change::Upsert(document) => {
                if let Some(stored) = stored {
                    return self.replace(id, stored, document, prepared);
                }
                if let Some(outcome) = self.expired_outcome(prepared) {
                    return Ok(outcome);
                }
                let id = self.upserted_id(id, prepared)?;
                self.put(id, document, prepared, None);
                Ok(inserted(document))
            }
            Change::Insert(document)
            | Change::InsertUnique { document, .. }
            | Change::InsertUnlessSimilar { document, .. } => {
                if let Some(stored) = stored {
                    if !self.replaces(id, stored, document, prepared)? {
                        return Ok(Outcome::Exists { stored });
                    }
                    return self.replace(id, stored, document, prepared);
                }
                // Before the search for duplicates: with sliding retention, a duplicate that is
                // expired itself must not count as an arrival.
                if let Some(outcome) = self.expired_outcome(prepared) {
                    return Ok(outcome);
                }
                if self.was_refused(prepared)? {
                    return Ok(Outcome::Seen);
                }
                let found = self.duplicate_of(prepared)?;
                if let Some((duplicate, outcome)) = &found
                    && let Some(kind) = kind_of(outcome)
                {
                    self.add_copy(*duplicate, kind, prepared)?;
                    // With sliding retention a document lives as long as duplicates arrive.
                    self.refresh(*duplicate, document.arrival)?;
                } else {
                    self.put(id, document, prepared, None);
                }
                Ok(found.map_or(inserted(document), |(_, outcome)| outcome))
            }
        }
    }

    /// [`Outcome::Expired`] if the document arrived before the window, as of the latest arrival.
    fn expired_outcome(&self, prepared: &PreparedChange) -> Option<Outcome> {
        let cutoff = self.view.expiry().cutoff()?;
        (prepared.arrival? < cutoff).then_some(Outcome::Expired { cutoff })
    }

    /// The stored document that a new document duplicates or extends, and the outcome that names
    /// it. Removes the documents that a new document supersedes.
    fn duplicate_of(&mut self, prepared: &PreparedChange) -> Result<Option<(DocId, Outcome)>> {
        match (&prepared.change, &prepared.query) {
            (Change::InsertUnique { document, radius }, _) if document.reliable => {
                let nearest = self.nearest(document.fingerprint, *radius, &prepared.among)?;
                Ok(nearest.map(|found| (found.id, Outcome::Duplicate(found))))
            }
            (change, Some(query)) => {
                let Some(found) = self.most_similar(change, query, &prepared.among)? else {
                    return Ok(None);
                };
                let rule = match change {
                    Change::InsertUnlessSimilar { rule, .. } => *rule,
                    _ => SimilarRule::default(),
                };
                let id = found.id;
                let outcome = match rule.resolve(found.verdict()) {
                    Resolution::Refuse => Outcome::Similar(found),
                    Resolution::KeepBoth => Outcome::Extends(found),
                    Resolution::Replace => {
                        Outcome::Supersedes(self.remove_extended(query, &prepared.among)?)
                    }
                };
                Ok(Some((id, outcome)))
            }
            _ => Ok(None),
        }
    }

    /// The key of a document that was looked up; `None` in a database without keys.
    fn key_of(&self, id: DocId) -> Result<Option<Box<str>>> {
        match self.edits.get(&id).and_then(|edit| edit.text.record()) {
            _ if !self.view.keeps_keys() => Ok(None),
            Some(record) => Ok(record.key().map(Box::from)),
            None => Ok(self.view.key(id)?.map(Box::from)),
        }
    }

    /// The state of a document; `None` if the document is missing or expired.
    fn look_up(&mut self, id: DocId) -> Result<Option<StoredDocument>> {
        let state = match self.edits.entry(id) {
            Entry::Occupied(edit) => edit.get().after,
            Entry::Vacant(vacant) => {
                // An edit that changes nothing, also for a missing document: the commit needs the
                // state before the batch, and later edits of the document replace only `after`.
                let stored = self.view.stored(id)?;
                vacant.insert(DocumentEdit {
                    id,
                    before: stored,
                    after: stored,
                    text: TextEdit::Keep,
                    copies: None,
                });
                stored
            }
        };
        Ok(state.filter(|state| !self.has_expired(state)))
    }

    /// The state of a document that was looked up, even if the document is expired.
    fn latest_state(&self, id: DocId) -> Option<StoredDocument> {
        self.edits.get(&id)?.after
    }

    fn has_expired(&self, state: &StoredDocument) -> bool {
        self.view.expiry().is_expired(state.arrival)
    }

    /// Advances the arrival of a document to the arrival of a duplicate, if retention is sliding.
    fn refresh(&mut self, id: DocId, arrival: Option<Timestamp>) -> Result<()> {
        if !self.view.is_sliding() {
            return Ok(());
        }
        // The query found the document; the batch may have no edit of it yet.
        self.look_up(id)?;
        if let Some(edit) = self.edits.get_mut(&id)
            && let Some(state) = &mut edit.after
        {
            state.arrival = state.arrival.max(arrival);
            self.pending.push(id);
        }
        Ok(())
    }

    /// Puts a document with the copies that it brings, or else with these.
    fn put(
        &mut self,
        id: DocId,
        document: &Document,
        prepared: &PreparedChange,
        copies: Option<Arc<Copies>>,
    ) {
        if let Some(key) = &prepared.key {
            self.keys.insert(key.clone(), id);
            // `View::next_sequence` refuses a database whose ids are used up.
            let next = sequence(id) + 1;
            self.next_sequence = self.next_sequence.map(|known| known.max(next));
            // Two documents never have one key.
            if let Some(expired) = self.expired_holder.take() {
                self.remove(expired);
            }
        }
        let state = StoredDocument {
            fingerprint: document.fingerprint,
            reliable: document.reliable,
            arrival: document.arrival,
        };
        self.edit(id, Some(state), prepared.text.clone());
        let own = prepared.text.record().and_then(Record::copies);
        if own.is_none() && copies.is_none() {
            return;
        }
        let refused = own.as_ref().map_or(Vec::new(), |own| {
            refused_of(own, id, self.view.has_window())
        });
        let copies = copies.filter(|_| own.is_none());
        self.set_copies(id, copies, refused);
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
            // `Keep` means that the database stores no texts, so `Remove` is harmless. A document
            // that is edited and then restored has equal states. With `Keep`, the commit would drop
            // the edit and its arrival, and documents that expired by this arrival would be current
            // again.
            TextEdit::Keep if edit.after != edit.before => TextEdit::Remove,
            text => text,
        };
        edit.after = after;
        // The copies of a document that is removed or put are gone.
        let refused = edit.refused().to_vec();
        edit.copies = CopiesEdit::new(None, refused);
        self.pending.push(id);
    }

    fn apply_pending_edits(&mut self) {
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
}

/// The edit with the refusals of documents that no other edit has refused later.
fn last_refusals(mut edit: DocumentEdit, last: &HashMap<u64, u64>) -> DocumentEdit {
    if let Some(copies) = edit.copies.take() {
        let CopiesEdit { state, mut refused } = *copies;
        refused.retain(|one| last.get(&one.hash) == Some(&one.value));
        edit.copies = CopiesEdit::new(state, refused);
    }
    edit
}

fn inserted(document: &Document) -> Outcome {
    Outcome::Inserted {
        reliable: document.reliable,
    }
}

fn removal_outcome(stored: Option<Fingerprint>) -> Outcome {
    stored.map_or(Outcome::Missing, |stored| Outcome::Removed { stored })
}
