//! `simdb-cli pairs`: all pairs of near-duplicates in a database.

mod writer;

use std::time::Instant;

use anyhow::Result;
use clap::Args;
use simdb::{PairsEvent, Snapshot};

use self::writer::{PairCounts, PairWriter};
use super::DatabaseOptions;
use super::results::{ResultOptions, ResultSink, ResultTable};
use crate::console::{Output, counted, grouped};

/// Finds all pairs of documents within a radius
///
/// Every pair is found and written once. Documents with equal fingerprints are copies, and are
/// written as one group, because n copies are n² / 2 pairs. A pair has two different fingerprints
/// and names, for each, the document with the smallest id: if that document is the first of a
/// group, the pair holds for every document of the group. --expand writes every pair of documents
/// instead.
///
/// jsonl: {"fingerprint":"...","documents":[1,7,...]} for each group, with its ids in order, then
/// {"a":1,"b":2,"distance":3} for each pair, with a < b.
///
/// csv: the columns a, b and distance; a group is its first document paired with each other
/// document, at distance 0.
///
/// parquet: the columns of csv, a and b as INT64 with the bits of the ids, distance as INT32.
///
/// The counts are printed on standard error, or with -o on standard output; --json prints them as
/// {"documents":...,"radius":3,"groups":...,"copies":...,"pairs":...,"seconds":...}, where copies
/// are the documents in groups. The exit code is 1 if there is no pair and no group.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli pairs news.simdb > pairs.jsonl
  simdb-cli pairs news.simdb --radius 6 --format csv -o pairs.csv
  simdb-cli pairs news.simdb --expand --sorted | head")]
pub struct Pairs {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The largest distance of a pair, in bits
    ///
    /// The time grows with the radius: for five million documents, radius 4 takes twice as long as
    /// 3, radius 7 seven times, radius 8 fifteen times.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: u32,

    /// Write every pair of documents, copies included, and no groups
    #[arg(long)]
    expand: bool,

    /// Write pairs in order of a, then b, and groups in order of their first documents
    ///
    /// All results are in memory until the end: 24 bytes for a pair, 8 for a copy.
    #[arg(long)]
    sorted: bool,

    #[command(flatten)]
    results: ResultOptions,
}

impl Pairs {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        let database = self.database.open_to_read()?;
        let snapshot = database.snapshot()?;
        let documents = snapshot.len()?;
        let table = ResultTable {
            database: &database,
            key: "simdb.pairs",
            columns: &["a", "b", "distance"],
            radius: self.radius,
        };
        let mut counts = self
            .results
            .write(&table, output, |sink| self.find(snapshot, sink))?;
        counts.documents = documents;
        counts.radius = self.radius;
        counts.seconds = started.elapsed().as_secs_f64();
        let PairCounts {
            pairs,
            groups,
            copies,
            ..
        } = counts;
        output.decide(pairs + groups > 0);
        let groups = counted(groups, "group");
        let text = format!(
            "{}, {groups} of {} copies",
            counted(pairs, "pair"),
            grouped(copies)
        );
        self.results.print_counts(output, &counts, text)
    }

    fn find(&self, snapshot: Snapshot, sink: &mut ResultSink<'_>) -> Result<PairCounts> {
        let snapshot = snapshot.on_progress(sink.handler());
        let mut writer = PairWriter::new(sink, self.expand, self.sorted);
        let outcome = snapshot.pairs(self.radius, |event| {
            let outcome = match event {
                PairsEvent::Copies {
                    fingerprint,
                    documents,
                } => writer.push_copies(fingerprint, documents),
                PairsEvent::Pairs(pairs) => {
                    pairs.iter().try_for_each(|pair| writer.push_pair(pair))
                }
                _ => Ok(()),
            };
            writer.sink.go_on_after(outcome)
        });
        writer.sink.finish_search(outcome)?;
        writer.finish()
    }
}
