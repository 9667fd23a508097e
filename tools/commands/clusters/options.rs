//! [`ClusterOptions`]: the options that define clusters.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use simdb::{Clustering, Database, Decision, DocId, Keep, Likeness, Shape};

use crate::console::grouped;
use crate::options::LikenessOptions;

/// The options that define clusters.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    /// The largest distance of near-duplicates, in bits
    #[arg(
        long,
        default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=64),
        help_heading = "Duplicates"
    )]
    pub radius: u32,

    /// The shape of clusters
    #[arg(long, value_enum, default_value_t, help_heading = "Duplicates")]
    shape: ShapeRule,

    /// With --shape connected, split clusters with more documents than this into stars; 0: never
    /// [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Duplicates")]
    cap: Option<u64>,

    /// Compare the texts too: near-duplicates must also be alike by --edit-similarity or --jaccard, and
    /// the text of the keeper must say what a member says: see --decide
    ///
    /// In a star each member is compared with its keeper, in a connected cluster with the member that
    /// it is near to. A document without a text is alike to no other.
    #[arg(long, help_heading = "Duplicates")]
    pub verify: bool,

    #[command(flatten)]
    likeness: LikenessOptions,
}

/// The shape of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ShapeRule {
    /// A keeper and the documents within its radius.
    #[default]
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
}

/// At most 1,000 documents in a connected cluster, without `--cap`. More are split into stars.
const DEFAULT_CAP: u64 = 1000;

impl ClusterOptions {
    /// Refuses options that contradict one another.
    pub fn check(&self) -> Result<()> {
        if self.cap.is_some() && self.shape == ShapeRule::Star {
            bail!("--cap needs --shape connected: stars have no limit");
        }
        if self.likeness.is_given() && !self.verify {
            bail!("--decide, --edit-similarity and --jaccard need --verify, which compares texts");
        }
        Ok(())
    }

    /// Refuses a database without the texts or times of arrival that the options need.
    pub fn refuse_unkept(&self, keep: KeepRule, database: &Database) -> Result<()> {
        let path = database.path().display();
        let settings = database.settings();
        if self.verify && !settings.keep_texts {
            bail!("--verify compares texts, and {path} keeps none, which cannot be changed");
        }
        match keep {
            KeepRule::Longest if !settings.keep_texts => {
                bail!("--keep longest needs texts, and {path} keeps none, which cannot be changed")
            }
            KeepRule::Oldest if settings.retention.is_none() => bail!(
                "--keep oldest needs times of arrival, and {path} keeps none, which cannot be \
                 changed"
            ),
            _ => Ok(()),
        }
    }

    /// The thresholds of texts that are alike; `None` if texts are not compared.
    pub fn likeness(&self) -> Option<Likeness> {
        self.verify.then(|| self.likeness.likeness())
    }

    /// The decision about texts that are alike.
    pub fn decision(&self) -> Decision {
        self.likeness.decision()
    }

    /// The clustering of these options.
    pub fn clustering(&self, keep: KeepRule) -> Clustering {
        Clustering {
            radius: self.radius,
            shape: match self.shape {
                ShapeRule::Star => Shape::Star,
                ShapeRule::Connected => Shape::Connected {
                    most_documents: self.cap.unwrap_or(DEFAULT_CAP),
                },
            },
            keep: match keep {
                KeepRule::First => Keep::First,
                KeepRule::Oldest => Keep::Oldest,
                KeepRule::Longest => Keep::Longest,
            },
            likeness: self.likeness(),
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
