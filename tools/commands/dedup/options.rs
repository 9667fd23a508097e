//! The command line of `simdb-cli dedup`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use simdb::DocId;
use simdb::join::{Scope, SimilarJoin};

use super::block_options::{BlockOptions, DECISION_OPTIONS};
use crate::commands::clusters::options::{ClusterOptions, KeepRule};
use crate::console::interrupt::Interrupt;
use crate::console::parse_memory;
use crate::console::paths::Overwrite;
use crate::console::progress::ProgressMode;
use crate::corpus::inputs::Input;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::records::InputRecords;
use crate::formats::copy::MarkNames;
use crate::formats::id_sequence::IdSequence;
use crate::formats::{DocumentFields, Format, Wanted, parse_id};
use crate::options::{FieldNames, OnError, RecipeOptions};

/// Copies a corpus without its near-duplicates, or marks them
///
/// Records are copied byte for byte, in order. A document is left out if the text of a document that
/// is kept says all that its text says, as `simdb-cli compare` decides: names, numbers and negations
/// keep texts apart. With --mark it is copied with the id of its keeper and the distance of their
/// fingerprints. A text that says too little to be compared (a number, a single word) is left out for a
/// text with the same wording only.
///
/// --strict, --radius, --shape and --verify compare fingerprints, as `simdb-cli clusters` does: faster,
/// and blind to the difference of a name. So do inputs of fingerprints without texts.
///
/// --lines and --paragraphs cut repeated blocks out of the texts instead, and copy every record.
/// --ignore-repeated-paragraphs compares texts without such paragraphs.
///
/// --against first leaves out documents that are within the radius of a document in a database,
/// then near-duplicates among the remaining documents. --add puts the kept documents into that
/// database.
///
/// Parquet rows are copied with all their columns and their compression. An INPUT may be a
/// folder: its files named .parquet are read, in order of their names. If OUTPUT ends in .parquet,
/// the output is one file, and all inputs must have the same columns. If OUTPUT has no extension,
/// the output is a folder with a file for each input, of the same name; then inputs may differ in
/// columns that are not read.
///
/// The inputs are read twice; standard input and pipes are copied beside OUTPUT first. All inputs
/// must have one format, and tables the same columns. A document is identified by its id: a record
/// with the id of an earlier record is a duplicate if the fingerprints are equal, and a bad record
/// otherwise.
///
/// --clusters takes the decisions from clusters that were found elsewhere: of the whole corpus in a
/// database, or by Spark. Documents of the clusters that are not in the inputs are counted on
/// standard error.
///
/// Formats: jsonl (.jsonl, .ndjson, .json), csv (.csv), tsv (.tsv, .tab), lines (.txt, .lines) and
/// parquet (.parquet), all but the last also as .gz and .zst; `simdb-load --help` describes each.
/// raw and npy hold fingerprints only and cannot be copied.
///
/// The counts are printed on standard output; --json prints them as one line of JSON. --report
/// writes a line for each document that is left out or marked, with a certificate:
/// {"id":7,"keeper":1,"distance":2,"cluster":1,"against":false,"file":"a.jsonl","line":7,
/// "verdict":"a_in_b","missing":[["today",2.1]],"text_hash":"...","keeper_hash":"...",
/// "weights":"builtin ...","keeper_file":"a.jsonl","keeper_line":1}. "verdict" says what the removed
/// text, A, and the text of the keeper, B, say: same or a_in_b if nothing is lost. "missing" are the
/// words that the keeper does not say, in nats; hashes are the xxh3_64 of the texts; "weights" are the
/// weights of words and the checksum of their table. `simdb-cli check-report` proves each line again.
/// For Parquet, "line" and "keeper_line" are null, and "row" and "keeper_row" are added. "cluster" is
/// the smallest id of the cluster, or null if the keeper is in the database of --against. "distance" is
/// null if it is unknown, because the keeper is not in the inputs; "verdict" is null if a text is
/// unknown.
///
/// OUTPUT appears when it is complete. A run that is killed may leave hidden files and folders,
/// .simdb-* and .OUTPUT.XXXX.new, beside it, and OUTPUT.checkpoint, from which its command continues. Memory beside --memory: 60 bytes for each document,
/// some 150 bytes for each document with a near-duplicate, 24 bytes for each document with --score,
/// --within or --across, and, if ids are repeated, 16 bytes for every document. By fingerprints, 24
/// bytes for each pair of different fingerprints.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli dedup news.jsonl.gz -o kept.jsonl.zst --report removed.jsonl
  simdb-cli dedup a.csv b.csv -o marked.csv --mark --keep longest
  simdb-cli dedup posts.jsonl -o best.jsonl --score votes --no-id
  simdb-cli dedup pages.jsonl -o kept.jsonl --strict
  simdb-cli dedup mails.csv -o kept.csv --within tenant
  simdb-cli dedup pages.jsonl -o cut.jsonl --paragraphs --report boilerplate.jsonl
  simdb-cli dedup pages.jsonl -o kept.jsonl --ignore-repeated-paragraphs
  simdb-cli dedup crawl/ -o kept.parquet
  simdb-cli dedup crawl/ more.parquet -o kept/ --report removed.jsonl
  simdb-cli dedup today.jsonl -o new.jsonl --against all.simdb --add
  simdb-cli dedup shard-07.jsonl -o kept-07.jsonl --clusters clusters.parquet")]
pub struct Dedup {
    /// Files of documents, read in this order, and folders of Parquet files; `-` is standard input.
    /// .gz and .zst are decompressed
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,

    /// The new file, compressed if its name ends in .gz or .zst; for Parquet a new file or folder
    #[arg(long, short, value_name = "OUTPUT")]
    pub(super) output: PathBuf,

    /// The format of the inputs: jsonl, csv, tsv, lines or parquet [default: by the extension of
    /// each; standard input: jsonl]
    #[arg(long, value_enum, help_heading = "Input")]
    pub(super) format: Option<Format>,

    #[command(flatten)]
    pub(super) fields: FieldNames,

    /// The records have no ids: the id of a record is its number, counted over all inputs
    #[arg(long, conflicts_with = "id", help_heading = "Input")]
    pub(super) no_id: bool,

    /// The id of the first line in the format `lines`, or of the first record with --no-id; later
    /// ids count up, over all inputs
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
    pub(super) blocks: BlockOptions,

    #[command(flatten)]
    pub(super) clustering: ClusterOptions,

    /// Compare fingerprints alone, as with --radius, --shape or --verify
    ///
    /// Takes a fraction of the time, finds a sixth to nearly half of edited copies, and also removes
    /// texts of one template that differ in a name.
    #[arg(long, help_heading = "Duplicates")]
    pub(super) strict: bool,

    /// Compare only documents with one value in this field or column: a tenant, a source, a language
    ///
    /// The value is a string or a number. Equal texts with different values all stay.
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "across",
        help_heading = "Duplicates"
    )]
    pub(super) within: Option<String>,

    /// Compare only documents with different values in this field or column
    ///
    /// Equal texts with one value all stay, or are all left out for a document with another value.
    #[arg(long, value_name = "FIELD", help_heading = "Duplicates")]
    pub(super) across: Option<String>,

    /// The document of a cluster to keep; of equal documents the document with the smallest id
    ///
    /// One of the documents whose texts say all that the others of the cluster say. If only the longest
    /// text does, that text is kept. `oldest` compares the field of --time.
    #[arg(long, value_enum, default_value_t, help_heading = "Duplicates")]
    pub(super) keep: KeepRule,

    /// Keep the document with the highest number in this field or column, instead of --keep
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "keep",
        help_heading = "Duplicates"
    )]
    pub(super) score: Option<String>,

    /// Leave out the members of these clusters, instead of a search: a file of CSV or Parquet, or a
    /// folder of Parquet files, with the columns doc_id and keeper, as `simdb-cli clusters` and Spark
    /// write them
    ///
    /// A keeper may be missing from the inputs, for example if a corpus is deduplicated in parts.
    /// Memory: 16 bytes for each document of the clusters.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "within",
        conflicts_with_all = DECISION_OPTIONS,
        help_heading = "Duplicates"
    )]
    pub(super) clusters: Option<PathBuf>,

    /// Also leave out near-duplicates of the documents in this database
    ///
    /// --contained-up-to compares the inputs with each other only.
    #[arg(long, value_name = "DATABASE", help_heading = "Duplicates")]
    pub(super) against: Option<PathBuf>,

    /// Add the kept documents to the database of --against
    #[arg(long, requires = "against", help_heading = "Duplicates")]
    pub(super) add: bool,

    /// Copy all documents, with two added fields or columns: the id of the keeper, and the distance
    /// from the keeper; both are null or empty for a document that is kept
    #[arg(long, help_heading = "Output")]
    pub(super) mark: bool,

    /// The field or column of --mark for the id of the keeper
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "keeper",
        help_heading = "Output"
    )]
    pub(super) keeper_field: String,

    /// The field or column of --mark for the distance
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "distance",
        help_heading = "Output"
    )]
    pub(super) distance_field: String,

    /// Write a line of JSON for each document that is left out or marked to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,

    /// Stop at a bad record, or at an id that is taken by another fingerprint, or leave the record
    /// out
    #[arg(long, value_enum, default_value_t = OnError::Abort, help_heading = "Errors")]
    pub(super) on_error: OnError,

    /// Write each record that `--on-error skip` leaves out to this file, as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "Errors")]
    pub(super) rejects: Option<PathBuf>,

    /// The memory for loading, at least 64MiB
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

    /// Save the decisions about texts this often in OUTPUT.checkpoint
    ///
    /// If a run is interrupted or killed, its command continues from there when it is repeated: the inputs
    /// are loaded again, and texts that are decided are not compared again. Other inputs or options are an
    /// error. The file takes 4 bytes for each text, and is removed when OUTPUT is complete.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        help_heading = "Resources"
    )]
    pub(super) checkpoint_every: u64,

    /// Print the summary as one line of JSON
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(super) progress: ProgressMode,

    #[command(flatten, next_help_heading = "Output")]
    pub(super) overwrite: Overwrite,
}

impl Dedup {
    pub(super) fn wanted(&self) -> Result<Wanted> {
        Ok(Wanted {
            fields: self.document_fields()?,
            counted: Some(IdSequence::new(self.first_id)),
            ids: None,
        })
    }

    /// Ids and texts alone, as `check-report` reads them.
    pub(super) fn wanted_texts(&self) -> Result<Wanted> {
        let wanted = self.wanted()?;
        Ok(Wanted {
            fields: DocumentFields {
                score: None,
                ..wanted.fields
            },
            ..wanted
        })
    }

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
        let group = self.group_field();
        if self.score.is_some() && others.contains(&self.score.as_ref()) {
            bail!("--score must name a field of its own");
        }
        if group.is_some() && (others.contains(&group) || group == self.score.as_ref()) {
            bail!("--within and --across must name a field of their own");
        }
        Ok(DocumentFields {
            score: self.score.clone(),
            group: group.cloned(),
            ..fields
        })
    }

    /// The field of `--within` or `--across`.
    pub(super) fn group_field(&self) -> Option<&String> {
        self.within.as_ref().or(self.across.as_ref())
    }

    /// Returns `true` if texts decide, and `false` if fingerprints do.
    pub(super) fn compares_texts(&self) -> bool {
        let is_strict = self.strict || self.clustering.names_fingerprints();
        !is_strict && self.clusters.is_none() && self.reads_texts()
    }

    /// The rules by which all texts are compared, with the groups of documents.
    pub(super) fn join<'g>(&self, group: &'g (dyn Fn(DocId) -> u64 + Sync)) -> SimilarJoin<'g> {
        let mut join = self.clustering.join();
        if self.within.is_some() {
            join.scope = Scope::Within(group);
        } else if self.across.is_some() {
            join.scope = Scope::Across(group);
        }
        // The cache of the database takes the other half.
        let bytes = MemoryBudget::new(self.memory).cache_bytes();
        join.memory_bytes = bytes;
        join
    }

    /// The least time between two checkpoints.
    pub(super) fn checkpoint_interval(&self) -> Duration {
        Duration::from_secs(self.checkpoint_every)
    }

    /// Returns `true` if the records have texts.
    pub(super) fn reads_texts(&self) -> bool {
        self.fields.fingerprint.is_none() || self.fields.text.is_some()
    }

    /// The records of inputs, with progress as the options say.
    pub(super) fn records<'r>(
        &self,
        inputs: &'r [Input],
        wanted: &'r Wanted,
        interrupt: &'r Interrupt,
    ) -> InputRecords<'r> {
        InputRecords {
            inputs,
            wanted,
            progress: self.progress,
            interrupt,
        }
    }

    /// The field of the texts.
    pub(super) fn text_field(&self) -> String {
        self.fields
            .text
            .clone()
            .unwrap_or_else(|| "text".to_owned())
    }

    /// The names of the fields of marks; `None` if duplicates are left out.
    pub(super) fn marks(&self) -> Option<MarkNames<'_>> {
        self.mark
            .then_some([&self.keeper_field, &self.distance_field])
    }
}
