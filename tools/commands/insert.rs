//! `simdb-cli insert`: insertion of one document.

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use simdb::time_reader::TimeReader;
use simdb::{Change, DocRef, Document, Fingerprint, Outcome, Timestamp};

use super::DatabaseOptions;
use super::json_object::object;
use crate::console::Output;
use crate::console::duplicate::{Alike, DuplicateOf, Extended};
use crate::formats::parse_id;
use crate::options::{DuplicateRule, UniqueOptions};
use crate::remote::{Remote, named};

/// Inserts one document
///
/// An insert can be repeated. If the id belongs to a document with another fingerprint, --replace
/// replaces that document; without it this is an error. With --unique, a document that has a
/// near-duplicate in the database is not inserted, and the exit code is 1; so is a document that
/// arrives outside the retention window. Use simdb-load for many documents.
///
/// --json prints id, fingerprint and outcome (inserted, present, replaced, duplicate, seen,
/// expired); for a duplicate duplicate_of and distance; with --unique similar edit_similarity,
/// jaccard, containment (same or a_in_b), missing_in_b and missing_in_a, where B is the stored
/// text; for an inserted document that covers stored documents extends, or with --on-extended
/// replace replaces. In a database with keys also duplicate_of_key, extends_keys and replaces_keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli insert news.simdb 17 --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli insert news.simdb 18 --fingerprint 8b1f2c3d4e5f6071 --unique 3
  simdb-cli insert news.simdb 19 --text \"A quick fox jumped over the lazy dog.\" --unique similar
  simdb-cli insert posts.simdb 20 --text \"A post of yesterday.\" --time 2026-11-29T08:00:00Z")]
pub struct Insert {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The id of the document; in a database with keys --key
    #[arg(value_name = "ID|--key KEY", value_parser = parse_id, required_unless_present = "key", conflicts_with = "key")]
    id: Option<u64>,

    /// The key of the document, in a database with keys
    #[arg(long)]
    key: Option<String>,

    /// The scope of the document, in a database with scopes
    #[arg(long, value_name = "NAME", requires = "key")]
    scope: Option<String>,

    /// The fields of the document, a JSON object, in a database that keeps fields
    #[arg(long, value_name = "JSON", value_parser = parse_fields)]
    fields: Option<String>,

    /// The arrival of the document, with its zone; now unless set
    ///
    /// In a database that keeps arrival times. Its window counts back from the latest arrival, so a
    /// document that arrives long after all others expires them.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time: Option<Timestamp>,

    #[command(flatten)]
    content: InsertedContent,

    #[command(flatten)]
    unique: UniqueOptions,

    /// Replace the document with this id or key, if it is stored
    #[arg(long, conflicts_with = "unique")]
    replace: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The line of `--json`.
#[derive(Serialize)]
struct InsertLine<'k> {
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'k str>,
    fingerprint: String,
    outcome: &'static str,
    duplicate_of: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of_key: Option<String>,
    distance: Option<u32>,
    #[serde(flatten)]
    alike: Option<Alike>,
    #[serde(flatten)]
    extended: Extended,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct InsertedContent {
    /// The text of the document
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// The fingerprint of the document, 16 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<Fingerprint>,
}

/// Reads an arrival time. For clap.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let read = TimeReader::new().read(text);
    read.map_err(|error| error.to_string())
}

const EXPECTED_FIELDS: &str = "{\"title\": \"...\"}";

/// Reads the text of a JSON object. For clap.
fn parse_fields(text: &str) -> Result<String, String> {
    let fields =
        object(text).map_err(|reason| format!("{reason}; {EXPECTED_FIELDS} is expected"))?;
    Ok(serde_json::Value::Object(fields).to_string())
}

impl Insert {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let rule = self.unique.rule()?;
        if let Some(remote) = self.database.remote()? {
            return self.insert_remotely(&remote, rule, output);
        }
        let database = self.database.open()?;
        if let Some(rule) = &rule {
            if rule.needs_texts() && self.content.text.is_none() {
                bail!("--unique similar compares texts; give the document with --text");
            }
            rule.refuse_unkept(&self.database.path, database.settings())?;
        }
        ensure!(
            self.fields.is_none() || database.settings().fields,
            "{} keeps no fields; leave --fields out",
            self.database.path.display()
        );
        ensure!(
            self.time.is_none() || database.settings().retention.is_some(),
            "{} keeps no arrival times; leave --time out",
            self.database.path.display()
        );
        let id = self.doc_ref();
        let mut document = match (&self.content.text, self.content.fingerprint) {
            (Some(text), _) => database.document(id, text)?,
            (None, Some(fingerprint)) => Document::new(id, fingerprint),
            (None, None) => bail!("the document is empty: give --text or --fingerprint"),
        };
        document.arrival = self.time;
        document.fields = self.fields.clone();
        document.scope = self.scope.clone();
        let fingerprint = document.fingerprint;
        let change = match rule {
            Some(rule) => rule.change(document),
            None if self.replace => Change::Upsert(document),
            None => Change::Insert(document),
        };
        let outcome = database.apply_one(change)?;
        let decided_by = outcome.decided_by();
        let key = match decided_by.filter(|_| database.settings().keys) {
            Some(id) => database.snapshot()?.key(id)?,
            None => None,
        };
        self.print(fingerprint, outcome, key, output)
    }

    fn doc_ref(&self) -> DocRef {
        match &self.key {
            Some(key) => DocRef::from(key.as_str()),
            None => DocRef::from(self.id.unwrap_or_default()),
        }
    }

    fn insert_remotely(
        &self,
        remote: &Remote,
        rule: Option<DuplicateRule>,
        output: &mut Output,
    ) -> Result<()> {
        if let Some(rule) = rule.filter(DuplicateRule::needs_texts) {
            rule.refuse_unkept(&self.database.path, &remote.settings()?)?;
        }
        let mut document = named(&self.doc_ref());
        match (&self.content.text, self.content.fingerprint) {
            (Some(text), _) => document["text"] = text.as_str().into(),
            (None, made) => document["fingerprint"] = made.map(|made| made.to_string()).into(),
        }
        if let Some(scope) = &self.scope {
            document["scope"] = scope.as_str().into();
        }
        if let Some(time) = self.time {
            document["arrival"] = time.to_string().into();
        }
        if let Some(fields) = &self.fields {
            document["fields"] = serde_json::from_str(fields)?;
        }
        let inserted = remote.insert(&document, rule, self.replace)?;
        self.print(inserted.fingerprint, inserted.outcome, inserted.key, output)
    }

    /// Prints an outcome. `key` is the key of the stored document that the outcome names.
    fn print(
        &self,
        fingerprint: Fingerprint,
        outcome: Outcome,
        key: Option<String>,
        output: &mut Output,
    ) -> Result<()> {
        let id = self.doc_ref();
        let duplicate = DuplicateOf::in_outcome(&outcome);
        let mut extended = Extended::in_outcome(&outcome);
        let mut duplicate_of_key = None;
        match duplicate.is_some() {
            true => duplicate_of_key = key,
            false => extended.extends_keys.extend(key),
        }
        let name = match outcome {
            // A repeated insert is no error, so that a caller may repeat a command after a crash.
            Outcome::Exists { stored } if stored == fingerprint => "present",
            Outcome::Exists { stored } => bail!(
                "document {id} is already stored, with fingerprint {stored}; use another id, or \
                 --replace"
            ),
            _ if duplicate.is_some() => "duplicate",
            Outcome::Replaced { .. } => "replaced",
            Outcome::Seen => "seen",
            Outcome::Expired { .. } => "expired",
            _ => "inserted",
        };
        // A script asks by the exit code if the document is stored.
        output.decide(duplicate.is_none() && !["expired", "seen"].contains(&name));
        let distance = duplicate.as_ref().and_then(|duplicate| duplicate.distance);
        let duplicate_of = duplicate.as_ref().map(|duplicate| duplicate.id);
        let alike = duplicate.and_then(|duplicate| duplicate.alike);
        let json = || InsertLine {
            id: self.id,
            key: self.key.as_deref(),
            fingerprint: fingerprint.to_string(),
            outcome: name,
            duplicate_of: duplicate_of.map(|id| id.0),
            duplicate_of_key: duplicate_of_key.clone(),
            distance,
            alike: alike.clone(),
            extended: extended.clone(),
        };
        let text = || {
            let of_key = || duplicate_of_key.clone();
            let of = duplicate_of.map(|id| of_key().unwrap_or_else(|| id.to_string()));
            let of = of.map(|name| format!("  of {name}"));
            let at = distance.map(|distance| format!(" at distance {distance}"));
            let alike = alike.as_ref().map(|alike| format!(", {alike}"));
            let extends = extended.extends.first().map(u64::to_string);
            let extends = extended.extends_keys.first().cloned().or(extends);
            let extends = extends.map(|name| format!("  extends {name}"));
            let replaced = match extended.replaces_keys.is_empty() {
                true => extended.replaces.iter().map(u64::to_string).collect(),
                false => extended.replaces_keys.clone(),
            };
            let replaced = replaced.join(", ");
            let replaces = (!replaced.is_empty()).then(|| format!("  replaces {replaced}"));
            let parts = [of, at, alike, extends, replaces].into_iter();
            let resemblance = parts.flatten().collect::<String>();
            format!("{name}  {id}  {fingerprint}{resemblance}")
        };
        output.print(self.json, json, text)
    }
}
