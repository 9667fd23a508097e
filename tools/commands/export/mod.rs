//! `simdb-cli export`: all documents in a format that `simdb-load` reads.

mod npy;
mod parquet;
mod rows;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use indicatif::ProgressBar;
use simdb::{Document, Settings};

use self::npy::NpyFolder;
use self::parquet::{MoreColumns, ParquetDocuments, ParquetFolder};
use self::rows::{csv_header, csv_record, json_line, raw_pair};
use super::DatabaseOptions;
use super::result_output::{output_path, parse_format, write_output};
use crate::console::file::OutputFolder;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, Overwrite};
use crate::console::progress::ProgressMode;
use crate::console::{Output, counted, note};
use crate::formats::Format;
use crate::formats::parquet::write::ByteSink;

/// Writes all documents, in order of their ids, in a format that simdb-load reads
///
/// jsonl: objects with id, fingerprint, reliable, arrival and text; arrival and text are null if
/// they are not kept; key, scope, fields and copies if the document has them.
///
/// csv: the columns id, fingerprint and reliable, and arrival, text, key, scope, fields and copies
/// if the database keeps them; fields and copies are JSON.
///
/// raw: little-endian u64 pairs, document id and fingerprint.
///
/// npy: a folder (-o) with two arrays of NumPy in one order, ids.npy and fingerprints.npy, both
/// <u8.
///
/// parquet: the columns doc_id and fingerprint, INT64, required, with the bits of the numbers, so
/// that numbers from 2^63 on are negative; in a database with keys also key, with scopes also
/// scope, with copies also copies (JSON, empty without a copy), BYTE_ARRAY; the metadata hold the
/// recipe, which simdb-load compares. -o NAME writes a folder of files part-00000.parquet and so
/// on, of at most 16777216 documents each; -o NAME.parquet, or standard output, is one file.
///
/// raw, npy and parquet cannot mark documents with unreliable fingerprints: such documents are left
/// out, and counted on standard error. --with-unreliable adds a column for the mark to parquet.
///
/// --similar adds to parquet what a join of similar texts in Spark needs, of a database with texts,
/// and the documents with unreliable fingerprints: text; letters, the number of letters and digits,
/// characters, the normalised ones, classes, max_entries, max_seconds and max_sketch_distance,
/// INT32; keys, seconds and others, lists of INT64; the sketches sketch_1, sketch_2 and other_1,
/// other_2, INT64; and wording, the text as it is compared, BYTE_ARRAY. SearchKeys of the library
/// explains them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli export news.simdb > news.jsonl
  simdb-cli export news.simdb --format raw -o news.raw
  simdb-cli export news.simdb --format parquet -o news-parquet
  simdb-cli export news.simdb --format parquet --similar -o news-similar
  simdb-cli export old.simdb | simdb-load new.simdb - --fingerprint fingerprint
  simdb-cli export pages.simdb | simdb-load new.simdb - --fingerprint fingerprint --key key --keep fields

Copy texts and times of arrival too, from a database that keeps both. A recipe other than ngram is
named with --recipe:
  simdb-cli export old.simdb | simdb-load new.simdb - --fingerprint fingerprint --text text --time arrival --keep-texts --arrivals")]
pub struct Export {
    #[command(flatten)]
    database: DatabaseOptions,

    /// The format of the documents
    #[arg(long, default_value = "jsonl", value_parser = parse_format(&FORMATS))]
    format: Format,

    /// In parquet, also write documents with unreliable fingerprints, and a third column,
    /// `reliable`, which is false for them
    #[arg(long)]
    with_unreliable: bool,

    /// In parquet, also write texts, and the keys by which similar texts meet in Spark
    #[arg(long)]
    similar: bool,

    /// Write to this new file or folder, which appears when it is complete, or to a pipe [default:
    /// standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// Show progress on standard error, if the output is a file or a folder
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

/// The formats that hold documents with their ids, and their help.
const FORMATS: [(&str, &str); 5] = [
    ("jsonl", "JSON Lines"),
    ("csv", "Comma-separated values"),
    ("raw", "Pairs of u64"),
    ("npy", "Arrays of NumPy"),
    ("parquet", "Columns of Parquet"),
];

impl Export {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        ensure!(
            !self.with_unreliable || self.format == Format::Parquet,
            "--with-unreliable needs --format parquet; jsonl and csv always mark unreliable \
             documents"
        );
        ensure!(
            !self.similar || self.format == Format::Parquet,
            "--similar needs --format parquet"
        );
        let extension = self
            .output
            .as_deref()
            .and_then(|path| self.folder_extension(path));
        let (path, database) = (self.output.as_deref(), &self.database.path);
        let target = output_path(path, self.overwrite, database, self.format, extension)?;
        if let Some(remote) = self.database.remote()? {
            let settings = remote.settings()?;
            let documents = || -> Documents<'_> { Box::new(remote.documents()) };
            return self.write(target, extension, &settings, None, &documents, output);
        }
        let database = self.database.open_to_read()?;
        let snapshot = database.snapshot()?;
        let documents =
            || -> Documents<'_> { Box::new(snapshot.documents().map(|document| Ok(document?))) };
        let len = Some(snapshot.len()?);
        self.write(
            target,
            extension,
            database.settings(),
            len,
            &documents,
            output,
        )
    }

    /// Writes documents. `len` is their number, if it is known.
    fn write<'d>(
        &'d self,
        target: Option<OutputPath>,
        extension: Option<&str>,
        settings: &'d Settings,
        len: Option<u64>,
        documents: &'d dyn Fn() -> Documents<'d>,
        output: &mut Output,
    ) -> Result<()> {
        ensure!(
            !self.similar || settings.keep_texts,
            "--similar exports texts, and {} keeps none, which cannot be changed",
            self.database.path.display()
        );
        let file = target.as_ref().filter(|target| target.is_file());
        let progress = file.map_or(ProgressMode::Never, |_| self.progress);
        let documents = ExportedDocuments {
            options: self,
            settings,
            bar: len.map_or_else(ProgressBar::hidden, |len| progress.steps("exporting", len)),
            documents,
        };
        let written = match target {
            Some(target) if target.is_file() && extension.is_some() => {
                documents.write_folder(target)
            }
            _ if self.format == Format::Npy => {
                bail!("npy has two files; name a new folder for them with -o")
            }
            target => write_output(target, self.format, output, |sink, interrupt| {
                documents.write_file(sink, interrupt)
            }),
        };
        documents.bar.finish_and_clear();
        written
    }

    fn more(&self, settings: &Settings) -> MoreColumns {
        MoreColumns {
            reliable: self.with_unreliable || self.similar,
            similar: self.similar,
            keys: settings.keys,
            scopes: settings.scopes,
            copies: settings.copies.is_some(),
        }
    }

    /// The extension of the files in an output folder; `None` if an output of this name is one
    /// file.
    fn folder_extension(&self, path: &Path) -> Option<&'static str> {
        match self.format {
            Format::Npy => Some("npy"),
            Format::Parquet if path.extension().is_none_or(|ending| ending != "parquet") => {
                Some("parquet")
            }
            _ => None,
        }
    }
}

/// The documents of a database, in the order of their ids.
type Documents<'d> = Box<dyn Iterator<Item = Result<Document>> + 'd>;

struct ExportedDocuments<'e> {
    options: &'e Export,
    settings: &'e Settings,
    documents: &'e dyn Fn() -> Documents<'e>,
    bar: ProgressBar,
}

/// The bar is updated every 16,384 documents.
const DOCUMENTS_PER_UPDATE: u64 = 1 << 14;

impl ExportedDocuments<'_> {
    /// Writes a folder, which gets its name when all of its files are complete.
    fn write_folder(&self, target: OutputPath) -> Result<()> {
        let interrupt = Interrupt::listen()?;
        let folder = OutputFolder::create(target)?;
        if self.options.format == Format::Npy {
            let mut arrays = NpyFolder::new(&folder)?;
            self.for_each(&interrupt, &mut |document| arrays.push(document))?;
            arrays.finish()?;
        } else {
            let mut parts = ParquetFolder::new(
                &folder,
                &self.settings.recipe,
                self.options.more(self.settings),
            );
            self.for_each(&interrupt, &mut |document| parts.push(document))?;
            parts.finish()?;
        }
        interrupt.check()?;
        folder.publish()
    }

    fn write_file(&self, sink: &mut ByteSink<'_>, interrupt: &Interrupt) -> Result<()> {
        match self.options.format {
            Format::Csv => {
                sink(&csv_header(self.settings))?;
                self.for_each(interrupt, &mut |document| {
                    sink(&csv_record(document, self.settings)?)
                })
            }
            Format::Raw => self.for_each(interrupt, &mut |document| sink(&raw_pair(document))),
            Format::Parquet => {
                let mut file =
                    ParquetDocuments::new(&self.settings.recipe, self.options.more(self.settings))?;
                self.for_each(interrupt, &mut |document| file.push(document, sink))?;
                file.finish(sink)
            }
            _ => self.for_each(interrupt, &mut |document| sink(&json_line(document)?)),
        }
    }

    /// Calls `take` with each document. Documents with unreliable fingerprints are left out, and
    /// counted on standard error, if the format cannot mark them.
    fn for_each(
        &self,
        interrupt: &Interrupt,
        take: &mut dyn FnMut(&Document) -> Result<()>,
    ) -> Result<()> {
        let format = self.options.format;
        let takes_all = self.options.more(self.settings).reliable
            || matches!(format, Format::Jsonl | Format::Csv);
        let (mut left_out, mut without_text) = (0, 0);
        for (index, document) in (0_u64..).zip((self.documents)()) {
            interrupt.check()?;
            if index.is_multiple_of(DOCUMENTS_PER_UPDATE) {
                self.bar.set_position(index);
            }
            let document = document?;
            if self.options.similar && document.text.is_none() {
                without_text += 1;
            } else if takes_all || document.reliable {
                take(&document)?;
            } else {
                left_out += 1;
            }
        }
        if without_text > 0 {
            let documents = counted(without_text, "document");
            note(format_args!("left out {documents} without a text"));
        }
        if left_out > 0 {
            let advice = match format {
                Format::Parquet => "--with-unreliable keeps them",
                _ => "jsonl and csv keep them",
            };
            let documents = counted(left_out, "document");
            note(format_args!(
                "left out {documents} with unreliable fingerprints; {advice}"
            ));
        }
        Ok(())
    }
}
