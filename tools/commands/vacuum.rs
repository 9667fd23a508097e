//! `simdb-cli vacuum`: a database without its free pages.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use simdb::Database;

use crate::console::paths::refuse_special;
use crate::console::progress::ProgressMode;
use crate::console::{Output, size};

/// Rewrites a database without its free pages
///
/// The new file is written beside the old file, read back and checked, and then renamed over the
/// old file. The disk needs room for both. --json prints before_bytes and after_bytes.
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

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

impl Vacuum {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        refuse_special(&self.database)?;
        let rewritten = self.progress.observe(|handler| {
            let builder = Database::builder().on_progress(handler);
            builder.vacuum(&self.database)
        })??;
        let (before, after) = (rewritten.before_bytes, rewritten.after_bytes);
        output.print(
            self.json,
            || json!({"before_bytes": before, "after_bytes": after}),
            || format!("{} -> {}", size(before), size(after)),
        )
    }
}
