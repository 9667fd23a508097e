//! `simdb-cli export`: all documents, in a format that `simdb-load` reads.

mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use simdb::{Document, Settings, Snapshot};

use self::npy::Arrays;
#[cfg(feature = "parquet")]
use self::parquet::{PART_ROWS, Parts, Piece, Table};
use self::rows::{csv_header, csv_record, json_line, raw_pair};
use super::open_to_read;
use crate::console::file::{NewFile, NewFolder};
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, OutputPaths, Overwrite, is_stdout};
use crate::console::progress::Progress;
use crate::console::{Answer, Output, counted, note};
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

    /// How to write the documents
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

    /// Whether to show progress on standard error, where the output is a file or a folder
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
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Export {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        ensure!(
            !self.with_unreliable || self.format.marks_unreliable(),
            "--with-unreliable goes with --format parquet; jsonl and csv mark them anyhow"
        );
        let target = self.target()?;
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let settings = database.settings();
        match target {
            Some(target) if target.is_file() => {
                let watch = Watch::over(&snapshot, self.progress)?;
                let written = if self.format.is_folder(target.path()) {
                    self.to_folder(target, &snapshot, settings, &watch)
                } else {
                    self.to_file(target, &snapshot, settings, &watch)
                };
                watch.bar.finish_and_clear();
                written?;
            }
            _ if self.format == ExportFormat::Npy => {
                bail!("npy has two files; name a new folder for them with -o")
            }
            Some(stream) => self.to_file(stream, &snapshot, settings, &Watch::nothing())?,
            None => {
                if self.format.is_binary() && std::io::stdout().is_terminal() {
                    bail!("raw bytes would garble the terminal; redirect them, or use -o FILE");
                }
                let watch = Watch::nothing();
                self.write(&snapshot, settings, &watch, &mut |bytes| {
                    output.bytes(bytes)
                })?;
            }
        }
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

    /// Writes to a file that has its name when it is whole, or to a stream.
    fn to_file(
        &self,
        target: OutputPath,
        snapshot: &Snapshot,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<()> {
        let mut file = NewFile::create(target)?;
        let write = &mut |bytes: &[u8]| Ok(file.write_all(bytes)?);
        self.write(snapshot, settings, watch, write)?;
        watch.interrupt.check()?;
        Ok(file.publish()?)
    }

    /// Writes to a folder that has its name when all of it is whole.
    fn to_folder(
        &self,
        target: OutputPath,
        snapshot: &Snapshot,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<()> {
        let folder = NewFolder::create(target)?;
        if self.format == ExportFormat::Npy {
            let mut arrays = Arrays::new(&folder)?;
            self.each(snapshot, watch, &mut |document| arrays.push(document))?;
            arrays.finish()?;
        } else {
            self.parts(&folder, snapshot, settings, watch)?;
        }
        watch.interrupt.check()?;
        folder.publish()
    }

    #[cfg(feature = "parquet")]
    fn parts(
        &self,
        folder: &NewFolder,
        snapshot: &Snapshot,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<()> {
        let mut parts = Parts::new(folder);
        let mut table = Table::new(settings.recipe.clone(), self.with_unreliable, PART_ROWS);
        let take = &mut |piece: Piece<'_>| parts.take(piece);
        self.each(snapshot, watch, &mut |document| table.push(document, take))?;
        table.finish(take)
    }

    #[cfg(not(feature = "parquet"))]
    fn parts(&self, _: &NewFolder, _: &Snapshot, _: &Settings, _: &Watch) -> Result<()> {
        unreachable!("no other format has folders")
    }

    /// Writes what is one file.
    fn write(
        &self,
        snapshot: &Snapshot,
        settings: &Settings,
        watch: &Watch,
        write: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        match self.format {
            ExportFormat::Jsonl => self.each(snapshot, watch, &mut |document| {
                write(&json_line(document)?)
            }),
            ExportFormat::Csv => {
                write(&csv_header(settings)?)?;
                self.each(snapshot, watch, &mut |document| {
                    write(&csv_record(document, settings)?)
                })
            }
            ExportFormat::Raw => {
                self.each(snapshot, watch, &mut |document| write(&raw_pair(document)))
            }
            ExportFormat::Npy => unreachable!("it is a folder"),
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => {
                let recipe = settings.recipe.clone();
                let mut table = Table::new(recipe, self.with_unreliable, u64::MAX);
                let take = &mut |piece: Piece<'_>| match piece {
                    Piece::Bytes(bytes) => write(bytes),
                    Piece::End => Ok(()),
                };
                self.each(snapshot, watch, &mut |document| table.push(document, take))?;
                table.finish(take)
            }
        }
    }

    /// Hands over all documents but those that the format has no mark for.
    fn each(
        &self,
        snapshot: &Snapshot,
        watch: &Watch,
        take: &mut dyn FnMut(&Document) -> Result<()>,
    ) -> Result<()> {
        let takes_all = self.with_unreliable || self.format.is_text();
        let mut left_out = 0;
        for (place, document) in (0..).zip(snapshot.documents()) {
            watch.pass(place)?;
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
                match self.format.marks_unreliable() {
                    true => "--with-unreliable keeps them",
                    false => "jsonl and csv keep them",
                }
            ));
        }
        Ok(())
    }
}

impl ExportFormat {
    fn is_text(self) -> bool {
        matches!(self, Self::Jsonl | Self::Csv)
    }

    fn is_binary(self) -> bool {
        !self.is_text()
    }

    /// Whether something of that name is a folder.
    #[cfg_attr(
        not(feature = "parquet"),
        allow(unused_variables, reason = "the name decides then")
    )]
    fn is_folder(self, path: &Path) -> bool {
        match self {
            Self::Npy => true,
            #[cfg(feature = "parquet")]
            Self::Parquet => path.extension().is_none_or(|ending| ending != "parquet"),
            _ => false,
        }
    }

    /// Whether it can have documents whose fingerprints say nothing, if that is asked for.
    fn marks_unreliable(self) -> bool {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
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
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => Self::Parquet,
        }
    }
}

/// Who looks on while documents pass.
struct Watch {
    bar: ProgressBar,
    interrupt: Interrupt,
}

/// So many documents pass between two looks at the bar.
const DOCUMENTS_PER_LOOK: u64 = 1 << 14;

impl Watch {
    /// A bar and Ctrl-C.
    fn over(snapshot: &Snapshot, progress: Progress) -> Result<Self> {
        let bar = progress.work();
        bar.set_prefix("exporting");
        bar.set_length(snapshot.len());
        Ok(Self {
            bar,
            interrupt: Interrupt::listen()?,
        })
    }

    /// Nobody: Ctrl-C ends the tool on the spot.
    fn nothing() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            interrupt: Interrupt::default(),
        }
    }

    fn pass(&self, place: u64) -> Result<()> {
        if place.is_multiple_of(DOCUMENTS_PER_LOOK) {
            self.bar.set_position(place);
        }
        self.interrupt.check()
    }
}
