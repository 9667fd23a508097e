//! The verbs of `simdb-cli`, one file each, and the parts that they share.

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
mod external_clusters;
mod get;
mod hash;
mod insert;
mod json_object;
mod pairs;
mod prune;
mod query;
mod recipe;
mod remove;
mod results;
mod salvage;
mod stats;
mod text_input;
mod vacuum;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use simdb::{Builder, Database};

use crate::console::logger::Verbosity;
use crate::console::paths::refuse_special;
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
    #[command(flatten)]
    pub verbosity: Verbosity,

    #[command(subcommand)]
    verb: CliVerb,
}

#[derive(Debug, Subcommand)]
enum CliVerb {
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
            CliVerb::Stats(stats) => stats.run(output),
            CliVerb::Get(get) => get.run(output),
            CliVerb::Query(query) => query.run(output),
            CliVerb::Pairs(pairs) => pairs.run(output),
            CliVerb::Clusters(clusters) => clusters.run(output),
            CliVerb::Dedup(dedup) => dedup.run(output),
            CliVerb::Hash(hash) => hash.run(output),
            CliVerb::Recipe(recipe) => recipe.run(output),
            CliVerb::Distance(distance) => distance.run(output),
            CliVerb::Compare(compare) => compare.run(output),
            CliVerb::Explain(explain) => explain.run(output),
            CliVerb::Calibrate(calibrate) => calibrate.run(output),
            CliVerb::Insert(insert) => insert.run(output),
            CliVerb::Remove(remove) => remove.run(output),
            CliVerb::Prune(prune) => prune.run(output),
            CliVerb::Watch(watch) => watch.run(output),
            CliVerb::Check(check) => check.run(output),
            CliVerb::Doctor(doctor) => doctor.run(output),
            CliVerb::Salvage(salvage) => salvage.run(output),
            CliVerb::Backup(backup) => backup.run(output),
            CliVerb::Vacuum(vacuum) => vacuum.run(output),
            CliVerb::Export(export) => export.run(output),
            CliVerb::Completions(completions) => completions.run(output),
        }
    }
}

/// The usual radius of near-duplicates.
const STRICT_RADIUS: u32 = 3;

/// The reason why the fingerprint of a text is unreliable.
const SAYS_TOO_LITTLE: &str =
    "the text says too little: it is too short, or one phrase over and over";

/// The ids of documents in a database.
#[derive(Debug, Args)]
struct DocumentIds {
    /// The database
    database: PathBuf,

    /// The ids
    #[arg(required = true, value_name = "ID", value_parser = parse_id)]
    ids: Vec<u64>,

    #[command(flatten)]
    recipe: RecipeOptions,
}

/// Says that there is no such document. The answer is a plain no.
fn not_stored(id: u64) -> Answer {
    note(format_args!("document {id} is not stored"));
    Answer::No
}

/// Opens a database for reading, which several processes can do at a time.
fn open_to_read(path: &Path, recipe: &RecipeOptions) -> Result<Database> {
    open_to_read_by(path, &recipe.builder()?)
}

/// Opens a database for reading with this builder.
fn open_to_read_by(path: &Path, builder: &Builder) -> Result<Database> {
    refuse_special(path)?;
    Ok(builder.clone().open_read_only(path)?)
}
