//! [`Progress`]: reports of long operations to a handler, which may interrupt them.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};

/// A report every 4,096 steps: every few ms for entries of a table (below a microsecond each), and
/// some 40 ms for texts (about ten microseconds each).
const STEPS_PER_REPORT: u64 = 4 << 10;
/// The total of a stage that can only estimate the share that is done: 10,000 steps.
const SHARES: u64 = 10_000;

/// The progress of a long operation.
///
/// `on_progress` sets a handler on a [`Builder`], [`Database`], [`Snapshot`] or [`BulkLoad`]. A
/// database inherits the handler of its builder; a snapshot and a bulk load inherit the handler of
/// their database. [`Database::check`], [`Database::backup`], [`Builder::vacuum`],
/// [`Builder::salvage`], [`BulkLoad::finish`], [`Snapshot::pairs`], [`Snapshot::clusters`] and
/// their variants call the handler several times a second, on the thread that called the operation.
/// If the handler returns `Break`, the operation ends with [`Error::Interrupted`] and changes
/// nothing.
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
    /// The current part of the operation. Each stage counts its steps from 0.
    pub stage: Stage,
    /// Finished steps of the stage, at most `total`.
    pub done: u64,
    /// All steps of the stage, which may be an estimate; `None` if unknown.
    pub total: Option<u64>,
}

/// A part of a long operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Sorting and writing the documents of a bulk load, or of a salvage.
    Load,
    /// Verifying a database: in a check, or after the copy of a backup or vacuum.
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

/// Writes the stage as a participle, such as `checking`.
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

/// The function given to `on_progress`, if any. Threads share the function, because several threads
/// may run operations on one database.
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

/// Counts the steps of one stage, and calls the handler.
#[derive(Debug)]
pub(crate) struct ProgressReporter {
    handler: ProgressHandler,
    progress: Progress,
    /// The file named in [`Error::Interrupted`].
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

    /// Counts a step; reports every [`STEPS_PER_REPORT`] steps.
    pub(crate) fn step(&mut self) -> Result<()> {
        self.progress.done += 1;
        if self.progress.done.is_multiple_of(STEPS_PER_REPORT) {
            self.report()
        } else {
            Ok(())
        }
    }

    /// Reports `done` steps, or more if more were reported before.
    pub(crate) fn advance_to(&mut self, done: u64) -> Result<()> {
        self.progress.done = self.progress.done.max(done);
        self.report()
    }

    /// Reports a finished share of the stage, from 0 to 1. An estimate may fall when more work is
    /// found; the report then stays at the largest share.
    pub(crate) fn advance_to_share(&mut self, share: f64) -> Result<()> {
        self.advance_to((share * SHARES as f64) as u64)
    }

    /// Reports the end of the stage.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.advance_to(self.progress.total.unwrap_or(0))
    }

    /// Calls the handler.
    pub(crate) fn report(&self) -> Result<()> {
        let Some(handler) = &self.handler.0 else {
            return Ok(());
        };
        let Progress { stage, done, total } = self.progress;
        // The estimated total may be too small.
        self.check_flow(handler(Progress {
            stage,
            done: done.min(total.unwrap_or(u64::MAX)),
            total,
        }))
    }

    /// Returns [`Error::Interrupted`] if a callback has returned `Break`.
    pub(crate) fn check_flow(&self, flow: ControlFlow<()>) -> Result<()> {
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted {
                path: self.path.clone(),
            }),
        }
    }
}
