//! `simdb-cli hash`: the fingerprint of a text, and how it comes about.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use simdb::{Feature, Fingerprinter, Recipe};

use super::SAYS_TOO_LITTLE;
use super::text_input::{read_file, read_stdin};
use crate::console::table::{Align, Table};
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

    /// How wide the fingerprint is; a database stores 64 bits
    #[arg(long, value_name = "BITS", value_parser = ["64", "128"], default_value = "64")]
    bits: String,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct HashLine {
    fingerprint: String,
    reliable: bool,
    recipe: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<FeatureLine>>,
}

#[derive(Serialize)]
struct FeatureLine {
    token: String,
    weight: f64,
    hash: String,
}

impl Hash {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        if self.explain && self.bits == "128" {
            bail!("--explain shows the hashes of 64 bits; leave out --bits 128");
        }
        let recipe = self.recipe.recipe()?.unwrap_or_else(Recipe::ngram);
        if self.features.is_none() && !recipe.takes_texts() {
            bail!("the recipe {recipe} makes no fingerprints of texts; give --features FILE");
        }
        let line = match &self.features {
            Some(path) => self.of_features(&Fingerprinter::new(recipe), path)?,
            None => self.of_text(&Fingerprinter::new(recipe))?,
        };
        if self.json {
            output.json(&line)?;
        } else {
            print(&line, output)?;
        }
        Ok(Answer::Yes)
    }

    fn of_text(&self, fingerprinter: &Fingerprinter) -> Result<HashLine> {
        let from_stdin;
        let text = match &self.text {
            Some(text) => text,
            None => {
                from_stdin = read_stdin()?;
                &from_stdin
            }
        };
        let made = fingerprinter.fingerprint(text)?;
        let features = match self.explain {
            true => Some(fingerprinter.features(text)?),
            false => None,
        };
        let recipe = fingerprinter.recipe().name();
        Ok(HashLine {
            fingerprint: match self.bits.as_str() {
                "128" => fingerprinter.fingerprint128(text)?.to_string(),
                _ => made.fingerprint.to_string(),
            },
            reliable: made.reliable,
            recipe,
            features: features.map(|features| features.into_iter().map(feature_line).collect()),
        })
    }

    fn of_features(&self, fingerprinter: &Fingerprinter, path: &Path) -> Result<HashLine> {
        let stdin = path == Path::new("-");
        let text = if stdin {
            read_stdin()?
        } else {
            read_file(path)?
        };
        let name = if stdin {
            "<stdin>".into()
        } else {
            path.to_string_lossy()
        };
        let (mut tokens, mut hashes) = (Vec::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            match feature_of(line).with_context(|| format!("cannot read {name}:{}", index + 1))? {
                (Token::Text(token), weight) => tokens.push((token, weight)),
                (Token::Hash(hash), weight) => hashes.push((hash, weight)),
            }
        }
        let wide = self.bits == "128";
        let fingerprint128 = match hashes.is_empty() {
            true if wide => Some(fingerprinter.fingerprint128_tokens(&tokens)?),
            false if wide => bail!("{name} gives hashes of 64 bits; leave out --bits 128"),
            _ => None,
        };
        if !hashes.is_empty() && !tokens.is_empty() {
            bail!("{name} has tokens and hashes; give features of one kind");
        }
        let made = match hashes.is_empty() {
            true => fingerprinter.fingerprint_tokens(&tokens)?,
            false => fingerprinter.fingerprint_hashes(&hashes)?,
        };
        Ok(HashLine {
            fingerprint: match fingerprint128 {
                Some(fingerprint) => fingerprint.to_string(),
                None => made.fingerprint.to_string(),
            },
            reliable: made.reliable,
            recipe: fingerprinter.recipe().name(),
            features: None,
        })
    }
}

/// What stands for a feature in a file.
enum Token {
    Text(String),
    Hash(u64),
}

/// A feature and its weight: `["token", 1.5]`, or `[17, 1.5]` with its hash.
fn feature_of(line: &str) -> Result<(Token, f64)> {
    let wrong = || anyhow!("it is not [token, weight], such as [\"oboe\", 1.5]");
    let Ok(Value::Array(parts)) = serde_json::from_str(line) else {
        return Err(wrong());
    };
    match &parts[..] {
        [token, weight] => {
            let weight = weight.as_f64().ok_or_else(wrong)?;
            match (token.as_str(), token.as_u64()) {
                (Some(token), _) => Ok((Token::Text(token.to_owned()), weight)),
                (_, Some(hash)) => Ok((Token::Hash(hash), weight)),
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

fn feature_line(feature: Feature) -> FeatureLine {
    FeatureLine {
        token: feature.token,
        weight: feature.weight,
        hash: format!("{:016x}", feature.hash),
    }
}

fn print(line: &HashLine, output: &mut Output) -> Result<()> {
    if !line.reliable {
        note(format_args!(
            "{SAYS_TOO_LITTLE}: its fingerprint means nothing"
        ));
    }
    output.line(&line.fingerprint)?;
    if let Some(features) = &line.features {
        let mut table = Table::new(&[Align::Right, Align::Left, Align::Left]);
        for feature in features {
            // All that differs between multiples of 1/1024.
            let weight = format!("{:.3}", feature.weight);
            table.row([&weight, &feature.hash, &feature.token]);
        }
        for row in table.lines() {
            output.line(row)?;
        }
    }
    Ok(())
}
