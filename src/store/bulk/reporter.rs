//! The progress of a bulk load and the documents that it leaves out, as the caller hears of them.

use std::ops::ControlFlow;
use std::path::Path;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};

/// A document that a bulk load leaves out, because its id is that of another document, stored
/// before or pushed earlier, with another fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The number of the document that is left out, counted from 0 as they were pushed.
    pub position: u64,
    /// The id.
    pub id: DocId,
    /// The fingerprint that the id has.
    pub stored: Fingerprint,
}

/// The caller's function for conflicts. Behind a pointer, because all that a load does would be
/// compiled anew for each closure.
pub(crate) type OnConflict<'o> = dyn FnMut(Conflict) -> ControlFlow<()> + 'o;

/// Reports the progress of a bulk load and its conflicts.
pub(super) struct LoadReporter<'o> {
    on_conflict: &'o mut OnConflict<'o>,
    progress: ProgressReporter,
    /// Steps of the tables that are written.
    steps_of_tables: u64,
}

impl<'o> LoadReporter<'o> {
    pub(super) fn new(
        handler: &ProgressHandler,
        on_conflict: &'o mut OnConflict<'o>,
        path: &Path,
        total: u64,
    ) -> Self {
        Self {
            on_conflict,
            progress: ProgressReporter::new(handler, Stage::Load, Some(total), path),
            steps_of_tables: 0,
        }
    }

    pub(super) fn step(&mut self) -> Result<()> {
        self.progress.step()
    }

    /// Reports that a table is written, for which `total` has so many steps: fewer were counted
    /// where fingerprints repeat.
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
