//! The radius that suits a collection, measured on labelled pairs: precision, recall and F1 of
//! three ways to find near-duplicates.
//!
//! ```sh
//! cargo run --release -p simdb-calibrate -- judged.jsonl --svg curves.svg
//! ```

#![allow(clippy::print_stdout)]

mod corpus;
mod measure;
mod picture;
mod score;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use simdb::{Decision, Recipe};

use self::corpus::LabelledCorpus;
use self::measure::find_pairs;
use self::picture::picture;
use self::score::scores;

/// Measures which radius suits your texts, by pairs that you have labelled
///
/// PAIRS is JSON Lines: {"a": text, "b": text, "label": 1}; or, with --docs, {"a": 1, "b": 2,
/// "label": 0}, where a and b are ids in the file of --docs. The label is 1 for near-duplicates, 0
/// for other pairs.
///
/// Loads all documents into a temporary database and queries one document of each pair. For all
/// pairs, and for each class of length (the characters of the shorter text), prints precision,
/// recall and F1 of three ways to find near-duplicates: by fingerprints alone within each radius
/// from 0 to 16; by fingerprints whose texts also pass the wording check (checked); and by similar
/// search. Then the radius with the best F1, and the largest radius with enough precision. A share
/// of 0 pairs is `-`.
///
/// The result is about the listed pairs only: other pairs that would be found are not counted, and
/// their number grows with the square of the collection. With --closed, the documents are the whole
/// collection: a pair that is found and not listed is a false positive, unless the pair is in
/// --grey or both documents have the same value in the field "fam".
#[derive(Debug, Parser)]
#[command(name = "calibrate")]
struct Options {
    /// Labelled pairs, JSON Lines; .gz is decompressed
    pairs: PathBuf,

    /// The documents that the pairs name by their ids, JSON Lines {"id": 1, "text": text}
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,

    /// Count every pair of documents that is found and not listed as a false positive
    #[arg(long, requires = "docs")]
    closed: bool,

    /// Pairs {"a": 1, "b": 2} to ignore: they are neither near-duplicates nor false positives
    #[arg(long, value_name = "FILE", requires = "closed")]
    grey: Option<PathBuf>,

    /// The precision that counts as enough
    #[arg(long, value_name = "0..1", default_value = "0.99")]
    precision: f64,

    /// Draw the curves of each class into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// The recipe of the fingerprints
    #[arg(long, value_name = "NAME", default_value = "ngram")]
    recipe: String,

    /// Let the thresholds of likeness decide alone, as `simdb-cli query --decide alike` does
    #[arg(long)]
    alike: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let recipe = Recipe::by_name(&options.recipe)?;
    ensure!(
        recipe.takes_texts(),
        "the recipe {recipe} makes no fingerprints of texts; name another recipe"
    );
    let mut corpus = LabelledCorpus::read(&options)?;
    let decision = match options.alike {
        true => Decision::Alike,
        false => Decision::Contained,
    };
    find_pairs(&mut corpus, &recipe, decision)?;
    let (classes, unlisted) = scores(&corpus);
    for class in &classes {
        class.print(options.precision);
    }
    if options.closed {
        let [counted, ignored] = [unlisted.counted, unlisted.ignored];
        println!(
            "\nof the pairs that are found and not listed, {counted} are false positives, {ignored} \
             are ignored"
        );
    } else {
        println!(
            "\nonly the listed pairs are counted; give --docs and --closed to count false positives \
             among all other pairs"
        );
    }
    if let Some(path) = &options.svg {
        let svg = picture(&classes)?;
        std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
