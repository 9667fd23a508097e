//! A corpus: documents out of files, in their order, and what becomes of each record.
//!
//! - [`pipeline`]: inputs to documents, in order
//! - [`ledger`], [`places`], [`report`]: what became of every record, and where it was
//! - [`clashes`]: refuses reports that would replace what is read or made

pub mod clashes;
pub mod ledger;
pub mod pipeline;
pub mod places;
pub mod report;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Result, bail};

use self::ledger::Input;
use self::pipeline::PIPELINE_BYTES;
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
        names
            .iter()
            .map(|input| Source::new(input))
            .collect::<Result<_>>()?
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
        if fields.fingerprint.is_some() && format == Format::Lines {
            bail!("plain lines have no field for --fingerprint; use jsonl, csv, tsv or raw");
        }
        if fields.time.is_some() && matches!(format, Format::Lines | Format::Raw) {
            bail!("plain lines and raw pairs have no field for --time; use jsonl, csv or tsv");
        }
        inputs.push(Input { source, format });
    }
    Ok(inputs)
}

/// Of the memory that is left beside the pipeline, half goes to the cache of the storage engine,
/// half to what waits to be written.
pub fn half_of(memory_bytes: u64) -> u64 {
    memory_bytes
        .saturating_sub(PIPELINE_BYTES)
        .max(memory_bytes / 4)
        / 2
}
