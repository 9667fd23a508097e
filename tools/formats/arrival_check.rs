//! [`ArrivalCheck`]: finds the document whose arrival time a database would refuse.

use std::time::SystemTime;

use anyhow::Result;
use simdb::{Database, Document, Error, Outcome, Retention, Timestamp};

use crate::console::error_text;

/// Checks arrival times as the database does. A database refuses all documents of a call for one bad
/// arrival time; the tools leave out the one document, and name its line.
pub struct ArrivalCheck {
    retention: Option<Retention>,
    /// The latest arrival of the database, and of the documents that were decided and kept.
    kept: Option<Timestamp>,
    /// The latest arrival of the database and of all documents so far.
    latest: Option<Timestamp>,
}

impl ArrivalCheck {
    /// Checks for documents that are inserted into `database`, and no others meanwhile.
    pub fn new(database: &Database) -> Result<Self> {
        let now = database.snapshot()?.now();
        Ok(Self {
            retention: database.settings().retention,
            kept: now,
            latest: now,
        })
    }

    /// Returns `true` if the database accepts the arrival time only if documents are kept that are not
    /// decided yet: the arrival of a duplicate does not count.
    pub fn depends_on_outcomes(&self, document: &Document) -> bool {
        self.refusal(document, self.kept).is_some() && self.refusal(document, self.latest).is_none()
    }

    /// Counts the arrival of a document that the database has decided.
    pub fn decided(&mut self, arrival: Option<Timestamp>, outcome: &Outcome) {
        let is_sliding = self.retention.is_some_and(|retention| retention.sliding);
        let is_kept = match outcome {
            Outcome::Replaced { .. } => true,
            outcome if outcome.is_inserted() => true,
            Outcome::Duplicate(_) | Outcome::Similar(_) => is_sliding,
            _ => false,
        };
        if is_kept {
            self.kept = self.kept.max(arrival);
        }
    }

    /// All documents so far are decided.
    pub fn all_decided(&mut self) {
        self.latest = self.kept;
    }

    /// Returns the reason if the database refuses the arrival time of the next document.
    pub fn check(&mut self, document: &Document) -> Result<(), String> {
        if let Some(refusal) = self.refusal(document, self.latest) {
            return Err(error_text(&refusal));
        }
        self.latest = self.latest.max(document.arrival);
        Ok(())
    }

    fn refusal(&self, document: &Document, latest: Option<Timestamp>) -> Option<Error> {
        let (retention, arrival) = (self.retention?, document.arrival?);
        if Some(arrival) <= latest {
            return None;
        }
        let clock = SystemTime::now().into();
        let checked = retention.check_arrival(document.id, arrival, clock, latest);
        checked.err()
    }
}
