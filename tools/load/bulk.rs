//! Loading all documents at once: pushed as they come, then sorted and written.

use std::ops::ControlFlow;

use anyhow::Result;
use simdb::{BulkEvent, BulkLoad, DocId, Error, Fingerprint};

use super::options::Options;
use super::{Load, Target, builder_of};
use crate::console::interrupt::{Interrupt, interrupted};
use crate::corpus::half_of;
use crate::corpus::pipeline::Entry;
use crate::corpus::places::Places;

/// Loads everything that comes out of the pipeline.
pub fn load(target: Target, options: &Options, load: &mut Load) -> Result<()> {
    match &target {
        // The cache is hardly used when pages are written once, so the sort has nearly all.
        Target::New(settings) => {
            let sort_bytes = 2 * half_of(options.memory);
            let bulk =
                builder_of(settings, options.memory).bulk_create(&options.database, sort_bytes)?;
            push_all(bulk, load)?;
        }
        Target::Existing(database) => push_all(database.bulk_load(half_of(options.memory))?, load)?,
    }
    Ok(())
}

fn push_all(mut bulk: BulkLoad<'_>, load: &mut Load) -> Result<()> {
    let mut places = Places::default();
    while let Some(batch) = load.next()? {
        let unit = load.ledger.inputs[batch.input].format.unit();
        for entry in batch.records {
            load.ledger.counts.read += 1;
            match entry {
                Entry::Reject(reject) => load.ledger.reject(batch.input, &reject)?,
                Entry::Document(number, document) => {
                    load.ledger.counts.unreliable += u64::from(!document.reliable);
                    bulk.push(document)?;
                    places.push(batch.input, unit, number);
                }
            }
        }
    }
    finish(bulk, &places, load)
}

fn finish(bulk: BulkLoad<'_>, places: &Places, load: &mut Load) -> Result<()> {
    let mut stopped_by = None;
    load.start_writing();
    let Load {
        ledger,
        bar,
        interrupt,
        ..
    } = load;
    let mut conflict = |position, id: DocId, stored: Fingerprint| match places.find(position) {
        Some((input, number)) => ledger.conflict(input, number, id, stored),
        None => unreachable!("the load reports a document that was never pushed"),
    };
    let outcome = bulk.finish(|event| {
        let step = match event {
            BulkEvent::Progress { done, total } => {
                bar.set_length(total);
                bar.set_position(done);
                Ok(())
            }
            BulkEvent::Conflict {
                position,
                id,
                stored,
            } => conflict(position, id, stored),
            _ => Ok(()),
        };
        flow(step, interrupt, &mut stopped_by)
    });
    match (outcome, stopped_by) {
        (_, Some(error)) => Err(error),
        (Err(Error::Interrupted { .. }), None) => Err(interrupted()),
        (Err(error), None) => Err(error.into()),
        (Ok(report), None) => {
            let counts = &mut ledger.counts;
            counts.inserted = report.inserted;
            counts.present = report.present;
            Ok(())
        }
    }
}

/// Goes on, or says why not.
fn flow(
    step: Result<()>,
    interrupt: &Interrupt,
    stopped_by: &mut Option<anyhow::Error>,
) -> ControlFlow<()> {
    match step {
        Ok(()) if !interrupt.is_set() => ControlFlow::Continue(()),
        Ok(()) => ControlFlow::Break(()),
        Err(error) => {
            *stopped_by = Some(error);
            ControlFlow::Break(())
        }
    }
}
