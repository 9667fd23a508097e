//! [`QuotationOptions`]: the option for texts that longer texts contain.

use anyhow::{Result, bail};
use clap::Args;
use simdb::Decision;
use simdb::join::SimilarJoin;

use super::LikenessOptions;

/// The option for texts that longer texts contain.
#[derive(Clone, Debug, Args)]
pub struct QuotationOptions {
    /// Also compare a text with texts up to N times as long in words: abridged, quoted and wrapped
    /// copies [default: 1]
    ///
    /// A short version of a text, a post that another quotes in full, a text with a header and a
    /// footer: two thirds of the phrases of three words of the shorter text, or of three CJK
    /// characters, are in the longer one, and --decide contained decides. A text of fewer than
    /// eight words, or of fewer than four with content, is not compared.
    #[arg(long, value_name = "N", value_parser = parse_ratio, help_heading = "Duplicates")]
    contained_up_to: Option<f64>,
}

impl QuotationOptions {
    /// Refuses the option without a comparison of texts by what they say.
    pub fn check(&self, compares_texts: bool, likeness: &LikenessOptions) -> Result<()> {
        if self.contained_up_to.is_none() {
            return Ok(());
        }
        if !compares_texts {
            bail!(
                "--contained-up-to compares all texts; leave out --radius, --shape and --verify, and in pairs and \
                 clusters add --similar"
            );
        }
        if likeness.decision() == Decision::Alike {
            bail!(
                "--contained-up-to needs --decide contained or news: a quoted text is not alike to the longer text"
            );
        }
        Ok(())
    }

    /// The rules by which all texts are compared.
    pub fn join(&self, likeness: &LikenessOptions) -> SimilarJoin<'static> {
        let mut join = likeness.join();
        join.contained_up_to = self.contained_up_to.unwrap_or(join.contained_up_to);
        join
    }
}

/// The clap parser of `--contained-up-to`.
fn parse_ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (1.0..=f64::MAX).contains(&ratio) => Ok(ratio),
        _ => Err("a number from 1 on is expected".to_owned()),
    }
}
