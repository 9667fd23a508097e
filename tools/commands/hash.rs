//! `simdb-cli hash`: the fingerprint of a text, and how it comes about.

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Feature, Fingerprinter, Recipe};

use super::SAYS_TOO_LITTLE;
use super::text_input::read_stdin;
use crate::console::table::{Align, Table};
use crate::console::{Answer, Output, note};

/// Shows the fingerprint of a text, and with --explain its features
///
/// --explain prints the columns weight, hash and token, heaviest first, after the fingerprint.
/// The weights are integers of a fixed scale: only their relation counts. --json prints
/// fingerprint, reliable and recipe, and with --explain the features.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli hash \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli hash --recipe jieba --explain < article.txt")]
pub struct Hash {
    /// The text; put -- before one that begins with - [default: standard input, without the line
    /// feed at its end]
    text: Option<String>,

    /// The way from text to fingerprint: ngram or jieba [default: ngram]
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

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
    weight: i64,
    hash: String,
}

impl Hash {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        if self.explain && self.bits == "128" {
            bail!("--explain shows the hashes of 64 bits; leave out --bits 128");
        }
        let recipe = match &self.recipe {
            Some(name) => Recipe::by_name(name)?,
            None => Recipe::ngram(),
        };
        let from_stdin;
        let text = match &self.text {
            Some(text) => text,
            None => {
                from_stdin = read_stdin()?;
                &from_stdin
            }
        };
        let fingerprinter = Fingerprinter::new(recipe);
        let made = fingerprinter.fingerprint(text);
        let line = HashLine {
            fingerprint: match self.bits.as_str() {
                "128" => fingerprinter.fingerprint128(text).to_string(),
                _ => made.fingerprint.to_string(),
            },
            reliable: made.reliable,
            recipe: fingerprinter.recipe().name(),
            features: self.explain.then(|| {
                fingerprinter
                    .features(text)
                    .into_iter()
                    .map(feature_line)
                    .collect()
            }),
        };
        if self.json {
            output.json(&line)?;
        } else {
            print(&line, output)?;
        }
        Ok(Answer::Yes)
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
            table.row([&feature.weight.to_string(), &feature.hash, &feature.token]);
        }
        for row in table.lines() {
            output.line(row)?;
        }
    }
    Ok(())
}
