//! The summary of a load: a table, or a line of JSON.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use simdb::Decision;

use super::options::Options;
use crate::console::table::Table;
use crate::console::{Output, grouped, note, size};
use crate::corpus::statistics::RecordCounts;
use crate::options::DuplicateRule;

/// The line of `--json`.
#[derive(Serialize)]
struct LoadSummary {
    #[serde(flatten)]
    counts: RecordCounts,
    seconds: f64,
    documents_per_second: f64,
    file_bytes: u64,
}

/// Prints the summary to standard output. A table goes to standard error if a report went to
/// standard output.
pub fn print(
    options: &Options,
    rule: Option<DuplicateRule>,
    counts: RecordCounts,
    elapsed: Duration,
    output: &mut Output,
) -> Result<()> {
    let path = &options.database;
    let metadata = std::fs::metadata(path);
    let seconds = elapsed.as_secs_f64();
    let summary = LoadSummary {
        counts,
        seconds,
        documents_per_second: counts.read as f64 / seconds.max(f64::MIN_POSITIVE),
        file_bytes: metadata
            .with_context(|| format!("cannot read the size of {}", path.display()))?
            .len(),
    };
    if options.json {
        return output.json(&summary);
    }
    for line in table(options, rule, &summary).lines() {
        if options.stdout_reports() > 0 {
            note(line);
        } else {
            output.line(line)?;
        }
    }
    Ok(())
}

fn table(options: &Options, rule: Option<DuplicateRule>, summary: &LoadSummary) -> Table {
    let counts = &summary.counts;
    let reason = match rule {
        Some(DuplicateRule::Within(radius)) => format!("within radius {radius} of"),
        Some(DuplicateRule::Similar(rule)) if rule.decision == Decision::Alike => {
            "like the text of".to_owned()
        }
        _ => "covered by".to_owned(),
    };
    let dropped = format!("dropped: {reason} a document that is kept");
    let duplicates = if rule.is_some() {
        "duplicates"
    } else {
        "duplicates?"
    };
    #[rustfmt::skip]
    let mut table = Table::of_counts(&[
        ("read", counts.read, ""),
        ("inserted", counts.inserted, ""),
        (duplicates, counts.duplicates, &dropped),
        ("replaced?", counts.replaced, "stored documents that new ones replace"),
        ("rejected?", counts.rejected, "left out; --rejects FILE lists them"),
        ("present?", counts.present, "stored or refused before, with the same name and fingerprint"),
        ("expired?", counts.expired, "arrived before the retention window"),
        ("unreliable?", counts.unreliable, "texts too short, or of one phrase, to compare by radius"),
    ]);
    let per_second = grouped(summary.documents_per_second as u64);
    table.row([
        "time".to_owned(),
        format!("{:.2} s", summary.seconds),
        format!("{per_second} documents a second"),
    ]);
    let path = options.database.display().to_string();
    table.row(["file".to_owned(), size(summary.file_bytes), path]);
    table
}
