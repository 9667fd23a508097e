//! `simdb-cli hash`: the fingerprint of a text, and its features.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use simdb::{Feature, Fingerprinter, Recipe};

use super::SAYS_TOO_LITTLE;
use super::text_input::{read_file, read_stdin};
use crate::console::rows::cells;
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{Answer, Output, note};
use crate::options::RecipeOptions;

/// Shows the fingerprint of a text, and with --explain its features
///
/// --explain prints the columns weight, hash and token, heaviest first, after the fingerprint.
/// Weights are those of `explain`: by ngram 1 + ln tf or a share of it, by jieba and cppjieba
/// tf x idf, by the others how often a token occurs.
/// --json prints fingerprint, reliable and recipe, and with --explain the features.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli hash \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli hash --recipe jieba --explain < article.txt
  simdb-cli hash --recipe weighted --features song.jsonl")]
pub struct Hash {
    /// The text; put -- before one that begins with - [default: standard input, without the line
    /// feed at its end]
    text: Option<String>,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Instead of a text, read features: JSON Lines of [token, weight]; `-` is standard input
    ///
    /// Each token is hashed as the recipe does it, and its weight is taken as it is. Instead of a
    /// token there may be its hash, an integer from 0 to 2^64 - 1.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "explain"])]
    features: Option<PathBuf>,

    /// Show the features that make the fingerprint of 64 bits, with their weights
    #[arg(long)]
    explain: bool,

    /// The width of the fingerprint; a database stores 64 bits
    #[arg(long, value_name = "BITS", value_parser = ["64", "128"], default_value = "64")]
    bits: String,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// A fingerprint, and the features that make it.
struct Hashed {
    fingerprint: String,
    reliable: bool,
    recipe: &'static str,
    features: Option<Vec<Feature>>,
}

/// A feature in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum GivenFeature {
    Token(String, f64),
    Hash(u64, f64),
}

impl Hash {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        if self.explain && self.is_wide() {
            bail!("--explain shows the hashes of 64 bits; leave out --bits 128");
        }
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        if self.features.is_none() && !recipe.takes_texts() {
            bail!("the recipe {recipe} makes no fingerprints of texts; give --features FILE");
        }
        let fingerprinter = Fingerprinter::new(recipe);
        let hashed = match &self.features {
            Some(path) => self.hash_features(&fingerprinter, path)?,
            None => self.hash_text(&fingerprinter)?,
        };
        if !self.json && !hashed.reliable {
            note(format_args!(
                "{SAYS_TOO_LITTLE}: its fingerprint means nothing"
            ));
        }
        output.row(&hashed, self.json)?;
        Ok(Answer::Yes)
    }

    fn is_wide(&self) -> bool {
        self.bits == "128"
    }

    fn hash_text(&self, fingerprinter: &Fingerprinter) -> Result<Hashed> {
        let text = self.text.clone().map_or_else(read_stdin, Ok)?;
        let made = fingerprinter.fingerprint(&text)?;
        let features = self.explain.then(|| fingerprinter.features(&text));
        Ok(Hashed {
            fingerprint: if self.is_wide() {
                fingerprinter.fingerprint128(&text)?.to_string()
            } else {
                made.fingerprint.to_string()
            },
            reliable: made.reliable,
            recipe: fingerprinter.recipe().name(),
            features: features.transpose()?,
        })
    }

    fn hash_features(&self, fingerprinter: &Fingerprinter, path: &Path) -> Result<Hashed> {
        let (name, text) = if path == Path::new("-") {
            ("<stdin>".into(), read_stdin()?)
        } else {
            (path.to_string_lossy(), read_file(path)?)
        };
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
        if !hashes.is_empty() && self.is_wide() {
            bail!("{name} gives hashes of 64 bits; leave out --bits 128");
        }
        if !hashes.is_empty() && !tokens.is_empty() {
            bail!("{name} has tokens and hashes; give features of one kind");
        }
        let made = if hashes.is_empty() {
            fingerprinter.fingerprint_tokens(&tokens)?
        } else {
            fingerprinter.fingerprint_hashes(&hashes)?
        };
        Ok(Hashed {
            fingerprint: if self.is_wide() {
                fingerprinter.fingerprint128_tokens(&tokens)?.to_string()
            } else {
                made.fingerprint.to_string()
            },
            reliable: made.reliable,
            recipe: fingerprinter.recipe().name(),
            features: None,
        })
    }
}

impl Serialize for Hashed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = json!({
            "fingerprint": self.fingerprint,
            "reliable": self.reliable,
            "recipe": self.recipe,
        });
        if let Some(features) = &self.features {
            let features = features.iter().map(|feature| {
                let hash = format!("{:016x}", feature.hash);
                json!({ "token": feature.token, "weight": feature.weight, "hash": hash })
            });
            fields["features"] = features.collect();
        }
        fields.serialize(serializer)
    }
}

impl Display for Hashed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&[Right, Left, Left]);
        for feature in self.features.iter().flatten() {
            // Three decimals tell multiples of 1/1024 apart.
            let weight = format!("{:.3}", feature.weight);
            table.row(cells![
                weight,
                format!("{:016x}", feature.hash),
                feature.token
            ]);
        }
        let lines = table.lines().map(|line| format!("\n{line}"));
        write!(f, "{}{}", self.fingerprint, lines.collect::<String>())
    }
}
