//! `simdb-cli prune`: everything that arrived long ago.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use serde::Serialize;
use simdb::{Database, Error, Snapshot, Timestamp};

use super::open_to_read;
use crate::console::paths::refuse_special;
use crate::console::{Answer, Output, counted, parse_duration};
use crate::formats::time::time_of_text;
use crate::options::RecipeOptions;

/// Removes documents that arrived long ago
///
/// Only a database that keeps times of arrival can do that. One with a retention removes by
/// itself what is expired; there, prune is for what should go sooner.
///
/// With --older-than, ages are counted back from now: from the latest arrival there ever was, or,
/// if the database goes by the clock because it is given no times, from the present. What arrived
/// at that moment stays. Documents are removed some thousands at a time, so prune may be
/// interrupted and repeated.
///
/// The exit code is 0 if there was nothing to remove, too: afterwards nothing is so old. --json
/// prints before (the moment; null where nothing ever arrived), older (how many documents arrived
/// before it) and removed (how many were removed: none with --dry-run).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli prune news.simdb --older-than 2d
  simdb-cli prune news.simdb --older-than 36h --dry-run
  simdb-cli prune news.simdb --before 2024-05-31T12:00:00Z --json")]
pub struct Prune {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    #[command(flatten)]
    which: Which,

    /// Only say how many documents would be removed
    #[arg(long)]
    dry_run: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Remove what arrived longer ago than this: `90m`, `2d`, `1h 30m`
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    older_than: Option<Duration>,

    /// Remove what arrived before this moment: 2024-05-31T12:00:00Z, or Unix seconds
    #[arg(long, value_name = "TIME", value_parser = time_of_text)]
    before: Option<Timestamp>,
}

#[derive(Serialize)]
struct PruneLine {
    before: Option<String>,
    older: u64,
    removed: u64,
}

impl Prune {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let (before, older) = if self.dry_run {
            self.count(&open_to_read(&self.database, &self.recipe)?)?
        } else {
            refuse_special(&self.database)?;
            let database = self.recipe.builder()?.open(&self.database)?;
            let pruned = self.prune(&database)?;
            database.close()?;
            pruned
        };
        let removed = if self.dry_run { 0 } else { older };
        let before = before.map(|before| before.to_string());
        if self.json {
            output.json(&PruneLine {
                before,
                older,
                removed,
            })?;
        } else {
            let name = if self.dry_run {
                "would remove"
            } else {
                "removed"
            };
            let documents = counted(older, "document");
            match before {
                Some(before) => {
                    output.line(format_args!("{name}  {documents}  before {before}"))?;
                }
                None => output.line(format_args!("{name}  {documents}"))?,
            }
        }
        Ok(Answer::Yes)
    }

    /// The moment, and how many documents arrived before it.
    fn count(&self, database: &Database) -> Result<(Option<Timestamp>, u64)> {
        let snapshot = database.snapshot()?;
        let before = self.before(database, &snapshot)?;
        let older = before.map_or(Ok(0), |before| snapshot.count_older(before));
        Ok((before, older?))
    }

    /// The same, when they are removed.
    fn prune(&self, database: &Database) -> Result<(Option<Timestamp>, u64)> {
        let before = self.before(database, &database.snapshot()?)?;
        let removed = before.map_or(Ok(0), |before| database.prune(before));
        Ok((before, removed?))
    }

    /// The moment; nothing where nothing ever arrived.
    fn before(&self, database: &Database, snapshot: &Snapshot) -> Result<Option<Timestamp>> {
        if database.settings().retention.is_none() {
            let path = self.database.clone();
            return Err(anyhow!(
                "{}; load its documents into a new one with --arrivals or --retention",
                Error::NoArrivals { path }
            ));
        }
        let Some(age) = self.which.older_than else {
            return Ok(self.which.before);
        };
        Ok(snapshot.now().map(|now| now - age))
    }
}
