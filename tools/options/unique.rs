//! The options that define duplicates: by fingerprints within a radius, or by similar texts.

use std::path::Path;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use simdb::join::SimilarJoin;
use simdb::similarity::Likeness;
use simdb::{Change, Decision, Document, OnExtended, Settings, SimilarRule};

use super::FieldNames;
use crate::console::note;

/// The value of `--unique`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unique {
    Within(u32),
    Similar,
}

/// The options of `--unique`.
#[derive(Debug, Args)]
pub struct UniqueOptions {
    /// Drop a document if a stored document has a fingerprint that differs in at most this many
    /// bits, or, with `similar`, a similar text
    ///
    /// The first of several near-duplicates is kept. `similar` also finds edited and short texts,
    /// whose fingerprints differ in many bits, and drops a document only if a stored text covers
    /// its text: see --decide. It needs a database that keeps texts, and finds fewer in one that
    /// was created without --similar; a new database gets both options. With --retention each text
    /// is compared with the database, and not with an index in memory, which is faster. A text that
    /// is too short (a number, a single word) is similar to equal texts only.
    #[arg(
        long,
        value_name = "RADIUS|similar",
        value_parser = parse_unique,
        help_heading = "Duplicates"
    )]
    unique: Option<Unique>,

    /// With --unique similar, the treatment of stored documents that a new document covers
    /// [default: keep-both]
    #[arg(
        long,
        value_enum,
        value_name = "TREATMENT",
        help_heading = "Duplicates"
    )]
    on_extended: Option<ExtendedRule>,

    #[command(flatten)]
    likeness: LikenessOptions,
}

/// The treatment of stored documents that a new document covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExtendedRule {
    /// Both stay.
    KeepBoth,
    /// The change that stores the new document removes the others.
    Replace,
}

/// The decision about texts that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DecisionRule {
    /// The words that would be lost: names, numbers and negations keep texts apart.
    Contained,
    /// The words that the body of a report would lose.
    News,
    /// The thresholds alone.
    Alike,
}

/// The thresholds of similar texts.
#[derive(Clone, Debug, Args)]
pub struct LikenessOptions {
    /// The decision about texts that are alike [default: contained]
    ///
    /// contained: a document is a near-duplicate only if the text that is kept has all words of its
    /// text, in their order. news: the same of the bodies of reports. A copy may have another
    /// headline over an equal body of more than 32 words of content, other lines around it (16
    /// words, or an eighth of the body), sentences of at most twelve words without a number or a
    /// name, and in a long body one edited word in 200. The fact in such a line is lost. alike: the
    /// thresholds of --edit-similarity and --jaccard decide alone, so texts of one template that
    /// differ in a name are near-duplicates.
    #[arg(long, value_enum, value_name = "RULE", help_heading = "Duplicates")]
    decide: Option<DecisionRule>,

    /// Texts are alike from this edit similarity on, from 0 to 1 [default: 0.65; 0.5 in dedup,
    /// clusters and pairs where what is contained decides]
    ///
    /// At 0.65, about two thirds of the letters and digits of the longer text are in the other
    /// text, in the same order. Texts that reach --edit-similarity or --jaccard are alike.
    #[arg(long, value_name = "X", value_parser = parse_share, help_heading = "Duplicates")]
    edit_similarity: Option<f64>,

    /// Texts are alike from this Jaccard index on, from 0 to 1 [default: 0.55; 0.4 in dedup,
    /// clusters and pairs where what is contained decides]
    ///
    /// The index of the sets of three words (or CJK characters) in a row. Moved parts hardly change
    /// it.
    #[arg(long, value_name = "Y", value_parser = parse_share, help_heading = "Duplicates")]
    jaccard: Option<f64>,
}

/// The rule by which a document is a duplicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DuplicateRule {
    /// A stored fingerprint is within this radius.
    Within(u32),
    /// A stored text is similar.
    Similar(SimilarRule),
}

impl UniqueOptions {
    /// The rule; `None` if no document is dropped.
    pub fn rule(&self) -> Result<Option<DuplicateRule>> {
        let is_given = self.likeness.is_given() || self.on_extended.is_some();
        if is_given && self.unique != Some(Unique::Similar) {
            bail!(
                "--decide, --edit-similarity, --jaccard and --on-extended decide which texts are \
                 similar; they need --unique similar"
            );
        }
        if self.on_extended.is_some() && self.likeness.decision() == Decision::Alike {
            bail!(
                "--on-extended needs --decide contained or news: thresholds do not tell which text covers the other"
            );
        }
        Ok(self.unique.map(|unique| match unique {
            Unique::Within(radius) => DuplicateRule::Within(radius),
            Unique::Similar => DuplicateRule::Similar(SimilarRule {
                decision: self.likeness.decision(),
                likeness: self.likeness.likeness(),
                on_extended: match self.on_extended {
                    Some(ExtendedRule::Replace) => OnExtended::Replace,
                    Some(ExtendedRule::KeepBoth) | None => OnExtended::KeepBoth,
                },
            }),
        }))
    }
}

impl LikenessOptions {
    /// The given thresholds, and the defaults of the others.
    pub fn likeness(&self) -> Likeness {
        self.likeness_or(Likeness::default())
    }

    /// The given thresholds, and the defaults of the others where all texts are compared.
    pub fn join_likeness(&self) -> Likeness {
        self.likeness_or(self.decision().join_likeness())
    }

    fn likeness_or(&self, usual: Likeness) -> Likeness {
        Likeness {
            edit_similarity: self.edit_similarity.unwrap_or(usual.edit_similarity),
            jaccard: self.jaccard.unwrap_or(usual.jaccard),
        }
    }

    /// The given decision, or the default.
    pub fn decision(&self) -> Decision {
        match self.decide {
            Some(DecisionRule::Alike) => Decision::Alike,
            Some(DecisionRule::News) => Decision::News,
            Some(DecisionRule::Contained) | None => Decision::Contained,
        }
    }

    /// The rules by which all texts are compared.
    pub fn join(&self) -> SimilarJoin<'static> {
        let mut join = SimilarJoin::default();
        join.likeness = Some(self.join_likeness());
        join.decision = self.decision();
        join
    }

    /// Returns `true` if an option gives a decision or a threshold.
    pub fn is_given(&self) -> bool {
        self.decide.is_some() || self.edit_similarity.is_some() || self.jaccard.is_some()
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
            Self::Similar(rule) => Change::InsertUnlessSimilar { document, rule },
        }
    }

    /// The settings of a new database, with those that the rule needs.
    pub fn settings(&self, settings: Settings) -> Settings {
        Settings {
            keep_texts: settings.keep_texts || self.needs_texts(),
            similar: settings.similar || self.needs_texts(),
            ..settings
        }
    }

    /// Refuses fields without a text if texts are compared.
    pub fn refuse_textless(&self, fields: &FieldNames) -> Result<()> {
        if self.needs_texts() && !fields.reads_texts() && fields.text.is_empty() {
            bail!("--unique similar compares texts; name their field with --text");
        }
        Ok(())
    }

    /// Refuses a document without a text if texts are compared.
    pub fn check_text(&self, document: &Document) -> Result<(), String> {
        if self.needs_texts() && document.text.is_none() {
            return Err("it has no text, which --unique similar compares".to_owned());
        }
        Ok(())
    }

    /// Refuses a database without texts if texts are compared, and warns of one without a forest.
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
            note_without_forest(path);
        }
        Ok(())
    }
}

/// Warns that a database without `--similar` finds fewer similar texts.
pub fn note_without_forest(path: &Path) {
    note(format_args!(
        "{} was created without --similar: only texts with near fingerprints are compared, and most \
         edited and short texts are not found; load into a new database with --similar",
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
    fn unique_option_is_radius_or_similar() {
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
