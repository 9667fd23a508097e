//! `simdb-cli doctor`: whether the fingerprints lie so that queries are quick, and if not, why.

mod findings;
mod report;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use self::report::Examination;
use super::open_to_read_by;
use crate::console::{Answer, Output, counted, note};
use crate::options::RecipeOptions;

/// Says whether the fingerprints lie so that queries are quick, and if not, why and what to do
///
/// For each block: how many of its 65,536 keys so many distinct fingerprints have, beside what is
/// to be expected if fingerprints were random (Poisson); the hottest keys, with samples. The share
/// of ones in each bit; documents that share a fingerprint; what a query at radius 3 meets, now,
/// and with 2 and 10 times as many documents like these. In the end what needs attention:
///
/// dead-bits, the same in all fingerprints; biased-bits, with a share of ones farther than 0.3 and
/// six standard deviations from one half; slow-queries, 20,000 candidates and 8 times what is to
/// be expected; hot-keys, 4,096 fingerprints and 16 times the average; copies, 1,000 documents and
/// 1% of all with one fingerprint; unreliable, 100 documents and 10% of all without one that means
/// anything.
///
/// The exit code is 1 if there is any of these, 0 if there is none. Whether the file is damaged,
/// check says. --json prints one object, with `ok` and `findings`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli doctor news.simdb
  simdb-cli doctor news.simdb --json")]
pub struct Doctor {
    /// The database
    database: PathBuf,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    recipe: RecipeOptions,
}

/// 32 MiB for the page cache: each page is read once.
const CACHE_BYTES: usize = 32 << 20;

impl Doctor {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let builder = self.recipe.builder()?.cache_bytes(CACHE_BYTES);
        let database = open_to_read_by(&self.database, &builder)?;
        let examination = Examination::new(&database.snapshot()?)?;
        let changes = examination.diagnosis.unmerged_changes;
        if changes > 0 {
            note(format_args!(
                "a journal that a crash left holds {}, not looked at; `simdb-cli check` brings them \
                 into the tables, then ask again",
                counted(changes, "change")
            ));
        }
        let answer = Answer::from(examination.findings.is_empty());
        output.decided(answer);
        output.row(&examination, self.json)?;
        Ok(answer)
    }
}
