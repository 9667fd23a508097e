//! The methods of [`Database`] that change documents. All but [`Database::begin`] go through the
//! group commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Database, DatabaseHandle};
use crate::api::transaction::Transaction;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::ids::{DocId, DocRef, Timestamp};
use crate::ingest::group_commit::{GroupCommit, IfFull};
use crate::ingest::ticket::Ticket;
use crate::ingest::{Change, Outcome, one, prepare_all};
use crate::measure::decision::SimilarRule;
use crate::store::maintenance::reset_clock::{self, ClockReset};

impl Database {
    /// Stores a document under a new id. A taken id is [`Outcome::Exists`].
    ///
    /// [`document`](Self::document) makes a document of a text.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn insert(&self, document: Document) -> Result<Outcome> {
        self.apply_one(Change::Insert(document))
    }

    /// Stores a document in place of the document with the same id, or under a new id.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn upsert(&self, document: Document) -> Result<Outcome> {
        self.apply_one(Change::Upsert(document))
    }

    /// Stores a document under a new id, unless a document lies within the radius: see
    /// [`Change::InsertUnique`].
    ///
    /// Query and insert are one transaction: of two near-duplicates that arrive together, one is
    /// stored. A text whose fingerprint is not reliable has no near-duplicates. It is stored, and
    /// its outcome is `Inserted { reliable: false }`. Only a database with a forest
    /// ([`Builder::similar`](crate::Builder::similar)) recognises a copy of such a text, by its
    /// wording, and returns [`Outcome::Similar`].
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    ///
    /// ```
    /// use simdb::{Database, DocId, Outcome};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let first = db.insert_unique(db.document(1, "13800138000")?, 3)?;
    /// assert_eq!(first, Outcome::Inserted { reliable: false });
    ///
    /// let copy = db.insert_unique(db.document(2, "138 0013 8000")?, 3)?;
    /// assert!(matches!(copy, Outcome::Similar(of) if of.id == DocId(1)));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn insert_unique(&self, document: Document, radius: u32) -> Result<Outcome> {
        self.apply_one(Change::InsertUnique { document, radius })
    }

    /// Stores a document under a new id, unless a stored text covers its text: see
    /// [`Change::InsertUnlessSimilar`]. Query and insert are one transaction.
    ///
    /// Without a forest ([`Builder::similar`](crate::Builder::similar)), a text whose fingerprint
    /// is not reliable is always stored.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`], [`Error::TextMissing`]; otherwise as [`apply`](Self::apply).
    ///
    /// ```
    /// use simdb::{Database, DocId, Outcome, SimilarRule};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let text = "The ferry to the islands was cancelled due to heavy fog.";
    /// assert!(db.insert(db.document(1, text)?)?.is_inserted());
    /// let insert = |id, text| db.insert_unless_similar(db.document(id, text)?, SimilarRule::default());
    ///
    /// // Far more than three bits away, and the same news.
    /// let outcome = insert(2, "Ferries, to island, was canceled due to heavy fogs")?;
    /// let Outcome::Similar(like) = outcome else { panic!("{outcome}") };
    /// assert_eq!(like.id, DocId(1));
    /// assert!(like.resemblance.edit_similarity > Some(0.65));
    ///
    /// // As alike, and not the same news.
    /// let outcome = insert(3, "The ferry to the islands was not cancelled due to heavy fog.")?;
    /// assert!(outcome.is_inserted());
    ///
    /// // The stored text and more.
    /// let outcome = insert(4, "The ferry to the islands was cancelled due to heavy fog. Buses are late.")?;
    /// assert!(matches!(outcome, Outcome::Extends(of) if of.id == DocId(1)));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn insert_unless_similar(&self, document: Document, rule: SimilarRule) -> Result<Outcome> {
        self.apply_one(Change::InsertUnlessSimilar { document, rule })
    }

    /// Removes a document: [`Outcome::Removed`], or [`Outcome::Missing`] if there was no such
    /// document.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn remove(&self, document: impl Into<DocRef>) -> Result<Outcome> {
        self.apply_one(Change::remove(document))
    }

    /// Makes one change, and returns its outcome.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_one(&self, change: Change) -> Result<Outcome> {
        Ok(one(self.apply([change])?))
    }

    /// Makes changes in order, each as of those before it, and returns their outcomes.
    ///
    /// Changes of many threads are committed in groups, in the order of the calls. The call waits
    /// while the queue is full: see [`Builder::queue_changes`](crate::Builder::queue_changes) and
    /// [`Builder::queue_bytes`](crate::Builder::queue_bytes).
    ///
    /// # Errors
    /// - [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::FieldsTooLong`],
    ///   [`Error::KeepsNoTexts`], [`Error::TextMissing`], [`Error::InvalidRadius`],
    ///   [`Error::InvalidLikeness`], [`Error::ArrivalAhead`], [`Error::Corrupt`], [`Error::Io`],
    ///   [`Error::Storage`], [`Error::WritesFailed`], [`Error::FileGone`]: nothing is changed
    /// - [`Error::KeyMissing`], [`Error::InvalidKey`], [`Error::KeepsNoKeys`],
    ///   [`Error::InvalidScope`], [`Error::KeepsNoScopes`], [`Error::TooManyScopes`],
    ///   [`Error::InvalidCopies`]: nothing is changed
    /// - [`Error::TransactionOpen`] if this thread has a transaction or a bulk load,
    ///   [`Error::Closed`]: nothing is changed
    /// - [`Error::CommitUnknown`]: all changes are made, or none. Reopen the database and repeat
    ///   them, which is harmless. Until then each change returns [`Error::WritesFailed`]
    ///
    /// # Cost
    /// A write and a sync of the journal, shared with the calls of other threads: about 25 bytes a
    /// document without a text. Later, in the background, a share of a [merge](Self::merge).
    /// Changes that change nothing are not written.
    pub fn apply(&self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        self.handle()?.store.refuse_own_transaction()?;
        self.submit(changes)?.wait()
    }

    /// Queues changes and returns a [`Ticket`] for their outcomes. The changes are made in the
    /// order of the calls, even if the ticket is dropped. The call waits only while the queue is
    /// full. In the thread of a transaction, the changes wait for the end of the transaction.
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply) that are about the documents or the database alone;
    /// [`Error::Closed`]; [`Error::TransactionOpen`] if the queue is full in the thread of a
    /// transaction; [`Error::Io`] if the commit thread cannot be started. [`Ticket::wait`] returns
    /// all other errors, [`Error::ArrivalAhead`] among them.
    ///
    /// ```
    /// use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// let unique = |id, bits| Change::InsertUnique {
    ///     document: Document::new(id, Fingerprint::from_bits(bits)),
    ///     radius: 3,
    /// };
    /// let first = db.submit([unique(1, 0b1111)])?;
    /// let second = db.submit([unique(2, 0b0111)])?;
    /// assert_eq!(first.wait()?, [Outcome::Inserted { reliable: true }]);
    /// assert!(matches!(second.wait()?[..], [Outcome::Duplicate(of)] if of.id == DocId(1)));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn submit(&self, changes: impl IntoIterator<Item = Change>) -> Result<Ticket> {
        self.submit_if_full(changes, IfFull::Wait)
    }

    /// Queues changes like [`submit`](Self::submit), but returns an error if the queue is full: a
    /// server can answer that it is busy, instead of a thread that waits for each request.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and [`Error::QueueFull`]: nothing is changed.
    pub fn try_submit(&self, changes: impl IntoIterator<Item = Change>) -> Result<Ticket> {
        self.submit_if_full(changes, IfFull::Refuse)
    }

    /// Waits until all submitted changes are durable. Any error reports the changes that were
    /// refused since the last call: no later call of `flush` or [`close`](Self::close) reports them
    /// again.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and [`Error::NotAllWritten`] if changes were refused since the
    /// last call, even if their own calls returned the error.
    pub fn flush(&self) -> Result<()> {
        let flushed = self.apply([]);
        let reported = self.report_refused();
        flushed.and(reported)
    }

    /// Removes every document that arrived before `older_than`, and returns their number.
    ///
    /// Each commit has some thousands of removals; an interrupted call can be repeated. A database
    /// with a [`window`](crate::Retention::window) removes expired documents without this call.
    ///
    /// # Errors
    /// [`Error::NoArrivals`]; otherwise as [`apply`](Self::apply).
    ///
    /// # Cost
    /// A commit for each thousand removals. Documents that stay are not read.
    pub fn prune(&self, older_than: Timestamp) -> Result<u64> {
        let store = &self.handle()?.store;
        // Refused even if no document is old enough, so that the answer does not depend on the
        // content.
        store.refuse_changes()?;
        store.refuse_own_transaction()?;
        let snapshot = self.transient_snapshot()?;
        snapshot.refuse_without_arrivals()?;
        let mut removed = 0;
        let mut remove = |ids: &[DocId]| -> Result<()> {
            // Decided again under the write lock: a document may have been replaced by a newer one
            // since the snapshot.
            let changes = ids.iter().map(|id| Change::RemoveOlder {
                id: *id,
                than: older_than,
            });
            for outcome in self.apply(changes)? {
                removed += u64::from(matches!(outcome, Outcome::Removed { .. }));
            }
            Ok(())
        };
        snapshot.for_each_arrived_before(older_than, PRUNED_PER_COMMIT, &mut remove)?;
        log::info!(
            "pruned {removed} documents of {} from before {older_than}",
            self.path().display()
        );
        Ok(removed)
    }

    /// Sets the clock of the retention window back after a document with a bad arrival time: the
    /// latest arrival becomes the latest stored arrival that is not ahead of the system
    /// clock by more than [`max_ahead`](crate::Retention::max_ahead) (1 day if that is `None`).
    ///
    /// Documents that only the bad time had expired are found again, unless a later write or a bulk
    /// load has removed them. Documents that arrived later than that limit are removed and counted:
    /// they would never expire. Until the reset,
    /// [`Snapshot::documents`](crate::Snapshot::documents) returns them, to be inserted again with
    /// the right time.
    ///
    /// Snapshots that were taken before do not change. A database with a right clock stays as it
    /// is, except that the clock goes back to the latest stored document if a later one was
    /// removed.
    ///
    /// # Errors
    /// [`Error::NoArrivals`]; otherwise as [`merge`](Self::merge).
    ///
    /// # Cost
    /// A [merge](Self::merge) and the removals.
    pub fn reset_clock(&self) -> Result<ClockReset> {
        reset_clock::reset_clock(&self.handle()?.store, Timestamp::now())
    }

    /// Merges the journal into the tables now; a background thread does so when the journal is
    /// [large](crate::Builder::merge_after_changes). Answers do not depend on it.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Corrupt`], [`Error::Io`],
    /// [`Error::Storage`], [`Error::WritesFailed`], [`Error::TransactionOpen`], [`Error::Closed`].
    ///
    /// # Cost
    /// A page in each of five tables for each change; changes of one page share it. Seconds for a
    /// million changes and tens of millions of documents. Other writers wait, readers do not.
    pub fn merge(&self) -> Result<()> {
        // Not `flush`: earlier refused changes must not prevent the merge, and are for `flush` to
        // report.
        self.apply([])?;
        let handle = self.handle()?;
        let mut write_guard = handle.store.lock_writes()?;
        handle.store.flush_all(&mut write_guard)
    }

    /// Begins a transaction of many batches. Waits for other writers, and other writers wait while
    /// the transaction lives.
    ///
    /// # Errors
    /// - [`Error::TransactionOpen`] if this thread has a transaction or a bulk load
    /// - [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Corrupt`], [`Error::Io`],
    ///   [`Error::Storage`], [`Error::Closed`]
    pub fn begin(&self) -> Result<Transaction<'_>> {
        let handle = self.handle()?;
        handle.store.refuse_changes()?;
        // Starts the merge thread too: without the thread, journals would grow until the database
        // is closed.
        self.group_commit(&handle).start()?;
        let transaction = Transaction::begin(Arc::clone(&handle))?;
        // Race: another thread may have closed the database while this one waited for the lock.
        self.group_commit(&handle).start()?;
        Ok(transaction)
    }

    fn submit_if_full(
        &self,
        changes: impl IntoIterator<Item = Change>,
        if_full: IfFull,
    ) -> Result<Ticket> {
        let handle = self.handle()?;
        let prepared = prepare_all(changes.into_iter().collect(), &handle.store)?;
        self.group_commit(&handle).submit(prepared, if_full)
    }

    pub(super) fn group_commit<'h>(&self, handle: &'h DatabaseHandle) -> &'h GroupCommit {
        handle.group_commit.get_or_init(|| {
            let (store, has_refused) = (Arc::clone(&handle.store), Arc::clone(&self.has_refused));
            GroupCommit::new(store, has_refused, self.queue_limits)
        })
    }

    /// Returns an error if changes were refused since the last call.
    pub(super) fn report_refused(&self) -> Result<()> {
        if !self.has_refused.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let path = self.path().to_path_buf();
        Err(Error::NotAllWritten { path })
    }
}

/// At most 8,192 removals per commit of [`Database::prune`].
const PRUNED_PER_COMMIT: usize = 8 << 10;
