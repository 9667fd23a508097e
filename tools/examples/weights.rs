//! Makes the built-in weights of `simdb::containment`.
//!
//! `cargo run --release -p simdb-tools --example weights -- OUT MIN_TEXTS FILE.jsonl.gz...` counts
//! the words of the field "text". Of edited copies (`kind`) only the originals count. The table in
//! `src/analysis/words/weights.bin` was made with `MIN_TEXTS` 4 from `summaries_256k`,
//! `descriptions_61k`, `edits_en.docs` and `edits_zh.docs`.

#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io::{BufRead, BufReader};

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use simdb::Normaliser;
use simdb::containment::Weights;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().context("name the output")?;
    let min_texts = arguments
        .next()
        .context("name the least number of texts")?
        .parse()?;
    let mut texts = Vec::new();
    for path in arguments {
        let file = File::open(&path).with_context(|| format!("cannot open {path}"))?;
        for line in BufReader::new(MultiGzDecoder::new(file)).lines() {
            let line: Value = serde_json::from_str(&line?)?;
            if line.get("kind").is_none_or(|kind| kind == "base") {
                let text = line["text"].as_str().context("a line without a text")?;
                texts.push(without_header(text).to_owned());
            }
        }
    }
    let weights = Weights::from_texts(&Normaliser::new(), &texts, min_texts);
    std::fs::write(&out, weights.to_bytes())?;
    println!("{} words of {} texts", weights.len(), texts.len());
    Ok(())
}

/// The text without the hash and the name of the field that package descriptions begin with.
fn without_header(text: &str) -> &str {
    match text.find("Description-") {
        Some(at) if at < 40 => text[at..].split_once(": ").map_or(text, |(_, rest)| rest),
        _ => text,
    }
}
