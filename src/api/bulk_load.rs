//! [`BulkLoad`]: writes many documents at once, in any order.

use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::api::builder::Builder;
use crate::api::database::{Database, DatabaseHandle};
use crate::document::Document;
use crate::error::{LockHolder, Result};
use crate::ids::{DocId, Timestamp};
use crate::progress::{Progress, ProgressHandler};
use crate::store::View;
use crate::store::bulk::{BulkReport, Conflict, Load};

/// Sorts any number of documents and writes each table once, in its order.
///
/// [`Builder::bulk_create`] loads into a new file, which appears when it is complete and durable.
/// [`Database::bulk_load`] loads into an existing database, in one transaction. A load that is
/// dropped, fails or is killed changes nothing; a killed load into a new file leaves a file
/// `.simdb-XXXXXX.new`. A load can be repeated: documents that are stored with the same fingerprint
/// stay as they are.
///
/// A load stays in its thread: like a [`Transaction`](crate::Transaction), it is not `Send`.
///
/// Sorting takes the memory given, at least 16 MiB. More goes to temporary files in the folder of
/// the database: up to 40 bytes a document, 80 with arrival times, and 400 more for the forest keys
/// of a text. A load without texts into a new file is fastest if ids ascend.
///
/// ```
/// use std::ops::ControlFlow;
/// use simdb::{Database, DocId, Document, Fingerprint};
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("docs.simdb");
/// let mut load = Database::builder().bulk_create(&path, 64 << 20)?;
/// for id in (0..10_000).rev() {
///     load.push(Document::new(id, Fingerprint::from_bits(id << 32)))?;
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
    pub(crate) load: Load,
    progress: ProgressHandler,
    /// `None` for a load into a new file.
    holder: Option<HolderName>,
    /// The pointer makes the load `!Send`: the write lock knows its thread.
    database: PhantomData<(&'d Database, *const ())>,
}

impl fmt::Debug for BulkLoad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkLoad").finish_non_exhaustive()
    }
}

impl Builder {
    /// Begins a bulk load into a new file. `memory_bytes` includes the cache;
    /// [`cache_bytes`](Self::cache_bytes) is ignored.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists),
    /// [`Error::RetentionWindow`](crate::Error::RetentionWindow), [`Error::Io`](crate::Error::Io),
    /// [`Error::Storage`](crate::Error::Storage).
    pub fn bulk_create(
        self,
        path: impl AsRef<Path>,
        memory_bytes: u64,
    ) -> Result<BulkLoad<'static>> {
        let header = self.header()?;
        let load = Load::create(&self.db_path(path), &header, memory_bytes)?;
        Ok(BulkLoad::new(load, self.progress, None))
    }
}

impl Database {
    /// Begins a bulk load into this database. Other writers wait until the load is finished or
    /// dropped. The load also removes the expired documents, so that their ids are free.
    ///
    /// # Errors
    /// As [`merge`](Self::merge), and
    /// [`Error::TransactionOpen`](crate::Error::TransactionOpen) if this thread has a transaction
    /// or another bulk load.
    pub fn bulk_load(&self, memory_bytes: u64) -> Result<BulkLoad<'_>> {
        let handle = self.handle()?;
        let load = Load::into_existing(&handle.store, memory_bytes)?;
        // Named after the write lock is held. While this load waits, another load may be the
        // holder.
        let holder = HolderName::new(handle);
        Ok(BulkLoad::new(load, self.progress.clone(), Some(holder)))
    }
}

/// Names a bulk load as the holder of the database file while it runs.
struct HolderName(Arc<DatabaseHandle>);

impl HolderName {
    fn new(handle: Arc<DatabaseHandle>) -> Self {
        handle.store.file_lock().set_holder(LockHolder::BulkLoad);
        Self(handle)
    }
}

impl Drop for HolderName {
    fn drop(&mut self) {
        // The lock stays with the open database.
        self.0.store.file_lock().set_holder(LockHolder::Database);
    }
}

impl BulkLoad<'_> {
    fn new(load: Load, progress: ProgressHandler, holder: Option<HolderName>) -> Self {
        // Without times of stages: the number of documents is known at the end only.
        load.set_progress(&progress.for_operation(&[]));
        Self {
            load,
            progress,
            holder,
            database: PhantomData,
        }
    }

    /// The state before the load, which the load holds the write lock of; `None` for a new file.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`](crate::Error::KeepsNoTexts)
    pub(crate) fn stored(&self) -> Result<Option<View>> {
        self.load.refuse_without_texts()?;
        let holder = self.holder.as_ref();
        holder.map(|holder| holder.0.store.read()).transpose()
    }

    /// Sets the handler for the [`Progress`] of [`finish`](Self::finish), and of a
    /// [`push`](Self::push) that waits for a sort.
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress.set_function(handler);
        self.load.set_progress(&self.progress.for_operation(&[]));
        self
    }

    /// Accepts arrivals up to `latest`, also if they lie too far ahead of the system clock. A load
    /// of the documents of another database passes [`Snapshot::now`](crate::Snapshot::now) of that
    /// database: each arrival that the database holds is accepted then.
    pub fn with_latest_arrival(mut self, latest: Timestamp) -> Self {
        self.load.accept_arrivals_until(latest);
        self
    }

    /// Adds a document, with the fingerprint that the recipe of the database makes of its text: a
    /// fingerprint of another recipe is not noticed, and matches by chance only. Of several
    /// documents with one id, the first counts. If arrival times are kept, a document without one
    /// gets the time at which the load began. While a push waits for a sort, the progress handler
    /// is called with [`Stage::Sort`](crate::progress::Stage::Sort).
    ///
    /// # Errors
    /// - [`Error::Interrupted`](crate::Error::Interrupted) if the progress handler returned
    ///   `Break`: each further call returns
    ///   [`Error::TransactionFailed`](crate::Error::TransactionFailed)
    /// - [`Error::ArrivalAhead`](crate::Error::ArrivalAhead), and the errors of
    ///   [`Database::apply`](crate::Database::apply) about text, key, scope, fields and copies: the
    ///   document is left out, and the load can go on
    /// - [`Error::Io`](crate::Error::Io), [`Error::Storage`](crate::Error::Storage) if a file
    ///   cannot be written: each further call returns
    ///   [`Error::TransactionFailed`](crate::Error::TransactionFailed)
    pub fn push(&mut self, mut document: Document) -> Result<()> {
        if document.key.is_some() {
            document.id = DocId::default();
        }
        self.push_with_id(document)
    }

    /// [`push`](Self::push), with an id that [`give_id`](Load::give_id) gave.
    pub(crate) fn push_with_id(&mut self, document: Document) -> Result<()> {
        // Checked before the document is sorted, so that the load can go on without the document.
        self.load.check_arrival(&document)?;
        self.load.push(document)
    }

    /// Sorts and writes all documents, and makes them durable. `on_conflict` is called with each
    /// document that is left out. If `on_conflict` returns `Break`, nothing is changed.
    ///
    /// # Errors
    /// - [`Error::Interrupted`](crate::Error::Interrupted) if `on_conflict` or the progress handler
    ///   returned `Break`
    /// - [`Error::AlreadyExists`](crate::Error::AlreadyExists) if another file has taken the path
    ///   meanwhile
    /// - [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Io`](crate::Error::Io),
    ///   [`Error::Storage`](crate::Error::Storage): nothing is changed
    /// - [`Error::CommitUnknown`](crate::Error::CommitUnknown): all documents are loaded, or none
    /// - [`Error::TransactionFailed`](crate::Error::TransactionFailed) after a failed
    ///   [`push`](Self::push)
    ///
    /// # Cost
    /// Four sorts of n records of 8 or 16 bytes; two more of 16 bytes for arrival times; and a sort
    /// of 24 bytes for each document from the first whose id does not ascend. Each page of a new
    /// file is written once; the pages of the documents before that first one, twice.
    pub fn finish(
        self,
        mut on_conflict: impl FnMut(Conflict) -> ControlFlow<()>,
    ) -> Result<BulkReport> {
        let progress = self.progress.for_operation(&[1]);
        self.load.finish(&progress, &mut on_conflict)
    }
}
