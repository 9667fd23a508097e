//! The copy of a corpus, record by record, by `dedup` and `cut`.
//!
//! - [`CopyOptions`], [`check`]: the options of both verbs, and the checks before inputs are read
//! - [`output`], [`text_copy`], [`added`], [`rewrite`]: the new corpus

mod added;
pub mod check;
mod compressed_file;
pub mod output;
mod rewrite;
mod text_copy;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::input_options::InputOptions;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{Overwrite, folder_of};
use crate::console::progress::ProgressMode;
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::inputs::{Input, Location};
use crate::corpus::records::InputRecords;
use crate::formats::Wanted;
use crate::options::OnBadRecord;

/// The options of a copy of a corpus.
#[derive(Clone, Debug, Args)]
pub struct CopyOptions {
    #[command(flatten)]
    pub input: InputOptions,

    /// The new file, compressed if its name ends in .gz or .zst; for Parquet a new file or folder
    #[arg(long, short, value_name = "OUTPUT")]
    pub output: PathBuf,

    /// Write a line of JSON for each change to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,

    /// Stop at a bad record, leave it out, or copy it unchanged
    ///
    /// keep copies bad records, which are compared with no other record; fields that are added to
    /// them are null or empty. dedup also copies a record without a text (null, missing or empty),
    /// with skip and keep: it duplicates nothing.
    #[arg(long, value_enum, default_value_t = OnBadRecord::Abort, help_heading = "Errors")]
    pub on_error: OnBadRecord,

    /// Write each bad record of `--on-error skip` or `keep` to this file, as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "Errors")]
    pub rejects: Option<PathBuf>,

    /// Print the summary as one line of JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub progress: ProgressMode,

    #[command(flatten, next_help_heading = "Output")]
    pub overwrite: Overwrite,
}

/// The prefix of temporary folders, which a killed process leaves behind.
const TEMPORARY_PREFIX: &str = ".simdb-copy-";

impl CopyOptions {
    /// Creates the folder of temporary files, which can be as large as the corpus, so it lies on
    /// the disk of the output. The system's folder for temporary files may be in memory.
    pub fn temporary_folder(&self) -> Result<TempDir> {
        let parent = folder_of(&self.output);
        let folder = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .tempdir_in(parent);
        folder.with_context(|| format!("cannot create a folder in {}", parent.display()))
    }

    /// The records of inputs, with progress as the options say.
    pub fn records<'r>(
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
}

/// Refuses inputs that have changed between two readings, with the numbers of records of both. Some
/// file systems update the time of modification late, so records are counted too.
pub fn check_unchanged(
    before: &InputFingerprints,
    inputs: &[Input],
    [first, second]: [u64; 2],
) -> Result<()> {
    before.check(inputs)?;
    ensure!(
        first == second,
        "the inputs have changed while they were read: {first} records at first, {second} then; nothing \
         was changed"
    );
    Ok(())
}

/// Inserts the fields of a place into a line of a report.
pub fn insert_place(line: &mut Map<String, Value>, prefix: &str, location: Option<Location<'_>>) {
    let mut insert = |name: &str, value: Value| line.insert(format!("{prefix}{name}"), value);
    insert("file", json!(location.map(|location| location.file)));
    insert("line", json!(location.and_then(|location| location.line)));
    if let Some(row) = location.and_then(|location| location.row) {
        insert("row", json!(row));
    }
}
