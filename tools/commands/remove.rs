//! `simdb-cli remove`: documents by their ids.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{Change, DocId, Outcome};

use super::{Documents, not_stored};
use crate::console::files::refuse_special;
use crate::console::{Answer, Output};

/// Removes documents by their ids, in one transaction
///
/// The exit code is 1 if an id was missing; the others are removed all the same. --json prints
/// id, removed (true or false) and the fingerprint that the document had, or null.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli remove news.simdb 17
  simdb-cli remove news.simdb 17 18 19 --json")]
pub struct Remove {
    #[command(flatten)]
    documents: Documents,

    /// Print one line of JSON for each id
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RemoveLine {
    id: u64,
    removed: bool,
    fingerprint: Option<String>,
}

impl Remove {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let Documents {
            database,
            ids,
            recipe,
        } = &self.documents;
        refuse_special(database)?;
        let database = recipe.builder()?.open(database)?;
        let changes = ids.iter().map(|&id| Change::Remove(DocId(id)));
        let outcomes = database.apply(changes)?;
        let mut answer = Answer::Yes;
        for (&id, outcome) in ids.iter().zip(outcomes) {
            let stored = match outcome {
                Outcome::Removed { stored } => Some(stored),
                _ => None,
            };
            if self.json {
                output.json(&RemoveLine {
                    id,
                    removed: stored.is_some(),
                    fingerprint: stored.map(|stored| stored.to_string()),
                })?;
            } else if let Some(stored) = stored {
                output.line(format_args!("removed  {id}  {stored}"))?;
            }
            if stored.is_none() {
                answer = not_stored(id);
            }
        }
        Ok(answer)
    }
}
