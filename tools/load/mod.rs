//! Loading, from the options to the summary.
//!
//! - [`options`]: the command line
//! - [`plan`]: all checks, before anything is read
//! - [`exports`]: the recipe of files that simdb has exported
//! - [`unique`]: the load without near-duplicates, one document after another; other loads are
//!   written all at once
//! - [`duplicates`], [`summary`]: the results

mod duplicates;
mod exports;
pub mod options;
mod plan;
mod summary;
mod unique;

use std::time::Instant;

use anyhow::Result;
use simdb::Fingerprinter;

use self::duplicates::Duplicates;
use self::options::Options;
use self::plan::{LoadTarget, Plan};
use crate::console::Output;
use crate::console::interrupt::Interrupt;
use crate::corpus::bulk;
use crate::corpus::pipeline::{Pipeline, PipelineConfig};
use crate::corpus::statistics::Statistics;

/// Loads the inputs that the options name.
pub fn run(options: &Options, output: &mut Output) -> Result<()> {
    let started = Instant::now();
    let interrupt = Interrupt::listen()?;
    let Plan {
        inputs,
        wanted,
        rule,
        target,
        rejects,
        duplicates,
        memory,
    } = Plan::new(options)?;
    let mut statistics = Statistics::new(inputs.clone(), options.on_error, rejects)?;
    let settings = target.settings();
    let config = PipelineConfig {
        inputs,
        wanted,
        fingerprinter: Fingerprinter::new(settings.recipe.clone()),
        threads: options.threads,
        // A report of duplicates shows texts even if the database does not keep them.
        keep_texts: settings.keep_texts || rule.is_some(),
    };
    let pipeline = Pipeline::start(config, options.progress, interrupt.clone())?;

    let mut dropped = None;
    if let Some(rule) = rule {
        let duplicates = Duplicates::new(options.show_duplicates, duplicates)?;
        let mut load = unique::UniqueLoad {
            options,
            memory,
            rule,
            pipeline,
            statistics: &mut statistics,
            duplicates,
            interrupt,
        };
        load.run(target)?;
        dropped = Some(load.duplicates);
    } else {
        let bulk = match &target {
            LoadTarget::New(settings) => memory
                .builder(settings)
                .bulk_create(&options.database, memory.sort_new_bytes())?,
            LoadTarget::Existing(database) => database.bulk_load(memory.sort_bytes())?,
        };
        let report = bulk::load(
            bulk,
            pipeline,
            &mut statistics,
            options.progress,
            &interrupt,
        )?;
        statistics.counts.inserted = report.inserted;
        statistics.counts.present = report.present;
    }

    // One report is published even if the other cannot be.
    let reported = dropped.as_mut().map_or(Ok(()), Duplicates::publish);
    statistics.finish().and(reported)?;
    if let Some(dropped) = dropped {
        dropped.show(&options.database, options.new.recipe.builder()?, output)?;
    }
    summary::print(options, statistics.counts, started.elapsed(), output)
}
