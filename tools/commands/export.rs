//! `simdb-cli export`: all documents in a format that `simdb-load` reads.

mod npy;
mod parquet;
mod rows;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use simdb::{Document, Settings, Snapshot};

use self::npy::NpyFolder;
use self::parquet::{ParquetDocuments, ParquetFolder};
use self::rows::{csv_header, csv_record, json_line, raw_pair};
use super::open_to_read;
use super::results::write_output;
use crate::console::file::NewFolder;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, OutputPaths, Overwrite, is_stdout};
use crate::console::progress::Progress;
use crate::console::{Answer, Output, counted, note};
use crate::formats::parquet::write::ByteSink;
use crate::formats::{Format, refuse_other_name};
use crate::options::RecipeOptions;

/// Writes all documents, in the order of their ids, in a format that simdb-load reads
///
/// jsonl: objects with id, fingerprint, reliable, arrival and text; the last two are null if they
/// are not kept.
/// csv: the columns id, fingerprint and reliable, and arrival and text if the database keeps them.
/// raw: little-endian u64 pairs, document id and fingerprint.
/// npy: a folder (-o) with two arrays of NumPy, ids.npy and fingerprints.npy, both <u8 and in the same
/// order.
/// parquet: the columns doc_id and fingerprint, INT64, required, the bits as they are, so that what is
/// 2^63 or more is negative; and beside the schema the recipe, which simdb-load compares. With -o NAME
/// they go to a new folder of files part-00000.parquet and so on, of at most 16777216 documents each; with
/// -o NAME.parquet, or to standard output, to one file.
///
/// In raw, npy and parquet, documents whose fingerprints say nothing cannot be marked, so they are left
/// out, and counted on standard error; --with-unreliable gives parquet a column for it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli export news.simdb > news.jsonl
  simdb-cli export news.simdb --format raw -o news.raw
  simdb-cli export news.simdb --format parquet -o news-parquet
  simdb-cli export old.simdb | simdb-load new.simdb - --fingerprint fingerprint")]
pub struct Export {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// The format of the documents
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,

    /// In parquet, write also the documents whose fingerprints say nothing, and a third column,
    /// `reliable`, that is false for them
    #[arg(long)]
    with_unreliable: bool,

    /// Write to this new file or folder, which appears when it is whole, or to a pipe [default:
    /// standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// Show progress on standard error, if the output is a file or a folder
    #[arg(long, value_enum, default_value_t)]
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// JSON Lines.
    #[default]
    Jsonl,
    /// Comma-separated values.
    Csv,
    /// Pairs of u64.
    Raw,
    /// Arrays of NumPy.
    Npy,
    /// Columns of Parquet.
    Parquet,
}

impl Export {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        ensure!(
            !self.with_unreliable || self.format == ExportFormat::Parquet,
            "--with-unreliable goes with --format parquet; jsonl and csv mark them anyhow"
        );
        let target = self.target()?;
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let documents = ExportedDocuments {
            options: self,
            settings: database.settings(),
            bar: match &target {
                Some(target) if target.is_file() => self.progress.work(),
                _ => ProgressBar::hidden(),
            },
            snapshot,
        };
        documents.bar.set_prefix("exporting");
        documents.bar.set_length(documents.snapshot.len()?);
        let written = match target {
            Some(target) if target.is_file() && self.format.is_folder(target.path()) => {
                documents.write_folder(target)
            }
            _ if self.format == ExportFormat::Npy => {
                bail!("npy has two files; name a new folder for them with -o")
            }
            target => write_output(target, self.format.into(), output, |sink, interrupt| {
                documents.write_file(sink, interrupt)
            }),
        };
        documents.bar.finish_and_clear();
        written?;
        Ok(Answer::Yes)
    }

    /// The output that is named, unless that is standard output.
    fn target(&self) -> Result<Option<OutputPath>> {
        let Some(path) = self.output.as_deref().filter(|path| !is_stdout(path)) else {
            return Ok(None);
        };
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(&self.database, "the database");
        let is_npy = self.format == ExportFormat::Npy;
        let target = if self.format.is_folder(path) {
            paths.folder("--output", path, if is_npy { "npy" } else { "parquet" })?
        } else {
            paths.file("--output", path)?
        };
        if target.is_file() {
            refuse_other_name(path, self.format.into())?;
        }
        Ok(Some(target))
    }
}

/// The documents that are exported.
struct ExportedDocuments<'e> {
    options: &'e Export,
    settings: &'e Settings,
    snapshot: Snapshot,
    bar: ProgressBar,
}

/// The number of documents between two updates of the bar.
const DOCUMENTS_PER_UPDATE: u64 = 1 << 14;

impl ExportedDocuments<'_> {
    /// Writes a folder, which gets its name when all of its files are whole.
    fn write_folder(&self, target: OutputPath) -> Result<()> {
        let interrupt = Interrupt::listen()?;
        let folder = NewFolder::create(target)?;
        if self.options.format == ExportFormat::Npy {
            let mut arrays = NpyFolder::new(&folder)?;
            self.for_each(&interrupt, &mut |document| arrays.push(document))?;
            arrays.finish()?;
        } else {
            let with_unreliable = self.options.with_unreliable;
            let mut parts = ParquetFolder::new(&folder, &self.settings.recipe, with_unreliable);
            self.for_each(&interrupt, &mut |document| parts.push(document))?;
            parts.finish()?;
        }
        interrupt.check()?;
        folder.publish()
    }

    /// Writes the bytes of a file.
    fn write_file(&self, sink: &mut ByteSink<'_>, interrupt: &Interrupt) -> Result<()> {
        match self.options.format {
            ExportFormat::Csv => {
                sink(&csv_header(self.settings)?)?;
                self.for_each(interrupt, &mut |document| {
                    sink(&csv_record(document, self.settings)?)
                })
            }
            ExportFormat::Raw => {
                self.for_each(interrupt, &mut |document| sink(&raw_pair(document)))
            }
            ExportFormat::Parquet => {
                let with_unreliable = self.options.with_unreliable;
                let mut file = ParquetDocuments::new(&self.settings.recipe, with_unreliable)?;
                self.for_each(interrupt, &mut |document| file.push(document, sink))?;
                file.finish(sink)
            }
            // Arrays are never one file.
            ExportFormat::Jsonl | ExportFormat::Npy => {
                self.for_each(interrupt, &mut |document| sink(&json_line(document)?))
            }
        }
    }

    /// Hands over the documents. Those whose fingerprints are not reliable are left out and counted if
    /// the format cannot mark them.
    fn for_each(
        &self,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(&Document) -> Result<()>,
    ) -> Result<()> {
        let format = self.options.format;
        let takes_all = self.options.with_unreliable
            || matches!(format, ExportFormat::Jsonl | ExportFormat::Csv);
        let mut left_out = 0;
        for (index, document) in (0_u64..).zip(self.snapshot.documents()) {
            interrupt.check()?;
            if index.is_multiple_of(DOCUMENTS_PER_UPDATE) {
                self.bar.set_position(index);
            }
            let document = document?;
            if takes_all || document.reliable {
                take(&document)?;
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            note(format_args!(
                "left out {}, whose fingerprints say nothing; {}",
                counted(left_out, "document"),
                match format {
                    ExportFormat::Parquet => "--with-unreliable keeps them",
                    _ => "jsonl and csv keep them",
                }
            ));
        }
        Ok(())
    }
}

impl ExportFormat {
    /// Returns `true` if an output of this name is a folder.
    fn is_folder(self, path: &Path) -> bool {
        match self {
            Self::Npy => true,
            Self::Parquet => path.extension().is_none_or(|ending| ending != "parquet"),
            _ => false,
        }
    }
}

impl From<ExportFormat> for Format {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Jsonl => Self::Jsonl,
            ExportFormat::Csv => Self::Csv,
            ExportFormat::Raw => Self::Raw,
            ExportFormat::Npy => Self::Npy,
            ExportFormat::Parquet => Self::Parquet,
        }
    }
}
