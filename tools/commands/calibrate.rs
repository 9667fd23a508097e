//! `simdb-cli calibrate`: which radius suits texts like these, by pairs of them that are labelled.

mod corpus;
mod measure;
mod picture;
mod plant;
mod report;
mod score;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::Recipe;

use self::corpus::{Corpus, Reading};
use self::measure::measure;
use self::picture::picture;
use self::plant::plant;
use self::report::print;
use self::score::{ClassScore, Unlisted, scores};
use crate::console::file::NewFile;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, OutputPaths, Overwrite, is_stdout};
use crate::console::{Answer, Output, counted};
use crate::options::{LikenessOptions, OnError, RecipeOptions};

/// Says which radius suits your texts, by pairs of them that you have labelled
///
/// PAIRS is JSON Lines: {"a": text, "b": text, "label": 1}, or with --docs the ids of documents:
/// {"a": 1, "b": 2, "label": 0}, where --docs is JSON Lines {"id": 1, "text": text}. A label is 1 or
/// true for near-duplicates, 0 or false for others. Without labels, --planted makes pairs out of
/// documents.
///
/// Loads all documents into databases of their own, in the folder for temporary files, and asks these
/// for one document of each pair. For each class of length (the characters of the shorter text of a pair: 0-10, 10-30, 30-100,
/// 100-500, 500+) and for all pairs it prints precision, recall and F1 of fingerprints alone within
/// each radius from 0 to 16, of those whose wording is enough besides (checked), and of similar
/// search, by bands; then the radius with the best F1, the largest that is precise enough, and
/// whether the wording check pays: whether it makes the best F1 better by 0.005. A share of nothing
/// is -.
///
/// Labelled pairs say something about the listed pairs only: what else would be found, false alarms
/// that grow with the square of the collection, is not counted. With --closed it is: then the
/// documents are taken for the whole database, and every pair of them that is found and not listed
/// is a false alarm, unless it is in --grey or both have the same value in the field "fam".
///
/// --json prints one object: recipe, documents, pairs, closed, planted, left_out, unlisted,
/// reservation, classes; each with class, pairs, near_duplicates, documents, unreliable, fingerprints and checked (for
/// each radius from 0 to 16: tp, fp, fn, tn, precision, recall, f1), similar, recommended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli calibrate judged.jsonl
  simdb-cli calibrate judged.jsonl.gz --docs news.jsonl.gz --closed --svg curves.svg
  simdb-cli calibrate --planted news.jsonl --sample 2000 --recipe jieba --json")]
pub struct Calibrate {
    /// Labelled pairs, JSON Lines; .gz and .zst are read through, - is standard input
    #[arg(required_unless_present = "planted")]
    pairs: Option<PathBuf>,

    /// The documents that the pairs name by their ids, JSON Lines
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,

    /// Instead of labelled pairs, documents without labels, JSON Lines, to make pairs of
    ///
    /// Near-duplicates are edited copies (typos, replaced words, swapped sentences, the end cut off,
    /// another beginning, at three strengths), others are a random document and the one with the
    /// nearest fingerprint, left out where the wording resembles. So the wording check cannot be
    /// wrong about those others: of it, only the recall says something.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pairs", "docs"])]
    planted: Option<PathBuf>,

    /// How many documents pairs are planted for [default: 1000]
    #[arg(long, value_name = "N", requires = "planted")]
    sample: Option<usize>,

    /// Decides what is planted where [default: 1]
    #[arg(long, value_name = "N", requires = "planted")]
    seed: Option<u64>,

    /// Count every pair of the documents that is found and not listed as a false alarm
    #[arg(long, requires = "docs")]
    closed: bool,

    /// Pairs {"a": 1, "b": 2} that are neither near-duplicates nor others
    #[arg(long, value_name = "FILE", requires = "closed")]
    grey: Option<PathBuf>,

    /// Take the class from this field of the pairs and documents, not from the length
    #[arg(long, value_name = "FIELD")]
    class: Option<String>,

    /// How precise a radius must be to be called so
    #[arg(long, value_name = "0..1", value_parser = share, default_value = "0.99")]
    precision: f64,

    /// Draw the curves of each class into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// What to do about a line that is no pair or no document
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

/// For how many documents pairs are planted.
const USUAL_SAMPLE: usize = 1000;

const USUAL_SEED: u64 = 1;

#[derive(Serialize)]
struct CalibrateLine<'c> {
    recipe: &'static str,
    documents: usize,
    pairs: usize,
    closed: bool,
    planted: bool,
    /// Pairs of different texts that were not planted because their wording resembles.
    left_out: Option<u64>,
    /// `None` unless closed.
    unlisted: Option<Unlisted>,
    /// What the numbers do not say.
    reservation: String,
    classes: &'c [ClassScore],
}

impl Calibrate {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        if !recipe.takes_texts() {
            bail!("the recipe {recipe} makes no fingerprints of texts; name another");
        }
        let svg = self.svg_output()?;
        let (corpus, left_out) = self.corpus(&recipe)?;
        // From here on there is a temporary folder.
        let interrupt = Interrupt::listen()?;
        let measured = measure(&corpus, &recipe, self.likeness.likeness(), &interrupt)?;
        let (scores, unlisted) = scores(&corpus, &measured, self.precision);
        if let Some(svg) = svg {
            let mut file = NewFile::create(svg)?;
            file.write_all(picture(&scores)?.as_bytes())?;
            file.publish()?;
        }
        let unlisted = corpus.closed.is_some().then_some(unlisted);
        let reservation = self.reservation(left_out, unlisted);
        if self.json {
            output.json(&CalibrateLine {
                recipe: recipe.name(),
                documents: corpus.documents.len(),
                pairs: corpus.pairs.len(),
                closed: self.closed,
                planted: self.planted.is_some(),
                left_out,
                unlisted,
                reservation,
                classes: &scores,
            })?;
        } else {
            for score in &scores {
                print(score, self.precision, output)?;
            }
            output.line(reservation)?;
        }
        Ok(Answer::Yes)
    }

    /// The path of the picture, which is checked before anything is read.
    fn svg_output(&self) -> Result<Option<OutputPath>> {
        let Some(svg) = &self.svg else {
            return Ok(None);
        };
        if is_stdout(svg) {
            bail!("the report goes to standard output; name a file for the picture");
        }
        let mut paths = OutputPaths::new(self.overwrite);
        let inputs = [&self.pairs, &self.docs, &self.planted, &self.grey];
        for input in inputs.into_iter().flatten() {
            paths.reserve(input, "an input");
        }
        paths.file("--svg", svg).map(Some)
    }

    /// The pairs, and how many were left out if they were planted.
    fn corpus(&self, recipe: &Recipe) -> Result<(Corpus, Option<u64>)> {
        let reading = Reading {
            class: self.class.as_deref(),
            on_error: self.on_error,
        };
        if let Some(path) = &self.planted {
            let documents = reading.documents(path, &mut HashMap::new())?;
            let sample = self.sample.unwrap_or(USUAL_SAMPLE);
            let seed = self.seed.unwrap_or(USUAL_SEED);
            let planted = plant(documents, sample, seed, recipe)?;
            return Ok((planted.corpus, Some(planted.left_out)));
        }
        let pairs = self.pairs.as_deref().context("PAIRS is missing")?;
        let corpus = match &self.docs {
            Some(docs) => {
                reading.pairs_of_documents(pairs, docs, self.grey.as_deref(), self.closed)?
            }
            None => reading.pairs_of_texts(pairs)?,
        };
        Ok((corpus, None))
    }

    /// What the numbers do not say.
    fn reservation(&self, left_out: Option<u64>, unlisted: Option<Unlisted>) -> String {
        match (left_out, unlisted) {
            (Some(left_out), _) => format!(
                "pairs were planted; {} of different documents left out, whose wording resembles, so \
                 the precision of the wording check says nothing here",
                counted(left_out, "pair")
            ),
            (_, Some(unlisted)) => format!(
                "of the pairs that are found and not listed, {} counted as false alarms, {} ignored",
                counted(unlisted.counted, "pair"),
                counted(unlisted.ignored, "pair")
            ),
            _ => "only the listed pairs are counted: false alarms among all other pairs, which grow \
                  with the square of the collection, are not; give --docs and --closed to count them"
                .to_owned(),
        }
    }
}

/// Reads a share, from 0 to 1. For clap.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text:?} is not a number from 0 to 1")),
    }
}
