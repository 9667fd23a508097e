//! The first pass over a corpus: the load into a temporary database.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use simdb::{Database, Fingerprinter, Settings};

use super::options::Dedup;
use crate::console::interrupt::Interrupt;
use crate::corpus::bulk;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::pipeline::{Pipeline, PipelineConfig, TextsKept};
use crate::corpus::statistics::{Rejected, Statistics};
use crate::corpus::uncompared::Uncompared;

pub struct LoadedCorpus {
    pub database: Database,
    /// The number of records, bad ones included.
    pub records: u64,
    /// The bad records.
    pub rejected: Rejected,
    /// The number of records with the id of an earlier record. They are not in the database.
    pub repeats: u64,
}

/// Loads all documents into a temporary database at `path`, without what is not compared.
pub fn load(
    options: &Dedup,
    settings: &Settings,
    uncompared: Option<Arc<Uncompared>>,
    path: &Path,
    statistics: &mut Statistics,
    interrupt: &Interrupt,
) -> Result<LoadedCorpus> {
    let pipeline = Pipeline::start(
        PipelineConfig {
            inputs: statistics.inputs.clone(),
            wanted: options.wanted()?,
            fingerprinter: Fingerprinter::new(settings.recipe.clone()),
            threads: options.threads,
            texts: match options.needs_texts() {
                true => TextsKept::All,
                false => TextsKept::Unreliable,
            },
            uncompared,
        },
        options.copy.progress,
        interrupt.clone(),
    )?;
    let builder = options.builder_of(settings);
    let bulk = builder
        .clone()
        .bulk_create(path, MemoryBudget::new(options.memory).sort_bytes())?;
    statistics.rejected = Some(Rejected::default());
    statistics.count_repeats();
    let report = bulk::load(bulk, pipeline, statistics, options.copy.progress, interrupt)?;
    // The second pass counts the records again.
    let records = std::mem::take(&mut statistics.counts.read);
    Ok(LoadedCorpus {
        database: builder.open(path)?,
        records,
        rejected: statistics.rejected.take().unwrap_or_default(),
        repeats: report.present + statistics.repeats.take().unwrap_or_default(),
    })
}
