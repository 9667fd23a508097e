//! [`LoadReporter`]: reports the progress and the conflicts of a bulk load to its caller.

use std::ops::ControlFlow;
use std::path::Path;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};

/// A document that a bulk load leaves out because another document has its id, with another
/// fingerprint. The other document was stored before the load or pushed earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The position of the document among all documents pushed, from 0.
    pub position: u64,
    /// The id.
    pub id: DocId,
    /// The fingerprint stored under the id.
    pub stored: Fingerprint,
}

/// The caller's function for conflicts. A trait object, because a type parameter would compile the
/// whole load again for each closure.
pub(crate) type OnConflict<'o> = dyn FnMut(Conflict) -> ControlFlow<()> + 'o;

/// Reports to the caller of a bulk load.
pub(super) struct LoadReporter<'o> {
    on_conflict: &'o mut OnConflict<'o>,
    progress: ProgressReporter,
    /// Steps that the finished tables count for.
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

    /// Reports a finished table, which counts for `steps` in the total. If fingerprints repeat, fewer
    /// steps were counted entry by entry.
    pub(super) fn finish_table(&mut self, steps: u64) -> Result<()> {
        self.steps_of_tables += steps;
        self.progress.advance_to(self.steps_of_tables)
    }

    pub(super) fn conflict(&mut self, conflict: Conflict) -> Result<()> {
        self.progress.obey((self.on_conflict)(conflict))
    }
}
