//! What became of each line, in their order, as soon as it is durable.

use std::sync::mpsc::{Receiver, TryRecvError};

use anyhow::{Error, Result, anyhow};
use serde::Serialize;
use simdb::{Fingerprint, Outcome};

use super::documents::{Entry, Group, given_up};
use super::lines::Room;
use crate::console::Output;
use crate::console::duplicate::{Alike, DuplicateOf};
use crate::options::OnError;

/// How many lines there were of each fate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
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
    pub(super) tally: Tally,
}

impl Answers<'_> {
    /// Answers everything that is on its way. `stop` is called when no more lines should set out:
    /// an answer cannot be given, or the id of a line is taken and that is enough. In the latter
    /// case those that are on their way are answered still.
    pub(super) fn answer_all(&mut self, groups: &Receiver<Group>, stop: impl Fn()) -> Result<()> {
        let mut enough = None;
        loop {
            let group = match groups.try_recv() {
                Ok(group) => group,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    // Whoever reads the answers need not wait for those to come.
                    self.output.flush()?;
                    match groups.recv() {
                        Ok(group) => group,
                        Err(_) => break,
                    }
                }
            };
            if let Some(error) = self.answer(group)? {
                stop();
                enough.get_or_insert(error);
            }
        }
        self.output.flush()?;
        enough.map_or(Ok(()), Err)
    }

    /// Answers lines, and returns an error for later if one is enough to give up.
    fn answer(&mut self, group: Group) -> Result<Option<Error>> {
        if !group.ticket.is_done() {
            self.output.flush()?;
        }
        let mut outcomes = group.ticket.wait()?.into_iter();
        let len_bytes = group.entries.iter().map(|entry| entry.len_bytes).sum();
        self.room.give_back(group.entries.len(), len_bytes);
        let mut enough = None;
        for entry in &group.entries {
            let conflict = match &entry.fingerprint {
                Err(reason) => self.reject(entry, reason).map(|()| None)?,
                Ok((fingerprint, reliable)) => {
                    let outcome = outcomes
                        .next()
                        .ok_or_else(|| anyhow!("line {} has no outcome", entry.number))?;
                    self.say(entry, *fingerprint, *reliable, outcome)?
                }
            };
            if self.on_error == OnError::Abort {
                enough = enough.or(conflict);
            }
        }
        Ok(enough)
    }

    fn reject(&mut self, entry: &Entry, error: &str) -> Result<()> {
        self.tally.rejected += 1;
        self.output.json(&AnswerLine {
            line: entry.number,
            id: entry.id.map(|id| id.0),
            fingerprint: None,
            reliable: None,
            verdict: Verdict::Rejected { error },
        })
    }

    /// Says what became of a document, and returns an error if its id is taken by another.
    fn say(
        &mut self,
        entry: &Entry,
        fingerprint: Fingerprint,
        reliable: bool,
        outcome: Outcome,
    ) -> Result<Option<Error>> {
        let id = entry.id.unwrap_or_default();
        let mut conflict = None;
        let (count, verdict) = match (DuplicateOf::in_outcome(&outcome), outcome) {
            (Some(duplicate), _) => (
                &mut self.tally.duplicates,
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
                    conflict = Some(given_up(entry.number, &reason));
                }
                let stored = stored.to_string();
                (&mut self.tally.exist, Verdict::Exists { stored, repeated })
            }
            _ => (&mut self.tally.new, Verdict::New),
        };
        *count += 1;
        // An id that was given for nothing is the id of nothing.
        let is_stored = !matches!(verdict, Verdict::Duplicate { .. });
        self.output.json(&AnswerLine {
            line: entry.number,
            id: (is_stored || !entry.is_assigned).then_some(id.0),
            fingerprint: Some(fingerprint.to_string()),
            reliable: Some(reliable),
            verdict,
        })?;
        Ok(conflict)
    }
}
