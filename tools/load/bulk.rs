//! Loading all documents at once.

use anyhow::Result;

use super::options::Options;
use super::{Load, Target, builder_of};
use crate::corpus::{bulk, half_of};

/// Loads everything that comes out of the pipeline.
pub fn load(target: Target, options: &Options, load: &mut Load) -> Result<()> {
    let bulk = match &target {
        // The cache is hardly used when pages are written once, so the sort has nearly all.
        Target::New(settings) => {
            let sort_bytes = 2 * half_of(options.memory);
            builder_of(settings, options.memory).bulk_create(&options.database, sort_bytes)?
        }
        Target::Existing(database) => database.bulk_load(half_of(options.memory))?,
    };
    let (pipeline, bar) = (&mut load.pipeline, &load.bar);
    let pushed = bulk::push_all(bulk, &mut load.ledger, || {
        pipeline.next(|bytes| bar.set_position(bytes))
    })?;
    load.start_writing();
    let report = pushed.write(&mut load.ledger, &load.bar, &load.interrupt)?;
    load.ledger.counts.inserted = report.inserted;
    load.ledger.counts.present = report.present;
    Ok(())
}
