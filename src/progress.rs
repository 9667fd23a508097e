//! [`Progress`]: how far a long operation is, and the one way to hear of it and to end it.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};

/// Steps between two reports of an operation that counts its steps: one step is an entry of a
/// table, which takes below a microsecond, or a text, which takes some ten.
const STEPS_PER_REPORT: u64 = 4 << 10;
/// The number of steps of a stage whose length can only be estimated as a share.
const SHARES: u64 = 10_000;

/// How far a long operation is.
///
/// A handler for progress is set with `on_progress`, once, on any of [`Builder`], [`Database`],
/// [`Snapshot`] and [`BulkLoad`]. A database inherits the handler of its builder; a snapshot and a
/// bulk load inherit that of their database. The handler is called several times a second, in the
/// thread that called the operation, by [`Database::check`], [`Database::backup`],
/// [`Builder::vacuum`], [`Builder::salvage`], [`BulkLoad::finish`], [`Snapshot::pairs`] and
/// [`Snapshot::clusters`] with their variants. If the handler returns `Break`, the operation ends
/// with [`Error::Interrupted`] and changes nothing.
///
/// ```
/// use std::ops::ControlFlow;
/// use simdb::{Database, DocId, Error, Fingerprint, Stage};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// db.insert(DocId(7), Fingerprint::from_bits(0b0111))?;
///
/// let mut db = db.on_progress(|progress| {
///     println!("{} {} of {:?}", progress.stage, progress.done, progress.total);
///     if progress.stage == Stage::Copy { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// });
/// assert!(db.check()?.is_empty());
/// let copied = db.backup(folder.path().join("copy.simdb"));
/// assert!(matches!(copied, Err(Error::Interrupted { .. })));
/// # Ok::<(), simdb::Error>(())
/// ```
///
/// [`Builder`]: crate::Builder
/// [`Builder::vacuum`]: crate::Builder::vacuum
/// [`Builder::salvage`]: crate::Builder::salvage
/// [`Database`]: crate::Database
/// [`Database::check`]: crate::Database::check
/// [`Database::backup`]: crate::Database::backup
/// [`Snapshot`]: crate::Snapshot
/// [`Snapshot::pairs`]: crate::Snapshot::pairs
/// [`Snapshot::clusters`]: crate::Snapshot::clusters
/// [`BulkLoad`]: crate::BulkLoad
/// [`BulkLoad::finish`]: crate::BulkLoad::finish
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The part of the operation that is under way. A stage begins with `done` at 0.
    pub stage: Stage,
    /// Steps of this stage that are done; never more than `total`.
    pub done: u64,
    /// Steps of this stage, partly an estimate; `None` if unknown.
    pub total: Option<u64>,
}

/// A part of a long operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Sorting and writing the documents of a bulk load, or of a salvage.
    Load,
    /// Proving a database sound: in a check, or in a backup or vacuum once the copy is written.
    Check,
    /// Writing a copy, in a backup or a vacuum.
    Copy,
    /// Reading a damaged database, in a salvage: the steps are documents, and `total` is unknown.
    Salvage,
    /// Finding pairs of near-duplicates.
    Pairs,
    /// Grouping pairs into clusters.
    Clusters,
}

/// The stage as a participle: `checking`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Load => "writing",
            Self::Check => "checking",
            Self::Copy => "copying",
            Self::Salvage => "reading",
            Self::Pairs => "pairing",
            Self::Clusters => "grouping",
        })
    }
}

/// The function given to `on_progress`, if one was. Shared, because a database and its snapshots
/// are shared by threads, each of which may run an operation.
#[derive(Clone, Default)]
pub(crate) struct ProgressHandler(Option<Arc<HandlerFn>>);

type HandlerFn = dyn Fn(Progress) -> ControlFlow<()> + Send + Sync;

impl ProgressHandler {
    pub(crate) fn new(
        handler: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(handler)))
    }
}

impl fmt::Debug for ProgressHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.0.is_some() { "Some" } else { "None" };
        f.write_str(name)
    }
}

/// Counts the steps of one stage, calls the handler, and turns its `Break` into an error.
#[derive(Debug)]
pub(crate) struct ProgressReporter {
    handler: ProgressHandler,
    progress: Progress,
    /// The file that an interruption is reported for.
    path: PathBuf,
}

impl ProgressReporter {
    pub(crate) fn new(
        handler: &ProgressHandler,
        stage: Stage,
        total: Option<u64>,
        path: &Path,
    ) -> Self {
        Self {
            handler: handler.clone(),
            progress: Progress {
                stage,
                done: 0,
                total,
            },
            path: path.to_path_buf(),
        }
    }

    /// A stage that is reported with [`advance_to_share`](Self::advance_to_share).
    pub(crate) fn new_shares(handler: &ProgressHandler, stage: Stage, path: &Path) -> Self {
        Self::new(handler, stage, Some(SHARES), path)
    }

    /// Counts a step, and reports now and then.
    pub(crate) fn step(&mut self) -> Result<()> {
        self.progress.done += 1;
        if self.progress.done.is_multiple_of(STEPS_PER_REPORT) {
            self.report()
        } else {
            Ok(())
        }
    }

    /// Reports that at least `done` steps are done.
    pub(crate) fn advance_to(&mut self, done: u64) -> Result<()> {
        self.progress.done = self.progress.done.max(done);
        self.report()
    }

    /// Reports that about this share of the stage is done, from 0 to 1. A share that is smaller
    /// than the one before, because more work turned up, counts as that one.
    pub(crate) fn advance_to_share(&mut self, share: f64) -> Result<()> {
        self.advance_to((share * SHARES as f64) as u64)
    }

    /// Reports that the stage is done, whether its estimated total was reached or exceeded.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.advance_to(self.progress.total.unwrap_or(0))
    }

    /// Calls the handler.
    pub(crate) fn report(&self) -> Result<()> {
        let Some(handler) = &self.handler.0 else {
            return Ok(());
        };
        let Progress { stage, done, total } = self.progress;
        self.obey(handler(Progress {
            stage,
            done: done.min(total.unwrap_or(u64::MAX)),
            total,
        }))
    }

    /// [`Error::Interrupted`] if a callback of the caller returned `Break`.
    pub(crate) fn obey(&self, flow: ControlFlow<()>) -> Result<()> {
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted {
                path: self.path.clone(),
            }),
        }
    }
}
