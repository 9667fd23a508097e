//! `simdb-cli get`: documents by their ids.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::Document;

use super::{DocumentIds, not_stored, open_to_read};
use crate::console::table::{columns, one_line};
use crate::console::{Answer, Output};

/// Shows documents by their ids
///
/// Columns: id, fingerprint, the time of arrival if the database keeps such times, and text; a
/// text that is not kept is `-`. --json prints id, fingerprint, reliable, arrival and text, of
/// which the last two are null if they are not kept. The exit code is 1 if an id is missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli get news.simdb 17
  simdb-cli get news.simdb 17 18 19 --json")]
pub struct Get {
    #[command(flatten)]
    documents: DocumentIds,

    /// Print one line of JSON for each document
    #[arg(long)]
    json: bool,
}

/// A document as a line of JSON.
#[derive(Serialize)]
pub struct DocumentLine<'d> {
    id: u64,
    fingerprint: String,
    reliable: bool,
    arrival: Option<String>,
    text: Option<&'d str>,
}

impl<'d> From<&'d Document> for DocumentLine<'d> {
    fn from(document: &'d Document) -> Self {
        Self {
            id: document.id.0,
            fingerprint: document.fingerprint.to_string(),
            reliable: document.reliable,
            arrival: document.arrival.map(|time| time.to_string()),
            text: document.text.as_deref(),
        }
    }
}

impl Get {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.documents.database, &self.documents.recipe)?;
        let snapshot = database.snapshot()?;
        let mut answer = Answer::Yes;
        for &id in &self.documents.ids {
            match snapshot.get(id.into())? {
                Some(document) if self.json => output.json(&DocumentLine::from(&document))?,
                Some(document) => output.line(row(&document))?,
                None => answer = not_stored(id),
            }
        }
        Ok(answer)
    }
}

/// A document as a line for people.
fn row(document: &Document) -> String {
    let mut head = format!("{}  {}  ", document.id, document.fingerprint);
    if let Some(arrival) = document.arrival {
        head += &format!("{arrival}  ");
    }
    let text = document.text.as_deref();
    let text = text.map(|text| one_line(text, columns().saturating_sub(head.len()).max(20)));
    head + text.as_deref().unwrap_or("-")
}
