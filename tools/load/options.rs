//! The command line of `simdb-load`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;

use crate::console::logger::Verbosity;
use crate::console::parse_memory;
use crate::console::paths::{Overwrite, is_stdout};
use crate::console::progress::ProgressMode;
use crate::formats::{Format, parse_id};
use crate::options::{FieldNames, KeyOptions, NewDatabase, OnError, OnExistsOption, UniqueOptions};

/// `--show-duplicates` holds at most 10,000 duplicates in memory.
const MOST_SHOWN: i64 = 10_000;

/// Loads documents into a near-duplicate database, all of them or none.
///
/// The database is created if it is missing. A document has an id (an integer from 0 to 2^64 - 1,
/// or a string of its digits) and a text, a fingerprint, or features with weights. Loading a file
/// twice is safe: a document whose id and fingerprint are stored already is only counted, even if
/// its text has changed.
///
/// A failed or interrupted load does not change the database, and creates none, with one exception:
/// a load with --unique similar into an existing database stores its documents in parts if they
/// take more than a quarter of --memory and more than 16 MiB. The parts that are stored stay, and
/// the load can be repeated. A load that is killed (kill -9, a power cut) may leave temporary files
/// and folders beside the database: .simdb-XXXXXX.new, .simdb-load-XXXX and .REPORT.XXXX.new.
/// Delete them when no load is running.
#[derive(Debug, Parser)]
#[command(name = "simdb-load", version, after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{DETAILS}"))]
pub struct Options {
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// The database; it is created if it is missing
    pub database: PathBuf,

    /// Files to load, in this order; `-` or no INPUT is standard input
    ///
    /// Files named .gz and .zst are decompressed. A folder means its .parquet files, in the order
    /// of their names.
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// The format of the inputs [default: by extension; standard input: jsonl]
    #[arg(long, value_enum, help_heading = "Input")]
    pub format: Option<Format>,

    #[command(flatten)]
    pub fields: FieldNames,

    #[command(flatten)]
    pub keys: KeyOptions,

    /// The records have no ids, or none that are integers: the id of a record is its number,
    /// counted over all inputs
    ///
    /// Load into a new database, or continue with --first-id: a number that is taken by another
    /// document is a bad record.
    #[arg(long, conflicts_with_all = ["id", "ids", "key"], help_heading = "Input")]
    pub no_id: bool,

    /// The first id of the formats `lines` and `npy`, or with --no-id; ids count up through all
    /// inputs [default: 1; 0 for npy]
    #[arg(
        long,
        value_name = "ID",
        value_parser = parse_id,
        conflicts_with = "key",
        help_heading = "Input"
    )]
    pub first_id: Option<u64>,

    /// The array of the ids of an `npy` input, of the same length
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "first_id",
        help_heading = "Input"
    )]
    pub ids: Option<PathBuf>,

    #[command(flatten)]
    pub unique: UniqueOptions,

    #[command(flatten, next_help_heading = "Duplicates")]
    pub on_exists: OnExistsOption,

    /// Write each document dropped by --unique to this file, one JSON object a line; `-` is
    /// standard output
    #[arg(
        long,
        value_name = "FILE",
        requires = "unique",
        help_heading = "Duplicates"
    )]
    pub duplicates: Option<PathBuf>,

    /// Show up to this many documents dropped by --unique, each with the document that it
    /// duplicates, the least alike first; at most 10000 [default: 20]
    ///
    /// The text of the kept document is shown if the database keeps texts.
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

    /// The treatment of a bad record, or without --on-exists of an id or key that is stored with
    /// another fingerprint
    #[arg(long, value_enum, default_value_t = OnError::Abort, help_heading = "Errors")]
    pub on_error: OnError,

    /// Write each record left out by `--on-error skip` to this file, one JSON object a line; `-` is
    /// standard output
    #[arg(long, value_name = "FILE", help_heading = "Errors")]
    pub rejects: Option<PathBuf>,

    #[command(flatten)]
    pub new: NewDatabase,

    /// Write the smallest file; the database cannot be changed afterwards
    #[arg(long, help_heading = "New database")]
    pub frozen: bool,

    /// The memory to use, at least 64MiB
    ///
    /// With --unique, documents are applied in groups of up to a quarter of this memory. A group of
    /// unsorted ids or fingerprints touches the whole database, so a small value slows large loads.
    /// With --unique similar, the texts that are kept are compared in memory, some 800 bytes for a
    /// line of text; if they take three quarters of this memory (a quarter with an existing
    /// database) and at least 16 MiB, they are stored, and later texts are compared with the
    /// database, which takes several times as long. Not included, with --unique: up to 32 MiB for
    /// the list of changes of the transaction, and the texts of the duplicates that
    /// --show-duplicates prints. Not included in any load: the fingerprint of a long text, 25 to 40
    /// times its bytes; a row group of Parquet; the dictionary of jieba.
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GiB",
        value_parser = parse_memory,
        help_heading = "Resources"
    )]
    pub memory: u64,

    /// The number of threads that compute fingerprints [default: all cores]
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

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub progress: ProgressMode,

    #[command(flatten, next_help_heading = "Output")]
    pub overwrite: Overwrite,
}

impl Options {
    /// Refuses options that contradict each other.
    pub fn check(&self) -> Result<()> {
        self.new.check()?;
        if self.rejects.is_some() && self.on_error != OnError::Skip {
            bail!(
                "--rejects lists the records that are left out, so it needs --on-error skip; \
                 otherwise the first bad record ends the command"
            );
        }
        if self.stdout_reports() == 2 {
            bail!("--duplicates and --rejects cannot both go to standard output; name a file");
        }
        Ok(())
    }

    /// The number of reports that go to standard output.
    pub fn stdout_reports(&self) -> usize {
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
  simdb-load pages.simdb recrawl.jsonl --key url --on-exists replace
  zcat big.jsonl.gz | simdb-load big.simdb - --memory 8GiB --json
";

const DETAILS: &str = "\
Formats:
  jsonl   one JSON object a line (.jsonl, .ndjson, .json); blank lines are skipped
  csv     a line of column names, then records quoted as in RFC 4180 (.csv)
  tsv     a line of column names, then records separated by tabs, never quoted (.tsv, .tab)
  lines   the text is the line, the id its number (.txt, .lines); blank lines are skipped, but count
  raw     little-endian u64 pairs, document id and fingerprint, 16 bytes each (.raw)
  npy     a one-dimensional NumPy array of fingerprints, <u8 or <i8 (.npy); the ids count up from
          --first-id, or are in the array --ids
  parquet columns of Parquet (.parquet): ids are integers or strings of digits, texts are strings,
          fingerprints INT64 or hexadecimal strings, times timestamps, numbers or strings; a.b names
          column b of struct a. A null id or text is a bad record. Exports of simdb-cli are known by
          their metadata: the database must have their recipe, and a new database gets it

Summary (--json): read = inserted + duplicates + present + expired + rejected
  read                  documents and bad records in the inputs
  inserted              documents that are new in the database
  duplicates            documents dropped by --unique
  replaced              stored documents removed by --on-extended replace, or replaced by
                        --on-exists; the new documents count as inserted
  rejected              records left out by --on-error skip
  present               documents stored before with the same id and fingerprint, documents
                        whose key or id is the key or id of a copy that was refused before, and
                        documents whose stored document is left by --on-exists
  expired               documents that arrived before the retention window
  unreliable            documents whose text is too short, or repeats one phrase: --unique RADIUS
                        drops only equal texts, of one load without keys or times, or in a
                        database with --similar; --unique similar
                        drops equal texts, and similar ones if longer runs of letters tell them
                        apart
  seconds, documents_per_second, file_bytes

Lines of --duplicates:  id (null beside the key with --key), fingerprint, duplicate_of (with --key also duplicate_of_key), distance, file, line, byte, row, text, and
                        with --unique similar edit_similarity (null for very long texts), jaccard,
                        containment (same or a_in_b), missing_in_b and missing_in_a, the words and
                        weights that the kept text B and the dropped text A lack. A document that
                        --on-extended replace has removed: the record that replaced it, and no text
Lines of --rejects:     file, line, byte, row, id, reason
  --duplicates appears when the load has succeeded, --rejects also if all records are bad; with --force they replace existing files.
  line counts from 1. Records of raw have byte, an offset, instead; records of npy and parquet have
  row, counted from 0. Unknown values are null.

Exit codes: 0 loaded, also if --on-error skip left records out; 2 not loaded, or loaded but a
report, the shown duplicates or the summary could not be written: the error names it.
";
