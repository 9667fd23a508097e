//! `simdb-cli pairs`: all pairs of near-duplicates in a database.

mod lines;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use simdb::{PairsEvent, Snapshot};

use self::lines::{Found, Lines};
use super::found::{FoundOptions, Of, Sink};
use super::open_to_read;
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
/// What was found is counted on standard error, or, with -o, on standard output; --json makes
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
    found: FoundOptions,
}

#[derive(Serialize)]
struct CountLine {
    documents: u64,
    radius: u32,
    groups: u64,
    copies: u64,
    pairs: u64,
    seconds: f64,
}

impl Pairs {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let of = Of {
            recipe: &database.settings().recipe,
            radius: self.radius,
        };
        let found = self.found.write(&self.database, output, |sink| {
            self.find(&snapshot, of, sink)
        })?;
        let said = format!(
            "{}, {} of {} copies",
            counted(found.pairs, "pair"),
            counted(found.groups, "group"),
            grouped(found.copies)
        );
        let counts = CountLine {
            documents: snapshot.len(),
            radius: self.radius,
            groups: found.groups,
            copies: found.copies,
            pairs: found.pairs,
            seconds: started.elapsed().as_secs_f64(),
        };
        self.found.say(output, said, &counts)?;
        Ok(match found.pairs + found.groups {
            0 => Answer::No,
            _ => Answer::Yes,
        })
    }

    /// Writes all there is, and says how much that was.
    fn find(&self, snapshot: &Snapshot, of: Of<'_>, sink: &mut Sink<'_>) -> Result<Found> {
        let mut search = self.found.search("pairing");
        let mut lines = Lines::new((self.found.format, of), self.expand, self.sorted, sink)?;
        snapshot.pairs(self.radius, |event| {
            let outcome = match event {
                PairsEvent::Copies {
                    fingerprint,
                    documents,
                } => lines.copies(fingerprint, documents),
                PairsEvent::Pairs(pairs) => pairs.iter().try_for_each(|pair| lines.pair(pair)),
                PairsEvent::Progress(done) => {
                    search.progress(done);
                    Ok(())
                }
                _ => Ok(()),
            };
            search.goes_on(outcome, lines.sink())
        })?;
        search.finish()?;
        lines.finish()
    }
}
