//! Progress bars on standard error.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::interrupt::Interrupt;

/// The value of `--progress`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProgressMode {
    /// Only if standard error is a terminal.
    #[default]
    Auto,
    /// Always; as plain lines if standard error is no terminal.
    Always,
    /// Never.
    Never,
}

impl ProgressMode {
    /// A bar over bytes of input, or a spinner if their number is unknown.
    pub fn bytes(self, total_bytes: Option<u64>) -> ProgressBar {
        match total_bytes {
            Some(total) => self.bar(
                Some(total),
                "{prefix:>9} [{wide_bar:.cyan/blue}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} {msg}",
            ),
            None => self.bar(
                None,
                "{prefix:>9} {spinner} {bytes} {binary_bytes_per_sec} {elapsed} {msg}",
            ),
        }
    }

    /// A bar over units of work.
    pub fn work(self) -> ProgressBar {
        // Without a length the bar shows 0 %. A length of 0 would show 100 %.
        self.bar(None, "{prefix:>9} [{wide_bar:.cyan/blue}] {percent}% {eta}")
    }

    /// A bar over this number of units of work.
    pub fn steps(self, name: &'static str, len: u64) -> ProgressBar {
        let bar = self.work();
        bar.set_prefix(name);
        bar.set_length(len);
        bar
    }

    /// Calls `work` with a progress handler for the library. Ctrl-C interrupts the work.
    pub fn observe<T>(self, work: impl FnOnce(ProgressFn) -> T) -> Result<T> {
        let interrupt = Interrupt::listen()?;
        let bar = self.work();
        let made = work(Box::new(handler(&bar, &interrupt)));
        bar.finish_and_clear();
        Ok(made)
    }

    fn bar(self, total: Option<u64>, template: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(total, self.target());
        let style = ProgressStyle::with_template(template)
            .expect("the templates of this file are well formed")
            .progress_chars("=> ");
        bar.set_style(style);
        bar
    }

    fn target(self) -> ProgressDrawTarget {
        match self {
            Self::Never => ProgressDrawTarget::hidden(),
            Self::Always if !io::stderr().is_terminal() => {
                ProgressDrawTarget::term_like_with_hz(Box::new(PlainLines), 1)
            }
            // indicatif draws nothing on a standard error that is no terminal.
            Self::Always | Self::Auto => ProgressDrawTarget::stderr(),
        }
    }
}

/// A progress handler for the library.
pub type ProgressFn = Box<dyn Fn(simdb::progress::Progress) -> ControlFlow<()> + Send + Sync>;

/// A progress handler that moves a bar, and ends the work of the library after an interrupt.
pub fn handler(
    bar: &ProgressBar,
    interrupt: &Interrupt,
) -> impl Fn(simdb::progress::Progress) -> ControlFlow<()> + Send + Sync + use<> {
    let (bar, interrupt) = (bar.clone(), interrupt.clone());
    move |progress| {
        bar.set_prefix(progress.stage.to_string());
        if let Some(total) = progress.total {
            bar.set_length(total);
        }
        bar.set_position(progress.done);
        interrupt.flow()
    }
}

/// Standard error as a file or a pipe, with one line for each state of the bar.
#[derive(Debug)]
struct PlainLines;

/// The width of a bar without a terminal, in columns.
const PLAIN_COLUMNS: u16 = 80;

impl TermLike for PlainLines {
    fn width(&self) -> u16 {
        PLAIN_COLUMNS
    }

    fn move_cursor_up(&self, _lines: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _lines: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _columns: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _columns: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.write_str(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        match text.trim_end() {
            "" => Ok(()),
            line => writeln!(io::stderr().lock(), "{line}"),
        }
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().flush()
    }
}
