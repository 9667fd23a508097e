//! `simdb-cli get`: documents by their ids.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{Document, Fingerprint, Timestamp};

use super::{DatabaseOptions, note_not_stored};
use crate::console::Output;
use crate::console::rows::{displayed, or_displayed};
use crate::console::table::{columns, one_line};
use crate::formats::parse_id;

/// Prints documents by their ids
///
/// Columns: id; fingerprint; the time of arrival, if the database keeps times of arrival; text, or
/// `-` if the text is not kept. --json prints id, fingerprint, reliable, arrival and text; arrival
/// and text are null if they are not kept. The exit code is 1 if an id is not stored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli get news.simdb 17
  simdb-cli get news.simdb 17 18 19 --json")]
pub struct Get {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The ids of the documents
    #[arg(required = true, value_name = "ID", value_parser = parse_id)]
    ids: Vec<u64>,

    /// Print one line of JSON for each document
    #[arg(long)]
    json: bool,
}

/// A document as a line of JSON.
#[derive(Serialize)]
pub struct DocumentLine<'d> {
    id: u64,
    #[serde(serialize_with = "displayed")]
    fingerprint: Fingerprint,
    reliable: bool,
    #[serde(serialize_with = "or_displayed")]
    arrival: Option<Timestamp>,
    text: Option<&'d str>,
}

impl<'d> From<&'d Document> for DocumentLine<'d> {
    fn from(document: &'d Document) -> Self {
        Self {
            id: document.id.0,
            fingerprint: document.fingerprint,
            reliable: document.reliable,
            arrival: document.arrival,
            text: document.text.as_deref(),
        }
    }
}

impl Get {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(remote) = self.database.remote()? {
            return self.print(|id| remote.get(id), output);
        }
        let database = self.database.open_to_read()?;
        let snapshot = database.snapshot()?;
        self.print(|id| Ok(snapshot.get(id)?), output)
    }

    fn print(
        &self,
        get: impl Fn(u64) -> Result<Option<Document>>,
        output: &mut Output,
    ) -> Result<()> {
        let mut are_stored = true;
        for &id in &self.ids {
            let Some(document) = get(id)? else {
                note_not_stored(id);
                are_stored = false;
                continue;
            };
            output.print(
                self.json,
                || DocumentLine::from(&document),
                || row(&document),
            )?;
        }
        output.decide(are_stored);
        Ok(())
    }
}

/// A document as a line of text, cut to the width of the terminal.
fn row(document: &Document) -> String {
    let mut head = format!("{}  {}  ", document.id, document.fingerprint);
    if let Some(arrival) = document.arrival {
        head += &format!("{arrival}  ");
    }
    let text = document.text.as_deref();
    // A line of a narrow terminal still shows the start of a text.
    let text = text.map(|text| one_line(text, columns().saturating_sub(head.len()).max(20)));
    head + text.as_deref().unwrap_or("-")
}
