//! Documents to a database, sorted, all at once: pushed in their order, then written.

use std::ops::ControlFlow;

use anyhow::Result;
use indicatif::ProgressBar;
use simdb::{BulkEvent, BulkLoad, BulkReport, DocId, Error, Fingerprint};

use super::pipeline::{Entry, Pipeline};
use super::positions::RecordPositions;
use super::statistics::Statistics;
use crate::console::interrupt::{Interrupt, interrupted};
use crate::console::progress::Progress;

/// Writes all documents of a pipeline. Bad records, and documents whose ids are taken, go to the
/// statistics. `prefix` names the bar that is shown after the inputs are read.
pub fn load(
    mut bulk: BulkLoad<'_>,
    mut pipeline: Pipeline,
    statistics: &mut Statistics,
    (progress, prefix): (Progress, &'static str),
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
    let bar = progress.work();
    bar.set_prefix(prefix);
    write(
        bulk,
        &bar,
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
    let outcome = bulk.finish(|event| {
        match event {
            BulkEvent::Progress { done, total } => {
                bar.set_length(total);
                bar.set_position(done);
            }
            BulkEvent::Conflict {
                position,
                id,
                stored,
            } => failed = conflict(position, id, stored),
            _ => {}
        }
        if failed.is_err() {
            return ControlFlow::Break(());
        }
        interrupt.flow()
    });
    bar.finish_and_clear();
    failed?;
    match outcome {
        Err(Error::Interrupted { .. }) => Err(interrupted()),
        outcome => Ok(outcome?),
    }
}
