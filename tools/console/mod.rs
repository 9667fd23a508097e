//! Exit codes, errors, results on standard output, progress, and the files that commands write.

mod advice;
pub mod duplicate;
pub mod file;
pub mod interrupt;
pub mod logger;
pub mod missing_words;
pub mod paths;
pub mod progress;
pub mod prometheus;
pub mod rows;
pub mod table;
mod units;

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use simdb::error::LockHolder;

pub use self::advice::error_text;
pub use self::units::{
    counted, duration, grouped, parse_duration, parse_memory, parse_size, size, whole_seconds,
};

/// The exit code of a tool that found nothing, or found damage.
const EXIT_NO: u8 = 1;

/// The exit code of a tool that has failed.
const EXIT_FAILED: u8 = 2;

/// Runs a tool and returns its exit code: 0 or 1 as [`Output::decide`] set it, 2 for an error,
/// which is printed with its causes.
pub fn run(tool: impl FnOnce(&mut Output) -> Result<()>) -> ExitCode {
    let mut output = Output::new();
    match tool(&mut output).and_then(|()| output.flush()) {
        // A closed pipe, as of `| head`, is no failure: the exit code stays as it was decided by
        // then.
        Err(error) if !error.is::<OutputClosed>() => {
            // Results that were found before the error are printed before it.
            let _ = output.flush();
            report(&error);
            ExitCode::from(EXIT_FAILED)
        }
        _ if output.is_yes => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_NO),
    }
}

/// Prints an error and its causes, outermost first.
fn report(error: &anyhow::Error) {
    // Standard error may be closed.
    let _ = io::stderr().lock().write_all(report_text(error).as_bytes());
}

fn report_text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for cause in error.chain() {
        let start = if last.is_empty() {
            "error"
        } else {
            "  caused by"
        };
        let cause = error_text(cause);
        // Some packages repeat the text of the cause in their own.
        if last.is_empty() || !last.contains(&cause) {
            text.push_str(&format!("{start}: {cause}\n"));
            last = cause;
        }
    }
    if error.chain().any(is_full_disk) {
        text.push_str("  the disk is full: free some space on it\n");
    }
    if error.chain().any(is_open_elsewhere) {
        text.push_str("  several processes can share a database that `simdb-cli serve` serves\n");
    }
    text
}

fn is_open_elsewhere(cause: &(dyn std::error::Error + 'static)) -> bool {
    let holder = match cause.downcast_ref::<simdb::Error>() {
        Some(simdb::Error::Locked { holder, .. }) => holder,
        _ => return false,
    };
    matches!(holder, LockHolder::Process(_) | LockHolder::AnotherProcess)
}

fn is_full_disk(cause: &(dyn std::error::Error + 'static)) -> bool {
    let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    )
}

/// Prints a message that is neither a result nor an error.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The error that the reader of standard output has closed it.
#[derive(Debug)]
pub struct OutputClosed;

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl std::error::Error for OutputClosed {}

/// Standard output, locked and buffered, for results only; and the exit code.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    line_buffered: bool,
    /// `false` for exit code 1.
    is_yes: bool,
}

impl Output {
    fn new() -> Self {
        let stdout = io::stdout();
        Self {
            line_buffered: stdout.is_terminal(),
            out: BufWriter::with_capacity(1 << 16, stdout.lock()),
            is_yes: true,
        }
    }

    /// Sets the exit code: 0 for `true`, 1 for `false`. It must be set before the results are
    /// printed, because their reader may close the pipe.
    pub fn decide(&mut self, is_yes: bool) {
        self.is_yes = is_yes;
    }

    /// Writes one line.
    pub fn line(&mut self, line: impl fmt::Display) -> Result<()> {
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

    /// Writes the buffer to standard output.
    pub fn flush(&mut self) -> Result<()> {
        written(self.out.flush())
    }

    fn finish_line(&mut self, outcome: io::Result<()>) -> Result<()> {
        written(outcome)?;
        if self.line_buffered {
            self.flush()?;
        }
        Ok(())
    }
}

/// Maps a closed pipe to [`OutputClosed`].
fn written(outcome: io::Result<()>) -> Result<()> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => OutputClosed.into(),
        _ => anyhow::Error::new(error).context("cannot write to standard output"),
    })
}
