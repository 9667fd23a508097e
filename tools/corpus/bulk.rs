//! Documents to a database, sorted, all at once: pushed as they come, then written.

use std::ops::ControlFlow;

use anyhow::Result;
use indicatif::ProgressBar;
use simdb::{BulkLoad, BulkReport, Conflict, DocId, Error, Fingerprint};

use super::ledger::Ledger;
use super::pipeline::{Batch, Entry};
use super::places::Places;
use crate::console::interrupt::{Interrupt, interrupted};
use crate::console::progress::handler;

/// Documents that are pushed and not yet written, and where each was.
pub struct Pushed<'d> {
    bulk: BulkLoad<'d>,
    places: Places,
}

/// Pushes every document that comes out of a pipeline.
pub fn push_all<'d>(
    mut bulk: BulkLoad<'d>,
    ledger: &mut Ledger,
    mut next: impl FnMut() -> Result<Option<Batch<Entry>>>,
) -> Result<Pushed<'d>> {
    let mut places = Places::default();
    while let Some(batch) = next()? {
        let unit = ledger.inputs[batch.input].format.unit();
        for entry in batch.records {
            ledger.counts.read += 1;
            match entry {
                Entry::Reject(reject) => ledger.reject(batch.input, &reject)?,
                Entry::Document(number, document) => {
                    ledger.counts.unreliable += u64::from(!document.reliable);
                    bulk.push(document)?;
                    places.push(batch.input, unit, number);
                }
            }
        }
    }
    Ok(Pushed { bulk, places })
}

impl Pushed<'_> {
    /// Writes them; documents whose ids are taken go to the ledger.
    pub fn write(
        self,
        ledger: &mut Ledger,
        bar: &ProgressBar,
        interrupt: &Interrupt,
    ) -> Result<BulkReport> {
        let Self { bulk, places } = self;
        write(bulk, bar, interrupt, |position, id, stored| {
            match places.find(position) {
                Some((input, number)) => ledger.conflict(input, number, id, stored),
                None => unreachable!("the load reports a document that was never pushed"),
            }
        })
    }
}

/// Writes what was pushed. `conflict` is told of each document whose id is taken: by its position,
/// its id and the fingerprint that is there; an error from it ends the load, which then changes
/// nothing.
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
    failed?;
    match outcome {
        Err(Error::Interrupted { .. }) => Err(interrupted()),
        outcome => Ok(outcome?),
    }
}
