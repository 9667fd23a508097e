//! `simdb-cli insert`: one document, by hand.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Change, DocId, Document, Fingerprint, Outcome};

use crate::console::{Answer, Output};
use crate::options::RecipeOptions;

/// Inserts one document
///
/// Repeating an insert is harmless. If the id is taken by another fingerprint, --replace replaces
/// that document; otherwise it is an error. With --unique, the document is not inserted if
/// another lies within the radius; then the exit code is 1. To load many, use simdb-load.
///
/// --json prints id, fingerprint and outcome (inserted, present, replaced, duplicate), and of a
/// duplicate duplicate_of and distance.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli insert news.simdb 17 --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli insert news.simdb 18 --fingerprint 8b1f2c3d4e5f6071 --unique 3")]
pub struct Insert {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// The id of the document
    id: u64,

    #[command(flatten)]
    what: What,

    /// Do not insert it if a document lies within this radius
    #[arg(
        long,
        value_name = "RADIUS",
        value_parser = clap::value_parser!(u32).range(0..=64),
        conflicts_with = "replace"
    )]
    unique: Option<u32>,

    /// Replace the document that has this id, if there is one
    #[arg(long)]
    replace: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
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
}

impl Insert {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = self.recipe.builder()?.open(&self.database)?;
        let id = DocId(self.id);
        let document = match &self.what {
            What {
                text: Some(text), ..
            } => database.document(id, text)?,
            What {
                fingerprint: Some(fingerprint),
                ..
            } => Document::new(id, *fingerprint),
            _ => bail!("there is nothing to insert"),
        };
        let fingerprint = document.fingerprint;
        let change = match self.unique {
            Some(radius) => Change::InsertUnique { document, radius },
            None if self.replace => Change::Upsert(document),
            None => Change::Insert(document),
        };
        let outcomes = database.apply([change])?;
        let outcome = *outcomes
            .first()
            .ok_or_else(|| anyhow!("the change has no outcome"))?;
        let (name, nearest) = match outcome {
            Outcome::Exists { stored } if stored == fingerprint => ("present", None),
            Outcome::Exists { stored } => {
                bail!(
                    "document {id} is already stored, with fingerprint {stored}; use another id, \
                     or --replace"
                );
            }
            Outcome::Duplicate(nearest) => ("duplicate", Some(nearest)),
            Outcome::Replaced { .. } => ("replaced", None),
            _ => ("inserted", None),
        };
        if self.json {
            output.json(&InsertLine {
                id: id.0,
                fingerprint: fingerprint.to_string(),
                outcome: name,
                duplicate_of: nearest.map(|nearest| nearest.id.0),
                distance: nearest.map(|nearest| nearest.distance),
            })?;
        } else {
            match nearest {
                None => output.line(format_args!("{name}  {id}  {fingerprint}"))?,
                Some(nearest) => output.line(format_args!(
                    "{name}  {id}  {fingerprint}  of {} at distance {}",
                    nearest.id, nearest.distance
                ))?,
            }
        }
        Ok(if nearest.is_some() {
            Answer::No
        } else {
            Answer::Yes
        })
    }
}
