//! `simdb-cli salvage`: the readable part of a damaged database, in a new database.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use simdb::maintenance::Salvage;
use simdb::{Builder, Database, Error};

use crate::console::file::make_or_replace_database;
use crate::console::paths::{OutputPaths, Overwrite, refuse_special};
use crate::console::progress::ProgressMode;
use crate::console::{Output, counted, error_text, note, parse_memory};
use crate::options::NewDatabase;

/// Saves the readable part of a damaged database into a new database
///
/// A file holds most data twice, so a few damaged pages often lose no document. The damaged file is
/// not changed; unreadable parts are listed. If the file cannot be opened, salvage scans its pages,
/// and documents that were changed or removed shortly before the damage may return. The exit code
/// is 1 if there was damage, also in parts that no document needs.
///
/// A document whose key is lost gets the key salvaged:ID:NUMBER, with its id and a random number of
/// the damaged file.
///
/// The new database has the settings of the damaged one. If they cannot be read, name the recipe.
/// The readable parts then show keys, fields, scopes, texts, --similar, arrival times and copies;
/// name --retention and --ignore-frames if the database had them. The options of a new database do
/// not count if the settings can be read. --json prints documents,
/// from_one_table, from_text, ambiguous, without_fingerprint, lost_ids, without_text,
/// without_arrival, without_key and damage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli salvage news.simdb saved.simdb
  simdb-cli salvage news.simdb saved.simdb --recipe ngram --retention 2d")]
pub struct SalvageVerb {
    /// The damaged database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The path of the new database
    to: PathBuf,

    #[command(flatten)]
    new: NewDatabase,

    /// The memory for sorting, at least 64MiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_memory)]
    memory: u64,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,

    #[command(flatten)]
    overwrite: Overwrite,
}

/// The damage that a check finds, also in the parts that no document needs.
fn damage_of(path: &Path, builder: Builder) -> Result<Vec<String>> {
    let checked = builder
        .open_read_only(path)
        .and_then(|database| database.check());
    match checked {
        Ok(damage) => Ok(damage),
        Err(error @ (Error::Corrupt { .. } | Error::NotADatabase { .. })) => {
            Ok(vec![error_text(&error)])
        }
        Err(error) => Err(error.into()),
    }
}

impl SalvageVerb {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let database = &self.database;
        refuse_special(database)?;
        self.new.check()?;
        let opening = self.new.recipe.builder()?;
        let settings = self.new.settings_by_clock(false)?;
        let builder = match self.new.recipe()? {
            Some(_) => Database::builder().settings(&settings),
            None => Database::builder(),
        };
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(database, "the damaged database");
        let to = paths.database("TO", &self.to)?;
        let saved = self.progress.observe(|handler| {
            make_or_replace_database(&to, opening.clone(), |to| {
                Ok(builder
                    .on_progress(handler)
                    .salvage(database, to, self.memory)?)
            })
        })??;
        // A salvage reads only the parts that it needs.
        let mut saved = saved;
        if saved.damage.is_empty() {
            saved.damage = damage_of(database, opening)?;
        }
        output.decide(saved.damage.is_empty());
        output.print(self.json, || &saved, || self.text_of(&saved))?;
        if !self.json && saved.damage.is_empty() {
            note("no document is damaged");
        }
        Ok(())
    }

    fn text_of(&self, saved: &Salvage) -> String {
        let documents = |count| counted(count, "document");
        let mut text = format!("{}  {}", self.to.display(), documents(saved.documents));
        for (count, loss) in [
            (saved.from_one_table, "found in one table only"),
            (
                saved.from_text,
                "whose fingerprint was made again of the text",
            ),
            (
                saved.ambiguous,
                "with several fingerprints, one of them taken",
            ),
            (
                saved.without_text,
                "whose text, fields and copies may be lost",
            ),
            (saved.without_arrival, "whose arrival time is lost"),
            (
                saved.without_key,
                "with a key salvaged:... in place of the lost key",
            ),
        ] {
            if count > 0 {
                text += &format!("\n  {} {loss}", documents(count));
            }
        }
        if saved.without_fingerprint > 0 {
            let ids: Vec<String> = saved.lost_ids.iter().map(|id| id.0.to_string()).collect();
            text += &format!(
                "\nlost  {}: {}",
                documents(saved.without_fingerprint),
                ids.join(" ")
            );
        }
        for damage in &saved.damage {
            text += &format!("\ndamaged  {damage}");
        }
        text
    }
}
