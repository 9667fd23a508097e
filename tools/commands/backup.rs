//! `simdb-cli backup`: a consistent copy.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::open_to_read;
use crate::console::file::make_or_replace_database;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPaths, Overwrite};
use crate::console::progress::{Progress, handler};
use crate::console::{Answer, Output, counted, size};
use crate::options::RecipeOptions;

/// Copies a database, consistently
///
/// The copy appears under its name when it is whole, read back and proved. With --force it replaces an
/// earlier one, which must be a database that no process has open. To restore it, copy the file, and remove what journals the lost one has left.
/// --json prints documents and file_bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli backup news.simdb /backup/news-monday.simdb")]
pub struct Backup {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// The name of the copy
    to: PathBuf,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,

    #[command(flatten)]
    overwrite: Overwrite,
}

#[derive(Serialize)]
struct BackupLine {
    documents: u64,
    file_bytes: u64,
}

impl Backup {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.database, &self.recipe)?;
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(&self.database, "the database");
        let to = paths.database("TO", &self.to)?;
        let interrupt = Interrupt::listen()?;
        let bar = self.progress.work();
        let database = database.on_progress(handler(&bar, &interrupt));
        let copied = make_or_replace_database(&to, self.recipe.builder()?, |path| {
            Ok(database.backup(path)?)
        });
        bar.finish_and_clear();
        copied?;
        let to = self.to.display();
        let line = BackupLine {
            documents: database.len()?,
            file_bytes: std::fs::metadata(&self.to)
                .with_context(|| format!("cannot look at {to}"))?
                .len(),
        };
        if self.json {
            output.json(&line)?;
        } else {
            let documents = counted(line.documents, "document");
            output.line(format_args!("{to}  {documents}  {}", size(line.file_bytes)))?;
        }
        Ok(Answer::Yes)
    }
}
