//! [`DedupSummary`]: the counts of `simdb-cli dedup`; [`RemovalLine`]: the line of its report.

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::decisions::{Decisions, Removal};
use crate::console::table::{Align, Table};
use crate::console::{Output, grouped};
use crate::corpus::inputs::Input;
use crate::corpus::statistics::RecordCounts;

/// The counts, as the line of JSON has them. `read` = `kept` + `removed` + `rejected`.
#[derive(Default, Serialize)]
pub struct DedupSummary {
    read: u64,
    pub kept: u64,
    pub removed: u64,
    /// Removed documents with the text of their keeper, as far as it is known, or with its id again.
    pub identical: u64,
    /// The other removed documents.
    near: u64,
    /// Removed documents whose keeper is in another database.
    pub against: u64,
    rejected: u64,
    unreliable: u64,
    clusters: u64,
    largest: u64,
    split: u64,
    /// Documents that were new in the other database.
    pub added: u64,
    seconds: f64,
}

impl DedupSummary {
    /// Completes the counts.
    pub fn finish(&mut self, decisions: &Decisions, counts: &RecordCounts, elapsed: Duration) {
        self.read = counts.read;
        self.near = self.removed.saturating_sub(self.identical);
        self.rejected = counts.rejected;
        self.unreliable = counts.unreliable;
        self.clusters = decisions.clusters;
        self.largest = decisions.largest;
        self.split = decisions.split;
        self.seconds = elapsed.as_secs_f64();
    }

    /// Prints the counts.
    pub fn print(&self, json: bool, output: &mut Output) -> Result<()> {
        if json {
            return output.json(self);
        }
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        for (name, number, remark) in [
            ("read", self.read, ""),
            ("kept", self.kept, ""),
            ("removed", self.removed, ""),
            (
                "  identical",
                self.identical,
                "the text of what is kept, or its id again",
            ),
            ("  near", self.near, ""),
            ("  against", self.against, "near a document of the database"),
            (
                "rejected",
                self.rejected,
                "left out: see above, or --rejects FILE",
            ),
            (
                "unreliable",
                self.unreliable,
                "say too little, so they are kept",
            ),
            ("added", self.added, "to the database"),
            ("clusters", self.clusters, ""),
            ("largest", self.largest, "documents in one cluster"),
        ] {
            // These are of interest only in some runs.
            let is_optional = ["  against", "rejected", "unreliable", "added"].contains(&name);
            if number > 0 || !is_optional {
                table.row([name.to_owned(), grouped(number), remark.to_owned()]);
            }
        }
        table.row(["time".to_owned(), format!("{:.2} s", self.seconds)]);
        table.lines().try_for_each(|line| output.line(line))
    }
}

/// A line of the report.
#[derive(Serialize)]
pub struct RemovalLine<'r> {
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

impl<'r> RemovalLine<'r> {
    /// The line of a removed document, which is at this line or row of an input.
    pub fn new(id: u64, removal: &Removal, input: &'r Input, number: u64) -> Self {
        let location = input.location(number);
        Self {
            id,
            keeper: removal.keeper,
            distance: removal.distance,
            cluster: removal.cluster,
            against: removal.cluster.is_none(),
            file: location.file,
            line: location.line,
            row: location.row,
        }
    }
}
