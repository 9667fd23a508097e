//! `simdb-cli explain`: why two texts are, or are not, near-duplicates.

mod features;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use simdb::{Database, Document, Fingerprinter, Normaliser, Recipe, Resemblance, Snapshot};

use self::features::FeatureComparison;
use self::report::{Explanation, Side, name_of};
use super::open_to_read;
use super::text_input::two_texts;
use crate::console::{Answer, Output};
use crate::formats::id_of_digits;
use crate::options::{LikenessOptions, RecipeOptions};

/// Says why two texts are near-duplicates, or why not
///
/// Prints both fingerprints in their four blocks, which blocks agree, and so at which radius a
/// query finds one by the other; what the features have in common; for each bit that differs the
/// sums of both texts, and the heaviest features that pulled it to 1 and to 0; what the wording has
/// in common; and the decision, strict (fingerprints within radius 3) and similar (by the wording).
/// A sum is the weight of the features with a 1 in that bit, less that of the others; where it is
/// small beside what chance gives (the square root of the sum of squared weights), a slight edit
/// may turn it.
///
/// With --database A and B are ids of stored documents, explained by the recipe of the database;
/// where it keeps no texts there are only bits to compare. Whether a database meets a pair among
/// its candidates at all, which similar search needs as well, is not said here: see calibrate.
///
/// The exit code is 0 if they are near-duplicates by their wording (without texts: within radius
/// 3), 1 if not, 2 if that could not be said. --json prints one object: recipe, a, b, distance,
/// blocks, features, bits, wording, strict, similar, near_duplicates; lists of features hold the
/// 1,000 heaviest.
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

    /// Another
    #[arg(value_name = "B", required_unless_present = "text")]
    other: Option<String>,

    /// A and B are files that hold the texts; - is standard input
    #[arg(long, conflicts_with = "database")]
    files: bool,

    /// A and B are ids of documents in this database
    #[arg(long, value_name = "DATABASE")]
    database: Option<PathBuf>,

    /// Instead of B, a text to compare the document with
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
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        match &self.database {
            Some(path) => {
                let database = open_to_read(path, &self.recipe)?;
                let sides = self.stored(&database, &database.snapshot()?)?;
                self.explain(database.fingerprinter(), sides, output)
            }
            None => {
                let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
                let fingerprinter = Fingerprinter::new(recipe);
                let other = self.other.as_deref().unwrap_or_default();
                let [one, other] = two_texts(&self.one, other, self.files)?;
                let one = side_of_text(&fingerprinter, one)?;
                let other = side_of_text(&fingerprinter, other)?;
                self.explain(&fingerprinter, [one, other], output)
            }
        }
    }

    fn explain(
        &self,
        fingerprinter: &Fingerprinter,
        sides: [Side; 2],
        output: &mut Output,
    ) -> Result<Answer> {
        let (mut features, mut resemblance) = (None, None);
        if let [Some(one), Some(other)] = sides.each_ref().map(|side| side.text.as_deref()) {
            resemblance = Some(Resemblance::new(&Normaliser::new(), one, other));
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
            likeness: self.likeness.likeness(),
        };
        let answer = Answer::from(explanation.near_duplicates());
        output.decided(answer);
        output.row(&explanation, self.json)?;
        Ok(answer)
    }

    fn stored(&self, database: &Database, snapshot: &Snapshot) -> Result<[Side; 2]> {
        let fingerprinter = database.fingerprinter();
        let document = |given: &str| {
            let id = id_of_digits(given).map_err(|reason| anyhow!(reason));
            let id = id.context("with --database, documents are named by their ids")?;
            match snapshot.get(id)? {
                Some(document) => side_of_document(fingerprinter, document),
                None => bail!(
                    "document {id} is not stored in {}",
                    database.path().display()
                ),
            }
        };
        let one = document(&self.one)?;
        let other = match &self.text {
            Some(text) => side_of_text(fingerprinter, text.clone())?,
            None => document(self.other.as_deref().unwrap_or_default())?,
        };
        Ok([one, other])
    }
}

fn side_of_text(fingerprinter: &Fingerprinter, text: String) -> Result<Side> {
    let made = fingerprinter.fingerprint(&text)?;
    let doubt = fingerprinter.unreliable_reason(&text)?;
    Ok(Side {
        id: None,
        fingerprint: made.fingerprint,
        reliable: made.reliable,
        doubt: doubt.map(name_of),
        because: doubt.map(|doubt| doubt.to_string()),
        is_made_of_text: true,
        text: Some(text),
    })
}

fn side_of_document(fingerprinter: &Fingerprinter, document: Document) -> Result<Side> {
    let Document {
        id,
        fingerprint,
        reliable,
        ..
    } = document;
    if let Some(text) = &document.text
        && fingerprinter.recipe().takes_texts()
    {
        let side = side_of_text(fingerprinter, text.clone())?;
        if (side.fingerprint, side.reliable) == (fingerprint, reliable) {
            return Ok(Side {
                id: Some(id.0),
                ..side
            });
        }
    }
    Ok(Side {
        id: Some(id.0),
        text: document.text,
        fingerprint,
        reliable,
        doubt: None,
        because: None,
        is_made_of_text: false,
    })
}
