//! `simdb-cli calibrate`: the radius that suits texts, measured on labelled pairs.

mod corpus;
mod measure;
mod picture;
mod score;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use simdb::Recipe;

use self::corpus::LabelledCorpus;
use self::measure::find_pairs;
use self::picture::picture;
use self::score::{Unlisted, scores};
use crate::console::file::OutputFile;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, OutputPaths, Overwrite, is_stdout};
use crate::console::{Output, counted};
use crate::options::{LikenessOptions, OnError, RecipeOptions};

/// Measures which radius suits your texts, by pairs that you have labelled
///
/// PAIRS is JSON Lines: {"a": text, "b": text, "label": 1}; or, with --docs, {"a": 1, "b": 2,
/// "label": 0}, where a and b are ids in the file of --docs, which is JSON Lines {"id": 1, "text":
/// text}. The label is 1 or true for near-duplicates, 0 or false for other pairs.
///
/// Loads all documents into a temporary database and queries one document of each pair. For all
/// pairs, and for each class of length (the characters of the shorter text: 0-10, 10-30, 30-100,
/// 100-500, 500+), prints precision, recall and F1 of three ways to find near-duplicates: by
/// fingerprints alone within each radius from 0 to 16; by fingerprints whose texts also pass the
/// wording check (checked); and by similar search, with a forest. Then the radius with the best F1,
/// the largest radius with enough precision, and whether the wording check improves the best F1 by
/// at least 0.005. A share of 0 pairs is `-`.
///
/// The result is about the listed pairs only: other pairs that would be found are not counted, and
/// their number grows with the square of the collection. With --closed, the documents are the whole
/// collection: a pair that is found and not listed is a false positive, unless it is in --grey or
/// both documents have the same value in the field "fam".
///
/// --json prints one object: recipe, documents, pairs, closed, unlisted, reservation, classes; each
/// class with class, pairs, near_duplicates, documents, unreliable, fingerprints and checked (for
/// each radius from 0 to 16: tp, fp, fn, tn, precision, recall, f1), similar, recommended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli calibrate judged.jsonl
  simdb-cli calibrate judged.jsonl.gz --docs news.jsonl.gz --closed --svg curves.svg
  simdb-cli calibrate judged.jsonl --recipe jieba --json")]
pub struct Calibrate {
    /// Labelled pairs, JSON Lines; .gz and .zst are decompressed, - is standard input
    pairs: PathBuf,

    /// The documents that the pairs name by their ids, JSON Lines
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,

    /// Count every pair of documents that is found and not listed as a false positive
    #[arg(long, requires = "docs")]
    closed: bool,

    /// Pairs {"a": 1, "b": 2} to ignore: they are neither near-duplicates nor false positives
    #[arg(long, value_name = "FILE", requires = "closed")]
    grey: Option<PathBuf>,

    /// Take the class of a pair from this field of pairs and documents, instead of the length
    #[arg(long, value_name = "FIELD")]
    class: Option<String>,

    /// The precision that counts as enough
    #[arg(long, value_name = "0..1", value_parser = share, default_value = "0.99")]
    precision: f64,

    /// Draw the curves of each class into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// Stop at a line that is no pair or no document, or leave it out
    #[arg(long, value_enum, default_value = "abort")]
    on_error: OnError,

    #[command(flatten)]
    recipe: RecipeOptions,

    #[command(flatten)]
    likeness: LikenessOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Calibrate {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        if !recipe.takes_texts() {
            bail!("the recipe {recipe} makes no fingerprints of texts; name another recipe");
        }
        let svg = self.svg_output()?;
        let mut corpus = LabelledCorpus::read(self)?;
        // From here on Ctrl-C must remove a temporary folder.
        let interrupt = Interrupt::listen()?;
        let pairs = corpus.pairs.len();
        let rule = (self.likeness.likeness(), self.likeness.decision());
        find_pairs(&mut corpus, &recipe, rule, &interrupt)?;
        let (classes, unlisted) = scores(&corpus, self.precision);
        if let Some(svg) = svg {
            let mut file = OutputFile::create(svg)?;
            file.write_all(picture(&classes)?.as_bytes())?;
            file.publish()?;
        }
        let reservation = reservation(self.closed, unlisted);
        let json = || {
            json!({
                "recipe": recipe.name(),
                "documents": corpus.documents.len(),
                "pairs": pairs,
                "closed": self.closed,
                "unlisted": self.closed.then_some(unlisted),
                "reservation": reservation,
                "classes": classes,
            })
        };
        let text = || {
            let classes = classes.iter().map(|class| class.text() + "\n\n");
            classes.collect::<String>() + &reservation
        };
        output.print(self.json, json, text)
    }

    /// The path of the picture, checked before any input is read.
    fn svg_output(&self) -> Result<Option<OutputPath>> {
        let Some(svg) = &self.svg else {
            return Ok(None);
        };
        if is_stdout(svg) {
            bail!("standard output is for the report; name a file for the picture");
        }
        let mut paths = OutputPaths::new(self.overwrite);
        for input in [Some(&self.pairs), self.docs.as_ref(), self.grey.as_ref()] {
            input
                .into_iter()
                .for_each(|input| paths.reserve(input, "an input"));
        }
        paths.file("--svg", svg).map(Some)
    }
}

/// The limits of the measurement, in words.
fn reservation(is_closed: bool, unlisted: Unlisted) -> String {
    if is_closed {
        format!(
            "of the pairs that are found and not listed, {} counted as false alarms, {} ignored",
            counted(unlisted.counted as u64, "pair"),
            counted(unlisted.ignored as u64, "pair")
        )
    } else {
        "only the listed pairs are counted: false alarms among all other pairs, which grow with the \
         square of the collection, are not; give --docs and --closed to count them"
            .to_owned()
    }
}

/// Reads a share, from 0 to 1. For clap.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text:?} is not a number from 0 to 1")),
    }
}
