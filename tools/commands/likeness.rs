//! From where on two texts count as near-duplicates by their wording, as a command line says it.

use clap::Args;
use simdb::Likeness;

/// From where on texts count as near-duplicates by their wording.
#[derive(Debug, Args)]
pub struct LikenessOptions {
    /// The least edit similarity of two texts that are near-duplicates [default: 0.65]
    #[arg(long, value_name = "0..1", value_parser = share, help_heading = "Wording")]
    pub edit_similarity: Option<f64>,

    /// The least Jaccard index of their phrases of three tokens; either is enough [default: 0.55]
    #[arg(long, value_name = "0..1", value_parser = share, help_heading = "Wording")]
    pub jaccard: Option<f64>,
}

impl LikenessOptions {
    /// What is asked for, and the usual for the rest.
    pub fn likeness(&self) -> Likeness {
        let usual = Likeness::default();
        Likeness {
            edit_similarity: self.edit_similarity.unwrap_or(usual.edit_similarity),
            jaccard: self.jaccard.unwrap_or(usual.jaccard),
        }
    }
}

/// Reads a share, from 0 to 1. For clap.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text:?} is not a number from 0 to 1")),
    }
}
