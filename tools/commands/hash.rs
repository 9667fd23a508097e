//! `simdb-cli hash`: the fingerprint of a text, and its features.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use simdb::{Feature, Fingerprinter, Recipe, TextFingerprint};

use super::TOO_LITTLE_CONTENT;
use super::text_input::{read_file, read_stdin};
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{Output, note};
use crate::options::RecipeOptions;

/// Prints the fingerprint of a text, and with --explain its features
///
/// --explain prints the columns weight, hash and token after the fingerprint, the heaviest first. A
/// weight is 1 + ln tf or a share of that for ngram, tf x idf for jieba and cppjieba, and the
/// number of occurrences for the other recipes. --json prints fingerprint, reliable and recipe, and
/// with --explain the features.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli hash \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli hash --recipe jieba --explain < article.txt
  simdb-cli hash --recipe weighted --features song.jsonl")]
pub struct Hash {
    /// The text; put -- before a text that begins with - [default: standard input, without the line
    /// feed at its end]
    text: Option<String>,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Read features instead of a text: JSON Lines of [token, weight]; `-` is standard input
    ///
    /// The recipe hashes each token and does not change its weight. A hash, an integer from 0 to
    /// 2^64 - 1, may replace the token.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "explain"])]
    features: Option<PathBuf>,

    /// Print the features of the fingerprint of 64 bits, with their weights
    #[arg(long)]
    explain: bool,

    /// The width of the fingerprint; databases store 64 bits
    #[arg(long, value_name = "BITS", value_parser = ["64", "128"], default_value = "64")]
    bits: String,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum GivenFeature {
    Token(String, f64),
    Hash(u64, f64),
}

/// A fingerprint of 64 bits, and its text form: of 64 or 128 bits.
type Hashed = (TextFingerprint, String);

impl Hash {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if self.explain && self.is_wide() {
            bail!("--explain shows the hashes of 64 bits; leave out --bits 128");
        }
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        if self.features.is_none() && !recipe.takes_texts() {
            bail!("the recipe {recipe} makes no fingerprints of texts; give --features FILE");
        }
        let fingerprinter = Fingerprinter::new(recipe);
        let mut features = None;
        let (made, digits) = match &self.features {
            Some(path) => self.hash_features(&fingerprinter, path)?,
            None => {
                let text = self.text.clone().map_or_else(read_stdin, Ok)?;
                let hashed = self.hash_text(&fingerprinter, &text)?;
                features = self
                    .explain
                    .then(|| fingerprinter.features(&text))
                    .transpose()?;
                hashed
            }
        };
        if !self.json && !made.reliable {
            note(format_args!(
                "{TOO_LITTLE_CONTENT}: its fingerprint means nothing"
            ));
        }
        let json = || {
            let recipe = fingerprinter.recipe().name();
            let reliable = made.reliable;
            let mut line = json!({"fingerprint": digits, "reliable": reliable, "recipe": recipe});
            if let Some(features) = &features {
                line["features"] = features.iter().map(feature_json).collect();
            }
            line
        };
        output.print(self.json, json, || match &features {
            Some(features) if !features.is_empty() => format!("{digits}\n{}", table(features)),
            _ => digits.clone(),
        })
    }

    fn is_wide(&self) -> bool {
        self.bits == "128"
    }

    fn hash_text(&self, fingerprinter: &Fingerprinter, text: &str) -> Result<Hashed> {
        let made = fingerprinter.fingerprint(text)?;
        let digits = if self.is_wide() {
            fingerprinter.fingerprint128(text)?.to_string()
        } else {
            made.fingerprint.to_string()
        };
        Ok((made, digits))
    }

    fn hash_features(&self, fingerprinter: &Fingerprinter, path: &Path) -> Result<Hashed> {
        let (name, text) = if path == Path::new("-") {
            ("<stdin>".into(), read_stdin()?)
        } else {
            (path.to_string_lossy(), read_file(path)?)
        };
        // Tokens are hashed by the recipe, hashes are not, so a list has one kind.
        let (mut tokens, mut hashes) = (Vec::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str(line) {
                Ok(GivenFeature::Token(token, weight)) => tokens.push((token, weight)),
                Ok(GivenFeature::Hash(hash, weight)) => hashes.push((hash, weight)),
                Err(_) => bail!(
                    "cannot read {name}:{}: it is not [token, weight], such as [\"oboe\", 1.5]",
                    index + 1
                ),
            }
        }
        if hashes.is_empty() {
            let made = fingerprinter.fingerprint_tokens(&tokens)?;
            let digits = if self.is_wide() {
                fingerprinter.fingerprint128_tokens(&tokens)?.to_string()
            } else {
                made.fingerprint.to_string()
            };
            return Ok((made, digits));
        }
        ensure!(
            !self.is_wide(),
            "{name} has hashes of 64 bits; leave out --bits 128"
        );
        ensure!(
            tokens.is_empty(),
            "{name} has tokens and hashes; give features of one kind"
        );
        let made = fingerprinter.fingerprint_hashes(&hashes)?;
        Ok((made, made.fingerprint.to_string()))
    }
}

fn feature_json(feature: &Feature) -> Value {
    let hash = format!("{:016x}", feature.hash);
    json!({"token": feature.token, "weight": feature.weight, "hash": hash})
}

fn table(features: &[Feature]) -> Table {
    let mut table = Table::new(&[Right, Left, Left]);
    for Feature {
        token,
        weight,
        hash,
        ..
    } in features
    {
        // Three decimals distinguish multiples of 1/1024.
        table.row([
            format!("{weight:.3}"),
            format!("{hash:016x}"),
            token.clone(),
        ]);
    }
    table
}
