//! [`LoadReporter`]: the progress and the conflicts of a bulk load.

use std::ops::ControlFlow;
use std::path::Path;

use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::progress::{ProgressHandler, ProgressReporter, Stage};

/// A document that a bulk load leaves out: a document stored or pushed before has its id and
/// another fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The position among all documents pushed, from 0.
    pub position: u64,
    /// The id.
    pub id: DocId,
    /// The fingerprint stored under the id.
    pub stored: Fingerprint,
}

/// A trait object, because a type parameter would compile the whole load for each closure.
pub(crate) type OnConflict<'o> = dyn FnMut(Conflict) -> ControlFlow<()> + 'o;

pub(super) struct LoadReporter<'o> {
    on_conflict: &'o mut OnConflict<'o>,
    progress: ProgressReporter,
    steps_of_tables: u64,
}

impl<'o> LoadReporter<'o> {
    /// Reports the begin of the load.
    pub(super) fn new(
        handler: &ProgressHandler,
        on_conflict: &'o mut OnConflict<'o>,
        path: &Path,
        total: u64,
    ) -> Result<Self> {
        let progress = ProgressReporter::new(handler, Stage::Load, Some(total), path);
        progress.report()?;
        Ok(Self {
            on_conflict,
            progress,
            steps_of_tables: 0,
        })
    }

    pub(super) fn step(&mut self) -> Result<()> {
        self.progress.step()
    }

    /// Advances to the planned steps of a finished table, which has fewer entries if fingerprints
    /// repeat.
    pub(super) fn finish_table(&mut self, steps: u64) -> Result<()> {
        self.steps_of_tables += steps;
        self.progress.advance_to(self.steps_of_tables)
    }

    /// Reports the end of the load, before its commit.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.progress.finish()
    }

    pub(super) fn conflict(&mut self, conflict: Conflict) -> Result<()> {
        self.progress.check_flow((self.on_conflict)(conflict))
    }
}
