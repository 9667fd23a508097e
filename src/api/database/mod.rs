//! [`Database`] and its [`Settings`]: opening, reading, maintenance and closing.

mod writing;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;

use crate::analysis::frames::{Frame, Frames};
use crate::api::snapshot::Snapshot;
use crate::document::{Document, Match};
use crate::error::{Error, Result};
use crate::ids::scope::ScopeNumber;
use crate::ids::{DocRef, Fingerprint, TextFingerprint};
use crate::ingest::group_commit::{GroupCommit, QueueLimits};
use crate::progress::{Progress, ProgressHandler};
use crate::query::{Similar, TextQuery};
use crate::recipe::{Described, Fingerprinter, LazyFingerprinter, Recipe};
use crate::retention::Retention;
use crate::store::{self, HeldSnapshot, LockId, Store, View, wait_until_released};

/// The settings of a database, fixed at creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// The recipe that makes fingerprints of texts.
    pub recipe: Recipe,
    /// `true` if texts are stored, compressed, beside their fingerprints.
    pub keep_texts: bool,
    /// `true` if a forest is stored: see [`Builder::similar`](crate::Builder::similar).
    pub similar: bool,
    /// The lifetime of documents; `None` if no arrival times are stored.
    pub retention: Option<Retention>,
    /// `true` if changes are refused: see [`Builder::frozen`](crate::Builder::frozen).
    pub frozen: bool,
    /// `true` if documents have keys: see [`Builder::keys`](crate::Builder::keys).
    #[cfg_attr(feature = "serde", serde(default))]
    pub keys: bool,
    /// `true` if fields are stored: see [`Builder::fields`](crate::Builder::fields).
    #[cfg_attr(feature = "serde", serde(default))]
    pub fields: bool,
    /// The number of copies of a document that are stored; `None` if copies are not recorded: see
    /// [`Builder::copies`](crate::Builder::copies).
    #[cfg_attr(feature = "serde", serde(default))]
    pub copies: Option<u16>,
    /// `true` if documents may have scopes: see [`Builder::scopes`](crate::Builder::scopes).
    #[cfg_attr(feature = "serde", serde(default))]
    pub scopes: bool,
    /// The number of texts with a frame; `None` if frames are not learned: see
    /// [`Builder::frames`](crate::Builder::frames).
    #[cfg_attr(feature = "serde", serde(default))]
    pub frames: Option<u16>,
}

/// A near-duplicate database in one file. `Send` and `Sync`: threads share it in an
/// [`Arc`](std::sync::Arc).
///
/// A change is durable when its method returns ([`submit`](Self::submit) excepted). Readers never
/// wait for writers; writers wait for each other. Each method that reads takes a new [`Snapshot`]:
/// take one yourself for several queries of the same state, or for many fast queries.
///
/// ```
/// use simdb::{Database, DocId, Outcome};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// let document = db.document(1, "The quick brown fox jumps over the lazy dog.")?;
/// assert_eq!(db.insert(document)?, Outcome::Inserted { reliable: true });
///
/// // The same words with other case and punctuation are the same document.
/// let document = db.document(2, "the QUICK brown fox, jumps over the lazy dog")?;
/// let again = db.insert_unique(document, 3)?;
/// let Outcome::Duplicate(of) = again else { panic!("{again}") };
/// assert_eq!((of.id, of.distance), (DocId(1), 0));
/// assert_eq!(db.len()?, 1);
/// # Ok::<(), simdb::Error>(())
/// ```
#[derive(Debug)]
pub struct Database {
    state: RwLock<HandleState>,
    path: PathBuf,
    settings: Settings,
    fingerprinter: Arc<LazyFingerprinter>,
    queue_limits: QueueLimits,
    /// `true` if changes were refused since the last [`flush`](Self::flush).
    has_refused: Arc<AtomicBool>,
    pub(crate) progress: ProgressHandler,
}

/// The open database. Calls, transactions and bulk loads share the handle, and the last to drop it
/// closes the file.
#[derive(Debug)]
pub(crate) struct DatabaseHandle {
    pub(crate) store: Arc<Store>,
    /// Made by the first change.
    group_commit: OnceLock<GroupCommit>,
}

#[derive(Debug)]
enum HandleState {
    Open(Arc<DatabaseHandle>),
    /// Closed, but the file is locked while snapshots are held, which are counted.
    Held(LockId, Arc<AtomicUsize>),
    Closed,
}

/// The time for which [`Database::close`] waits for running queries.
const MAX_WAIT_FOR_QUERIES: Duration = Duration::from_secs(1);

impl Database {
    /// `asked` is the recipe that the caller named; it must be the recipe of the file.
    pub(crate) fn new(
        store: Store,
        asked: Option<&Recipe>,
        progress: ProgressHandler,
        queue_limits: QueueLimits,
    ) -> Result<Self> {
        let header = store.header();
        let settings = Settings {
            recipe: recipe_of(&header.recipe, asked, store.path())?,
            keep_texts: header.keep_texts,
            similar: header.text_keys.is_some(),
            retention: header.retention,
            frozen: header.frozen,
            keys: header.keys,
            fields: header.fields,
            copies: (header.copies > 0).then_some(header.copies),
            scopes: header.scopes,
            frames: (header.frames > 0).then_some(header.frames),
        };
        Ok(Self {
            path: store.path().to_path_buf(),
            state: RwLock::new(HandleState::Open(Arc::new(DatabaseHandle {
                store: Arc::new(store),
                group_commit: OnceLock::new(),
            }))),
            // Made at the first text: a database that only looks up fingerprints needs no
            // dictionary.
            fingerprinter: Arc::new(LazyFingerprinter::new(settings.recipe.clone())),
            settings,
            queue_limits,
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
        self.progress.set_function(handler);
        self
    }

    /// The settings fixed at creation.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The path under which the database was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open database; [`Error::Closed`] after [`close`](Self::close).
    pub(crate) fn handle(&self) -> Result<Arc<DatabaseHandle>> {
        match &*self.state.read() {
            HandleState::Open(handle) => Ok(Arc::clone(handle)),
            HandleState::Held(..) | HandleState::Closed => Err(self.closed()),
        }
    }

    fn closed(&self) -> Error {
        let path = self.path.clone();
        Error::Closed { path }
    }

    /// The fingerprinter of this database. The first call makes it, which takes about a tenth of a
    /// second for the recipes `jieba` and `cppjieba`.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        self.fingerprinter.get()
    }

    /// The fingerprint of a text by the recipe of this database.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`.
    pub fn fingerprint(&self, text: &str) -> Result<TextFingerprint> {
        self.fingerprinter().fingerprint(text)
    }

    /// A document of a text: the fingerprint with its reliability, and the text if texts are kept.
    ///
    /// # Errors
    /// [`Error::NoTexts`] if the recipe is `weighted`.
    pub fn document(&self, id: impl Into<DocRef>, text: &str) -> Result<Document> {
        let document = Document::new(id, self.fingerprint(text)?);
        Ok(if self.settings.keep_texts {
            document.with_text(text)
        } else {
            document
        })
    }

    /// Commits the submitted changes, merges the journal into the tables, and closes the file.
    /// Every later call that reads or changes the database returns [`Error::Closed`].
    ///
    /// Waits for transactions and bulk loads of other threads.
    ///
    /// To drop a database does the same without reporting errors; changes that could not be merged
    /// stay in the journal. A database that was only read leaves the journal as it was.
    ///
    /// # Errors
    /// - [`Error::TransactionOpen`] if this thread has a transaction or a bulk load; the database
    ///   stays open
    /// - [`Error::SnapshotHeld`] if snapshots are held. Everything is written and the database is
    ///   closed, but the file stays locked until the last snapshot is dropped. A further call
    ///   returns `Ok` when the file is released
    /// - [`Error::Corrupt`], [`Error::Storage`], [`Error::WritesFailed`]: the database is closed
    /// - [`Error::FileGone`] if the file was deleted, moved or replaced: the database is closed
    /// - [`Error::NotAllWritten`] if changes were refused since the last [`flush`](Self::flush);
    ///   all others are written, and the file is closed
    /// - [`Error::Closed`] after an earlier call, which may still be running in another thread
    ///
    /// # Cost
    /// A [merge](Self::merge).
    pub fn close(&self) -> Result<()> {
        let (lock, held_snapshots) = {
            let mut state = self.state.write();
            if let HandleState::Open(handle) = &*state {
                handle.store.refuse_own_transaction()?;
            }
            // Closed before the writers are stopped: a change that comes later is refused, and does
            // not start them again.
            match std::mem::replace(&mut *state, HandleState::Closed) {
                HandleState::Closed => return Err(self.closed()),
                HandleState::Held(lock, held_snapshots) => (lock, held_snapshots),
                HandleState::Open(handle) => {
                    let (lock, held_snapshots) =
                        // Both outlive the handle, so that a later call finds out when the file is
                        // released.
                        (handle.store.file_lock().id(), handle.store.held_snapshots());
                    // Unlocked: the other threads get `Closed` meanwhile, also from `close`.
                    drop(state);
                    // Made if there is none, so that a first change in another thread cannot start
                    // it after it was stopped.
                    self.group_commit(&handle).stop();
                    handle.store.close()?;
                    (lock, held_snapshots)
                }
            }
        };
        let snapshots = held_snapshots.load(Ordering::Acquire);
        // Queries of other threads are over in milliseconds. Snapshots that callers hold are not.
        let is_released = snapshots == 0 && wait_until_released(lock, MAX_WAIT_FOR_QUERIES);
        let mut state = self.state.write();
        if !is_released {
            *state = HandleState::Held(lock, held_snapshots);
            return Err(Error::SnapshotHeld {
                path: self.path.clone(),
                snapshots: snapshots.max(1),
            });
        }
        *state = HandleState::Closed;
        drop(state);
        self.report_refused()
    }

    /// A snapshot of the database, which later changes do not affect.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`], [`Error::Closed`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        let handle = self.handle()?;
        // Counted before it is opened, so that `close` does not miss it.
        let held = handle.store.hold_snapshot();
        Ok(self.snapshot_of(handle.store.read()?, Some(held)))
    }

    /// A snapshot for one call.
    pub(crate) fn transient_snapshot(&self) -> Result<Snapshot> {
        Ok(self.snapshot_of(self.handle()?.store.read()?, None))
    }

    fn snapshot_of(&self, view: View, held: Option<HeldSnapshot>) -> Snapshot {
        let fingerprinter = Arc::clone(&self.fingerprinter);
        Snapshot::new(view, fingerprinter, self.progress.clone(), held)
    }

    /// The document with this id or key: see [`Snapshot::get`].
    pub fn get(&self, document: impl Into<DocRef>) -> Result<Option<Document>> {
        self.transient_snapshot()?.get(document)
    }

    /// Every document within the radius: see [`Snapshot::within`].
    pub fn within(&self, fingerprint: Fingerprint, radius: u32) -> Result<Vec<Match>> {
        self.transient_snapshot()?.within(fingerprint, radius)
    }

    /// Every document within the radius of a text: see [`Snapshot::within_text`].
    pub fn within_text(&self, text: &str, radius: u32) -> Result<Vec<Match>> {
        self.transient_snapshot()?.within_text(text, radius)
    }

    /// Every document within the radius of each query: see [`Snapshot::within_batch`].
    pub fn within_batch(&self, queries: &[Fingerprint], radius: u32) -> Result<Vec<Vec<Match>>> {
        self.transient_snapshot()?.within_batch(queries, radius)
    }

    /// A query for [`Snapshot::similar`].
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`] if the frames cannot be read. Without fingerprints of
    /// texts (recipe `weighted`), the forest alone selects candidates.
    pub fn text_query(&self, text: &str) -> Result<TextQuery> {
        let made = match self.fingerprint(text) {
            Err(Error::NoTexts { .. }) => None,
            made => Some(made?),
        };
        let store = &self.handle()?.store;
        // The scope of the text is not known.
        let scope = (!store.header().scopes).then(ScopeNumber::default);
        Ok(TextQuery::new(text, made).with_frames(store.frames()?, scope))
    }

    /// The frames that are left out of texts at the head and the tail: the frames that a database
    /// with [`Builder::frames`](crate::Builder::frames) has learned, with their numbers of texts,
    /// or the frames that were [set](Self::set_frames). The [group](crate::frames::Frame::group) of
    /// a frame is the number of its scope, or 0.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Storage`], [`Error::Closed`].
    pub fn frames(&self) -> Result<Frames> {
        self.handle()?.store.counted_frames()
    }

    /// The name of the scope of a learned frame; `None` for the documents without a scope.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn scope_of_frame(&self, frame: &Frame) -> Result<Option<String>> {
        Ok(self.handle()?.store.scope_name(ScopeNumber(frame.group)))
    }

    /// Sets the frames of group 0 that [`insert_unless_similar`](Self::insert_unless_similar) and
    /// [`text_query`](Self::text_query) leave out of texts at the head and the tail. Texts that are
    /// alike are then compared by their bodies too, and an answer names the frames among the
    /// [forgiven](crate::containment::Containment::forgiven) differences.
    ///
    /// The file does not keep these frames, which replace the learned frames of a database with
    /// [`Builder::frames`](crate::Builder::frames) until it is closed.
    ///
    /// # Errors
    /// [`Error::Closed`] after [`close`](Self::close).
    ///
    /// # Examples
    ///
    /// ```
    /// use simdb::frames::{Frame, Frames};
    /// use simdb::{Database, DocId, SimilarRule};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().similar(true).create(folder.path().join("docs.simdb"))?;
    /// let frame = "The Northern Herald brings the islands together.";
    /// db.set_frames(Frames::from_iter([Frame { text: frame.into(), group: 0, documents: 10 }]))?;
    ///
    /// let story = "The harbour of Kirkwall was closed on Sunday after a trawler lost her anchor.";
    /// let insert = |id, text: &str| {
    ///     db.insert_unless_similar(db.document(DocId(id), text)?, SimilarRule::default())
    /// };
    /// assert!(insert(1, story)?.is_inserted());
    /// assert!(!insert(2, &format!("{frame}\n{story}"))?.is_inserted());
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn set_frames(&self, frames: Frames) -> Result<()> {
        self.handle()?.store.set_frames(frames);
        Ok(())
    }

    /// Every document whose text is like this one: see [`Snapshot::similar`].
    pub fn similar_text(&self, text: &str) -> Result<Vec<Similar>> {
        self.transient_snapshot()?.similar(&self.text_query(text)?)
    }

    /// The nearest documents: see [`Snapshot::nearest`].
    pub fn nearest(&self, fingerprint: Fingerprint, count: usize) -> Result<Vec<Match>> {
        self.transient_snapshot()?.nearest(fingerprint, count)
    }

    /// Returns `true` if a document with this id or key is stored and not expired: see
    /// [`Snapshot::contains`].
    pub fn contains(&self, document: impl Into<DocRef>) -> Result<bool> {
        self.transient_snapshot()?.contains(document)
    }

    /// The number of documents, without expired documents: see [`Snapshot::len`].
    pub fn len(&self) -> Result<u64> {
        self.transient_snapshot()?.len()
    }

    /// Returns `true` if [`len`](Self::len) is 0.
    pub fn is_empty(&self) -> Result<bool> {
        self.transient_snapshot()?.is_empty()
    }

    /// Verifies all checksums, the order of every chunk, the counters, that all tables hold the
    /// same documents, and the storage engine's own structures. Returns a sentence for each damage
    /// found; none if the file is sound.
    ///
    /// A database open for reading only is checked without the storage engine's structures. If it
    /// was not closed, its tables are not compared with each other.
    ///
    /// Writers wait until the end. Reads continue, and wait only while the storage engine's
    /// structures are verified.
    ///
    /// # Errors
    /// - [`Error::SnapshotHeld`] if snapshots are held, unless the database is open for reading
    ///   only
    /// - [`Error::TransactionOpen`] if this thread has a transaction or a bulk load
    /// - [`Error::Storage`], [`Error::Interrupted`], [`Error::Closed`]
    ///
    /// # Cost
    /// About three reads of the file.
    pub fn check(&self) -> Result<Vec<String>> {
        store::maintenance::check::check(&self.handle()?.store, &self.progress)
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
        store::maintenance::copy::backup(&self.handle()?.store, path.as_ref(), &self.progress)
    }
}

impl DatabaseHandle {
    /// Commits the submitted changes and stops the group commit. Returns `true` if there was one.
    fn stop_writing(&self) -> bool {
        self.group_commit
            .get()
            .inspect(|group_commit| group_commit.stop())
            .is_some()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let HandleState::Open(handle) = self.state.get_mut()
            && handle.stop_writing()
        {
            // A drop cannot return the error. The journal keeps the changes that were not merged.
            handle.store.close().unwrap_or_default();
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
