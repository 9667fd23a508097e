//! [`Statistics`]: the counts of records by outcome, and the bad records.

use std::collections::HashSet;

use anyhow::{Result, bail};
use serde::Serialize;
use simdb::{DocId, Fingerprint};

use super::inputs::{Input, Location};
use super::report::RecordReport;
use crate::console::paths::OutputPath;
use crate::console::{counted, note};
use crate::formats::Reject;
use crate::options::OnError;

/// The counts of records by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordCounts {
    /// All records.
    pub read: u64,
    /// Documents that are new in the database.
    pub inserted: u64,
    /// Documents dropped as near-duplicates.
    pub duplicates: u64,
    /// Bad records that were left out.
    pub rejected: u64,
    /// Documents stored before with the same fingerprint.
    pub present: u64,
    /// Documents with unreliable fingerprints, which are counted above too.
    pub unreliable: u64,
}

/// The bad records.
#[derive(Debug, Default)]
pub struct Rejected {
    /// The index of the input and the number of each bad record.
    pub records: HashSet<(usize, u64)>,
    /// The ids of bad records, if known.
    pub ids: HashSet<u64>,
    /// `true` if a bad record has no known id.
    pub has_unnamed: bool,
}

impl Rejected {
    /// Returns `true` if a bad record may have this id.
    pub fn may_be(&self, id: u64) -> bool {
        self.has_unnamed || self.ids.contains(&id)
    }
}

/// Counts records. Reports bad records, or ends the command at the first.
pub struct Statistics {
    /// The inputs in their order.
    pub inputs: Vec<Input>,
    pub counts: RecordCounts,
    /// The bad records, if a later step needs them.
    pub rejected: Option<Rejected>,
    on_error: OnError,
    report: Option<RecordReport>,
}

/// Without `--rejects`, the first 5 bad records are shown on standard error.
const REJECTS_SHOWN: u64 = 5;

/// A line of `--rejects`.
#[derive(Serialize)]
struct RejectLine<'r> {
    #[serde(flatten)]
    location: Location<'r>,
    id: Option<u64>,
    reason: &'r str,
}

impl Statistics {
    /// Empty statistics, with a report of bad records.
    pub fn new(inputs: Vec<Input>, on_error: OnError, report: Option<OutputPath>) -> Result<Self> {
        Ok(Self {
            inputs,
            counts: RecordCounts::default(),
            rejected: None,
            on_error,
            report: report.map(RecordReport::create).transpose()?,
        })
    }

    /// Counts and reports a bad record. An error with `--on-error abort`.
    pub fn reject(&mut self, input: usize, reject: &Reject) -> Result<()> {
        self.counts.rejected += 1;
        let Reject { number, id, reason } = reject;
        if let Some(rejected) = &mut self.rejected {
            rejected.records.insert((input, *number));
            rejected.ids.extend(id.map(|id| id.0));
            rejected.has_unnamed |= id.is_none();
        }
        let location = self.inputs[input].location(*number);
        if let Some(report) = &mut self.report {
            let id = id.map(|id| id.0);
            report.line(&RejectLine {
                location,
                id,
                reason,
            })?;
        }
        if self.on_error == OnError::Abort {
            bail!(
                "{location}: {reason}; nothing was changed (--on-error skip leaves bad records out)"
            );
        }
        // A corpus may have millions of bad records: standard error gets the first few.
        if self.report.is_none() && self.counts.rejected <= REJECTS_SHOWN {
            note(format_args!("skipped {location}: {reason}"));
        }
        Ok(())
    }

    /// Counts and reports a document whose id is stored with another fingerprint.
    pub fn conflict(
        &mut self,
        input: usize,
        number: u64,
        id: DocId,
        stored: Fingerprint,
    ) -> Result<()> {
        let reject = Reject {
            number,
            id: Some(id),
            reason: format!("the id {id} is taken: a document with fingerprint {stored} has it"),
        };
        self.reject(input, &reject)
    }

    /// Publishes the report of bad records, or prints the number of those that were not shown.
    pub fn finish(&mut self) -> Result<()> {
        if let Some(report) = self.report.take() {
            return report.publish();
        }
        let more = self.counts.rejected.saturating_sub(REJECTS_SHOWN);
        if more > 0 {
            note(format_args!(
                "skipped {} after these; --rejects FILE lists them all",
                counted(more, "record")
            ));
        }
        Ok(())
    }
}
