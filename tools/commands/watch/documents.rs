//! Lines to documents, and documents into the database, in their order: many at a time if many have
//! come, on all cores.

use std::sync::mpsc::{Receiver, Sender};

use anyhow::{Error, Result, anyhow};
use rayon::prelude::*;
use simdb::{Change, Database, DocId, Document, Fingerprint, Ticket};

use super::lines::{Event, InputLine};
use crate::console::interrupt::Interrupt;
use crate::formats::id_sequence::IdSequence;
use crate::formats::jsonl::JsonParts;
use crate::formats::{DocumentFields, DocumentPart, utf8};
use crate::options::{DuplicateRule, OnError};

/// The most lines that are submitted together. While they are committed the next are made documents,
/// so they are a fraction of the lines that are not answered.
const MAX_TOGETHER: usize = 1024;

/// A line that is to be answered.
pub(super) struct PendingLine {
    /// Its number, from 1.
    pub(super) number: u64,
    /// The room it takes.
    pub(super) len_bytes: usize,
    pub(super) id: Option<DocId>,
    /// The line has no id of its own.
    pub(super) is_assigned: bool,
    /// The fingerprint and whether it is reliable, or the reason why the line is no document.
    pub(super) fingerprint: Result<(Fingerprint, bool), String>,
}

/// Lines that were submitted together.
pub(super) struct Group {
    /// The lines in their order.
    pub(super) lines: Vec<PendingLine>,
    /// The outcomes of those that are documents.
    pub(super) ticket: Ticket,
}

/// Makes documents of lines and submits them.
pub(super) struct Documents<'d> {
    pub(super) database: &'d Database,
    pub(super) fields: DocumentFields,
    /// The rule that forbids duplicates, or `None` if all documents are stored.
    pub(super) rule: Option<DuplicateRule>,
    /// The ids of lines without one, if such lines are given ids.
    pub(super) ids: Option<IdSequence>,
    pub(super) on_error: OnError,
}

/// The reason why no more lines are gathered.
enum Stop {
    /// The input has ended, or cannot be read on.
    Input(Result<()>),
    /// The tool is to stop.
    Interrupted,
}

impl Documents<'_> {
    /// Submits all lines, until the input ends, the tool is to stop, or a bad line ends it.
    pub(super) fn submit_all(
        &mut self,
        events: &Receiver<Event>,
        groups: &Sender<Group>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        loop {
            let (lines, stop) = gather(events, interrupt);
            let bad = self.submit(lines, groups)?;
            match (bad, stop) {
                (Some(bad), _) => return Err(bad),
                (None, Some(Stop::Input(outcome))) => return outcome,
                (None, Some(Stop::Interrupted)) => return Ok(()),
                (None, None) => {}
            }
        }
    }

    /// Submits lines. Returns an error for later if one of them is bad and ends the tool.
    fn submit(&mut self, lines: Vec<InputLine>, groups: &Sender<Group>) -> Result<Option<Error>> {
        let this = &*self;
        let parsed: Vec<_> = if lines.len() > 1 {
            lines.into_par_iter().map(|line| this.parse(line)).collect()
        } else {
            // To wake other threads takes longer.
            lines.into_iter().map(|line| this.parse(line)).collect()
        };
        if parsed.is_empty() {
            return Ok(None);
        }
        let (mut lines, mut changes) = (Vec::new(), Vec::new());
        let mut bad = None;
        for (mut line, document) in parsed {
            changes.extend(document.and_then(|document| self.change(&mut line, document)));
            if let (Err(reason), OnError::Abort) = (&line.fingerprint, self.on_error) {
                bad = Some(aborted(line.number, reason));
            }
            lines.push(line);
            if bad.is_some() {
                break;
            }
        }
        let ticket = self.database.submit(changes)?;
        // If the receiver is gone, an event that tells this thread to stop is on its way.
        let _ = groups.send(Group { lines, ticket });
        Ok(bad)
    }

    /// The document of a line, which has the id 0 if the line is to be given one.
    fn parse(&self, line: InputLine) -> (PendingLine, Option<Document>) {
        let mut pending = PendingLine {
            number: line.number,
            len_bytes: line.len_bytes(),
            id: None,
            is_assigned: false,
            fingerprint: Err(String::new()),
        };
        let document = line
            .bytes
            .and_then(|bytes| self.document(&mut pending, &bytes));
        pending.fingerprint = match &document {
            Ok(document) => Ok((document.fingerprint, document.reliable)),
            Err(reason) => Err(reason.clone()),
        };
        (pending, document.ok())
    }

    fn document(&self, line: &mut PendingLine, bytes: &[u8]) -> Result<Document, String> {
        let mut parts = JsonParts::parse(utf8(bytes)?, &self.fields)?;
        line.is_assigned = self.ids.is_some() && parts.is_null(DocumentPart::Id);
        if !line.is_assigned {
            line.id = Some(self.fields.id(&mut parts)?);
        }
        let document = self
            .fields
            .content(parts)?
            .into_document(line.id.unwrap_or_default(), self.database.fingerprinter())
            .map_err(|error| error.to_string())?;
        if let Some(rule) = self.rule {
            rule.check_text(&document)?;
        }
        Ok(document)
    }

    /// The change that stores the document of a line, which is given an id if it has none. `None` if no
    /// id is left.
    fn change(&mut self, line: &mut PendingLine, mut document: Document) -> Option<Change> {
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
        Some(match self.rule {
            Some(rule) => rule.change(document),
            None => Change::Insert(document),
        })
    }
}

/// The lines that have come, at least one, without waiting for more, and the reason why no more will
/// come, if there is one. Without lines if the tool is to stop.
fn gather(events: &Receiver<Event>, interrupt: &Interrupt) -> (Vec<InputLine>, Option<Stop>) {
    let mut lines = Vec::new();
    while lines.len() < MAX_TOGETHER {
        let event = match events.try_recv() {
            Ok(event) => event,
            Err(_) if !lines.is_empty() => break,
            // The tool holds a sender as long as this thread runs.
            Err(_) => events.recv().unwrap_or(Event::End),
        };
        if interrupt.is_set() {
            return (Vec::new(), Some(Stop::Interrupted));
        }
        match event {
            Event::Line(line) => lines.push(line),
            Event::End => return (lines, Some(Stop::Input(Ok(())))),
            Event::Failed(error) => return (lines, Some(Stop::Input(Err(error)))),
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
