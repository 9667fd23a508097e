//! Bulk load: all texts of a file, then one batch of queries on all cores.
//!
//! ```sh
//! cargo run --release --example batch -- tests/data/quotes_and_news.jsonl
//! ```

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;

use anyhow::{Context, Result};
use simdb::{Database, DocId, Document, Fingerprint, Fingerprinter, Recipe};

const MEMORY_BYTES: u64 = 256 << 20;

fn main() -> Result<()> {
    let input = std::env::args().nth(1).context("usage: batch FILE")?;
    let fingerprinter = Fingerprinter::new(Recipe::ngram());
    let mut documents = Vec::new();
    for line in std::fs::read_to_string(input)?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let id = DocId(line["id"].as_u64().context("a line without an id")?);
        let text =
            fingerprinter.fingerprint(line["text"].as_str().context("a line without a text")?)?;
        documents.push(Document::new(id, text));
    }

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("corpus.simdb");
    // The file appears under its name only when the load is complete and durable.
    let mut load = Database::builder().bulk_create(&path, MEMORY_BYTES)?;
    for document in &documents {
        load.push(document.clone())?;
    }
    let report = load.finish(|_event| ControlFlow::Continue(()))?;

    let db = Database::open_read_only(&path)?;
    let queries: Vec<Fingerprint> = documents
        .iter()
        .filter(|document| document.reliable)
        .map(|document| document.fingerprint)
        .collect();
    let answers = db.within_batch(&queries, 3)?;
    let with_others = answers.iter().filter(|matches| matches.len() > 1).count();
    println!(
        "{} documents loaded; {with_others} of {} queries found a near-duplicate",
        report.inserted,
        queries.len()
    );
    anyhow::ensure!(report.inserted == documents.len() as u64);
    // Every query finds at least the document itself.
    anyhow::ensure!(answers.iter().all(|matches| !matches.is_empty()) && with_others > 0);
    Ok(())
}
