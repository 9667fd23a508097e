//! The command line of `simdb-load`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;

use crate::console::parse_memory;
use crate::console::paths::{Overwrite, is_stdout};
use crate::console::progress::ProgressMode;
use crate::formats::{Format, parse_id};
use crate::options::{FieldNames, NewDatabase, OnError, UniqueOptions};

/// The most duplicates that are held to be shown.
const MOST_SHOWN: i64 = 10_000;

/// Loads documents into a near-duplicate database, all of them or none.
///
/// The database is created if it is missing. A document has an id (an integer from 0 to 2^64 - 1,
/// or a string of its digits) and a text, which is made a fingerprint, or a fingerprint that was
/// made elsewhere. Repeating a load is harmless: what is there already is only counted. A document
/// counts as there already if its id and fingerprint are; that its text has changed is ignored.
///
/// An interrupted or failed load leaves the database as it was, or none if there was none. One
/// that is killed (kill -9, a power cut) may leave temporary files and folders beside it, named
/// .simdb-XXXXXX.new, .simdb-load-XXXX and .REPORT.XXXX.new; when no load is running they are safe to delete.
#[derive(Debug, Parser)]
#[command(name = "simdb-load", version, after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{DETAILS}"))]
pub struct Options {
    /// The database; it is created if it is missing
    pub database: PathBuf,

    /// Files to load, in this order; `-` is standard input, as is no INPUT at all
    ///
    /// Files named .gz and .zst are read through. A folder stands for the files named .parquet in it,
    /// in the order of their names.
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// How the inputs are written [default: by the extension of each; standard input: jsonl]
    #[arg(long, value_enum, help_heading = "Input")]
    pub format: Option<Format>,

    #[command(flatten)]
    pub fields: FieldNames,

    /// The id of the first line, for the format `lines`, or of the first number, for `npy`; the
    /// others count up from there, over all inputs [default: 1 for lines, 0 for npy]
    #[arg(long, value_name = "ID", value_parser = parse_id, help_heading = "Input")]
    pub first_id: Option<u64>,

    /// The ids of the documents of an array of fingerprints, for the format `npy`: another array, of
    /// the same length
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "first_id",
        help_heading = "Input"
    )]
    pub ids: Option<PathBuf>,

    #[command(flatten)]
    pub unique: UniqueOptions,

    /// Write each document dropped by --unique to this file as a line of JSON; `-` is standard
    /// output
    #[arg(
        long,
        value_name = "FILE",
        requires = "unique",
        help_heading = "Duplicates"
    )]
    pub duplicates: Option<PathBuf>,

    /// Show documents dropped by --unique beside those they duplicate, the least alike first, at
    /// most this many, up to 10000 [default: 20]
    ///
    /// The text of the one that is kept is known if the database keeps texts.
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(0..=MOST_SHOWN),
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20",
        requires = "unique",
        conflicts_with = "json",
        help_heading = "Duplicates"
    )]
    pub show_duplicates: Option<u32>,

    /// What to do about a bad record, or an id that is taken by another fingerprint
    #[arg(long, value_enum, default_value_t = OnError::Abort, help_heading = "Errors")]
    pub on_error: OnError,

    /// Write each record left out by `--on-error skip` to this file as a line of JSON; `-` is
    /// standard output
    #[arg(long, value_name = "FILE", help_heading = "Errors")]
    pub rejects: Option<PathBuf>,

    #[command(flatten)]
    pub new: NewDatabase,

    /// Pack the database as tightly as can be; it cannot be changed afterwards
    #[arg(long, help_heading = "New database")]
    pub frozen: bool,

    /// How much memory to use, at least 64MiB
    ///
    /// With --unique, what waits in up to a quarter of it is compared and put into the tables at a
    /// time, and ids or fingerprints in no order touch all of these each time: for many documents,
    /// the default or more.
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GiB",
        value_parser = parse_memory,
        help_heading = "Resources"
    )]
    pub memory: u64,

    /// How many threads make fingerprints [default: all cores]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024),
        help_heading = "Resources"
    )]
    pub threads: Option<u16>,

    /// Print the summary as one line of JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Whether to show progress on standard error
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub progress: ProgressMode,

    #[command(flatten, next_help_heading = "Output")]
    pub overwrite: Overwrite,
}

impl Options {
    /// Refuses combinations that cannot be meant.
    pub fn check(&self) -> Result<()> {
        self.new.check()?;
        if self.reports_to_stdout() == 2 {
            bail!("--duplicates and --rejects cannot both go to standard output");
        }
        Ok(())
    }

    /// Whether lines of JSON go to standard output while the load is going on.
    pub fn streams_to_stdout(&self) -> bool {
        self.reports_to_stdout() > 0
    }

    fn reports_to_stdout(&self) -> usize {
        [&self.duplicates, &self.rejects]
            .into_iter()
            .flatten()
            .filter(|file| is_stdout(file))
            .count()
    }
}

const EXAMPLES: &str = "\
Examples:
  simdb-load news.simdb news.jsonl.gz
  simdb-load news.simdb more.csv --id nr --text body --on-error skip --rejects bad.jsonl
  simdb-load quotes.simdb quotes.jsonl --keep-texts --unique 3 --show-duplicates
  simdb-load quotes.simdb quotes.jsonl --unique similar --duplicates dropped.jsonl
  simdb-load corpus.simdb corpus/ --format parquet --id doc --text content
  simdb-load posts.simdb posts.jsonl --time posted --retention 2d
  zcat big.jsonl.gz | simdb-load big.simdb - --memory 8GiB --json
";

const DETAILS: &str = "\
Formats:
  jsonl   one JSON object a line (.jsonl, .ndjson, .json); blank lines are skipped
  csv     a line of column names, then records quoted as in RFC 4180 (.csv)
  tsv     the same with tabs, and never quoted (.tsv, .tab)
  lines   the text is the line, the id its number; blank lines are skipped, but counted
          (.txt, .lines)
  raw     little-endian u64 pairs, document id and fingerprint, 16 bytes each (.raw)
  npy     an array of NumPy with one dimension: fingerprints as <u8 or <i8 (.npy); their ids are their
          places, counted from --first-id, or in the array --ids
  parquet columns of Parquet (.parquet): ids are integers or strings of digits, texts are strings,
          fingerprints INT64 or hexadecimal strings, times timestamps, numbers or strings; a column
          in a struct is named as a.b. A null id or text is a bad record. Files that simdb-cli export
          wrote are known by what they say of themselves: their recipe must be that of the database,
          and a new one is made with it

Summary (--json): read = inserted + duplicates + present + rejected
  read                  documents and bad records in the inputs
  inserted              documents that are new in the database
  duplicates            documents dropped by --unique
  rejected              records left out by --on-error skip
  present               documents that were there already, id and fingerprint alike
  unreliable            documents read whose text says too little: too short, or one phrase over
                        and over; no radius reaches them, and --unique similar drops their equals
                        (and what is like them where longer runs of letters tell texts apart)
  seconds, documents_per_second, file_bytes

Lines of --duplicates:  id, fingerprint, duplicate_of, distance, file, line, byte, row, text, and with
                        --unique similar edit_similarity (null for very long texts) and jaccard
Lines of --rejects:     file, line, byte, row, id, reason
  Both files appear when the load has succeeded; with --force they replace earlier ones.
  line counts from 1; raw inputs have the offset of the record in byte instead, npy and parquet
  the row, which counts from 0; what is not known is null.

Exit codes: 0 loaded (with rejects too, if they are to be skipped), 2 not loaded, or loaded,
but a report, the duplicates to be shown or the summary could not be written: the error names what.
";
