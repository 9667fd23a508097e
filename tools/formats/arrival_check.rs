//! [`ArrivalCheck`]: finds the document whose arrival time a database would refuse.

use std::time::SystemTime;

use anyhow::Result;
use simdb::{Database, Document, Retention, Timestamp};

/// Checks arrival times as the database does. A database refuses all documents of a call for one bad
/// arrival time; the tools leave out the one document, and name its line.
pub struct ArrivalCheck {
    retention: Option<Retention>,
    /// The latest arrival of the database and of the documents so far.
    latest: Option<Timestamp>,
}

impl ArrivalCheck {
    /// Checks for documents that are inserted into `database`, and no others meanwhile.
    pub fn new(database: &Database) -> Result<Self> {
        Ok(Self {
            retention: database.settings().retention,
            latest: database.snapshot()?.now(),
        })
    }

    /// Returns the reason if the database refuses the arrival time of the next document.
    pub fn check(&mut self, document: &Document) -> Result<(), String> {
        if let (Some(retention), Some(arrival)) = (&self.retention, document.arrival)
            && Some(arrival) > self.latest
        {
            let clock = SystemTime::now().into();
            retention
                .check_arrival(document.id, arrival, clock, self.latest)
                .map_err(|error| error.to_string())?;
            self.latest = Some(arrival);
        }
        Ok(())
    }
}
