//! Results of a whole database: the output, the progress and the interrupt of `pairs` and `clusters`.
//! `export` writes by [`write_output`] too.

mod table;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;

pub use self::table::{ResultTable, SearchSettings};
use crate::console::file::NewFile;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, OutputPaths, Overwrite, is_stdout};
use crate::console::progress::{Progress, handler};
use crate::console::{Output, note};
use crate::formats::parquet::write::ByteSink;
use crate::formats::{Format, refuse_other_name};

/// The format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// JSON Lines.
    #[default]
    Jsonl,
    /// Comma-separated values.
    Csv,
    /// Columns of Parquet.
    Parquet,
}

impl From<ResultFormat> for Format {
    fn from(format: ResultFormat) -> Self {
        match format {
            ResultFormat::Jsonl => Self::Jsonl,
            ResultFormat::Csv => Self::Csv,
            ResultFormat::Parquet => Self::Parquet,
        }
    }
}

/// The options of results.
#[derive(Debug, Args)]
pub struct ResultOptions {
    /// The format of the results
    #[arg(long, value_enum, default_value_t)]
    pub format: ResultFormat,

    /// Write to this new file, which appears when it is whole [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// Print the counts as one line of JSON; needs -o
    #[arg(long, requires = "output")]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

impl ResultOptions {
    /// Calls `find` with a sink for the results that it finds in a database.
    pub fn write<T>(
        &self,
        database: &Path,
        output: &mut Output,
        find: impl FnOnce(&mut ResultSink<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.json && self.is_on_stdout() {
            bail!("--json counts on standard output; name a file for the rest with -o");
        }
        let target = self.target(database)?;
        write_output(target, self.format.into(), output, |write, interrupt| {
            find(&mut ResultSink {
                write,
                interrupt: interrupt.clone(),
                line: Vec::new(),
            })
        })
    }

    /// The output that is named, unless that is standard output.
    fn target(&self, database: &Path) -> Result<Option<OutputPath>> {
        let Some(path) = self.output.as_deref().filter(|path| !is_stdout(path)) else {
            return Ok(None);
        };
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(database, "the database");
        let target = paths.file("--output", path)?;
        if target.is_file() {
            refuse_other_name(path, self.format.into())?;
        }
        Ok(Some(target))
    }

    /// A search that has not begun. Its bar is hidden if the results go to the same terminal.
    pub fn search(&self, sink: &ResultSink<'_>) -> Search {
        let is_mixed = self.is_on_stdout() && std::io::stdout().is_terminal();
        let progress = match self.progress {
            Progress::Auto if is_mixed => Progress::Never,
            progress => progress,
        };
        Search {
            bar: progress.work(),
            interrupt: sink.interrupt.clone(),
            outcome: Ok(()),
        }
    }

    /// Prints the counts: on standard error if the results are on standard output.
    pub fn print_counts(
        &self,
        output: &mut Output,
        text: String,
        counts: &impl Serialize,
    ) -> Result<()> {
        if self.is_on_stdout() {
            note(text);
            Ok(())
        } else if self.json {
            output.json(counts)
        } else {
            output.line(text)
        }
    }

    fn is_on_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdout)
    }
}

/// Calls `write` with a sink for bytes: a new file, a stream, or standard output. Only a new file is
/// worth an interrupt that removes it; a stream may not be read for ever, so there Ctrl-C ends the
/// process on the spot.
pub fn write_output<T>(
    target: Option<OutputPath>,
    format: Format,
    output: &mut Output,
    write: impl FnOnce(&mut ByteSink<'_>, &Interrupt) -> Result<T>,
) -> Result<T> {
    let Some(target) = target else {
        let is_text = matches!(format, Format::Jsonl | Format::Csv);
        if !is_text && std::io::stdout().is_terminal() {
            bail!("raw bytes would garble the terminal; redirect them, or use -o FILE");
        }
        let written = write(&mut |bytes| output.bytes(bytes), &Interrupt::default())?;
        output.flush()?;
        return Ok(written);
    };
    let interrupt = if target.is_file() {
        Interrupt::listen()?
    } else {
        Interrupt::default()
    };
    let mut file = NewFile::create(target)?;
    let written = write(&mut |bytes| Ok(file.write_all(bytes)?), &interrupt)?;
    interrupt.check()?;
    file.publish()?;
    Ok(written)
}

/// A consumer of results.
pub struct ResultSink<'w> {
    write: &'w mut ByteSink<'w>,
    interrupt: Interrupt,
    /// The buffer of a line.
    line: Vec<u8>,
}

impl ResultSink<'_> {
    /// Writes bytes.
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

    /// Returns an error if the tool is to stop.
    pub fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }
}

/// A search of the library, which can only go on or stop, and the error that stopped it.
pub struct Search {
    bar: ProgressBar,
    interrupt: Interrupt,
    outcome: Result<()>,
}

impl Search {
    /// The progress handler of the snapshot that is searched.
    pub fn handler(&self) -> impl Fn(simdb::Progress) -> ControlFlow<()> + Send + Sync + use<> {
        handler(&self.bar, &self.interrupt)
    }

    /// Stops the search after an error or an interrupt.
    pub fn go_on_after(&mut self, outcome: Result<()>, sink: &ResultSink<'_>) -> ControlFlow<()> {
        self.outcome = outcome.and_then(|()| sink.check_interrupt());
        match self.outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Returns the error that stopped the search; `outcome` is the result of the library.
    pub fn finish(self, outcome: simdb::Result<()>) -> Result<()> {
        self.bar.finish_and_clear();
        self.outcome.and(self.interrupt.check())?;
        Ok(outcome?)
    }
}
