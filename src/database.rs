//! [`Database`], [`Settings`]: what a user holds. Joins the floors below and decides nothing itself.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::change::{Change, Outcome, Prepared};
use crate::document::{DocId, Document, Match, Timestamp};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::query::{Similar, TextQuery};
use crate::recipe::{Described, Fingerprinter, Recipe, TextFingerprint};
use crate::retention::Retention;
use crate::snapshot::Snapshot;
use crate::store::{self, Header, Store};
use crate::ticket::Ticket;
use crate::transaction::{Transaction, prepared_all};
use crate::verify::Likeness;
use crate::writer::Writer;

/// What is fixed when a database is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How texts become fingerprints.
    pub recipe: Recipe,
    /// Whether texts are kept, compressed, beside their fingerprints.
    pub keep_texts: bool,
    /// Whether the database is made to find similar texts: then it keeps texts, and for each its
    /// *bands*, some forty numbers of which texts that are alike share some, 660 to 860 bytes.
    pub similar: bool,
    /// Whether arrival times are kept, and how long documents stay.
    pub retention: Option<Retention>,
    /// Whether the database is packed to the brim when it is loaded and refuses changes after.
    pub frozen: bool,
}

/// A near-duplicate database in one file.
///
/// `Send` and `Sync`: many threads may read while one writes; writers wait for each other. All
/// methods that read take a fresh [`Snapshot`]; take one yourself to ask several questions of the
/// same state, or many questions fast.
///
/// ```
/// use simdb::{Database, DocId, Insertion};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// db.insert_text(DocId(1), "The quick brown fox jumps over the lazy dog.")?;
///
/// // The same words in other clothes are the same document.
/// let again = db.insert_unique_text(DocId(2), "the QUICK brown fox, jumps over the lazy dog", 3)?;
/// let Insertion::Duplicate(of) = again else { panic!("{again:?}") };
/// assert_eq!((of.id, of.distance), (DocId(1), 0));
/// assert_eq!(db.len()?, 1);
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Debug)]
pub struct Database {
    pub(crate) store: Arc<Store>,
    settings: Settings,
    fingerprinter: OnceLock<Fingerprinter>,
    /// Nothing until something is written.
    writer: OnceLock<Writer>,
}

/// What [`Database::insert_unique`] or [`Database::insert_unless_similar`] did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Insertion {
    /// The document is stored.
    Inserted,
    /// It is not, because this document lies within the radius: the nearest, then the one with
    /// the smallest id.
    Duplicate(Match),
    /// It is not, because the text of this document is like it, more than any other.
    Similar(Similar),
}

impl Database {
    pub(crate) fn over(store: Store, asked: Option<&Recipe>) -> Result<Self> {
        let Header {
            recipe: stored,
            keep_texts,
            bands,
            frozen,
            retention,
        } = store.header();
        let recipe = recipe_of(stored, asked, store.path())?;
        let settings = Settings {
            recipe,
            keep_texts: *keep_texts,
            similar: bands.is_some(),
            retention: *retention,
            frozen: *frozen,
        };
        Ok(Self {
            store: Arc::new(store),
            settings,
            fingerprinter: OnceLock::new(),
            writer: OnceLock::new(),
        })
    }

    /// What was fixed when the database was created.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The path the database was opened under.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// What makes fingerprints by the recipe of this database. The first call gets it ready,
    /// which for recipes `jieba` and `cppjieba` takes about a tenth of a second.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.fingerprinter
            .get_or_init(|| Fingerprinter::new(self.settings.recipe.clone()))
    }

    /// The fingerprint of a text by the recipe of this database.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if its recipe is `weighted`, and by no other.
    pub fn fingerprint(&self, text: &str) -> Result<TextFingerprint> {
        self.fingerprinter().fingerprint(text)
    }

    /// The document that a text makes in this database: its fingerprint, and the text itself if
    /// texts are kept.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if its recipe is `weighted`, and by no other.
    pub fn document(&self, id: DocId, text: &str) -> Result<Document> {
        let TextFingerprint {
            fingerprint,
            reliable,
        } = self.fingerprint(text)?;
        Ok(Document {
            id,
            fingerprint,
            reliable,
            arrival: None,
            text: self.settings.keep_texts.then(|| text.to_owned()),
        })
    }

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

    fn insert_document(&self, document: Document) -> Result<()> {
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

    fn upsert_document(&self, document: Document) -> Result<Option<Fingerprint>> {
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

    fn insert_unique_document(&self, document: Document, radius: u32) -> Result<Insertion> {
        let id = document.id;
        match self.apply_one(Change::InsertUnique { document, radius })? {
            Outcome::Exists { stored } => Err(exists(id, stored)),
            Outcome::Duplicate(found) => Ok(Insertion::Duplicate(found)),
            _ => Ok(Insertion::Inserted),
        }
    }

    /// Stores a text under a new id, durably, unless the text of a document is like it: see
    /// [`Snapshot::similar`] for what is found, and [`Likeness`] for what is enough. Looking and
    /// storing are one transaction.
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

    fn apply_one(&self, change: Change) -> Result<Outcome> {
        let outcomes = self.apply([change])?;
        Ok(outcomes.into_iter().next().unwrap_or(Outcome::Missing))
    }

    /// Makes changes together, in order, each seeing those before it, and returns what became of
    /// each. When this returns, they are durable, all of them.
    ///
    /// Changes of many threads are committed in groups, in the order in which they come: each sees
    /// all before it, whoever made them. Where very many wait already, this waits for room.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::KeepsNoTexts`],
    /// [`Error::TextMissing`], [`Error::Corrupt`], [`Error::Storage`]: nothing was changed. [`Error::CommitUnknown`]: all or nothing was, and
    /// to repeat it is harmless; from then on [`Error::WritesFailed`].
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
        let ticket = self.writer().submit(self.prepared(changes)?, deadline)?;
        ticket.wait_timeout(timeout.saturating_sub(start.elapsed()))
    }

    /// Hands changes over without waiting until they are made. They are made in the order in
    /// which they are handed over, whether somebody waits for them or not. Waits for room where
    /// very many wait already.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::KeepsNoTexts`],
    /// [`Error::TextMissing`]. All others come with the answer.
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
        self.writer().submit(self.prepared(changes)?, None)
    }

    /// The same, but where there is no room this is an error.
    ///
    /// # Errors
    /// [`Error::QueueFull`]: nothing was changed. Those of [`submit`](Self::submit).
    pub fn try_submit(&self, changes: impl IntoIterator<Item = Change>) -> Result<Ticket> {
        let now = Some(Instant::now());
        match self.writer().submit(self.prepared(changes)?, now) {
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
        let has_failed = self.writer().take_failure();
        flushed?;
        if has_failed {
            let path = self.path().to_path_buf();
            return Err(Error::NotAllWritten { path });
        }
        Ok(())
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
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Storage`], [`Error::WritesFailed`].
    ///
    /// # Cost
    /// Each change touches a page in each of five tables, but changes of the same page write it
    /// once. Other writers wait meanwhile, readers do not.
    pub fn merge(&self) -> Result<()> {
        self.flush()?;
        let mut pen = self.store.take_pen()?;
        self.store.settle(&mut pen)
    }

    /// Writes what was handed over, brings the journal into the tables, and closes the file.
    /// Dropping a database that was written to does the same, but cannot say what went wrong;
    /// nothing is lost then either: the next to open it reads the journal. One that was only read
    /// leaves a journal that it found as it was.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Corrupt`], [`Error::WritesFailed`].
    ///
    /// # Cost
    /// That of merging what was changed last: seconds where there are tens of millions of
    /// documents and a million changes.
    pub fn close(mut self) -> Result<()> {
        self.stop_writing();
        self.store.close()
    }

    /// Writes what was handed over; whether anything may have been.
    fn stop_writing(&mut self) -> bool {
        self.writer.take().map(|writer| writer.stop()).is_some()
    }

    fn writer(&self) -> &Writer {
        self.writer
            .get_or_init(|| Writer::new(Arc::clone(&self.store)))
    }

    fn prepared(&self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Prepared>> {
        prepared_all(changes.into_iter().collect(), &self.store)
    }

    /// Starts a transaction of many batches. Waits while there is another one, or any other
    /// change in the making; others wait for it in turn. So one thread must not hold two, nor
    /// change the database in another way meanwhile.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Storage`].
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.store.refuse_changes()?;
        self.writer().start()?;
        Transaction::begin(&self.store)
    }

    /// The database as of now: a view that no later change touches.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot::over(self.store.read()?))
    }

    /// The document with this id: see [`Snapshot::get`].
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn get(&self, id: DocId) -> Result<Option<Document>> {
        self.snapshot()?.get(id)
    }

    /// Every document within the radius: see [`Snapshot::within`].
    ///
    /// # Errors
    /// Those of [`Snapshot::within`].
    pub fn within(&self, fingerprint: Fingerprint, radius: u32) -> Result<Vec<Match>> {
        self.snapshot()?.within(fingerprint, radius)
    }

    /// Every document within the radius of each of many queries: see [`Snapshot::within_batch`].
    ///
    /// # Errors
    /// Those of [`Snapshot::within_batch`].
    pub fn within_batch(&self, queries: &[Fingerprint], radius: u32) -> Result<Vec<Vec<Match>>> {
        self.snapshot()?.within_batch(queries, radius)
    }

    /// A text made ready to be looked for: see [`Snapshot::similar`].
    ///
    /// # Errors
    /// None of a text, so far: what a recipe makes no fingerprint of is looked for by its bands.
    pub fn text_query(&self, text: &str) -> Result<TextQuery> {
        let made = match self.fingerprint(text) {
            Err(Error::NoTexts { .. }) => None,
            made => Some(made?),
        };
        Ok(TextQuery::new(self.store.band_maker(), text, made))
    }

    /// Every document whose text is like this one: see [`Snapshot::similar`].
    ///
    /// # Errors
    /// Those of [`Snapshot::similar`].
    pub fn similar_text(&self, text: &str) -> Result<Vec<Similar>> {
        self.snapshot()?.similar(&self.text_query(text)?)
    }

    /// The nearest documents: see [`Snapshot::nearest`].
    ///
    /// # Errors
    /// Those of [`Snapshot::nearest`].
    pub fn nearest(&self, fingerprint: Fingerprint, count: usize) -> Result<Vec<Match>> {
        self.snapshot()?.nearest(fingerprint, count)
    }

    /// How many documents are stored.
    ///
    /// # Errors
    /// Those of [`snapshot`](Self::snapshot).
    pub fn len(&self) -> Result<u64> {
        Ok(self.snapshot()?.len())
    }

    /// Whether no document is stored.
    ///
    /// # Errors
    /// Those of [`snapshot`](Self::snapshot).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.snapshot()?.is_empty())
    }

    /// Proves the file sound: the storage engine's own checks, every checksum, the order and the
    /// bounds of every chunk, that the tables hold the same documents, and the counters. Returns
    /// a sentence for each damage found: none if the file is sound.
    ///
    /// `observer` is told how many of how many steps are done. A database that is open for reading
    /// only is not asked for the storage engine's own checks, and if it was not closed nothing is
    /// said of whether the tables hold the same.
    ///
    /// # Errors
    /// [`Error::Storage`] if the file could not be read, [`Error::SnapshotHeld`].
    ///
    /// # Cost
    /// Reads the whole file, about three times.
    pub fn check(&mut self, observer: impl FnMut(u64, u64)) -> Result<Vec<String>> {
        self.stop_writing();
        let Some(store) = Arc::get_mut(&mut self.store) else {
            let path = self.path().to_path_buf();
            return Err(Error::SnapshotHeld { path });
        };
        store::check::check(store, observer)
    }

    /// Writes a copy of the database as of now to `path`, while reading and writing go on. The
    /// copy appears under its name only when it is whole, durable, read back and proved (out of the
    /// operating system's cache, as a rule). It gets no more permissions than the database has. To
    /// restore it is to copy the file.
    ///
    /// While it is written, pages that merges replace stay in the file, which so may grow by what
    /// is merged meanwhile; they are used again afterwards.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if there is anything at `path`; [`Error::Io`], [`Error::Storage`];
    /// [`Error::Corrupt`] if a damaged page was met: a backup never holds one.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        self.backup_observed(path, |_done, _total| ControlFlow::Continue(()))
    }

    /// The same; `observer` is told now and then how many of how many steps are done, and if it
    /// breaks, there is no copy.
    ///
    /// # Errors
    /// Those of [`backup`](Self::backup), and [`Error::Interrupted`].
    pub fn backup_observed(
        &self,
        path: impl AsRef<Path>,
        mut observer: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        store::copy::backup(&self.store, path.as_ref(), &mut observer)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.stop_writing() {
            // Nobody can be told; the journal keeps what could not be merged.
            self.store.close().unwrap_or_default();
        }
    }
}

/// The recipe of a file, which must be the one asked for if one is.
pub(crate) fn recipe_of(stored: &str, asked: Option<&Recipe>, path: &Path) -> Result<Recipe> {
    let mismatch = |asked: String| Error::RecipeMismatch {
        path: path.to_path_buf(),
        stored: stored.to_owned(),
        asked,
    };
    match asked {
        Some(asked) if asked.description() == stored => Ok(asked.clone()),
        Some(asked) => Err(mismatch(asked.description())),
        None => match Recipe::described(stored) {
            Described::Recipe(recipe) => Ok(recipe),
            Described::NeedsFiles { recipe, needed } => Err(Error::RecipeFiles {
                path: path.to_path_buf(),
                recipe: recipe.to_string(),
                needed,
            }),
            Described::Unknown => {
                let known: Vec<String> = Recipe::all().iter().map(Recipe::description).collect();
                Err(mismatch(format!(
                    "any this simdb knows ({})",
                    known.join("; ")
                )))
            }
        },
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
