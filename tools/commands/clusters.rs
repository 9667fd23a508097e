//! `simdb-cli clusters`: all clusters of near-duplicates in a database.

pub mod options;

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use simdb::{Cluster, ClustersEvent, Snapshot};

use self::options::{ClusterOptions, KeepRule};
use super::DatabaseOptions;
use super::results::{ResultOptions, ResultSink, ResultTable};
use crate::console::{Output, counted, grouped, note};

/// Finds all clusters of near-duplicates, and the document of each cluster to keep
///
/// By default a cluster is a star. Documents are visited in the order of --keep: the first document
/// that is in no cluster becomes the keeper of a new cluster, and every document within its radius
/// that is in no cluster joins. So no member is farther than the radius from its keeper. With
/// --shape connected, documents that are linked by a chain of near-duplicates form one cluster, at
/// any distance; a chain of more than --cap documents is split into stars, with a warning.
/// Documents without near-duplicates are in no cluster.
///
/// Clusters are written in order of their ids. The id of a cluster is the smallest id of its
/// members, by default the id of the keeper.
///
/// jsonl: {"cluster":1,"keeper":1,"size":2,"diameter":2,"most_diameter":2,"members":[{"id":1,
/// "distance":0},{"id":7,"distance":2}]} for each cluster. Members are in order of their ids;
/// distance is the distance from the keeper. The diameter is the largest distance between two
/// members. For a cluster with more than 2,048 different fingerprints, diameter is a lower and
/// most_diameter an upper bound; otherwise both are equal.
///
/// csv: the columns cluster, id, keeper and distance, a line for each member.
///
/// parquet: the columns of csv, ids as INT64 with their bits, distance as INT32.
///
/// The counts are printed on standard error, or with -o on standard output; --json prints them as
/// {"documents":...,"radius":3,"clusters":...,"members":...,"largest":...,"split":...,
/// "seconds":...}, where members are the documents in clusters, largest is the size of the largest
/// cluster, and split counts the chains that exceed --cap. The exit code is 1 if there is no
/// cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli clusters news.simdb > clusters.jsonl
  simdb-cli clusters news.simdb --keep oldest --format csv -o clusters.csv
  simdb-cli clusters news.simdb --radius 8 --verify --keep longest
  simdb-cli clusters news.simdb --shape connected --cap 0 | jq 'select(.diameter > 6)'")]
pub struct Clusters {
    #[command(flatten)]
    database: DatabaseOptions,

    #[command(flatten)]
    clustering: ClusterOptions,

    /// The document of a cluster to keep; of equal documents the document with the smallest id
    ///
    /// `oldest` needs a database that keeps times of arrival, `longest` a database that keeps
    /// texts.
    #[arg(long, value_enum, default_value_t)]
    keep: KeepRule,

    #[command(flatten)]
    results: ResultOptions,
}

/// The counts, with the field names of JSON.
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
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        self.clustering.check()?;
        let database = self.database.open_to_read()?;
        self.clustering.refuse_unkept(self.keep, &database)?;
        let snapshot = database.snapshot()?;
        let table = ResultTable {
            database: &database,
            key: "simdb.clusters",
            columns: &["cluster", "id", "keeper", "distance"],
            radius: self.clustering.radius,
        };
        let mut counts = self
            .results
            .write(&table, output, |sink| self.find(snapshot, sink))?;
        counts.seconds = started.elapsed().as_secs_f64();
        output.decide(counts.clusters > 0);
        let text = format!(
            "{} of {}, the largest of {}",
            counted(counts.clusters, "cluster"),
            counted(counts.members, "document"),
            grouped(counts.largest)
        );
        self.results.print_counts(output, &counts, text)
    }

    fn find(&self, snapshot: Snapshot, sink: &mut ResultSink<'_>) -> Result<ClusterCounts> {
        let snapshot = snapshot.on_progress(sink.handler());
        let mut counts = ClusterCounts {
            documents: snapshot.len()?,
            radius: self.clustering.radius,
            ..ClusterCounts::default()
        };
        let outcome = snapshot.clusters(&self.clustering.clustering(self.keep), |event| {
            let mut outcome = Ok(());
            if let ClustersEvent::Split { id, documents } = event {
                counts.split += 1;
                note(self.clustering.split_warning(id, documents));
            } else if let ClustersEvent::Cluster(cluster) = event {
                let members = cluster.members.len() as u64;
                counts.clusters += 1;
                counts.members += members;
                counts.largest = counts.largest.max(members);
                outcome = write(cluster, sink);
            }
            sink.go_on_after(outcome)
        });
        sink.finish_search(outcome)?;
        Ok(counts)
    }
}

/// Writes a cluster: a line of JSON, or a row of a table for each member.
fn write(cluster: &Cluster, sink: &mut ResultSink<'_>) -> Result<()> {
    let (id, keeper, members) = (cluster.id.0, cluster.keeper.0, cluster.members.iter());
    if sink.is_table {
        for member in members {
            sink.row(&[id, member.id.0, keeper, member.distance.into()])?;
        }
        return Ok(());
    }
    let members = members.map(|member| json!({"id": member.id.0, "distance": member.distance}));
    sink.json(&json!({
        "cluster": id,
        "keeper": keeper,
        "size": cluster.members.len(),
        "diameter": cluster.diameter,
        "most_diameter": cluster.most_diameter,
        "members": members.collect::<Value>(),
    }))
}
