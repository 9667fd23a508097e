//! News feed: documents expire after two days. A repeated article is stored again once the earlier
//! article has expired.
//!
//! ```sh
//! cargo run --release --example feed -- tests/data/quotes_and_news.jsonl
//! ```

#![allow(clippy::print_stdout)]

use std::time::Duration;

use anyhow::{Context, Result};
use simdb::{Database, Outcome, Retention};

const HOUR_MS: u64 = 60 * 60 * 1000;
/// At one article an hour, the window holds 48 articles and the latest.
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
            ..Retention::default()
        })
        .create(folder.path().join("feed.simdb"))?;

    let (mut stored, mut refused) = (0, 0);
    // The second round repeats all texts, after the first round has expired.
    for (hour, line) in (0_u64..).zip(texts.iter().chain(&texts)) {
        let text = line["text"].as_str().context("a line without a text")?;
        let document = db.document(hour, text)?.with_arrival(hour * HOUR_MS);
        match db.insert_unique(document, 3)? {
            Outcome::Inserted { .. } => stored += 1,
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
    // More articles than one round are stored, so the second round met no expired article.
    anyhow::ensure!(stored > texts.len());
    Ok(())
}
