//! [`Builder`]: creates and opens databases.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::api::database::{Database, Settings, recipe_of};
use crate::error::{Error, Result};
use crate::minhash::Banding;
use crate::progress::{Progress, ProgressHandler};
use crate::recipe::{Fingerprinter, Recipe};
use crate::retention::Retention;
use crate::store::Limits;
use crate::store::disk::Disk;
use crate::store::maintenance::copy::Vacuumed;
use crate::store::maintenance::salvage::{DamagedFile, Salvage};
use crate::store::{self, DbPath, Header, Store};

/// Creates and opens databases.
///
/// The recipe, the storage of texts, bands and arrival times, and whether the database is frozen are
/// fixed at creation. Opening reads them from the file; settings that the caller names must be those
/// of the file.
///
/// ```
/// use simdb::{Database, Recipe};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::builder()
///     .recipe(Recipe::ngram())
///     .keep_texts(true)
///     .cache_bytes(64 << 20)
///     .create(folder.path().join("docs.simdb"))?;
/// assert!(db.settings().keep_texts);
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until it creates or opens a database"]
pub struct Builder {
    cache_bytes: Option<usize>,
    recipe: Option<Recipe>,
    keep_texts: bool,
    similar: bool,
    retention: Option<Retention>,
    frozen: bool,
    limits: Limits,
    disk: Option<Arc<dyn Disk>>,
    pub(crate) progress: ProgressHandler,
}

/// The cache in bytes unless set.
const DEFAULT_CACHE_BYTES: usize = 1 << 30;

impl Builder {
    /// The size of the cache in bytes; 1 GiB unless set. Half of it is for pages of the storage engine.
    /// The other half is for *buckets*, the fingerprints of one block key, as queries read them: 8
    /// bytes for each fingerprint in each of four blocks. To cache all that queries at radius 3 read,
    /// give 64 bytes a document and 48 MiB. Bookkeeping takes up to 12 MiB more. The operating system
    /// caches the file besides.
    ///
    /// The checksum of a page is verified when the page is read, and not again for a cached bucket.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// The recipe that makes fingerprints of texts; [`Recipe::ngram`] unless set.
    pub fn recipe(mut self, recipe: Recipe) -> Self {
        self.recipe = Some(recipe);
        self
    }

    /// Stores texts beside their fingerprints; off unless set.
    pub fn keep_texts(mut self, keep: bool) -> Self {
        self.keep_texts = keep;
        self
    }

    /// Finds similar texts; off unless set. The database then stores texts, whatever
    /// [`keep_texts`](Self::keep_texts) says, and the *bands* of each text: numbers of which similar
    /// texts share some, even if they are short. Bands take about 660 bytes a text in a frozen database
    /// and 860 in others, and make every change of a text more work in proportion.
    ///
    /// ```
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("docs.simdb");
    /// let db = Database::builder().similar(true).create(&path)?;
    /// assert!(db.settings().similar && db.settings().keep_texts);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn similar(mut self, similar: bool) -> Self {
        self.similar = similar;
        self
    }

    /// Stores the arrival time of each document, and sets how long a document stays; no times are
    /// stored unless set. [`create`](Self::create) refuses a window out of range. Takes 32 bytes a
    /// document, and free room.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = Some(retention);
        self
    }

    /// Sets all settings fixed at creation to those of another database.
    ///
    /// ```
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let yesterday = Database::builder().similar(true).create(folder.path().join("1.simdb"))?;
    /// let like_it = Database::builder().settings(yesterday.settings());
    /// let today = like_it.create(folder.path().join("2.simdb"))?;
    /// assert_eq!(today.settings(), yesterday.settings());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn settings(self, settings: &Settings) -> Self {
        let Settings {
            recipe,
            keep_texts,
            similar,
            retention,
            frozen,
        } = settings;
        Self {
            recipe: Some(recipe.clone()),
            keep_texts: *keep_texts,
            similar: *similar,
            retention: *retention,
            frozen: *frozen,
            ..self
        }
    }

    /// Packs the database full when [`bulk_create`](Self::bulk_create) loads it, so that it takes the
    /// least room, and refuses changes after that; off unless set. [`create`](Self::create) refuses
    /// this setting.
    pub fn frozen(mut self, frozen: bool) -> Self {
        self.frozen = frozen;
        self
    }

    /// The number of changes after which the journal is merged into the tables in the background;
    /// 65,536 unless set. If one for each hundred documents is more, that number counts; 256 MiB of
    /// changes are merged in any case. A smaller number takes less memory, and less time to open after
    /// a crash, but each change rewrites more pages. A [`Transaction`](crate::Transaction) of more
    /// changes, or of more than 64 MiB of texts, goes straight into the tables. Applies to this handle,
    /// and is not stored in the file.
    ///
    /// ```
    /// use simdb::{Change, Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let on = Database::builder().merge_after_changes(1_000);
    /// let db = on.create(folder.path().join("docs.simdb"))?;
    /// for batch in 0..5_u64 {
    ///     let ids = 1_000 * batch..1_000 * (batch + 1);
    ///     let bits = |id: u64| Fingerprint::from_bits(id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    ///     db.apply(ids.map(|id| Change::Insert(Document::new(DocId(id), bits(id)))))?;
    /// }
    /// assert!(db.snapshot()?.stats()?.unmerged_changes < 5_000);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn merge_after_changes(mut self, changes: usize) -> Self {
        self.limits.min_flush_changes = changes.max(1);
        self
    }

    /// The disk of the file, [`SystemDisk`](crate::SystemDisk) unless set. Tests pass a [`Disk`] that
    /// fails or loses power.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use simdb::{Database, SystemDisk};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let on = Database::builder().disk(Arc::new(SystemDisk));
    /// on.create(folder.path().join("docs.simdb"))?;
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = Some(disk);
        self
    }

    /// Sets the handler that vacuum and salvage report their progress to, and the databases and
    /// bulk loads made by this builder: see [`Progress`].
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress = ProgressHandler::new(handler);
        self
    }

    /// Creates an empty database. The file appears under its name only when it is complete and
    /// durable.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if there is anything at `path`; [`Error::Io`] and
    /// [`Error::Storage`] if the folder does not take a file; [`Error::FrozenEmpty`],
    /// [`Error::RetentionWindow`]. After a failed sync of the folder, or if the new file cannot be
    /// opened, the file exists all the same, complete and empty.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Database> {
        let db_path = self.db_path(path);
        let store = Store::create(&db_path, self.header()?, self.cache(), self.limits)?;
        Database::new(store, self.recipe.as_ref(), self.progress)
    }

    /// Opens a database for reading and writing. Only one handle can at a time.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotADatabase`], [`Error::FormatVersion`],
    /// [`Error::RecipeMismatch`], [`Error::RecipeFiles`] if its recipe uses files and this builder does
    /// not name it with them, [`Error::SettingsMismatch`], [`Error::BandsMismatch`],
    /// [`Error::Locked`], [`Error::JournalMissing`], [`Error::Corrupt`], [`Error::Io`],
    /// [`Error::Storage`].
    ///
    /// # Cost
    /// About a millisecond; after a crash also reads the journal: half a second for 1.2 million
    /// changes.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        let store = Store::open(&self.db_path(path), self.cache(), self.limits)?;
        self.opened(store)
    }

    /// Opens a database, or creates it if there is nothing at `path`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) and [`create`](Self::create).
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<Database> {
        match self.clone().open(path.as_ref()) {
            Err(Error::NotFound { .. }) => match self.clone().create(path.as_ref()) {
                // Another process created it in between.
                Err(Error::AlreadyExists { .. }) => self.open(path),
                created => created,
            },
            opened => opened,
        }
    }

    /// Opens a database for reading only. Any number of processes can at a time, while none has it open
    /// for writing. Nothing is written, so the file may be on a read-only medium. After a crash, the
    /// database is repaired in memory.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<Database> {
        let store = Store::open_read_only(&self.db_path(path), self.cache(), self.limits)?;
        self.opened(store)
    }

    /// Rewrites the file at `path`, which nobody may have open, without the room that removals and
    /// old pages left in it. Some room for inserts is left in every chunk, so a file that was filled
    /// to the brim may grow. Until the new file is whole, durable, read back and proved the old one
    /// stays as it is. Whatever its settings are, it keeps them; this builder only says on which
    /// [`disk`](Self::disk) it is.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotADatabase`], [`Error::FormatVersion`],
    /// [`Error::BandsMismatch`], [`Error::Locked`], [`Error::JournalMissing`], [`Error::Corrupt`],
    /// [`Error::Storage`]; [`Error::Io`] if there is no room beside it; [`Error::Interrupted`].
    pub fn vacuum(self, path: impl AsRef<Path>) -> Result<Vacuumed> {
        store::maintenance::copy::vacuum(&self.db_path(path), &self.progress)
    }

    /// Writes what can be read of the damaged database at `damaged` to a new one at `target`, which
    /// appears under its name when it is whole and durable. Nothing is written to the damaged file.
    ///
    /// Most things are in a file twice, so single damaged pages often lose nothing. Where the storage
    /// engine cannot even open the file, be it for one page of its own, all pages are looked at one
    /// by one; then documents that were changed or removed shortly before may come back. The settings
    /// are read from the file; where these too are lost, this builder says them, and must name the
    /// recipe.
    ///
    /// Sorting stays within twice `memory_bytes`, at least 16 MiB each; what does not fit goes
    /// to temporary files in the folder of the new database.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Locked`], [`Error::FormatVersion`], those of
    /// [`create`](Self::create) for the new file, [`Error::RecipeMismatch`] and
    /// [`Error::RecipeFiles`]; [`Error::Corrupt`] if the recipe is lost and not named here;
    /// [`Error::NothingToSalvage`]; [`Error::Interrupted`].
    ///
    /// # Cost
    /// Reads the file once or twice, and a bulk load.
    ///
    /// ```
    /// use simdb::{Database, DocId};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let (path, saved) = (folder.path().join("docs.simdb"), folder.path().join("saved.simdb"));
    /// let db = Database::builder().keep_texts(true).create(&path)?;
    /// db.insert_text(DocId(1), "The quick brown fox jumps over the lazy dog")?;
    /// db.close()?;
    /// // A disk that fails.
    /// let mut bytes = std::fs::read(&path).unwrap();
    /// bytes[10_000..30_000].fill(0);
    /// std::fs::write(&path, bytes).unwrap();
    /// assert!(Database::open(&path).is_err());
    ///
    /// let found = Database::builder().salvage(&path, &saved, 64 << 20)?;
    /// assert_eq!(found.documents, 1);
    /// let text = Database::open(&saved)?.get(DocId(1))?.and_then(|document| document.text);
    /// assert_eq!(text.as_deref(), Some("The quick brown fox jumps over the lazy dog"));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn salvage(
        self,
        damaged: impl AsRef<Path>,
        target: impl AsRef<Path>,
        memory_bytes: u64,
    ) -> Result<Salvage> {
        let db_path = self.db_path(damaged);
        let target = db_path.beside(target.as_ref());
        let found = DamagedFile::open(&db_path, &target, memory_bytes, &self.progress)?;
        let header = match (&found.header, &self.recipe) {
            (Some(header), _) => header.clone(),
            (None, Some(_)) => self.header()?,
            (None, None) => {
                return Err(db_path.corrupt_advising(
                    "what its recipe was cannot be read",
                    "name the recipe and what it kept, as with `--recipe ngram --keep-texts`",
                ));
            }
        };
        let recipe = recipe_of(&header.recipe, self.recipe.as_ref(), db_path.path())?;
        let fingerprinter = OnceLock::new();
        let fingerprint = |text: &str| {
            let fingerprinter = fingerprinter.get_or_init(|| Fingerprinter::new(recipe.clone()));
            let made = fingerprinter.fingerprint(text).ok()?;
            Some((made.fingerprint, made.reliable))
        };
        found.salvage(&target, &header, memory_bytes, fingerprint, &self.progress)
    }

    /// The path on the disk of this builder.
    pub(crate) fn db_path(&self, path: impl AsRef<Path>) -> DbPath {
        match &self.disk {
            Some(disk) => DbPath::new(path.as_ref(), disk),
            None => DbPath::of_system(path.as_ref()),
        }
    }

    pub(crate) fn header(&self) -> Result<Header> {
        if let Some(retention) = &self.retention {
            retention.window_ms()?;
        }
        Ok(Header {
            recipe: self.recipe.clone().unwrap_or_default().description(),
            keep_texts: self.keep_texts || self.similar,
            bands: self.similar.then(Banding::description),
            frozen: self.frozen,
            retention: self.retention,
        })
    }

    /// Returns `true` if the retention of a file is the one of this builder, or this builder names none.
    fn has_retention(&self, stored: Option<Retention>) -> bool {
        match (self.retention, stored) {
            (None, _) => true,
            (Some(asked), Some(stored)) => asked.is_kept_as(&stored),
            (Some(_), None) => false,
        }
    }

    /// The opened database, if it has the settings of this builder.
    fn opened(&self, store: Store) -> Result<Database> {
        let database = Database::new(store, self.recipe.as_ref(), self.progress.clone())?;
        let has = database.settings();
        let asked = [
            ("keep_texts", self.keep_texts && !has.keep_texts),
            ("similar", self.similar && !has.similar),
            ("retention", !self.has_retention(has.retention)),
            ("frozen", self.frozen && !has.frozen),
        ];
        match asked.iter().find(|(_, is_missing)| *is_missing) {
            Some((setting, _)) => Err(Error::SettingsMismatch {
                path: database.path().to_path_buf(),
                setting,
            }),
            None => Ok(database),
        }
    }

    fn cache(&self) -> usize {
        self.cache_bytes.unwrap_or(DEFAULT_CACHE_BYTES)
    }
}

impl Database {
    /// A builder, for settings other than the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates an empty database with the default settings: see [`Builder::create`].
    ///
    /// # Errors
    /// Those of [`Builder::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().create(path)
    }

    /// Opens a database for reading and writing: see [`Builder::open`].
    ///
    /// # Errors
    /// Those of [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Opens a database for reading only: see [`Builder::open_read_only`].
    ///
    /// # Errors
    /// Those of [`Builder::open_read_only`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open_read_only(path)
    }

    /// Rewrites the file at `path` without the room that is free in it: see [`Builder::vacuum`].
    ///
    /// # Errors
    /// Those of [`Builder::vacuum`].
    pub fn vacuum(path: impl AsRef<Path>) -> Result<Vacuumed> {
        Self::builder().vacuum(path)
    }
}
