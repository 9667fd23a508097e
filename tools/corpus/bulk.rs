//! A bulk load of a pipeline: documents are pushed in input order, then sorted and written at once.

use std::ops::ControlFlow;

use anyhow::Result;
use indicatif::ProgressBar;
use simdb::bulk::{BulkLoad, BulkReport, Conflict};
use simdb::{DocId, Document, Error, Fingerprint};

use super::pipeline::{Pipeline, PipelineRecord};
use super::positions::RecordPositions;
use super::statistics::Statistics;
use crate::console::error_text;
use crate::console::interrupt::{Interrupt, interrupted};
use crate::console::progress::{ProgressMode, handler};
use crate::formats::Reject;

/// Loads all documents of a pipeline. Counts in `statistics` bad records, and documents whose id is
/// stored with another fingerprint. The caller writes the report of bad records, by
/// [`Statistics::write_deferred`].
pub fn load(
    mut bulk: BulkLoad<'_>,
    mut pipeline: Pipeline,
    statistics: &mut Statistics,
    progress: ProgressMode,
    interrupt: &Interrupt,
) -> Result<BulkReport> {
    let mut positions = RecordPositions::default();
    // simdb has given the ids of documents with keys.
    let mut has_keys = false;
    // The load finds ids that are taken after it has read everything, and reports them by id.
    statistics.defer();
    while let Some(batch) = pipeline.next()? {
        let unit = statistics.inputs[batch.input].format.unit();
        for entry in batch.records {
            statistics.counts.read += 1;
            match entry {
                PipelineRecord::Reject(reject) => statistics.reject(batch.input, &reject)?,
                PipelineRecord::Document(number, document) => {
                    let Document {
                        reliable, arrival, ..
                    } = document;
                    let id = document.key.is_none().then_some(document.id);
                    has_keys |= id.is_none();
                    match bulk.push(document) {
                        // The load can go on without the document.
                        Err(error @ Error::ArrivalAhead { .. }) => {
                            let reason = error_text(&error);
                            let reject = Reject { number, id, reason };
                            statistics.reject(batch.input, &reject)?;
                            continue;
                        }
                        pushed => pushed?,
                    }
                    statistics.accept(reliable, arrival);
                    positions.push(batch.input, unit, number);
                }
            }
        }
    }
    statistics.refuse_all_rejected()?;
    let report = write(
        bulk,
        &progress.work(),
        interrupt,
        |position, id, stored| match positions.find(position) {
            Some((input, number)) => {
                let id = (!has_keys).then_some(id);
                statistics.conflict(input, number, id, stored)
            }
            None => unreachable!("a conflict has the position of a pushed document"),
        },
    )?;
    Ok(report)
}

/// Writes all pushed documents. Calls `conflict` with the position, the id and the stored
/// fingerprint of each document whose id is stored with another fingerprint. An error of `conflict`
/// ends the load, and the database does not change.
pub fn write(
    bulk: BulkLoad<'_>,
    bar: &ProgressBar,
    interrupt: &Interrupt,
    mut conflict: impl FnMut(u64, DocId, Fingerprint) -> Result<()>,
) -> Result<BulkReport> {
    // `finish` takes no error from its callback, so the first one is kept here.
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
        // Ctrl-C, since `failed` is returned above.
        Err(Error::Interrupted { .. }) => Err(interrupted()),
        outcome => Ok(outcome?),
    }
}
