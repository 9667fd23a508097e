//! `simdb-cli vacuum`: a file without the room that is free in it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{Database, Vacuumed};

use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::console::{Answer, Output, size};

/// Rewrites a database without the room that removals and old pages left
///
/// The new file is written beside the old one, which it replaces when it is whole, read back and
/// proved, so there must be room for both. --json prints before_bytes and after_bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli vacuum news.simdb")]
pub struct Vacuum {
    /// The database
    database: PathBuf,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

#[derive(Serialize)]
struct VacuumLine {
    before_bytes: u64,
    after_bytes: u64,
}

impl Vacuum {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let interrupt = Interrupt::listen()?;
        let Vacuumed {
            before_bytes,
            after_bytes,
        } = self.progress.observe("rewriting", &interrupt, |observe| {
            Database::builder().vacuum_observed(&self.database, observe)
        })?;
        if self.json {
            output.json(&VacuumLine {
                before_bytes,
                after_bytes,
            })?;
        } else {
            output.line(format_args!(
                "{} -> {}",
                size(before_bytes),
                size(after_bytes)
            ))?;
        }
        Ok(Answer::Yes)
    }
}
