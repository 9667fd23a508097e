//! The answers to lines, in order, printed when the documents are durable.

use std::sync::mpsc::{Receiver, TryRecvError};

use anyhow::{Error, Result, anyhow};
use serde::Serialize;
use simdb::copies::Copies;
use simdb::{Database, DocId, Fingerprint, Outcome, Settings, Snapshot};

use super::counts::{VerdictCounts, VerdictKind};
use super::documents::{SubmittedGroup, aborted};
use super::lines::Room;
use super::monitor::Monitor;
use crate::console::Output;
use crate::console::duplicate::{Alike, DuplicateOf, Extended};
use crate::options::OnError;

#[derive(Serialize)]
struct AnswerLine<'a> {
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    id: Option<u64>,
    fingerprint: Option<String>,
    reliable: Option<bool>,
    #[serde(flatten)]
    verdict: LineVerdict<'a>,
}

#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
enum LineVerdict<'a> {
    New(Extended),
    Duplicate {
        of: u64,
        /// The key, or null if the document has gone since; absent in a database without keys.
        #[serde(skip_serializing_if = "Option::is_none")]
        of_key: Option<Option<String>>,
        distance: Option<u32>,
        #[serde(flatten)]
        alike: Option<Box<Alike>>,
        #[serde(flatten)]
        copies: Option<CopiesSoFar>,
    },
    Seen,
    Replaced {
        stored: String,
    },
    Exists {
        stored: String,
        repeated: bool,
    },
    Expired {
        cutoff: String,
    },
    Rejected {
        error: &'a str,
    },
}

/// The copies of the document that a line repeats, with this line and the lines of its group.
#[derive(Serialize)]
struct CopiesSoFar {
    copies: u64,
    first_seen: String,
}

impl CopiesSoFar {
    fn new(copies: &Copies) -> Self {
        Self {
            copies: copies.count,
            first_seen: copies.first_seen.to_string(),
        }
    }
}

fn is_unknown(error: &Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|cause| matches!(cause, simdb::Error::CommitUnknown { .. }))
}

pub(super) struct Answers<'a> {
    pub(super) output: &'a mut Output,
    pub(super) database: &'a Database,
    pub(super) room: &'a Room,
    pub(super) on_error: OnError,
    pub(super) counts: VerdictCounts,
    /// Duplicates with the fingerprint of the stored document.
    pub(super) copies: u64,
    pub(super) monitor: &'a Monitor,
}

impl Answers<'_> {
    /// Answers all submitted lines. Calls `stop` after a group that is not stored and after a line
    /// whose taken id ends the tool; lines that are submitted by then are still answered.
    pub(super) fn answer_all(
        &mut self,
        groups: &Receiver<SubmittedGroup>,
        stop: impl Fn(),
    ) -> Result<()> {
        let mut failed = Ok(());
        loop {
            let group = match groups.try_recv() {
                Ok(group) => group,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    // The reader gets all answers before this thread blocks.
                    if let Err(error) = self.output.flush() {
                        return failed.and(Err(error));
                    }
                    match groups.recv() {
                        Ok(group) => group,
                        Err(_) => break,
                    }
                }
            };
            match self.answer(group) {
                Ok(None) => {}
                Ok(Some(error)) => {
                    stop();
                    // Lines that may be stored are named rather than lines that are not.
                    failed = match is_unknown(&error) {
                        true => Err(error),
                        false => failed.and(Err(error)),
                    };
                }
                // A closed pipe must not hide that lines are not stored.
                Err(error) => return failed.and(Err(error)),
            }
        }
        let flushed = self.output.flush();
        failed.and(flushed)
    }

    /// Answers the lines of a group. Returns the error that ends the tool.
    fn answer(&mut self, group: SubmittedGroup) -> Result<Option<Error>> {
        if !group.ticket.is_done() {
            self.output.flush()?;
        }
        let outcomes = group.ticket.wait();
        let len_bytes = group.lines.iter().map(|line| line.len_bytes).sum();
        self.room.give_back(group.lines.len(), len_bytes);
        let mut outcomes = match outcomes {
            Ok(outcomes) => outcomes.into_iter(),
            Err(error) => {
                let first = group.lines.first().map_or(0, |line| line.number);
                let error = Error::new(error);
                // A smaller group behind this one may fit on the disk.
                let state = match is_unknown(&error) {
                    true => format!(
                        "the lines from {first} on that were committed together may be stored; other \
                         lines without an answer are not"
                    ),
                    false => {
                        format!("line {first} is not stored, nor a later line without an answer")
                    }
                };
                return Ok(Some(error.context(state)));
            }
        };
        let mut failed = None;
        // Names the documents that lines repeat. A document that was removed meanwhile has no name.
        let mut snapshot = None;
        for line in &group.lines {
            let (mut id, mut made) = (line.id, None);
            let mut verdict = match &line.fingerprint {
                Err(error) => LineVerdict::Rejected { error },
                Ok((fingerprint, is_reliable)) => {
                    made = Some((fingerprint.to_string(), *is_reliable));
                    let missing = || anyhow!("line {} has no outcome", line.number);
                    let outcome = outcomes.next().ok_or_else(missing)?;
                    LineVerdict::new(*fingerprint, outcome)
                }
            };
            let settings = self.database.settings();
            if verdict.names_documents() && (settings.keys || settings.copies.is_some()) {
                let snapshot = match &mut snapshot {
                    Some(snapshot) => snapshot,
                    none => none.insert(self.database.snapshot()?),
                };
                verdict = verdict.named(snapshot, settings)?;
            }
            self.counts.count(verdict.kind());
            let is_copy = matches!(
                verdict,
                LineVerdict::Duplicate {
                    distance: Some(0),
                    ..
                }
            );
            self.copies += u64::from(is_copy);
            // The id assigned to a document that is not stored belongs to no document.
            let is_stored = !matches!(
                verdict,
                LineVerdict::Duplicate { .. } | LineVerdict::Seen | LineVerdict::Expired { .. }
            );
            if !is_stored && line.is_assigned {
                id = None;
            }
            let key = line.key.as_ref().map(|key| format!("key {key:?}"));
            let name = key.or(id.map(|id| format!("id {id}")));
            if let (
                LineVerdict::Exists {
                    stored,
                    repeated: false,
                },
                OnError::Abort,
                Some(name),
            ) = (&verdict, self.on_error, name)
            {
                let reason = format!("the {name} is taken by a document with fingerprint {stored}");
                failed = failed.or(Some(aborted(line.number, &reason)));
            }
            let (fingerprint, reliable) = made.unzip();
            self.output.json(&AnswerLine {
                line: line.number,
                key: line.key.as_deref(),
                id: id.map(|id| id.0),
                fingerprint,
                reliable,
                verdict,
            })?;
        }
        let read_at = group.lines.iter().map(|line| line.read_at);
        self.monitor.record(self.counts, self.copies, read_at);
        Ok(failed)
    }
}

impl LineVerdict<'_> {
    /// Returns `true` if the verdict has the id of a stored document.
    fn names_documents(&self) -> bool {
        match self {
            Self::New(extended) => !extended.extends.is_empty(),
            verdict => matches!(verdict, Self::Duplicate { .. }),
        }
    }

    /// Adds the key and the copies of the stored document, as far as the database keeps them.
    fn named(self, snapshot: &Snapshot, settings: &Settings) -> Result<Self> {
        Ok(match self {
            Self::New(extended) => Self::New(extended.with_keys(snapshot)?),
            Self::Duplicate {
                of,
                distance,
                alike,
                ..
            } => {
                let copies = match settings.copies {
                    Some(_) => snapshot.copies(DocId(of))?,
                    None => None,
                };
                let of_key = match settings.keys {
                    true => Some(snapshot.key(DocId(of))?),
                    false => None,
                };
                Self::Duplicate {
                    of,
                    of_key,
                    distance,
                    alike,
                    copies: copies.as_ref().map(CopiesSoFar::new),
                }
            }
            verdict => verdict,
        })
    }

    fn kind(&self) -> VerdictKind {
        match self {
            Self::New(_) => VerdictKind::New,
            Self::Duplicate { .. } => VerdictKind::Duplicate,
            Self::Exists { .. } => VerdictKind::Exists,
            Self::Seen => VerdictKind::Seen,
            Self::Replaced { .. } => VerdictKind::Replaced,
            Self::Expired { .. } => VerdictKind::Expired,
            Self::Rejected { .. } => VerdictKind::Rejected,
        }
    }

    fn new(fingerprint: Fingerprint, outcome: Outcome) -> Self {
        if let Some(duplicate) = DuplicateOf::in_outcome(&outcome) {
            let (of, distance) = (duplicate.id.0, duplicate.distance);
            return Self::Duplicate {
                of,
                of_key: None,
                distance,
                alike: duplicate.alike.map(Box::new),
                copies: None,
            };
        }
        match outcome {
            Outcome::Exists { stored } => {
                let repeated = stored == fingerprint;
                Self::Exists {
                    stored: stored.to_string(),
                    repeated,
                }
            }
            Outcome::Seen => Self::Seen,
            Outcome::Replaced { stored } => Self::Replaced {
                stored: stored.to_string(),
            },
            Outcome::Expired { cutoff } => Self::Expired {
                cutoff: cutoff.to_string(),
            },
            outcome => Self::New(Extended::in_outcome(&outcome)),
        }
    }
}
