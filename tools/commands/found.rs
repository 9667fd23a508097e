//! What verbs share that write a line for each thing they find in a whole database: where the lines
//! go, how far the search is, and how it is stopped.

#[cfg(feature = "parquet")]
pub mod parquet;

use std::io::{BufWriter, IntoInnerError, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;
use simdb::Recipe;

use crate::console::files::{persist_new, temporary_beside};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::console::{Output, note};

/// How what is found is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FoundFormat {
    /// JSON Lines.
    #[default]
    Jsonl,
    /// Comma-separated values.
    Csv,
    /// Columns of Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl FoundFormat {
    /// Whether it is no text.
    fn is_binary(self) -> bool {
        !matches!(self, Self::Jsonl | Self::Csv)
    }
}

/// Where lines go, and what is said of them.
#[derive(Debug, Args)]
pub struct FoundOptions {
    /// How to write them
    #[arg(long, value_enum, default_value_t)]
    pub format: FoundFormat,

    /// Write to this new file, which appears when it is whole [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print what was found, counted, as one line of JSON; needs -o
    #[arg(long, requires = "output")]
    json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

/// What was looked through.
#[cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "lines do not say it")
)]
#[derive(Clone, Copy, Debug)]
pub struct Of<'r> {
    /// The recipe that made their fingerprints.
    pub recipe: &'r Recipe,
    /// How far apart they are at most.
    pub radius: u32,
}

/// Where lines are written to, and whether to go on.
pub struct Sink<'w> {
    write: &'w mut dyn FnMut(&[u8]) -> Result<()>,
    interrupt: Interrupt,
    /// A line in the making.
    line: Vec<u8>,
}

impl Sink<'_> {
    /// Writes whole lines.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        (self.write)(bytes)
    }

    /// Writes an object as a line of JSON.
    pub fn json(&mut self, object: &impl Serialize) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, object)?;
        self.line.push(b'\n');
        (self.write)(&self.line)
    }

    /// An error if the tool is to stop.
    pub fn check(&self) -> Result<()> {
        self.interrupt.check()
    }
}

/// A search that goes on until something fails or somebody interrupts it; the library knows of
/// neither.
pub struct Search {
    bar: ProgressBar,
    failed: Result<()>,
}

/// How finely progress is told.
const PROGRESS_STEPS: u64 = 10_000;

impl Search {
    /// Shows which share is done.
    pub fn progress(&self, done: f64) {
        self.bar.set_length(PROGRESS_STEPS);
        self.bar.set_position((done * PROGRESS_STEPS as f64) as u64);
    }

    /// Whether to go on after this outcome.
    pub fn goes_on(&mut self, outcome: Result<()>, sink: &Sink<'_>) -> ControlFlow<()> {
        self.failed = outcome.and_then(|()| sink.check());
        match self.failed {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// What ended it.
    pub fn finish(self) -> Result<()> {
        self.bar.finish_and_clear();
        self.failed
    }
}

impl FoundOptions {
    /// A search that has not begun. Its bar is not shown where the lines are, on the same terminal.
    pub fn search(&self, prefix: &'static str) -> Search {
        let is_shown_in_between = self.output.is_none() && std::io::stdout().is_terminal();
        let progress = match self.progress {
            Progress::Auto if is_shown_in_between => Progress::Never,
            progress => progress,
        };
        let bar = progress.work();
        bar.set_prefix(prefix);
        Search {
            bar,
            failed: Ok(()),
        }
    }

    /// Lets `find` write what it finds to where the options say.
    pub fn write<Found>(
        &self,
        output: &mut Output,
        find: impl FnOnce(&mut Sink<'_>) -> Result<Found>,
    ) -> Result<Found> {
        if let Some(path) = &self.output {
            return to_file(path, find);
        }
        if self.format.is_binary() && std::io::stdout().is_terminal() {
            bail!("raw bytes would garble the terminal; redirect them, or use -o FILE");
        }
        let found = find(&mut Sink {
            write: &mut |bytes| output.bytes(bytes),
            interrupt: Interrupt::default(),
            line: Vec::new(),
        })?;
        output.flush()?;
        Ok(found)
    }

    /// Says what was found, beside the lines or in their place.
    pub fn say(&self, output: &mut Output, said: String, counts: &impl Serialize) -> Result<()> {
        if self.json {
            return output.json(counts);
        }
        match self.output {
            Some(_) => output.line(said),
            None => {
                note(said);
                Ok(())
            }
        }
    }
}

/// Writes to a file that is not there yet, and is not until it is whole.
fn to_file<Found>(path: &Path, find: impl FnOnce(&mut Sink<'_>) -> Result<Found>) -> Result<Found> {
    let cannot = || format!("cannot write {}", path.display());
    if path.symlink_metadata().is_ok() {
        bail!(
            "{} already exists; remove it, or choose another name",
            path.display()
        );
    }
    let interrupt = Interrupt::listen()?;
    let temporary = temporary_beside(path).with_context(cannot)?;
    let mut writer = BufWriter::with_capacity(1 << 16, temporary);
    let found = find(&mut Sink {
        write: &mut |bytes| writer.write_all(bytes).with_context(cannot),
        interrupt: interrupt.clone(),
        line: Vec::new(),
    })?;
    let (file, temporary) = writer
        .into_inner()
        .map_err(IntoInnerError::into_error)
        .with_context(cannot)?
        .into_parts();
    file.sync_all().with_context(cannot)?;
    interrupt.check()?;
    persist_new(temporary, path).with_context(cannot)?;
    Ok(found)
}
