//! The answer to each line, in the order of the lines, as soon as it is durable.

use std::sync::mpsc::{Receiver, TryRecvError};

use anyhow::{Error, Result, anyhow};
use serde::Serialize;
use simdb::{Fingerprint, Outcome};

use super::documents::{Group, PendingLine, aborted};
use super::lines::Room;
use crate::console::Output;
use crate::console::duplicate::{Alike, DuplicateOf};
use crate::options::OnError;

/// The number of lines of each verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VerdictCounts {
    pub(super) new: u64,
    pub(super) duplicates: u64,
    pub(super) exist: u64,
    pub(super) rejected: u64,
}

#[derive(Serialize)]
struct AnswerLine<'a> {
    line: u64,
    id: Option<u64>,
    fingerprint: Option<String>,
    reliable: Option<bool>,
    #[serde(flatten)]
    verdict: Verdict<'a>,
}

#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
enum Verdict<'a> {
    New,
    Duplicate {
        of: u64,
        distance: Option<u32>,
        #[serde(flatten)]
        alike: Option<Alike>,
    },
    Exists {
        stored: String,
        repeated: bool,
    },
    Rejected {
        error: &'a str,
    },
}

/// Answers lines.
pub(super) struct Answers<'a> {
    pub(super) output: &'a mut Output,
    pub(super) room: &'a Room,
    pub(super) on_error: OnError,
    pub(super) counts: VerdictCounts,
}

impl Answers<'_> {
    /// Answers all lines that are submitted. Calls `stop` when no more lines should be read, because
    /// the id of a line is taken and that ends the tool. Lines that are submitted then are answered
    /// still.
    pub(super) fn answer_all(&mut self, groups: &Receiver<Group>, stop: impl Fn()) -> Result<()> {
        let mut failed = Ok(());
        loop {
            let group = match groups.try_recv() {
                Ok(group) => group,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    // The answers so far do not wait for those to come.
                    self.output.flush()?;
                    match groups.recv() {
                        Ok(group) => group,
                        Err(_) => break,
                    }
                }
            };
            if let Some(error) = self.answer(group)? {
                stop();
                failed = failed.and(Err(error));
            }
        }
        self.output.flush()?;
        failed
    }

    /// Answers the lines of a group. Returns an error for later if one of them ends the tool.
    fn answer(&mut self, group: Group) -> Result<Option<Error>> {
        if !group.ticket.is_done() {
            self.output.flush()?;
        }
        let mut outcomes = group.ticket.wait()?.into_iter();
        let len_bytes = group.lines.iter().map(|line| line.len_bytes).sum();
        self.room.give_back(group.lines.len(), len_bytes);
        let mut failed = None;
        for line in &group.lines {
            match &line.fingerprint {
                Err(reason) => self.reject(line, reason)?,
                Ok((fingerprint, is_reliable)) => {
                    let outcome = outcomes.next();
                    let outcome =
                        outcome.ok_or_else(|| anyhow!("line {} has no outcome", line.number))?;
                    let conflict = self.decide(line, *fingerprint, *is_reliable, outcome)?;
                    if self.on_error == OnError::Abort {
                        failed = failed.or(conflict);
                    }
                }
            }
        }
        Ok(failed)
    }

    fn reject(&mut self, line: &PendingLine, error: &str) -> Result<()> {
        self.counts.rejected += 1;
        self.output.json(&AnswerLine {
            line: line.number,
            id: line.id.map(|id| id.0),
            fingerprint: None,
            reliable: None,
            verdict: Verdict::Rejected { error },
        })
    }

    /// Writes the verdict on a document. Returns an error if the id is taken by another fingerprint.
    fn decide(
        &mut self,
        line: &PendingLine,
        fingerprint: Fingerprint,
        is_reliable: bool,
        outcome: Outcome,
    ) -> Result<Option<Error>> {
        let id = line.id.unwrap_or_default();
        let mut conflict = None;
        let (count, verdict) = match (DuplicateOf::in_outcome(&outcome), outcome) {
            (Some(duplicate), _) => (
                &mut self.counts.duplicates,
                Verdict::Duplicate {
                    of: duplicate.id.0,
                    distance: duplicate.distance,
                    alike: duplicate.alike,
                },
            ),
            (None, Outcome::Exists { stored }) => {
                let repeated = stored == fingerprint;
                if !repeated {
                    let reason =
                        format!("the id {id} is taken by a document with fingerprint {stored}");
                    conflict = Some(aborted(line.number, &reason));
                }
                let stored = stored.to_string();
                (&mut self.counts.exist, Verdict::Exists { stored, repeated })
            }
            _ => (&mut self.counts.new, Verdict::New),
        };
        *count += 1;
        // An assigned id of a document that is not stored is the id of no document.
        let is_stored = !matches!(verdict, Verdict::Duplicate { .. });
        self.output.json(&AnswerLine {
            line: line.number,
            id: (is_stored || !line.is_assigned).then_some(id.0),
            fingerprint: Some(fingerprint.to_string()),
            reliable: Some(is_reliable),
            verdict,
        })?;
        Ok(conflict)
    }
}
