//! `simdb-cli query`: the documents near a text, a fingerprint, a document, or each query of a file.

mod answer;
mod batch;
mod file;
mod search;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use simdb::{Fingerprint, Settings};

use self::answer::print;
use self::batch::ask_all;
use self::file::{Asked, QueryFile, QueryFormat};
use self::search::{Searcher, Way};
use super::{SAYS_TOO_LITTLE, STRICT_RADIUS, not_stored, open_to_read};
use crate::console::{Answer, Output, note};
use crate::formats::parse_id;
use crate::options::{LikenessOptions, RecipeOptions, note_without_bands};

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
    asked: QueryOptions,

    /// The most bits in which a match differs [default: 3, or 64 with --nearest]
    ///
    /// With --similar, how near fingerprints must be to be looked at, beside documents that share
    /// a part; 12 by default in a database that was created without --similar.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,

    /// Show only this many matches of a query, the nearest
    #[arg(long, value_name = "N", value_parser = parse_limit, conflicts_with = "nearest")]
    limit: Option<usize>,

    /// The N nearest documents, however far; with --radius, no farther than that
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    nearest: Option<usize>,

    /// Find texts that are like the text of the query, edited ones and short ones too
    #[arg(long, conflicts_with_all = ["nearest", "fingerprint"])]
    similar: bool,

    /// Of the documents within the radius, show those whose texts are like that of the query
    #[arg(long, conflicts_with_all = ["nearest", "fingerprint", "similar"])]
    verify: bool,

    #[command(flatten)]
    likeness: LikenessOptions,

    /// The format of --file [default: raw for .raw, otherwise jsonl]
    #[arg(long, value_enum, requires = "file")]
    format: Option<QueryFormat>,

    /// Print one line of JSON for each query
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct QueryOptions {
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

/// Reads the most matches of a query. For clap.
fn parse_limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("no match can be shown of 0; give 1 or more".to_owned()),
        Ok(limit) => Ok(limit),
        Err(_) => Err(format!(
            "{text:?} is not a number of matches; give 1 or more"
        )),
    }
}

impl Query {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let way = self.way()?;
        let database = open_to_read(&self.database, &self.recipe)?;
        if way.compares_texts() {
            self.check_texts(database.settings())?;
        }
        let snapshot = database.snapshot()?;
        let searcher = Searcher {
            database: &database,
            snapshot: &snapshot,
            way,
            likeness: self.likeness.likeness(),
            most: self.limit.or(self.nearest).unwrap_or(usize::MAX),
            json: self.json,
            is_numbered: self.asked.file.is_some(),
        };
        let QueryOptions {
            text,
            fingerprint,
            id,
            file,
        } = &self.asked;
        if let Some(path) = file {
            let queries = QueryFile::open(path, self.format, way.compares_texts())?;
            return ask_all(&searcher, queries, output);
        }
        let asked = if let Some(text) = text {
            Asked::Text(text.clone())
        } else if let Some(id) = *id {
            let Some(document) = snapshot.get(id.into())? else {
                return Ok(not_stored(id));
            };
            Asked::Document(document)
        } else if let Some(fingerprint) = *fingerprint {
            Asked::fingerprint(fingerprint, true)
        } else {
            bail!("there is nothing to ask for");
        };
        let answered = searcher.search(&asked)?;
        if answered.says_too_little {
            note(format_args!("{SAYS_TOO_LITTLE}; it has no matches"));
        }
        for part in searcher.parts(0, &answered) {
            print(&part?, output)?;
        }
        Ok(answered.has_matches().into())
    }

    fn way(&self) -> Result<Way> {
        let radius = self.radius.unwrap_or(STRICT_RADIUS);
        if self.similar {
            return Ok(Way::Similar(self.radius));
        }
        if self.verify {
            return Ok(Way::Verify(radius));
        }
        if self.likeness.is_given() {
            bail!(
                "--edit-similarity and --jaccard say when texts are alike: they need --similar or \
                 --verify"
            );
        }
        if self.nearest.is_some() && self.radius.is_none() {
            return Ok(Way::Nearest);
        }
        Ok(Way::Within(radius))
    }

    /// Refuses a database without texts, and notes the matches that one without bands lacks.
    fn check_texts(&self, settings: &Settings) -> Result<()> {
        if !settings.keep_texts {
            let (option, made_with) = if self.similar {
                ("--similar", "--similar")
            } else {
                ("--verify", "--keep-texts")
            };
            bail!(
                "{option} compares texts, and {} keeps none, which cannot be changed; load into a \
                 new database with {made_with}",
                self.database.display()
            );
        }
        if self.similar && !settings.similar {
            note_without_bands(&self.database);
        }
        Ok(())
    }
}
