//! `simdb-cli salvage`: what can be read of a damaged database, into a new one.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::Salvage as Found;

use crate::console::file::make_or_replace_database;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPaths, Overwrite, refuse_special};
use crate::console::progress::{Progress, handler};
use crate::console::{Answer, Output, counted, note, parse_memory};
use crate::options::RecipeOptions;

/// Saves what can be read of a damaged database into a new one
///
/// Most things are in a file twice, so single damaged pages often lose nothing. The damaged file
/// stays as it is; what could not be read is listed. If the file cannot even be opened, its pages
/// are looked at one by one, and documents that were changed or removed shortly before may come
/// back. The exit code is 1 if there was damage. --json prints documents, from_one_table,
/// from_text, ambiguous, without_fingerprint, lost_ids, without_text, without_arrival and damage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli salvage news.simdb saved.simdb
  simdb-cli salvage news.simdb saved.simdb --recipe ngram --keep-texts")]
pub struct Salvage {
    /// The damaged database
    database: PathBuf,

    /// The new database
    to: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// If the file does not say any more: whether it kept texts
    #[arg(long)]
    keep_texts: bool,

    /// If the file does not say any more: whether it was made for similar texts
    #[arg(long)]
    similar: bool,

    /// How much memory to use, at least 64MiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_memory)]
    memory: u64,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,

    #[command(flatten)]
    overwrite: Overwrite,
}

#[derive(Serialize)]
struct SalvageLine<'f> {
    documents: u64,
    from_one_table: u64,
    from_text: u64,
    ambiguous: u64,
    without_fingerprint: u64,
    lost_ids: Vec<u64>,
    without_text: u64,
    without_arrival: u64,
    damage: &'f [String],
}

impl Salvage {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        refuse_special(&self.database)?;
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(&self.database, "the damaged database");
        let to = paths.database("TO", &self.to)?;
        let interrupt = Interrupt::listen()?;
        let bar = self.progress.work();
        let recipe = self.recipe.builder()?;
        let found = make_or_replace_database(&to, recipe.clone(), |to| {
            let builder = recipe
                .keep_texts(self.keep_texts)
                .similar(self.similar)
                .on_progress(handler(&bar, &interrupt));
            Ok(builder.salvage(&self.database, to, self.memory)?)
        });
        bar.finish_and_clear();
        let found = found?;
        let answer = if found.damage.is_empty() {
            Answer::Yes
        } else {
            Answer::No
        };
        output.decided(answer);
        self.print(&found, output)?;
        Ok(answer)
    }

    fn print(&self, found: &Found, output: &mut Output) -> Result<()> {
        if self.json {
            return output.json(&SalvageLine {
                documents: found.documents,
                from_one_table: found.from_one_table,
                from_text: found.from_text,
                ambiguous: found.ambiguous,
                without_fingerprint: found.without_fingerprint,
                lost_ids: found.lost_ids.iter().map(|id| id.0).collect(),
                without_text: found.without_text,
                without_arrival: found.without_arrival,
                damage: &found.damage,
            });
        }
        let documents = counted(found.documents, "document");
        output.line(format_args!("{}  {documents}", self.to.display()))?;
        for (count, what) in [
            (found.from_one_table, "found in one table only"),
            (
                found.from_text,
                "whose fingerprint was made again of the text",
            ),
            (
                found.ambiguous,
                "with several fingerprints, one of them taken",
            ),
            (found.without_text, "whose text may be lost"),
            (found.without_arrival, "whose arrival time is lost"),
        ] {
            if count > 0 {
                output.line(format_args!("  {} {what}", counted(count, "document")))?;
            }
        }
        if found.without_fingerprint > 0 {
            let lost = counted(found.without_fingerprint, "document");
            let ids: Vec<String> = found.lost_ids.iter().map(|id| id.0.to_string()).collect();
            output.line(format_args!("lost  {lost}: {}", ids.join(" ")))?;
        }
        for what in &found.damage {
            output.line(format_args!("damaged  {what}"))?;
        }
        if found.damage.is_empty() {
            note(format_args!("nothing is damaged"));
        }
        Ok(())
    }
}
