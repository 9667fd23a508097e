//! [`DedupSummary`]: the counts of `simdb-cli dedup`.

use std::time::Duration;

use serde::Serialize;

use super::decisions::Decisions;
use crate::console::table::Table;
use crate::corpus::statistics::RecordCounts;

/// The counts, with the field names of JSON. `read` = `kept` + `removed` + `rejected`.
#[derive(Default, Serialize)]
pub struct DedupSummary {
    read: u64,
    pub kept: u64,
    pub removed: u64,
    /// Removed documents with the text of their keeper, if it is known.
    pub identical: u64,
    near: u64,
    /// Removed documents whose keeper is in the database of `--against`.
    pub against: u64,
    rejected: u64,
    /// Kept records that were not compared: without a text, or bad.
    pub uncompared: u64,
    unreliable: u64,
    clusters: u64,
    largest: u64,
    split: u64,
    /// Different paragraphs or frames that were not compared.
    pub ignored: u64,
    /// Documents that stay for a paragraph that was not compared and that no other kept document
    /// has.
    restored: u64,
    /// Documents added to the database of `--against`.
    pub added: u64,
    seconds: f64,
}

impl DedupSummary {
    /// Completes the counts.
    pub fn finish(&mut self, decisions: &Decisions, counts: &RecordCounts, elapsed: Duration) {
        *self = Self {
            read: counts.read,
            near: self.removed.saturating_sub(self.identical),
            rejected: counts.read.saturating_sub(self.kept + self.removed),
            unreliable: counts.unreliable,
            clusters: decisions.clusters,
            largest: decisions.largest,
            split: decisions.split,
            restored: decisions.restored,
            seconds: elapsed.as_secs_f64(),
            ..*self
        };
    }

    pub fn table(&self) -> Table {
        let mut table = Table::of_counts(&[
            ("read", self.read, ""),
            ("kept", self.kept, ""),
            ("removed", self.removed, ""),
            ("  identical", self.identical, "equal to a kept text"),
            ("  near", self.near, ""),
            (
                "  against?",
                self.against,
                "near a document of the database",
            ),
            (
                "rejected?",
                self.rejected,
                "left out: see above, or --rejects FILE",
            ),
            (
                "uncompared?",
                self.uncompared,
                "kept without comparison: without a text, or bad",
            ),
            (
                "unreliable?",
                self.unreliable,
                "too little content to be compared",
            ),
            (
                "ignored?",
                self.ignored,
                "different paragraphs or frames that were not compared",
            ),
            (
                "restored?",
                self.restored,
                "kept for such a paragraph, which no other kept document has",
            ),
            ("added?", self.added, "to the database"),
            ("clusters", self.clusters, ""),
            ("largest", self.largest, "documents in one cluster"),
        ]);
        table.row(["time", &format!("{:.2} s", self.seconds)]);
        table
    }
}
