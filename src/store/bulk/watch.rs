//! How far a bulk load is, told to whoever asked for it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::document::DocId;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::store::tables::schema::Keeps;

/// Steps between two reports of progress.
const STEPS_PER_REPORT: u64 = 64 << 10;

/// What a bulk load tells its observer while it finishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BulkEvent {
    /// So far this share of the work is done.
    Progress {
        /// Steps done.
        done: u64,
        /// Steps in all.
        total: u64,
    },
    /// A document has the id of another, stored before or pushed earlier, but another
    /// fingerprint. It is left out if the load goes on.
    Conflict {
        /// The number of the document that is left out, counted from 0 as they were pushed.
        position: u64,
        /// The id.
        id: DocId,
        /// The fingerprint that the id has.
        stored: Fingerprint,
    },
}

/// Whoever asked for a bulk load, and may end it. Behind a pointer, for all that a load does would be
/// compiled anew for each closure.
pub(crate) type Observer<'o> = dyn FnMut(BulkEvent) -> ControlFlow<()> + 'o;

/// Tells the observer how far the work is, and stops it when the observer says so.
pub(super) struct Watch<'o> {
    observer: &'o mut Observer<'o>,
    path: PathBuf,
    /// Steps of each stage, in order.
    stages: Vec<u64>,
    stages_done: usize,
    done: u64,
}

impl<'o> Watch<'o> {
    /// A load of so many documents, and of so many bands if they are kept.
    pub(super) fn new(
        observer: &'o mut Observer<'o>,
        path: &Path,
        documents: u64,
        keeps: Keeps,
        bands: Option<u64>,
    ) -> Self {
        // A table each: the documents, their bands, and others of as many steps as documents.
        let others = if keeps.arrivals { 6 } else { 4 };
        let mut stages = vec![documents];
        stages.extend(bands);
        stages.extend(std::iter::repeat_n(documents, others));
        Self {
            observer,
            path: path.to_path_buf(),
            stages,
            stages_done: 0,
            done: 0,
        }
    }

    pub(super) fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(STEPS_PER_REPORT) {
            return self.report();
        }
        Ok(())
    }

    /// One more stage is done, whether it took all its steps or, where fingerprints repeat,
    /// fewer.
    pub(super) fn stage_is_done(&mut self) -> Result<()> {
        self.stages_done += 1;
        self.done = self.stages.iter().take(self.stages_done).sum();
        self.report()
    }

    fn report(&mut self) -> Result<()> {
        let (done, total) = (self.done, self.stages.iter().sum());
        self.tell(BulkEvent::Progress { done, total })
    }

    pub(super) fn tell(&mut self, event: BulkEvent) -> Result<()> {
        match (self.observer)(event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted {
                path: self.path.clone(),
            }),
        }
    }
}
