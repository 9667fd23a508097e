//! What both tools share of a command line: exit codes, errors, results on standard output,
//! sizes and durations as people write them.

pub mod content;
pub mod duplicate;
pub mod files;
pub mod interrupt;
pub mod named;
pub mod new_file;
pub mod new_folder;
pub mod output_file;
pub mod progress;
pub mod rows;
pub mod table;

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use jiff::fmt::friendly::{Designator, Spacing, SpanParser, SpanPrinter};
use jiff::{SignedDuration, Span, SpanRelativeTo, Unit};
use serde::Serialize;

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

/// Reads a size: `512MiB`, `2GB`, `65536`. For clap.
pub fn parse_size(text: &str) -> Result<u64, String> {
    parse_size::parse_size(text)
        .map_err(|_| format!("{text:?} is not a size; write it like 512MiB, 2GB or 65536"))
}

/// The least memory that sorting is given.
const LEAST_MEMORY_BYTES: u64 = 64 << 20;

/// Reads a size of memory to sort in. For clap.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if bytes < LEAST_MEMORY_BYTES => Err("it must be at least 64MiB".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Reads a duration: `90m`, `2d`, `1h 30m`. A day has 24 hours. For clap.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    SpanParser::new()
        .parse_span(text)
        .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
        .and_then(Duration::try_from)
        .map_err(|_| format!("{text:?} is not a duration; write it like 90m, 2d or 1h 30m"))
}

/// A duration as [`parse_duration`] reads it; many thousands of years in whole
/// seconds.
pub fn duration(duration: Duration) -> String {
    let parts = SignedDuration::try_from(duration)
        .and_then(Span::try_from)
        .and_then(|span| {
            let in_days = jiff::SpanRound::new()
                .largest(Unit::Day)
                .days_are_24_hours();
            span.round(in_days)
        });
    match parts {
        Ok(parts) => SpanPrinter::new()
            .designator(Designator::Compact)
            .spacing(Spacing::BetweenUnits)
            .span_to_string(&parts),
        Err(_) => format!("{}s", duration.as_secs()),
    }
}

/// An integer with its thousands set off: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes as people read it: `4.0 MiB`.
pub fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// Says `1 document` and `2 documents`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_off() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(counted(1, "document"), "1 document");
        assert_eq!(counted(2000, "document"), "2,000 documents");
    }

    #[test]
    fn durations_are_read_and_shown_as_people_write_them() {
        for (text, seconds, shown) in [
            ("90m", 5_400.0, "1h 30m"),
            ("2d", 172_800.0, "2d"),
            ("2 days", 172_800.0, "2d"),
            ("1w", 604_800.0, "7d"),
            ("36h", 129_600.0, "1d 12h"),
            ("1d 1h 1m 1s 500ms", 90_061.5, "1d 1h 1m 1s 500ms"),
        ] {
            let read = parse_duration(text).unwrap();
            assert_eq!(read.as_secs_f64(), seconds, "{text}");
            assert_eq!(duration(read), shown);
            assert_eq!(parse_duration(shown), Ok(read));
        }
        for refused in ["", "2", "2x", "-2d", "2d ago", "1mo", "1y"] {
            let error = parse_duration(refused).unwrap_err();
            assert!(error.contains("like 90m"), "{error}");
        }
        assert_eq!(
            duration(Duration::from_millis(u64::MAX)),
            "18446744073709551s"
        );
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_size("65536"), Ok(65_536));
        assert!(parse_size("much").unwrap_err().contains("512MiB"));
    }
}
