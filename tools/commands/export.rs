//! `simdb-cli export`: all documents, in a format that `simdb-load` reads.

use std::io::{BufWriter, IntoInnerError, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use simdb::{Document, Settings, Snapshot};

use super::get::DocumentLine;
use super::open_to_read;
use crate::console::files::{persist_new, temporary_beside};
use crate::console::interrupt::Interrupt;
use crate::console::output_file::{Destination, destination, open_stream};
use crate::console::{Answer, Output, counted, note};
use crate::options::RecipeOptions;

/// Writes all documents, in the order of their ids, in a format that simdb-load reads
///
/// jsonl: objects with id, fingerprint, reliable, arrival and text; the last two are null if they
/// are not kept.
/// csv: the columns id, fingerprint and reliable, and arrival and text if the database keeps them.
/// raw: little-endian u64 pairs, document id and fingerprint; documents whose fingerprints say
/// nothing cannot be marked there, so they are left out, and counted on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli export news.simdb > news.jsonl
  simdb-cli export news.simdb --format raw -o news.raw
  simdb-cli export old.simdb | simdb-load new.simdb - --fingerprint fingerprint")]
pub struct Export {
    /// The database
    database: PathBuf,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// How to write the documents
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,

    /// Write to this new file, which appears when it is whole, or to a pipe [default: standard
    /// output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
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
}

impl Export {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let database = open_to_read(&self.database, &self.recipe)?;
        let snapshot = database.snapshot()?;
        let settings = database.settings();
        match self.output.as_deref().map(|path| (path, destination(path))) {
            Some((path, Destination::File)) => self.to_file(path, &snapshot, settings)?,
            Some((path, Destination::Stream)) => self.to_stream(path, &snapshot, settings)?,
            Some((_, Destination::Stdout)) | None => {
                if self.format == ExportFormat::Raw && std::io::stdout().is_terminal() {
                    bail!("raw bytes would garble the terminal; redirect them, or use -o FILE");
                }
                self.write(&snapshot, settings, &mut |bytes| output.bytes(bytes))?;
            }
        }
        Ok(Answer::Yes)
    }

    /// Writes to what is there and cannot be replaced, such as a named pipe.
    fn to_stream(&self, path: &Path, snapshot: &Snapshot, settings: &Settings) -> Result<()> {
        let cannot = || format!("cannot write {}", path.display());
        let mut stream = open_stream(path).with_context(cannot)?;
        self.write(snapshot, settings, &mut |bytes| {
            stream.write_all(bytes).with_context(cannot)
        })?;
        stream.flush().with_context(cannot)
    }

    /// Writes to a file that is not there yet, and is not until it is whole.
    fn to_file(&self, path: &Path, snapshot: &Snapshot, settings: &Settings) -> Result<()> {
        let cannot = || format!("cannot write {}", path.display());
        if path.symlink_metadata().is_ok() {
            bail!(
                "{} already exists; remove it, or choose another name",
                path.display()
            );
        }
        let interrupt = Interrupt::listen()?;
        let temporary = temporary_beside(path).with_context(cannot)?;
        let mut writer = BufWriter::with_capacity(1 << 16, temporary);
        self.write(snapshot, settings, &mut |bytes| {
            interrupt.check()?;
            writer.write_all(bytes).with_context(cannot)
        })?;
        let (file, temporary) = writer
            .into_inner()
            .map_err(IntoInnerError::into_error)
            .with_context(cannot)?
            .into_parts();
        file.sync_all().with_context(cannot)?;
        interrupt.check()?;
        persist_new(temporary, path).with_context(cannot)
    }

    fn write(
        &self,
        snapshot: &Snapshot,
        settings: &Settings,
        write: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut left_out = 0;
        if self.format == ExportFormat::Csv {
            write(&csv_header(settings)?)?;
        }
        for document in snapshot.documents() {
            let document = document?;
            match self.format {
                ExportFormat::Jsonl => write(&json_line(&document)?)?,
                ExportFormat::Csv => write(&csv_record(&document, settings)?)?,
                ExportFormat::Raw if document.reliable => write(&raw_pair(&document))?,
                ExportFormat::Raw => left_out += 1,
            }
        }
        if left_out > 0 {
            note(format_args!(
                "left out {}, whose fingerprints say nothing; jsonl and csv keep them",
                counted(left_out, "document")
            ));
        }
        Ok(())
    }
}

fn json_line(document: &Document) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&DocumentLine::from(document))?;
    line.push(b'\n');
    Ok(line)
}

fn csv_header(settings: &Settings) -> Result<Vec<u8>> {
    let mut columns = vec!["id", "fingerprint", "reliable"];
    if settings.retention.is_some() {
        columns.push("arrival");
    }
    if settings.keep_texts {
        columns.push("text");
    }
    csv_line(&columns)
}

fn csv_record(document: &Document, settings: &Settings) -> Result<Vec<u8>> {
    let id = document.id.to_string();
    let fingerprint = document.fingerprint.to_string();
    let reliable = document.reliable.to_string();
    let arrival = document.arrival.map(|time| time.to_string());
    let mut fields = vec![id.as_str(), &fingerprint, &reliable];
    fields.extend(arrival.as_deref());
    if settings.keep_texts {
        fields.push(document.text.as_deref().unwrap_or_default());
    }
    csv_line(&fields)
}

fn csv_line(fields: &[&str]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields)?;
    writer
        .into_inner()
        .map_err(|error| error.into_error())
        .context("cannot write a line of CSV")
}

fn raw_pair(document: &Document) -> [u8; 16] {
    let mut pair = [0; 16];
    pair[..8].copy_from_slice(&document.id.0.to_le_bytes());
    pair[8..].copy_from_slice(&document.fingerprint.bits().to_le_bytes());
    pair
}
