//! `simdb-cli top`: the documents with the most copies.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use simdb::Document;
use simdb::copies::Copies;

use super::DatabaseOptions;
use crate::console::rows::fields_value;
use crate::console::table::{behind, one_line};
use crate::console::{Output, note, parse_duration};
use crate::options::{ScopeOptions, time_before};
use crate::remote::{MAX_TOP, Remote};

/// Prints the documents with the most copies
///
/// A copy is a document that was refused because of a stored document, in a database that was
/// created with --copies.
///
/// Columns: the number of copies; id or key; the times of the first and of the last copy; the
/// values of --show, or else the text, or `-` if the text is not kept. --json prints copies, id,
/// key, first_seen, last_seen, and the shown fields, or else the text. On a terminal, columns are
/// cut to the line; --json and output that is piped or redirected have them whole. `get --json` has
/// the scope of a document. The exit code is 1 if no document has a copy.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli top feed.simdb
  simdb-cli top feed.simdb --since 2h --show title,source
  simdb-cli top feed.simdb --limit 100 --json
  simdb-cli top pages.simdb --within-scope en --within-scope fr")]
pub struct Top {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The largest number of documents
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,

    /// Only documents with a copy in this time: `90m`, `2d`, `1h 30m`
    ///
    /// Counts back from the latest arrival, or from the present if the database uses the clock. The
    /// number is the number of all copies.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    since: Option<Duration>,

    #[command(flatten)]
    scopes: ScopeOptions,

    /// Fields to show in place of the text, separated by commas
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    show: Vec<String>,

    /// Print one line of JSON for each document
    #[arg(long)]
    json: bool,
}

/// A document with its copies as a line of JSON.
#[derive(Serialize)]
struct TopLine<'d> {
    copies: u64,
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'d str>,
    first_seen: String,
    last_seen: String,
    #[serde(flatten)]
    shown: Map<String, Value>,
}

/// Documents, read one by one.
type TopDocuments = Box<dyn Iterator<Item = Result<Document>>>;

/// The fields that every line of `--json` may have.
const OWN_FIELDS: [&str; 5] = ["copies", "id", "key", "first_seen", "last_seen"];

impl Top {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let is_own = |name: &&String| OWN_FIELDS.contains(&name.as_str());
        if let Some(name) = self.show.iter().find(is_own).filter(|_| self.json) {
            bail!("--json has a field {name:?} of its own; leave {name} out of --show");
        }
        let documents = match self.database.remote()? {
            Some(remote) => self.served(&remote)?,
            None => self.stored()?,
        };
        let mut unknown: Vec<&String> = self.show.iter().collect();
        let mut has_document = false;
        for document in documents {
            let document = document?;
            let copies = document.copies.as_ref();
            let copies = copies.context("a document has no copies")?;
            output.print(
                self.json,
                || self.line(&document, copies),
                || self.row(&document, copies),
            )?;
            let shown = self.shown(&document);
            unknown.retain(|name| shown[*name].is_null());
            has_document = true;
        }
        for name in unknown.into_iter().filter(|_| has_document) {
            note(format_args!("no shown document has a field {name:?}"));
        }
        output.decide(has_document);
        Ok(())
    }

    fn limit(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }

    fn served(&self, remote: &Remote) -> Result<TopDocuments> {
        ensure!(
            !self.scopes.is_given(),
            "a server gives the documents of all scopes; leave --within-scope out, or run top on a \
             backup of its database"
        );
        let documents = remote.top(self.limit().min(MAX_TOP), self.since)?;
        if self.limit() > MAX_TOP && documents.len() == MAX_TOP {
            note(format_args!("a server gives at most {MAX_TOP} documents"));
        }
        Ok(Box::new(documents.into_iter().map(Ok)))
    }

    fn stored(&self) -> Result<TopDocuments> {
        let database = self.database.open_to_read()?;
        ensure!(
            self.show.is_empty() || database.settings().fields,
            "--show names fields, and {} keeps none; leave --show out",
            self.database.path.display()
        );
        let snapshot = self.scopes.of(database.snapshot()?)?;
        let since = self.since.map(|age| time_before(&snapshot, age));
        let most = snapshot.most_copied(self.limit(), since)?;
        let document = move |(id, _)| snapshot.get(id)?.context("a document has no entry");
        Ok(Box::new(most.into_iter().map(document)))
    }

    fn line<'d>(&self, document: &'d Document, copies: &Copies) -> TopLine<'d> {
        let mut shown = self.shown(document);
        if self.show.is_empty() {
            shown.insert("text".to_owned(), document.text.clone().into());
        }
        TopLine {
            copies: copies.count,
            id: document.id.0,
            key: document.key.as_deref(),
            first_seen: copies.first_seen.to_string(),
            last_seen: copies.last_seen.to_string(),
            shown,
        }
    }

    /// A line of text, on a terminal cut to its width.
    fn row(&self, document: &Document, copies: &Copies) -> String {
        let id = document.id.to_string();
        let name = one_line(document.key.as_deref().unwrap_or(&id), usize::MAX);
        let head = format!(
            "{}  {name}  {}  {}  ",
            copies.count, copies.first_seen, copies.last_seen
        );
        let values = self
            .shown(document)
            .into_iter()
            .map(|(_, value)| match value {
                Value::String(text) => text,
                Value::Null => "-".to_owned(),
                value => value.to_string(),
            });
        let shown = match self.show.is_empty() {
            true => document.text.clone().unwrap_or_else(|| "-".to_owned()),
            false => values.collect::<Vec<_>>().join("  "),
        };
        let shown = behind(&head, &shown);
        head + &shown
    }

    /// The fields of `--show`; null for a field that the document does not have.
    fn shown(&self, document: &Document) -> Map<String, Value> {
        let fields = document.fields.as_deref().map(fields_value);
        let value = |name: &String| {
            let value = fields.as_ref().and_then(|fields| fields.get(name));
            (name.clone(), value.cloned().unwrap_or(Value::Null))
        };
        self.show.iter().map(value).collect()
    }
}
