//! `simdb-cli pairs`: all pairs of near-duplicates in a database.

mod writer;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use simdb::{PairsEvent, Snapshot};

use self::writer::{PairCounts, PairWriter};
use super::open_to_read;
use super::results::{ResultOptions, ResultSink, SearchSettings};
use crate::console::{Answer, Output, counted, grouped};
use crate::options::RecipeOptions;

/// Finds all pairs of documents whose fingerprints differ in at most so many bits
///
/// Every pair is found, and each is written once. Documents that have the same fingerprint are
/// copies of each other, and written as one group, since n copies are n² / 2 pairs. A pair has two
/// different fingerprints, and names the document with the smallest id of each: where that one is
/// the first of a group, the pair holds for every document of the group. --expand writes every pair
/// of documents instead.
///
/// jsonl: {"fingerprint":"...","documents":[1,7,...]} for each group, its documents in order, then
/// {"a":1,"b":2,"distance":3} for each pair, a being the smaller id.
/// csv: the columns a, b and distance; a group is its first document with each of the others, at
/// distance 0.
/// parquet: the same as columns a and b, INT64 with the bits of the ids, and distance, INT32.
///
/// The counts are printed on standard error, or, with -o, on standard output; --json makes
/// that a line {"documents":...,"radius":3,"groups":...,"copies":...,"pairs":...,"seconds":...},
/// copies being the documents in groups. The exit code is 1 if there is no pair and no group.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli pairs news.simdb > pairs.jsonl
  simdb-cli pairs news.simdb --radius 6 --format csv -o pairs.csv
  simdb-cli pairs news.simdb --expand --sorted | head")]
pub struct Pairs {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// The most bits in which the fingerprints of a pair differ
    ///
    /// The larger it is, the longer it takes: of five million documents at 4 twice as long as at 3, at
    /// 7 seven times, at 8 fifteen times.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: u32,

    /// Write every pair of documents, copies too, and no groups
    #[arg(long)]
    expand: bool,

    /// Write them in order of a, then b, groups in order of their first documents
    ///
    /// All of them are held in memory until the end: 24 bytes for a pair, 8 for a copy.
    #[arg(long)]
    sorted: bool,

    #[command(flatten)]
    results: ResultOptions,
}

impl Pairs {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let settings = SearchSettings {
            recipe: &database.settings().recipe,
            radius: self.radius,
        };
        let documents = snapshot.len()?;
        let mut counts = self.results.write(&self.database, output, |sink| {
            self.find(snapshot, settings, sink)
        })?;
        let text = format!(
            "{}, {} of {} copies",
            counted(counts.pairs, "pair"),
            counted(counts.groups, "group"),
            grouped(counts.copies)
        );
        counts.documents = documents;
        counts.radius = self.radius;
        counts.seconds = started.elapsed().as_secs_f64();
        self.results.print_counts(output, text, &counts)?;
        Ok(match counts.pairs + counts.groups {
            0 => Answer::No,
            _ => Answer::Yes,
        })
    }

    /// Writes all pairs, and counts them.
    fn find(
        &self,
        snapshot: Snapshot,
        settings: SearchSettings<'_>,
        sink: &mut ResultSink<'_>,
    ) -> Result<PairCounts> {
        let mut search = self.results.search(sink);
        let snapshot = snapshot.on_progress(search.handler());
        let mut writer = PairWriter::new(self, settings, sink)?;
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
            search.go_on_after(outcome, writer.sink())
        });
        search.finish(outcome)?;
        writer.finish()
    }
}
