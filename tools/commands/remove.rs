//! `simdb-cli remove`: removal of documents by their ids, or by clusters.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::json;
use simdb::{Change, Database, DocId, DocRef, Fingerprint, Outcome};

use super::given_clusters::{GivenClusters, RemovedMember};
use super::{DatabaseOptions, doc_refs, note_not_stored};
use crate::console::interrupt::Interrupt;
use crate::console::paths::refuse_special;
use crate::console::progress::ProgressMode;
use crate::console::{Output, counted, grouped};
use crate::formats::parse_id;

/// Removes documents by their ids, in one transaction, or near-duplicates by clusters
///
/// The exit code is 1 if an id is not stored; the other ids are removed nevertheless. --json prints
/// id (or key), removed (true or false) and the fingerprint that the document had, or null.
///
/// --clusters removes the members of clusters and keeps their keepers, as `simdb-cli dedup
/// --clusters` does for a corpus. So a database can use clusters that Spark found. A member whose
/// keeper is not stored is not removed. Documents are removed some thousands per transaction, so
/// the command can be interrupted and repeated; the exit code is 0 also if all documents are
/// removed already. --json prints
/// {"removed":7,"without_keeper":0,"not_stored":0,"documents":93,"seconds":0.1}: removed documents,
/// members whose keeper is not stored, documents of the clusters that are not stored, and documents
/// left in the database.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli remove news.simdb 17
  simdb-cli remove news.simdb 17 18 19 --json
  simdb-cli remove news.simdb --clusters clusters/")]
pub struct Remove {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The ids of the documents
    #[arg(
        value_name = "ID|--key KEY",
        value_parser = parse_id,
        required_unless_present_any = ["clusters", "key"],
        conflicts_with = "clusters"
    )]
    ids: Vec<u64>,

    /// The key of a document; can be repeated
    #[arg(long, conflicts_with = "clusters")]
    key: Vec<String>,

    /// Remove the members of these clusters, and keep the keepers: a file of CSV or Parquet, or a
    /// folder of Parquet files, with the columns doc_id and keeper, as `simdb-cli clusters` and
    /// Spark write them
    #[arg(long, value_name = "PATH")]
    clusters: Option<PathBuf>,

    /// Print one line of JSON for each id; with --clusters one line
    #[arg(long)]
    json: bool,

    /// Show progress on standard error, with --clusters
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

/// At most 16,384 removals in a transaction, which bounds its memory.
const MAX_PER_TRANSACTION: usize = 1 << 14;

impl Remove {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(remote) = self.database.remote()? {
            ensure!(
                self.clusters.is_none(),
                "--clusters needs the file of a database, without a server"
            );
            let removed = remote.remove(doc_refs(&self.ids, &self.key))?;
            return self.print_removed(removed, output);
        }
        refuse_special(&self.database.path)?;
        match &self.clusters {
            Some(clusters) => self.remove_members(clusters, output),
            None => self.remove_ids(output),
        }
    }

    fn remove_ids(&self, output: &mut Output) -> Result<()> {
        let database = self.database.open()?;
        let changes = doc_refs(&self.ids, &self.key).map(Change::remove);
        let outcomes = database.apply(changes)?.into_iter();
        let removed = outcomes.map(|outcome| match outcome {
            Outcome::Removed { stored } => Some(stored),
            _ => None,
        });
        self.print_removed(removed.collect(), output)
    }

    fn print_removed(&self, removed: Vec<Option<Fingerprint>>, output: &mut Output) -> Result<()> {
        output.decide(!removed.contains(&None));
        for (document, fingerprint) in doc_refs(&self.ids, &self.key).zip(removed) {
            let is_removed = fingerprint.is_some();
            let digits = fingerprint.map(|fingerprint| fingerprint.to_string());
            if self.json {
                output.json(&match &document {
                    DocRef::Id(id) => {
                        json!({"id": id.0, "removed": is_removed, "fingerprint": digits})
                    }
                    DocRef::Key(key) => {
                        json!({"key": key, "removed": is_removed, "fingerprint": digits})
                    }
                })?;
            } else if let Some(digits) = digits {
                output.line(format_args!("removed  {document}  {digits}"))?;
            }
            if !is_removed {
                note_not_stored(document);
            }
        }
        Ok(())
    }

    fn remove_members(&self, clusters: &Path, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        let interrupt = Interrupt::listen()?;
        let clusters = GivenClusters::read(clusters, self.progress, &interrupt)?;
        let database = self.database.open()?;
        if database.settings().frozen {
            let path = self.database.path.display();
            bail!("{path} is frozen: no document can be removed from it");
        }
        let (mut ids, mut without_keeper) = (Vec::new(), 0);
        let snapshot = database.snapshot()?;
        let mut take = |member: RemovedMember| match member.distance {
            Some(_) => ids.push(member.id),
            None => without_keeper += 1,
        };
        let progress = self.progress;
        let not_stored = clusters.for_each_removed(&snapshot, progress, &interrupt, &mut take)?;
        // As long as the snapshot is open, the file keeps the pages of its state.
        drop(snapshot);
        drop(clusters);
        let removed = self.remove_all(&database, &ids, &interrupt)?;
        let documents = database.len()?;
        database.close()?;
        let json = || {
            json!({
                "removed": removed,
                "without_keeper": without_keeper,
                "not_stored": not_stored,
                "documents": documents,
                "seconds": started.elapsed().as_secs_f64(),
            })
        };
        let text = || {
            let mut text = format!("removed  {}\n", counted(removed, "document"));
            for (count, reason) in [
                (without_keeper, "not removed: their keepers are not stored"),
                (not_stored, "of the clusters are not stored"),
            ] {
                if count > 0 {
                    text += &format!("         {}  {reason}\n", grouped(count));
                }
            }
            text + &format!("left     {}", counted(documents, "document"))
        };
        output.print(self.json, json, text)
    }

    fn remove_all(&self, database: &Database, ids: &[u64], interrupt: &Interrupt) -> Result<u64> {
        let bar = self.progress.steps("removing", ids.len() as u64);
        let mut removed = 0;
        let so_far = |removed| {
            let all = counted(ids.len() as u64, "document");
            format!(
                "{} of {all} were removed; repeat the command for the others",
                grouped(removed)
            )
        };
        for ids in ids.chunks(MAX_PER_TRANSACTION) {
            if interrupt.is_set() && removed > 0 {
                bail!("interrupted; {}", so_far(removed));
            }
            interrupt.check()?;
            let changes = ids.iter().map(|&id| Change::Remove(DocId(id)));
            let outcomes = database.apply(changes).with_context(|| so_far(removed))?;
            // Another process may have removed a document since the snapshot.
            let is_removed = |outcome: &&Outcome| matches!(outcome, Outcome::Removed { .. });
            removed += outcomes.iter().filter(is_removed).count() as u64;
            bar.inc(ids.len() as u64);
        }
        bar.finish_and_clear();
        Ok(removed)
    }
}
