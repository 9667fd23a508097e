//! [`UniqueLoad`]: a bulk load of the documents that no other document covers.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::api::bulk_load::BulkLoad;
use crate::document::{Document, Within};
use crate::error::{Error, Result};
use crate::ids::DocId;
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::ingest::{Deduplicator, Outcome};
use crate::measure::decision::SimilarRule;
use crate::store::View;

/// A [`BulkLoad`] that leaves out near-duplicates. The kept documents wait in memory, beside a
/// [`Deduplicator`], until [`into_load`](Self::into_load). In a database with
/// [scopes](crate::Builder::scopes), each scope has its own deduplicator.
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
    load: BulkLoad<'d>,
    rule: SimilarRule,
    /// The database before the load; `None` for a new file.
    stored: Option<Arc<View>>,
    deduplicators: HashMap<ScopeNumber, Deduplicator>,
    kept: BTreeMap<DocId, Document>,
    /// The stored documents to remove.
    replaced: Vec<DocId>,
    /// The ids of the documents with keys, also of documents that were refused.
    keys: HashMap<String, DocId>,
    /// The bytes of the keys, and of the texts of the kept documents, including documents that were
    /// replaced.
    text_bytes: usize,
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
            load: self,
            rule,
            deduplicators: HashMap::new(),
            kept: BTreeMap::new(),
            replaced: Vec::new(),
            keys: HashMap::new(),
            text_bytes: 0,
        })
    }
}

impl<'d> UniqueLoad<'d> {
    /// Decides documents in order: see [`Deduplicator::decide`]. A document is compared with the
    /// documents of its scope.
    ///
    /// # Errors
    /// The errors of [`Deduplicator::decide`]; [`Error::WithinOtherScopes`] for a document that
    /// asks for [other documents](crate::Within).
    pub fn decide(&mut self, documents: Vec<Document>) -> Result<Vec<Outcome>> {
        let (mut outcomes, mut undecided) = (Vec::with_capacity(documents.len()), Vec::new());
        for mut document in documents {
            if document.within != Within::Scope {
                let id = document.doc_ref();
                return Err(Error::WithinOtherScopes { id });
            }
            let scope = self.load.scope_of(&document)?;
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
        for (document, outcome) in documents.into_iter().zip(&outcomes) {
            if let Outcome::Supersedes(covered) = outcome {
                let stored = covered.iter().map(|covered| covered.id);
                let stored = stored.filter(|id| self.kept.remove(id).is_none());
                self.replaced.extend(stored);
            }
            if outcome.is_inserted() {
                self.text_bytes += document.text.as_ref().map_or(0, String::len);
                self.kept.insert(document.id, document);
            }
        }
        Ok(outcomes)
    }

    /// The id of the document with a key; a new id in a scope for a new key.
    fn id_of(&mut self, key: &str, scope: ScopeNumber) -> Result<DocId> {
        if let Some(id) = self.keys.get(key) {
            return Ok(*id);
        }
        let id = match self.stored_with(key)? {
            Some(id) => id,
            None => self.load.give_id(scope),
        };
        self.text_bytes += key.len();
        self.keys.insert(key.to_owned(), id);
        Ok(id)
    }

    /// The stored document with a key.
    fn stored_with(&self, key: &str) -> Result<Option<DocId>> {
        let stored = self.stored.as_ref();
        stored.map_or(Ok(None), |view| view.id_of(key))
    }

    fn deduplicator_of(&mut self, scope: ScopeNumber) -> Result<&mut Deduplicator> {
        Ok(match self.deduplicators.entry(scope) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let stored = self.stored.clone();
                // A database without scopes may have any ids.
                let has_scopes = stored.as_ref().is_some_and(|view| view.keeps_scopes());
                let among = match has_scopes {
                    true => IdRanges::of_scopes([scope]),
                    false => IdRanges::ALL,
                };
                new.insert(Deduplicator::beside(self.rule, stored, among)?)
            }
        })
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
        let mut load = self.load;
        drop((self.deduplicators, self.stored));
        load.remove(&self.replaced)?;
        for document in self.kept.into_values() {
            load.push_with_id(document)?;
        }
        Ok(load)
    }
}
