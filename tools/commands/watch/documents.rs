//! The documents of lines: made on all cores, and submitted to the database in order, in groups.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Error, Result, anyhow};
use rayon::prelude::*;
use simdb::{Change, Database, DocId, Document, Fingerprint, OnExists, Ticket};

use super::lines::{Event, InputLine};
use crate::console::error_text;
use crate::console::interrupt::Interrupt;
use crate::corpus::filled_fields::FilledFields;
use crate::corpus::frames::StreamFrames;
use crate::formats::id_sequence::IdSequence;
use crate::formats::jsonl::JsonParts;
use crate::formats::{DocumentFields, DocumentPart, utf8};
use crate::options::{DuplicateRule, OnError};

/// At most 1,024 lines in a group: a fraction of the lines in [`Room`](super::lines::Room), so that
/// the next group is prepared while a group is committed.
const MAX_GROUP_LINES: usize = 1024;

/// A line without an answer.
pub(super) struct PendingLine {
    /// The number of the line, from 1.
    pub(super) number: u64,
    pub(super) len_bytes: usize,
    pub(super) read_at: Instant,
    pub(super) id: Option<DocId>,
    /// `None` in a database without keys.
    pub(super) key: Option<String>,
    /// `true` if the line has no id of its own.
    pub(super) is_assigned: bool,
    /// The fingerprint, and `true` if it is reliable; or the reason why the line is no document.
    pub(super) fingerprint: Result<(Fingerprint, bool), String>,
}

/// Lines that were submitted together.
pub(super) struct SubmittedGroup {
    pub(super) lines: Vec<PendingLine>,
    /// The outcomes of the lines that are documents.
    pub(super) ticket: Ticket,
}

pub(super) struct SubmittedDocuments<'d> {
    pub(super) database: &'d Database,
    pub(super) fields: DocumentFields,
    /// The rule of `--unique`; `None` if all documents are stored.
    pub(super) rule: Option<DuplicateRule>,
    /// The ids to assign; `None` without `--assign-ids`.
    pub(super) ids: Option<IdSequence>,
    pub(super) on_error: OnError,
    pub(super) on_exists: OnExists,
    /// `None` if texts are compared whole, or the database learns the frames.
    pub(super) learner: Option<StreamFrames>,
    pub(super) filled: FilledFields,
}

impl SubmittedDocuments<'_> {
    /// Submits all lines until the end of the input, a signal, or a bad line that ends the tool.
    pub(super) fn submit_all(
        &mut self,
        events: &Receiver<Event>,
        groups: &Sender<SubmittedGroup>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        loop {
            let (lines, end) = gather(events, interrupt);
            let bad = self.submit(lines, groups)?;
            match (bad, end) {
                (Some(bad), _) => return Err(bad),
                (None, Some(end)) => {
                    self.filled.warn_of_empty(&self.fields);
                    return end;
                }
                (None, None) => {}
            }
        }
    }

    /// Submits lines. Returns the error of a bad line that ends the tool.
    fn submit(
        &mut self,
        lines: Vec<InputLine>,
        groups: &Sender<SubmittedGroup>,
    ) -> Result<Option<Error>> {
        let this = &*self;
        let parsed: Vec<_> = if lines.len() > 1 {
            lines.into_par_iter().map(|line| this.parse(line)).collect()
        } else {
            // Waking other threads takes longer than one line.
            lines.into_iter().map(|line| this.parse(line)).collect()
        };
        if parsed.is_empty() {
            return Ok(None);
        }
        if let Some(learner) = &mut self.learner {
            // Before the decisions about these lines: each of them may be the last that makes a
            // line of the group a frame.
            let texts = parsed
                .iter()
                .filter_map(|(_, document)| document.as_ref()?.text.clone());
            learner.learn(texts.collect(), self.database)?;
        }
        let (mut lines, mut changes) = (Vec::new(), Vec::new());
        let mut bad = None;
        for (mut line, document) in parsed {
            if let Some(document) = &document {
                self.filled.add(
                    document.fields.is_some(),
                    document.scope.is_some(),
                    document.copies.is_some(),
                );
            }
            changes.extend(document.and_then(|document| self.change(&mut line, document)));
            if let (Err(reason), OnError::Abort) = (&line.fingerprint, self.on_error) {
                bad = Some(aborted(line.number, reason));
            }
            lines.push(line);
            if bad.is_some() {
                break;
            }
        }
        let first = lines.first().map_or(0, |line| line.number);
        let refused = || format!("line {first} and the lines after it are not stored");
        let ticket = self.database.submit(changes).with_context(refused)?;
        // Fails only if the main thread has stopped, which then sends an event to stop this thread.
        let _ = groups.send(SubmittedGroup { lines, ticket });
        Ok(bad)
    }

    /// The document of a line; its id is 0 until an id is assigned.
    fn parse(&self, line: InputLine) -> (PendingLine, Option<Document>) {
        let mut pending = PendingLine {
            number: line.number,
            len_bytes: line.len_bytes(),
            read_at: line.read_at,
            id: None,
            key: None,
            is_assigned: false,
            fingerprint: Err(String::new()),
        };
        let document = line.bytes.and_then(|bytes| {
            let document = self.document(&mut pending, &bytes);
            if document.is_err() && pending.key.is_none() {
                pending.key = self.key(&bytes);
            }
            document
        });
        let made = document
            .as_ref()
            .map(|document| (document.fingerprint, document.reliable));
        pending.fingerprint = made.map_err(String::clone);
        (pending, document.ok())
    }

    /// The key in a line that is no document; `None` without a key.
    fn key(&self, bytes: &[u8]) -> Option<String> {
        let mut parts = JsonParts::parse(utf8(bytes).ok()?, &self.fields).ok()?;
        self.fields.key(&mut parts).ok().flatten()
    }

    fn document(&self, line: &mut PendingLine, bytes: &[u8]) -> Result<Document, String> {
        let mut parts = JsonParts::parse(utf8(bytes)?, &self.fields)?;
        line.is_assigned = self.ids.is_some() && parts.is_null(DocumentPart::Id);
        if !line.is_assigned && self.fields.key.is_none() {
            line.id = Some(self.fields.id(&mut parts)?);
        }
        let document = self
            .fields
            .content(parts)?
            .into_document(line.id.unwrap_or_default(), self.database.fingerprinter())
            .map_err(|error| error.to_string())?;
        line.key = document.key.clone();
        if let Some(rule) = self.rule {
            rule.check_text(&document)?;
        }
        Ok(document)
    }

    /// Returns the reason if the database would refuse the arrival time, and with it the whole
    /// group.
    fn check_arrival(&self, document: &Document) -> Result<(), String> {
        let retention = self.database.settings().retention;
        let (Some(retention), Some(arrival)) = (retention, document.arrival) else {
            return Ok(());
        };
        retention
            .check_arrival(document.doc_ref(), arrival, SystemTime::now().into())
            .map_err(|refusal| error_text(&refusal))
    }

    /// The change that stores the document of a line, with an assigned id if the line has no id.
    /// `None` if the arrival time is refused, or no id is left.
    fn change(&mut self, line: &mut PendingLine, mut document: Document) -> Option<Change> {
        if let Err(reason) = self.check_arrival(&document) {
            line.fingerprint = Err(reason);
            return None;
        }
        match (&mut self.ids, line.id) {
            (Some(ids), Some(id)) => ids.skip_to_after(id),
            (Some(ids), None) => match ids.take() {
                Ok(id) => {
                    document.id = id;
                    line.id = Some(id);
                }
                Err(reason) => {
                    line.fingerprint = Err(reason);
                    return None;
                }
            },
            (None, _) => {}
        }
        document.on_exists = self.on_exists;
        Some(match self.rule {
            Some(rule) => rule.change(document),
            None => Change::Insert(document),
        })
    }
}

/// The waiting lines, at least one, and the end or the error of the input, if it was reached. A
/// signal is the end, without lines.
fn gather(events: &Receiver<Event>, interrupt: &Interrupt) -> (Vec<InputLine>, Option<Result<()>>) {
    let mut lines = Vec::new();
    while lines.len() < MAX_GROUP_LINES {
        let event = match events.try_recv() {
            Ok(event) => event,
            Err(_) if !lines.is_empty() => break,
            // The channel cannot close: `wake` holds a sender as long as this thread runs.
            Err(_) => events.recv().unwrap_or(Event::End),
        };
        if interrupt.is_set() {
            return (Vec::new(), Some(Ok(())));
        }
        match event {
            Event::Line(line) => lines.push(line),
            Event::End => return (lines, Some(Ok(()))),
            Event::Failed(error) => return (lines, Some(Err(error))),
            Event::Woken => {}
        }
    }
    (lines, None)
}

/// The error about a line that ends the tool.
pub(super) fn aborted(number: u64, reason: &str) -> Error {
    anyhow!(
        "<stdin>:{number}: {reason}; lines that are answered \"new\" are stored (--on-error skip \
         goes on)"
    )
}
