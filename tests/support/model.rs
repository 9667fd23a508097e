//! [`Model`]: the expected documents of a database, with a plain implementation of every query.

use std::collections::{BTreeMap, BTreeSet};

use simdb::copies::{Copies, Sighting, SightingKind};
use simdb::{Change, DocId, DocRef, Document, Fingerprint, Match, Outcome, Timestamp, Within};

/// The bits of an id below the number of its scope.
const SEQUENCE_BITS: u32 = 40;

/// The expected documents of a database, with a plain implementation of every query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub documents: BTreeMap<DocId, Document>,
    pub keeps_texts: bool,
    pub keeps_arrivals: bool,
    pub keeps_fields: bool,
    /// The copies of a document that are stored; 0 in a database without copies.
    pub newest_copies: usize,
    /// Documents expire: a refused document is known until it would have expired.
    pub has_window: bool,
    /// The time before which documents are expired.
    pub cutoff: Option<Timestamp>,
    /// The last id that was given to a document with a key, without the number of its scope.
    pub last_id: DocId,
    /// The names of scopes 1, 2 and so on, in the order in which documents first have them.
    pub scopes: Vec<String>,
    /// The last refusal of each document, by key or id.
    pub refused: BTreeMap<String, Refusal>,
}

/// The refusal of a document as a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The time of the refused document.
    seen: Timestamp,
    /// The document that it repeats.
    of: DocId,
}

impl Refusal {
    fn of(sighting: &Sighting, original: DocId) -> (String, Self) {
        let refusal = Self {
            seen: sighting.seen,
            of: original,
        };
        (name_of(&sighting.document), refusal)
    }
}

/// The refusals that copies tell of, the last refusal last.
fn refusals_of(copies: &Copies, original: DocId) -> impl Iterator<Item = (String, Refusal)> {
    let oldest_first = copies.newest.iter().rev();
    oldest_first.map(move |sighting| Refusal::of(sighting, original))
}

/// A database has keys or ids, so a key that is a number is no id.
fn name_of(document: &DocRef) -> String {
    match document {
        DocRef::Id(id) => id.to_string(),
        DocRef::Key(key) => key.clone(),
    }
}

impl Model {
    pub fn new(documents: impl IntoIterator<Item = Document>, keeps_texts: bool) -> Self {
        let model = Self {
            keeps_texts,
            ..Self::default()
        };
        model.with(documents)
    }

    /// The model with more documents.
    pub fn with(mut self, documents: impl IntoIterator<Item = Document>) -> Self {
        documents
            .into_iter()
            .for_each(|document| self.put(document));
        self
    }

    fn put_new(&mut self, document: Document) -> Outcome {
        let reliable = document.reliable;
        self.put(document);
        Outcome::Inserted { reliable }
    }

    fn put(&mut self, mut document: Document) {
        if !self.keeps_texts {
            document.text = None;
        }
        if !self.keeps_arrivals {
            document.arrival = None;
        }
        if !self.keeps_fields {
            document.fields = None;
        }
        document.copies = document.copies.filter(|_| self.newest_copies > 0);
        if let Some(copies) = &document.copies {
            self.refused.extend(refusals_of(copies, document.id));
        }
        if document.key.is_some() {
            let sequence = document.id.0 & ((1 << SEQUENCE_BITS) - 1);
            self.last_id = self.last_id.max(DocId(sequence));
        }
        document.within = Within::default();
        document.on_exists = Default::default();
        self.documents.insert(document.id, document);
    }

    /// The stored document with a key.
    pub fn id_of(&self, key: &str) -> Option<DocId> {
        let mut stored = self.documents.values();
        let found = stored.find(|stored| stored.key.as_deref() == Some(key));
        found.map(|stored| stored.id)
    }

    /// The stored document with the key or id of a document.
    pub fn stored(&self, document: &Document) -> Option<&Document> {
        let id = match &document.key {
            Some(key) => self.id_of(key)?,
            None => document.id,
        };
        self.documents.get(&id)
    }

    /// The number of the scope of a document.
    fn scope_of(&mut self, document: &Document) -> u64 {
        let Some(scope) = &document.scope else {
            return 0;
        };
        let known = self.scopes.iter().position(|known| known == scope);
        let index = known.unwrap_or_else(|| {
            self.scopes.push(scope.clone());
            self.scopes.len() - 1
        });
        index as u64 + 1
    }

    /// The document with the id of a new document.
    fn new_document(&mut self, mut document: Document) -> Document {
        if document.key.is_some() {
            let scope = self.scope_of(&document);
            document.id = DocId(scope << SEQUENCE_BITS | (self.last_id.0 + 1));
        }
        document
    }

    /// Applies a change, and returns its outcome.
    pub fn apply(&mut self, change: Change) -> Outcome {
        match change {
            Change::Insert(document) => {
                // A scope has its number before a document is decided.
                self.scope_of(&document);
                if let Some(stored) = self.stored(&document) {
                    return Outcome::Exists {
                        stored: stored.fingerprint,
                    };
                }
                let document = self.new_document(document);
                self.put_new(document)
            }
            Change::InsertUnique { document, radius } => {
                self.insert_unless(document, |model, new| {
                    let scopes = among(new);
                    let near = model.within_scopes(scopes.as_deref(), new.fingerprint, radius);
                    let nearest = near.first().filter(|_| new.reliable)?;
                    let kind = SightingKind::Duplicate {
                        distance: nearest.distance,
                    };
                    Some((nearest.id, kind, Outcome::Duplicate(*nearest)))
                })
            }
            Change::Upsert(document) => self.upsert(document),
            Change::Remove(id) => match self.documents.remove(&id) {
                Some(document) => Outcome::Removed {
                    stored: document.fingerprint,
                },
                None => Outcome::Missing,
            },
            Change::RemoveKey(key) => match self.id_of(&key) {
                Some(id) => self.apply(Change::Remove(id)),
                None => Outcome::Missing,
            },
            change => panic!("the model does not know {change:?}"),
        }
    }

    /// Inserts a document unless its key or id is taken or was refused before, or `duplicate`
    /// returns the document that it repeats.
    pub fn insert_unless(
        &mut self,
        document: Document,
        duplicate: impl FnOnce(&Self, &Document) -> Option<(DocId, SightingKind, Outcome)>,
    ) -> Outcome {
        self.scope_of(&document);
        if let Some(stored) = self.stored(&document) {
            return Outcome::Exists {
                stored: stored.fingerprint,
            };
        }
        if self.was_refused(&document) {
            return Outcome::Seen;
        }
        let Some((original, kind, outcome)) = duplicate(self, &document) else {
            let document = self.new_document(document);
            return self.put_new(document);
        };
        if self.newest_copies > 0 {
            self.add_copy(original, &document, kind);
        }
        outcome
    }

    /// The keys or ids of refused documents that are known.
    pub fn known_refusals(&self) -> impl Iterator<Item = DocRef> {
        let known = self
            .refused
            .iter()
            .filter(|(name, refusal)| self.is_known(name, refusal));
        known.map(|(name, _)| match name.parse() {
            Ok(id) if self.last_id == DocId(0) => DocRef::Id(DocId(id)),
            _ => DocRef::Key(name.clone()),
        })
    }

    fn is_known(&self, name: &str, refusal: &Refusal) -> bool {
        if self.has_window {
            return self.cutoff.is_none_or(|cutoff| refusal.seen >= cutoff);
        }
        let original = self.documents.get(&refusal.of);
        let copies = original.and_then(|original| original.copies.as_ref());
        copies.is_some_and(|copies| {
            let mut newest = copies.newest.iter();
            copies.count > copies.newest.len() as u64
                || newest.any(|sighting| name_of(&sighting.document) == name)
        })
    }

    fn was_refused(&self, document: &Document) -> bool {
        let name = name_of(&document.doc_ref());
        let refusal = self.refused.get(&name);
        refusal.is_some_and(|refusal| self.is_known(&name, refusal))
    }

    fn add_copy(&mut self, original: DocId, document: &Document, kind: SightingKind) {
        let seen = document.arrival.expect("a model of copies has no clock");
        let sighting = Sighting {
            document: document.doc_ref(),
            seen,
            kind,
        };
        if let Some(brought) = &document.copies {
            self.refused.extend(refusals_of(brought, original));
        }
        self.refused.extend([Refusal::of(&sighting, original)]);
        let original = self.documents.get_mut(&original).expect("it was found");
        let copies = original.copies.get_or_insert(Copies {
            count: 0,
            first_seen: seen,
            last_seen: seen,
            newest: Vec::new(),
        });
        copies.count += 1;
        copies.first_seen = copies.first_seen.min(seen);
        copies.last_seen = copies.last_seen.max(seen);
        if let Some(brought) = &document.copies {
            copies.count += brought.count;
            copies.first_seen = copies.first_seen.min(brought.first_seen);
            copies.last_seen = copies.last_seen.max(brought.last_seen);
            copies.newest.splice(0..0, brought.newest.clone());
        }
        copies.newest.insert(0, sighting);
        copies.newest.truncate(self.newest_copies);
    }

    fn upsert(&mut self, mut document: Document) -> Outcome {
        let scope = self.scope_of(&document);
        let Some(mut old) = self.stored(&document).cloned() else {
            let document = self.new_document(document);
            return self.put_new(document);
        };
        document.id = old.id;
        let moves = document.key.is_some() && old.id.0 >> SEQUENCE_BITS != scope;
        if moves {
            self.documents.remove(&old.id);
            document = self.new_document(document);
        }
        let (id, brings_copies) = (document.id, document.copies.is_some());
        self.put(document);
        // Without a window, a refused document is known by the document that it repeats.
        if moves {
            let refusals = self.refused.values_mut();
            refusals
                .filter(|refusal| refusal.of == old.id)
                .for_each(|refusal| refusal.of = id);
        }
        if let (false, Some(copies)) = (brings_copies, old.copies.take()) {
            let stored = self.documents.get_mut(&id).expect("it was put");
            stored.copies = Some(copies);
        }
        Outcome::Replaced {
            stored: old.fingerprint,
        }
    }

    /// Inserts a document in a bulk load, which gives an id to each document with a key, stored or
    /// not.
    pub fn load(&mut self, document: Document) -> Outcome {
        self.scope_of(&document);
        let next = match document.key {
            Some(_) => DocId(self.last_id.0 + 1),
            None => self.last_id,
        };
        let outcome = self.apply(Change::Insert(document));
        self.last_id = self.last_id.max(next);
        outcome
    }

    /// Applies changes in order, and returns their outcomes.
    pub fn apply_all(&mut self, changes: impl IntoIterator<Item = Change>) -> Vec<Outcome> {
        changes
            .into_iter()
            .map(|change| self.apply(change))
            .collect()
    }

    /// Every reliable document within the radius, nearest first, then smallest id.
    pub fn within(&self, query: Fingerprint, radius: u32) -> Vec<Match> {
        self.within_scopes(None, query, radius)
    }

    /// [`within`](Self::within) among the documents of some scopes; `None` for all documents.
    pub fn within_scopes(
        &self,
        scopes: Option<&[String]>,
        query: Fingerprint,
        radius: u32,
    ) -> Vec<Match> {
        let mut matches: Vec<Match> = self
            .documents
            .values()
            .filter(|document| document.reliable && is_among(document, scopes))
            .map(|document| Match {
                id: document.id,
                fingerprint: document.fingerprint,
                distance: document.fingerprint.distance(query),
            })
            .filter(|found| found.distance <= radius)
            .collect();
        matches.sort_by_key(|found| (found.distance, found.id));
        matches
    }

    /// The `count` nearest reliable documents, ties by id.
    pub fn nearest(&self, query: Fingerprint, count: usize) -> Vec<Match> {
        let mut matches = self.within(query, 64);
        matches.truncate(count);
        matches
    }

    pub fn distinct_fingerprints(&self) -> u64 {
        let reliable = self.documents.values().filter(|document| document.reliable);
        let distinct: BTreeSet<_> = reliable.map(|document| document.fingerprint).collect();
        distinct.len() as u64
    }

    /// The documents with a copy since a time, the most copies first, then smallest id.
    pub fn most_copied(&self, since: Option<Timestamp>) -> Vec<(DocId, Copies)> {
        let documents = self.documents.values();
        let copied = documents.filter_map(|document| Some((document.id, document.copies.clone()?)));
        let mut copied: Vec<(DocId, Copies)> = copied
            .filter(|(_, copies)| Some(copies.last_seen) >= since)
            .collect();
        copied.sort_by_key(|(id, copies)| (std::cmp::Reverse(copies.count), *id));
        copied
    }
}

/// The scopes with which a new document is compared; `None` for all documents.
pub fn among(document: &Document) -> Option<Vec<String>> {
    match &document.within {
        Within::All => None,
        Within::Scope => Some(vec![document.scope.clone().unwrap_or_default()]),
        Within::Scopes(names) => Some(names.clone()),
    }
}

/// Returns `true` if a document is in one of these scopes; `None` for all documents.
pub fn is_among(document: &Document, scopes: Option<&[String]>) -> bool {
    let scope = document.scope.as_deref().unwrap_or_default();
    scopes.is_none_or(|scopes| scopes.iter().any(|name| name == scope))
}
