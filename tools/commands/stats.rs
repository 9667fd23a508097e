//! `simdb-cli stats`: the contents of a database in numbers.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use simdb::maintenance::Stats;
use simdb::{Database, Settings, Snapshot, Timestamp};

use super::DatabaseOptions;
use crate::console::rows::{cells, or_dash, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{Output, counted, duration, grouped, size, whole_seconds};

/// Prints the number of documents of a database, its bytes, settings, and the fill of its tables
///
/// Expired documents are not in the number of documents. Until later writes remove them, the other
/// counts include them. `counts back from` is the present of the retention window: the latest
/// arrival, or the system clock (`by_clock`). `ahead of the clock` is the time by which the latest
/// arrival ever stored lies ahead of the system clock: the retention window is shorter by so much.
///
/// Bytes per document are the bytes of the packed tables, without texts. After a crash, a journal
/// may hold changes that are not in the tables yet: the numbers of documents, texts and arrivals
/// include them, the bytes and tables do not. `simdb-cli check` merges them.
///
/// --json prints one object with these fields and the list `tables`. `simdb-cli doctor` reports
/// slow queries.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli stats news.simdb
  simdb-cli stats news.simdb --json")]
pub struct StatsVerb {
    #[command(flatten)]
    database: DatabaseOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl StatsVerb {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(remote) = self.database.remote()? {
            return match self.json {
                true => output.line(remote.report_json("stats")?),
                false => output.line(remote.report_text("stats")?),
            };
        }
        let database = self.database.open_to_read()?;
        let report = StatsReport::new(&database)?;
        output.print(self.json, || report.json(), || report.text())
    }
}

/// The counts and settings of a database.
pub struct StatsReport {
    stats: Stats,
    settings: Settings,
    /// The time by which the latest arrival lies ahead of the system clock.
    ahead: Option<Duration>,
    /// `true` for a database that a server writes: changes outside the tables are no sign of a
    /// crash.
    is_served: bool,
}

/// The time by which the latest arrival lies ahead of the system clock; `None` if it does not.
pub fn ahead_of_clock(snapshot: &Snapshot) -> Option<Duration> {
    let clock = Timestamp::from(SystemTime::now());
    let ahead_ms = snapshot.now()?.0.checked_sub(clock.0)?;
    (ahead_ms > 0).then(|| Duration::from_millis(ahead_ms))
}

impl StatsReport {
    /// Counts a database that only this process reads.
    pub fn new(database: &Database) -> Result<Self> {
        let snapshot = database.snapshot()?;
        Ok(Self {
            stats: snapshot.stats()?,
            settings: database.settings().clone(),
            ahead: ahead_of_clock(&snapshot),
            is_served: false,
        })
    }

    /// Counts a database that a server writes.
    pub fn of_served(database: &Database) -> Result<Self> {
        let is_served = true;
        Ok(Self {
            is_served,
            ..Self::new(database)?
        })
    }

    fn bytes_per_document(&self) -> Option<f64> {
        // The first table has an entry for each document, except for unmerged changes.
        let documents = self.stats.tables.first()?.entries;
        (documents > 0).then(|| self.stats.packed_bytes as f64 / documents as f64)
    }

    pub fn json(&self) -> Value {
        let Self {
            stats,
            settings,
            ahead,
            ..
        } = self;
        let window = settings.retention.and_then(|retention| retention.window);
        json!({
            "documents": stats.documents,
            "expired": stats.expired,
            "distinct_fingerprints": stats.distinct_fingerprints,
            "unreliable": stats.unreliable,
            "texts": stats.texts,
            "unmerged_changes": stats.unmerged_changes,
            "file_bytes": stats.file_bytes,
            "packed_bytes": stats.packed_bytes,
            "bytes_per_document": self.bytes_per_document(),
            "recipe": settings.recipe.name(),
            "recipe_version": settings.recipe.version(),
            "recipe_description": settings.recipe.description(),
            "keep_texts": settings.keep_texts,
            "keys": settings.keys,
            "fields": settings.fields,
            "copies": settings.copies,
            "scopes": settings.scopes,
            "frames": settings.frames,
            "similar": settings.similar,
            "keep_arrivals": settings.retention.is_some(),
            "retention_seconds": window.map(|window| window.as_secs_f64()),
            "by_clock": settings.retention.is_some_and(|retention| retention.by_clock),
            "sliding": settings.retention.is_some_and(|retention| retention.sliding),
            "max_ahead_seconds": (settings.retention)
                .and_then(|retention| retention.max_ahead)
                .map(|max_ahead| max_ahead.as_secs_f64()),
            "oldest_arrival": stats.oldest_arrival.map(|time| time.to_string()),
            "latest_arrival": stats.latest_arrival.map(|time| time.to_string()),
            "ahead_of_clock_seconds": ahead.map(|ahead| ahead.as_secs_f64()),
            "frozen": settings.frozen,
            "tables": stats.tables,
        })
    }

    pub fn text(&self) -> String {
        let Self {
            stats,
            settings,
            ahead,
            is_served,
        } = self;
        let recipe = &settings.recipe;
        let mut lines = Table::new(&[Left, Left]);
        lines.row(cells!["documents", grouped(stats.documents)]);
        if stats.expired > 0 {
            let advice = "removed by later writes";
            let expired = format!("{}, {advice}", grouped(stats.expired));
            lines.row(cells!["expired", expired]);
        }
        lines.row(cells![
            "distinct fingerprints",
            grouped(stats.distinct_fingerprints)
        ]);
        lines.row(cells!["unreliable", grouped(stats.unreliable)]);
        lines.row(cells!["texts", grouped(stats.texts)]);
        if stats.unmerged_changes > 0 {
            let changes = counted(stats.unmerged_changes, "change");
            let advice = match is_served {
                true => "merged in the background",
                false => "left by a crash, and brought in by simdb-cli check",
            };
            lines.row(cells!["not in the tables", format!("{changes}, {advice}")]);
        }
        // An empty database has no bytes per document, and 0 would be wrong.
        let per_document = self.bytes_per_document().map(|bytes| format!("{bytes:.1}"));
        lines.row(cells!["file", size(stats.file_bytes)]);
        lines.row(cells!["packed tables", size(stats.packed_bytes)]);
        lines.row(cells!["bytes per document", or_dash(per_document)]);
        lines.row(cells![
            "recipe",
            format!("{} {}", recipe.name(), recipe.version())
        ]);
        lines.row(["keeps texts", yes_or_no(settings.keep_texts)]);
        if settings.keys || settings.fields {
            lines.row(["keeps keys", yes_or_no(settings.keys)]);
            lines.row(["keeps fields", yes_or_no(settings.fields)]);
            lines.row(["keeps scopes", yes_or_no(settings.scopes)]);
        }
        lines.row(["similar", yes_or_no(settings.similar)]);
        let copies = (settings.copies).map(|newest| format!("the newest {newest} are stored"));
        let frames = (settings.frames).map(|least| format!("of {least} texts and more"));
        for (setting, detail) in [("counts copies", copies), ("ignores frames", frames)] {
            let answer = detail.map_or_else(|| "no".to_owned(), |detail| format!("yes, {detail}"));
            lines.row(cells![setting, answer]);
        }
        if let Some(retention) = settings.retention {
            let window = retention.window.map_or("for ever".to_owned(), duration);
            lines.row(cells!["keeps documents", window]);
            if retention.window.is_some() {
                let now = match retention.by_clock {
                    true => "the clock, or the latest arrival if it is later",
                    false => "the latest arrival",
                };
                lines.row(["counts back from", now]);
            }
            lines.row(["sliding", yes_or_no(retention.sliding)]);
            let max_ahead = retention
                .max_ahead
                .map_or("without limit".to_owned(), duration);
            lines.row(cells!["accepts arrivals ahead", max_ahead]);
            lines.row(cells!["oldest arrival", or_dash(stats.oldest_arrival)]);
            lines.row(cells!["latest arrival", or_dash(stats.latest_arrival)]);
            if let Some(ahead) = ahead {
                lines.row(cells![
                    "ahead of the clock",
                    duration(whole_seconds(*ahead))
                ]);
            }
        }
        lines.row(["frozen", yes_or_no(settings.frozen)]);

        let mut tables = Table::new(&[Left, Right, Right, Right]);
        tables.row(["table", "entries", "chunks", "fill"]);
        for table in &stats.tables {
            let fill = (table.chunks > 0).then(|| format!("{:.1}%", table.fill * 100.0));
            let counts = [table.entries, table.chunks].map(grouped);
            tables.row(cells![table.name, counts[0], counts[1], or_dash(fill)]);
        }
        format!("{lines}\n\n{tables}\n\n{}", recipe.description())
    }
}
