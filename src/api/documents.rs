//! [`Snapshot`]: the documents by id and by key.

use crate::api::snapshot::Snapshot;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::ids::{DocId, DocRef};

impl Snapshot {
    /// The document with this id or key, with its text if texts are kept; `None` if there is no
    /// such document.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// One chunk of each table, a few microseconds when cached.
    pub fn get(&self, document: impl Into<DocRef>) -> Result<Option<Document>> {
        match self.resolve(document.into())? {
            Some(id) => self.view().document(id),
            None => Ok(None),
        }
    }

    /// Returns `true` if a document with this id or key is stored and not expired. No text is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// ```
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// let _ = db.insert(Document::new(7, Fingerprint::from_bits(0b0111)))?;
    /// assert!(db.contains(DocId(7))?);
    /// assert!(!db.contains(DocId(8))?);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn contains(&self, document: impl Into<DocRef>) -> Result<bool> {
        match self.resolve(document.into())? {
            Some(id) => self.view().contains(id),
            None => Ok(false),
        }
    }

    /// The key of a document; `None` if there is no such document, or the database keeps no
    /// [keys](crate::Builder::keys).
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    pub fn key(&self, id: DocId) -> Result<Option<String>> {
        match self.view().keeps_keys() && self.view().contains(id)? {
            true => self.view().key(id),
            false => Ok(None),
        }
    }

    /// The id of the document with a key; `None` if there is no such document.
    ///
    /// # Errors
    /// [`Error::KeepsNoKeys`], [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// One chunk, and the record of the document.
    pub fn id(&self, key: &str) -> Result<Option<DocId>> {
        self.refuse_without_keys(key)?;
        let id = self.view().id_of(key)?;
        match id {
            // Only the age of a document can hide it.
            Some(id) if self.expired_before().is_some() && !self.view().contains(id)? => Ok(None),
            id => Ok(id),
        }
    }

    /// The id that a reference names; `None` for an unknown key.
    pub(crate) fn resolve(&self, document: DocRef) -> Result<Option<DocId>> {
        match document {
            DocRef::Id(id) => Ok(Some(id)),
            DocRef::Key(key) => self.id(&key),
        }
    }

    fn refuse_without_keys(&self, key: &str) -> Result<()> {
        if self.view().keeps_keys() {
            return Ok(());
        }
        Err(Error::KeepsNoKeys {
            path: self.view().path().to_path_buf(),
            key: key.to_owned(),
        })
    }

    /// All documents in order of their ids, with texts if texts are kept, without expired
    /// documents. The iterator ends after an error.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document>> + '_ {
        self.documents_from(DocId(0))
    }

    /// The documents of [`documents`](Self::documents) from an id or a key on, for example to
    /// continue an export after the last exported document. The first item is
    /// [`Error::UnknownKey`] if no document has the key.
    ///
    /// ```
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for id in [3, 5, 8] {
    ///     let _ = db.insert(Document::new(id, Fingerprint::from_bits(id)))?;
    /// }
    /// let snapshot = db.snapshot()?;
    /// let rest: Vec<_> = snapshot.documents_from(DocId(4)).collect::<Result<_, _>>()?;
    /// assert_eq!(rest.iter().map(|document| document.id.0).collect::<Vec<_>>(), [5, 8]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn documents_from(
        &self,
        first: impl Into<DocRef>,
    ) -> impl Iterator<Item = Result<Document>> + '_ {
        let first = first.into();
        let found = self
            .resolve(first.clone())
            .and_then(|id| match (id, first) {
                (None, DocRef::Key(key)) => Err(Error::UnknownKey {
                    path: self.view().path().to_path_buf(),
                    key,
                }),
                (id, _) => Ok(id.unwrap_or_default()),
            });
        let (first, refused) = match found {
            Ok(id) => (id, None),
            // No document has a larger id, and the error comes first.
            Err(error) => (DocId(u64::MAX), Some(Err(error))),
        };
        let documents = self.view().documents_from(first);
        let with_records = documents.map(|document| self.view().with_record(document?));
        // The first error is the last item: the documents behind a damaged page are not known.
        let mut failed = false;
        let documents = refused.into_iter().chain(with_records);
        documents.take_while(move |document| !std::mem::replace(&mut failed, document.is_err()))
    }
}
