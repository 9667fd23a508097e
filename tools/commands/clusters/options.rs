//! [`ClusterOptions`]: the options that define clusters.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use simdb::clusters::{Clustering, Keep, Shape};
use simdb::join::SimilarJoin;
use simdb::similarity::Likeness;
use simdb::{Database, Decision, DocId};

use crate::commands::STRICT_RADIUS;
use crate::console::grouped;
use crate::options::{LikenessOptions, QuotationOptions};

/// The options that define clusters.
#[derive(Clone, Debug, Args)]
pub struct ClusterOptions {
    /// The largest distance of the fingerprints of near-duplicates, in bits [default: 3]
    #[arg(
        long,
        value_parser = clap::value_parser!(u32).range(0..=64),
        help_heading = "Duplicates"
    )]
    radius: Option<u32>,

    /// Compare fingerprints within 3 bits, as --radius 3
    #[arg(long, conflicts_with = "radius", help_heading = "Duplicates")]
    strict: bool,

    /// The shape of clusters of near fingerprints [default: star]
    #[arg(long, value_enum, help_heading = "Duplicates")]
    shape: Option<ShapeRule>,

    /// With --shape connected, split clusters with more documents than this into stars; 0: never
    /// [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Duplicates")]
    cap: Option<u64>,

    /// Compare the texts too: near-duplicates must also be alike by --edit-similarity or --jaccard,
    /// and the text of the keeper must cover a member: see --decide
    ///
    /// In a star each member is compared with its keeper, in a connected cluster with the member
    /// that it is near to. A document without a text is alike to no other.
    #[arg(long, help_heading = "Duplicates")]
    pub verify: bool,

    #[command(flatten)]
    likeness: LikenessOptions,

    #[command(flatten)]
    quotation: QuotationOptions,
}

/// The shape of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShapeRule {
    /// A keeper and the documents within its radius.
    Star,
    /// Documents that are linked by a chain of near-duplicates.
    Connected,
}

/// The document of a cluster that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KeepRule {
    /// The document with the smallest id.
    #[default]
    First,
    /// The document that arrived first.
    Oldest,
    /// The document with the longest text.
    Longest,
    /// The document with the shortest text, with the least around its body.
    Cleanest,
}

impl KeepRule {
    /// Returns `true` if the lengths of texts decide.
    pub fn measures_texts(self) -> bool {
        matches!(self, Self::Longest | Self::Cleanest)
    }

    pub fn keep(self) -> Keep {
        match self {
            Self::First => Keep::First,
            Self::Oldest => Keep::Oldest,
            Self::Longest => Keep::Longest,
            Self::Cleanest => Keep::Cleanest,
        }
    }
}

/// At most 1,000 documents in a connected cluster, without `--cap`. More are split into stars.
const DEFAULT_CAP: u64 = 1000;

impl ClusterOptions {
    /// Refuses options that contradict one another. `compares_texts` if all texts are compared.
    pub fn check(&self, compares_texts: bool) -> Result<()> {
        if self.cap.is_some() && self.shape != Some(ShapeRule::Connected) {
            bail!("--cap needs --shape connected: stars have no limit");
        }
        self.quotation.check(compares_texts, &self.likeness)
    }

    /// Returns `true` if an option asks for near fingerprints.
    pub fn names_fingerprints(&self) -> bool {
        self.radius.is_some()
            || self.strict
            || self.shape.is_some()
            || self.cap.is_some()
            || self.verify
    }

    /// Refuses thresholds without a comparison of texts.
    pub fn refuse_unused_likeness(&self) -> Result<()> {
        if self.likeness.is_given() && !self.verify {
            bail!("--decide, --edit-similarity and --jaccard need --verify, which compares texts");
        }
        Ok(())
    }

    /// The largest distance of near fingerprints.
    pub fn radius(&self) -> u32 {
        self.radius.unwrap_or(STRICT_RADIUS)
    }

    /// The rules by which all texts are compared.
    pub fn join(&self) -> SimilarJoin<'static> {
        self.quotation.join(&self.likeness)
    }

    /// Refuses a database without the texts or times of arrival that the options need.
    pub fn refuse_unkept(&self, keep: KeepRule, database: &Database) -> Result<()> {
        let path = database.path().display();
        let settings = database.settings();
        if self.verify && !settings.keep_texts {
            bail!("--verify compares texts, and {path} keeps none, which cannot be changed");
        }
        match keep {
            keep if keep.measures_texts() && !settings.keep_texts => bail!(
                "--keep {} needs texts, and {path} keeps none, which cannot be changed",
                keep.keep()
            ),
            KeepRule::Oldest if settings.retention.is_none() => bail!(
                "--keep oldest needs times of arrival, and {path} keeps none, which cannot be \
                 changed"
            ),
            _ => Ok(()),
        }
    }

    /// The thresholds of texts that are alike.
    pub fn likeness(&self) -> Likeness {
        self.likeness.likeness()
    }

    /// The thresholds of texts that are alike where all texts are compared.
    pub fn join_likeness(&self) -> Likeness {
        self.likeness.join_likeness()
    }

    /// The decision about texts that are alike.
    pub fn decision(&self) -> Decision {
        self.likeness.decision()
    }

    /// The clustering of these options.
    pub fn clustering(&self, keep: KeepRule) -> Clustering {
        Clustering {
            radius: self.radius(),
            shape: match self.shape {
                None | Some(ShapeRule::Star) => Shape::Star,
                Some(ShapeRule::Connected) => Shape::Connected {
                    most_documents: self.cap.unwrap_or(DEFAULT_CAP),
                },
            },
            keep: keep.keep(),
            likeness: self.verify.then(|| self.likeness()),
            decision: self.decision(),
        }
    }

    /// The warning about a connected cluster that was split.
    pub fn split_warning(&self, id: DocId, documents: u64) -> String {
        format!(
            "warning: {} documents are connected with document {id}, more than --cap {}; they are \
             split into stars",
            grouped(documents),
            self.cap.unwrap_or(DEFAULT_CAP)
        )
    }
}
