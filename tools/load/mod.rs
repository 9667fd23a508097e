//! `simdb-load`, from the options to the summary.
//!
//! - [`options`]: the command line
//! - [`plan`]: all checks, before the first byte is read; the database
//! - [`exports`]: the recipe of inputs that simdb has exported
//! - [`unique`]: a load with `--unique` or `--on-exists`, which decides document by document; any
//!   other load is one bulk load
//! - [`duplicates`], [`summary`]: the results

mod duplicates;
mod exports;
pub mod options;
mod plan;
mod summary;
mod unique;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow};
use simdb::{Fingerprinter, OnExists};

use self::duplicates::DuplicateReport;
use self::options::Options;
use self::plan::{LoadTarget, Plan};
use self::unique::{FilteredLoad, RecordStream};
use crate::console::interrupt::Interrupt;
use crate::console::{Output, counted};
use crate::corpus::bulk;
use crate::corpus::pipeline::{Pipeline, PipelineConfig, TextsKept};
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
    statistics.leaves_stored = options.on_exists.is_given();
    let settings = target.settings();
    let mut duplicates = DuplicateReport::new(options.show_duplicates, duplicates, settings.keys)?;
    let config = PipelineConfig {
        inputs,
        wanted,
        fingerprinter: Fingerprinter::new(settings.recipe.clone()),
        threads: options.threads,
        // A report of duplicates shows texts even if the database does not keep them.
        texts: match settings.keep_texts || rule.is_some() {
            true => TextsKept::All,
            false => TextsKept::None,
        },
        uncompared: None,
    };
    let pipeline = Pipeline::start(config, options.progress, interrupt.clone())?;
    let is_new = matches!(target, LoadTarget::New(_));
    let with_state = |error| naming_the_state(error, &options.database, is_new);
    let on_exists = options.on_exists.rule();
    // A bulk load replaces no document.
    if rule.is_some() || on_exists != OnExists::Keep {
        let mut load = FilteredLoad {
            database: &options.database,
            progress: options.progress,
            memory,
            rule,
            on_exists,
            keep_texts: settings.keep_texts,
            records: RecordStream::new(pipeline),
            statistics: &mut statistics,
            duplicates: &mut duplicates,
            interrupt,
            stored: 0,
            firsts: HashMap::new(),
        };
        let loaded = load.run(target);
        let stored = load.stored;
        loaded.map_err(|error| match stored {
            0 => with_state(error),
            stored => error.context(format!(
                "{} of the load are stored in {}, in parts because of --memory; repeat the load to \
                 add the others",
                counted(stored, "document"),
                options.database.display()
            )),
        })?;
    } else {
        let loaded = target
            .bulk_load(&options.database, memory)
            .and_then(|bulk| {
                bulk::load(
                    bulk,
                    pipeline,
                    &mut statistics,
                    options.progress,
                    &interrupt,
                )
            });
        let report = loaded.map_err(with_state)?;
        statistics.write_deferred()?;
        statistics.counts.inserted = report.inserted;
        statistics.counts.present += report.present;
        statistics.counts.expired = report.expired;
    }

    // All ids may be taken, which a load finds at its end.
    statistics.refuse_all_rejected()?;
    // The load has succeeded. A report that cannot be published must not withhold the other.
    let published = duplicates.publish(&options.database, &options.new.recipe);
    statistics.finish().and(published)?;
    duplicates.show(&options.database, &options.new.recipe, output)?;
    summary::print(options, rule, statistics.counts, started.elapsed(), output)
}
