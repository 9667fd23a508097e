//! The command line of `simdb-cli dedup`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;
use simdb::DocId;
use simdb::join::{Groups, SimilarJoin};

use crate::commands::clusters::options::{ClusterOptions, KeepRule};
use crate::commands::corpus_copy::CopyOptions;
use crate::console::parse_memory;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::uncompared::UncomparedRule;
use crate::formats::copy::{AddedField, AddedKind};
use crate::formats::{DocumentFields, Textless, Wanted};
use crate::options::{OnBadRecord, RecipeOptions};

/// Copies a corpus without its near-duplicates, or marks them
///
/// Records are copied byte for byte, in order. A document is left out if the text of a document
/// that is kept covers its text, as `simdb-cli compare` decides: names, numbers and negations keep
/// texts apart. With --mark it is copied with the id of its keeper and the distance of their
/// fingerprints. A text with too little content to be compared (a number, a single word) is left
/// out for a text with the same wording only.
///
/// --radius, --shape and --verify compare fingerprints, as `simdb-cli clusters` does: faster, and
/// blind to the difference of a name. So do inputs of fingerprints without texts.
///
/// --ignore-repeated-paragraphs compares texts without the paragraphs that many documents have, and
/// --ignore-frames without lines and sentences at their ends; `simdb-cli cut` removes paragraphs
/// from the texts.
///
/// --against first leaves out near-duplicates of the documents in a database, by texts or by
/// fingerprints as the other options say, then near-duplicates among the remaining documents. --add
/// puts the kept documents into that database.
///
/// --with-copies writes how many documents were left out for each kept document. A database
/// continues the counts of a corpus that is deduplicated dump by dump: after each run, `simdb-load
/// DATABASE OUTPUT --unique similar --copies 16 --copies-from copies,first_seen,last_seen` adds the
/// kept documents. A document whose text a stored text covers is counted as a copy, together with
/// its own copies. `simdb-cli export DATABASE` writes the corpus with all counts.
///
/// Parquet rows are copied with all their columns and their compression. An INPUT may be a
/// folder: its files named .parquet are read, in order of their names. If OUTPUT ends in .parquet,
/// the output is one file, and all inputs must have the same columns. If OUTPUT has no extension,
/// the output is a folder with a file for each input, of the same name; then inputs may differ in
/// columns that are not read.
///
/// The inputs are read twice; standard input and pipes, but no Parquet, are copied beside OUTPUT
/// first. All inputs must have one format, and tables the same columns. If two records have one id,
/// as where the ids of several files restart, all documents are numbered by their place in the
/// inputs instead, as by --no-id, and a note says so: marks and reports name these numbers. A
/// record without a text duplicates nothing: see --on-error.
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
/// "verdict":"a_in_b","missing":[],"forgiven":[["colour","color","form"]],"text_hash":"...","keeper_hash":"...",
/// "weights":"builtin ...","keeper_file":"a.jsonl","keeper_line":1}. "verdict" is about the removed
/// text, A, and the text of the keeper, B: same or a_in_b if nothing is lost. "missing" are the
/// words that the keeper lacks, in nats; "forgiven" are the differences that the verdict forgives:
/// the token of A, the token of B, and the class that makes them equal; hashes are the xxh3_64 of
/// the texts; "weights" are the weights of words and the checksum of their table. `simdb-cli
/// check-report` proves each line again. For Parquet, "line" and "keeper_line" are null, and "row"
/// and "keeper_row" are added. "cluster" is the smallest id of the cluster (with --clusters the
/// keeper), or null if the keeper is in the database of --against. "distance" is null if it is
/// unknown, because the keeper is not in the inputs; "verdict" is null if a text is unknown.
///
/// OUTPUT appears when it is complete. A run that is killed may leave hidden files and folders,
/// .simdb-* and .OUTPUT.XXXX.new, beside it, and OUTPUT.checkpoint, from which its command
/// continues. Memory beside --memory: 60 bytes for each document, some 150 bytes for each document
/// with a near-duplicate, 80 bytes for each of them with --with-copies, 24 bytes for each document
/// with --score, --within or --across, and, if ids are repeated, 16 bytes for every document. By
/// fingerprints, 24 bytes for each pair of different fingerprints.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli dedup news.jsonl.gz -o kept.jsonl.zst --report removed.jsonl
  simdb-cli dedup a.csv b.csv -o marked.csv --mark --keep longest
  simdb-cli dedup news.jsonl -o kept.jsonl --report-html removed.html
  simdb-cli dedup posts.jsonl -o best.jsonl --score votes --no-id
  simdb-cli dedup pages.jsonl -o kept.jsonl --radius 3
  simdb-cli dedup mails.csv -o kept.csv --within tenant
  simdb-cli dedup pages.jsonl -o kept.jsonl --ignore-repeated-paragraphs
  simdb-cli dedup feed.jsonl -o kept.jsonl --ignore-frames --across source
  simdb-cli dedup crawl/ -o kept.parquet
  simdb-cli dedup crawl/ more.parquet -o kept/ --report removed.jsonl
  simdb-cli dedup today.jsonl -o new.jsonl --against all.simdb --add
  simdb-cli dedup dump.jsonl -o kept.jsonl --with-copies --time fetched
  simdb-cli dedup shard-07.jsonl -o kept-07.jsonl --clusters clusters.parquet")]
pub struct Dedup {
    #[command(flatten)]
    pub(super) copy: CopyOptions,

    #[command(flatten)]
    pub(super) recipe: RecipeOptions,

    #[command(flatten)]
    pub(super) clustering: ClusterOptions,

    /// Compare texts without the paragraphs that at least N documents have [default: 10]
    ///
    /// Finds bodies within other boilerplate: another site, a print view. The texts that are kept
    /// are copied whole. A document without another paragraph is compared whole. No paragraph is
    /// lost: a document stays if a paragraph that was not compared would otherwise be in no
    /// document that is kept. The paragraphs of an article with many copies are repeated too, so N
    /// should be larger than the number of copies of an article: leave those out first, by a run
    /// without this option.
    ///
    /// Repeated paragraphs that tell documents apart are not compared either, and documents that
    /// differ in nothing else are left out: `simdb-cli cut --paragraphs --in-documents N --report
    /// FILE` lists what is repeated.
    ///
    /// Each line of --report has "in_documents", and its verdict, words and hashes are about the
    /// texts that were compared; `simdb-cli check-report` counts the paragraphs again. The inputs
    /// are read two more times.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u64).range(2..),
        conflicts_with_all = ["against", "clusters", "within", "across"],
        help_heading = "Duplicates"
    )]
    pub(super) ignore_repeated_paragraphs: Option<u64>,

    /// Compare texts without the frames that at least N documents have [default: 10]
    ///
    /// A frame is a line or a sentence at the head or the tail of N documents with different
    /// bodies: the name of a site, a line of the editor, an advertisement. With --within or
    /// --across the documents of each value have frames of their own. Lines that tell documents
    /// apart are no frames: lines with a negation, and lines that share half of their words with
    /// another line at this end of many documents. `simdb-cli frames` lists the frames of a corpus.
    ///
    /// The texts that are kept are copied whole. Texts that differ in frames only cover each other,
    /// and --keep or --score selects the text that stays. Each line of --report has the frames of
    /// both texts; its verdict, words and hashes are about the texts without frames. The inputs are
    /// read one more time. With --against the texts of the database are counted too.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u64).range(2..),
        conflicts_with_all = ["clusters", "ignore_repeated_paragraphs"],
        help_heading = "Duplicates"
    )]
    pub(super) ignore_frames: Option<u64>,

    /// Compare only documents with one value in this field or column: a tenant, a source, a
    /// language
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
    /// One of the documents whose texts cover all others of the cluster. If only the longest text
    /// does, that text is kept. `oldest` compares the field of --time.
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
    /// folder of Parquet files, with the columns doc_id and keeper, as `simdb-cli clusters` and
    /// Spark write them
    ///
    /// A keeper may be missing from the inputs, for example if a corpus is deduplicated in parts.
    /// Memory: 16 bytes for each document of the clusters.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = DECISION_OPTIONS,
        help_heading = "Duplicates"
    )]
    pub(super) clusters: Option<PathBuf>,

    /// Also leave out near-duplicates of the documents in this database
    ///
    /// In a database without --similar, only texts with near fingerprints are found. With --radius,
    /// a text with too little content stays. --contained-up-to compares the inputs with each other
    /// only.
    #[arg(long, value_name = "DATABASE", help_heading = "Duplicates")]
    pub(super) against: Option<PathBuf>,

    /// Add the kept documents to the database of --against, which must not count copies
    #[arg(long, requires = "against", help_heading = "Duplicates")]
    pub(super) add: bool,

    /// Copy all documents, with two added fields or columns: the id of the keeper, and the distance
    /// from the keeper [default names: keeper,distance]
    ///
    /// Both are null or empty for a document that is kept. Parquet loses the Arrow schema beside
    /// its columns: dictionaries, durations and time zones are read as plain columns.
    #[arg(
        long,
        value_name = "KEEPER,DISTANCE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "keeper,distance",
        value_parser = parse_marks,
        help_heading = "Output"
    )]
    pub(super) mark: Option<[String; 2]>,

    /// Add the number of copies to each kept document: of the documents of the inputs that are left
    /// out for it. With --time, also the times of the first and the last copy [default names:
    /// copies,first_seen,last_seen]
    ///
    /// The number is exact. Without a copy the number is 0, and the times are null or empty. For a
    /// bad record, and a document that --mark marks, all three are null or empty. Times are RFC
    /// 3339, in Parquet timestamps, and Parquet loses the Arrow schema, as with --mark. `simdb-load
    /// --copies-from` reads these fields. A document that is left out for a document of --against
    /// is counted nowhere.
    #[arg(
        long,
        value_name = "COPIES,FIRST,LAST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "copies,first_seen,last_seen",
        value_parser = parse_copies,
        help_heading = "Output"
    )]
    pub(super) with_copies: Option<[String; 3]>,

    /// Write a page of HTML with removed documents beside their keepers, their differences marked
    ///
    /// At most 20 removals are shown for each size of loss, so that a person can look before the
    /// documents are deleted. The page needs nothing beside itself, and has texts of the inputs.
    /// The program simdb-serve makes it: see `simdb-cli serve --help`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) report_html: Option<PathBuf>,

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

    /// Save the decisions about texts this often in OUTPUT.checkpoint [default: 60]
    ///
    /// Saved between two batches of texts, which take seconds or, with many texts of one template,
    /// longer. If a run is interrupted or killed, its command continues from there when it is
    /// repeated: the inputs are loaded again, and texts that are decided are not compared again.
    /// Other inputs, or options that compare other texts, are an error. The file takes 4 bytes for
    /// each text, and is removed when OUTPUT is complete.
    #[arg(long, value_name = "SECONDS", help_heading = "Resources")]
    checkpoint_every: Option<u64>,
}

/// The options that define decisions, which `--clusters` replaces.
const DECISION_OPTIONS: [&str; 15] = [
    "recipe",
    "checkpoint_every",
    "within",
    "across",
    "decide",
    "radius",
    "shape",
    "cap",
    "verify",
    "edit_similarity",
    "jaccard",
    "contained_up_to",
    "keep",
    "score",
    "against",
];

/// The clap parser of `--mark`.
fn parse_marks(names: &str) -> Result<[String; 2], String> {
    match names.split_once(',') {
        Some((keeper, distance)) if keeper != distance => Ok([keeper.into(), distance.into()]),
        _ => Err("two different names with a comma between them are expected".to_owned()),
    }
}

/// The clap parser of `--with-copies`.
fn parse_copies(names: &str) -> Result<[String; 3], String> {
    let names: Vec<String> = names.split(',').map(str::to_owned).collect();
    match <[String; 3]>::try_from(names) {
        Ok([a, b, c]) if a != b && b != c && a != c => Ok([a, b, c]),
        _ => Err("three different names with commas between them are expected".to_owned()),
    }
}

impl Dedup {
    /// Refuses contradicting options.
    pub(super) fn check(&self) -> Result<()> {
        let compares_texts = self.compares_texts();
        self.clustering.check(compares_texts)?;
        if self.clustering.names_fingerprints() {
            self.clustering.refuse_unused_likeness()?;
        }
        for (option, is_given) in [
            ("--within and --across need", self.group_field().is_some()),
            (
                "--ignore-repeated-paragraphs needs",
                self.ignore_repeated_paragraphs.is_some(),
            ),
            ("--ignore-frames needs", self.ignore_frames.is_some()),
            ("--checkpoint-every needs", self.checkpoint_every.is_some()),
        ] {
            ensure!(
                compares_texts || !is_given,
                "{option} the comparison of texts, without --radius, --shape and --verify"
            );
        }
        ensure!(
            self.ignore_frames.is_none() || self.against.is_none() || self.group_field().is_none(),
            "--ignore-frames with --against counts all documents together; leave --within and \
             --across out"
        );
        let added: Vec<&str> = self.added().iter().map(|field| field.name).collect();
        ensure!(
            (1..added.len()).all(|index| !added[..index].contains(&added[index])),
            "--mark and --with-copies must name different fields"
        );
        self.copy.check()?;
        self.document_fields()?;
        let has_texts = self.copy.input.has_texts();
        if self.clustering.verify && !has_texts {
            bail!("--verify compares texts; name their field with --text");
        }
        if self.keep.measures_texts() && !has_texts {
            let keep = self.keep.keep();
            bail!("--keep {keep} measures texts; name their field with --text");
        }
        if self.keep == KeepRule::Oldest && self.copy.input.fields.time.is_none() {
            bail!("--keep oldest needs --time, the field that holds the time of arrival");
        }
        Ok(())
    }

    pub(super) fn wanted(&self) -> Result<Wanted> {
        Ok(self.copy.input.wanted(self.document_fields()?))
    }

    /// Ids and texts alone, as `check-report` reads them.
    pub(super) fn wanted_texts(&self) -> Result<Wanted> {
        let fields = DocumentFields {
            score: None,
            ..self.document_fields()?
        };
        Ok(self.copy.input.wanted(fields))
    }

    pub(super) fn document_fields(&self) -> Result<DocumentFields> {
        let fields = self.copy.input.document_fields()?;
        let others = [
            Some(&fields.id).filter(|_| !fields.are_counted),
            fields.fingerprint.as_ref(),
            fields.time.as_ref(),
        ];
        let others: Vec<_> = others
            .into_iter()
            .flatten()
            .chain(fields.text_names())
            .collect();
        let is_named = |name: &String| others.contains(&name);
        let group = self.group_field();
        if self.score.as_ref().is_some_and(is_named) {
            bail!("--score must name a field of its own");
        }
        if group.is_some_and(is_named) || group.is_some() && group == self.score.as_ref() {
            bail!("--within and --across must name a field of their own");
        }
        Ok(DocumentFields {
            score: self.score.clone(),
            group: group.cloned(),
            textless: self.textless(),
            ..fields
        })
    }

    /// A record without a text duplicates nothing.
    fn textless(&self) -> Textless {
        match self.copy.on_error {
            OnBadRecord::Abort => Textless::Empty,
            OnBadRecord::Skip | OnBadRecord::Keep => Textless::Missing,
        }
    }

    /// The field of `--within` or `--across`.
    pub(super) fn group_field(&self) -> Option<&String> {
        self.within.as_ref().or(self.across.as_ref())
    }

    /// Returns `true` if texts decide, and `false` if fingerprints do.
    pub(super) fn compares_texts(&self) -> bool {
        let names_fingerprints = self.clustering.names_fingerprints();
        !names_fingerprints && self.clusters.is_none() && self.copy.input.has_texts()
    }

    /// The rules by which all texts are compared, with the groups of documents.
    pub(super) fn join<'g>(&self, group: &'g (dyn Fn(DocId) -> u64 + Sync)) -> SimilarJoin<'g> {
        let mut join = self.clustering.join();
        if self.within.is_some() {
            join.groups = Groups::Within(group);
        } else if self.across.is_some() {
            join.groups = Groups::Across(group);
        }
        // The caches of the open databases take the rest.
        let memory = MemoryBudget::new(self.memory);
        join.memory_bytes = memory.cache_bytes();
        if self.against.is_none() {
            join.memory_bytes += memory.shared_cache_bytes();
        }
        join
    }

    /// The least time between two checkpoints.
    pub(super) fn checkpoint_interval(&self) -> Duration {
        Duration::from_secs(self.checkpoint_every.unwrap_or(60))
    }

    /// The kind of the parts that are not compared; `None` if texts are compared whole.
    pub(super) fn uncompared_rule(&self) -> Option<UncomparedRule> {
        let paragraphs = self
            .ignore_repeated_paragraphs
            .map(UncomparedRule::Paragraphs);
        paragraphs.or(self.ignore_frames.map(UncomparedRule::Frames))
    }

    /// The fields that are added to the records: of marks, then of copies.
    pub(super) fn added(&self) -> Vec<AddedField<'_>> {
        use AddedKind::{Long, Short, Time};
        let has_times = self.copy.input.fields.time.is_some();
        let marks = self.mark.iter().flatten().zip([Long, Short]);
        let marks = marks.map(|named| (named, "--mark=KEEPER,DISTANCE"));
        let copies = self.with_copies.iter().flatten().zip([Long, Time, Time]);
        let copies = copies
            .filter(|(_, kind)| has_times || *kind != Time)
            .map(|named| (named, "--with-copies=COPIES,FIRST,LAST"));
        let added = marks.chain(copies);
        added
            .map(|((name, kind), option)| AddedField { name, kind, option })
            .collect()
    }
}
