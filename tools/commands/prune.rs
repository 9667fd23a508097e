//! `simdb-cli prune`: removal of documents by their times of arrival.

use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::json;
use simdb::{Database, Error, Snapshot, Timestamp};

use super::DatabaseOptions;
use crate::console::{Output, counted, parse_duration};
use crate::formats::time::time_of_text;

/// Removes documents that arrived long ago
///
/// The database must keep times of arrival. A database with a retention removes expired documents
/// by itself; prune removes documents sooner.
///
/// --older-than counts back from the latest arrival ever stored, or from the present if the
/// database was created without --time and so uses the clock. A document that arrived at that very
/// moment stays. Documents are removed some thousands per transaction, so an interrupted prune can
/// be repeated.
///
/// The exit code is 0 also if nothing was removed. --json prints before (the moment, or null if no
/// document ever arrived), older (the number of documents that arrived before it) and removed (the
/// number of removed documents: 0 with --dry-run).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli prune news.simdb --older-than 2d
  simdb-cli prune news.simdb --older-than 36h --dry-run
  simdb-cli prune news.simdb --before 2024-05-31T12:00:00Z --json")]
pub struct Prune {
    #[command(flatten)]
    database: DatabaseOptions,

    #[command(flatten)]
    age: PruneAge,

    /// Only print how many documents would be removed
    #[arg(long)]
    dry_run: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PruneAge {
    /// Remove documents that arrived longer ago than this: `90m`, `2d`, `1h 30m`
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    older_than: Option<Duration>,

    /// Remove documents that arrived before this moment: 2024-05-31T12:00:00Z, or Unix seconds
    #[arg(long, value_name = "TIME", value_parser = time_of_text)]
    before: Option<Timestamp>,
}

impl Prune {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let (before, older, removed, done);
        if self.dry_run {
            let database = self.database.open_to_read()?;
            let snapshot = database.snapshot()?;
            before = self.before(&database, &snapshot)?;
            older = before.map_or(Ok(0), |before| snapshot.count_older(before))?;
            (removed, done) = (0, "would remove");
        } else {
            let database = self.database.open()?;
            before = self.before(&database, &database.snapshot()?)?;
            older = before.map_or(Ok(0), |before| database.prune(before))?;
            (removed, done) = (older, "removed");
            database.close()?;
        }
        let before = before.map(|before| before.to_string());
        let limit = before.as_ref().map(|before| format!("  before {before}"));
        let limit = limit.unwrap_or_default();
        output.print(
            self.json,
            || json!({"before": before, "older": older, "removed": removed}),
            || format!("{done}  {}{limit}", counted(older, "document")),
        )
    }

    /// The moment before which documents are removed; `None` if no document ever arrived.
    fn before(&self, database: &Database, snapshot: &Snapshot) -> Result<Option<Timestamp>> {
        if database.settings().retention.is_none() {
            let path = self.database.path.clone();
            return Err(anyhow!(
                "{}; load its documents into a new one with --arrivals or --retention",
                Error::NoArrivals { path }
            ));
        }
        let Some(age) = self.age.older_than else {
            return Ok(self.age.before);
        };
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let now = snapshot.now();
        Ok(now.map(|now| Timestamp(now.0.saturating_sub(age_ms))))
    }
}
