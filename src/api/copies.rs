//! [`Snapshot`]: the copies of documents.

use crate::api::snapshot::{Snapshot, check_limit};
use crate::copies::Copies;
use crate::error::{Error, Result};
use crate::ids::{DocId, DocRef, Timestamp};

impl Snapshot {
    /// The documents that were refused as copies of a document; `None` if no copy was refused, or
    /// if there is no such document.
    ///
    /// # Errors
    /// [`Error::KeepsNoCopies`], [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// A read of the record of the document, some ten microseconds.
    pub fn copies(&self, document: impl Into<DocRef>) -> Result<Option<Copies>> {
        self.refuse_without_copies()?;
        let Some(id) = self.resolve(document.into())? else {
            return Ok(None);
        };
        match self.view().contains(id)? {
            true => Ok(self.view().copies(id)?.map(|copies| (*copies).clone())),
            false => Ok(None),
        }
    }

    /// The documents with the most copies, the most first, then smallest id. With `since`, the
    /// documents with a copy at this time or later; the count is of all their copies.
    ///
    /// # Errors
    /// [`Error::ZeroLimit`], [`Error::KeepsNoCopies`], [`Error::Corrupt`], [`Error::Storage`].
    ///
    /// # Cost
    /// A read of 8 bytes for each document of the scopes with a copy, of the records of the
    /// documents in the answer, and of the documents in the journal.
    ///
    /// ```
    /// use simdb::{Database, DocId};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().copies(1).create(folder.path().join("docs.simdb"))?;
    /// for (id, text) in [(1, "one cat"), (2, "two dogs"), (3, "one cat")] {
    ///     let text = format!("{text} sat on the mat and would not be moved by anyone");
    ///     let _ = db.insert_unique(db.document(id, &text)?, 3)?;
    /// }
    /// let most = db.snapshot()?.most_copied(10, None)?;
    /// assert_eq!((most.len(), most[0].0, most[0].1.count), (1, DocId(1), 1));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn most_copied(
        &self,
        limit: usize,
        since: Option<Timestamp>,
    ) -> Result<Vec<(DocId, Copies)>> {
        check_limit(limit)?;
        self.refuse_without_copies()?;
        self.view().most_copied(limit, since, self.among())
    }

    fn refuse_without_copies(&self) -> Result<()> {
        if self.view().keeps_copies() {
            return Ok(());
        }
        let path = self.view().path().to_path_buf();
        Err(Error::KeepsNoCopies { path })
    }
}
