//! `simdb-cli query`: the documents near a text, a fingerprint or a document, or near each query of
//! a file.

mod answer;
mod batch;
mod file;
mod remote;
mod search;

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;
use simdb::{Decision, DocRef, Fingerprint, Settings};

use self::answer::print_parts;
use self::batch::answer_all;
use self::file::{QueryContent, QueryFile, QueryFormat};
use self::search::{Searcher, Source, Way};
use super::{DatabaseOptions, STRICT_RADIUS, TOO_LITTLE_CONTENT, note_not_stored};
use crate::console::{Output, note};
use crate::formats::parse_id;
use crate::options::{LikenessOptions, SubsetOptions, note_without_forest};
use crate::remote::NotStored;

/// Finds the documents near a text, a fingerprint or a document: all within a radius, or the
/// nearest
///
/// Every match within the radius is found. Matches are sorted by distance, then by id. A document
/// of --id is not among its own matches. A text with too little content (too short, or one phrase
/// over and over) has no matches within a radius. Without --limit all matches are printed, in
/// parts; a match takes 24 bytes of memory during the search, and columns are aligned within a
/// part. With --similar and --verify a match takes 80 bytes, and columns are aligned in all of
/// them.
///
/// --similar finds documents whose texts are like the text of the query, at any distance of their
/// fingerprints: documents that share minima with the query, or are near it, are compared
/// by --edit-similarity and --jaccard, and one of the two is enough. --verify compares only the
/// documents within the radius. Both need a database that keeps texts,
/// and a query that is a text, a document with a text, or a file of lines with "text". The most
/// similar documents come first, and documents with the same wording before all others.
///
/// Columns: distance in bits, id, fingerprint, and, if the database keeps texts, the text, cut to
/// the line (100 columns without a terminal), or `-` for a document without a text. With --file,
/// the number of the query is the first column. Queries are counted from 0 without the blank lines,
/// so query n need not be line n + 1. --json prints one line for each query, in the order of the
/// queries, also for queries without matches:
/// {"query":0,"fingerprint":"...","reliable":true,"matches":[{"id":1,"fingerprint":"...",
/// "distance":2,"text":null}]}; a match also has key, scope and fields if they are kept. The exit
/// code is 1 if no query has a match.
///
/// With --similar and --verify the columns are distance, id, score (the larger of the next two),
/// edit similarity (`-` for very long texts), Jaccard index, verdict and text. Each match of --json
/// also has "edit_similarity", "jaccard", "containment", "missing_in_b", "missing_in_a" and
/// "same_wording" (equal except for case, width, punctuation and
/// white space).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli query news.simdb --text \"The quick brown fox jumps over the lazy dog.\"
  simdb-cli query news.simdb --fingerprint 8b1f2c3d4e5f6071 --radius 6 --limit 10
  simdb-cli query news.simdb --id 17 --nearest 5
  simdb-cli query pages.simdb --key https://example.org/a --within-scope en --within-scope fr
  simdb-cli query feed.simdb --text \"The ferry was cancelled.\" --since 6h
  simdb-cli query news.simdb --text \"A quick fox jumped over the lazy dog.\" --similar
  simdb-cli query news.simdb --id 17 --radius 12 --verify --jaccard 0.7
  simdb-cli query news.simdb --file articles.jsonl.gz --json > matches.jsonl
  simdb-cli query news.simdb --file articles.jsonl --text title --text body")]
pub struct Query {
    #[command(flatten)]
    database: DatabaseOptions,

    #[command(flatten)]
    query: QueryOptions,

    /// The largest distance of a match, in bits [default: 3, or 64 with --nearest]
    ///
    /// With --similar, documents within this radius are compared, besides neighbours in the
    /// forest; the default is 12 in a database that was created without --similar.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    radius: Option<u32>,

    #[command(flatten)]
    subset: SubsetOptions,

    /// Print at most N matches of a query, the nearest
    #[arg(long, value_name = "N", value_parser = parse_limit, conflicts_with = "nearest")]
    limit: Option<usize>,

    /// Print the N nearest documents, at any distance, or within --radius
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    nearest: Option<usize>,

    /// Find texts that are like the text of the query, edited and short texts included
    #[arg(long, conflicts_with_all = ["nearest", "fingerprint"])]
    similar: bool,

    /// With --similar, search as inserts do: a third of the time, and most of the matches
    ///
    /// Among a million package summaries, a narrow search finds .99 of the matches of a text on
    /// average. Texts with thousands of matches lose most: .78 of all matches are found. Not with
    /// --decide alike.
    #[arg(long, requires = "similar", conflicts_with_all = ["nearest", "fingerprint", "verify"])]
    narrow: bool,

    /// Print only documents within the radius whose texts are like the text of the query
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
#[group(required = true, multiple = true)]
struct QueryOptions {
    /// Query by a text; with --file, the field that holds the text of a query
    ///
    /// Several fields make one text: --text title --text body, as in `simdb-load`. A line without
    /// them is an error, also if the line has a fingerprint.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["fingerprint", "id", "key"])]
    text: Vec<String>,

    /// Query by a fingerprint of 16 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with_all = ["id", "key", "file"])]
    fingerprint: Option<Fingerprint>,

    /// Query by a document of the database
    #[arg(long, value_name = "ID", value_parser = parse_id, conflicts_with_all = ["key", "file"])]
    id: Option<u64>,

    /// Query by the document with a key
    #[arg(long, conflicts_with = "file")]
    key: Option<String>,

    /// Query by each line of a file; `-` is standard input, .gz and .zst are decompressed
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Reports that the document of a query is not stored.
fn no_query(asked: DocRef, output: &mut Output) -> Result<()> {
    note_not_stored(asked);
    output.decide(false);
    Ok(())
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
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let way = self.way()?;
        if let Some(remote) = self.database.remote()? {
            let settings = remote.settings()?;
            return self.answer(Source::Server(&remote, &settings), way, output);
        }
        let database = self.database.open_to_read()?;
        let (whole, searched) = (database.snapshot()?, self.subset.of(database.snapshot()?)?);
        let source = Source::File {
            database: &database,
            whole: &whole,
            searched: &searched,
        };
        self.answer(source, way, output)
    }

    fn answer(&self, source: Source<'_>, way: Way, output: &mut Output) -> Result<()> {
        if way.compares_texts() {
            self.check_texts(source.settings())?;
        }
        let searcher = Searcher {
            source,
            way,
            likeness: self.likeness.likeness(),
            decision: self.likeness.decision(),
            is_narrow: self.narrow,
            subset: &self.subset,
            most: self.limit.or(self.nearest).unwrap_or(usize::MAX),
            json: self.json,
            is_numbered: self.query.file.is_some(),
        };
        if let Some(path) = &self.query.file {
            let queries =
                QueryFile::open(path, self.format, &self.query.text, way.compares_texts())?;
            return answer_all(&searcher, queries, output);
        }
        let options = &self.query;
        ensure!(
            options.text.len() <= 1,
            "a query is one text; --text names several fields with --file only"
        );
        let document = match (&options.key, options.id) {
            (Some(key), _) => Some(DocRef::from(key.as_str())),
            (None, id) => id.map(DocRef::from),
        };
        let asked = document.clone();
        let query = match (options.text.first(), document, options.fingerprint) {
            (Some(text), ..) => QueryContent::Text(text.clone()),
            (_, Some(asked), _) => match source.get(asked.clone())? {
                Some(document) => QueryContent::Document(document),
                None => return no_query(asked, output),
            },
            (.., Some(fingerprint)) => QueryContent::fingerprint(fingerprint, true),
            _ => bail!("the query is empty: give --text, --fingerprint, --id, --key or --file"),
        };
        let answered = match (searcher.search(&query), asked) {
            // It has been removed since.
            (Err(error), Some(asked)) if error.is::<NotStored>() => return no_query(asked, output),
            (answered, _) => answered?,
        };
        if answered.has_too_little {
            note(format_args!("{TOO_LITTLE_CONTENT}; it has no matches"));
        }
        print_parts(&searcher, 0, &answered, output)?;
        output.decide(answered.has_matches());
        Ok(())
    }

    fn way(&self) -> Result<Way> {
        let radius = self.radius.unwrap_or(STRICT_RADIUS);
        if self.narrow && self.likeness.decision() == Decision::Alike {
            bail!(
                "--narrow finds texts that contain each other; leave out --decide alike or --narrow"
            );
        }
        if self.similar {
            return Ok(Way::Similar(self.radius));
        }
        if self.verify {
            return Ok(Way::Verify(radius));
        }
        if self.likeness.is_given() {
            bail!(
                "--decide, --edit-similarity and --jaccard decide which texts are alike: they need --similar or \
                 --verify"
            );
        }
        if self.nearest.is_some() && self.radius.is_none() {
            return Ok(Way::Nearest);
        }
        Ok(Way::Within(radius))
    }

    /// Refuses a database without texts, and warns that a database without a forest misses matches.
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
                self.database.path.display()
            );
        }
        if self.similar && !settings.similar {
            note_without_forest(&self.database.path);
        }
        Ok(())
    }
}
