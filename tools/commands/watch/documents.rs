//! From lines to documents, and into the database: many at a time where many have come, in their
//! order, on all cores.

use std::sync::mpsc::{Receiver, Sender};

use anyhow::{Result, anyhow};
use rayon::prelude::*;
use simdb::{Change, Database, DocId, Document, Fingerprint, Ticket};

use super::lines::{Event, Line};
use crate::console::interrupt::Interrupt;
use crate::formats::id_sequence::IdSequence;
use crate::formats::jsonl::JsonParts;
use crate::formats::{Fields, Part, utf8};
use crate::options::{OnError, Rule};

/// The most lines that are handed over together. While they are committed the next are made
/// documents, so this is a part of what may be on its way.
const MOST_TOGETHER: usize = 1024;

/// A line on its way: what must be known to answer it.
pub(super) struct Entry {
    /// Its number, from 1.
    pub(super) number: u64,
    /// The room it takes.
    pub(super) len_bytes: usize,
    /// The id it has, or was given.
    pub(super) id: Option<DocId>,
    /// Whether it was given that id by us.
    pub(super) is_assigned: bool,
    /// The fingerprint and whether that is reliable, or why the line is no document.
    pub(super) fingerprint: Result<(Fingerprint, bool), String>,
}

/// Lines that were handed over together.
pub(super) struct Group {
    /// In their order.
    pub(super) entries: Vec<Entry>,
    /// For the outcomes of those that are documents.
    pub(super) ticket: Ticket,
}

/// Makes documents of lines.
pub(super) struct Documents<'d> {
    pub(super) database: &'d Database,
    pub(super) fields: Fields,
    /// When a document is not stored, unless all are.
    pub(super) rule: Option<Rule>,
    /// The id of the next line without one, if such lines are given ids.
    pub(super) ids: Option<IdSequence>,
    pub(super) on_error: OnError,
}

/// A line as it was read.
struct Parsed {
    number: u64,
    len_bytes: usize,
    id: Option<DocId>,
    /// With id 0 as long as the line has none.
    document: Result<Document, String>,
}

/// Why nothing more is gathered.
enum Stop {
    /// The input has ended, or cannot be read on.
    Input(Result<()>),
    /// The tool is to stop.
    Interrupted,
}

impl Documents<'_> {
    /// Hands everything over, until the input ends, the tool is to stop, nobody listens to the
    /// answers, or a line is bad and that is enough.
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

    /// Hands lines over. An error is also returned, for later, if one of them is bad and that is
    /// enough.
    fn submit(
        &mut self,
        lines: Vec<Line>,
        groups: &Sender<Group>,
    ) -> Result<Option<anyhow::Error>> {
        if lines.is_empty() {
            return Ok(None);
        }
        let this = &*self;
        let parsed: Vec<Parsed> = match lines.len() {
            // Waking other threads takes longer.
            1 => lines.into_iter().map(|line| this.parse(line)).collect(),
            _ => lines.into_par_iter().map(|line| this.parse(line)).collect(),
        };
        let mut entries = Vec::with_capacity(parsed.len());
        let mut changes = Vec::with_capacity(parsed.len());
        let mut bad = None;
        for parsed in parsed {
            let (entry, change) = self.decide(parsed);
            if let (Err(reason), OnError::Abort) = (&entry.fingerprint, self.on_error) {
                bad = Some(given_up(entry.number, reason));
            }
            entries.push(entry);
            changes.extend(change);
            if bad.is_some() {
                break;
            }
        }
        let ticket = self.database.submit(changes)?;
        // Nobody may be listening any more: then we are told to stop as well.
        let _ = groups.send(Group { entries, ticket });
        Ok(bad)
    }

    fn parse(&self, line: Line) -> Parsed {
        let (number, len_bytes) = (line.number, line.len_bytes());
        let parts = line
            .bytes
            .and_then(|bytes| JsonParts::parse(utf8(&bytes)?, &self.fields));
        let with_id = parts.and_then(|mut parts| {
            let is_assigned = self.ids.is_some() && parts.is_null(Part::Id);
            let id = (!is_assigned).then(|| self.fields.id(&mut parts));
            Ok((id.transpose()?, parts))
        });
        let (id, document) = match with_id {
            Ok((id, parts)) => (id, self.document(id.unwrap_or_default(), parts)),
            Err(reason) => (None, Err(reason)),
        };
        Parsed {
            number,
            len_bytes,
            id,
            document,
        }
    }

    fn document(&self, id: DocId, parts: JsonParts) -> Result<Document, String> {
        let content = self.fields.content(parts)?;
        let document = content
            .into_document(id, self.database.fingerprinter())
            .map_err(|error| error.to_string())?;
        if let Some(rule) = self.rule {
            rule.check_text(&document)?;
        }
        Ok(document)
    }

    /// What is to be answered, and what is to be done.
    fn decide(&mut self, parsed: Parsed) -> (Entry, Option<Change>) {
        let is_assigned = parsed.id.is_none();
        let with_id = parsed.document.and_then(|mut document| {
            if let Some(ids) = &mut self.ids {
                match parsed.id {
                    Some(id) => ids.skip_to_after(id),
                    None => document.id = ids.take()?,
                }
            }
            Ok(document)
        });
        let entry = |id, fingerprint| Entry {
            number: parsed.number,
            len_bytes: parsed.len_bytes,
            id,
            is_assigned,
            fingerprint,
        };
        match with_id {
            Err(reason) => (entry(parsed.id, Err(reason)), None),
            Ok(document) => {
                let made = Ok((document.fingerprint, document.reliable));
                let entry = entry(Some(document.id), made);
                let change = match self.rule {
                    Some(rule) => rule.change(document),
                    None => Change::Insert(document),
                };
                (entry, Some(change))
            }
        }
    }
}

/// The lines that have come, at least one, without waiting for more; and whether there will be
/// more. None if the tool is to stop.
fn gather(events: &Receiver<Event>, interrupt: &Interrupt) -> (Vec<Line>, Option<Stop>) {
    let mut lines = Vec::new();
    while lines.len() < MOST_TOGETHER {
        let event = match events.try_recv() {
            Ok(event) => event,
            Err(_) if !lines.is_empty() => break,
            // Whoever could send an event is there for as long as we are.
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

/// What is said of a line that is enough to give up.
pub(super) fn given_up(number: u64, reason: &str) -> anyhow::Error {
    anyhow!(
        "<stdin>:{number}: {reason}; lines that are answered \"new\" are stored (--on-error skip \
         goes on)"
    )
}
