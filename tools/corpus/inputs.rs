//! The inputs that are named, and those in folders.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::ledger::Input;
use crate::formats::Format;
use crate::formats::input::Source;
use crate::options::FieldNames;

/// The inputs of these names, all of them looked at before anything is read, so that a wrong name
/// does not show hours later. Without names it is standard input.
pub fn inputs(names: &[PathBuf], given: Option<Format>, fields: &FieldNames) -> Result<Vec<Input>> {
    let sources = if names.is_empty() {
        if std::io::stdin().is_terminal() {
            bail!("there is nothing to load; name files, or - for standard input");
        }
        vec![Source::stdin()]
    } else {
        let mut sources = Vec::new();
        for name in names {
            for file in files_of(name, given)? {
                sources.push(Source::new(&file)?);
            }
        }
        sources
    };
    let mut stdin_seen = false;
    let mut inputs = Vec::with_capacity(sources.len());
    for source in sources {
        let format = match (given, source.path()) {
            (Some(format), _) => format,
            (None, None) => Format::Jsonl,
            (None, Some(path)) => Format::of(path)?,
        };
        if source.path().is_none() && std::mem::replace(&mut stdin_seen, true) {
            bail!("standard input can be read only once");
        }
        if fields.fingerprint.is_some() && matches!(format, Format::Lines | Format::Npy) {
            bail!(
                "plain lines and arrays have no field for --fingerprint; use jsonl, csv, tsv or raw"
            );
        }
        if fields.time.is_some() && matches!(format, Format::Lines | Format::Raw | Format::Npy) {
            bail!(
                "plain lines, raw pairs and arrays have no field for --time; use jsonl, csv or tsv"
            );
        }
        inputs.push(Input { source, format });
    }
    Ok(inputs)
}

/// The files that an argument stands for: of a folder those of Parquet, by name.
pub fn files_of(input: &Path, format: Option<Format>) -> Result<Vec<PathBuf>> {
    if !matches!(format, None | Some(Format::Parquet)) || !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let cannot = || format!("cannot read {}", input.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(input).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Others put files about their files beside them, under such names.
        let is_about_others = name.starts_with(['.', '_']);
        if !is_about_others
            && path
                .extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("parquet"))
        {
            files.push(path);
        }
    }
    files.sort();
    ensure!(
        !files.is_empty(),
        "cannot read {}: it is a directory, and no file in it is named .parquet; name the files in it",
        input.display()
    );
    Ok(files)
}
