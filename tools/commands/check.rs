//! `simdb-cli check`: proves a file sound, or says where it is not.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{Builder, Error};

use crate::console::interrupt::Interrupt;
use crate::console::paths::refuse_special;
use crate::console::progress::{Progress, handler};
use crate::console::{Answer, Output, counted};
use crate::options::RecipeOptions;

/// Proves a database sound: every checksum, the order, and that all tables agree
///
/// Reads the whole file, and needs it alone. The exit code is 1 if there is damage; what is left
/// can be saved with `simdb-cli salvage`. --json prints {"ok":true,"documents":...} or
/// {"ok":false,"damage":["...", ...]}.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli check news.simdb
  simdb-cli check news.simdb --json --progress never")]
pub struct Check {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

#[derive(Serialize)]
struct SoundLine {
    ok: bool,
    documents: u64,
}

#[derive(Serialize)]
struct DamageLine<'d> {
    ok: bool,
    damage: &'d [String],
}

impl Check {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        refuse_special(&self.database)?;
        let interrupt = Interrupt::listen()?;
        match self.check(self.recipe.builder()?, &interrupt) {
            Ok(documents) if self.json => {
                output.json(&SoundLine {
                    ok: true,
                    documents,
                })?;
                Ok(Answer::Yes)
            }
            Ok(documents) => {
                output.line(format_args!("sound  {}", counted(documents, "document")))?;
                Ok(Answer::Yes)
            }
            Err(Unsound::Damaged(damage)) => {
                output.decided(Answer::No);
                if self.json {
                    output.json(&DamageLine {
                        ok: false,
                        damage: &damage,
                    })?;
                } else {
                    for what in &damage {
                        output.line(format_args!("damaged  {what}"))?;
                    }
                }
                Ok(Answer::No)
            }
            Err(Unsound::Unknown(error)) => Err(error.into()),
        }
    }

    /// How many documents the database holds, if it is sound.
    fn check(&self, builder: Builder, interrupt: &Interrupt) -> Result<u64, Unsound> {
        let bar = self.progress.work();
        let builder = builder.on_progress(handler(&bar, interrupt));
        let database = match builder.clone().open(&self.database) {
            // Damaged or where nobody can write: it can be read as far as it can be read.
            Err(refused @ (Error::Corrupt { .. } | Error::Io { .. } | Error::Storage { .. })) => {
                let opened = builder.open_read_only(&self.database);
                opened.map_err(|_| refused)?
            }
            opened => opened?,
        };
        let damage = database.check();
        bar.finish_and_clear();
        match damage? {
            none if none.is_empty() => Ok(database.len()?),
            damage => Err(Unsound::Damaged(damage)),
        }
    }
}

/// Why a database is not known to be sound.
enum Unsound {
    /// It is not, for these reasons.
    Damaged(Vec<String>),
    /// It could not be checked.
    Unknown(Error),
}

impl From<Error> for Unsound {
    fn from(error: Error) -> Self {
        match error {
            // Damage may be so bad that the check does not even start.
            Error::Corrupt { what, .. } => Self::Damaged(vec![what]),
            error => Self::Unknown(error),
        }
    }
}
