//! `simdb-cli check`: the check of a whole database file.

use anyhow::Result;
use clap::Args;
use serde_json::json;
use simdb::{Builder, Database, Error};

use super::DatabaseOptions;
use crate::console::paths::refuse_special;
use crate::console::progress::ProgressMode;
use crate::console::{Output, counted};

/// Checks a database: every checksum, the order of entries, and that all tables agree
///
/// Reads the whole file, which no other process may have open. The file is opened for writing, and
/// journals are merged into the file, which changes its bytes; a file without write permission is
/// only read. The exit code is 1 if there is damage; `simdb-cli salvage` saves the rest. --json
/// prints {"ok":true,"documents":...} or {"ok":false,"damage":["...", ...]}.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli check news.simdb
  simdb-cli check news.simdb --json --progress never")]
pub struct Check {
    #[command(flatten)]
    database: DatabaseOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

impl Check {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        refuse_special(&self.database.path)?;
        let builder = self.database.recipe.builder()?;
        let checked = self
            .progress
            .observe(|handler| self.check(builder.on_progress(handler)))?;
        let (damage, documents) = match checked {
            // Some damage prevents the check from starting.
            Err(Error::Corrupt { what, .. }) => (vec![what], 0),
            checked => checked?,
        };
        if damage.is_empty() {
            return output.print(
                self.json,
                || json!({"ok": true, "documents": documents}),
                || format!("sound  {}", counted(documents, "document")),
            );
        }
        output.decide(false);
        output.print(
            self.json,
            || json!({"ok": false, "damage": damage}),
            || format!("damaged  {}", damage.join("\ndamaged  ")),
        )
    }

    /// The damage of the database, and the number of documents in it.
    fn check(&self, builder: Builder) -> simdb::Result<(Vec<String>, u64)> {
        let path = &self.database.path;
        let check = |database: Database| Ok((database.check()?, database.len()?));
        match builder.clone().open(path).and_then(check) {
            // A damaged file, a file without write permission, and after a crash a file on a full
            // disk, may still be read.
            Err(refused @ (Error::Corrupt { .. } | Error::Io { .. } | Error::Storage { .. })) => {
                let read = builder.open_read_only(path).and_then(check);
                read.map_err(|_| refused)
            }
            checked => checked,
        }
    }
}
