//! [`Database`] and its [`Settings`]: opening, reading, maintenance and closing. The methods that
//! change documents are in `writing.rs`.

mod writing;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::api::snapshot::Snapshot;
use crate::document::{DocId, Document, Match};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::ingest::group_commit::GroupCommit;
use crate::progress::{Progress, ProgressHandler};
use crate::query::{Similar, TextQuery};
use crate::recipe::{Described, Fingerprinter, Recipe, TextFingerprint};
use crate::retention::Retention;
use crate::store::{self, BandMaker, Header, Store};

/// The settings of a database, fixed at creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The recipe that makes fingerprints of texts.
    pub recipe: Recipe,
    /// `true` if texts are stored, compressed, beside their fingerprints.
    pub keep_texts: bool,
    /// `true` if similar texts can be found: the database then stores texts, and 660 to 860 bytes for
    /// the *bands* of each text, some forty numbers of which similar texts share some.
    pub similar: bool,
    /// How long documents stay; `None` if no arrival times are stored.
    pub retention: Option<Retention>,
    /// `true` if the database was packed full by a bulk load, and refuses changes.
    pub frozen: bool,
}

/// A near-duplicate database in one file.
///
/// `Send` and `Sync`: many threads may read while one writes; writers wait for each other. Each
/// method that reads takes a new [`Snapshot`]. Take a snapshot yourself for several queries of the
/// same state, or for many fast queries.
///
/// ```
/// use simdb::{Database, DocId, Insertion};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// db.insert_text(DocId(1), "The quick brown fox jumps over the lazy dog.")?;
///
/// // The same words with other case and punctuation are the same document.
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
    /// Made by the first change.
    group_commit: OnceLock<GroupCommit>,
    /// `true` if changes may have been made by a group commit that was stopped since.
    was_written: bool,
    /// `true` if changes were refused since [`flush`](Self::flush) reported it last.
    has_refused: Arc<AtomicBool>,
    pub(crate) progress: ProgressHandler,
}

/// The result of [`Database::insert_unique`] and [`Database::insert_unless_similar`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Insertion {
    /// The document is stored.
    Inserted,
    /// The document is not stored, because this document lies within the radius: the nearest, then
    /// the one with the smallest id. Only from [`Database::insert_unique`] and its variants for texts
    /// and documents.
    Duplicate(Match),
    /// The document is not stored, because the text of this document is like its own, more than any
    /// other text. Only from [`Database::insert_unless_similar`].
    Similar(Similar),
}

impl Database {
    /// `asked` is the recipe that the caller named; it must be that of the file.
    pub(crate) fn new(
        store: Store,
        asked: Option<&Recipe>,
        progress: ProgressHandler,
    ) -> Result<Self> {
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
            group_commit: OnceLock::new(),
            was_written: false,
            has_refused: Arc::default(),
            progress,
        })
    }

    /// Sets the handler that [`check`](Self::check) and [`backup`](Self::backup) report their
    /// progress to, and the snapshots and bulk loads begun from now on: see [`Progress`].
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = ProgressHandler::new(handler);
        self
    }

    /// The settings fixed at creation.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The path the database was opened under.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// The fingerprinter of this database. The first call makes it, which for the recipes `jieba` and
    /// `cppjieba` takes about a tenth of a second.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.fingerprinter
            .get_or_init(|| Fingerprinter::new(self.settings.recipe.clone()))
    }

    /// The fingerprint of a text by the recipe of this database.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`; no other recipe gives an error.
    pub fn fingerprint(&self, text: &str) -> Result<TextFingerprint> {
        self.fingerprinter().fingerprint(text)
    }

    /// A document of a text: with its fingerprint, and with the text itself if texts are stored.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`; no other recipe gives an error.
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

    /// Commits the submitted changes, merges the journal into the tables, and closes the file.
    ///
    /// Dropping a database that was written to does the same without reporting errors. Nothing is
    /// lost in that case: the next open reads the journal. A database that was only read leaves the
    /// journal as it was.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Corrupt`], [`Error::WritesFailed`]. [`Error::NotAllWritten`] if
    /// changes were refused since the last [`flush`](Self::flush), even if their own callers had the
    /// error: all other changes are written, and the file is closed.
    ///
    /// # Cost
    /// The merge of the last changes: seconds for a million changes and tens of millions of documents.
    pub fn close(mut self) -> Result<()> {
        self.stop_writing();
        self.store.close()?;
        self.report_refused()
    }

    /// Commits the submitted changes and stops the group commit. Returns `true` if there was one.
    fn stop_writing(&mut self) -> bool {
        let group_commit = self.group_commit.take();
        group_commit.inspect(GroupCommit::stop).is_some()
    }

    /// A snapshot of the database: no later change affects it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        let view = self.store.read()?;
        Ok(Snapshot::new(view, self.progress.clone()))
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

    /// A query for [`Snapshot::similar`].
    ///
    /// # Errors
    /// None at present. If the recipe makes no fingerprints of texts, candidates are found by bands
    /// alone.
    pub fn text_query(&self, text: &str) -> Result<TextQuery> {
        let made = match self.fingerprint(text) {
            Err(Error::NoTexts { .. }) => None,
            made => Some(made?),
        };
        Ok(TextQuery::new(&BandMaker, text, made))
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

    /// The number of stored documents: see [`Snapshot::len`].
    ///
    /// # Errors
    /// Those of [`snapshot`](Self::snapshot).
    pub fn len(&self) -> Result<u64> {
        Ok(self.snapshot()?.len())
    }

    /// Returns `true` if no document is stored.
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
    /// Of a database that is open for reading only the storage engine's own checks are left out,
    /// and if it was not closed, its tables are not compared with each other.
    ///
    /// # Errors
    /// [`Error::Storage`] if the file could not be read, [`Error::SnapshotHeld`],
    /// [`Error::Interrupted`].
    ///
    /// # Cost
    /// Reads the whole file, about three times.
    pub fn check(&mut self) -> Result<Vec<String>> {
        self.was_written |= self.stop_writing();
        let Some(store) = Arc::get_mut(&mut self.store) else {
            let path = self.path().to_path_buf();
            return Err(Error::SnapshotHeld { path });
        };
        store::maintenance::check::check(store, &self.progress)
    }

    /// Writes a copy of the database as of now to `path`, while reading and writing go on. The
    /// copy appears under its name only when it is whole, durable, read back and proved (out of the
    /// operating system's cache, as a rule). It gets no more permissions than the database has. To
    /// restore it is to copy the file, and to remove what journals the lost one has left beside it.
    ///
    /// While it is written, pages that merges replace stay in the file, which so may grow by what
    /// is merged meanwhile; they are used again afterwards.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if there is anything at `path`; [`Error::Io`], [`Error::Storage`];
    /// [`Error::Corrupt`] if a damaged page was met: a backup never holds one;
    /// [`Error::Interrupted`].
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<()> {
        store::maintenance::copy::backup(&self.store, path.as_ref(), &self.progress)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.stop_writing() || self.was_written {
            // A drop cannot return the error. The journal keeps the changes that were not merged.
            self.store.close().unwrap_or_default();
        }
    }
}

/// The recipe of a file. If `asked` names a recipe, it must be the same.
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
