//! `simdb-cli doctor`: findings about slow queries and their causes.

pub mod findings;
mod histogram;
mod query_load;
pub mod report;

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use self::report::Examination;
use super::{DatabaseOptions, open_to_read};
use crate::console::{Output, counted, note};

/// Reports what makes queries slow or documents expire early, why, and how to fix it
///
/// For each block: a histogram of the distinct fingerprints of its 65,536 keys, beside the
/// histogram of random fingerprints (Poisson); and the hottest keys, with samples. The share of
/// ones in each bit; documents that share a fingerprint; the candidates of a query at radius 3, now
/// and with 2 and 10 times as many documents. At the end the findings:
///
/// clock-ahead: the latest arrival is a minute or more ahead of the system clock.
///
/// dead-bits: bits with the same value in all of 64 or more different fingerprints.
///
/// biased-bits: of 64 or more, bits with a share of ones farther than 0.3 and six standard
/// deviations from one half.
///
/// slow-queries: at least 20,000 candidates, and 8 times the expected number.
///
/// hot-keys: keys with at least 4,096 fingerprints, and 16 times the average.
///
/// copies: at least 1,000 documents, and 1% of all, with one fingerprint.
///
/// unreliable: at least 100 documents, and 10% of all, without a meaningful fingerprint.
///
/// The exit code is 1 if there is a finding, 0 otherwise. --json prints one object, with `ok` and
/// `findings`. `simdb-cli check` finds damage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli doctor news.simdb
  simdb-cli doctor news.simdb --json")]
pub struct Doctor {
    #[command(flatten)]
    database: DatabaseOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// 32 MiB of page cache: the diagnosis reads each page once, so more would be of no use.
const CACHE_BYTES: usize = 32 << 20;

impl Doctor {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(remote) = self.database.remote()? {
            let report = remote.report_json("doctor")?;
            let ok =
                serde_json::from_str::<Value>(&report).is_ok_and(|report| report["ok"] == true);
            output.decide(ok);
            return match self.json {
                true => output.line(report),
                false => output.line(remote.report_text("doctor")?),
            };
        }
        let builder = self.database.recipe.builder()?.cache_bytes(CACHE_BYTES);
        let database = open_to_read(&self.database.path, builder)?;
        let examination = Examination::new(&database.snapshot()?)?;
        let changes = examination.diagnosis.unmerged_changes;
        if changes > 0 {
            note(format_args!(
                "a journal that a crash left holds {}, not looked at; `simdb-cli check` brings them \
                 into the tables, then ask again",
                counted(changes, "change")
            ));
        }
        output.decide(examination.findings.is_empty());
        output.print(self.json, || examination.json(), || examination.text())
    }
}
