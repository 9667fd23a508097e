//! `simdb-cli query`: what lies near a text, a fingerprint, a document, or each of a file.

mod batch;
mod file;
mod search;
mod similar;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use simdb::Fingerprint;

use self::file::QueryFormat;
use self::search::Searcher;
use self::similar::{Candidates, TextSearcher};
use super::{STRICT_RADIUS, not_stored, open_to_read};
use crate::console::{Answer, Output};
use crate::formats::parse_id;
use crate::options::{LikenessOptions, RecipeOptions};

/// Finds documents whose fingerprints lie near: all within a radius, or the nearest
///
/// Every match within the radius is found, nearest first, then by id. A document that is asked
/// for by --id is not among its own matches. A text that says too little (too short, or one phrase
/// over and over) has no matches. Without --limit all are printed, a part at a time; while they are
/// looked for, each takes 24 bytes of memory. Columns then line up within a part. With --similar and
/// --verify a match takes 64 bytes, a query has at most 8,192, and columns line up in all of them.
///
/// With --similar, documents are found whose texts are like that of the query, however many bits
/// their fingerprints differ in: those that share a part with it, or are near, are compared with it
/// by --edit-similarity and --jaccard, either of which is enough. With --verify only documents
/// within the radius are compared, of very many the nearest 1,024. Both need a database that keeps
/// texts, and a query that is a text, a document with a text, or a file of lines with "text". The
/// most alike come first, those with the same wording before all others.
///
/// Columns: distance in bits, id, fingerprint, and the text if the database keeps texts (`-` if
/// this one has none); with --file, the number of the query comes first: queries count from 0, and
/// blank lines, which are skipped, do not, so query n need not be line n + 1. --json prints
/// one line for each query, in the order of the queries, even if nothing matches:
/// {"query":0,"fingerprint":"...","reliable":true,"matches":[{"id":1,"fingerprint":"...",
/// "distance":2,"text":null}]}. The exit code is 1 if no query has a match.
///
/// With --similar and --verify the columns are distance, id, score (the larger of the two that
/// follow), edit similarity (`-` for very long texts), Jaccard index, text; and each match of
/// --json has "edit_similarity", "jaccard" and "same_wording" (the same but for case, width,
/// punctuation and white space) too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli query news.simdb --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli query news.simdb --fingerprint 8b1f2c3d4e5f6071 --radius 6 --limit 10
  simdb-cli query news.simdb --id 17 --nearest 5
  simdb-cli query news.simdb --text \"A quick fox jumped over the lazy dog.\" --similar
  simdb-cli query news.simdb --id 17 --radius 12 --verify --jaccard 0.7
  simdb-cli query news.simdb --file articles.jsonl.gz --json > matches.jsonl")]
pub struct Query {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    #[command(flatten)]
    what: What,

    /// The most bits in which a match differs [default: 3, or 64 with --nearest]
    ///
    /// With --similar, how near fingerprints must be to be looked at, beside documents that share
    /// a part; 12 by default in a database that was created without --similar.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,

    /// Show only this many matches of a query, the nearest
    #[arg(long, value_name = "N", conflicts_with = "nearest")]
    limit: Option<usize>,

    /// The N nearest documents, however far; with --radius, no farther than that
    #[arg(long, value_name = "N")]
    nearest: Option<usize>,

    /// Find texts that are like the text of the query, edited ones and short ones too
    #[arg(long, conflicts_with_all = ["nearest", "fingerprint"])]
    similar: bool,

    /// Of the documents within the radius, show those whose texts are like that of the query
    #[arg(long, conflicts_with_all = ["nearest", "fingerprint", "similar"])]
    verify: bool,

    #[command(flatten)]
    likeness: LikenessOptions,

    /// How the queries of --file are written [default: raw for .raw, otherwise jsonl]
    #[arg(long, value_enum, requires = "file")]
    format: Option<QueryFormat>,

    /// Print one line of JSON for each query
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Ask for a text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Ask for a fingerprint of 16 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<Fingerprint>,

    /// Ask for a document of the database
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    id: Option<u64>,

    /// Ask for each query of a file; `-` is standard input, .gz and .zst are read through
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Query {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let candidates = self.candidates()?;
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        if let Some(candidates) = candidates {
            return self.ask_for_texts(
                &TextSearcher {
                    database: &database,
                    snapshot: &snapshot,
                    candidates,
                    likeness: &self.likeness,
                    most: self.limit.unwrap_or(usize::MAX),
                    json: self.json,
                    is_numbered: self.what.file.is_some(),
                },
                output,
            );
        }
        let searcher = Searcher {
            database: &database,
            snapshot: &snapshot,
            radius: match self.nearest {
                Some(_) => self.radius,
                None => Some(self.radius.unwrap_or(STRICT_RADIUS)),
            },
            most: self.limit.or(self.nearest).unwrap_or(usize::MAX),
            json: self.json,
            is_numbered: self.what.file.is_some(),
        };
        match &self.what {
            What {
                file: Some(file), ..
            } => {
                let format = self.format.unwrap_or_else(|| file::format_of(file));
                batch::ask_all(&searcher, file::Queries::open(file, format)?, output)
            }
            What {
                text: Some(text), ..
            } => {
                let asked = searcher.database.fingerprint(text)?;
                searcher.ask_one(asked.fingerprint, asked.reliable, None, output)
            }
            What {
                fingerprint: Some(fingerprint),
                ..
            } => searcher.ask_one(*fingerprint, true, None, output),
            What { id: Some(id), .. } => match snapshot.get((*id).into())? {
                Some(stored) => {
                    searcher.ask_one(stored.fingerprint, stored.reliable, Some(*id), output)
                }
                None => Ok(not_stored(*id)),
            },
            _ => bail!("there is nothing to ask for"),
        }
    }

    /// Where texts are looked for, if texts are.
    fn candidates(&self) -> Result<Option<Candidates>> {
        let candidates = match (self.similar, self.verify) {
            (true, _) => Candidates::Similar {
                radius: self.radius,
            },
            (false, true) => Candidates::Within {
                radius: self.radius.unwrap_or(STRICT_RADIUS),
            },
            (false, false) if self.likeness.is_given() => {
                bail!(
                    "--edit-similarity and --jaccard say when texts are alike: they need --similar \
                     or --verify"
                )
            }
            (false, false) => return Ok(None),
        };
        Ok(Some(candidates))
    }

    fn ask_for_texts(&self, searcher: &TextSearcher<'_>, output: &mut Output) -> Result<Answer> {
        searcher.check()?;
        match &self.what {
            What {
                file: Some(file), ..
            } => {
                let format = self.format.unwrap_or_else(|| file::format_of(file));
                if format == QueryFormat::Raw {
                    bail!(
                        "raw queries are fingerprints, and only texts can be compared: {}",
                        file.display()
                    );
                }
                searcher.ask_all(file::Queries::open_texts(file)?, output)
            }
            What {
                text: Some(text), ..
            } => searcher.ask_text(text, output),
            What { id: Some(id), .. } => searcher.ask_document((*id).into(), output),
            _ => bail!("a fingerprint cannot be compared with texts; ask for a text"),
        }
    }
}
