//! What a load did, in a table or a line of JSON.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use super::options::Options;
use crate::console::table::{Align, Table};
use crate::console::{Output, grouped, note, size};
use crate::corpus::statistics::RecordCounts;
use crate::options::Rule;

/// The line of JSON. `read` = `inserted` + `duplicates` + `present` + `rejected`.
#[derive(Serialize)]
struct Summary {
    read: u64,
    inserted: u64,
    duplicates: u64,
    rejected: u64,
    present: u64,
    unreliable: u64,
    seconds: f64,
    documents_per_second: f64,
    file_bytes: u64,
}

/// Prints what was done: to standard output, unless lines of JSON about single documents went
/// there and this is a table.
pub fn print(
    options: &Options,
    counts: &RecordCounts,
    elapsed: Duration,
    output: &mut Output,
) -> Result<()> {
    let path = &options.database;
    let file_bytes = std::fs::metadata(path)
        .with_context(|| format!("cannot look at {}", path.display()))?
        .len();
    let seconds = elapsed.as_secs_f64();
    let summary = Summary {
        read: counts.read,
        inserted: counts.inserted,
        duplicates: counts.duplicates,
        rejected: counts.rejected,
        present: counts.present,
        unreliable: counts.unreliable,
        seconds,
        documents_per_second: counts.read as f64 / seconds.max(f64::MIN_POSITIVE),
        file_bytes,
    };
    if options.json {
        return output.json(&summary);
    }
    for line in table(options, options.unique.rule()?, &summary).lines() {
        if options.streams_to_stdout() {
            note(line);
        } else {
            output.line(line)?;
        }
    }
    Ok(())
}

fn table(options: &Options, rule: Option<Rule>, summary: &Summary) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    let mut count = |name: &str, number: u64, remark: &str| {
        table.row([name.to_owned(), grouped(number), remark.to_owned()]);
    };
    count("read", summary.read, "");
    count("inserted", summary.inserted, "");
    let why_dropped = rule.map(|rule| match rule {
        Rule::Within(radius) => {
            format!("dropped: within radius {radius} of a document that is kept")
        }
        Rule::Similar(_) => "dropped: like the text of a document that is kept".to_owned(),
    });
    if let Some(remark) = why_dropped {
        count("duplicates", summary.duplicates, &remark);
    }
    if summary.rejected > 0 {
        count(
            "rejected",
            summary.rejected,
            "left out: see above, or --rejects FILE",
        );
    }
    if summary.present > 0 {
        count(
            "present",
            summary.present,
            "there already, id and fingerprint alike",
        );
    }
    if summary.unreliable > 0 {
        count(
            "unreliable",
            summary.unreliable,
            "say too little: no fingerprint is near theirs",
        );
    }
    table.row([
        "time".to_owned(),
        format!("{:.2} s", summary.seconds),
        format!(
            "{} documents a second",
            grouped(summary.documents_per_second as u64)
        ),
    ]);
    let path = options.database.display().to_string();
    table.row(["file".to_owned(), size(summary.file_bytes), path]);
    table
}
