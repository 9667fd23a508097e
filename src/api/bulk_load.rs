//! [`BulkLoad`]: any number of documents, in any order, in one go.

use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::Path;

use crate::api::builder::Builder;
use crate::api::database::Database;
use crate::document::Document;
use crate::error::Result;
use crate::progress::{Progress, ProgressHandler};
use crate::store::bulk::Load;

pub use crate::store::bulk::{BulkReport, Conflict};

/// A bulk load: documents are pushed in any order, then sorted and written in one go.
///
/// Into a new file ([`Builder::bulk_create`]) each page is written once and the file appears
/// under its name when all is durable; into an existing database ([`Database::bulk_load`])
/// everything is one transaction. Either way a load that is dropped, fails, or is killed changes
/// nothing. Repeating a load is harmless: a document that is there already, id and fingerprint
/// alike, is left as it is.
///
/// Sorting stays within the memory given, at least 16 MiB; what does not fit is sorted in unnamed
/// temporary files in the folder of the database, up to 40 bytes a document, 80 where
/// arrival times are kept, and 660 more, of texts of a hundred letters, in a database made for similar
/// texts. A load into an
/// existing database also uses that database's cache.
///
/// A load into a new file that keeps no texts is fastest when ids ascend in the order of pushes:
/// the disk is at work from the first push on, and nothing is sorted by id.
///
/// A process that is killed in the middle of a load into a new file leaves a file
/// `.simdb-XXXXXX.new` behind, which can be deleted.
///
/// ```
/// use std::ops::ControlFlow;
/// use simdb::{Database, DocId, Document, Fingerprint};
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("docs.simdb");
/// let mut load = Database::builder().bulk_create(&path, 64 << 20)?;
/// for id in (0..10_000).rev() {
///     load.push(Document::new(DocId(id), Fingerprint::from_bits(id << 32)))?;
/// }
/// let report = load.finish(|_conflict| ControlFlow::Continue(()))?;
/// assert_eq!((report.inserted, report.present, report.conflicts), (10_000, 0, 0));
///
/// let db = Database::open(&path)?;
/// assert_eq!(db.within(Fingerprint::from_bits(7 << 32), 0)?[0].id, DocId(7));
/// # Ok::<(), simdb::Error>(())
/// ```
#[must_use = "nothing is loaded before it is finished"]
pub struct BulkLoad<'d> {
    load: Load,
    progress: ProgressHandler,
    database: PhantomData<&'d Database>,
}

impl fmt::Debug for BulkLoad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkLoad").finish_non_exhaustive()
    }
}

impl Builder {
    /// Starts a bulk load into a new file. The cache is a part of `memory_bytes`, whatever was set
    /// here.
    ///
    /// # Errors
    /// Those of [`create`](Self::create).
    pub fn bulk_create(
        self,
        path: impl AsRef<Path>,
        memory_bytes: u64,
    ) -> Result<BulkLoad<'static>> {
        Ok(BulkLoad {
            load: Load::create(&self.db_path(path), &self.header()?, memory_bytes)?,
            progress: self.progress,
            database: PhantomData,
        })
    }
}

impl Database {
    /// Starts a bulk load into this database. Other writers wait until it is finished or dropped.
    ///
    /// What is expired by now is removed first, durably and whatever becomes of the load, so that its
    /// ids are free: no query has met it any more.
    ///
    /// # Errors
    /// Those of [`begin`](Self::begin) and, where something is expired, of [`prune`](Self::prune).
    pub fn bulk_load(&self, memory_bytes: u64) -> Result<BulkLoad<'_>> {
        let expired_before = self.snapshot()?.expired_before();
        if let Some(cutoff) = expired_before {
            self.prune(cutoff)?;
        }
        Ok(BulkLoad {
            load: Load::into_existing(&self.store, memory_bytes)?,
            progress: self.progress.clone(),
            database: PhantomData,
        })
    }
}

impl BulkLoad<'_> {
    /// Sets the handler that [`finish`](Self::finish) reports its progress to: see [`Progress`].
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = ProgressHandler::new(handler);
        self
    }

    /// Adds a document. Documents are numbered from 0 as they are pushed; of several with one id
    /// the first counts. Where arrival times are kept, those without one arrive when the load
    /// began.
    ///
    /// # Errors
    /// [`Error::TextTooLong`](crate::Error::TextTooLong): the document is not taken, the load can
    /// go on. [`Error::Io`](crate::Error::Io) if a temporary file cannot be written,
    /// [`Error::Storage`](crate::Error::Storage): the load can only be dropped, and each further call
    /// gives [`Error::TransactionFailed`](crate::Error::TransactionFailed).
    pub fn push(&mut self, document: Document) -> Result<()> {
        self.load.push(document)
    }

    /// Sorts and writes everything, and makes it durable. `on_conflict` is called with each document
    /// that is left out; if it returns `Break`, nothing is changed.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) if `on_conflict` or the handler for
    /// progress returned `Break`;
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) if somebody else took the name of
    /// the new file meanwhile; those of [`push`](Self::push) and
    /// [`Database::apply`].
    ///
    /// # Cost
    /// Four sorts of n records of 8 or 16 bytes, and one of 24 bytes a document from the first on
    /// whose id does not ascend. Each page of a new file is written once; those of the documents
    /// before that first one twice. Where arrival times are kept, two more sorts of 16 bytes a
    /// document, and one of 24 beside the first.
    pub fn finish(
        self,
        mut on_conflict: impl FnMut(Conflict) -> ControlFlow<()>,
    ) -> Result<BulkReport> {
        self.load.finish(&self.progress, &mut on_conflict)
    }
}
