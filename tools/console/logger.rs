//! The log lines of the library on standard error.

use clap::Args;
use log::{LevelFilter, Log, Metadata, Record};

use super::note;

/// The option that shows log lines.
#[derive(Debug, Args)]
pub struct Verbosity {
    /// Show the log on standard error: recovery, flushes, slow commits, salvage, prune
    ///
    /// Errors of the database are always shown, for example a background flush that failed.
    #[arg(short, long, global = true)]
    verbose: bool,
}

impl Verbosity {
    /// Sends the log lines of the library to standard error.
    pub fn start_logging(&self) {
        // An error means that a logger is set already, which then gets the lines.
        let _ = log::set_logger(&StandardError);
        log::set_max_level(if self.verbose {
            LevelFilter::Info
        } else {
            LevelFilter::Error
        });
    }
}

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("simdb")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_lowercase();
            note(format_args!("{level}: {}", record.args()));
        }
    }

    fn flush(&self) {}
}
