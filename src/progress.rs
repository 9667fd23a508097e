//! [`Progress`]: reports of long operations to a handler, which may interrupt them.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::{Error, Result};

/// At most 10 calls of the handler a second unless set. Without a limit, clustering made 14,000.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// The clock is read every 4,096 steps: every few ms for entries of a table (below a microsecond
/// each), and every 40 ms for texts (about ten microseconds each).
const STEPS_PER_REPORT: u64 = 4 << 10;
/// The total of a stage that can only estimate the share that is done: 10,000 steps.
const SHARES: u64 = 10_000;

/// The progress of a long operation.
///
/// `on_progress` sets a handler on a [`Builder`], [`Database`], [`Snapshot`] or [`BulkLoad`]. A
/// database inherits the handler of its builder; a snapshot and a bulk load inherit the handler of
/// their database. [`Database::check`], [`Database::backup`], [`Builder::vacuum`],
/// [`Builder::salvage`], [`BulkLoad::finish`], [`Snapshot::within_batch`], [`Snapshot::pairs`],
/// [`Snapshot::clusters`] and their variants call the handler on the thread that called the
/// operation: at once, then at most ten times a second ([`Builder::progress_interval`] sets another
/// rate), and at the end. [`BulkLoad::push`] calls it while it waits for a sort. `done` never falls
/// during an operation, and at the end equals `total`. If the handler returns `Break`, the
/// operation ends with [`Error::Interrupted`] and changes nothing.
///
/// ```
/// use std::ops::ControlFlow;
/// use simdb::progress::Stage;
/// use simdb::{Database, Document, Error, Fingerprint};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// assert!(db.insert(Document::new(7, Fingerprint::from_bits(0b0111)))?.is_inserted());
///
/// let db = db.on_progress(|progress| {
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
/// [`Builder::progress_interval`]: crate::Builder::progress_interval
/// [`Builder::vacuum`]: crate::Builder::vacuum
/// [`Builder::salvage`]: crate::Builder::salvage
/// [`Database`]: crate::Database
/// [`Database::check`]: crate::Database::check
/// [`Database::backup`]: crate::Database::backup
/// [`Snapshot`]: crate::Snapshot
/// [`Snapshot::pairs`]: crate::Snapshot::pairs
/// [`Snapshot::within_batch`]: crate::Snapshot::within_batch
/// [`Snapshot::clusters`]: crate::Snapshot::clusters
/// [`BulkLoad`]: crate::bulk::BulkLoad
/// [`BulkLoad::finish`]: crate::bulk::BulkLoad::finish
/// [`BulkLoad::push`]: crate::bulk::BulkLoad::push
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current part of the operation. A short stage may not be reported.
    pub stage: Stage,
    /// Finished steps of the whole operation, at most `total`.
    pub done: u64,
    /// All steps of the whole operation, which may be an estimate; `None` if unknown, as in
    /// [`Stage::Salvage`].
    pub total: Option<u64>,
}

/// A part of a long operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Waiting for a sort while documents are pushed to a bulk load: no step is done, and `total`
    /// is `None`.
    Sort,
    /// Sorting and writing the documents of a bulk load, or of a salvage.
    Load,
    /// Verifying a database: in a check, or after the copy of a backup or vacuum.
    Check,
    /// Writing a copy, in a backup or a vacuum.
    Copy,
    /// Reading a damaged database, in a salvage: the steps are documents, and `total` is `None`.
    Salvage,
    /// Answering a batch of queries. The steps are queries.
    Batch,
    /// Finding pairs of near-duplicates.
    Pairs,
    /// Grouping pairs into clusters.
    Clusters,
}

/// Writes the stage as a participle, such as `checking`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sort => "sorting",
            Self::Load => "writing",
            Self::Check => "checking",
            Self::Copy => "copying",
            Self::Salvage => "reading",
            Self::Batch => "answering",
            Self::Pairs => "pairing",
            Self::Clusters => "grouping",
        })
    }
}

/// The function given to `on_progress`, if any, and the state of the operation that it is called
/// for. Threads share the function, because several threads may run operations on one database.
#[derive(Clone)]
pub(crate) struct ProgressHandler {
    function: Option<Arc<HandlerFn>>,
    /// The shortest time between two calls of the function.
    interval: Duration,
    operation: Arc<Mutex<OperationState>>,
}

impl Default for ProgressHandler {
    fn default() -> Self {
        Self {
            function: None,
            interval: REPORT_INTERVAL,
            operation: Arc::default(),
        }
    }
}

type HandlerFn = dyn Fn(Progress) -> ControlFlow<()> + Send + Sync;

/// The state of an operation that its stages share.
#[derive(Default)]
struct OperationState {
    /// The expected time of each stage, in any unit. Empty if the number of steps is unknown: the
    /// steps of a stage are then added to those before.
    stage_times: &'static [u64],
    /// The number of stages that have begun.
    stages_begun: usize,
    /// The steps of all stages, fixed by the first stage.
    total: Option<u64>,
    /// The largest `done` of all reports.
    done: u64,
    last: Option<Progress>,
    last_report: Option<Instant>,
}

impl ProgressHandler {
    pub(crate) fn set_function(
        &mut self,
        function: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.function = Some(Arc::new(function));
    }

    pub(crate) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// Repeats the last report of an operation that waits; before the first, reports
    /// [`Stage::Sort`].
    pub(crate) fn report_waiting(&self, path: &Path) -> Result<()> {
        let progress = self.operation.lock().last.unwrap_or(Progress {
            stage: Stage::Sort,
            done: 0,
            total: None,
        });
        self.call(path, false, |_| progress)
    }

    /// Calls the function with the progress that `position` returns, unless the function was called
    /// less than an interval ago. An end is always reported.
    fn call(
        &self,
        path: &Path,
        is_end: bool,
        position: impl FnOnce(&mut OperationState) -> Progress,
    ) -> Result<()> {
        let Some(function) = &self.function else {
            return Ok(());
        };
        let progress = {
            let mut operation = self.operation.lock();
            let now = Instant::now();
            let is_soon = |last: Instant| now.duration_since(last) < self.interval;
            if !is_end && operation.last_report.is_some_and(is_soon) {
                return Ok(());
            }
            operation.last_report = Some(now);
            position(&mut operation)
        };
        // Unlocked: the function may take long.
        refuse_break(function(progress), path)
    }

    /// The handler for one operation. `stage_times` are the expected times of its stages, in any
    /// unit; empty if the number of steps is unknown until the last stage.
    pub(crate) fn for_operation(&self, stage_times: &'static [u64]) -> Self {
        Self {
            function: self.function.clone(),
            interval: self.interval,
            operation: Arc::new(Mutex::new(OperationState {
                stage_times,
                ..OperationState::default()
            })),
        }
    }
}

impl fmt::Debug for ProgressHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.function.is_some() {
            "Some"
        } else {
            "None"
        };
        f.write_str(name)
    }
}

impl OperationState {
    /// Maps the steps of a stage to the steps of the operation. `begun_at` is the value of `done`
    /// when the stage began.
    fn position(&mut self, stage: usize, begun_at: u64, progress: Progress) -> (u64, Option<u64>) {
        let Progress { done, total, .. } = progress;
        let (Some(total), Some(time)) = (total, self.stage_times.get(stage)) else {
            return (begun_at + done, total.map(|total| begun_at + total));
        };
        let times = |times: &[u64]| times.iter().map(|time| u128::from(*time)).sum::<u128>();
        let (before, all) = (times(&self.stage_times[..stage]), times(self.stage_times));
        let whole = *self.total.get_or_insert_with(|| {
            // The first stage counts its own steps, and a single stage exactly these.
            (u128::from(total) * all / u128::from(*time).max(1)) as u64
        });
        // `done / total` of the time of this stage.
        let elapsed = before * u128::from(total) + u128::from(*time) * u128::from(done.min(total));
        let done = u128::from(whole) * elapsed / (all * u128::from(total)).max(1);
        (done as u64, Some(whole))
    }
}

/// Counts the steps of one stage, and calls the handler.
#[derive(Debug)]
pub(crate) struct ProgressReporter {
    handler: ProgressHandler,
    progress: Progress,
    /// The number of the stage in its operation, from 0 on.
    stage_index: usize,
    /// The steps of the operation that were done when the stage began.
    begun_at: u64,
    /// The file named in [`Error::Interrupted`].
    path: PathBuf,
}

impl ProgressReporter {
    /// Begins the next stage of the operation of `handler`.
    pub(crate) fn new(
        handler: &ProgressHandler,
        stage: Stage,
        total: Option<u64>,
        path: &Path,
    ) -> Self {
        let mut operation = handler.operation.lock();
        let stage_index = operation.stages_begun;
        operation.stages_begun += 1;
        Self {
            handler: handler.clone(),
            progress: Progress {
                stage,
                done: 0,
                total,
            },
            stage_index,
            begun_at: operation.done,
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

    /// Reports the end of the stage. The end of the last stage is always reported.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let total = self.progress.total.unwrap_or(0);
        self.progress.done = self.progress.done.max(total);
        let is_last = {
            let operation = self.handler.operation.lock();
            match operation.stage_times.len() {
                // The last stage of an operation of unknown length is the first with a total.
                0 => self.progress.total.is_some(),
                stages => self.stage_index + 1 == stages,
            }
        };
        self.call_handler(is_last)
    }

    /// Calls the handler, unless it was called less than an interval ago.
    pub(crate) fn report(&self) -> Result<()> {
        self.call_handler(false)
    }

    fn call_handler(&self, is_end: bool) -> Result<()> {
        self.handler.call(&self.path, is_end, |operation| {
            let (done, total) = operation.position(self.stage_index, self.begun_at, self.progress);
            // An estimated total may be too small, and a later stage may begin below the end of the
            // stage before.
            operation.done = operation.done.max(done).min(total.unwrap_or(u64::MAX));
            let progress = Progress {
                stage: self.progress.stage,
                done: operation.done,
                total,
            };
            *operation.last.insert(progress)
        })
    }

    /// Returns [`Error::Interrupted`] if a callback has returned `Break`.
    pub(crate) fn check_flow(&self, flow: ControlFlow<()>) -> Result<()> {
        refuse_break(flow, &self.path)
    }
}

/// Returns [`Error::Interrupted`] if a callback has returned `Break`: all operations end in the
/// same way.
pub(crate) fn refuse_break(flow: ControlFlow<()>, path: &Path) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted {
            path: path.to_path_buf(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reports of an operation.
    fn recorded() -> (ProgressHandler, Arc<Mutex<Vec<Progress>>>) {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        let mut handler = ProgressHandler::default();
        handler.set_function(move |progress| {
            seen.lock().push(progress);
            ControlFlow::Continue(())
        });
        (handler, reports)
    }

    fn done(progress: &Progress) -> (u64, Option<u64>) {
        (progress.done, progress.total)
    }

    #[test]
    fn reports_are_throttled_except_for_the_first_and_the_last() {
        let (handler, reports) = recorded();
        let handler = handler.for_operation(&[1]);
        let path = Path::new("docs.simdb");
        let start = Instant::now();
        let mut stage = ProgressReporter::new(&handler, Stage::Pairs, Some(100_000), path);
        for done in 0..100_000 {
            stage.advance_to(done).unwrap();
        }
        stage.finish().unwrap();
        let most = 3 + start.elapsed().as_millis() as usize / 100;
        let reports = reports.lock();
        assert!(reports.len() <= most, "{}", reports.len());
        assert_eq!(done(&reports[0]), (0, Some(100_000)));
        assert_eq!(done(&reports[reports.len() - 1]), (100_000, Some(100_000)));
    }

    #[test]
    fn shorter_interval_reports_more_often() {
        let (mut handler, reports) = recorded();
        handler.set_interval(Duration::from_millis(1));
        let handler = handler.for_operation(&[1]);
        let mut stage =
            ProgressReporter::new(&handler, Stage::Pairs, Some(20), Path::new("docs.simdb"));
        for done in 0..20 {
            std::thread::sleep(Duration::from_millis(2));
            stage.advance_to(done).unwrap();
        }
        assert_eq!(reports.lock().len(), 20);
    }

    #[test]
    fn stages_share_one_scale() {
        let (handler, reports) = recorded();
        let handler = handler.for_operation(&[3, 1]);
        let path = Path::new("docs.simdb");
        let force = |stage: &ProgressReporter| {
            handler.operation.lock().last_report = None;
            stage.report().unwrap();
        };
        let mut first = ProgressReporter::new(&handler, Stage::Pairs, Some(300), path);
        first.advance_to(150).unwrap();
        first.advance_to(300).unwrap();
        force(&first);
        let mut second = ProgressReporter::new(&handler, Stage::Clusters, Some(10), path);
        force(&second);
        second.progress.done = 5;
        force(&second);
        second.finish().unwrap();
        let reports: Vec<_> = reports.lock().iter().map(done).collect();
        let expected = [150, 300, 300, 350, 400].map(|done| (done, Some(400)));
        assert_eq!(reports, expected);
    }

    #[test]
    fn progress_does_not_fall_when_more_work_is_found() {
        let (handler, reports) = recorded();
        let handler = handler.for_operation(&[1, 1]);
        let path = Path::new("docs.simdb");
        let force = |stage: &mut ProgressReporter, share: f64| {
            handler.operation.lock().last_report = None;
            stage.advance_to_share(share).unwrap();
        };
        let mut first = ProgressReporter::new_shares(&handler, Stage::Pairs, path);
        for share in [0.5, 0.25, 1.0] {
            force(&mut first, share);
        }
        // A second handle of the operation whose stage lies before what was reported.
        let mut repeated = ProgressReporter {
            stage_index: 0,
            ..ProgressReporter::new_shares(&handler, Stage::Clusters, path)
        };
        force(&mut repeated, 0.5);
        let reports: Vec<_> = reports.lock().iter().map(|report| report.done).collect();
        assert_eq!(reports, [SHARES / 2, SHARES / 2, SHARES, SHARES]);
    }

    #[test]
    fn steps_of_unknown_number_are_added() {
        let (handler, reports) = recorded();
        let handler = handler.for_operation(&[]);
        let path = Path::new("docs.simdb");
        let mut first = ProgressReporter::new(&handler, Stage::Salvage, None, path);
        first.advance_to(7).unwrap();
        first.finish().unwrap();
        let mut second = ProgressReporter::new(&handler, Stage::Load, Some(10), path);
        second.finish().unwrap();
        let reports: Vec<_> = reports.lock().iter().map(done).collect();
        assert_eq!(reports, [(7, None), (17, Some(17))]);
    }
}
