//! The checks before inputs are read: contradicting options, inputs that cannot be copied, outputs
//! that would replace an input.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::de::IgnoredAny;

use super::CopyOptions;
use super::added::{check_names, refuse_existing};
use super::output::{file_name, is_folder};
use crate::console::paths::{OutputPath, OutputPaths, is_stdout};
use crate::corpus::inputs::{Input, reserve_inputs};
use crate::formats::copy::AddedField;
use crate::formats::delimited::Delimited;
use crate::formats::id_sequence::IdSequence;
use crate::formats::input::{Compression, LineReader};
use crate::formats::parquet::ParquetFile;
use crate::formats::parquet::columns::{document_columns, has_default_names};
use crate::formats::parquet::copy::{MOST_GROUPS, check_added};
use crate::formats::parquet::metadata::recipe_of;
use crate::formats::parquet::same_columns::check_same_columns;
use crate::formats::table::Dialect;
use crate::formats::{DocumentFields, Format};
use crate::options::OnBadRecord;

impl CopyOptions {
    /// Refuses contradicting options.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.rejects.is_none() || self.on_error != OnBadRecord::Abort,
            "--rejects lists the bad records, so it needs --on-error skip or keep; otherwise the \
             first bad record ends the command"
        );
        ensure!(
            !is_stdout(&self.output),
            "-o needs a file, which is renamed when it is complete; standard output cannot be \
             renamed"
        );
        for (report, option) in [(&self.report, "--report"), (&self.rejects, "--rejects")] {
            if report.as_deref().is_some_and(is_stdout) {
                bail!("{option} needs a file: the counts go to standard output");
            }
        }
        Ok(())
    }

    /// Returns the format of all inputs, which is the format of the output too. Inputs that these
    /// options cannot copy are an error.
    pub fn check_inputs(
        &self,
        inputs: &[Input],
        fields: &DocumentFields,
        added: &[AddedField<'_>],
    ) -> Result<Format> {
        let Some(Input { source, format }) = inputs.first() else {
            bail!("there is nothing to read");
        };
        if let Some(other) = inputs.iter().find(|input| input.format != *format) {
            bail!(
                "all inputs must have one format, the format of OUTPUT; {} has another format \
                 than {}",
                other.source.name(),
                source.name()
            );
        }
        match format {
            Format::Raw | Format::Npy => {
                bail!(
                    "fingerprints alone are no texts; load them with simdb-load, and use \
                     simdb-cli clusters"
                )
            }
            Format::Parquet => self.check_parquet(inputs, fields, added)?,
            Format::Lines if fields.score.is_some() => {
                bail!("plain lines have no field for --score; use jsonl, csv or tsv")
            }
            Format::Lines if fields.group.is_some() => {
                bail!("plain lines have no field for --within or --across; use jsonl, csv or tsv")
            }
            Format::Lines => {
                if let Some(AddedField { option, .. }) = added.first() {
                    bail!("plain lines have no fields for {option}; use jsonl, csv or tsv")
                }
            }
            _ => {}
        }
        if Format::of(&self.output).is_ok_and(|named| named != *format) {
            bail!(
                "{} is to have the format of its inputs, another than its name says; choose \
                 another name",
                self.output.display()
            );
        }
        check_names(added, *format)?;
        Ok(*format)
    }

    /// Refuses Parquet files that these options cannot copy. Reads the footer of each file.
    fn check_parquet(
        &self,
        inputs: &[Input],
        fields: &DocumentFields,
        added: &[AddedField<'_>],
    ) -> Result<()> {
        let output = self.output.display();
        if Compression::of(&self.output) != Compression::None {
            bail!(
                "the pages of Parquet are compressed already; give OUTPUT a name without .gz or \
                 .zst"
            );
        }
        let is_folder = is_folder(&self.output, Format::Parquet);
        if !is_folder && !Format::of(&self.output).is_ok_and(|named| named == Format::Parquet) {
            bail!(
                "{output} names neither a Parquet file nor a folder; a name that ends in .parquet is \
                 one file, a name without an extension is a folder with a file for each input"
            );
        }
        let mut first = None;
        let (mut names, mut groups) = (HashMap::new(), 0);
        for input in inputs {
            let file = open_checked(input, fields, added)?;
            // A folder has a file for each input, so only the names must differ.
            if is_folder {
                if let Some(other) = names.insert(file_name(input)?, input) {
                    bail!(
                        "{} and {} would be one file in {output}; rename one of them, or give \
                         OUTPUT a name that ends in .parquet",
                        other.source.name(),
                        input.source.name()
                    );
                }
                continue;
            }
            groups += file.metadata().num_row_groups();
            match &first {
                None => first = Some(file),
                Some(first) => check_same_columns(first, &file)?,
            }
        }
        ensure!(
            // The number of a row group has 16 bits in the file.
            groups <= MOST_GROUPS,
            "the inputs have {groups} row groups, and a file of Parquet has {MOST_GROUPS} at most; \
             give OUTPUT a name without an extension, and it is a folder with a file for each input"
        );
        Ok(())
    }

    /// Refuses inputs of text whose columns the output cannot hold, and fields that are to be added
    /// and are there. Reads the header of each table, and the first line of JSON Lines.
    pub fn check_columns(
        inputs: &[Input],
        fields: &DocumentFields,
        added: &[AddedField<'_>],
    ) -> Result<()> {
        let mut first: Option<(&str, Delimited)> = None;
        for Input { source, format } in inputs {
            let name = source.name();
            let cannot = || format!("cannot copy {name}");
            if *format == Format::Jsonl {
                let stream = source.open(&Default::default())?;
                let mut lines = LineReader::new(stream, fields.max_line_bytes())?;
                let line = lines.next_not_blank()?.and_then(|(_, line)| line.ok());
                let names: HashMap<String, IgnoredAny> = line
                    .and_then(|line| serde_json::from_slice(line).ok())
                    .unwrap_or_default();
                refuse_existing(added, |name| names.contains_key(name)).with_context(cannot)?;
            }
            let Some(dialect) = Dialect::of(*format) else {
                continue;
            };
            let stream = source.open(&Default::default())?;
            let table = Delimited::new(dialect, stream, fields, IdSequence::new(1))?;
            let columns = table.columns();
            refuse_existing(added, |name| columns.contains(&name.as_bytes()))
                .with_context(cannot)?;
            if let Some((first, others)) = &first {
                ensure!(
                    others.columns() == columns,
                    "{}: its columns differ from the columns of {first}; all inputs must have the same, in \
                     the same order",
                    cannot()
                );
            } else {
                first = Some((name, table));
            }
        }
        Ok(())
    }

    /// Refuses outputs that are an input, a `reserved` path or another output.
    pub fn check_outputs(
        &self,
        inputs: &[Input],
        format: Format,
        reserved: &[(&Path, &'static str)],
        page: &Option<PathBuf>,
    ) -> Result<CopyOutputs> {
        let mut paths = OutputPaths::new(self.overwrite);
        reserve_inputs(&mut paths, inputs);
        for (path, name) in reserved {
            paths.reserve(path, name);
        }
        let corpus = if is_folder(&self.output, format) {
            paths.folder("--output", &self.output, "parquet")?
        } else {
            paths.file("--output", &self.output)?
        };
        ensure!(
            corpus.is_file(),
            "-o needs a file, which is renamed when it is complete; a pipe or a device cannot be \
             renamed"
        );
        let mut report = |option: &str, path: &Option<PathBuf>| {
            let report = path.as_deref().map(|path| paths.file(option, path));
            report.transpose()
        };
        Ok(CopyOutputs {
            corpus,
            rejects: report("--rejects", &self.rejects)?,
            report: report("--report", &self.report)?,
            page: report("--report-html", page)?,
        })
    }
}

fn open_checked(
    input: &Input,
    fields: &DocumentFields,
    added: &[AddedField<'_>],
) -> Result<ParquetFile> {
    let file = ParquetFile::open(&input.source, &Default::default())?;
    // The copy gets the metadata of the first file, which would be wrong for fingerprints of
    // other recipes.
    let reads_fingerprints = has_default_names(fields) || fields.fingerprint.is_some();
    if reads_fingerprints && recipe_of(&file)?.is_some() {
        bail!(
            "{} holds fingerprints that simdb exported, and no texts; load it, and use \
             simdb-cli clusters",
            input.source.name()
        );
    }
    check_added(&file, added)?;
    document_columns(&file, fields)?;
    Ok(file)
}

/// The checked paths of the outputs.
pub struct CopyOutputs {
    pub corpus: OutputPath,
    pub rejects: Option<OutputPath>,
    pub report: Option<OutputPath>,
    /// The page of HTML of `dedup`.
    pub page: Option<OutputPath>,
}
