//! The verbs of `simdb-cli`, one file each, and what they have in common.

mod backup;
mod calibrate;
mod check;
mod clusters;
mod compare;
mod completions;
mod dedup;
mod distance;
mod doctor;
mod explain;
mod export;
mod found;
mod get;
mod given_clusters;
mod hash;
mod insert;
mod json_object;
mod pairs;
mod prune;
mod query;
mod recipe;
mod remove;
mod salvage;
mod stats;
mod text_input;
mod vacuum;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use simdb::{Builder, Database};

use crate::console::files::refuse_special;
use crate::console::{Answer, Output, note};
use crate::formats::parse_id;
use crate::options::RecipeOptions;

/// Looks into a near-duplicate database, asks it, and makes small changes by hand.
///
/// Exit codes: 0 done, or found; 1 a plain no (nothing within the radius, no such document,
/// damage found, something needs attention); 2 it could not be done.
#[derive(Debug, Parser)]
#[command(
    name = "simdb-cli",
    version,
    after_help = "\
Examples:
  simdb-cli query news.simdb --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli stats news.simdb
  simdb-cli help query"
)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Stats(stats::StatsVerb),
    Get(get::Get),
    Query(query::Query),
    Pairs(pairs::Pairs),
    Clusters(clusters::Clusters),
    Dedup(Box<dedup::Dedup>),
    Hash(hash::Hash),
    Recipe(recipe::RecipeVerb),
    Distance(distance::Distance),
    Compare(compare::Compare),
    Explain(explain::Explain),
    Calibrate(calibrate::Calibrate),
    Insert(insert::Insert),
    Remove(remove::Remove),
    Prune(prune::Prune),
    Watch(watch::Watch),
    Check(check::Check),
    Doctor(doctor::Doctor),
    Salvage(salvage::Salvage),
    Backup(backup::Backup),
    Vacuum(vacuum::Vacuum),
    Export(export::Export),
    Completions(completions::Completions),
}

impl Cli {
    /// Does what the command line says.
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        match &self.verb {
            Verb::Stats(stats) => stats.run(output),
            Verb::Get(get) => get.run(output),
            Verb::Query(query) => query.run(output),
            Verb::Pairs(pairs) => pairs.run(output),
            Verb::Clusters(clusters) => clusters.run(output),
            Verb::Dedup(dedup) => dedup.run(output),
            Verb::Hash(hash) => hash.run(output),
            Verb::Recipe(recipe) => recipe.run(output),
            Verb::Distance(distance) => distance.run(output),
            Verb::Compare(compare) => compare.run(output),
            Verb::Explain(explain) => explain.run(output),
            Verb::Calibrate(calibrate) => calibrate.run(output),
            Verb::Insert(insert) => insert.run(output),
            Verb::Remove(remove) => remove.run(output),
            Verb::Prune(prune) => prune.run(output),
            Verb::Watch(watch) => watch.run(output),
            Verb::Check(check) => check.run(output),
            Verb::Doctor(doctor) => doctor.run(output),
            Verb::Salvage(salvage) => salvage.run(output),
            Verb::Backup(backup) => backup.run(output),
            Verb::Vacuum(vacuum) => vacuum.run(output),
            Verb::Export(export) => export.run(output),
            Verb::Completions(completions) => completions.run(output),
        }
    }
}

/// The radius at which near-duplicates are usually looked for.
const STRICT_RADIUS: u32 = 3;

/// Why a text may have a fingerprint that means nothing.
const SAYS_TOO_LITTLE: &str =
    "the text says too little: it is too short, or one phrase over and over";

/// The ids of documents, and where they are.
#[derive(Debug, Args)]
struct Documents {
    /// The database
    database: PathBuf,

    /// The ids
    #[arg(required = true, value_name = "ID", value_parser = parse_id)]
    ids: Vec<u64>,

    #[command(flatten)]
    recipe: RecipeOptions,
}

/// Says that there is no such document, which is a plain no.
fn not_stored(id: u64) -> Answer {
    note(format_args!("document {id} is not stored"));
    Answer::No
}

/// Opens a database for reading, so that several can do so at once.
fn open_to_read(path: &Path, recipe: &RecipeOptions) -> Result<Database> {
    open_to_read_by(path, &recipe.builder()?)
}

/// The same with a builder of the caller's.
fn open_to_read_by(path: &Path, builder: &Builder) -> Result<Database> {
    refuse_special(path)?;
    Ok(builder.clone().open_read_only(path)?)
}
