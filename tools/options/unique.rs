//! The options about duplicates: documents with a near fingerprint, or with a similar text.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use simdb::{Change, Document, Likeness, Settings};

use super::FieldNames;
use crate::console::note;

/// The value of `--unique`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unique {
    /// No other fingerprint may lie within this radius.
    Within(u32),
    /// No other text may be similar.
    Similar,
}

/// The definition of duplicates.
#[derive(Debug, Args)]
pub struct UniqueOptions {
    /// Leave out a document if one is there that is nearly the same: whose fingerprint differs in
    /// at most this many bits, or, with `similar`, whose text is like its own
    ///
    /// Of near-duplicates the first that comes is kept. `similar` finds edited and short texts that
    /// lie many bits apart, and compares texts, so the database must keep them; a new one is made
    /// with --similar then. One that keeps texts but was made without --similar finds fewer. A
    /// text that says too little (a number, a single word) is like none but its equals.
    #[arg(
        long,
        value_name = "RADIUS|similar",
        value_parser = parse_unique,
        help_heading = "Duplicates"
    )]
    unique: Option<Unique>,

    #[command(flatten)]
    likeness: LikenessOptions,
}

/// The thresholds of similar texts.
#[derive(Debug, Args)]
pub struct LikenessOptions {
    /// Texts are alike from this edit similarity on, from 0 to 1 [default: 0.65]
    ///
    /// Of their letters and digits: 0.65 says that about two thirds of the longer text are in the
    /// other, in the same order. Either this or --jaccard is enough.
    #[arg(long, value_name = "X", value_parser = parse_share, help_heading = "Duplicates")]
    edit_similarity: Option<f64>,

    /// Texts are alike from this Jaccard index on, from 0 to 1 [default: 0.55]
    ///
    /// Of their sets of three words (or CJK characters) in a row: it forgives parts that were
    /// moved.
    #[arg(long, value_name = "Y", value_parser = parse_share, help_heading = "Duplicates")]
    jaccard: Option<f64>,
}

/// The rule by which a document is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DuplicateRule {
    /// A stored fingerprint lies within this radius.
    Within(u32),
    /// A stored text is similar.
    Similar(Likeness),
}

impl UniqueOptions {
    /// The rule, or `None` if no document is left out.
    pub fn rule(&self) -> Result<Option<DuplicateRule>> {
        if self.likeness.is_given() && self.unique != Some(Unique::Similar) {
            bail!(
                "--edit-similarity and --jaccard say when texts are alike: they need --unique similar"
            );
        }
        Ok(self.unique.map(|unique| match unique {
            Unique::Within(radius) => DuplicateRule::Within(radius),
            Unique::Similar => DuplicateRule::Similar(self.likeness.likeness()),
        }))
    }
}

impl LikenessOptions {
    /// The thresholds that are given, and the default ones.
    pub fn likeness(&self) -> Likeness {
        let usual = Likeness::default();
        Likeness {
            edit_similarity: self.edit_similarity.unwrap_or(usual.edit_similarity),
            jaccard: self.jaccard.unwrap_or(usual.jaccard),
        }
    }

    /// Returns `true` if a threshold is given.
    pub fn is_given(&self) -> bool {
        self.edit_similarity.is_some() || self.jaccard.is_some()
    }
}

impl DuplicateRule {
    /// Returns `true` if texts are compared.
    pub fn needs_texts(&self) -> bool {
        matches!(self, Self::Similar(_))
    }

    /// The change that stores a document unless the rule forbids it.
    pub fn change(&self, document: Document) -> Change {
        match *self {
            Self::Within(radius) => Change::InsertUnique { document, radius },
            Self::Similar(likeness) => Change::InsertUnlessSimilar { document, likeness },
        }
    }

    /// The settings of a new database that the rule can be applied to.
    pub fn settings(&self, settings: Settings) -> Settings {
        Settings {
            keep_texts: settings.keep_texts || self.needs_texts(),
            similar: settings.similar || self.needs_texts(),
            ..settings
        }
    }

    /// Refuses to read no texts if texts are compared.
    pub fn refuse_textless(&self, fields: &FieldNames) -> Result<()> {
        if self.needs_texts() && fields.fingerprint.is_some() && fields.text.is_none() {
            bail!("--unique similar compares texts; name their field with --text");
        }
        Ok(())
    }

    /// The reason to refuse a document, if it has no text and texts are compared.
    pub fn check_text(&self, document: &Document) -> Result<(), String> {
        if self.needs_texts() && document.text.is_none() {
            return Err("it has no text, which --unique similar compares".to_owned());
        }
        Ok(())
    }

    /// Refuses a database without texts if texts are compared, and warns of one without bands.
    pub fn refuse_unkept(&self, path: &Path, settings: &Settings) -> Result<()> {
        if !self.needs_texts() {
            return Ok(());
        }
        if !settings.keep_texts {
            bail!(
                "--unique similar compares texts, and {} keeps none, which cannot be changed; load \
                 into a new database",
                path.display()
            );
        }
        if !settings.similar {
            note_without_bands(path);
        }
        Ok(())
    }
}

/// Warns that a database without bands finds fewer similar texts.
pub fn note_without_bands(path: &Path) {
    note(format_args!(
        "{} was created without --similar: only texts whose fingerprints lie near are compared, so \
         many edited and short ones are not found",
        path.display()
    ));
}

fn parse_unique(text: &str) -> Result<Unique, String> {
    match text.parse() {
        Ok(radius @ 0..=64) => Ok(Unique::Within(radius)),
        _ if text == "similar" => Ok(Unique::Similar),
        _ => Err("a radius from 0 to 64, or `similar`, is expected".to_owned()),
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1 is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radius_or_similar_is_read_and_nothing_else() {
        assert_eq!(parse_unique("0"), Ok(Unique::Within(0)));
        assert_eq!(parse_unique("64"), Ok(Unique::Within(64)));
        assert_eq!(parse_unique("similar"), Ok(Unique::Similar));
        for bad in ["65", "-1", "", "Similar", "3.0"] {
            assert!(parse_unique(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_share("1"), Ok(1.0));
        for bad in ["1.01", "-0.1", "NaN", "inf", "half"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }
}
