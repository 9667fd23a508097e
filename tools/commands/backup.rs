//! `simdb-cli backup`: a consistent copy of a database.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;

use super::DatabaseOptions;
use crate::console::file::make_or_replace_database;
use crate::console::paths::{OutputPaths, Overwrite};
use crate::console::progress::ProgressMode;
use crate::console::{Output, counted, size};

/// Copies a database, as of one moment
///
/// The copy gets its name when it is complete, read back and checked. With --force it replaces an
/// earlier copy, which must be a database that no process has open. To restore a copy, copy its
/// file over the lost database, and delete the journals of the lost database. --json prints
/// documents and file_bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli backup news.simdb /backup/news-monday.simdb")]
pub struct Backup {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The path of the copy
    to: PathBuf,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,

    #[command(flatten)]
    overwrite: Overwrite,
}

impl Backup {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let database = self.database.open_to_read()?;
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(&self.database.path, "the database");
        let copy = paths.database("TO", &self.to)?;
        let builder = self.database.recipe.builder()?;
        let documents = self.progress.observe(|handler| {
            let database = database.on_progress(handler);
            make_or_replace_database(&copy, builder, |path| Ok(database.backup(path)?))?;
            anyhow::Ok(database.len()?)
        })??;
        let to = self.to.display();
        let metadata = std::fs::metadata(&self.to);
        let bytes = metadata
            .with_context(|| format!("cannot read the size of {to}"))?
            .len();
        output.print(
            self.json,
            || json!({"documents": documents, "file_bytes": bytes}),
            || format!("{to}  {}  {}", counted(documents, "document"), size(bytes)),
        )
    }
}
