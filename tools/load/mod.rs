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

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow};
use simdb::Fingerprinter;

use self::duplicates::Duplicates;
use self::options::Options;
use self::plan::{LoadTarget, Plan};
use crate::console::interrupt::Interrupt;
use crate::console::{Answer, Output};
use crate::corpus::bulk;
use crate::corpus::pipeline::{Pipeline, PipelineConfig};
use crate::corpus::statistics::Statistics;

/// The error of a load that failed, which says what is at the path now.
fn naming_the_state(error: anyhow::Error, path: &Path, is_new: bool) -> anyhow::Error {
    let path = path.display();
    match error.downcast_ref() {
        Some(simdb::Error::AlreadyExists { .. }) if is_new => anyhow!(
            "nothing was loaded: another process has created {path} meanwhile; repeat the load to \
             add to it"
        ),
        Some(simdb::Error::CommitUnknown { .. }) => error.context(format!(
            "the load into {path} failed in its last step: all of it is there, or nothing; repeat \
             the load, which is harmless"
        )),
        _ if is_new => error.context(format!("nothing was loaded: {path} was not created")),
        _ => error.context(format!("nothing was loaded: {path} is as it was")),
    }
}

/// Loads the inputs that the options name.
pub fn run(options: &Options, output: &mut Output) -> Result<Answer> {
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

    let is_new = matches!(target, LoadTarget::New(_));
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
        load.run(target)
            .map_err(|error| naming_the_state(error, &options.database, is_new))?;
        dropped = Some(load.duplicates);
    } else {
        let bulk = match &target {
            LoadTarget::New(settings) => memory
                .builder(settings)
                .bulk_create(&options.database, memory.sort_new_bytes()),
            LoadTarget::Existing(database) => database.bulk_load(memory.sort_bytes()),
        };
        let loaded = bulk.map_err(anyhow::Error::from).and_then(|bulk| {
            bulk::load(
                bulk,
                pipeline,
                &mut statistics,
                options.progress,
                &interrupt,
            )
        });
        let report =
            loaded.map_err(|error| naming_the_state(error, &options.database, is_new))?;
        statistics.counts.inserted = report.inserted;
        statistics.counts.present = report.present;
    }

    // One report is published even if the other cannot be.
    let reported = dropped.as_mut().map_or(Ok(()), Duplicates::publish);
    statistics.finish().and(reported)?;
    if let Some(dropped) = dropped {
        dropped.show(&options.database, options.new.recipe.builder()?, output)?;
    }
    summary::print(options, statistics.counts, started.elapsed(), output)?;
    Ok(Answer::Yes)
}
