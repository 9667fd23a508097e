//! [`Ledger`]: what became of every record of a load, and where the bad ones are.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use serde::Serialize;
use simdb::{DocId, Fingerprint};

use super::report::ReportFile;
use crate::console::content::Content;
use crate::console::{counted, note};
use crate::formats::input::Source;
use crate::formats::{Format, Reject, Unit};
use crate::options::OnError;

/// An input of a load, and how it is written.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is and where.
    pub source: Source,
    /// How it is written.
    pub format: Format,
}

impl Input {
    /// A place in it, as messages name it: `news.jsonl:12`.
    pub fn place(&self, number: u64) -> String {
        let name = self.source.name();
        match self.format.unit() {
            Unit::Line => format!("{name}:{number}"),
            Unit::Byte => format!("{name}: byte {number}"),
            Unit::Row => format!("{name}: row {number}"),
        }
    }

    /// The number as a line, or none.
    pub fn line(&self, number: u64) -> Option<u64> {
        (self.format.unit() == Unit::Line).then_some(number)
    }

    /// The number as an offset in bytes, or none.
    pub fn byte(&self, number: u64) -> Option<u64> {
        (self.format.unit() == Unit::Byte).then_some(number)
    }

    /// The number as a row, or none.
    pub fn row(&self, number: u64) -> Option<u64> {
        (self.format.unit() == Unit::Row).then_some(number)
    }
}

/// How many records there were of each fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All records.
    pub read: u64,
    /// New in the database.
    pub inserted: u64,
    /// Dropped, because a near-duplicate is there.
    pub duplicates: u64,
    /// Left out, because something is wrong with them.
    pub rejected: u64,
    /// There already.
    pub present: u64,
    /// Read with texts that say too little for a fingerprint. These are counted above, too.
    pub unreliable: u64,
}

/// Which records are bad.
#[derive(Debug, Default)]
pub struct Rejected {
    /// Input and number of each.
    pub places: HashSet<(usize, u64)>,
    /// Their ids, as far as they have any.
    pub ids: HashSet<u64>,
    /// Whether some have none.
    pub has_unnamed: bool,
}

impl Rejected {
    /// Whether one of them may have had this id.
    pub fn may_be(&self, id: u64) -> bool {
        self.has_unnamed || self.ids.contains(&id)
    }
}

/// Counts records and deals with bad ones.
pub struct Ledger {
    /// The inputs in their order.
    pub inputs: Vec<Input>,
    /// What was counted so far.
    pub counts: Counts,
    /// All bad records, where somebody asked for them.
    pub rejected: Option<Rejected>,
    on_error: OnError,
    rejects: Option<ReportFile>,
}

/// How many rejects are shown when they are not written to a file.
const REJECTS_SHOWN: u64 = 5;

/// A line of the file of rejects; [`Content`] knows it by its first fields.
#[derive(Serialize)]
struct RejectLine<'r> {
    file: &'r str,
    line: Option<u64>,
    byte: Option<u64>,
    row: Option<u64>,
    id: Option<u64>,
    reason: &'r str,
}

impl Ledger {
    /// A ledger with nothing in it. That the file of rejects can be written is known at
    /// once.
    pub fn new(inputs: Vec<Input>, on_error: OnError, rejects: Option<&Path>) -> Result<Self> {
        let rejects = rejects.map(|path| ReportFile::create(path, Content::Rejects));
        Ok(Self {
            inputs,
            counts: Counts::default(),
            rejected: None,
            on_error,
            rejects: rejects.transpose()?,
        })
    }

    /// Notes a bad record. An error if one is enough to give up.
    pub fn reject(&mut self, input: usize, reject: &Reject) -> Result<()> {
        self.counts.rejected += 1;
        let number = reject.number;
        if let Some(rejected) = &mut self.rejected {
            rejected.places.insert((input, number));
            rejected.ids.extend(reject.id.map(|id| id.0));
            rejected.has_unnamed |= reject.id.is_none();
        }
        let input = &self.inputs[input];
        if let Some(file) = &mut self.rejects {
            file.line(&RejectLine {
                file: input.source.name(),
                line: input.line(number),
                byte: input.byte(number),
                row: input.row(number),
                id: reject.id.map(|id| id.0),
                reason: &reject.reason,
            })?;
        }
        let what = format!("{}: {}", input.place(number), reject.reason);
        match self.on_error {
            OnError::Abort => Err(nothing_changed(&what)),
            OnError::Skip => {
                if self.rejects.is_none() && self.counts.rejected <= REJECTS_SHOWN {
                    note(format_args!("skipped {what}"));
                }
                Ok(())
            }
        }
    }

    /// Notes a document whose id is taken.
    pub fn conflict(
        &mut self,
        input: usize,
        number: u64,
        id: DocId,
        stored: Fingerprint,
    ) -> Result<()> {
        self.reject(
            input,
            &Reject {
                number,
                id: Some(id),
                reason: format!("the id {id} is taken by a document with fingerprint {stored}"),
            },
        )
    }

    /// Finishes the file of rejects, and says how many there were if there is none.
    pub fn finish(&mut self) -> Result<()> {
        match &mut self.rejects {
            Some(file) => file.finish(),
            None => {
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
    }
}

/// The first bad record, when one is enough.
fn nothing_changed(what: &str) -> Error {
    anyhow!("{what}; nothing was changed (--on-error skip leaves such records out)")
}
