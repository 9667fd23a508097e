//! The output of `pairs` and `clusters`: a file or standard output, with progress and an interrupt.
//! `export` uses [`write_output`].

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;
use simdb::Database;

use super::key_names::KeyNames;
use crate::console::file::OutputFile;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, OutputPaths, Overwrite, is_stdout};
use crate::console::progress::{ProgressMode, handler};
use crate::console::{Output, note};
use crate::formats::parquet::metadata::{pair, recipe_pairs};
use crate::formats::parquet::write::{ByteSink, NewColumn, ParquetWriter, Value};
use crate::formats::table::csv_field;
use crate::formats::{Format, refuse_other_name};

/// The version of the layout of Parquet files of results.
const LAYOUT: &str = "1";
/// The metadata key of the radius of the search.
const RADIUS_KEY: &str = "simdb.radius";

/// The formats of results, and their help.
const FORMATS: [(&str, &str); 3] = [
    ("jsonl", "JSON Lines"),
    ("csv", "Comma-separated values"),
    ("parquet", "Columns of Parquet"),
];

/// Reads the name of one of these formats. For clap.
pub fn parse_format(formats: &'static [(&str, &str)]) -> impl TypedValueParser<Value = Format> {
    let values = formats
        .iter()
        .map(|(name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(|name| Format::from_str(&name, false))
}

/// The options of results.
#[derive(Debug, Args)]
pub struct ResultOptions {
    /// The format of the results
    #[arg(long, default_value = "jsonl", value_parser = parse_format(&FORMATS))]
    format: Format,

    /// Write to this new file, which appears when it is complete [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    /// Print the counts as one line of JSON; needs -o
    #[arg(long, requires = "output")]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

/// The results of one search.
pub struct ResultTable<'d> {
    /// The database that is searched.
    pub database: &'d Database,
    /// The metadata key that marks Parquet files of these results.
    pub key: &'static str,
    /// The names of the columns. The last column is a distance, the others are ids.
    pub columns: &'static [&'static str],
    /// The columns of keys that follow in a database with keys, and the column of the id of each.
    pub key_columns: &'static [(&'static str, usize)],
    /// The largest distance of near-duplicates.
    pub radius: u32,
}

impl ResultOptions {
    /// Calls `find` with a sink for its results.
    pub fn write<T>(
        &self,
        table: &ResultTable<'_>,
        output: &mut Output,
        find: impl FnOnce(&mut ResultSink<'_>) -> Result<T>,
    ) -> Result<T> {
        let on_stdout = self.is_on_stdout();
        if self.json && on_stdout {
            bail!(
                "--json prints the counts on standard output; name a file for the results with -o"
            );
        }
        // A bar on the terminal that gets the results would garble them.
        let is_mixed = on_stdout && std::io::stdout().is_terminal();
        let progress = match self.progress {
            ProgressMode::Auto if is_mixed => ProgressMode::Never,
            progress => progress,
        };
        let (path, database) = (self.output.as_deref(), table.database.path());
        let target = output_path(path, self.overwrite, database, self.format, None)?;
        write_output(target, self.format, output, |write, interrupt| {
            let mut sink = ResultSink {
                write,
                is_table: self.format != Format::Jsonl,
                keys: KeyNames::of(table.database)?,
                key_columns: table.key_columns,
                parquet: None,
                interrupt: interrupt.clone(),
                bar: progress.work(),
                outcome: Ok(()),
                line: Vec::new(),
            };
            sink.start(self.format, table)?;
            let found = find(&mut sink)?;
            if let Some(writer) = sink.parquet {
                writer.finish(sink.write)?;
            }
            Ok(found)
        })
    }

    /// Prints the counts: on standard error if the results are on standard output.
    pub fn print_counts(
        &self,
        output: &mut Output,
        counts: &impl Serialize,
        text: String,
    ) -> Result<()> {
        if self.is_on_stdout() {
            note(text);
            return Ok(());
        }
        output.print(self.json, || counts, || text)
    }

    fn is_on_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdout)
    }
}

/// The checked path of `--output`: a folder of files with `extension`, or a file; `None` for
/// standard output.
pub fn output_path(
    path: Option<&Path>,
    overwrite: Overwrite,
    database: &Path,
    format: Format,
    extension: Option<&str>,
) -> Result<Option<OutputPath>> {
    let Some(path) = path.filter(|path| !is_stdout(path)) else {
        return Ok(None);
    };
    let mut paths = OutputPaths::new(overwrite);
    paths.reserve(database, "the database");
    let target = match extension {
        Some(extension) => paths.folder("--output", path, extension)?,
        None => paths.file("--output", path)?,
    };
    if target.is_file() {
        refuse_other_name(path, format)?;
    }
    Ok(Some(target))
}

/// Calls `write` with a sink for bytes: a new file, a stream, or standard output.
pub fn write_output<T>(
    target: Option<OutputPath>,
    format: Format,
    output: &mut Output,
    write: impl FnOnce(&mut ByteSink<'_>, &Interrupt) -> Result<T>,
) -> Result<T> {
    let Some(target) = target else {
        let is_text = matches!(format, Format::Jsonl | Format::Csv);
        if !is_text && std::io::stdout().is_terminal() {
            bail!("binary output cannot go to a terminal; redirect it, or use -o FILE");
        }
        let written = write(&mut |bytes| output.bytes(bytes), &Interrupt::default())?;
        output.flush()?;
        return Ok(written);
    };
    // Only a temporary file has to be removed after Ctrl-C. A write to a pipe may block for ever,
    // so there Ctrl-C must end the process.
    let interrupt = if target.is_file() {
        Interrupt::listen()?
    } else {
        Interrupt::default()
    };
    let mut file = OutputFile::create(target)?;
    let written = write(&mut |bytes| Ok(file.write_all(bytes)?), &interrupt)?;
    interrupt.check()?;
    file.publish()?;
    Ok(written)
}

/// The sink for the results of a search: lines of JSON, or rows of a table.
pub struct ResultSink<'w> {
    write: &'w mut ByteSink<'w>,
    /// `true` for CSV and Parquet.
    pub is_table: bool,
    /// `None` in a database without keys.
    keys: Option<KeyNames>,
    key_columns: &'static [(&'static str, usize)],
    parquet: Option<ParquetWriter>,
    interrupt: Interrupt,
    bar: ProgressBar,
    /// The error that stopped the search.
    outcome: Result<()>,
    /// The buffer of a line.
    line: Vec<u8>,
}

impl ResultSink<'_> {
    /// Writes the header of CSV, or starts a Parquet file.
    fn start(&mut self, format: Format, table: &ResultTable<'_>) -> Result<()> {
        let columns = table.columns;
        let key_columns = self.keys.as_ref().map_or(&[][..], |_| table.key_columns);
        let key_names = key_columns.iter().map(|(name, _)| *name);
        if format == Format::Csv {
            let names: Vec<_> = columns.iter().copied().chain(key_names).collect();
            return (self.write)(format!("{}\n", names.join(",")).as_bytes());
        }
        if format == Format::Parquet {
            let mut keys = recipe_pairs(&table.database.settings().recipe);
            keys.push(pair(table.key, LAYOUT));
            keys.push(pair(RADIUS_KEY, table.radius.to_string()));
            let mut types: Vec<_> = columns
                .iter()
                .map(|name| NewColumn::Ascending(name))
                .collect();
            // A distance has at most 128 values, and a dictionary of them takes a few bits a row.
            types.pop();
            types.extend(columns.last().map(|name| NewColumn::Small(name)));
            types.extend(key_names.map(NewColumn::Text));
            self.parquet = Some(ParquetWriter::new(&types, keys)?);
        }
        Ok(())
    }

    /// Writes an object as a line of JSON.
    pub fn json(&mut self, object: &impl Serialize) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, object)?;
        self.line.push(b'\n');
        (self.write)(&self.line)
    }

    /// The key of a document of a line of JSON; `None` in a database without keys.
    pub fn key(&mut self, id: u64) -> Result<Option<String>> {
        match &mut self.keys {
            Some(keys) => keys.key(id),
            None => Ok(None),
        }
    }

    /// Writes a row of a table: ids, and a distance. The keys of the ids follow.
    pub fn row(&mut self, row: &[u64]) -> Result<()> {
        let mut keys = Vec::new();
        if let Some(names) = &mut self.keys {
            for (_, column) in self.key_columns {
                keys.push(names.key(row[*column])?.unwrap_or_default());
            }
        }
        if let Some(writer) = &mut self.parquet {
            let ids = row.iter().copied().map(Value::Word);
            let keys = keys.iter().map(|key| Value::Bytes(key.as_bytes()));
            return writer.push_values(ids.chain(keys), self.write);
        }
        // Numbers need no quotation marks.
        let ids = row.iter().map(u64::to_string);
        let keys = keys.iter().map(|key| csv_field(key).into_owned());
        let values: Vec<String> = ids.chain(keys).collect();
        (self.write)(format!("{}\n", values.join(",")).as_bytes())
    }

    /// Returns an error after an interrupt.
    pub fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }

    /// The progress handler of the snapshot that is searched.
    pub fn handler(
        &self,
    ) -> impl Fn(simdb::progress::Progress) -> ControlFlow<()> + Send + Sync + use<> {
        handler(&self.bar, &self.interrupt)
    }

    /// Stops the search after an error or an interrupt.
    pub fn go_on_after(&mut self, outcome: Result<()>) -> ControlFlow<()> {
        self.outcome = outcome.and_then(|()| self.interrupt.check());
        match self.outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Returns the error that stopped the search; `outcome` is the result of the library.
    pub fn finish_search(&mut self, outcome: simdb::Result<()>) -> Result<()> {
        self.bar.finish_and_clear();
        std::mem::replace(&mut self.outcome, Ok(())).and(self.interrupt.check())?;
        Ok(outcome?)
    }
}
