//! [`Database`], [`Settings`]: what a user holds. Joins the floors below and decides nothing itself.

use std::path::Path;
use std::sync::OnceLock;

use crate::change::{Change, Outcome};
use crate::document::{DocId, Document, Match};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::recipe::{Fingerprinter, Recipe, TextFingerprint};
use crate::snapshot::Snapshot;
use crate::store::{self, Header, Store};
use crate::transaction::Transaction;

/// What is fixed when a database is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How texts become fingerprints.
    pub recipe: Recipe,
    /// Whether texts are kept, compressed, beside their fingerprints.
    pub keep_texts: bool,
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
    pub(crate) store: Store,
    settings: Settings,
    fingerprinter: OnceLock<Fingerprinter>,
}

/// What [`Database::insert_unique`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The document is stored.
    Inserted,
    /// It is not, because this document lies within the radius: the nearest, then the one with
    /// the smallest id.
    Duplicate(Match),
}

impl Database {
    pub(crate) fn over(store: Store, asked: Option<&Recipe>) -> Result<Self> {
        let Header {
            recipe: stored,
            keep_texts,
            frozen,
        } = store.header();
        let mismatch = |asked: String| Error::RecipeMismatch {
            path: store.path().to_path_buf(),
            stored: stored.clone(),
            asked,
        };
        let recipe = Recipe::all()
            .into_iter()
            .find(|recipe| recipe.description() == *stored);
        let settings = match (recipe, asked) {
            (Some(recipe), Some(asked)) if recipe != *asked => {
                return Err(mismatch(asked.description()));
            }
            (None, Some(asked)) => return Err(mismatch(asked.description())),
            (None, None) => {
                let known: Vec<String> = Recipe::all().iter().map(Recipe::description).collect();
                return Err(mismatch(format!(
                    "any this simdb knows ({})",
                    known.join("; ")
                )));
            }
            (Some(recipe), _) => Settings {
                recipe,
                keep_texts: *keep_texts,
                frozen: *frozen,
            },
        };
        Ok(Self {
            store,
            settings,
            fingerprinter: OnceLock::new(),
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
    /// which for recipe `jieba` takes about a tenth of a second.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.fingerprinter
            .get_or_init(|| Fingerprinter::new(self.settings.recipe))
    }

    /// The fingerprint of a text by the recipe of this database.
    pub fn fingerprint(&self, text: &str) -> TextFingerprint {
        self.fingerprinter().fingerprint(text)
    }

    /// The document that a text makes in this database: its fingerprint, and the text itself if
    /// texts are kept.
    pub fn document(&self, id: DocId, text: &str) -> Document {
        let TextFingerprint {
            fingerprint,
            reliable,
        } = self.fingerprint(text);
        Document {
            id,
            fingerprint,
            reliable,
            text: self.settings.keep_texts.then(|| text.to_owned()),
        }
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
    /// Those of [`insert`](Self::insert).
    pub fn insert_text(&self, id: DocId, text: &str) -> Result<TextFingerprint> {
        let document = self.document(id, text);
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
    /// Those of [`apply`](Self::apply).
    pub fn upsert_text(&self, id: DocId, text: &str) -> Result<Option<Fingerprint>> {
        self.upsert_document(self.document(id, text))
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
    /// Those of [`insert_unique`](Self::insert_unique).
    pub fn insert_unique_text(&self, id: DocId, text: &str, radius: u32) -> Result<Insertion> {
        self.insert_unique_document(self.document(id, text), radius)
    }

    fn insert_unique_document(&self, document: Document, radius: u32) -> Result<Insertion> {
        let id = document.id;
        match self.apply_one(Change::InsertUnique { document, radius })? {
            Outcome::Exists { stored } => Err(exists(id, stored)),
            Outcome::Duplicate(found) => Ok(Insertion::Duplicate(found)),
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

    /// Makes many changes in one transaction, in order, each seeing those before it, and returns
    /// what became of each. When this returns, they are durable, all of them.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::TextTooLong`], [`Error::Corrupt`],
    /// [`Error::Storage`]: nothing was changed. [`Error::CommitUnknown`]: all or nothing was.
    ///
    /// # Cost
    /// Two syncs of the file, and for each document up to five pages to write; a batch touches a
    /// page once. Where nothing changes, nothing is written.
    pub fn apply(&self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        let mut transaction = self.begin()?;
        let outcomes = transaction.apply(changes)?;
        transaction.commit()?;
        Ok(outcomes)
    }

    /// Starts a transaction of many batches. Waits while there is another one, or any other
    /// change in the making, so one thread must not hold two.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Frozen`], [`Error::Storage`].
    pub fn begin(&self) -> Result<Transaction<'_>> {
        Ok(Transaction::over(self.store.write()?))
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
    /// `observer` is told how many of how many steps are done. The storage engine mends what it can
    /// of its own damage, so copy a damaged file before you check it.
    ///
    /// # Errors
    /// [`Error::Storage`] if the file could not be read, [`Error::ReadOnly`] if the database was
    /// opened for reading only, [`Error::SnapshotHeld`].
    ///
    /// # Cost
    /// Reads the whole file, about three times.
    pub fn check(&mut self, observer: impl FnMut(u64, u64)) -> Result<Vec<String>> {
        store::check::check(&mut self.store, observer)
    }

    /// Writes a copy of the database as of now to `path`, while reading and writing go on. The
    /// copy appears under its name only when it is whole and durable. It gets no more permissions
    /// than the database has.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if there is anything at `path`; [`Error::Io`], [`Error::Storage`];
    /// [`Error::Corrupt`] if a damaged page was met: a backup never holds one.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        store::copy::backup(&self.store, path.as_ref())
    }

    /// Rewrites the file at `path`, which nobody may have open, without the room that removals and
    /// old pages left in it, and returns the bytes it had and has. Some room for inserts is left
    /// in every chunk, so a file that was filled to the brim may grow. Until the new file is whole
    /// and durable the old one stays as it is.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and [`Error::Io`] if there is no room beside it.
    pub fn vacuum(path: impl AsRef<Path>) -> Result<(u64, u64)> {
        store::copy::vacuum(path.as_ref())
    }
}

/// The id is taken.
fn exists(id: DocId, stored: Fingerprint) -> Error {
    Error::DocumentExists {
        id: id.0,
        stored: stored.bits(),
    }
}
