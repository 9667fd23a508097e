//! [`Database`] and its [`Settings`]: opening, reading, maintenance and closing.

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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// The recipe that makes fingerprints of texts.
    pub recipe: Recipe,
    /// `true` if texts are stored, compressed, beside their fingerprints.
    pub keep_texts: bool,
    /// `true` if bands are stored: see [`Builder::similar`](crate::Builder::similar).
    pub similar: bool,
    /// The lifetime of documents; `None` if no arrival times are stored.
    pub retention: Option<Retention>,
    /// `true` if changes are refused: see [`Builder::frozen`](crate::Builder::frozen).
    pub frozen: bool,
}

/// A near-duplicate database in one file. `Send` and `Sync`.
///
/// A change is durable when its method returns ([`submit`](Self::submit) excepted). Readers never
/// wait for writers; writers wait for each other. Each method that reads takes a new [`Snapshot`]:
/// take one yourself for several queries of the same state, or for many fast queries.
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
    /// `true` if a group commit that has been stopped may have made changes.
    was_written: bool,
    /// `true` if changes were refused since the last [`flush`](Self::flush).
    has_refused: Arc<AtomicBool>,
    pub(crate) progress: ProgressHandler,
}

/// The result of [`Database::insert_unique`] and [`Database::insert_unless_similar`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Insertion {
    /// The document is stored.
    Inserted,
    /// Not stored: this document lies within the radius, the nearest, then the one with the
    /// smallest id. Only from [`Database::insert_unique`] and its variants.
    Duplicate(Match),
    /// Not stored: the text of this document is like the new one, more than any other text. Only
    /// from [`Database::insert_unless_similar`].
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

    /// Sets the handler for the [`Progress`] of [`check`](Self::check) and
    /// [`backup`](Self::backup), and of later snapshots and bulk loads.
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

    /// The path under which the database was opened.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// The fingerprinter of this database. The first call makes it, which takes about a tenth of a
    /// second for the recipes `jieba` and `cppjieba`.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.fingerprinter
            .get_or_init(|| Fingerprinter::new(self.settings.recipe.clone()))
    }

    /// The fingerprint of a text by the recipe of this database.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`.
    pub fn fingerprint(&self, text: &str) -> Result<TextFingerprint> {
        self.fingerprinter().fingerprint(text)
    }

    /// A document of a text: the fingerprint, and the text if texts are kept.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`.
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
    /// To drop a database does the same without reporting errors; changes that could not be merged
    /// stay in the journal. A database that was only read leaves the journal as it was.
    ///
    /// # Errors
    /// - [`Error::Corrupt`], [`Error::Storage`], [`Error::WritesFailed`]
    /// - [`Error::NotAllWritten`] if changes were refused since the last [`flush`](Self::flush);
    ///   all others are written, and the file is closed
    ///
    /// # Cost
    /// That of [`merge`](Self::merge).
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

    /// A snapshot of the database, which later changes do not affect.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        let view = self.store.read()?;
        Ok(Snapshot::new(view, self.progress.clone()))
    }

    /// The document with this id: see [`Snapshot::get`].
    pub fn get(&self, id: DocId) -> Result<Option<Document>> {
        self.snapshot()?.get(id)
    }

    /// Every document within the radius: see [`Snapshot::within`].
    pub fn within(&self, fingerprint: Fingerprint, radius: u32) -> Result<Vec<Match>> {
        self.snapshot()?.within(fingerprint, radius)
    }

    /// Every document within the radius of each query: see [`Snapshot::within_batch`].
    pub fn within_batch(&self, queries: &[Fingerprint], radius: u32) -> Result<Vec<Vec<Match>>> {
        self.snapshot()?.within_batch(queries, radius)
    }

    /// A query for [`Snapshot::similar`].
    ///
    /// # Errors
    /// None at present: without fingerprints of texts (recipe `weighted`), bands alone select
    /// candidates.
    pub fn text_query(&self, text: &str) -> Result<TextQuery> {
        let made = match self.fingerprint(text) {
            Err(Error::NoTexts { .. }) => None,
            made => Some(made?),
        };
        Ok(TextQuery::new(&BandMaker, text, made))
    }

    /// Every document whose text is like this one: see [`Snapshot::similar`].
    pub fn similar_text(&self, text: &str) -> Result<Vec<Similar>> {
        self.snapshot()?.similar(&self.text_query(text)?)
    }

    /// The nearest documents: see [`Snapshot::nearest`].
    pub fn nearest(&self, fingerprint: Fingerprint, count: usize) -> Result<Vec<Match>> {
        self.snapshot()?.nearest(fingerprint, count)
    }

    /// The number of stored documents: see [`Snapshot::len`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.snapshot()?.len())
    }

    /// Returns `true` if no document is stored.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.snapshot()?.is_empty())
    }

    /// Verifies all checksums, the order of every chunk, the counters, that all tables hold the
    /// same documents, and the storage engine's own structures. Returns a sentence for each damage
    /// found; none if the file is sound.
    ///
    /// A database open for reading only is checked without the storage engine's structures. If it
    /// was not closed, its tables are not compared with each other.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::SnapshotHeld`], [`Error::Interrupted`].
    ///
    /// # Cost
    /// About three reads of the file.
    pub fn check(&mut self) -> Result<Vec<String>> {
        self.was_written |= self.stop_writing();
        let Some(store) = Arc::get_mut(&mut self.store) else {
            let path = self.path().to_path_buf();
            return Err(Error::SnapshotHeld { path });
        };
        store::maintenance::check::check(store, &self.progress)
    }

    /// Writes a copy of the database as of now to `path`, while reads and writes continue.
    ///
    /// The copy appears when it is complete, durable and verified, with at most the permissions of
    /// the database. Meanwhile the database may grow by the pages that merges replace; later writes
    /// use that space. [Operations](crate::guide::operations#backup) says how to restore a backup.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`]; [`Error::Corrupt`] if a page is damaged; [`Error::Io`],
    /// [`Error::Storage`], [`Error::Interrupted`].
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

/// The recipe of a file. If `asked` names a recipe, it must be the recipe of the file.
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
