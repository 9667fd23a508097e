//! The first reading of a corpus: into a database of its own.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use simdb::{Database, Fingerprinter, Settings};

use super::options::Dedup;
use crate::console::interrupt::Interrupt;
use crate::corpus::bulk;
use crate::corpus::inputs::Input;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::pipeline::{Pipeline, PipelineConfig};
use crate::corpus::statistics::{Rejected, Statistics};

/// A corpus as a database.
pub struct Loaded {
    pub database: Database,
    /// How many records were read, bad ones among them.
    pub records: u64,
    /// The bad records.
    pub rejected: Rejected,
    /// Whether there are records with the same id and fingerprint as an earlier one.
    pub has_repeats: bool,
}

/// The inputs, with copies of those that can be read only once.
pub fn copies_of_streams(
    inputs: Vec<Input>,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Input>> {
    let copied = inputs.into_iter().enumerate().map(|(number, input)| {
        if input.source.path().is_some() && input.source.size_bytes().is_some() {
            return Ok(input);
        }
        let name = input.source.path().and_then(Path::file_name);
        // The end of the name says how it is compressed.
        let name = name.unwrap_or_default().to_string_lossy();
        let path = folder.join(format!("{number}-{name}"));
        let cannot = || format!("cannot copy {} to {}", input.source.name(), path.display());
        let mut stream: Box<dyn io::Read + Send> = match input.source.path() {
            None => Box::new(io::stdin()),
            Some(path) => Box::new(File::open(path).with_context(cannot)?),
        };
        let mut copy = File::create_new(&path).with_context(cannot)?;
        let (done, copied) = std::sync::mpsc::channel();
        // A pipe may be silent for ever, which must not keep an interrupted tool from ending.
        std::thread::spawn(move || done.send(io::copy(&mut stream, &mut copy).map(drop)));
        loop {
            interrupt.check()?;
            match copied.recv_timeout(PATIENCE) {
                Ok(outcome) => break outcome.with_context(cannot)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("a thread failed that copies {}", input.source.name())
                }
            }
        }
        let source = input.source.copied_to(&path)?;
        Ok(Input { source, ..input })
    });
    copied.collect()
}

/// How often a waiting tool looks whether it was interrupted.
const PATIENCE: Duration = Duration::from_millis(100);

/// Loads all documents into a new database in a folder.
pub fn load(
    options: &Dedup,
    settings: &Settings,
    folder: &Path,
    ledger: &mut Statistics,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    let path = folder.join("corpus.simdb");
    let pipeline = Pipeline::start(
        PipelineConfig {
            inputs: ledger.inputs.clone(),
            wanted: options.wanted()?,
            fingerprinter: Fingerprinter::new(settings.recipe.clone()),
            threads: options.threads,
            keep_texts: settings.keep_texts,
        },
        options.progress,
        interrupt.clone(),
    )?;
    let builder = options.builder_of(settings);
    let bulk = builder
        .clone()
        .bulk_create(&path, MemoryBudget::new(options.memory).sort_bytes())?;
    ledger.rejected = Some(Rejected::default());
    let progress = (options.progress, "loading");
    let report = bulk::load(bulk, pipeline, ledger, progress, interrupt)?;
    // They are counted again when they are copied.
    let records = std::mem::take(&mut ledger.counts.read);
    Ok(Loaded {
        database: builder.open(&path)?,
        records,
        rejected: ledger.rejected.take().unwrap_or_default(),
        has_repeats: report.present > 0,
    })
}
