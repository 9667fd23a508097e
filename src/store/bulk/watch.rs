//! The progress of a bulk load and the documents that it leaves out, as the caller hears of them.

use std::ops::ControlFlow;
use std::path::Path;

use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::progress::{ProgressHandler, ProgressReporter, Stage};
use crate::store::tables::schema::Keeps;

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
    /// Steps of each table, in the order in which the tables are written.
    tables: Vec<u64>,
    tables_done: usize,
}

impl<'o> LoadReporter<'o> {
    /// A load of so many documents, and of so many bands if they are kept.
    pub(super) fn new(
        handler: &ProgressHandler,
        on_conflict: &'o mut OnConflict<'o>,
        path: &Path,
        documents: u64,
        keeps: Keeps,
        bands: Option<u64>,
    ) -> Self {
        // A table each: the documents, their bands, and others of as many steps as documents.
        let others = if keeps.arrivals { 6 } else { 4 };
        let mut tables = vec![documents];
        tables.extend(bands);
        tables.extend(std::iter::repeat_n(documents, others));
        let total = tables.iter().sum();
        Self {
            on_conflict,
            progress: ProgressReporter::new(handler, Stage::Load, Some(total), path),
            tables,
            tables_done: 0,
        }
    }

    pub(super) fn step(&mut self) -> Result<()> {
        self.progress.step()
    }

    /// One more table is written, whether it took all its steps or, where fingerprints repeat,
    /// fewer.
    pub(super) fn table_is_done(&mut self) -> Result<()> {
        self.tables_done += 1;
        let done = self.tables.iter().take(self.tables_done).sum();
        self.progress.advance_to(done)
    }

    pub(super) fn conflict(&mut self, conflict: Conflict) -> Result<()> {
        self.progress.obey((self.on_conflict)(conflict))
    }
}
