//! `simdb-cli remove`: documents by their ids, or what clusters leave out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Change, Database, DocId, Fingerprint, Outcome};

use super::external_clusters::{ExternalClusters, RemovedMember};
use super::not_stored;
use crate::console::interrupt::Interrupt;
use crate::console::paths::refuse_special;
use crate::console::progress::Progress;
use crate::console::{Answer, Output, counted, grouped};
use crate::formats::parse_id;
use crate::options::RecipeOptions;

/// Removes documents by their ids, in one transaction, or near-duplicates by clusters
///
/// The exit code is 1 if an id was missing; the others are removed all the same. --json prints
/// id, removed (true or false) and the fingerprint that the document had, or null.
///
/// With --clusters, what clusters leave out is removed and their keepers stay, as `simdb-cli dedup
/// --clusters` does with a corpus: so clusters that were found by Spark come back to a database. What
/// is stored is compared with the clusters first: if the fingerprints of a document and its keeper
/// have another distance than these say, they are of other documents, and nothing is removed. What has
/// a keeper that is not stored is not removed. Documents are removed some thousands at a time, so it
/// may be interrupted and repeated; the exit code is 0 though all are removed already. --json prints
/// {"removed":7,"without_keeper":0,"not_stored":0,"documents":93,"seconds":0.1}: how many documents
/// were removed, how many were not because their keeper is not stored, how many documents of the
/// clusters are not stored, and how many documents are left.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli remove news.simdb 17
  simdb-cli remove news.simdb 17 18 19 --json
  simdb-cli remove news.simdb --clusters clusters/")]
pub struct Remove {
    /// The database
    database: PathBuf,

    /// The ids
    #[arg(
        value_name = "ID",
        value_parser = parse_id,
        required_unless_present = "clusters",
        conflicts_with = "clusters"
    )]
    ids: Vec<u64>,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Remove what these clusters leave out: what `simdb-cli clusters` has written (.jsonl, .csv,
    /// .parquet), or a folder of Parquet files with the columns doc_id, keeper, cluster and distance
    #[arg(long, value_name = "PATH")]
    clusters: Option<PathBuf>,

    /// Print one line of JSON for each id; with --clusters one in all
    #[arg(long)]
    json: bool,

    /// Whether to show progress on standard error, with --clusters
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

#[derive(Serialize)]
struct RemoveLine {
    id: u64,
    removed: bool,
    fingerprint: Option<String>,
}

#[derive(Serialize)]
struct ClustersLine {
    removed: u64,
    without_keeper: u64,
    not_stored: u64,
    documents: u64,
    seconds: f64,
}

/// How many documents are removed in one transaction.
const AT_ONCE: usize = 1 << 14;

impl Remove {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        refuse_special(&self.database)?;
        match &self.clusters {
            Some(clusters) => self.remove_by(clusters, output),
            None => self.remove_ids(output),
        }
    }

    fn remove_ids(&self, output: &mut Output) -> Result<Answer> {
        let database = self.recipe.builder()?.open(&self.database)?;
        let changes = self.ids.iter().map(|&id| Change::Remove(DocId(id)));
        let outcomes = database.apply(changes)?;
        let stored: Vec<Option<Fingerprint>> = outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Outcome::Removed { stored } => Some(stored),
                _ => None,
            })
            .collect();
        let answer = if stored.contains(&None) {
            Answer::No
        } else {
            Answer::Yes
        };
        output.decided(answer);
        for (&id, stored) in self.ids.iter().zip(stored) {
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
                not_stored(id);
            }
        }
        Ok(answer)
    }

    fn remove_by(&self, clusters: &Path, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        let interrupt = Interrupt::listen()?;
        let given = ExternalClusters::read(clusters, self.progress, &interrupt)?;
        let database = self.recipe.builder()?.open(&self.database)?;
        if database.settings().frozen {
            bail!(
                "{} is frozen, nothing can be removed from it",
                self.database.display()
            );
        }
        let (mut ids, mut proving, mut without_keeper) = (Vec::new(), Vec::new(), 0);
        let mut take = |member: RemovedMember| match (member.has_keeper, member.has_distance) {
            (true, false) => ids.push(member.id),
            (true, true) => proving.push(member.id),
            (false, _) => without_keeper += 1,
        };
        let snapshot = database.snapshot()?;
        let not_stored = given.for_each_removed(&snapshot, self.progress, &interrupt, &mut take)?;
        // An older state would be kept in the file as long as somebody reads it.
        drop(snapshot);
        drop(given);
        // Those last by which the clusters are proved, so that what is interrupted can be repeated.
        ids.append(&mut proving);
        let removed = self.remove_all(&database, &ids, &interrupt)?;
        let documents = database.len()?;
        database.close()?;
        if self.json {
            output.json(&ClustersLine {
                removed,
                without_keeper,
                not_stored,
                documents,
                seconds: started.elapsed().as_secs_f64(),
            })?;
            return Ok(Answer::Yes);
        }
        output.line(format_args!("removed  {}", counted(removed, "document")))?;
        for (count, what) in [
            (without_keeper, "not removed: their keepers are not stored"),
            (not_stored, "of the clusters are not stored"),
        ] {
            if count > 0 {
                output.line(format_args!("         {}  {what}", grouped(count)))?;
            }
        }
        output.line(format_args!("left     {}", counted(documents, "document")))?;
        Ok(Answer::Yes)
    }

    fn remove_all(&self, database: &Database, ids: &[u64], interrupt: &Interrupt) -> Result<u64> {
        let bar = self.progress.work();
        bar.set_prefix("removing");
        bar.set_length(ids.len() as u64);
        let mut removed = 0;
        for some in ids.chunks(AT_ONCE) {
            if interrupt.is_set() && removed > 0 {
                bail!(
                    "interrupted; {} of {} were removed; repeat the command for the others",
                    grouped(removed),
                    counted(ids.len() as u64, "document")
                );
            }
            interrupt.check()?;
            let changes = some.iter().map(|&id| Change::Remove(DocId(id)));
            let outcomes = database.apply(changes).with_context(|| {
                format!(
                    "{} of {} were removed; repeat the command for the others",
                    grouped(removed),
                    counted(ids.len() as u64, "document")
                )
            })?;
            let is_removed = |outcome: &&Outcome| matches!(outcome, Outcome::Removed { .. });
            removed += outcomes.iter().filter(is_removed).count() as u64;
            bar.inc(some.len() as u64);
        }
        bar.finish_and_clear();
        Ok(removed)
    }
}
