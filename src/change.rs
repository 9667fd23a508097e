//! Changes of documents, decided in order: what each one does, given those before it.

use std::collections::{BTreeSet, HashMap};

use crate::block::{self, BLOCKS, Probes};
use crate::document::{DocId, Document, Match};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query;
use crate::store::{DocumentEdit, Index, State, TextEdit};

/// One change of a database.
///
/// Changes are handed over many at once, to [`Database::apply`](crate::Database::apply) or
/// [`Transaction::apply`](crate::Transaction::apply); each sees those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Store the document, unless its id is taken.
    Insert(Document),
    /// Store the document, unless its id is taken or a reliable document lies within the radius.
    /// A document that is not reliable itself is stored whatever lies near.
    InsertUnique {
        /// The document.
        document: Document,
        /// The largest Hamming distance at which another document forbids this one.
        radius: u32,
    },
    /// Store the document in the place of the one that has its id now, if there is one. Its
    /// text goes with it: without a new one, no text is kept.
    Upsert(Document),
    /// Remove the document with this id.
    Remove(DocId),
}

/// What became of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The document is new, and stored.
    Inserted,
    /// The id is taken; nothing changed. If the fingerprint stored under it is the one given,
    /// the change was a repetition.
    Exists {
        /// The fingerprint stored under the id.
        stored: Fingerprint,
    },
    /// This document lies within the radius, the nearest and then the one with the smallest id;
    /// nothing changed.
    Duplicate(Match),
    /// The document is stored in the place of one that had its id.
    Replaced {
        /// The fingerprint that document had.
        stored: Fingerprint,
    },
    /// The document is removed.
    Removed {
        /// The fingerprint it had.
        stored: Fingerprint,
    },
    /// There was no document to remove.
    Missing,
}

/// Decides changes in order, against what is stored and what was decided before them.
#[derive(Default)]
pub(crate) struct Batch {
    touched: HashMap<DocId, Touched>,
    recent: Recent,
}

/// A document that some change of the batch looked at.
struct Touched {
    before: Option<State>,
    now: Option<State>,
    text: TextEdit,
}

impl Batch {
    /// Decides one change. `index` is the database as it was before the batch.
    pub(crate) fn decide(&mut self, change: Change, index: &impl Index) -> Result<Outcome> {
        let id = match &change {
            Change::Insert(document) | Change::Upsert(document) => document.id,
            Change::InsertUnique { document, .. } => document.id,
            Change::Remove(id) => *id,
        };
        let stored = self.look_up(id, index)?.map(|state| state.fingerprint);
        Ok(match (change, stored) {
            (Change::Insert(_) | Change::InsertUnique { .. }, Some(stored)) => {
                Outcome::Exists { stored }
            }
            (Change::Insert(document), None) => {
                self.put(document);
                Outcome::Inserted
            }
            (Change::InsertUnique { document, radius }, None) => {
                let nearest = match document.reliable {
                    true => self.nearest_within(document.fingerprint, radius, index)?,
                    false => None,
                };
                match nearest {
                    Some(found) => Outcome::Duplicate(found),
                    None => {
                        self.put(document);
                        Outcome::Inserted
                    }
                }
            }
            (Change::Upsert(document), stored) => {
                self.put(document);
                stored.map_or(Outcome::Inserted, |stored| Outcome::Replaced { stored })
            }
            (Change::Remove(_), Some(stored)) => {
                self.remove(id);
                Outcome::Removed { stored }
            }
            (Change::Remove(_), None) => Outcome::Missing,
        })
    }

    /// What the batch comes to, for the store.
    pub(crate) fn into_edits(self) -> Vec<DocumentEdit> {
        self.touched
            .into_iter()
            .map(|(id, Touched { before, now, text })| DocumentEdit {
                id,
                before,
                after: now,
                text,
            })
            .collect()
    }

    fn look_up(&mut self, id: DocId, index: &impl Index) -> Result<Option<State>> {
        if let Some(touched) = self.touched.get(&id) {
            return Ok(touched.now);
        }
        let before = index.document(id)?;
        self.touched.insert(
            id,
            Touched {
                before,
                now: before,
                text: TextEdit::Keep,
            },
        );
        Ok(before)
    }

    fn put(&mut self, document: Document) {
        let Document {
            id,
            fingerprint,
            reliable,
            text,
        } = document;
        let text = text.map_or(TextEdit::Remove, |text| TextEdit::Put(text.into()));
        let state = State {
            fingerprint,
            reliable,
            arrival: None,
        };
        self.set(id, Some(state), text);
    }

    fn remove(&mut self, id: DocId) {
        self.set(id, None, TextEdit::Remove);
    }

    fn set(&mut self, id: DocId, now: Option<State>, text: TextEdit) {
        let Some(touched) = self.touched.get_mut(&id) else {
            return;
        };
        if let Some(state) = touched.now.filter(|state| state.reliable) {
            self.recent.remove(id, state.fingerprint);
        }
        if let Some(state) = now.filter(|state| state.reliable) {
            self.recent.add(id, state.fingerprint);
        }
        touched.now = now;
        touched.text = text;
    }

    /// The nearest document within the radius, then the one with the smallest id, as of now.
    fn nearest_within(
        &mut self,
        query: Fingerprint,
        radius: u32,
        index: &impl Index,
    ) -> Result<Option<Match>> {
        self.recent.index();
        let touched = &self.touched;
        let still_so = |id: DocId, fingerprint: Fingerprint| {
            let is_so = |state: State| state.reliable && state.fingerprint == fingerprint;
            touched
                .get(&id)
                .is_none_or(|touched| touched.now.is_some_and(is_so))
        };
        let mut nearest = None;
        query::for_each_match(index, query, radius, |found| {
            if still_so(found.id, found.fingerprint) {
                nearest = Some(found);
            }
            nearest.is_none()
        })?;
        self.recent.for_each_within(query, radius, |found| {
            if nearest.is_none_or(|nearest| found.order() < nearest.order()) {
                nearest = Some(found);
            }
        });
        Ok(nearest)
    }
}

/// The fingerprints that documents have received in this batch.
#[derive(Default)]
struct Recent {
    /// The documents that have them now. One that nobody has any longer stays, without any.
    documents: HashMap<Fingerprint, BTreeSet<DocId>>,
    /// The keys of `documents`, as they came.
    fingerprints: Vec<Fingerprint>,
    /// The first `indexed` of them by block and block key: only a batch that asks for what is near
    /// pays for that.
    by_block: HashMap<(usize, u16), Vec<Fingerprint>>,
    indexed: usize,
}

impl Recent {
    fn add(&mut self, id: DocId, fingerprint: Fingerprint) {
        let documents = self.documents.entry(fingerprint).or_insert_with(|| {
            self.fingerprints.push(fingerprint);
            BTreeSet::new()
        });
        documents.insert(id);
    }

    fn remove(&mut self, id: DocId, fingerprint: Fingerprint) {
        if let Some(documents) = self.documents.get_mut(&fingerprint) {
            documents.remove(&id);
        }
    }

    fn index(&mut self) {
        for fingerprint in &self.fingerprints[self.indexed..] {
            for block in 0..BLOCKS {
                let key = block::front_key(block::rotate(*fingerprint, block));
                self.by_block
                    .entry((block, key))
                    .or_default()
                    .push(*fingerprint);
            }
        }
        self.indexed = self.fingerprints.len();
    }

    /// For every fingerprint within the radius the first document that has it, some of them
    /// perhaps more than once.
    fn for_each_within(&self, query: Fingerprint, radius: u32, mut found: impl FnMut(Match)) {
        let mut compare = |fingerprint: &Fingerprint| {
            let distance = fingerprint.distance(query);
            if distance > radius {
                return;
            }
            if let Some(id) = self.documents.get(fingerprint).and_then(BTreeSet::first) {
                found(Match {
                    id: *id,
                    fingerprint: *fingerprint,
                    distance,
                });
            }
        };
        let probes = Probes::for_radius(radius);
        let count: u64 = probes.blocks().map(|block| probes.count(block)).sum();
        if count > self.fingerprints.len() as u64 {
            self.fingerprints.iter().for_each(compare);
            return;
        }
        for block in probes.blocks() {
            for key in probes.keys(block, block::front_key(block::rotate(query, block))) {
                let near = self.by_block.get(&(block, key));
                near.into_iter().flatten().for_each(&mut compare);
            }
        }
    }
}
