//! [`UniqueLoad`]: a bulk load of the documents that no other document covers.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::analysis::frames::Frames;
use crate::api::bulk_load::BulkLoad;
use crate::copies::{Copies, Sighting, SightingKind, refused_hash};
use crate::document::{Document, Within};
use crate::error::{Error, Result};
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::ids::{DocId, Timestamp};
use crate::ingest::{Deduplicator, Outcome, kind_of};
use crate::measure::decision::SimilarRule;
use crate::store::{CopiesEdit, DocumentEdit, Refused, TextEdit, View, id_after_moves, refused_of};

/// A [`BulkLoad`] that leaves out near-duplicates. The kept documents wait in memory, beside a
/// [`Deduplicator`], until [`into_load`](Self::into_load). In a database with
/// [scopes](crate::Builder::scopes), each scope has its own deduplicator. In a database with
/// [frames](crate::Builder::frames), all texts that are decided count.
///
/// ```
/// use std::ops::ControlFlow;
/// use simdb::{Database, Document, Fingerprinter, Outcome, Recipe, SimilarRule};
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("docs.simdb");
/// let fingerprinter = Fingerprinter::new(Recipe::default());
/// let document = |(id, text)| -> simdb::Result<Document> {
///     Ok(Document::new(id, fingerprinter.fingerprint(text)?).with_text(text))
/// };
/// let texts = [
///     "The ferry to the islands was cancelled because of fog.",
///     "The ferry to the islands was canceled because of fog!",
/// ];
/// let load = Database::builder().similar(true).bulk_create(&path, 64 << 20)?;
/// let mut load = load.unique(SimilarRule::default())?;
/// let documents = (1_u64..).zip(texts).map(document).collect::<simdb::Result<_>>()?;
/// let outcomes = load.decide(documents)?;
/// assert!(matches!(&outcomes[1], Outcome::Similar(covering) if covering.id.0 == 1));
/// let report = load.into_load()?.finish(|_conflict| ControlFlow::Continue(()))?;
/// assert_eq!(report.inserted, 1);
/// # Ok::<(), simdb::Error>(())
/// ```
#[must_use = "nothing is loaded before the load is finished"]
pub struct UniqueLoad<'d> {
    bulk: BulkLoad<'d>,
    rule: SimilarRule,
    /// The database before the load; `None` for a new file.
    stored: Option<Arc<View>>,
    deduplicators: HashMap<ScopeNumber, Deduplicator>,
    frames: Arc<Frames>,
    kept: BTreeMap<DocId, Document>,
    /// The stored documents to remove.
    replaced: HashSet<DocId>,
    /// The ids of the documents with keys, also of documents that were refused.
    keys: HashMap<String, DocId>,
    copies: LoadedCopies,
    /// The bytes of the keys, and of the texts of the kept documents, including documents that were
    /// replaced.
    text_bytes: usize,
}

/// The copies of the documents that a load refuses. A kept document has its copies itself.
#[derive(Default)]
struct LoadedCopies {
    /// The copies of stored documents.
    of_stored: HashMap<DocId, Arc<Copies>>,
    /// The values of table `refused` for the refused documents of this load, by hash.
    refused: HashMap<u64, u64>,
}

/// The hashes of the documents that a document brings as its copies.
fn brought_hashes(document: &Document) -> impl Iterator<Item = u64> {
    let newest = document.copies.iter().flat_map(|copies| &copies.newest);
    newest.map(|sighting| refused_hash(&sighting.document))
}

impl fmt::Debug for UniqueLoad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueLoad").finish_non_exhaustive()
    }
}

impl<'d> BulkLoad<'d> {
    /// Loads a document only if no text covers its text: no text of this load, and no stored text.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`](crate::Error::KeepsNoTexts);
    /// [`Error::InvalidLikeness`](crate::Error::InvalidLikeness) for a threshold that is not from 0
    /// to 1.
    pub fn unique(self, rule: SimilarRule) -> Result<UniqueLoad<'d>> {
        rule.likeness.check()?;
        Ok(UniqueLoad {
            stored: self.stored()?.map(Arc::new),
            bulk: self,
            rule,
            deduplicators: HashMap::new(),
            frames: Arc::default(),
            kept: BTreeMap::new(),
            replaced: HashSet::new(),
            keys: HashMap::new(),
            copies: LoadedCopies::default(),
            text_bytes: 0,
        })
    }
}

impl<'d> UniqueLoad<'d> {
    /// Decides documents in order: see [`Deduplicator::decide`]. A document is compared with the
    /// documents of its scope. In a database with [copies](crate::Builder::copies), a refused
    /// document is a copy of the document that covers it, and is [`Outcome::Seen`] if it comes
    /// again.
    ///
    /// # Errors
    /// The errors of [`BulkLoad::push`] about a document, and [`Error::WithinOtherScopes`] for a
    /// document that asks for [other documents](crate::Within): no document of the call is decided.
    /// The errors of [`Deduplicator::decide`].
    pub fn decide(&mut self, documents: Vec<Document>) -> Result<Vec<Outcome>> {
        for document in &documents {
            self.bulk.load.refuse_unstorable(document)?;
            if document.within != Within::Scope {
                let id = document.doc_ref();
                return Err(Error::WithinOtherScopes { id });
            }
        }
        self.frames = self.bulk.load.frames_after(&documents)?;
        let (mut outcomes, mut undecided) = (Vec::with_capacity(documents.len()), Vec::new());
        let mut undecided_refs: HashSet<u64> = HashSet::new();
        let newest = self.bulk.load.newest_copies();
        for mut document in documents {
            let copies = document.copies.take();
            document.copies = copies.and_then(|copies| copies.limited_to(newest));
            let scope = self.bulk.load.scope_of(&document)?;
            if let Some(key) = &document.key {
                if self.is_of_other_scope(key, scope)? {
                    outcomes.append(&mut self.decide_new(std::mem::take(&mut undecided))?);
                    let id = self.keys.get(key);
                    if let Some(kept) = id.and_then(|id| self.kept.get(id)) {
                        let stored = kept.fingerprint;
                        outcomes.push(Outcome::Exists { stored });
                        continue;
                    }
                    // The document of the other scope was refused.
                    self.keys.remove(key);
                }
                document.id = self.id_of(key, scope)?;
            }
            if newest > 0 {
                let hash = refused_hash(&document.doc_ref());
                // The document may be refused before it comes again, or its original replaced.
                if undecided_refs.contains(&hash) || self.was_refused(&document, hash)? {
                    outcomes.append(&mut self.decide_new(std::mem::take(&mut undecided))?);
                    undecided_refs.clear();
                    if self.was_refused(&document, hash)? {
                        outcomes.push(Outcome::Seen);
                        continue;
                    }
                }
                undecided_refs.insert(hash);
                undecided_refs.extend(brought_hashes(&document));
            }
            undecided.push((scope, document));
        }
        outcomes.append(&mut self.decide_new(undecided)?);
        Ok(outcomes)
    }

    /// Returns `true` if a document of this load has the key and another scope.
    fn is_of_other_scope(&self, key: &str, scope: ScopeNumber) -> Result<bool> {
        match self.keys.get(key) {
            Some(id) if ScopeNumber::of(*id) != scope => Ok(self.stored_with(key)? != Some(*id)),
            _ => Ok(false),
        }
    }

    /// Decides documents in order. No two of them have one key and different scopes.
    fn decide_new(&mut self, documents: Vec<(ScopeNumber, Document)>) -> Result<Vec<Outcome>> {
        // The positions of the documents of each scope.
        let mut scopes: BTreeMap<ScopeNumber, Vec<usize>> = BTreeMap::new();
        for (position, (scope, _)) in documents.iter().enumerate() {
            scopes.entry(*scope).or_default().push(position);
        }
        let documents: Vec<Document> = documents
            .into_iter()
            .map(|(_, document)| document)
            .collect();
        let mut outcomes = vec![Outcome::Missing; documents.len()];
        for (scope, positions) in scopes {
            if positions.len() == documents.len() {
                outcomes = self.deduplicator_of(scope)?.decide(&documents)?;
                break;
            }
            let own = positions
                .iter()
                .map(|position| documents[*position].clone());
            let own: Vec<Document> = own.collect();
            let decided = self.deduplicator_of(scope)?.decide(&own)?;
            for (position, outcome) in positions.into_iter().zip(decided) {
                outcomes[position] = outcome;
            }
        }
        for (document, outcome) in documents.into_iter().zip(&mut outcomes) {
            if let (Outcome::Similar(found), Some(kind)) = (&*outcome, kind_of(outcome)) {
                self.add_copy(found.id, &document, kind)?;
            }
            if let Outcome::Supersedes(covered) = outcome {
                for covered in covered {
                    let key = match self.kept.remove(&covered.id) {
                        Some(kept) => kept.key,
                        None => {
                            self.replaced.insert(covered.id);
                            let view = self.stored.as_ref().filter(|view| view.keeps_keys());
                            view.map_or(Ok(None), |view| view.key(covered.id))?
                        }
                    };
                    covered.key = key.map(String::into_boxed_str);
                }
            }
            if outcome.is_inserted() {
                self.text_bytes += document.text.as_ref().map_or(0, String::len);
                self.add_refused(document.id, document.copies.as_ref());
                self.kept.insert(document.id, document);
            }
        }
        Ok(outcomes)
    }

    /// Returns `true` if a new document was refused before as a copy of a document that is kept or
    /// stored.
    fn was_refused(&self, document: &Document, hash: u64) -> Result<bool> {
        let view = self.stored.as_ref();
        let value = match self.copies.refused.get(&hash) {
            Some(value) => Some(*value),
            None => view.map_or(Ok(None), |view| view.refused(hash))?,
        };
        let was_refused = match value {
            None => false,
            Some(time) if self.bulk.load.has_window() => {
                view.is_none_or(|view| view.knows_refusal_at(time))
            }
            Some(id) => {
                let original = id_after_moves(DocId(id), |id| match view {
                    Some(view) if view.keeps_scopes() && !self.is_known(id)? => view.refused(id.0),
                    _ => Ok(None),
                })?;
                self.has_refused(original, hash)?
            }
        };
        Ok(was_refused && !self.is_known(document.id)?)
    }

    /// Returns `true` if a document is kept or stored.
    fn is_known(&self, id: DocId) -> Result<bool> {
        let stored = self.stored.as_ref();
        let stored = stored.filter(|_| !self.replaced.contains(&id));
        Ok(
            self.kept.contains_key(&id)
                || stored.map_or(Ok(false), |stored| stored.contains(id))?,
        )
    }

    /// Returns `true` if a document that is kept or stored may have a refused document among its
    /// copies. Another document may have the id since.
    fn has_refused(&self, original: DocId, hash: u64) -> Result<bool> {
        if let Some(kept) = self.kept.get(&original) {
            let copies = kept.copies.as_ref();
            return Ok(copies.is_some_and(|copies| copies.may_have(hash)));
        }
        if !self.is_known(original)? {
            return Ok(false);
        }
        let copies = match (self.copies.of_stored.get(&original), &self.stored) {
            (Some(copies), _) => Some(Arc::clone(copies)),
            (None, Some(view)) => view.copies(original)?,
            (None, None) => None,
        };
        Ok(copies.is_some_and(|copies| copies.may_have(hash)))
    }

    /// Adds the sightings of a document to the refused documents.
    fn add_refused(&mut self, original: DocId, copies: Option<&Copies>) {
        let has_window = self.bulk.load.has_window();
        let refused = copies.map(|copies| refused_of(copies, original, has_window));
        let refused = refused.into_iter().flatten();
        let refused = refused.map(|refused| (refused.hash, refused.value));
        self.copies.refused.extend(refused);
    }

    /// Adds a refused document, and the copies that it brings, to the copies of a document that is
    /// kept or stored.
    fn add_copy(&mut self, original: DocId, document: &Document, kind: SightingKind) -> Result<()> {
        let newest = self.bulk.load.newest_copies();
        if newest == 0 {
            return Ok(());
        }
        let sighting = Sighting {
            document: document.doc_ref(),
            seen: document.arrival.unwrap_or_else(Timestamp::now),
            kind,
        };
        let own = document.copies.as_ref();
        self.add_refused(original, own);
        let value = if self.bulk.load.has_window() {
            sighting.seen.0
        } else {
            original.0
        };
        let hash = refused_hash(&sighting.document);
        self.copies.refused.insert(hash, value);
        self.text_bytes += size_of::<Sighting>() + document.key.as_ref().map_or(0, String::len);
        self.text_bytes += own.map_or(0, Copies::len_bytes);
        if let Some(kept) = self.kept.get_mut(&original) {
            kept.copies = Some(Copies::with(kept.copies.as_ref(), sighting, own, newest));
            return Ok(());
        }
        let Some(view) = &self.stored else {
            return Ok(());
        };
        let before = match self.copies.of_stored.remove(&original) {
            Some(copies) => Some(copies),
            None => view.copies(original)?,
        };
        let copies = Copies::with(before.as_deref(), sighting, own, newest);
        self.copies.of_stored.insert(original, Arc::new(copies));
        Ok(())
    }

    /// The id of the document with a key; a new id in a scope for a new key.
    fn id_of(&mut self, key: &str, scope: ScopeNumber) -> Result<DocId> {
        if let Some(id) = self.keys.get(key) {
            return Ok(*id);
        }
        let id = match self.stored_with(key)? {
            Some(id) => id,
            None => self.bulk.load.give_id(scope),
        };
        self.text_bytes += key.len();
        self.keys.insert(key.to_owned(), id);
        Ok(id)
    }

    /// The stored document with a key. The load has removed expired documents.
    fn stored_with(&self, key: &str) -> Result<Option<DocId>> {
        let Some(view) = &self.stored else {
            return Ok(None);
        };
        Ok(match view.id_of(key)? {
            Some(id) if view.contains(id)? => Some(id),
            _ => None,
        })
    }

    fn deduplicator_of(&mut self, scope: ScopeNumber) -> Result<&mut Deduplicator> {
        let deduplicator = match self.deduplicators.entry(scope) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let stored = self.stored.clone();
                // A database without scopes may have any ids.
                let has_scopes = stored.as_ref().is_some_and(|view| view.keeps_scopes());
                let among = match has_scopes {
                    true => IdRanges::of_scopes([scope]),
                    false => IdRanges::ALL,
                };
                new.insert(Deduplicator::beside(self.rule, stored, scope, among)?)
            }
        };
        deduplicator.use_frames(Arc::clone(&self.frames));
        Ok(deduplicator)
    }

    /// The bytes of memory that the kept documents and their index take.
    pub fn len_bytes(&self) -> usize {
        let documents = self.kept.len() * size_of::<(DocId, Document)>();
        let keys = self.keys.len() * size_of::<(String, DocId)>();
        let indexes = self.deduplicators.values().map(Deduplicator::len_bytes);
        indexes.sum::<usize>() + self.text_bytes + documents + keys
    }

    /// Frees the index, and pushes the kept documents. [`BulkLoad::finish`] stores them, and
    /// removes the documents that they replace.
    ///
    /// # Errors
    /// The errors of [`BulkLoad::push`].
    pub fn into_load(self) -> Result<BulkLoad<'d>> {
        let mut bulk = self.bulk;
        let stored = self.stored;
        drop(self.deduplicators);
        let mut edits = Vec::new();
        for (id, copies) in self.copies.of_stored {
            let document = stored.as_ref().map_or(Ok(None), |view| view.stored(id))?;
            edits.push(DocumentEdit {
                id,
                before: document,
                after: document,
                text: TextEdit::Keep,
                copies: CopiesEdit::new(Some(copies), Vec::new()),
            });
        }
        drop(stored);
        let refused = self.copies.refused.into_iter();
        let refused = refused.map(|(hash, value)| Refused { hash, value });
        bulk.load.set_copies(edits, &refused.collect::<Vec<_>>())?;
        let mut replaced: Vec<DocId> = self.replaced.into_iter().collect();
        replaced.sort_unstable();
        bulk.load.remove(&replaced)?;
        for document in self.kept.into_values() {
            bulk.push_with_id(document)?;
        }
        Ok(bulk)
    }
}
