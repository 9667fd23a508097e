//! `simdb-cli stats`: how many documents, how many bytes, and how evenly they lie.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::open_to_read;
use crate::console::table::{Align, Table};
use crate::console::{Answer, Output, counted, duration, grouped, size};
use crate::options::RecipeOptions;

/// Shows what a database holds: documents, bytes, settings, fill and skew
///
/// Bytes per document are those of the packed tables, without texts, for each document in them. After
/// a crash, changes may be in a journal that are not in the tables: documents, texts and arrivals are
/// counted with them, all that is said of the tables is not. `simdb-cli check` brings them in.
///
/// The skew is how many distinct fingerprints share a block key: a query probes one key a block
/// (for radius 3), so keys that many share make it slow. --json has the same histograms in
/// `blocks`: at index 0 the number of keys that no fingerprint has, at index k those that 2^(k-1)
/// to 2^k - 1 have.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli stats news.simdb
  simdb-cli stats news.simdb --json")]
pub struct Stats {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StatsLine<'s> {
    documents: u64,
    distinct_fingerprints: u64,
    unreliable: u64,
    texts: u64,
    /// They are counted above; what follows is said without them.
    unmerged_changes: u64,
    file_bytes: u64,
    packed_bytes: u64,
    bytes_per_document: Option<f64>,
    recipe: &'s str,
    recipe_version: u32,
    recipe_description: String,
    keep_texts: bool,
    similar: bool,
    keep_arrivals: bool,
    /// `None`: documents stay for ever.
    retention_seconds: Option<f64>,
    sliding: bool,
    oldest_arrival: Option<String>,
    latest_arrival: Option<String>,
    frozen: bool,
    tables: Vec<TableLine<'s>>,
    blocks: Vec<BlockLine<'s>>,
}

#[derive(Serialize)]
struct TableLine<'s> {
    name: &'s str,
    entries: u64,
    chunks: u64,
    /// Share of the capacity of its chunks, 0 to 1.
    fill: f64,
}

#[derive(Serialize)]
struct BlockLine<'s> {
    block: usize,
    /// 4 hexadecimal digits; `None` if there is no fingerprint.
    hottest_key: Option<String>,
    hottest_fingerprints: u64,
    histogram: &'s [u64],
}

impl Stats {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.database, &self.recipe)?;
        let stats = database.snapshot()?.stats()?;
        let settings = database.settings();
        let recipe = &settings.recipe;
        // The first table has an entry for each document, but for changes that are not in the tables.
        let in_tables = stats.tables.first().map_or(0, |table| table.entries);
        let window = settings.retention.and_then(|retention| retention.window);
        let line = StatsLine {
            documents: stats.documents,
            distinct_fingerprints: stats.distinct_fingerprints,
            unreliable: stats.unreliable,
            texts: stats.texts,
            unmerged_changes: stats.unmerged_changes,
            file_bytes: stats.file_bytes,
            packed_bytes: stats.packed_bytes,
            bytes_per_document: (in_tables > 0)
                .then(|| stats.packed_bytes as f64 / in_tables as f64),
            recipe: recipe.name(),
            recipe_version: recipe.version(),
            recipe_description: recipe.description(),
            keep_texts: settings.keep_texts,
            similar: settings.similar,
            keep_arrivals: settings.retention.is_some(),
            retention_seconds: window.map(|window| window.as_secs_f64()),
            sliding: settings
                .retention
                .is_some_and(|retention| retention.sliding),
            oldest_arrival: stats.oldest_arrival.map(|time| time.to_string()),
            latest_arrival: stats.latest_arrival.map(|time| time.to_string()),
            frozen: settings.frozen,
            tables: stats
                .tables
                .iter()
                .map(|table| TableLine {
                    name: table.name,
                    entries: table.entries,
                    chunks: table.chunks,
                    fill: table.fill,
                })
                .collect(),
            blocks: stats
                .block_histograms
                .iter()
                .zip(stats.hottest_keys)
                .enumerate()
                .map(|(block, (histogram, (key, fingerprints)))| BlockLine {
                    block,
                    hottest_key: (fingerprints > 0).then(|| format!("{key:04x}")),
                    hottest_fingerprints: fingerprints,
                    histogram,
                })
                .collect(),
        };
        if self.json {
            output.json(&line)?;
        } else {
            for part in [counts(&line, window), fill(&line), skew(&line)] {
                for row in part.lines() {
                    output.line(row)?;
                }
                output.line("")?;
            }
            output.line(line.recipe_description)?;
        }
        Ok(Answer::Yes)
    }
}

fn counts(line: &StatsLine<'_>, window: Option<Duration>) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let yes_or_no = |yes| if yes { "yes" } else { "no" };
    let per_document = match line.bytes_per_document {
        Some(bytes) => format!("{bytes:.1}"),
        None => "-".to_owned(),
    };
    table.row(["documents", &grouped(line.documents)]);
    table.row([
        "distinct fingerprints",
        &grouped(line.distinct_fingerprints),
    ]);
    table.row(["unreliable", &grouped(line.unreliable)]);
    table.row(["texts", &grouped(line.texts)]);
    if line.unmerged_changes > 0 {
        let changes = counted(line.unmerged_changes, "change");
        let advice = "left by a crash, and brought in by simdb-cli check";
        table.row(["not in the tables", &format!("{changes}, {advice}")]);
    }
    table.row(["file", &size(line.file_bytes)]);
    table.row(["packed tables", &size(line.packed_bytes)]);
    table.row(["bytes per document", &per_document]);
    table.row([
        "recipe",
        &format!("{} {}", line.recipe, line.recipe_version),
    ]);
    table.row(["keeps texts", yes_or_no(line.keep_texts)]);
    table.row(["similar", yes_or_no(line.similar)]);
    if line.keep_arrivals {
        let or_none = |time: &Option<String>| time.clone().unwrap_or("-".to_owned());
        let window = window.map_or("for ever".to_owned(), duration);
        table.row(["keeps documents", &window]);
        table.row(["sliding", yes_or_no(line.sliding)]);
        table.row(["oldest arrival", &or_none(&line.oldest_arrival)]);
        table.row(["latest arrival", &or_none(&line.latest_arrival)]);
    }
    table.row(["frozen", yes_or_no(line.frozen)]);
    table
}

fn fill(line: &StatsLine<'_>) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["table", "entries", "chunks", "fill"]);
    for TableLine {
        name,
        entries,
        chunks,
        fill,
    } in &line.tables
    {
        let fill = if *chunks == 0 {
            "-".to_owned()
        } else {
            format!("{:.1}%", fill * 100.0)
        };
        table.row([*name, &grouped(*entries), &grouped(*chunks), &fill]);
    }
    table
}

/// One row for each power of two: how many block keys are shared by so many fingerprints.
fn skew(line: &StatsLine<'_>) -> Table {
    let mut align = vec![Align::Right; line.blocks.len() + 1];
    align.push(Align::Left);
    let mut table = Table::new(&align);
    let cells = |first: &str, each: &dyn Fn(&BlockLine<'_>) -> String, last: String| {
        let mut cells = vec![first.to_owned()];
        cells.extend(line.blocks.iter().map(each));
        cells.push(last);
        cells
    };
    table.row(cells(
        "fingerprints a key",
        &|block| format!("block {}", block.block),
        "keys of all blocks".to_owned(),
    ));
    let keys = |block: &BlockLine<'_>, k: usize| block.histogram.get(k).copied().unwrap_or(0);
    let rows = line
        .blocks
        .iter()
        .map(|block| block.histogram.len())
        .max()
        .unwrap_or(0);
    let sums: Vec<u64> = (0..rows)
        .map(|k| line.blocks.iter().map(|block| keys(block, k)).sum())
        .collect();
    // The keys without fingerprints are mostly the most, and slow nothing down: they have no bar.
    let largest = sums.iter().skip(1).copied().max().unwrap_or(0);
    for (k, sum) in sums.iter().enumerate() {
        let bar = if k == 0 {
            String::new()
        } else {
            bar(*sum, largest)
        };
        let label = match k {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            _ => format!("{} to {}", grouped(1 << (k - 1)), grouped((1 << k) - 1)),
        };
        table.row(cells(&label, &|block| grouped(keys(block, k)), bar));
    }
    let hottest = |block: &BlockLine<'_>| match &block.hottest_key {
        Some(key) => format!("{key}: {}", grouped(block.hottest_fingerprints)),
        None => "-".to_owned(),
    };
    table.row(cells("hottest key", &hottest, String::new()));
    table
}

/// A bar as long as the share of the largest; what is there at all is seen.
fn bar(value: u64, largest: u64) -> String {
    const COLUMNS: u64 = 24;
    let columns = if value == 0 {
        0
    } else {
        (value * COLUMNS).div_ceil(largest)
    };
    "#".repeat(columns as usize)
}
