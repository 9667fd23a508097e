//! What both tools share of a command line: exit codes, errors, results on standard output,
//! sizes and durations as people write them.

pub mod duplicate;
pub mod file;
pub mod interrupt;
pub mod paths;
pub mod progress;
pub mod table;
mod units;

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

pub use self::units::{counted, duration, grouped, parse_duration, parse_memory, parse_size, size};

/// How a tool ends when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done, or it was found: exit code 0.
    Yes,
    /// A plain no: exit code 1.
    No,
}

/// It could not be done.
const EXIT_FAILED: u8 = 2;

/// Runs a tool and turns its outcome into the exit code: 0 for yes, 1 for no, 2 for an error,
/// which is printed with everything that caused it. A reader that closed our standard output has
/// seen enough: that is what was decided by then, and a success where nothing was.
pub fn run(tool: impl FnOnce(&mut Output) -> Result<Answer>) -> ExitCode {
    let mut output = Output::new();
    let outcome = tool(&mut output).and_then(|answer| {
        output.decided(answer);
        output.flush()?;
        Ok(answer)
    });
    let outcome = match outcome {
        Err(error) if error.is::<OutputClosed>() => Ok(output.decided),
        outcome => outcome,
    };
    match outcome {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => {
            // What was found before the error is still a result.
            let _ = output.flush();
            report(&error);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Prints an error and its causes, outermost first.
fn report(error: &anyhow::Error) {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  caused by: {cause}\n"));
    }
    // There is nobody left to tell when standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Tells the user something that is neither a result nor an error.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The reader of our standard output has closed it.
#[derive(Debug)]
pub struct OutputClosed;

impl std::fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl std::error::Error for OutputClosed {}

/// Standard output, locked and buffered: results, and nothing else.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    line_buffered: bool,
    decided: Answer,
}

impl Output {
    fn new() -> Self {
        let stdout = io::stdout();
        Self {
            line_buffered: stdout.is_terminal(),
            out: BufWriter::with_capacity(1 << 16, stdout.lock()),
            decided: Answer::Yes,
        }
    }

    /// How the tool will end, however much of what it says now is read.
    pub fn decided(&mut self, answer: Answer) {
        self.decided = answer;
    }

    /// Writes one line.
    pub fn line(&mut self, line: impl std::fmt::Display) -> Result<()> {
        let written = writeln!(self.out, "{line}");
        self.finish_line(written)
    }

    /// Writes one object as one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let written = serde_json::to_writer(&mut self.out, value)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"));
        self.finish_line(written)
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        written(self.out.write_all(bytes))
    }

    /// Hands everything written so far to whoever reads it.
    pub fn flush(&mut self) -> Result<()> {
        written(self.out.flush())
    }

    fn finish_line(&mut self, outcome: io::Result<()>) -> Result<()> {
        written(outcome)?;
        if self.line_buffered {
            self.flush()
        } else {
            Ok(())
        }
    }
}

/// Tells a closed pipe from a failed write.
fn written(outcome: io::Result<()>) -> Result<()> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => OutputClosed.into(),
        _ => anyhow::Error::new(error).context("cannot write to standard output"),
    })
}
