//! `simdb-cli prune`: removal of documents by their times of arrival.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use simdb::{Database, Error, Snapshot, Timestamp};

use super::DatabaseOptions;
use crate::console::{Output, counted, parse_duration};
use crate::formats::time::TimeRules;

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
/// One arrival time far ahead, for example in other units, moves the window's clock so far that
/// every other document is expired. --reset-clock sets the clock back to the latest arrival that is
/// at most a day ahead of the system clock (or as far as the database allows). Documents that only
/// that time had expired are found again, unless later inserts have removed them. Documents that
/// arrived later are removed; before the reset, `simdb-cli export` writes them.
///
/// The exit code is 0 also if nothing was removed. --json prints before (the moment, or null if no
/// document ever arrived, unless the system clock counts), older (the number of documents that
/// arrived before it) and removed (the number of removed documents: 0 with --dry-run); with
/// --reset-clock clock_before, clock_after and removed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli prune news.simdb --older-than 2d
  simdb-cli prune news.simdb --older-than 36h --dry-run
  simdb-cli prune news.simdb --before 2024-05-31T12:00:00Z --json
  simdb-cli prune news.simdb --reset-clock")]
pub struct Prune {
    #[command(flatten)]
    database: DatabaseOptions,

    #[command(flatten)]
    age: PruneAge,

    /// Only print how many documents would be removed
    #[arg(long, conflicts_with = "reset_clock")]
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

    /// Remove documents that arrived before this moment, as --time of `simdb-load` reads times:
    /// 2024-05-31T12:00:00Z, or Unix seconds
    #[arg(long, value_name = "TIME", value_parser = TimeRules::parse)]
    before: Option<Timestamp>,

    /// Set the window's clock back after an arrival time far ahead of the system clock
    #[arg(long)]
    reset_clock: bool,
}

impl Prune {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if self.age.reset_clock {
            return self.reset_clock(output);
        }
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

    fn reset_clock(&self, output: &mut Output) -> Result<()> {
        let database = self.database.open()?;
        self.refuse_without_arrivals(&database)?;
        let reset = database.reset_clock()?;
        database.close()?;
        let [before, after] =
            [reset.before, reset.after].map(|clock| clock.map(|clock| clock.to_string()));
        let removed = reset.removed;
        output.print(
            self.json,
            || json!({"clock_before": before, "clock_after": after, "removed": removed}),
            || {
                let [before, after] =
                    [&before, &after].map(|clock| clock.as_deref().unwrap_or("-"));
                let documents = counted(removed, "document");
                format!("clock    {after}  before: {before}\nremoved  {documents}  too far ahead")
            },
        )
    }

    fn refuse_without_arrivals(&self, database: &Database) -> Result<()> {
        if database.settings().retention.is_some() {
            return Ok(());
        }
        let path = self.database.path.clone();
        Err(Error::NoArrivals { path }.into())
    }

    /// The moment before which documents are removed; `None` if no document ever arrived.
    fn before(&self, database: &Database, snapshot: &Snapshot) -> Result<Option<Timestamp>> {
        self.refuse_without_arrivals(database)?;
        let Some(age) = self.age.older_than else {
            return Ok(self.age.before);
        };
        Ok(snapshot.now().map(|now| now - age))
    }
}
