//! [`ClusterOptions`]: the options that say which documents are near-duplicates.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use simdb::{Clustering, Database, DocId, Keep, Likeness, Shape};

use crate::console::grouped;
use crate::options::LikenessOptions;

/// The options of clusters.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    /// The most bits in which the fingerprints of near-duplicates differ
    #[arg(
        long,
        default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=64),
        help_heading = "Duplicates"
    )]
    radius: u32,

    /// The shape of clusters
    #[arg(long, value_enum, default_value_t, help_heading = "Duplicates")]
    shape: ShapeRule,

    /// With --shape connected, split what has more documents than this into stars; 0: never
    /// [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Duplicates")]
    cap: Option<u64>,

    /// Let the texts decide: only what is also alike by --edit-similarity or --jaccard belongs
    /// together
    ///
    /// In a star each member is compared with its keeper. A document without a text is like none.
    #[arg(long, help_heading = "Duplicates")]
    verify: bool,

    #[command(flatten)]
    likeness: LikenessOptions,
}

/// The shape of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ShapeRule {
    /// A keeper and what is within the radius of it.
    #[default]
    Star,
    /// Whatever is connected by a chain of near-duplicates.
    Connected,
}

/// The document of a cluster that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KeepRule {
    /// The one with the smallest id.
    #[default]
    First,
    /// The one that arrived first.
    Oldest,
    /// The one with the longest text.
    Longest,
}

/// The most documents that may be connected, without `--cap`.
const DEFAULT_CAP: u64 = 1000;

impl ClusterOptions {
    /// Refuses options that contradict one another.
    pub fn check(&self) -> Result<()> {
        if self.cap.is_some() && self.shape == ShapeRule::Star {
            bail!("--cap is of no use without --shape connected: stars do not run away");
        }
        if self.likeness.is_given() && !self.verify {
            bail!("--edit-similarity and --jaccard say when texts are alike: they need --verify");
        }
        Ok(())
    }

    /// Refuses a database that does not keep the texts or times that the options need.
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

    pub fn radius(&self) -> u32 {
        self.radius
    }

    /// The measure by which texts are alike; `None` if they are not compared.
    pub fn likeness(&self) -> Option<Likeness> {
        self.verify.then(|| self.likeness.likeness())
    }

    /// Returns `true` if texts are compared.
    pub fn verifies(&self) -> bool {
        self.verify
    }

    /// The clustering that the options ask for.
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
        }
    }

    /// The warning about a component that was split.
    pub fn split_warning(&self, id: DocId, documents: u64) -> String {
        format!(
            "warning: {} documents are connected with document {id}, more than --cap {}; they are \
             split into stars",
            grouped(documents),
            self.cap.unwrap_or(DEFAULT_CAP)
        )
    }
}
