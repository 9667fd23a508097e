//! What changes a [`Database`]: one document, several together, or a transaction of many batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Database, Insertion};
use crate::api::transaction::Transaction;
use crate::document::{DocId, Document, Timestamp};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::ingest::group_commit::GroupCommit;
use crate::ingest::ticket::Ticket;
use crate::ingest::{Change, Outcome, prepare_all};
use crate::recipe::TextFingerprint;
use crate::similarity::Likeness;

impl Database {
    /// Stores a fingerprint under a new id, durably.
    ///
    /// # Errors
    /// [`Error::DocumentExists`] if the id is taken; those of [`apply`](Self::apply).
    pub fn insert(&self, id: DocId, fingerprint: Fingerprint) -> Result<()> {
        self.insert_document(Document::new(id, fingerprint))
    }

    /// Stores a text under a new id, durably, and returns its fingerprint.
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

    /// Stores a document under a new id, durably: one with an arrival time of its own, or whose
    /// fingerprint was made elsewhere.
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

    /// Stores a fingerprint under an id, durably, in the place of what the id had, and returns
    /// the fingerprint replaced.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn upsert(&self, id: DocId, fingerprint: Fingerprint) -> Result<Option<Fingerprint>> {
        self.upsert_document(Document::new(id, fingerprint))
    }

    /// Stores a text under an id, durably, in the place of what the id had, and returns the
    /// fingerprint replaced.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply) and [`fingerprint`](Self::fingerprint).
    pub fn upsert_text(&self, id: DocId, text: &str) -> Result<Option<Fingerprint>> {
        self.upsert_document(self.document(id, text)?)
    }

    /// Stores a document, durably, in the place of what its id had, and returns the fingerprint
    /// replaced.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn upsert_document(&self, document: Document) -> Result<Option<Fingerprint>> {
        Ok(match self.apply_one(Change::Upsert(document))? {
            Outcome::Replaced { stored } => Some(stored),
            _ => None,
        })
    }

    /// Stores a fingerprint under a new id, durably, unless a document lies within the radius.
    /// Looking and storing are one transaction: of two near-duplicates that arrive at the same
    /// moment, one is stored.
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

    /// Stores a text under a new id, durably, unless a document lies within the radius of its
    /// fingerprint. A text whose fingerprint says nothing is always stored.
    ///
    /// # Errors
    /// Those of [`insert_unique`](Self::insert_unique) and [`fingerprint`](Self::fingerprint).
    pub fn insert_unique_text(&self, id: DocId, text: &str, radius: u32) -> Result<Insertion> {
        self.insert_unique_document(self.document(id, text)?, radius)
    }

    /// Stores a document under a new id, durably, unless another lies within the radius: as
    /// [`insert_unique`](Self::insert_unique). One that is not reliable is always stored.
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

    /// Stores a text under a new id, durably, unless the text of a document is like it: see
    /// [`Snapshot::similar`](crate::Snapshot::similar) for what is found, and [`Likeness`] for what
    /// is enough. Looking and storing are one transaction.
    ///
    /// In a database that keeps texts but no bands, a text whose fingerprint says nothing is always
    /// stored, as by [`insert_unique_text`](Self::insert_unique_text).
    ///
    /// # Errors
    /// [`Error::DocumentExists`] if the id is taken, [`Error::KeepsNoTexts`]; those of
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

    /// Removes a document, durably, and returns the fingerprint it had.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn remove(&self, id: DocId) -> Result<Option<Fingerprint>> {
        Ok(match self.apply_one(Change::Remove(id))? {
            Outcome::Removed { stored } => Some(stored),
            _ => None,
        })
    }

    /// Makes changes together, in order, each seeing those before it, and returns what became of
    /// each. When this returns, they are durable, all of them.
    ///
    /// Changes of many threads are committed in groups, in the order in which they come: each sees
    /// all before it, whoever made them. Where very many wait already, this waits for room.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::KeepsNoTexts`],
    /// [`Error::TextMissing`], [`Error::Corrupt`], [`Error::Io`], [`Error::Storage`]: nothing was
    /// changed. [`Error::CommitUnknown`]: all or nothing was, and to repeat it is harmless; from
    /// then on [`Error::WritesFailed`].
    ///
    /// # Cost
    /// A write and a sync of the journal, shared with others who come at the same time; about 25
    /// bytes a document there, and later, in the background, its share of a merge into the
    /// tables. Where nothing changes, nothing is written.
    pub fn apply(&self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        self.submit(changes)?.wait()
    }

    /// The same, but changes that are not taken up in this time are taken back.
    ///
    /// # Errors
    /// [`Error::TimedOut`]: nothing was changed. Those of [`apply`](Self::apply).
    pub fn apply_timeout(
        &self,
        changes: impl IntoIterator<Item = Change>,
        timeout: Duration,
    ) -> Result<Vec<Outcome>> {
        let start = Instant::now();
        let deadline = start.checked_add(timeout);
        let ticket = self.submit_until(changes, deadline)?;
        ticket.wait_timeout(timeout.saturating_sub(start.elapsed()))
    }

    /// Hands changes over without waiting until they are made. They are made in the order in
    /// which they are handed over, whether somebody waits for them or not. Waits for room where
    /// very many wait already.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::KeepsNoTexts`],
    /// [`Error::TextMissing`]; [`Error::Io`] if the thread that writes cannot be started. All others
    /// come with the answer.
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

    /// The same, but where there is no room this is an error.
    ///
    /// # Errors
    /// [`Error::QueueFull`]: nothing was changed. Those of [`submit`](Self::submit).
    pub fn try_submit(&self, changes: impl IntoIterator<Item = Change>) -> Result<Ticket> {
        match self.submit_until(changes, Some(Instant::now())) {
            Err(Error::TimedOut { path }) => Err(Error::QueueFull { path }),
            other => other,
        }
    }

    /// Waits until all that was handed over before is durable.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply), where they concern all changes; [`Error::NotAllWritten`] if
    /// some that were handed over since the last call were refused, whether anybody heard of that
    /// or not.
    pub fn flush(&self) -> Result<()> {
        let flushed = self.apply([]);
        let told = self.report_refused();
        flushed.and(told)
    }

    /// Removes, durably, every document that arrived before `older_than`, and returns how many.
    ///
    /// It goes by parts of some thousands, each wholly or not at all; cut short anywhere, it can
    /// be repeated. A database with a [`window`](crate::Retention::window) removes what is
    /// expired by itself, a little with each change, and this need not be called.
    ///
    /// # Errors
    /// [`Error::NoArrivals`] if the database keeps no arrival times; those of
    /// [`apply`](Self::apply).
    ///
    /// # Cost
    /// That of removing so many documents: nothing that stays is looked at.
    pub fn prune(&self, older_than: Timestamp) -> Result<u64> {
        self.store.refuse_changes()?;
        let snapshot = self.snapshot()?;
        snapshot.refuse_without_arrivals()?;
        let mut removed = 0;
        let mut remove = |ids: &[DocId]| -> Result<()> {
            let older = |id: &DocId| Change::RemoveOlder {
                id: *id,
                than: older_than,
            };
            for outcome in self.apply(ids.iter().map(older))? {
                removed += u64::from(matches!(outcome, Outcome::Removed { .. }));
            }
            Ok(())
        };
        snapshot.for_each_arrived_before(older_than, PRUNED_AT_ONCE, &mut remove)?;
        Ok(removed)
    }

    /// Brings all that is in the journal into the tables now. That goes on by itself, in the
    /// background, when there is enough of it; until then queries look at both, and answer the
    /// same.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Corrupt`], [`Error::Storage`],
    /// [`Error::WritesFailed`].
    ///
    /// # Cost
    /// Each change touches a page in each of five tables, but changes of the same page write it
    /// once. Other writers wait meanwhile, readers do not.
    pub fn merge(&self) -> Result<()> {
        // What was refused before is no reason not to merge, and for `flush` to tell.
        self.apply([])?;
        let mut write_guard = self.store.lock_writes()?;
        self.store.flush_all(&mut write_guard)
    }

    /// Starts a transaction of many batches. Waits while there is another one, or any other
    /// change in the making; others wait for it in turn. So one thread must not hold two, nor
    /// change the database in another way meanwhile.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Corrupt`], [`Error::Io`],
    /// [`Error::Storage`].
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.store.refuse_changes()?;
        self.group_commit().start()?;
        Transaction::begin(&self.store)
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
        let prepared = prepare_all(changes.into_iter().collect(), &self.store)?;
        self.group_commit().submit(prepared, deadline)
    }

    fn group_commit(&self) -> &GroupCommit {
        self.group_commit.get_or_init(|| {
            GroupCommit::new(Arc::clone(&self.store), Arc::clone(&self.has_refused))
        })
    }

    /// An error if changes were refused since the last call.
    pub(super) fn report_refused(&self) -> Result<()> {
        if !self.has_refused.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let path = self.path().to_path_buf();
        Err(Error::NotAllWritten { path })
    }
}

/// Documents that are removed in one commit by [`Database::prune`].
const PRUNED_AT_ONCE: usize = 8 << 10;

/// The id is taken.
fn exists(id: DocId, stored: Fingerprint) -> Error {
    Error::DocumentExists {
        id: id.0,
        stored: stored.bits(),
    }
}
