//! What was done to a corpus: line by line, and in the end.

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::fates::Fates;
use super::mark::Removed;
use crate::console::table::{Align, Table};
use crate::console::{Output, grouped};
use crate::corpus::inputs::Input;
use crate::corpus::statistics::RecordCounts;

/// What was counted.
#[derive(Default)]
pub struct Tally {
    pub kept: u64,
    pub removed: u64,
    /// Of those removed, with the very text of what is kept for them, as far as that is known.
    pub identical: u64,
    /// Of those removed, with the id of an earlier one.
    pub repeated: u64,
    /// Of those removed, for a document of another database.
    pub against: u64,
    pub clusters: u64,
    pub largest: u64,
    pub split: u64,
    /// New in the other database.
    pub added: u64,
}

impl Tally {
    pub fn new(fates: &Fates) -> Self {
        Self {
            clusters: fates.clusters,
            largest: fates.largest,
            split: fates.split,
            ..Self::default()
        }
    }
}

/// The line of JSON. `read` = `kept` + `removed` + `rejected`.
#[derive(Serialize)]
struct Summary {
    read: u64,
    kept: u64,
    removed: u64,
    identical: u64,
    near: u64,
    against: u64,
    rejected: u64,
    unreliable: u64,
    clusters: u64,
    largest: u64,
    split: u64,
    added: u64,
    seconds: f64,
}

/// A line of the report.
#[derive(Serialize)]
pub struct ReportLine<'r> {
    id: u64,
    keeper: u64,
    distance: Option<u32>,
    cluster: Option<u64>,
    against: bool,
    file: &'r str,
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u64>,
}

/// What is reported of a document that is left out.
pub fn report_line<'r>(
    id: u64,
    removed: &Removed,
    input: &'r Input,
    number: u64,
) -> ReportLine<'r> {
    let location = input.location(number);
    ReportLine {
        id,
        keeper: removed.keeper,
        distance: removed.distance,
        cluster: removed.cluster,
        against: removed.cluster.is_none(),
        file: location.file,
        line: location.line,
        row: location.row,
    }
}

/// Prints what was done.
pub fn print(
    tally: &Tally,
    counts: &RecordCounts,
    elapsed: Duration,
    json: bool,
    output: &mut Output,
) -> Result<()> {
    // A repeated record is the same document, whatever is written in it otherwise.
    let identical = tally.identical + tally.repeated;
    let summary = Summary {
        read: counts.read,
        kept: tally.kept,
        removed: tally.removed,
        identical,
        near: tally.removed.saturating_sub(identical),
        against: tally.against,
        rejected: counts.rejected,
        unreliable: counts.unreliable,
        clusters: tally.clusters,
        largest: tally.largest,
        split: tally.split,
        added: tally.added,
        seconds: elapsed.as_secs_f64(),
    };
    if json {
        return output.json(&summary);
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    let mut count = |name: &str, number: u64, remark: &str| {
        table.row([name.to_owned(), grouped(number), remark.to_owned()]);
    };
    count("read", summary.read, "");
    count("kept", summary.kept, "");
    count("removed", summary.removed, "");
    count(
        "  identical",
        summary.identical,
        "the text of what is kept, or its id again",
    );
    count("  near", summary.near, "");
    if summary.against > 0 {
        count(
            "  against",
            summary.against,
            "near a document of the database",
        );
    }
    for (name, number, remark) in [
        (
            "rejected",
            summary.rejected,
            "left out: see above, or --rejects FILE",
        ),
        (
            "unreliable",
            summary.unreliable,
            "say too little, so they are kept",
        ),
        ("added", summary.added, "to the database"),
    ] {
        if number > 0 {
            count(name, number, remark);
        }
    }
    count("clusters", summary.clusters, "");
    count("largest", summary.largest, "documents in one cluster");
    table.row(["time".to_owned(), format!("{:.2} s", summary.seconds)]);
    for line in table.lines() {
        output.line(line)?;
    }
    Ok(())
}
