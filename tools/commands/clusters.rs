//! `simdb-cli clusters`: all groups of near-duplicates in a database.

pub mod options;
mod writer;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{ClustersEvent, Snapshot};

use self::options::{ClusterOptions, KeepRule};
use self::writer::ClusterWriter;
use super::open_to_read;
use super::results::{ResultOptions, ResultSink, SearchSettings};
use crate::console::{Answer, Output, counted, grouped, note};
use crate::options::RecipeOptions;

/// Finds all groups of near-duplicates, and in each the document to keep
///
/// By default a cluster is a star: documents in order of --keep; the first that is in no cluster yet
/// is the keeper of the next one, and every document within the radius of it that is in none yet
/// joins it. So no member is farther than the radius from its keeper. With --shape connected,
/// whatever is connected by a chain of near-duplicates is one cluster, however far its ends are from
/// each other; where that is more than --cap documents, it is split into stars, with a warning.
/// Documents without a near-duplicate are in no cluster.
///
/// Clusters come in order of their ids. The id of a cluster is the smallest id of its members, which
/// is the keeper's by default.
///
/// jsonl: {"cluster":1,"keeper":1,"size":2,"diameter":2,"most_diameter":2,"members":[{"id":1,
/// "distance":0},{"id":7,"distance":2}]} for each cluster, members in order of their ids, each with its
/// distance from the keeper. The diameter is the largest distance of two members; of a cluster with
/// more than 2,048 different fingerprints it is the largest that was found, and most_diameter, which is
/// the same otherwise, is a bound.
/// csv: the columns cluster, id, keeper and distance, a line for each member.
/// parquet: the same columns, ids INT64 with their bits, distance INT32.
///
/// The counts are printed on standard error, or, with -o, on standard output; --json makes that a
/// line {"documents":...,"radius":3,"clusters":...,"members":...,"largest":...,"split":...,
/// "seconds":...}, where "members" are the documents in clusters, "largest" has the most of them, and
/// "split" counts components above --cap. The exit code is 1 if there is no cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli clusters news.simdb > clusters.jsonl
  simdb-cli clusters news.simdb --keep oldest --format csv -o clusters.csv
  simdb-cli clusters news.simdb --radius 8 --verify --keep longest
  simdb-cli clusters news.simdb --shape connected --cap 0 | jq 'select(.diameter > 6)'")]
pub struct Clusters {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    #[command(flatten)]
    clustering: ClusterOptions,

    /// The document of a cluster that is its keeper; of several equals the one with the smallest id
    ///
    /// `oldest` needs a database that keeps times of arrival, `longest` one that keeps texts.
    #[arg(long, value_enum, default_value_t)]
    keep: KeepRule,

    #[command(flatten)]
    results: ResultOptions,
}

/// The counts, as the line of JSON has them.
#[derive(Default, Serialize)]
struct ClusterCounts {
    documents: u64,
    radius: u32,
    clusters: u64,
    members: u64,
    largest: u64,
    split: u64,
    seconds: f64,
}

impl Clusters {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        self.clustering.check()?;
        let database = open_to_read(&self.database, &self.recipe)?;
        self.clustering.refuse_unkept(self.keep, &database)?;
        let snapshot = database.snapshot()?;
        let settings = SearchSettings {
            recipe: &database.settings().recipe,
            radius: self.clustering.radius(),
        };
        let mut counts = self.results.write(&self.database, output, |sink| {
            self.find(snapshot, settings, sink)
        })?;
        let text = format!(
            "{} of {}, the largest of {}",
            counted(counts.clusters, "cluster"),
            counted(counts.members, "document"),
            grouped(counts.largest)
        );
        counts.seconds = started.elapsed().as_secs_f64();
        self.results.print_counts(output, text, &counts)?;
        Ok(match counts.clusters {
            0 => Answer::No,
            _ => Answer::Yes,
        })
    }

    /// Writes all clusters, and counts them.
    fn find(
        &self,
        snapshot: Snapshot,
        settings: SearchSettings<'_>,
        sink: &mut ResultSink<'_>,
    ) -> Result<ClusterCounts> {
        let mut search = self.results.search(sink);
        let snapshot = snapshot.on_progress(search.handler());
        let mut writer = ClusterWriter::new(self.results.format, settings, sink)?;
        let mut counts = ClusterCounts {
            documents: snapshot.len()?,
            radius: settings.radius,
            ..ClusterCounts::default()
        };
        let outcome = snapshot.clusters(&self.clustering.clustering(self.keep), |event| {
            let outcome = match event {
                ClustersEvent::Split { id, documents } => {
                    counts.split += 1;
                    note(self.clustering.split_warning(id, documents));
                    Ok(())
                }
                ClustersEvent::Cluster(cluster) => {
                    let members = cluster.members.len() as u64;
                    counts.clusters += 1;
                    counts.members += members;
                    counts.largest = counts.largest.max(members);
                    writer.push(cluster)
                }
                _ => Ok(()),
            };
            search.go_on_after(outcome, writer.sink())
        });
        search.finish(outcome)?;
        writer.finish()?;
        Ok(counts)
    }
}
