//! `simdb-cli clusters`: all clusters of near-duplicates in a database.

pub mod options;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use simdb::clusters::{Cluster, ClustersEvent};
use simdb::{Database, DocId, Snapshot};

use self::options::{ClusterOptions, KeepRule};
use super::DatabaseOptions;
use super::certificate::Certifier;
use super::result_output::{ResultOptions, ResultSink, ResultTable};
use crate::console::{Output, counted, grouped, note};
use crate::options::SubsetOptions;

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
/// With --similar, a member also has "verdict" and "missing": the verdict about its text, A, and
/// the text of the keeper, B, and the words that the keeper does not have, with their weights in
/// nats. Whole texts are compared, also if the database ignores frames.
///
/// csv: the columns cluster, doc_id, keeper and distance, a line for each member.
///
/// parquet: the columns of csv, ids as INT64 with their bits, distance as INT32.
///
/// In a database with keys, a line of jsonl also has "keeper_key", and a member its "key"; csv and
/// parquet have the columns key and keeper_key.
///
/// The counts are printed on standard error, or with -o on standard output; --json prints them as
/// {"documents":...,"radius":3,"clusters":...,"members":...,"largest":...,"split":...,
/// "seconds":...}, where radius is null with --similar, members are the documents in clusters,
/// largest is the size of the largest cluster, and split counts the chains that exceed --cap. The
/// exit code is 1 if there is no cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli clusters news.simdb > clusters.jsonl
  simdb-cli clusters news.simdb --keep oldest --format csv -o clusters.csv
  simdb-cli clusters news.simdb --similar --keep longest
  simdb-cli clusters news.simdb --radius 8 --verify
  simdb-cli clusters pages.simdb --within-scope en
  simdb-cli clusters news.simdb --shape connected --cap 0 | jq 'select(.diameter > 6)'")]
pub struct Clusters {
    #[command(flatten)]
    database: DatabaseOptions,

    #[command(flatten)]
    subset: SubsetOptions,

    #[command(flatten)]
    clustering: ClusterOptions,

    /// Compare the texts of all documents instead of fingerprints: the text of a keeper covers each
    /// member
    ///
    /// The database needs texts. Finds nearly all edited copies, see --decide, and members that
    /// lack words of their keeper. Of the documents that cover all others of a cluster, --keep
    /// selects the keeper; if there is no such document, the longest text is kept.
    #[arg(long, help_heading = "Duplicates")]
    similar: bool,

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
    /// `None` if texts are compared.
    radius: Option<u32>,
    clusters: u64,
    members: u64,
    largest: u64,
    split: u64,
    seconds: f64,
}

impl Clusters {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        self.clustering.check(self.similar)?;
        if !self.similar {
            self.clustering.refuse_unused_likeness()?;
        } else if self.clustering.names_fingerprints() {
            bail!(
                "--similar compares texts; --radius, --shape, --cap and --verify are for fingerprints"
            );
        }
        let database = self.database.open_to_read()?;
        self.clustering.refuse_unkept(self.keep, &database)?;
        let table = ResultTable {
            database: &database,
            key: "simdb.clusters",
            columns: &["cluster", "doc_id", "keeper", "distance"],
            key_columns: &[("key", 1), ("keeper_key", 2)],
            radius: self.radius(),
        };
        let mut counts = self
            .results
            .write(&table, output, |sink| self.find(&database, sink))?;
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

    /// The largest distance of a member from its keeper; any with --similar.
    fn radius(&self) -> u32 {
        if self.similar {
            u64::BITS
        } else {
            self.clustering.radius()
        }
    }

    fn find(&self, database: &Database, sink: &mut ResultSink<'_>) -> Result<ClusterCounts> {
        let snapshot = self.subset.of(database.snapshot()?)?;
        // The visitor runs within the search of `snapshot`, which cannot be asked for texts
        // meanwhile.
        let texts = self.similar.then(|| database.snapshot()).transpose()?;
        let texts = texts.map(|texts| (texts, Certifier::new(self.clustering.decision())));
        let snapshot = snapshot.on_progress(sink.handler());
        let mut counts = ClusterCounts {
            documents: snapshot.len()?,
            radius: (!self.similar).then(|| self.radius()),
            ..ClusterCounts::default()
        };
        let visitor = |event: ClustersEvent<'_>| {
            let mut outcome = Ok(());
            if let ClustersEvent::Split { id, documents } = event {
                counts.split += 1;
                note(self.clustering.split_warning(id, documents));
            } else if let ClustersEvent::Cluster(cluster) = event {
                let members = cluster.members.len() as u64;
                counts.clusters += 1;
                counts.members += members;
                counts.largest = counts.largest.max(members);
                outcome = write(cluster, texts.as_ref(), sink);
            }
            sink.go_on_after(outcome)
        };
        let outcome = if self.similar {
            snapshot.similar_clusters(&self.clustering.join(), self.keep.keep(), visitor)
        } else {
            snapshot.clusters(&self.clustering.clustering(self.keep), visitor)
        };
        sink.finish_search(outcome)?;
        Ok(counts)
    }
}

/// Writes a cluster: a line of JSON, or a row of a table for each member.
///
/// With `texts`, a member of a line has its verdict and the words that its keeper does not have.
fn write(
    cluster: &Cluster,
    texts: Option<&(Snapshot, Certifier)>,
    sink: &mut ResultSink<'_>,
) -> Result<()> {
    let (id, keeper, members) = (cluster.id.0, cluster.keeper.0, cluster.members.iter());
    if sink.is_table {
        for member in members {
            sink.row(&[id, member.id.0, keeper, member.distance.into()])?;
        }
        return Ok(());
    }
    let text = |id: DocId| -> Result<String> {
        let document = texts.map(|(texts, _)| texts.get(id)).transpose()?.flatten();
        Ok(document
            .and_then(|document| document.text)
            .unwrap_or_default())
    };
    let keeper_text = text(cluster.keeper)?;
    let members: Result<Vec<Value>> = members
        .map(|member| {
            let mut line = json!({"id": member.id.0, "distance": member.distance});
            if let Some(key) = sink.key(member.id.0)? {
                line["key"] = key.into();
            }
            if let Some((_, certifier)) = texts {
                let certificate = certifier.certificate(&text(member.id)?, &keeper_text);
                line["verdict"] = certificate.verdict.into();
                line["missing"] = certificate.missing;
            }
            Ok(line)
        })
        .collect();
    let members = members?;
    let mut line = json!({
        "cluster": id,
        "keeper": keeper,
        "size": cluster.members.len(),
        "diameter": cluster.diameter,
        "most_diameter": cluster.most_diameter,
        "members": members,
    });
    if let Some(key) = sink.key(keeper)? {
        line["keeper_key"] = key.into();
    }
    sink.json(&line)
}
