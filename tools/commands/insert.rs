//! `simdb-cli insert`: one document, by hand.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Change, DocId, Document, Fingerprint, Outcome};

use crate::console::duplicate::{Alike, DuplicateOf};
use crate::console::paths::refuse_special;
use crate::console::{Answer, Output};
use crate::formats::parse_id;
use crate::options::{RecipeOptions, UniqueOptions};

/// Inserts one document
///
/// Repeating an insert is harmless. If the id is taken by another fingerprint, --replace replaces
/// that document; otherwise it is an error. With --unique, the document is not inserted if one is
/// there that is nearly the same; then the exit code is 1. To load many, use simdb-load.
///
/// --json prints id, fingerprint and outcome (inserted, present, replaced, duplicate), and of a
/// duplicate duplicate_of and distance, and with --unique similar edit_similarity and jaccard.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli insert news.simdb 17 --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli insert news.simdb 18 --fingerprint 8b1f2c3d4e5f6071 --unique 3
  simdb-cli insert news.simdb 19 --text \"A quick fox jumped over the lazy dog.\" --unique similar")]
pub struct Insert {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// The id of the document
    #[arg(value_parser = parse_id)]
    id: u64,

    #[command(flatten)]
    content: InsertedContent,

    #[command(flatten)]
    unique: UniqueOptions,

    /// Replace the document that has this id, if there is one
    #[arg(long, conflicts_with = "unique")]
    replace: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct InsertedContent {
    /// Its text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Its fingerprint, 16 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<Fingerprint>,
}

#[derive(Serialize)]
struct InsertLine {
    id: u64,
    fingerprint: String,
    outcome: &'static str,
    duplicate_of: Option<u64>,
    distance: Option<u32>,
    #[serde(flatten)]
    alike: Option<Alike>,
}

impl Insert {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let rule = self.unique.rule()?;
        refuse_special(&self.database)?;
        let database = self.recipe.builder()?.open(&self.database)?;
        if let Some(rule) = &rule {
            if rule.needs_texts() && self.content.text.is_none() {
                bail!("--unique similar compares texts; give the document with --text");
            }
            rule.refuse_unkept(&self.database, database.settings())?;
        }
        let id = DocId(self.id);
        let document = match &self.content {
            InsertedContent {
                text: Some(text), ..
            } => database.document(id, text)?,
            InsertedContent {
                fingerprint: Some(fingerprint),
                ..
            } => Document::new(id, *fingerprint),
            _ => bail!("there is nothing to insert"),
        };
        let fingerprint = document.fingerprint;
        let change = match rule {
            Some(rule) => rule.change(document),
            None if self.replace => Change::Upsert(document),
            None => Change::Insert(document),
        };
        let outcomes = database.apply([change])?;
        let outcome = outcomes
            .first()
            .ok_or_else(|| anyhow!("the change has no outcome"))?;
        let duplicate = DuplicateOf::in_outcome(outcome);
        let name = match *outcome {
            Outcome::Exists { stored } if stored == fingerprint => "present",
            Outcome::Exists { stored } => {
                bail!(
                    "document {id} is already stored, with fingerprint {stored}; use another id, \
                     or --replace"
                );
            }
            _ if duplicate.is_some() => "duplicate",
            Outcome::Replaced { .. } => "replaced",
            _ => "inserted",
        };
        let answer = if duplicate.is_some() {
            Answer::No
        } else {
            Answer::Yes
        };
        output.decided(answer);
        if self.json {
            output.json(&InsertLine {
                id: id.0,
                fingerprint: fingerprint.to_string(),
                outcome: name,
                duplicate_of: duplicate.map(|duplicate| duplicate.id.0),
                distance: duplicate.and_then(|duplicate| duplicate.distance),
                alike: duplicate.and_then(|duplicate| duplicate.alike),
            })?;
        } else {
            let mut line = format!("{name}  {id}  {fingerprint}");
            if let Some(DuplicateOf {
                id,
                distance,
                alike,
            }) = duplicate
            {
                line.push_str(&format!("  of {id}"));
                if let Some(distance) = distance {
                    line.push_str(&format!(" at distance {distance}"));
                }
                if let Some(alike) = alike {
                    line.push_str(&format!(", {alike}"));
                }
            }
            output.line(line)?;
        }
        Ok(answer)
    }
}
