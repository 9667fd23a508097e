//! [`Builder`]: creates and opens databases.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::advice::Advice;
use crate::api::database::{Database, Settings, recipe_of};
use crate::copies::MAX_NEWEST;
use crate::error::{Error, Result};
use crate::forest;
use crate::ingest::group_commit::QueueLimits;
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
/// [`Settings`] are fixed at creation and read from the file when it is opened. Opening fails if
/// the builder asks for a setting that the file does not have.
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
    /// The settings asked for, apart from the recipe.
    asked: Settings,
    /// `None` for the recipe of the file, or the default.
    recipe: Option<Recipe>,
    limits: Limits,
    queue_limits: QueueLimits,
    disk: Option<Arc<dyn Disk>>,
    pub(crate) progress: ProgressHandler,
}

/// 1.25 GiB: enough for the fingerprints of 50 million documents, and for the pages of their
/// matches.
const DEFAULT_CACHE_BYTES: usize = 5 << 28;

impl Builder {
    /// 65,536 changes wait in the queue unless [`queue_changes`](Self::queue_changes) sets another
    /// limit.
    pub const DEFAULT_QUEUE_CHANGES: usize = QueueLimits::DEFAULT.changes;
    /// 64 MiB of texts wait in the queue unless [`queue_bytes`](Self::queue_bytes) sets another
    /// limit.
    pub const DEFAULT_QUEUE_BYTES: usize = QueueLimits::DEFAULT.bytes;

    /// Sets the size of the cache in bytes; 1.25 GiB unless set.
    ///
    /// One half is for pages of the file, the other half for the fingerprints that queries compare.
    /// In a database with a forest, a part of each is for texts and nodes of the forest that
    /// similar queries compare, some 450 bytes for each text of one line. The shares follow the
    /// length of the file when the database is opened: after it has grown tenfold, open it again.
    /// A cache of 26 bytes a document and 32 MiB holds all fingerprints that queries compare; a
    /// match reads a page too. Bookkeeping takes up to 24 MiB more. The guide has the
    /// [shares](crate::guide::operations).
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = Some(bytes);
        // A transaction in a small cache must not hold more texts than the cache.
        self.limits.max_transaction_bytes = Limits::default()
            .max_transaction_bytes
            .min(bytes.max(1 << 20));
        self
    }

    /// Sets the recipe that makes fingerprints of texts; [`Recipe::ngram`] unless set.
    pub fn recipe(mut self, recipe: Recipe) -> Self {
        self.recipe = Some(recipe);
        self
    }

    /// Stores texts beside their fingerprints; off unless set.
    pub fn keep_texts(mut self, keep: bool) -> Self {
        self.asked.keep_texts = keep;
        self
    }

    /// Stores texts and a *forest* of them, by which
    /// [`Snapshot::similar`](crate::Snapshot::similar) finds edited and short texts; off unless
    /// set. The forest has 24 trees, which order texts by minima of their shingles (MinHash), so
    /// that similar texts are neighbours in some of them.
    ///
    /// With dense ids, the forest takes about 130 bytes a text in a frozen database and 170 in
    /// others; with random ids, 270 and 340. Each text also has a sketch of 16 bytes. An insert
    /// writes about three times as many bytes as without a forest.
    pub fn similar(mut self, similar: bool) -> Self {
        self.asked.similar = similar;
        self
    }

    /// Stores arrival times, and expires documents by age if the [`Retention`] has a window; off
    /// unless set. Takes 32 bytes a document, and free space.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.asked.retention = Some(retention);
        self
    }

    /// Copies the settings of another database.
    pub fn settings(self, settings: &Settings) -> Self {
        Self {
            recipe: Some(settings.recipe.clone()),
            asked: settings.clone(),
            ..self
        }
    }

    /// Gives each document a key, a string of 1 to 1,024 bytes, such as a URL; off unless set.
    /// [`Document::new`](crate::Document::new) and every method that takes an id take the key, and
    /// simdb gives the ids, ascending. The file has format 6. A key takes its bytes and about 15
    /// more.
    ///
    /// ```
    /// use simdb::{Database, Outcome};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().keys(true).create(folder.path().join("docs.simdb"))?;
    /// let text = "Three cats sat on the mat and would not be moved by anyone.";
    /// assert!(db.insert(db.document("https://example.org/cats", text)?)?.is_inserted());
    ///
    /// let copy = db.document("https://example.org/copy", text)?;
    /// let Outcome::Duplicate(of) = db.insert_unique(copy, 3)? else { panic!() };
    /// let snapshot = db.snapshot()?;
    /// assert_eq!(snapshot.key(of.id)?.as_deref(), Some("https://example.org/cats"));
    /// assert!(snapshot.get("https://example.org/copy")?.is_none());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn keys(mut self, keys: bool) -> Self {
        self.asked.keys = keys;
        self
    }

    /// Stores the [fields](crate::Document::fields) of documents; off unless set. The file has
    /// format 6. Fields are compressed together with the text.
    pub fn fields(mut self, fields: bool) -> Self {
        self.asked.fields = fields;
        self
    }

    /// Records the copies of each document: the documents that
    /// [`insert_unique`](Database::insert_unique) and
    /// [`insert_unless_similar`](Database::insert_unless_similar) refuse because of the document;
    /// off unless set. The number of copies is exact, and the `newest` copies are stored with key
    /// or id, time and kind, from 1 to 1,000. [`Snapshot::copies`](crate::Snapshot::copies) and
    /// [`Snapshot::most_copied`](crate::Snapshot::most_copied) read them. The file has format 6.
    ///
    /// A refused key or id is known from then on: the document is
    /// [`Outcome::Seen`](crate::Outcome::Seen) if it comes again. In a database with a
    /// [window](Retention::window), the key or id is known until the refused document itself would
    /// have expired, also after the document that it repeats; in other databases, as long as that
    /// document is stored.
    ///
    /// ```
    /// use simdb::{Database, Outcome};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().copies(16).create(folder.path().join("docs.simdb"))?;
    /// let insert = |id| db.insert_unique(db.document(id, "Three cats sat on the mat.")?, 3);
    /// assert!(insert(1)?.is_inserted());
    /// assert!(matches!(insert(2)?, Outcome::Duplicate(_)));
    /// assert!(matches!(insert(3)?, Outcome::Duplicate(_)));
    /// assert_eq!(insert(2)?, Outcome::Seen);
    ///
    /// let copies = db.snapshot()?.copies(1)?.unwrap();
    /// assert_eq!(copies.count, 2);
    /// assert_eq!(copies.newest[0].document, 3.into());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn copies(mut self, newest: u16) -> Self {
        self.asked.copies = Some(newest);
        self
    }

    /// Gives documents [scopes](crate::Document::scope), such as languages or tenants; off unless
    /// set. [`Snapshot::in_scopes`](crate::Snapshot::in_scopes) limits queries to some scopes, and
    /// [`insert_unique`](crate::Database::insert_unique) compares a document with the documents of
    /// its scope, unless the document asks for [others](crate::Within). The answers equal the
    /// answers of a database that has no other documents. A database with scopes has
    /// [keys](Self::keys). A document has the scope in its id, so a scope takes some two bytes a
    /// document, and a query of a scope does not read the copies of a text in other scopes. A
    /// database has at most 65,535 scopes.
    ///
    /// ```
    /// use simdb::{Database, Outcome, Within};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().scopes(true).create(folder.path().join("docs.simdb"))?;
    /// let text = "Three cats sat on the mat and would not be moved by anyone.";
    /// let document = |key: &str, scope: &str| Ok(db.document(key, text)?.with_scope(scope));
    /// assert!(db.insert_unique(document("a", "blogs")?, 3)?.is_inserted());
    /// // No document of its scope is near.
    /// assert!(db.insert_unique(document("b", "news")?, 3)?.is_inserted());
    /// let elsewhere = document("c", "forums")?.compared_within(Within::All);
    /// assert!(matches!(db.insert_unique(elsewhere, 3)?, Outcome::Duplicate(_)));
    ///
    /// let news = db.snapshot()?.in_scopes(["news"])?.within_text(text, 3)?;
    /// assert_eq!(news.len(), 1);
    /// assert_eq!(db.get(news[0].id)?.unwrap().scope.as_deref(), Some("news"));
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn scopes(mut self, scopes: bool) -> Self {
        self.asked.scopes = scopes;
        self
    }

    /// Stores texts, and learns the [frames](crate::frames) around the bodies of the texts: lines
    /// and sentences at the head or the tail of at least this number of texts, at least two, with
    /// different bodies; off unless set. [`insert_unless_similar`](Database::insert_unless_similar)
    /// and [`text_query`](Database::text_query) then compare texts without their frames too: see
    /// [`Database::set_frames`]. Each [scope](Self::scopes) has its own frames, and all scopes
    /// share the memory.
    ///
    /// The text of each document that is inserted or refused is counted before it is compared. The
    /// counts take some 25 MiB of memory, at most 60, and up to 45 MiB of the file, which has
    /// format
    /// 6. They are stored when the journal is merged, and when the database is closed. After a
    /// crash, the texts of the journal are counted again; only texts that were refused since the
    /// last merge no longer count.
    ///
    /// ```
    /// use simdb::{Database, SimilarRule};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("docs.simdb");
    /// let db = Database::builder().similar(true).frames(3).create(&path)?;
    /// let frame = "The Northern Herald brings the islands together.";
    /// let story = |town| {
    ///     format!("The harbour of {town} was closed on Sunday after a trawler lost her anchor there.")
    /// };
    /// for (id, town) in (1..).zip(["Kirkwall", "Stromness", "Lerwick"]) {
    ///     let text = format!("{frame}\n{}", story(town));
    ///     db.insert(db.document(id, &text)?)?;
    /// }
    /// db.close()?;
    ///
    /// let db = Database::open(&path)?;
    /// assert_eq!(db.frames()?.iter().next().unwrap().text, frame);
    /// let clean = db.document(9, &story("Lerwick"))?;
    /// assert!(!db.insert_unless_similar(clean, SimilarRule::default())?.is_inserted());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn frames(mut self, in_documents: u16) -> Self {
        self.asked.frames = Some(in_documents.max(2));
        self
    }

    /// Packs the database full in [`bulk_create`](Self::bulk_create) and in
    /// [`vacuum`](Self::vacuum), and refuses changes afterwards; off unless set. A frozen database
    /// takes the least space.
    pub fn frozen(mut self, frozen: bool) -> Self {
        self.asked.frozen = frozen;
        self
    }

    /// Sets the number of changes in the journal at which a background thread merges them into the
    /// tables; unless set, 65,536, and 131,072 in a database for [similar search](Self::similar).
    ///
    /// The journal of a large database grows further, to one change for each 64 documents, but
    /// never beyond 256 MiB of changes. A smaller number takes less memory, and less time to open
    /// after a crash, but each change rewrites more pages. A [`Transaction`](crate::Transaction) of
    /// more changes, or of more texts than 64 MiB or the cache, bypasses the journal. The number is
    /// not stored in the file.
    pub fn merge_after_changes(mut self, changes: usize) -> Self {
        self.limits.min_flush_changes = Some(changes.max(1));
        self
    }

    /// Sets the number of submitted changes that wait for their commit;
    /// [`DEFAULT_QUEUE_CHANGES`](Self::DEFAULT_QUEUE_CHANGES) unless set.
    ///
    /// While the queue is full, [`Database::apply`] and [`Database::submit`] wait, and
    /// [`Database::try_submit`] returns [`Error::QueueFull`]. A call with more changes than the
    /// limit waits for an empty queue. A short queue tells a server early that the disk is too
    /// slow; a long one takes in a burst.
    pub fn queue_changes(mut self, changes: usize) -> Self {
        self.queue_limits.changes = changes.max(1);
        self
    }

    /// Sets the bytes of texts that wait for their commit, with their forest keys and queries;
    /// [`DEFAULT_QUEUE_BYTES`](Self::DEFAULT_QUEUE_BYTES) unless set. A full queue acts
    /// as for [`queue_changes`](Self::queue_changes).
    ///
    /// One commit takes all that waits, and needs several times this memory: a process with little
    /// memory sets less.
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_limits.bytes = bytes.max(1);
        self
    }

    /// Sets the disk of the file; [`SystemDisk`](crate::disk::SystemDisk) unless set. Tests pass a
    /// [`Disk`] that fails or loses power.
    pub fn disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = Some(disk);
        self
    }

    /// Sets the handler for the [`Progress`] of [`vacuum`](Self::vacuum) and
    /// [`salvage`](Self::salvage), and of the databases and bulk loads of this builder.
    pub fn on_progress(
        mut self,
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.progress.set_function(handler);
        self
    }

    /// Sets the shortest time between two calls of the progress handler; 100 ms unless set.
    ///
    /// A handler that returns `Break` interrupts an operation after about this time. The steps
    /// between two calls take a few milliseconds, so a much shorter interval calls the handler no
    /// more often.
    pub fn progress_interval(mut self, interval: Duration) -> Self {
        self.progress.set_interval(interval);
        self
    }

    /// Creates an empty database. The file appears at `path` when it is complete and durable.
    ///
    /// # Errors
    /// - [`Error::AlreadyExists`], [`Error::FrozenEmpty`], [`Error::RetentionWindow`]
    /// - [`Error::Io`] beside a journal with commits, as of a file that was deleted after a crash
    /// - [`Error::Io`], [`Error::Storage`]: an empty database may exist at `path`
    pub fn create(self, path: impl AsRef<Path>) -> Result<Database> {
        let db_path = self.db_path(path);
        let store = Store::create(&db_path, self.header()?, self.cache(), self.limits)?;
        Database::new(
            store,
            self.recipe.as_ref(),
            self.progress,
            self.queue_limits,
        )
    }

    /// Opens a database for reading and writing. Only one handle can have a database open for
    /// writing.
    ///
    /// # Errors
    /// - [`Error::NotFound`], [`Error::NotADatabase`], [`Error::FormatVersion`], [`Error::Locked`]
    /// - [`Error::RecipeMismatch`], [`Error::SettingsMismatch`], [`Error::ForestMismatch`] if the
    ///   database was created with other settings, or by another version
    /// - [`Error::RecipeFiles`] if its recipe uses files, and the builder does not name the recipe
    ///   with them
    /// - [`Error::JournalMissing`], [`Error::Corrupt`], [`Error::Io`], [`Error::Storage`]
    ///
    /// # Cost
    /// About a millisecond. After a crash also a read of the journal: half a second for 1.2 million
    /// changes.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        let store = Store::open(&self.db_path(path), self.cache(), self.limits)?;
        self.opened(store)
    }

    /// Opens a database, or creates it if nothing is at `path`.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`create`](Self::create).
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

    /// Opens a database for reading only. Any number of processes can have a database open for
    /// reading while none has it open for writing. Nothing is written, even after a crash, so the
    /// file may be on a read-only medium.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<Database> {
        let store = Store::open_read_only(&self.db_path(path), self.cache(), self.limits)?;
        self.opened(store)
    }

    /// Rewrites the file at `path` without free space. No process may have it open.
    ///
    /// The old file stays until the new one is complete, durable and verified. Each chunk keeps
    /// some room for inserts. A builder with [`frozen`](Self::frozen) freezes the database. The
    /// memory is [`cache_bytes`](Self::cache_bytes), or 160 MiB. Other settings of the builder are
    /// ignored.
    ///
    /// # Errors
    /// As [`open`](Self::open), except for mismatches of recipe and settings. [`Error::Io`] if
    /// there is no room for the new file. [`Error::Interrupted`].
    pub fn vacuum(self, path: impl AsRef<Path>) -> Result<Vacuumed> {
        let db_path = self.db_path(path);
        store::maintenance::copy::vacuum(
            &db_path,
            self.asked.frozen,
            self.cache_bytes,
            &self.progress,
        )
    }

    /// Writes everything that can be read of the database at `damaged` into a new database at
    /// `target`, which appears when it is complete and durable. The damaged file is not changed.
    ///
    /// Most entries are stored twice, so a single damaged page often loses nothing. If the storage
    /// engine cannot open the file, every page is read by itself; documents that were changed or
    /// removed last may then come back. If the settings cannot be read, the builder must name the
    /// recipe. The new database then has the settings of this builder, and those that the readable
    /// parts show: [keys](Self::keys), [fields](Self::fields), [scopes](Self::scopes),
    /// [texts](Self::keep_texts), a [forest](Self::similar), arrival times, and as many
    /// [copies](Self::copies) of a document as are stored with one. The builder must name a
    /// [window](Self::retention) and [frames](Self::frames), which no other part shows.
    ///
    /// Sorting takes up to twice `memory_bytes`, at least 16 MiB each; more goes to temporary files
    /// beside `target`.
    ///
    /// # Errors
    /// - [`Error::NotFound`], [`Error::Locked`], [`Error::FormatVersion`]
    /// - [`Error::Corrupt`] if the recipe is lost, and the builder names none
    /// - [`Error::RecipeMismatch`], [`Error::RecipeFiles`] as for [`open`](Self::open)
    /// - [`Error::NothingToSalvage`] if no page can be read
    /// - [`Error::AlreadyExists`], [`Error::RetentionWindow`], [`Error::Io`], [`Error::Storage`]
    ///   for the new file
    /// - [`Error::Interrupted`]
    ///
    /// # Cost
    /// One or two reads of the file, and a bulk load.
    ///
    /// ```
    /// use simdb::{Database, DocId};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let (path, saved) = (folder.path().join("docs.simdb"), folder.path().join("saved.simdb"));
    /// let db = Database::builder().keep_texts(true).create(&path)?;
    /// let document = db.document(1, "The quick brown fox jumps over the lazy dog")?;
    /// assert!(db.insert(document)?.is_inserted());
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
        let target = db_path.with_path(target.as_ref());
        let progress = self.progress.for_operation(&[]);
        let mut found = DamagedFile::open(&db_path, &target, memory_bytes, &progress)?;
        let header = match (&found.header, &self.recipe) {
            // The settings of the file win over the settings of the builder: texts and arrivals are
            // saved as they were stored.
            (Some(header), _) => header.clone(),
            (None, Some(_)) => found.lost_header(self.header()?, &target, &progress)?,
            (None, None) => {
                return Err(
                    db_path.corrupt_advising("its recipe cannot be read", Advice::NameRecipe)
                );
            }
        };
        let recipe = recipe_of(&header.recipe, self.recipe.as_ref(), db_path.path())?;
        log::info!(
            "salvaging {} into {}",
            db_path.path().display(),
            target.path().display()
        );
        // Made when the first fingerprint is lost: a dictionary takes a tenth of a second to load.
        let fingerprinter = OnceLock::new();
        let fingerprint = |text: &str| {
            let fingerprinter = fingerprinter.get_or_init(|| Fingerprinter::new(recipe.clone()));
            let made = fingerprinter.fingerprint(text).ok()?;
            Some((made.fingerprint, made.reliable))
        };
        let salvaged = found.salvage(&target, &header, memory_bytes, fingerprint, &progress)?;
        for damage in &salvaged.damage {
            log::warn!("salvage of {}: {damage}", db_path.path().display());
        }
        Ok(salvaged)
    }

    /// The path, on the disk of this builder.
    pub(crate) fn db_path(&self, path: impl AsRef<Path>) -> DbPath {
        match &self.disk {
            Some(disk) => DbPath::new(path.as_ref(), disk),
            None => DbPath::on_system_disk(path.as_ref()),
        }
    }

    pub(crate) fn header(&self) -> Result<Header> {
        let asked = &self.asked;
        // Checked before a file is made: a refused window leaves no empty database behind.
        if let Some(retention) = &asked.retention {
            retention.window_ms()?;
        }
        if let Some(newest) = asked.copies
            && !(1..=MAX_NEWEST).contains(&usize::from(newest))
        {
            return Err(Error::CopiesLimit { newest });
        }
        Ok(Header {
            recipe: self.recipe.clone().unwrap_or_default().description(),
            // Candidates of the forest are compared by their texts, so a forest needs the texts.
            keep_texts: asked.keep_texts || asked.similar || asked.frames.is_some(),
            // Stored, so that a version with other keys refuses the file instead of missing texts.
            text_keys: asked.similar.then(forest::description),
            frozen: asked.frozen,
            retention: asked.retention,
            // The ids have the scopes, so simdb gives them.
            keys: asked.keys || asked.scopes,
            fields: asked.fields,
            copies: asked.copies.unwrap_or(0),
            scopes: asked.scopes,
            frames: asked.frames.unwrap_or(0),
        })
    }

    /// Returns the database, or an error if it lacks a setting that the builder asks for.
    fn opened(&self, store: Store) -> Result<Database> {
        let (recipe, progress) = (self.recipe.as_ref(), self.progress.clone());
        let database = Database::new(store, recipe, progress, self.queue_limits)?;
        // A setting that the builder does not ask for is taken from the file, so a builder without
        // settings opens every file.
        let (asked, has) = (&self.asked, database.settings());
        let differs = |asked: Option<u16>, has| asked.is_some() && asked != has;
        // A file stores whole milliseconds: a finer window would never be equal.
        let is_stored = |asked: Retention| {
            has.retention
                .is_some_and(|has| asked.equals_when_stored(&has))
        };
        let missing = [
            ("keep_texts", asked.keep_texts && !has.keep_texts),
            ("similar", asked.similar && !has.similar),
            ("retention", !asked.retention.is_none_or(is_stored)),
            ("frozen", asked.frozen && !has.frozen),
            ("keys", asked.keys && !has.keys),
            ("fields", asked.fields && !has.fields),
            ("copies", differs(asked.copies, has.copies)),
            ("scopes", asked.scopes && !has.scopes),
            ("frames", differs(asked.frames, has.frames)),
        ];
        match missing.iter().find(|(_, is_missing)| *is_missing) {
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
    /// Returns a builder, for settings other than the defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates an empty database with default settings: see [`Builder::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().create(path)
    }

    /// Opens a database for reading and writing: see [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Opens a database for reading only: see [`Builder::open_read_only`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open_read_only(path)
    }

    /// Rewrites the file at `path` without free space: see [`Builder::vacuum`].
    pub fn vacuum(path: impl AsRef<Path>) -> Result<Vacuumed> {
        Self::builder().vacuum(path)
    }
}
