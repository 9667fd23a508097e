//! What verbs share that write a line for each thing they find in a whole database: where the lines
//! go, how far the search is, and how it is stopped.

#[cfg(feature = "parquet")]
pub mod parquet;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;
use simdb::Recipe;

use crate::console::file::NewFile;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPaths, Overwrite, is_stdout};
use crate::console::progress::{Progress, show_share};
use crate::console::{Output, note};
use crate::formats::{Format, refuse_other_name};

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

impl From<FoundFormat> for Format {
    fn from(format: FoundFormat) -> Self {
        match format {
            FoundFormat::Jsonl => Self::Jsonl,
            FoundFormat::Csv => Self::Csv,
            #[cfg(feature = "parquet")]
            FoundFormat::Parquet => Self::Parquet,
        }
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

    #[command(flatten)]
    overwrite: Overwrite,

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

impl Search {
    /// Shows which share is done.
    pub fn progress(&self, done: f64) {
        show_share(&self.bar, done);
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
        let is_shown_in_between = self.is_on_stdout() && std::io::stdout().is_terminal();
        let progress = match self.progress {
            Progress::Auto if is_shown_in_between => Progress::Never,
            progress => progress,
        };
        let bar = progress.shares();
        bar.set_prefix(prefix);
        Search {
            bar,
            failed: Ok(()),
        }
    }

    /// Lets `find` write what it finds in a database to where the options say.
    pub fn write<Found>(
        &self,
        database: &Path,
        output: &mut Output,
        find: impl FnOnce(&mut Sink<'_>) -> Result<Found>,
    ) -> Result<Found> {
        if self.json && self.is_on_stdout() {
            bail!("--json counts on standard output; name a file for the rest with -o");
        }
        let write = |write: &mut dyn FnMut(&[u8]) -> Result<()>, interrupt: &Interrupt| {
            find(&mut Sink {
                write,
                interrupt: interrupt.clone(),
                line: Vec::new(),
            })
        };
        let Some(path) = self.output.as_deref().filter(|path| !is_stdout(path)) else {
            if self.format.is_binary() && std::io::stdout().is_terminal() {
                bail!("raw bytes would garble the terminal; redirect them, or use -o FILE");
            }
            let found = write(&mut |bytes| output.bytes(bytes), &Interrupt::default())?;
            output.flush()?;
            return Ok(found);
        };
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(database, "the database");
        let target = paths.file("--output", path)?;
        // A stream may not be read for ever, so there Ctrl-C ends the process on the spot.
        let mut interrupt = Interrupt::default();
        if target.is_file() {
            refuse_other_name(path, self.format.into())?;
            interrupt = Interrupt::listen()?;
        }
        let mut file = NewFile::create(target)?;
        let found = write(&mut |bytes| Ok(file.write_all(bytes)?), &interrupt)?;
        interrupt.check()?;
        file.publish()?;
        Ok(found)
    }

    /// Says what was found, beside the lines or in their place.
    pub fn say(&self, output: &mut Output, said: String, counts: &impl Serialize) -> Result<()> {
        match self.is_on_stdout() {
            true => note(said),
            false if self.json => output.json(counts)?,
            false => output.line(said)?,
        }
        Ok(())
    }

    /// Whether the lines go to standard output.
    fn is_on_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdout)
    }
}
