//! The second reading of a corpus of Parquet: rows are copied as they are.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow, bail, ensure};
use indicatif::ProgressBar;

use super::copy::{Copier, Part};
use super::options::Dedup;
use super::output::NewCorpus;
use super::summary::Tally;
use super::target::{Target, is_folder};
use crate::console::interrupt::Interrupt;
use crate::corpus::inputs::Input;
use crate::corpus::statistics::Statistics;
use crate::formats::input::Compression;
use crate::formats::parquet::copy::{Copying, Fate, MOST_GROUPS, Mark, check_alike, check_marks};
use crate::formats::parquet::{self, ParquetFile, ParquetRecords};
use crate::formats::{Fields, Format, Wanted, reader};

/// The inputs on their way.
struct Reading<'r> {
    wanted: Wanted,
    bytes_read: Arc<AtomicU64>,
    bar: ProgressBar,
    ledger: &'r mut Statistics,
    tally: &'r mut Tally,
    interrupt: &'r Interrupt,
}

impl Dedup {
    /// Refuses inputs of Parquet that cannot be read or copied as they are asked for. Of each its
    /// description is read.
    pub(super) fn refuse_for_parquet(&self, inputs: &[Input], fields: &Fields) -> Result<()> {
        if self.no_id {
            bail!("--no-id goes with jsonl, csv and tsv, not with parquet");
        }
        if Compression::of(&self.output) != Compression::None {
            bail!("Parquet is packed by its pages; give OUTPUT a name without .gz or .zst");
        }
        let is_folder = is_folder(&self.output, Format::Parquet);
        if !is_folder && !Format::of(&self.output).is_ok_and(|named| named == Format::Parquet) {
            bail!(
                "{} is neither: a name that ends in .parquet is one file, a name without an \
                 extension a folder with a file for each input",
                self.output.display()
            );
        }
        match is_folder {
            true => self.refuse_for_folder(inputs, fields),
            false => self.refuse_for_file(inputs, fields),
        }
    }

    fn refuse_for_folder(&self, inputs: &[Input], fields: &Fields) -> Result<()> {
        let mut names = HashMap::new();
        for input in inputs {
            self.open_checked(input, fields)?;
            if let Some(other) = names.insert(name_of(input)?, input) {
                bail!(
                    "{} and {} would be one file in {}; rename one of them, or give OUTPUT a name \
                     that ends in .parquet",
                    other.source.name(),
                    input.source.name(),
                    self.output.display()
                );
            }
        }
        Ok(())
    }

    fn refuse_for_file(&self, inputs: &[Input], fields: &Fields) -> Result<()> {
        let mut first = None;
        let mut groups = 0;
        for input in inputs {
            let file = self.open_checked(input, fields)?;
            groups += file.metadata().num_row_groups();
            match &first {
                None => first = Some(file),
                Some(first) => check_alike(first, &file)?,
            }
        }
        ensure!(
            groups <= MOST_GROUPS,
            "the inputs have {groups} row groups, and a file of Parquet has {MOST_GROUPS} at most; \
             give OUTPUT a name without an extension, and it is a folder with a file for each input"
        );
        Ok(())
    }

    /// An input whose columns are those that are asked for.
    fn open_checked(&self, input: &Input, fields: &Fields) -> Result<ParquetFile> {
        let file = parquet::open(&input.source, &Default::default())?;
        // Whatever recipe they were made with: what is copied would be taken for that of the first.
        let reads_fingerprints = parquet::reads_own(fields) || fields.fingerprint.is_some();
        if reads_fingerprints && parquet::metadata::recipe_of(&file)?.is_some() {
            bail!(
                "{} holds fingerprints that simdb exported, and no texts; load it, and use \
                 simdb-cli clusters",
                input.source.name()
            );
        }
        if let Some(marks) = self.marks() {
            check_marks(&file, [&marks.keeper, &marks.distance])?;
        }
        ParquetRecords::check(&file, fields)?;
        Ok(file)
    }
}

/// The name of an input in its folder, and of its copy.
fn name_of(input: &Input) -> Result<&OsStr> {
    let name = input.source.path().and_then(|path| path.file_name());
    name.with_context(|| format!("{} has no name of a file", input.source.name()))
}

impl Copier<'_> {
    /// Copies the inputs, and says what became of each row.
    pub(super) fn copy_rows(
        &mut self,
        ledger: &mut Statistics,
        tally: &mut Tally,
        target: &mut Target,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let inputs = ledger.inputs.clone();
        let sizes = inputs.iter().map(|input| input.source.size_bytes());
        let bar = self.options.progress.bytes(sizes.sum());
        bar.set_prefix("writing");
        let mut reading = Reading {
            wanted: self.options.wanted()?,
            bytes_read: Arc::default(),
            bar,
            ledger,
            tally,
            interrupt,
        };
        match target {
            Target::File(file) => self.copy_to_one(&inputs, file, &mut reading)?,
            Target::Folder(folder) => {
                for (number, input) in inputs.iter().enumerate() {
                    let name = name_of(input)?;
                    let cannot = || {
                        let folder = folder.path().display();
                        format!("cannot write {} in {folder}", name.display())
                    };
                    let output = BufWriter::new(folder.file(name).with_context(cannot)?);
                    let file = open(input)?;
                    let mut copying = self.start(&file, &file, output)?;
                    self.copy_input((number, input), &file, &mut copying, &mut reading)?;
                    let output = copying.finish()?.into_inner().with_context(cannot)?;
                    output.sync_all().with_context(cannot)?;
                }
            }
        }
        reading.bar.finish_and_clear();
        tally.identical += self.identical();
        Ok(())
    }

    fn copy_to_one(
        &mut self,
        inputs: &[Input],
        output: &mut NewCorpus,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let first = inputs.first().context("there is nothing to read")?;
        let first = open(first)?;
        // A file without rows does not say how they are packed.
        let mut packed = None;
        for input in inputs {
            let file = open(input)?;
            if file.metadata().num_row_groups() > 0 {
                packed = Some(file);
                break;
            }
        }
        let mut copying = self.start(&first, packed.as_ref().unwrap_or(&first), output)?;
        for (number, input) in inputs.iter().enumerate() {
            self.copy_input((number, input), &open(input)?, &mut copying, reading)?;
        }
        copying.finish()?;
        Ok(())
    }

    fn start<W: Write + Send>(
        &self,
        first: &ParquetFile,
        packed: &ParquetFile,
        output: W,
    ) -> Result<Copying<W>> {
        let marks = self.marks.as_ref();
        let names = marks.map(|marks| [&marks.keeper[..], &marks.distance]);
        Copying::start(first, packed, names, output)
    }

    fn copy_input<W: Write + Send>(
        &mut self,
        (number, input): (usize, &Input),
        file: &ParquetFile,
        copying: &mut Copying<W>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let (wanted, bytes_read) = (&reading.wanted, &reading.bytes_read);
        let mut records = reader(input.format, &input.source, wanted, bytes_read)?;
        copying.copy(file, &mut |row| {
            reading.interrupt.check()?;
            let item = records.next()?.filter(|item| item.number() == row);
            let item = item
                .ok_or_else(|| anyhow!("{}: row {row} is not where it was", input.source.name()))?;
            reading.bar.set_position(bytes_read.load(Ordering::Relaxed));
            let part = self.part_of(number, item, reading.ledger, reading.tally)?;
            Ok(match part {
                Part::Mark(Some(removed)) => Fate::Keep(Some(Mark {
                    keeper: removed.keeper,
                    distance: removed.distance,
                })),
                Part::Keep | Part::Mark(None) => Fate::Keep(None),
                Part::Drop | Part::Head => Fate::Drop,
            })
        })
    }
}

fn open(input: &Input) -> Result<ParquetFile> {
    parquet::open(&input.source, &Default::default())
}
