//! `simdb-cli stats`: the contents of a database in numbers.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::{Serialize, Serializer};
use serde_json::json;
use simdb::{Settings, TableStats};

use super::open_to_read;
use crate::console::rows::{cells, or_dash, yes_or_no};
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{Answer, Output, counted, duration, grouped, size};
use crate::options::RecipeOptions;

/// Shows what a database holds: documents, bytes, settings, and the fill of its tables
///
/// Bytes per document are those of the packed tables, without texts, for each document in them. After
/// a crash, changes may be in a journal that are not in the tables: documents, texts and arrivals are
/// counted with them, bytes and tables without them. `simdb-cli check` brings them in.
///
/// --json prints one object with the same fields and the list `tables`. Whether queries are quick,
/// `simdb-cli doctor` says.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli stats news.simdb
  simdb-cli stats news.simdb --json")]
pub struct StatsVerb {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The numbers and settings of a database.
struct Contents {
    stats: simdb::Stats,
    settings: Settings,
}

impl StatsVerb {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.database, &self.recipe)?;
        let contents = Contents {
            stats: database.snapshot()?.stats()?,
            settings: database.settings().clone(),
        };
        output.row(&contents, self.json)?;
        Ok(Answer::Yes)
    }
}

impl Contents {
    fn bytes_per_document(&self) -> Option<f64> {
        // The first table has an entry for each document, except for unmerged changes.
        let documents = self.stats.tables.first()?.entries;
        (documents > 0).then(|| self.stats.packed_bytes as f64 / documents as f64)
    }

    /// The time for which documents are kept; `None` for ever.
    fn window(&self) -> Option<Duration> {
        self.settings.retention?.window
    }

    fn is_sliding(&self) -> bool {
        self.settings
            .retention
            .is_some_and(|retention| retention.sliding)
    }
}

impl Serialize for Contents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { stats, settings } = self;
        let table = |table: &TableStats| {
            json!({
                "name": table.name,
                "entries": table.entries,
                "chunks": table.chunks,
                "fill": table.fill,
            })
        };
        let fields = json!({
            "documents": stats.documents,
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
            "similar": settings.similar,
            "keep_arrivals": settings.retention.is_some(),
            "retention_seconds": self.window().map(|window| window.as_secs_f64()),
            "sliding": self.is_sliding(),
            "oldest_arrival": stats.oldest_arrival.map(|time| time.to_string()),
            "latest_arrival": stats.latest_arrival.map(|time| time.to_string()),
            "frozen": settings.frozen,
            "tables": stats.tables.iter().map(table).collect::<Vec<_>>(),
        });
        fields.serialize(serializer)
    }
}

impl Display for Contents {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { stats, settings } = self;
        let recipe = &settings.recipe;
        let mut lines = Table::new(&[Left, Left]);
        lines.row(cells!["documents", grouped(stats.documents)]);
        lines.row(cells![
            "distinct fingerprints",
            grouped(stats.distinct_fingerprints)
        ]);
        lines.row(cells!["unreliable", grouped(stats.unreliable)]);
        lines.row(cells!["texts", grouped(stats.texts)]);
        if stats.unmerged_changes > 0 {
            let changes = counted(stats.unmerged_changes, "change");
            let advice = "left by a crash, and brought in by simdb-cli check";
            lines.row(cells!["not in the tables", format!("{changes}, {advice}")]);
        }
        let per_document = self.bytes_per_document().map(|bytes| format!("{bytes:.1}"));
        lines.row(cells!["file", size(stats.file_bytes)]);
        lines.row(cells!["packed tables", size(stats.packed_bytes)]);
        lines.row(cells!["bytes per document", or_dash(per_document)]);
        lines.row(cells![
            "recipe",
            format!("{} {}", recipe.name(), recipe.version())
        ]);
        lines.row(["keeps texts", yes_or_no(settings.keep_texts)]);
        lines.row(["similar", yes_or_no(settings.similar)]);
        if settings.retention.is_some() {
            let window = self.window().map_or("for ever".to_owned(), duration);
            lines.row(cells!["keeps documents", window]);
            lines.row(["sliding", yes_or_no(self.is_sliding())]);
            lines.row(cells!["oldest arrival", or_dash(stats.oldest_arrival)]);
            lines.row(cells!["latest arrival", or_dash(stats.latest_arrival)]);
        }
        lines.row(["frozen", yes_or_no(settings.frozen)]);

        let mut tables = Table::new(&[Left, Right, Right, Right]);
        tables.row(["table", "entries", "chunks", "fill"]);
        for table in &stats.tables {
            let fill = (table.chunks > 0).then(|| format!("{:.1}%", table.fill * 100.0));
            let counts = [table.entries, table.chunks].map(grouped);
            tables.row(cells![table.name, counts[0], counts[1], or_dash(fill)]);
        }
        write!(f, "{lines}\n\n{tables}\n\n{}", recipe.description())
    }
}
