//! The first pass over a corpus: the load into a temporary database.

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

pub struct LoadedCorpus {
    pub database: Database,
    /// The number of records, bad ones included.
    pub records: u64,
    /// The bad records.
    pub rejected: Rejected,
    /// `true` if some record has the id and the fingerprint of an earlier record.
    pub has_repeats: bool,
}

/// Replaces standard input and pipes by copies, because the second pass reads all inputs again.
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
        // The copy keeps the extension, which determines the compression.
        let name = name.unwrap_or_default().to_string_lossy();
        let path = folder.join(format!("{number}-{name}"));
        let cannot = || format!("cannot copy {} to {}", input.source.name(), path.display());
        let mut stream: Box<dyn io::Read + Send> = match input.source.path() {
            None => Box::new(io::stdin()),
            Some(path) => Box::new(File::open(path).with_context(cannot)?),
        };
        let mut copy = File::create_new(&path).with_context(cannot)?;
        let (done, copied) = std::sync::mpsc::channel();
        // A pipe without data blocks its reader, and this thread must notice an interrupt.
        std::thread::spawn(move || done.send(io::copy(&mut stream, &mut copy).map(drop)));
        loop {
            interrupt.check()?;
            match copied.recv_timeout(INTERRUPT_CHECK) {
                Ok(outcome) => break outcome.with_context(cannot)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the thread that copies {} failed", input.source.name())
                }
            }
        }
        let source = input.source.copied_to(&path)?;
        Ok(Input { source, ..input })
    });
    copied.collect()
}

/// The copy of a stream checks for an interrupt every 100 ms.
const INTERRUPT_CHECK: Duration = Duration::from_millis(100);

/// Loads all documents into a temporary database in `folder`.
pub fn load(
    options: &Dedup,
    settings: &Settings,
    folder: &Path,
    statistics: &mut Statistics,
    interrupt: &Interrupt,
) -> Result<LoadedCorpus> {
    let path = folder.join("corpus.simdb");
    let pipeline = Pipeline::start(
        PipelineConfig {
            inputs: statistics.inputs.clone(),
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
    statistics.rejected = Some(Rejected::default());
    let report = bulk::load(bulk, pipeline, statistics, options.progress, interrupt)?;
    // The second pass counts the records again.
    let records = std::mem::take(&mut statistics.counts.read);
    Ok(LoadedCorpus {
        database: builder.open(&path)?,
        records,
        rejected: statistics.rejected.take().unwrap_or_default(),
        has_repeats: report.present > 0,
    })
}
