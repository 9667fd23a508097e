//! The verbs of `simdb-cli`, one file each, and their shared parts.

mod backup;
mod certificate;
mod check;
mod check_report;
mod clusters;
mod compare;
mod completions;
mod corpus_copy;
mod cut;
mod dedup;
pub mod doctor;
mod export;
mod frames;
mod get;
mod given_clusters;
mod hash;
mod input_options;
mod insert;
mod json_object;
mod key_names;
mod pairs;
mod prune;
mod query;
mod recipe;
mod remove;
mod result_output;
mod salvage;
mod serve;
pub mod stats;
mod text_input;
mod top;
mod vacuum;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};
use simdb::{Builder, Database, DocRef};

use crate::console::logger::Verbosity;
use crate::console::paths::refuse_special;
use crate::console::{Output, note};
use crate::options::RecipeOptions;
use crate::remote::Remote;

/// Queries and inspects a near-duplicate database, and makes small changes to it
///
/// Exit codes: 0 done, or found; 1 a plain no (no match, no such document, damage, a finding); 2 an
/// error.
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

/// Declares a variant of the command line for each verb, and the dispatch to its `run`.
macro_rules! verbs {
    ($($Verb:ident($Options:ty),)*) => {
        #[derive(Debug, Subcommand)]
        enum CliVerb {
            $($Verb(Box<$Options>)),*
        }

        impl Cli {
            /// Runs the verb that the command line names.
            pub fn run(&self, output: &mut Output) -> Result<()> {
                match &self.verb {
                    $(CliVerb::$Verb(verb) => verb.run(output)),*
                }
            }
        }
    };
}

verbs! {
    Stats(stats::StatsVerb),
    Get(get::Get),
    Query(query::Query),
    Top(top::Top),
    Pairs(pairs::Pairs),
    Clusters(clusters::Clusters),
    Dedup(dedup::Dedup),
    Cut(cut::Cut),
    Frames(frames::FramesVerb),
    Hash(hash::Hash),
    Recipe(recipe::RecipeVerb),
    Compare(compare::Compare),
    Insert(insert::Insert),
    Remove(remove::Remove),
    Prune(prune::Prune),
    Watch(watch::Watch),
    Serve(serve::Serve),
    Report(serve::Report),
    Check(check::Check),
    CheckReport(check_report::CheckReport),
    Doctor(doctor::Doctor),
    Salvage(salvage::SalvageVerb),
    Backup(backup::Backup),
    Vacuum(vacuum::Vacuum),
    Export(export::Export),
    Completions(completions::Completions),
}

/// The default radius of near-duplicates.
const STRICT_RADIUS: u32 = 3;

/// The reason why the fingerprint of a text is unreliable.
const TOO_LITTLE_CONTENT: &str =
    "the text has too little content: it is too short, or one phrase over and over";

/// The database that a command opens.
#[derive(Debug, Args)]
struct DatabaseOptions {
    /// The database; query, get, top, insert, remove, stats, doctor and export also take the
    /// address of a server, http://... or unix:...
    #[arg(value_name = "DATABASE", id = "database")]
    path: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,
}

impl DatabaseOptions {
    /// The server of the database, if its address stands in place of a path.
    fn remote(&self) -> Result<Option<Remote>> {
        let remote = Remote::of(&self.path)?;
        ensure!(
            remote.is_none() || self.recipe.recipe()?.is_none(),
            "a served database has its recipe; leave --recipe out"
        );
        Ok(remote)
    }

    fn open(&self) -> Result<Database> {
        let builder = self.recipe.builder()?;
        refuse_special(&self.path)?;
        Ok(builder.open(&self.path)?)
    }

    /// Opens the database for reading, which several processes can do at the same time.
    fn open_to_read(&self) -> Result<Database> {
        open_to_read(&self.path, self.recipe.builder()?)
    }
}

fn open_to_read(path: &Path, builder: Builder) -> Result<Database> {
    refuse_special(path)?;
    Ok(builder.open_read_only(path)?)
}

/// Reports on standard error that a document is not stored.
fn note_not_stored(document: impl Into<DocRef>) {
    note(format_args!("document {} is not stored", document.into()));
}

/// The documents that a command names, by id and by key.
fn doc_refs<'a>(ids: &'a [u64], keys: &'a [String]) -> impl Iterator<Item = DocRef> + 'a {
    let ids = ids.iter().map(|id| DocRef::from(*id));
    ids.chain(keys.iter().map(|key| DocRef::from(key.as_str())))
}
