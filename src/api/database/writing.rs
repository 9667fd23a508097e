//! The methods of [`Database`] that change documents. All but [`Database::begin`] go through the
//! group commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Database, Handle, Insertion};
use crate::api::transaction::Transaction;
use crate::document::{DocId, Document};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::ingest::group_commit::GroupCommit;
use crate::ingest::ticket::Ticket;
use crate::ingest::{Change, Outcome, prepare_all};
use crate::recipe::TextFingerprint;
use crate::similarity::Likeness;
use crate::timestamp::Timestamp;

impl Database {
    /// Stores a fingerprint under a new id.
    ///
    /// # Errors
    /// [`Error::DocumentExists`] if the id is taken; those of [`apply`](Self::apply).
    pub fn insert(&self, id: DocId, fingerprint: Fingerprint) -> Result<()> {
        self.insert_document(Document::new(id, fingerprint))
    }

    /// Stores a text under a new id, and returns its fingerprint.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert) and [`fingerprint`](Self::fingerprint).
    pub fn insert_text(&self, id: DocId, text: &str) -> Result<TextFingerprint> {
        let document = self.document(id, text)?;
        let Document {
            fingerprint,
            reliable,
            ..
        } = document;
        self.insert_document(document)?;
        Ok(TextFingerprint {
            fingerprint,
            reliable,
        })
    }

    /// Stores a document under a new id: for arrival times, or fingerprints made elsewhere.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert).
    pub fn insert_document(&self, document: Document) -> Result<()> {
        let id = document.id;
        match self.apply_one(Change::Insert(document))? {
            Outcome::Exists { stored } => Err(exists(id, stored)),
            _ => Ok(()),
        }
    }

    /// Stores a fingerprint in place of the document with the same id. Returns the replaced
    /// fingerprint.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn upsert(&self, id: DocId, fingerprint: Fingerprint) -> Result<Option<Fingerprint>> {
        self.upsert_document(Document::new(id, fingerprint))
    }

    /// Stores a text in place of the document with the same id. Returns the replaced fingerprint.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply) and [`fingerprint`](Self::fingerprint).
    pub fn upsert_text(&self, id: DocId, text: &str) -> Result<Option<Fingerprint>> {
        self.upsert_document(self.document(id, text)?)
    }

    /// Stores a document in place of the one with the same id. Returns the replaced fingerprint.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn upsert_document(&self, document: Document) -> Result<Option<Fingerprint>> {
        Ok(match self.apply_one(Change::Upsert(document))? {
            Outcome::Replaced { stored } => Some(stored),
            _ => None,
        })
    }

    /// Stores a fingerprint under a new id, unless a document lies within the radius.
    ///
    /// Query and insert are one transaction: of two near-duplicates that arrive together, one is
    /// stored.
    ///
    /// # Errors
    /// [`Error::DocumentExists`] if the id is taken; those of [`apply`](Self::apply).
    pub fn insert_unique(
        &self,
        id: DocId,
        fingerprint: Fingerprint,
        radius: u32,
    ) -> Result<Insertion> {
        self.insert_unique_document(Document::new(id, fingerprint), radius)
    }

    /// Stores a text like [`insert_unique`](Self::insert_unique). A text whose fingerprint is not
    /// reliable is always stored.
    ///
    /// # Errors
    /// Those of [`insert_unique`](Self::insert_unique) and [`fingerprint`](Self::fingerprint).
    pub fn insert_unique_text(&self, id: DocId, text: &str, radius: u32) -> Result<Insertion> {
        self.insert_unique_document(self.document(id, text)?, radius)
    }

    /// Stores a document like [`insert_unique`](Self::insert_unique). A document that is not
    /// reliable is always stored.
    ///
    /// # Errors
    /// Those of [`insert_unique`](Self::insert_unique).
    pub fn insert_unique_document(&self, document: Document, radius: u32) -> Result<Insertion> {
        let id = document.id;
        match self.apply_one(Change::InsertUnique { document, radius })? {
            Outcome::Exists { stored } => Err(exists(id, stored)),
            Outcome::Duplicate(found) => Ok(Insertion::Duplicate(found)),
            _ => Ok(Insertion::Inserted),
        }
    }

    /// Stores a text under a new id, unless a stored text is [similar](crate::Snapshot::similar) by
    /// the default [`Likeness`]. Query and insert are one transaction.
    ///
    /// Without bands ([`Builder::similar`](crate::Builder::similar)), a text whose fingerprint is
    /// not reliable is always stored.
    ///
    /// # Errors
    /// [`Error::DocumentExists`] if the id is taken; [`Error::KeepsNoTexts`]; those of
    /// [`apply`](Self::apply) and [`fingerprint`](Self::fingerprint).
    ///
    /// ```
    /// use simdb::{Database, DocId, Insertion};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// db.insert_unless_similar(DocId(1), "The ferry to the islands was cancelled due to heavy fog.")?;
    ///
    /// // Far more than three bits away, and the same news.
    /// let text = "Ferries to the islands were cancelled because of heavy fog.";
    /// let Insertion::Similar(like) = db.insert_unless_similar(DocId(2), text)? else { panic!() };
    /// assert_eq!(like.id, DocId(1));
    /// assert!(like.resemblance.edit_similarity > Some(0.65));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn insert_unless_similar(&self, id: DocId, text: &str) -> Result<Insertion> {
        let mut document = self.document(id, text)?;
        document.text.get_or_insert_with(|| text.to_owned());
        let likeness = Likeness::default();
        match self.apply_one(Change::InsertUnlessSimilar { document, likeness })? {
            Outcome::Exists { stored } => Err(exists(id, stored)),
            Outcome::Similar(found) => Ok(Insertion::Similar(found)),
            _ => Ok(Insertion::Inserted),
        }
    }

    /// Removes a document. Returns its fingerprint, or `None` if there was no such document.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn remove(&self, id: DocId) -> Result<Option<Fingerprint>> {
        Ok(match self.apply_one(Change::Remove(id))? {
            Outcome::Removed { stored } => Some(stored),
            _ => None,
        })
    }

    /// Makes changes in order, each as of those before it, and returns their outcomes.
    ///
    /// Changes of many threads are committed in groups, in the order of the calls. The call waits
    /// while the queue is full: see [`Builder::queue_changes`](crate::Builder::queue_changes) and
    /// [`Builder::queue_bytes`](crate::Builder::queue_bytes).
    ///
    /// # Errors
    /// - [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::KeepsNoTexts`],
    ///   [`Error::TextMissing`], [`Error::InvalidRadius`], [`Error::InvalidLikeness`],
    ///   [`Error::Corrupt`], [`Error::Io`], [`Error::Storage`], [`Error::WritesFailed`]: nothing is
    ///   changed
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

    /// Makes changes like [`apply`](Self::apply), but withdraws them if their commit has not begun
    /// within `timeout`.
    ///
    /// # Errors
    /// [`Error::TimedOut`]: nothing is changed. Those of [`apply`](Self::apply).
    pub fn apply_timeout(
        &self,
        changes: impl IntoIterator<Item = Change>,
        timeout: Duration,
    ) -> Result<Vec<Outcome>> {
        self.handle()?.store.refuse_own_transaction()?;
        let start = Instant::now();
        let deadline = start.checked_add(timeout);
        let ticket = self.submit_until(changes, deadline)?;
        ticket.wait_timeout(timeout.saturating_sub(start.elapsed()))
    }

    /// Queues changes and returns a [`Ticket`] for their outcomes. The changes are made in the
    /// order of the calls, even if the ticket is dropped. The call waits only while the queue is
    /// full. In the thread of a transaction, the changes wait for the end of the transaction.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::KeepsNoTexts`],
    /// [`Error::TextMissing`], [`Error::InvalidRadius`], [`Error::InvalidLikeness`],
    /// [`Error::Closed`]; [`Error::TransactionOpen`] if the queue is full in the thread of a
    /// transaction; [`Error::Io`] if the commit thread cannot be started. All other errors are those
    /// of [`Ticket::wait`].
    ///
    /// ```
    /// use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// let unique = |id, bits| Change::InsertUnique {
    ///     document: Document::new(DocId(id), Fingerprint::from_bits(bits)),
    ///     radius: 3,
    /// };
    /// let first = db.submit([unique(1, 0b1111)])?;
    /// let second = db.submit([unique(2, 0b0111)])?;
    /// assert_eq!(first.wait()?, [Outcome::Inserted]);
    /// assert!(matches!(second.wait()?[..], [Outcome::Duplicate(of)] if of.id == DocId(1)));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn submit(&self, changes: impl IntoIterator<Item = Change>) -> Result<Ticket> {
        self.submit_until(changes, None)
    }

    /// Queues changes like [`submit`](Self::submit), but returns an error if the queue is full.
    ///
    /// # Errors
    /// [`Error::QueueFull`]: nothing is changed. Those of [`submit`](Self::submit).
    pub fn try_submit(&self, changes: impl IntoIterator<Item = Change>) -> Result<Ticket> {
        match self.submit_until(changes, Some(Instant::now())) {
            Err(Error::TimedOut { path }) => Err(Error::QueueFull { path }),
            other => other,
        }
    }

    /// Waits until all submitted changes are durable.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply); [`Error::NotAllWritten`] if changes were refused since the
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
    /// [`Error::NoArrivals`]; those of [`apply`](Self::apply).
    ///
    /// # Cost
    /// That of the removals. Documents that stay are not read.
    pub fn prune(&self, older_than: Timestamp) -> Result<u64> {
        let store = &self.handle()?.store;
        store.refuse_changes()?;
        store.refuse_own_transaction()?;
        let snapshot = self.transient_snapshot()?;
        snapshot.refuse_without_arrivals()?;
        let mut removed = 0;
        let mut remove = |ids: &[DocId]| -> Result<()> {
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
        // Not `flush`: earlier refused changes must not prevent the merge, and are for `flush` to report.
        self.apply([])?;
        let handle = self.handle()?;
        let mut write_guard = handle.store.lock_writes(None)?;
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
        self.begin_until(None)
    }

    /// Begins a transaction like [`begin`](Self::begin), but waits for other writers at most
    /// `timeout`.
    ///
    /// # Errors
    /// [`Error::TimedOut`]; those of [`begin`](Self::begin).
    pub fn begin_timeout(&self, timeout: Duration) -> Result<Transaction<'_>> {
        self.begin_until(Instant::now().checked_add(timeout))
    }

    fn begin_until(&self, deadline: Option<Instant>) -> Result<Transaction<'_>> {
        let handle = self.handle()?;
        handle.store.refuse_changes()?;
        self.group_commit(&handle).start()?;
        Transaction::begin(handle, deadline)
    }

    fn apply_one(&self, change: Change) -> Result<Outcome> {
        let outcomes = self.apply([change])?;
        Ok(outcomes.into_iter().next().unwrap_or(Outcome::Missing))
    }

    fn submit_until(
        &self,
        changes: impl IntoIterator<Item = Change>,
        deadline: Option<Instant>,
    ) -> Result<Ticket> {
        let handle = self.handle()?;
        let prepared = prepare_all(changes.into_iter().collect(), &handle.store)?;
        self.group_commit(&handle).submit(prepared, deadline)
    }

    fn group_commit<'h>(&self, handle: &'h Handle) -> &'h GroupCommit {
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

fn exists(id: DocId, stored: Fingerprint) -> Error {
    Error::DocumentExists { id, stored }
}
