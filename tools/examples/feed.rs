//! News feed: articles are known by their guid, and expire after two days. A repeated article is
//! refused and counted, and stored again once the article that it repeats has expired. The feed
//! goes on after a restart.
//!
//! ```sh
//! cargo run --release --example feed -- tests/data/quotes_and_news.jsonl
//! ```

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use simdb::{Database, Outcome, Retention};

const HOUR_MS: u64 = 60 * 60 * 1000;
/// At one article an hour, the window holds 48 articles and the latest.
const WINDOW_HOURS: u64 = 48;

fn main() -> Result<()> {
    let input = std::env::args().nth(1).context("usage: feed FILE")?;
    let lines = std::fs::read_to_string(input)?;
    let texts: Vec<Value> = (lines.lines())
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("feed.simdb");

    let mut stored = 0;
    // The second round repeats all texts, after a restart and the expiry of the first round.
    for round in 0..2 {
        let db = open(&path)?;
        for (hour, line) in (round * texts.len() as u64..).zip(&texts) {
            stored += u64::from(store(&db, hour, line)?);
        }
    }

    let snapshot = open(&path)?.snapshot()?;
    let live: Vec<_> = snapshot.documents().collect::<Result<_, _>>()?;
    println!("{stored} articles stored, {} live", live.len());
    let first = texts.len() as u64 * 2 - 1 - WINDOW_HOURS;
    for article in &live {
        let hour = article.key.as_deref().unwrap_or_default();
        ensure!(hour.replace("urn:article:", "").parse::<u64>()? >= first);
    }
    // More articles than one round are stored, so the second round met no expired article.
    ensure!(!live.is_empty() && stored > texts.len() as u64);
    Ok(())
}

fn open(path: &Path) -> Result<Database> {
    let retention = Retention {
        window: Some(Duration::from_millis(WINDOW_HOURS * HOUR_MS)),
        ..Retention::default()
    };
    let builder = Database::builder().keys(true).fields(true).copies(16);
    Ok(builder.retention(retention).open_or_create(path)?)
}

/// Stores an article unless it repeats another one.
fn store(db: &Database, hour: u64, line: &Value) -> Result<bool> {
    let text = line["text"].as_str().context("a line without a text")?;
    let fields = json!({"lang": line["lang"], "source": line["source"]});
    let article = db.document(format!("urn:article:{hour}"), text)?;
    let article = article.with_fields(fields.to_string());
    let outcome = db.insert_unique(article.with_arrival(hour * HOUR_MS), 3)?;
    if let Outcome::Duplicate(of) = &outcome
        && let Some(repeated) = db.get(of.id)?
    {
        let (key, fields) = (repeated.key, repeated.fields);
        let [key, fields] = [key, fields].map(Option::unwrap_or_default);
        let copies = repeated.copies.map_or(0, |copies| copies.count);
        println!("article {hour} repeats {key} {fields}, copy {copies}");
    }
    Ok(outcome.is_inserted())
}
