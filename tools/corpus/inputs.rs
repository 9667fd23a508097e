//! The inputs of a command line, and their formats.

use std::collections::HashSet;
use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::console::paths::OutputPaths;
use crate::formats::input::Source;
use crate::formats::{Format, Unit};
use crate::options::FieldNames;

/// An input and its format.
#[derive(Clone, Debug)]
pub struct Input {
    pub source: Source,
    pub format: Format,
}

/// Refuses `--first-id` if each record has an id.
pub fn refuse_unused_first_id(first: Option<u64>, no_id: bool, inputs: &[Input]) -> Result<()> {
    let is_counted = |input: &Input| matches!(input.format, Format::Lines | Format::Npy);
    ensure!(
        first.is_none() || no_id || inputs.iter().any(is_counted),
        "--first-id numbers records without ids, and these have ids; leave it out, or add --no-id"
    );
    Ok(())
}

/// The location of a record, with the fields of reports.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Location<'i> {
    pub file: &'i str,
    pub line: Option<u64>,
    pub byte: Option<u64>,
    pub row: Option<u64>,
}

impl Input {
    /// The location of record `number`.
    pub fn location(&self, number: u64) -> Location<'_> {
        let unit = self.format.unit();
        Location {
            file: self.source.name(),
            line: (unit == Unit::Line).then_some(number),
            byte: (unit == Unit::Byte).then_some(number),
            row: (unit == Unit::Row).then_some(number),
        }
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file)?;
        match *self {
            Self {
                line: Some(line), ..
            } => write!(f, ":{line}"),
            Self {
                byte: Some(byte), ..
            } => write!(f, ": byte {byte}"),
            Self { row: Some(row), .. } => write!(f, ": row {row}"),
            _ => Ok(()),
        }
    }
}

/// The inputs of these names; standard input if there are none. Every input is checked now, because
/// the last file may be read hours after the first.
pub fn inputs(names: &[PathBuf], given: Option<Format>, fields: &FieldNames) -> Result<Vec<Input>> {
    let mut sources = Vec::new();
    for name in names {
        for file in files_of(name, given)? {
            sources.push(Source::new(&file)?);
        }
    }
    if names.is_empty() {
        ensure!(
            !std::io::stdin().is_terminal(),
            "no input is named; name files, or - for standard input"
        );
        sources.push(Source::stdin());
    }
    let streams = sources.iter().filter(|source| source.path().is_none());
    ensure!(streams.count() <= 1, "standard input can be read only once");
    let inputs = sources.into_iter().map(|source| {
        let format = match (given, source.path()) {
            (Some(format), _) => format,
            (None, None) => Format::Jsonl,
            (None, Some(path)) => Format::of(path)?,
        };
        if fields.fingerprint.is_some() && matches!(format, Format::Lines | Format::Npy) {
            bail!(
                "plain lines and arrays have no field for --fingerprint; use jsonl, csv, tsv, raw or \
                 parquet"
            );
        }
        if fields.features.is_some() && format != Format::Jsonl {
            bail!("--features names a field of JSON Lines; other formats hold no features");
        }
        if fields.time.is_some() && matches!(format, Format::Lines | Format::Raw | Format::Npy) {
            bail!(
                "plain lines, raw pairs and arrays have no field for --time; use jsonl, csv, tsv or \
                 parquet"
            );
        }
        Ok(Input { source, format })
    });
    inputs.collect()
}

/// The first file that is among the inputs twice.
pub fn given_twice(inputs: &[Input]) -> Option<&Path> {
    let mut files = HashSet::new();
    let mut paths = inputs.iter().filter_map(|input| input.source.path());
    paths.find(|path| path.canonicalize().is_ok_and(|file| !files.insert(file)))
}

/// Reserves the inputs, so that no output replaces them.
pub fn reserve_inputs(paths: &mut OutputPaths, inputs: &[Input]) {
    for input in inputs {
        match input.source.path() {
            Some(path) => paths.reserve(path, "an input"),
            // A system without /dev/stdin has no output of this path either.
            None => paths.reserve(Path::new("/dev/stdin"), "an input"),
        }
    }
}

/// The files of an argument: the `.parquet` files of a folder, by name, or the argument itself.
pub fn files_of(input: &Path, format: Option<Format>) -> Result<Vec<PathBuf>> {
    if !matches!(format, None | Some(Format::Parquet)) || !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let cannot = || format!("cannot read {}", input.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(input).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_parquet = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
        // Spark and Hadoop write metadata files of such names beside the data.
        if is_parquet && !name.starts_with(['.', '_']) {
            files.push(path);
        }
    }
    files.sort();
    ensure!(
        !files.is_empty(),
        "cannot read {}: it is a directory, and no file in it is named .parquet; name the files to read",
        input.display()
    );
    Ok(files)
}
