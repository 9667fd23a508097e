//! `simdb-cli query`: what lies near a text, a fingerprint, a document, or each of a file.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Database, Fingerprint, Match, Snapshot};

use super::query_batch;
use super::query_file::{self, QueryFormat};
use super::{SAYS_TOO_LITTLE, not_stored, open_to_read};
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Answer, Output, note};

/// Finds documents whose fingerprints lie near: all within a radius, or the nearest
///
/// Every match within the radius is found, nearest first, then by id. A document that is asked
/// for by --id is not among its own matches. A text that says too little (too short, or one phrase
/// over and over) has no matches.
///
/// Columns: distance in bits, id, fingerprint, and the text if the database keeps texts (`-` if
/// this one has none); with --file, the number of the query comes first: queries count from 0, and
/// blank lines, which are skipped, do not, so query n need not be line n + 1. --json prints
/// one line for each query, in the order of the queries, even if nothing matches:
/// {"query":0,"fingerprint":"...","reliable":true,"matches":[{"id":1,"fingerprint":"...",
/// "distance":2,"text":null}]}. The exit code is 1 if no query has a match.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli query news.simdb --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli query news.simdb --fingerprint 8b1f2c3d4e5f6071 --radius 6 --limit 10
  simdb-cli query news.simdb --id 17 --nearest 5
  simdb-cli query news.simdb --file articles.jsonl.gz --json > matches.jsonl")]
pub struct Query {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    what: What,

    /// The most bits in which a match differs [default: 3, or 64 with --nearest]
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,

    /// Show only this many matches of a query, the nearest
    #[arg(long, value_name = "N", conflicts_with = "nearest")]
    limit: Option<usize>,

    /// The N nearest documents, however far; with --radius, no farther than that
    #[arg(long, value_name = "N")]
    nearest: Option<usize>,

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
    #[arg(long, value_name = "ID")]
    id: Option<u64>,

    /// Ask for each query of a file; `-` is standard input, .gz and .zst are read through
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The default radius: strict near-duplicates.
const STRICT_RADIUS: u32 = 3;

/// A query and what was found.
pub(super) struct Found {
    pub(super) fingerprint: Fingerprint,
    pub(super) reliable: bool,
    pub(super) matches: Vec<(Match, Option<String>)>,
}

#[derive(Serialize)]
struct FoundLine<'f> {
    query: u64,
    fingerprint: String,
    reliable: bool,
    matches: Vec<MatchLine<'f>>,
}

#[derive(Serialize)]
struct MatchLine<'f> {
    id: u64,
    fingerprint: String,
    distance: u32,
    text: Option<&'f str>,
}

impl Query {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.database)?;
        let snapshot = database.snapshot()?;
        let searcher = Searcher {
            query: self,
            database: &database,
            snapshot: &snapshot,
        };
        match &self.what {
            What {
                file: Some(file), ..
            } => {
                let format = self.format.unwrap_or_else(|| query_file::format_of(file));
                query_batch::ask_all(&searcher, query_file::Queries::open(file, format)?, output)
            }
            What {
                text: Some(text), ..
            } => {
                let asked = searcher.database.fingerprint(text);
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
}

/// Asks one snapshot.
pub(super) struct Searcher<'q> {
    query: &'q Query,
    pub(super) database: &'q Database,
    pub(super) snapshot: &'q Snapshot,
}

impl Searcher<'_> {
    fn ask_one(
        &self,
        fingerprint: Fingerprint,
        reliable: bool,
        itself: Option<u64>,
        output: &mut Output,
    ) -> Result<Answer> {
        if !reliable {
            note(format_args!("{SAYS_TOO_LITTLE}; it has no matches"));
        }
        let found = self.search(fingerprint, reliable, itself)?;
        self.print(0, &found, output)?;
        Ok(if found.matches.is_empty() {
            Answer::No
        } else {
            Answer::Yes
        })
    }

    /// The radius, and how many matches of a query are wanted; no radius where the nearest are
    /// wanted, however far.
    pub(super) fn bounds(&self) -> (Option<u32>, usize) {
        let Query {
            radius,
            limit,
            nearest,
            ..
        } = self.query;
        let radius = match nearest {
            Some(_) => *radius,
            None => Some(radius.unwrap_or(STRICT_RADIUS)),
        };
        (radius, limit.or(*nearest).unwrap_or(usize::MAX))
    }

    /// What lies near, without the document that is asked for itself.
    pub(super) fn search(
        &self,
        fingerprint: Fingerprint,
        reliable: bool,
        itself: Option<u64>,
    ) -> Result<Found> {
        let (radius, wanted) = self.bounds();
        // One more, because the document itself may be among them.
        let asked = wanted.saturating_add(usize::from(itself.is_some()));
        let mut matches = match (reliable, radius) {
            (false, _) => Vec::new(),
            (true, None) => self.snapshot.nearest(fingerprint, asked)?,
            (true, Some(radius)) => self.snapshot.within_limit(fingerprint, radius, asked)?,
        };
        matches.retain(|found| Some(found.id.0) != itself);
        matches.truncate(wanted);
        Ok(Found {
            fingerprint,
            reliable,
            matches: self.with_texts(matches)?,
        })
    }

    /// Each match with its text, if the database keeps texts.
    pub(super) fn with_texts(&self, matches: Vec<Match>) -> Result<Vec<(Match, Option<String>)>> {
        let keeps_texts = self.database.settings().keep_texts;
        let with_text = |found: Match| {
            let document = if keeps_texts {
                self.snapshot.get(found.id)?
            } else {
                None
            };
            Ok((found, document.and_then(|document| document.text)))
        };
        matches.into_iter().map(with_text).collect()
    }

    pub(super) fn print(&self, number: u64, found: &Found, output: &mut Output) -> Result<()> {
        if self.query.json {
            return output.json(&FoundLine {
                query: number,
                fingerprint: found.fingerprint.to_string(),
                reliable: found.reliable,
                matches: found.matches.iter().map(match_line).collect(),
            });
        }
        let mut table = Table::new(&[
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
        ]);
        let keeps_texts = self.database.settings().keep_texts;
        for (found, text) in &found.matches {
            let mut cells = vec![
                found.distance.to_string(),
                found.id.to_string(),
                found.fingerprint.to_string(),
            ];
            if keeps_texts {
                let text = text.as_deref().map(|text| one_line(text, text_columns()));
                cells.push(text.unwrap_or_else(|| "-".to_owned()));
            }
            if self.query.what.file.is_some() {
                cells.insert(0, number.to_string());
            }
            table.row(cells);
        }
        for line in table.lines() {
            output.line(line)?;
        }
        Ok(())
    }
}

fn match_line((found, text): &(Match, Option<String>)) -> MatchLine<'_> {
    MatchLine {
        id: found.id.0,
        fingerprint: found.fingerprint.to_string(),
        distance: found.distance,
        text: text.as_deref(),
    }
}

/// How wide a text may be beside the other columns.
fn text_columns() -> usize {
    const BESIDE: usize = 40;
    columns().saturating_sub(BESIDE).max(20)
}
