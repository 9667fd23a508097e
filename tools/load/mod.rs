//! `simdb-load`, from the options to the summary.
//!
//! - [`options`]: the command line
//! - [`plan`]: all checks, before the first byte is read; the database
//! - [`exports`]: the recipe of inputs that simdb has exported
//! - [`unique`]: a load with `--unique`, which decides document by document; any other load is one
//!   bulk load
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

use self::duplicates::DuplicateReport;
use self::options::Options;
use self::plan::Plan;
use self::unique::UniqueLoad;
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
    let mut duplicates = DuplicateReport::new(options.show_duplicates, duplicates)?;
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
    if let Some(rule) = rule {
        let mut load = UniqueLoad {
            database: &options.database,
            progress: options.progress,
            memory,
            rule,
            pipeline,
            statistics: &mut statistics,
            duplicates: &mut duplicates,
            interrupt,
        };
        load.run(target)?;
    } else {
        let bulk = target.bulk_load(&options.database, memory)?;
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

    // The load has succeeded. A report that cannot be published must not withhold the other.
    let published = duplicates.publish();
    statistics.finish().and(published)?;
    duplicates.show(&options.database, &options.new.recipe, output)?;
    summary::print(options, rule, statistics.counts, started.elapsed(), output)
}
