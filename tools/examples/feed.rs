//! A news feed: documents older than two days expire by themselves, and a repeated article is stored
//! again once the earlier one has expired.
//!
//! ```sh
//! cargo run --release -p simdb-tools --example feed -- tests/data/quotes_and_news.jsonl
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use anyhow::{Context, Result};
use simdb::{Change, Database, DocId, Document, Outcome, Retention, Timestamp};

const HOUR_MS: u64 = 60 * 60 * 1000;
/// One article arrives every hour, so the window holds 48 and the one that just arrived.
const WINDOW_HOURS: u64 = 48;

fn main() -> Result<()> {
    let input = std::env::args().nth(1).context("usage: feed FILE")?;
    let texts: Vec<serde_json::Value> = std::fs::read_to_string(input)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;

    let folder = tempfile::tempdir()?;
    let db = Database::builder()
        .retention(Retention {
            window: Some(Duration::from_millis(WINDOW_HOURS * HOUR_MS)),
            sliding: false,
            by_clock: false,
        })
        .create(folder.path().join("feed.simdb"))?;

    let (mut stored, mut refused) = (0, 0);
    // The feed repeats itself after all texts; by then the first round has expired.
    for (hour, line) in (0_u64..).zip(texts.iter().chain(&texts)) {
        let text = line["text"].as_str().context("a line without a text")?;
        let document = Document {
            arrival: Some(Timestamp(hour * HOUR_MS)),
            ..db.document(DocId(hour), text)?
        };
        let change = Change::InsertUnique {
            document,
            radius: 3,
        };
        match db.apply([change])?[..] {
            [Outcome::Inserted] => stored += 1,
            _ => refused += 1,
        }
    }

    let snapshot = db.snapshot()?;
    let live = snapshot
        .documents()
        .map(|document| document.map(|document| document.id.0))
        .collect::<Result<Vec<_>, _>>()?;
    let first = texts.len() as u64 * 2 - 1 - WINDOW_HOURS;
    println!(
        "{stored} stored, {refused} near-duplicates refused, {} live",
        live.len()
    );
    anyhow::ensure!(!live.is_empty() && live.iter().all(|id| *id >= first));
    // Far more than one round was stored: the second round met none of the first.
    anyhow::ensure!(stored > texts.len());
    Ok(())
}
