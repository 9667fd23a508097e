//! Progress bars, on standard error, so that results stay clean.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::interrupt::Interrupt;

/// The option that says if progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Progress {
    /// When standard error is a terminal.
    #[default]
    Auto,
    /// Always, as plain lines when standard error is no terminal.
    Always,
    /// Never.
    Never,
}

impl Progress {
    /// A bar over bytes of input, or a spinner if the number of bytes is not known.
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

    /// A bar over units of work without a name. Without a length it stands at 0 %, with a length of 0 it
    /// would stand at 100 %.
    pub fn work(self) -> ProgressBar {
        self.bar(None, "{prefix:>9} [{wide_bar:.cyan/blue}] {percent}% {eta}")
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
            // indicatif itself hides what goes to standard error when that is no terminal.
            Self::Always | Self::Auto => ProgressDrawTarget::stderr(),
        }
    }
}

/// A handler that shows the progress of the library in a bar, and ends the work once the tool is
/// interrupted.
pub fn handler(
    bar: &ProgressBar,
    interrupt: &Interrupt,
) -> impl Fn(simdb::Progress) -> ControlFlow<()> + Send + Sync + use<> {
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

/// Standard error as a file or a pipe: each state of the bar is a line of its own.
#[derive(Debug)]
struct PlainLines;

/// The width of a bar without a terminal.
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
