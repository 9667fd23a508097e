//! `simdb-cli calibrate`: the radius that suits texts, by labelled pairs of them.

mod corpus;
mod measure;
mod picture;
mod score;

use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::Recipe;

use self::corpus::CorpusReader;
use self::measure::find_pairs;
use self::picture::picture;
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
/// true for near-duplicates, 0 or false for others.
///
/// Loads all documents into a database of their own, in the folder for temporary files, and asks it
/// for one document of each pair. For each class of length (the characters of the shorter text of a
/// pair: 0-10, 10-30, 30-100, 100-500, 500+) and for all pairs it prints precision, recall and F1 of fingerprints alone within
/// each radius from 0 to 16, of those whose wording is enough besides (checked), and of similar
/// search, by bands; then the radius with the best F1, the largest that is precise enough, and
/// whether the wording check pays: whether it makes the best F1 better by 0.005. A share of nothing
/// is -.
///
/// Labelled pairs say something about the listed pairs only: other pairs that would be found, false
/// alarms that grow with the square of the collection, are not counted. With --closed it is: then the
/// documents are taken for the whole database, and every pair of them that is found and not listed
/// is a false alarm, unless it is in --grey or both have the same value in the field "fam".
///
/// --json prints one object: recipe, documents, pairs, closed, unlisted, reservation, classes; each
/// with class, pairs, near_duplicates, documents, unreliable, fingerprints and checked (for
/// each radius from 0 to 16: tp, fp, fn, tn, precision, recall, f1), similar, recommended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli calibrate judged.jsonl
  simdb-cli calibrate judged.jsonl.gz --docs news.jsonl.gz --closed --svg curves.svg
  simdb-cli calibrate judged.jsonl --recipe jieba --json")]
pub struct Calibrate {
    /// Labelled pairs, JSON Lines; .gz and .zst are read through, - is standard input
    pairs: PathBuf,

    /// The documents that the pairs name by their ids, JSON Lines
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,

    /// Count every pair of the documents that is found and not listed as a false alarm
    #[arg(long, requires = "docs")]
    closed: bool,

    /// Pairs {"a": 1, "b": 2} that are neither near-duplicates nor others
    #[arg(long, value_name = "FILE", requires = "closed")]
    grey: Option<PathBuf>,

    /// Take the class from this field of the pairs and documents, not from the length
    #[arg(long, value_name = "FIELD")]
    class: Option<String>,

    /// The precision from which on a radius counts as precise
    #[arg(long, value_name = "0..1", value_parser = share, default_value = "0.99")]
    precision: f64,

    /// Draw the curves of each class into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// The reaction to a line that is no pair or no document
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

/// The scores of all classes.
#[derive(Serialize)]
struct Calibration {
    recipe: &'static str,
    documents: usize,
    pairs: usize,
    closed: bool,
    /// `None` unless closed.
    unlisted: Option<Unlisted>,
    /// The limits of the numbers, in words.
    reservation: String,
    classes: Vec<ClassScore>,
}

impl Calibrate {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        if !recipe.takes_texts() {
            bail!("the recipe {recipe} makes no fingerprints of texts; name another");
        }
        let svg = self.svg_output()?;
        let reader = CorpusReader {
            class: self.class.as_deref(),
            on_error: self.on_error,
        };
        let mut corpus = match &self.docs {
            Some(documents) => {
                let grey = self.grey.as_deref();
                reader.pairs_of_documents(&self.pairs, documents, self.closed, grey)?
            }
            None => reader.pairs_of_texts(&self.pairs)?,
        };
        // From here on there is a temporary folder.
        let interrupt = Interrupt::listen()?;
        let pairs = corpus.pairs.len();
        find_pairs(&mut corpus, &recipe, self.likeness.likeness(), &interrupt)?;
        let (classes, unlisted) = scores(&corpus, self.precision);
        if let Some(svg) = svg {
            let mut file = NewFile::create(svg)?;
            file.write_all(picture(&classes)?.as_bytes())?;
            file.publish()?;
        }
        let calibration = Calibration {
            recipe: recipe.name(),
            documents: corpus.documents.len(),
            pairs,
            closed: self.closed,
            unlisted: self.closed.then_some(unlisted),
            reservation: reservation(self.closed, unlisted),
            classes,
        };
        output.row(&calibration, self.json)?;
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
        paths.reserve(&self.pairs, "an input");
        for input in [&self.docs, &self.grey].into_iter().flatten() {
            paths.reserve(input, "an input");
        }
        paths.file("--svg", svg).map(Some)
    }
}

impl Display for Calibration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for class in &self.classes {
            write!(f, "{class}\n\n")?;
        }
        f.write_str(&self.reservation)
    }
}

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
