//! Crawler: many threads store pages, each in a transaction, unless a near-duplicate is stored.
//!
//! ```sh
//! cargo run --release --example crawler -- tests/data/quotes_and_news.jsonl
//! ```

#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use simdb::{Database, Outcome};

const THREADS: usize = 8;

fn main() -> Result<()> {
    let input = std::env::args().nth(1).context("usage: crawler FILE")?;
    let pages: Vec<serde_json::Value> = std::fs::read_to_string(input)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;

    let folder = tempfile::tempdir()?;
    let db = Database::create(folder.path().join("crawl.simdb"))?;
    let (stored, duplicates) = (AtomicU64::new(0), AtomicU64::new(0));
    let insert_all = |pages: &[serde_json::Value]| -> Result<()> {
        for page in pages {
            let id = page["id"].as_u64().context("a page without an id")?;
            let text = page["text"].as_str().context("a page without a text")?;
            match db.insert_unique(db.document(id, text)?, 3)? {
                Outcome::Inserted { .. } => stored.fetch_add(1, Ordering::Relaxed),
                _ => duplicates.fetch_add(1, Ordering::Relaxed),
            };
        }
        Ok(())
    };
    // Concurrent commits share one sync.
    let insert_all = &insert_all;
    std::thread::scope(|scope| {
        let workers: Vec<_> = pages
            .chunks(pages.len().div_ceil(THREADS).max(1))
            .map(|pages| scope.spawn(move || insert_all(pages)))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;

    let (stored, duplicates) = (stored.into_inner(), duplicates.into_inner());
    println!("{stored} pages stored, {duplicates} near-duplicates refused");
    anyhow::ensure!(stored == db.len()? && stored + duplicates == pages.len() as u64);
    anyhow::ensure!(duplicates > 0, "the corpus has near-duplicates");
    db.close()?;
    Ok(())
}
