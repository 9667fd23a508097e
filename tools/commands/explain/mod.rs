//! `simdb-cli explain`: the reasons why two texts are, or are not, near-duplicates.

mod features;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use simdb::containment::{Alignment, Weights};
use simdb::similarity::Resemblance;
use simdb::{Database, Fingerprinter, Normaliser, Recipe, Snapshot};

use self::features::FeatureComparison;
use self::report::{Explanation, Side};
use super::open_to_read;
use super::text_input::two_texts;
use crate::console::Output;
use crate::formats::id_of_digits;
use crate::options::{LikenessOptions, RecipeOptions};

/// Explains why two texts are, or are not, near-duplicates
///
/// First prints the verdict (same, a_in_b, b_in_a, template, different), and both texts, one below the
/// other: words in brackets are missing in the other text, with their weights in nats. A text is
/// contained in the other text if its missing words weigh at most 3.
///
/// Then prints both fingerprints in four blocks, the blocks that are equal, and the radius from which on
/// a query finds one text by the other; the features that both texts share; for each bit that
/// differs, the sums of both texts, and the heaviest features that pull the bit to 1 and to 0; the
/// similarity of the wording; and two decisions: strict (fingerprints within radius 3) and similar
/// (by the wording and the verdict, see --decide). A sum is the weight of the features with a 1 in that bit, minus the weight of
/// the other features. If a sum is small compared with chance (the square root of the sum of
/// squared weights), a small edit may flip the bit.
///
/// With --database, A and B are ids of stored documents, explained by the recipe of the database;
/// if the database keeps no texts, only bits are compared. Similar search also needs the pair among
/// its candidates, which explain does not check.
///
/// The exit code is 0 if similar search would answer one text with the other (without texts: if they
/// lie within radius 3), 1 if not, 2 after an error. --json prints one object: recipe, a, b, distance, blocks,
/// features, bits, wording, containment (verdict, missing_in_b, missing_in_a), strict, similar,
/// near_duplicates; lists of features hold the 1,000 heaviest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli explain \"the cat sat on the mat today\" \"the cat sat on a mat today\"
  simdb-cli explain --files draft.txt printed.txt --recipe jieba
  simdb-cli explain --database news.simdb 17 18
  simdb-cli explain --database news.simdb 17 --text \"a text that should have been found\" --json")]
pub struct Explain {
    /// A text, or with --database the id of a document; put -- before a text that begins with -
    #[arg(value_name = "A")]
    one: String,

    /// A second text or id
    #[arg(value_name = "B", required_unless_present = "text")]
    other: Option<String>,

    /// A and B are files that hold the texts; - is standard input
    #[arg(long, conflicts_with = "database")]
    files: bool,

    /// A and B are ids of documents in this database
    #[arg(long, value_name = "DATABASE")]
    database: Option<PathBuf>,

    /// A text to compare with document A, instead of B
    #[arg(
        long,
        value_name = "TEXT",
        requires = "database",
        conflicts_with = "other"
    )]
    text: Option<String>,

    #[command(flatten)]
    recipe: RecipeOptions,

    #[command(flatten)]
    likeness: LikenessOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(path) = &self.database {
            let database = open_to_read(path, self.recipe.builder()?)?;
            let sides = self.stored(&database, &database.snapshot()?)?;
            return self.explain(database.fingerprinter(), sides, output);
        }
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        let fingerprinter = Fingerprinter::new(recipe);
        let other = self.other.as_deref().unwrap_or_default();
        let [one, other] = two_texts(&self.one, other, self.files)?;
        let sides = [
            Side::of_text(&fingerprinter, one)?,
            Side::of_text(&fingerprinter, other)?,
        ];
        self.explain(&fingerprinter, sides, output)
    }

    fn explain(
        &self,
        fingerprinter: &Fingerprinter,
        sides: [Side; 2],
        output: &mut Output,
    ) -> Result<()> {
        let (mut features, mut resemblance, mut alignment) = (None, None, None);
        if let [Some(one), Some(other)] = sides.each_ref().map(|side| side.text.as_deref()) {
            let normaliser = Normaliser::new();
            resemblance = Some(Resemblance::new(&normaliser, one, other));
            alignment = Some(Alignment::new(&normaliser, Weights::builtin(), one, other));
            if sides.iter().all(|side| side.is_made_of_text) {
                let both = [fingerprinter.features(one)?, fingerprinter.features(other)?];
                features = Some(FeatureComparison::new(both));
            }
        }
        let explanation = Explanation {
            recipe: fingerprinter.recipe().name(),
            sides,
            features,
            resemblance,
            alignment,
            likeness: self.likeness.likeness(),
            decision: self.likeness.decision(),
        };
        output.decide(explanation.near_duplicates());
        output.print(self.json, || explanation.json(), || explanation.text())
    }

    fn stored(&self, database: &Database, snapshot: &Snapshot) -> Result<[Side; 2]> {
        let fingerprinter = database.fingerprinter();
        let document = |given: &str| {
            let id = id_of_digits(given).map_err(|reason| anyhow!(reason));
            let id = id.context("with --database, documents are named by their ids")?;
            let Some(document) = snapshot.get(id)? else {
                let path = database.path().display();
                bail!("document {id} is not stored in {path}");
            };
            Side::of_document(fingerprinter, document)
        };
        let one = document(&self.one)?;
        let other = match &self.text {
            Some(text) => Side::of_text(fingerprinter, text.clone())?,
            None => document(self.other.as_deref().unwrap_or_default())?,
        };
        Ok([one, other])
    }
}
