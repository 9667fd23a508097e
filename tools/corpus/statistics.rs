//! [`Statistics`]: the counts of records by outcome, and the bad records.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use simdb::{DocId, Fingerprint, Timestamp};
use tempfile::SpooledTempFile;

use super::inputs::{Input, Location};
use super::report::RecordReport;
use crate::console::paths::OutputPath;
use crate::console::{counted, grouped, note};
use crate::formats::Reject;
use crate::options::OnBadRecord;

/// The counts of records by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordCounts {
    /// All records.
    pub read: u64,
    /// Documents that are new in the database.
    pub inserted: u64,
    /// Documents dropped as near-duplicates.
    pub duplicates: u64,
    /// Stored documents that were removed because a new document covers them. No records of the
    /// input.
    pub replaced: u64,
    /// Bad records that were left out.
    pub rejected: u64,
    /// Documents stored before with the same fingerprint, or left by `--on-exists keep`.
    pub present: u64,
    /// Documents that arrived before the retention window.
    pub expired: u64,
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
    /// The number of documents whose id is taken by another document; `None` if they are bad
    /// records.
    pub repeats: Option<u64>,
    /// `true` if a document whose id or key is taken counts as present, and is no bad record.
    pub leaves_stored: bool,
    on_error: OnBadRecord,
    /// Further advice about a bad record, behind the advice about `--on-error skip`.
    pub advice: &'static str,
    /// The option that lists the bad records that are not shown, behind their number.
    pub listed_by: &'static str,
    /// The number of documents that arrive after the system clock, and the latest of their times.
    ahead: Option<(u64, Timestamp)>,
    /// The number of bad records that were shown on standard error.
    shown: u64,
    report: Option<RecordReport>,
    /// The lines of the report, while they are put aside to be sorted.
    deferred: Option<DeferredRejects>,
}

/// Bad records and taken ids of a bulk load, which finds the taken ids after the last record is
/// read.
///
/// Bad records come in input order, and wait in a temporary file. Taken ids come in any order, and
/// wait in memory: 48 bytes each.
#[derive(Default)]
struct DeferredRejects {
    spool: Option<BufWriter<SpooledTempFile>>,
    conflicts: Vec<Taken>,
}

/// A document whose id is taken. Ordered by its place in the inputs.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Taken {
    input: usize,
    number: u64,
    /// `None` of a document with a key.
    id: Option<DocId>,
    stored: Fingerprint,
}

/// A bad record in the temporary file.
#[derive(Serialize, Deserialize)]
struct SpooledReject {
    input: usize,
    number: u64,
    id: Option<u64>,
    reason: String,
}

/// Bad records beyond 4 MiB wait on disk.
const SPOOL_BYTES: usize = 4 << 20;

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
    pub fn new(
        inputs: Vec<Input>,
        on_error: impl Into<OnBadRecord>,
        report: Option<OutputPath>,
    ) -> Result<Self> {
        Ok(Self {
            inputs,
            counts: RecordCounts::default(),
            rejected: None,
            repeats: None,
            leaves_stored: false,
            on_error: on_error.into(),
            advice: "",
            listed_by: "; --rejects FILE lists them all",
            ahead: None,
            shown: 0,
            report: report.map(RecordReport::create).transpose()?,
            deferred: None,
        })
    }

    /// Counts documents whose id is taken, instead of treating them as bad records.
    pub fn count_repeats(&mut self) {
        self.repeats = Some(0);
    }

    /// Forgets all records, to read the inputs again. The bad records that were shown are not shown
    /// again.
    pub fn restart(&mut self) {
        self.counts = RecordCounts::default();
        self.rejected = None;
        self.ahead = None;
        self.deferred = None;
    }

    /// Counts what a good record says: an unreliable fingerprint, an arrival time in the future.
    pub fn accept(&mut self, reliable: bool, arrival: Option<Timestamp>) {
        self.counts.unreliable += u64::from(!reliable);
        if let Some(arrival) = arrival
            && arrival > Timestamp::now()
        {
            let (documents, latest) = self.ahead.unwrap_or((0, arrival));
            self.ahead = Some((documents + 1, latest.max(arrival)));
        }
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
        let item = match id {
            Some(id) if !reason.contains(&format!("document {id} ")) => format!(" (document {id})"),
            _ => String::new(),
        };
        if let Some(deferred) = &mut self.deferred {
            deferred.push(input, reject)?;
        } else if let Some(report) = &mut self.report {
            let id = id.map(|id| id.0);
            report.line(&RejectLine {
                location,
                id,
                reason,
            })?;
        }
        if self.on_error == OnBadRecord::Abort {
            bail!(
                "{location}: {reason}{item}; nothing was changed (--on-error skip leaves bad records out{})",
                self.advice
            );
        }
        // A corpus may have millions of bad records: standard error gets the first few.
        if self.report.is_none() && self.counts.rejected > self.shown && self.shown < REJECTS_SHOWN
        {
            self.shown += 1;
            let done = match self.on_error {
                OnBadRecord::Keep => "not compared",
                OnBadRecord::Abort | OnBadRecord::Skip => "skipped",
            };
            note(format_args!("{done} {location}: {reason}{item}"));
        }
        Ok(())
    }

    /// Counts and reports a document whose id, or key, is stored with another fingerprint.
    pub fn conflict(
        &mut self,
        input: usize,
        number: u64,
        id: Option<DocId>,
        stored: Fingerprint,
    ) -> Result<()> {
        if let Some(repeats) = &mut self.repeats {
            *repeats += 1;
            return Ok(());
        }
        if self.leaves_stored {
            self.counts.present += 1;
            return Ok(());
        }
        let taken = Taken {
            input,
            number,
            id,
            stored,
        };
        if let Some(deferred) = &mut self.deferred {
            deferred.conflicts.push(taken);
            return Ok(());
        }
        self.reject(input, &taken.reject())
    }

    /// Returns `true` if the first bad record ends the command.
    pub fn is_aborting(&self) -> bool {
        self.on_error == OnBadRecord::Abort
    }

    /// Puts the lines of the report aside until [`write_deferred`](Self::write_deferred), if bad
    /// records are left out and reported.
    pub fn defer(&mut self) {
        if self.report.is_some() && self.on_error != OnBadRecord::Abort {
            self.deferred = Some(DeferredRejects::default());
        }
    }

    /// Writes the lines that were put aside to the report, in the order of the inputs.
    pub fn write_deferred(&mut self) -> Result<()> {
        let Some(DeferredRejects { spool, conflicts }) = self.deferred.take() else {
            return Ok(());
        };
        let mut taken = conflicts;
        taken.sort_unstable();
        let mut taken = taken.into_iter().peekable();
        if let Some(spool) = spool {
            let mut spool = spool.into_inner().map_err(|error| error.into_error())?;
            spool.rewind()?;
            for line in BufReader::new(spool).lines() {
                let spooled: SpooledReject = serde_json::from_str(&line?)?;
                let place = (spooled.input, spooled.number);
                while let Some(next) = taken.next_if(|next| (next.input, next.number) < place) {
                    self.reject(next.input, &next.reject())?;
                }
                let reject = Reject {
                    number: spooled.number,
                    id: spooled.id.map(DocId),
                    reason: spooled.reason,
                };
                // Counted when it was put aside, and counted again here.
                self.counts.rejected -= 1;
                self.reject(spooled.input, &reject)?;
            }
        }
        for next in taken {
            self.reject(next.input, &next.reject())?;
        }
        Ok(())
    }

    /// Returns an error if all records are bad. The report of bad records is published first.
    pub fn refuse_all_rejected(&mut self) -> Result<()> {
        let RecordCounts { read, rejected, .. } = self.counts;
        if read == 0 || rejected < read {
            return Ok(());
        }
        self.write_deferred()?;
        self.finish()?;
        bail!(
            "{} bad: no record is left; nothing was changed",
            match rejected {
                1 => "the only record is".to_owned(),
                _ => format!("all {} are", counted(rejected, "record")),
            }
        );
    }

    /// Warns of times in the future, and of the share of bad records. Publishes the report of bad
    /// records, or prints the number of those that were not shown.
    pub fn finish(&mut self) -> Result<()> {
        if let Some((documents, latest)) = self.ahead {
            note(format_args!(
                "warning: {} later than the clock of this machine, the last at {latest}; ages in the \
                 retention window are counted back from the latest arrival",
                match documents {
                    1 => "1 document arrives".to_owned(),
                    _ => format!("{} arrive", counted(documents, "document")),
                }
            ));
        }
        let RecordCounts { read, rejected, .. } = self.counts;
        if rejected > 0 && rejected < read {
            let share = 100.0 * rejected as f64 / read as f64;
            let done = match self.on_error {
                OnBadRecord::Keep => "kept, but not compared",
                OnBadRecord::Abort | OnBadRecord::Skip => "left out",
            };
            note(format_args!(
                "warning: {share:.1}% of the records ({} of {}) were {done}",
                grouped(rejected),
                grouped(read)
            ));
        }
        if let Some(report) = self.report.take() {
            return report.publish();
        }
        let more = self.counts.rejected.saturating_sub(REJECTS_SHOWN);
        if more > 0 {
            note(format_args!(
                "{} {} after these{}",
                match self.on_error {
                    OnBadRecord::Keep => "kept",
                    OnBadRecord::Abort | OnBadRecord::Skip => "skipped",
                },
                counted(more, "record"),
                self.listed_by
            ));
        }
        Ok(())
    }
}

impl Taken {
    fn reject(&self) -> Reject {
        let Self { id, stored, .. } = self;
        Reject {
            number: self.number,
            id: *id,
            reason: match id {
                Some(id) => {
                    format!(
                        "the id {id} is taken: another document has it, with fingerprint {stored}"
                    )
                }
                None => {
                    format!(
                        "its key is stored with another text, whose fingerprint is {stored}; \
                         --on-exists replace stores the new text"
                    )
                }
            },
        }
    }
}

impl DeferredRejects {
    fn push(&mut self, input: usize, reject: &Reject) -> Result<()> {
        let spool = self
            .spool
            .get_or_insert_with(|| BufWriter::new(SpooledTempFile::new(SPOOL_BYTES)));
        let spooled = SpooledReject {
            input,
            number: reject.number,
            id: reject.id.map(|id| id.0),
            reason: reject.reason.clone(),
        };
        serde_json::to_writer(&mut *spool, &spooled)?;
        spool
            .write_all(b"\n")
            .context("cannot put bad records aside in a temporary file")
    }
}
