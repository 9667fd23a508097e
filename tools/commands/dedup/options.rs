//! The command line of `simdb-cli dedup`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use indicatif::ProgressBar;

use crate::commands::clusters::options::{ClusterOptions, KeepRule};
use crate::console::parse_memory;
use crate::console::paths::Overwrite;
use crate::console::progress::Progress;
use crate::corpus::inputs::Input;
use crate::formats::copy::MarkNames;
use crate::formats::id_sequence::IdSequence;
use crate::formats::{DocumentFields, Format, Wanted, parse_id};
use crate::options::{FieldNames, OnError, RecipeOptions};

/// Copies a corpus and leaves out near-duplicates, or marks them
///
/// Records are copied byte for byte and in their order. Of near-duplicates one is kept, by --keep; the
/// others are left out, or, with --mark, copied with the id of the document that was kept for them and
/// their distance from it. --radius and --shape say what near-duplicates are, as for `simdb-cli
/// clusters`. What says too little to be told from others (a number, a single word) is kept, and
/// counted.
///
/// With --against, a document that is within the radius of one that a database holds is left out
/// first, and what is left is compared with itself. --add puts what is kept into that database.
///
/// Of Parquet all columns of the rows that are kept are copied, packed as they were; an INPUT may also
/// be a folder, of which the files named .parquet are read, by name. If OUTPUT ends in .parquet, it is
/// one file, and all inputs must have the same columns. If it has no extension, it is a folder with a
/// file for each input, of the same name; there only the columns that are read must be in each.
///
/// The inputs are read twice, from standard input and pipes by way of a copy beside OUTPUT; all must be
/// of one format, tables with the same columns. A document is known by its id: a record with the id of
/// an earlier one and the same fingerprint is its duplicate, one with another fingerprint is a bad
/// record.
///
/// With --clusters, clusters that were found elsewhere decide: of the whole corpus in a database, or by
/// Spark. Their documents that are not in the inputs are counted on standard error.
///
/// The counts are printed on standard output; --json makes that a line. --report writes a line
/// {"id":7,"keeper":1,"distance":2,"cluster":1,"against":false,"file":"a.jsonl","line":7} for each
/// document that was left out or marked, of Parquet with a "row" beside an empty "line"; "cluster" is
/// the smallest id of its group, and null where the keeper is in the database of --against. A distance
/// that is not known, from a keeper that is not in the inputs, is null.
///
/// OUTPUT appears when it is whole. A run that is killed may leave hidden files and folders, .simdb-*
/// and .OUTPUT.XXXX.new, beside it. Memory grows with the documents that have a near-duplicate, by
/// some 150 bytes for each, and 24 for each pair of different fingerprints; where ids are repeated,
/// by 16 bytes for every document.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli dedup news.jsonl.gz -o kept.jsonl.zst --report removed.jsonl
  simdb-cli dedup a.csv b.csv -o marked.csv --mark --keep longest
  simdb-cli dedup posts.jsonl -o best.jsonl --score votes --no-id
  simdb-cli dedup pages.jsonl -o kept.jsonl --radius 8 --verify
  simdb-cli dedup crawl/ -o kept.parquet
  simdb-cli dedup crawl/ more.parquet -o kept/ --report removed.jsonl
  simdb-cli dedup today.jsonl -o new.jsonl --against all.simdb --add
  simdb-cli dedup shard-07.jsonl -o kept-07.jsonl --clusters clusters.parquet")]
pub struct Dedup {
    /// Files of documents, in this order, and folders of Parquet files; `-` is standard input. .gz
    /// and .zst are read through
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,

    /// The new file; it is compressed if its name ends in .gz or .zst. Of Parquet also a new folder
    #[arg(long, short, value_name = "OUTPUT")]
    pub(super) output: PathBuf,

    /// The format of the inputs: jsonl, csv, tsv, lines or parquet [default: by the extension of each;
    /// standard input: jsonl]
    #[arg(long, value_enum, help_heading = "Input")]
    pub(super) format: Option<Format>,

    #[command(flatten)]
    pub(super) fields: FieldNames,

    /// The records have no ids: each is known by its number, counted over all inputs
    #[arg(long, conflicts_with = "id", help_heading = "Input")]
    pub(super) no_id: bool,

    /// The id of the first line, for the format `lines`, or of the first record with --no-id; the
    /// others count up from there, over all inputs
    #[arg(
        long,
        value_name = "ID",
        value_parser = parse_id,
        default_value_t = 1,
        help_heading = "Input"
    )]
    pub(super) first_id: u64,

    #[command(flatten)]
    pub(super) recipe: RecipeOptions,

    #[command(flatten)]
    pub(super) clustering: ClusterOptions,

    /// The one of several near-duplicates that is kept; of equals the one with the smallest id
    ///
    /// `oldest` goes by the field of --time.
    #[arg(long, value_enum, default_value_t, help_heading = "Duplicates")]
    pub(super) keep: KeepRule,

    /// Keep the one with the highest number in this field or column instead
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "keep",
        help_heading = "Duplicates"
    )]
    pub(super) score: Option<String>,

    /// Leave out what these clusters leave out, which were found elsewhere, instead of finding any:
    /// what `simdb-cli clusters` has written (.jsonl, .csv, .parquet), or a folder of Parquet files
    /// with the columns doc_id, keeper, cluster and distance
    ///
    /// A keeper may be among documents that are not given, as where a corpus is deduplicated part by
    /// part. Where both are given, their distance must be what the clusters say: otherwise these are
    /// of another corpus or recipe, which is an error. Memory: 32 bytes for each of their documents.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = [
            "radius",
            "shape",
            "cap",
            "verify",
            "edit_similarity",
            "jaccard",
            "keep",
            "score",
            "against",
        ],
        help_heading = "Duplicates"
    )]
    pub(super) clusters: Option<PathBuf>,

    /// Leave out what is near a document of this database, too
    #[arg(long, value_name = "DATABASE", help_heading = "Duplicates")]
    pub(super) against: Option<PathBuf>,

    /// Put the documents that are kept into the database of --against
    #[arg(long, requires = "against", help_heading = "Duplicates")]
    pub(super) add: bool,

    /// Copy all documents, each with two more fields or columns: the id of the document that is kept
    /// for it, and the distance from that; null or empty for one that is kept
    #[arg(long, help_heading = "Output")]
    pub(super) mark: bool,

    /// The name that --mark gives to the id of the document that is kept
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "keeper",
        help_heading = "Output"
    )]
    pub(super) keeper_field: String,

    /// The name that --mark gives to the distance
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "distance",
        help_heading = "Output"
    )]
    pub(super) distance_field: String,

    /// Write a line of JSON for each duplicate to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,

    /// Stop at a bad record, or at an id that is taken by another fingerprint, or leave it out
    #[arg(long, value_enum, default_value_t = OnError::Abort, help_heading = "Errors")]
    pub(super) on_error: OnError,

    /// Write each record left out by `--on-error skip` to this file as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "Errors")]
    pub(super) rejects: Option<PathBuf>,

    /// The memory to use for loading, at least 64MiB
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GiB",
        value_parser = parse_memory,
        help_heading = "Resources"
    )]
    pub(super) memory: u64,

    /// The number of threads that make fingerprints [default: all cores]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024),
        help_heading = "Resources"
    )]
    pub(super) threads: Option<u16>,

    /// Print the summary as one line of JSON
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(super) progress: Progress,

    #[command(flatten, next_help_heading = "Output")]
    pub(super) overwrite: Overwrite,
}

impl Dedup {
    /// The parts of records that are read.
    pub(super) fn wanted(&self) -> Result<Wanted> {
        Ok(Wanted {
            fields: self.document_fields()?,
            counted: Some(IdSequence::new(self.first_id)),
            ids: None,
        })
    }

    /// The names of the fields or columns of documents.
    pub(super) fn document_fields(&self) -> Result<DocumentFields> {
        let fields = DocumentFields {
            are_counted: self.no_id,
            ..self.fields.fields()?
        };
        let others = [
            Some(&fields.id).filter(|_| !self.no_id),
            fields.text.as_ref(),
            fields.fingerprint.as_ref(),
            fields.time.as_ref(),
        ];
        if self.score.is_some() && others.contains(&self.score.as_ref()) {
            bail!("--score must name a field of its own");
        }
        Ok(DocumentFields {
            score: self.score.clone(),
            ..fields
        })
    }

    /// The names of the fields of marks; `None` if duplicates are left out.
    pub(super) fn marks(&self) -> Option<MarkNames<'_>> {
        self.mark
            .then_some([&self.keeper_field, &self.distance_field])
    }

    /// A progress bar over the bytes of the inputs.
    pub(super) fn input_bar(&self, inputs: &[Input], prefix: &'static str) -> ProgressBar {
        let sizes = inputs.iter().map(|input| input.source.size_bytes());
        let bar = self.progress.bytes(sizes.sum());
        bar.set_prefix(prefix);
        bar
    }
}
