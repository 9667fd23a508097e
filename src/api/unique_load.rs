//! [`UniqueLoad`]: a bulk load of the documents that no other document covers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::api::bulk_load::BulkLoad;
use crate::document::Document;
use crate::error::Result;
use crate::ids::DocId;
use crate::ingest::{Deduplicator, Outcome};
use crate::measure::decision::SimilarRule;

/// A [`BulkLoad`] that leaves out near-duplicates. The kept documents wait in memory, beside a
/// [`Deduplicator`], until [`into_load`](Self::into_load).
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
    deduplicator: Deduplicator,
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
        let deduplicator = Deduplicator::beside(rule, self.stored()?)?;
        Ok(UniqueLoad {
            load: self,
            deduplicator,
            kept: BTreeMap::new(),
            replaced: Vec::new(),
            keys: HashMap::new(),
            text_bytes: 0,
        })
    }
}

impl<'d> UniqueLoad<'d> {
    /// Decides documents in order: see [`Deduplicator::decide`].
    ///
    /// # Errors
    /// The errors of [`Deduplicator::decide`].
    pub fn decide(&mut self, mut documents: Vec<Document>) -> Result<Vec<Outcome>> {
        for document in &mut documents {
            if let Some(key) = &document.key {
                document.id = self.id_of(key)?;
            }
        }
        let outcomes = self.deduplicator.decide(&documents)?;
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

    /// The id of the document with a key.
    fn id_of(&mut self, key: &str) -> Result<DocId> {
        if let Some(id) = self.keys.get(key) {
            return Ok(*id);
        }
        let id = match self.deduplicator.stored_with(key)? {
            Some(id) => id,
            None => self.load.give_id(),
        };
        self.text_bytes += key.len();
        self.keys.insert(key.to_owned(), id);
        Ok(id)
    }

    /// The bytes of memory that the kept documents and their index take.
    pub fn len_bytes(&self) -> usize {
        let documents = self.kept.len() * size_of::<(DocId, Document)>();
        let keys = self.keys.len() * size_of::<(String, DocId)>();
        self.deduplicator.len_bytes() + self.text_bytes + documents + keys
    }

    /// Frees the index, and pushes the kept documents. [`BulkLoad::finish`] stores them, and
    /// removes the documents that they replace.
    ///
    /// # Errors
    /// The errors of [`BulkLoad::push`].
    pub fn into_load(self) -> Result<BulkLoad<'d>> {
        let mut load = self.load;
        drop(self.deduplicator);
        load.remove(&self.replaced)?;
        for document in self.kept.into_values() {
            load.push_with_id(document)?;
        }
        Ok(load)
    }
}
