//! `simdb-cli vacuum`: a file as small as it can be.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::Database;

use crate::console::{Answer, Output, size};

/// Rewrites a database to its smallest size
///
/// The new file is written beside the old one, which it replaces when it is whole, so there must
/// be room for both. --json prints before_bytes and after_bytes.
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
}

#[derive(Serialize)]
struct VacuumLine {
    before_bytes: u64,
    after_bytes: u64,
}

impl Vacuum {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let (before_bytes, after_bytes) = Database::vacuum(&self.database)?;
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
