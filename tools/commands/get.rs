//! `simdb-cli get`: documents by their ids or keys.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use simdb::copies::Copies;
use simdb::{DocRef, Document, Fingerprint, Timestamp};

use super::{DatabaseOptions, doc_refs, note_not_stored};
use crate::console::rows::{displayed, fields_value, or_displayed};
use crate::console::table::{behind, one_line};
use crate::console::{Output, grouped};
use crate::formats::parse_id;

/// Prints documents by their ids or keys
///
/// Columns: id; fingerprint; the time of arrival, if the database keeps times of arrival; text, or
/// `-` if the text is not kept. A document with a key is shown with the key in place of the id, and
/// a document with a scope with the scope behind the fingerprint, and a document with copies with
/// their number before the text. --json prints id, fingerprint, reliable, arrival and text; arrival
/// and text are null if they are not kept; and key, scope, fields and copies (count, first_seen,
/// last_seen, and the newest with document, seen and kind) if the document has them. On a terminal,
/// the text is cut to the line. The exit code is 1 if a document is not stored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli get news.simdb 17
  simdb-cli get news.simdb 17 18 19 --json
  simdb-cli get pages.simdb --key https://example.org/a --json")]
pub struct Get {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The ids of the documents
    #[arg(required_unless_present = "key", value_name = "ID|--key KEY", value_parser = parse_id)]
    ids: Vec<u64>,

    /// The key of a document; can be repeated
    #[arg(long)]
    key: Vec<String>,

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
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<&'d Copies>,
}

impl<'d> From<&'d Document> for DocumentLine<'d> {
    fn from(document: &'d Document) -> Self {
        Self {
            id: document.id.0,
            fingerprint: document.fingerprint,
            reliable: document.reliable,
            arrival: document.arrival,
            text: document.text.as_deref(),
            key: document.key.as_deref(),
            scope: document.scope.as_deref(),
            fields: document.fields.as_deref().map(fields_value),
            copies: document.copies.as_ref(),
        }
    }
}

impl Get {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(remote) = self.database.remote()? {
            return self.print(|document| remote.get(&document), output);
        }
        let database = self.database.open_to_read()?;
        let snapshot = database.snapshot()?;
        self.print(|document| Ok(snapshot.get(document)?), output)
    }

    fn print(
        &self,
        get: impl Fn(DocRef) -> Result<Option<Document>>,
        output: &mut Output,
    ) -> Result<()> {
        let mut are_stored = true;
        for asked in doc_refs(&self.ids, &self.key) {
            let Some(document) = get(asked.clone())? else {
                note_not_stored(asked);
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

fn copies_counted(count: u64) -> String {
    match count {
        1 => "1 copy".to_owned(),
        count => format!("{} copies", grouped(count)),
    }
}

/// A document as a line of text, on a terminal cut to its width.
fn row(document: &Document) -> String {
    let id = document.id.to_string();
    let name = one_line(document.key.as_deref().unwrap_or(&id), usize::MAX);
    let mut head = format!("{name}  {}  ", document.fingerprint);
    if let Some(scope) = &document.scope {
        head += &format!("{scope}  ");
    }
    if let Some(arrival) = document.arrival {
        head += &format!("{arrival}  ");
    }
    if let Some(copies) = &document.copies {
        head += &format!("{}  ", copies_counted(copies.count));
    }
    let text = document.text.as_deref();
    let text = text.map(|text| behind(&head, text));
    head + text.as_deref().unwrap_or("-")
}
