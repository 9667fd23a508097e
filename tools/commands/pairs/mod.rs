//! `simdb-cli pairs`: all pairs of near-duplicates in a database.

mod writer;

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use simdb::Snapshot;
use simdb::join::SimilarPairsEvent;
use simdb::pairs::PairsEvent;

use self::writer::{PairCounts, PairWriter};
use super::result_output::{ResultOptions, ResultSink, ResultTable};
use super::{DatabaseOptions, STRICT_RADIUS};
use crate::console::{Output, counted, grouped};
use crate::options::{LikenessOptions, QuotationOptions, SubsetOptions};

/// Finds all pairs of documents within a radius
///
/// Every pair is found and written once. Documents with equal fingerprints are copies, and are
/// written as one group, because n copies are n² / 2 pairs. A pair has two different fingerprints
/// and names, for each, the document with the smallest id: if that document is the first of a
/// group, the pair holds for every document of the group. --expand writes every pair of documents
/// instead. Documents with too little content are in no pair; equal texts of this kind are a
/// cluster of `simdb-cli clusters`.
///
/// jsonl: {"fingerprint":"...","documents":[1,7,...]} for each group, with its ids in order, then
/// {"a":1,"b":2,"distance":3} for each pair, with a < b.
///
/// csv: the columns a, b and distance; a group is its first document paired with each other
/// document, at distance 0.
///
/// parquet: the columns of csv, a and b as INT64 with the bits of the ids, distance as INT32.
///
/// With --similar, the lines of jsonl are {"documents":[1,7,...]} and {"a":1,"b":2,"distance":9,
/// "verdict":"a_in_b","edit_similarity":0.91,"jaccard":0.85}. Whole texts are compared, also if the
/// database ignores frames.
///
/// In a database with keys, lines of jsonl also have "keys", in the order of the documents, or
/// "a_key" and "b_key", and csv and parquet the columns a_key and b_key. A key takes some
/// microseconds to read.
///
/// The counts are printed on standard error, or with -o on standard output; --json prints them as
/// {"documents":...,"radius":3,"groups":...,"copies":...,"pairs":...,"seconds":...}, where copies
/// are the documents in groups, and radius is null with --similar. The exit code is 1 if there is
/// no pair and no group.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli pairs news.simdb > pairs.jsonl
  simdb-cli pairs news.simdb --radius 6 --format csv -o pairs.csv
  simdb-cli pairs news.simdb --similar > similar.jsonl
  simdb-cli pairs news.simdb --since 2d --within-scope en
  simdb-cli pairs news.simdb --expand --sorted | head")]
pub struct Pairs {
    #[command(flatten)]
    database: DatabaseOptions,

    #[command(flatten)]
    subset: SubsetOptions,

    /// The largest distance of a pair, in bits [default: 3]
    ///
    /// The time grows with the radius: for five million documents, radius 4 takes twice as long as
    /// 3, radius 7 seven times, radius 8 fifteen times.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,

    /// Find pairs of similar texts instead of near fingerprints
    ///
    /// The database needs texts. A pair has a verdict, see --decide, and two measures. Documents
    /// with equal texts are a group.
    #[arg(long, conflicts_with_all = ["radius", "expand"], help_heading = "Duplicates")]
    similar: bool,

    #[command(flatten)]
    likeness: LikenessOptions,

    #[command(flatten)]
    quotation: QuotationOptions,

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
        self.quotation.check(self.similar, &self.likeness)?;
        let database = self.database.open_to_read()?;
        let snapshot = self.subset.of(database.snapshot()?)?;
        let documents = snapshot.len()?;
        ensure!(
            self.similar || !self.likeness.is_given(),
            "--decide, --edit-similarity and --jaccard decide which texts are similar; they need --similar"
        );
        // Similar texts may differ in all bits.
        let radius = if self.similar {
            u64::BITS
        } else {
            self.radius.unwrap_or(STRICT_RADIUS)
        };
        let table = ResultTable {
            database: &database,
            key: "simdb.pairs",
            columns: &["a", "b", "distance"],
            key_columns: &[("a_key", 0), ("b_key", 1)],
            radius,
        };
        let mut counts = self
            .results
            .write(&table, output, |sink| self.find(snapshot, sink))?;
        counts.documents = documents;
        counts.radius = (!self.similar).then_some(radius);
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
        if self.similar {
            let outcome = snapshot.similar_pairs(&self.quotation.join(&self.likeness), |event| {
                let outcome = match event {
                    SimilarPairsEvent::Copies(documents) => writer.push_equal(documents),
                    SimilarPairsEvent::Pairs(pairs) => {
                        pairs.iter().try_for_each(|pair| writer.push_similar(pair))
                    }
                    _ => Ok(()),
                };
                writer.sink.go_on_after(outcome)
            });
            writer.sink.finish_search(outcome)?;
            return writer.finish();
        }
        let outcome = snapshot.pairs(self.radius.unwrap_or(STRICT_RADIUS), |event| {
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
