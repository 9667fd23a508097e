//! Documents to a database, sorted, all at once: pushed in their order, then written.

use std::ops::ControlFlow;

use anyhow::Result;
use indicatif::ProgressBar;
use simdb::{BulkLoad, BulkReport, Conflict, DocId, Error, Fingerprint};

use super::pipeline::{Entry, Pipeline};
use super::positions::RecordPositions;
use super::statistics::Statistics;
use crate::console::interrupt::{Interrupt, interrupted};
use crate::console::progress::{ProgressMode, handler};

/// Writes all documents of a pipeline. Bad records, and documents whose ids are taken, go to the
/// statistics.
pub fn load(
    mut bulk: BulkLoad<'_>,
    mut pipeline: Pipeline,
    statistics: &mut Statistics,
    progress: ProgressMode,
    interrupt: &Interrupt,
) -> Result<BulkReport> {
    let mut positions = RecordPositions::default();
    while let Some(batch) = pipeline.next()? {
        let unit = statistics.inputs[batch.input].format.unit();
        for entry in batch.records {
            statistics.counts.read += 1;
            match entry {
                Entry::Reject(reject) => statistics.reject(batch.input, &reject)?,
                Entry::Document(number, document) => {
                    statistics.counts.unreliable += u64::from(!document.reliable);
                    bulk.push(document)?;
                    positions.push(batch.input, unit, number);
                }
            }
        }
    }
    write(
        bulk,
        &progress.work(),
        interrupt,
        |position, id, stored| match positions.find(position) {
            Some((input, number)) => statistics.conflict(input, number, id, stored),
            None => unreachable!("the load reports a document that was never pushed"),
        },
    )
}

/// Writes all documents that were pushed. `conflict` is called for each document whose id is taken,
/// with its position, its id and the fingerprint that is stored. An error from it ends the load, which
/// then changes nothing.
pub fn write(
    bulk: BulkLoad<'_>,
    bar: &ProgressBar,
    interrupt: &Interrupt,
    mut conflict: impl FnMut(u64, DocId, Fingerprint) -> Result<()>,
) -> Result<BulkReport> {
    let mut failed = Ok(());
    let bulk = bulk.on_progress(handler(bar, interrupt));
    let outcome = bulk.finish(
        |Conflict {
             position,
             id,
             stored,
             ..
         }| {
            failed = conflict(position, id, stored);
            if failed.is_ok() {
                interrupt.flow()
            } else {
                ControlFlow::Break(())
            }
        },
    );
    bar.finish_and_clear();
    failed?;
    match outcome {
        Err(Error::Interrupted { .. }) => Err(interrupted()),
        outcome => Ok(outcome?),
    }
}
