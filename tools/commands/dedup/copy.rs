//! The second reading of a corpus: what is kept is copied as it is.
//!
//! A record is the lines from its first to the first of the next record. So what is copied is bytes
//! of the input, whatever was read from them.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use simdb::{Database, Snapshot};

use super::fates::Fates;
use super::mark::{Marks, Removed, mark_head, mark_record};
use super::options::Dedup;
use super::output::NewCorpus;
use super::summary::{Tally, report_line};
use super::target::Target;
use crate::console::interrupt::Interrupt;
use crate::corpus::bulk;
use crate::corpus::inputs::Input;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::report::RecordReport;
use crate::corpus::statistics::{Rejected, Statistics};
use crate::formats::input::Opened;
use crate::formats::{Content, Format, Item, MAX_LINE_BYTES, reader};

/// Copies a corpus, record by record.
pub struct Copier<'c> {
    pub options: &'c Dedup,
    pub format: Format,
    /// How duplicates are marked; nothing if they are left out.
    pub marks: Option<Marks>,
    pub fates: &'c Fates,
    /// What the documents were compared with.
    pub against: Option<&'c Snapshot>,
    /// The bad records.
    pub rejected: Rejected,
    /// The ids met so far, if some are there more than once.
    pub repeats: Option<HashSet<u64>>,
    pub report: Option<&'c mut RecordReport>,
    pub texts: Texts,
}

/// What is done with the lines of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Copied as they are.
    Keep,
    /// Left out.
    Drop,
    /// Copied with marks.
    Mark(Option<Removed>),
    /// Column names, or what else is before the first record.
    Head,
}

/// What the texts of duplicates and of those that are kept for them are, in short.
#[derive(Default)]
pub struct Texts {
    state: RandomState,
    of_each: HashMap<u64, u64>,
}

impl Texts {
    fn push(&mut self, id: u64, content: &Content) {
        if let Some(text) = &content.text {
            self.of_each.insert(id, self.state.hash_one(text));
        }
    }

    /// Whether two documents have the same text.
    fn are_same(&self, a: u64, b: u64) -> bool {
        let of = |id| self.of_each.get(&id);
        of(a).is_some_and(|text| of(b) == Some(text))
    }
}

/// What is written, with the end of a line before each record.
struct Written<'f> {
    file: &'f mut NewCorpus,
    is_at_line_start: bool,
}

impl Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(last) = bytes.last() {
            self.is_at_line_start = *last == b'\n';
            self.file.write_all(bytes)?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        match self.is_at_line_start {
            true => Ok(()),
            false => self.write(b"\n"),
        }
    }
}

impl Copier<'_> {
    /// Copies all inputs, and says what became of each record.
    pub fn copy_all(
        &mut self,
        ledger: &mut Statistics,
        tally: &mut Tally,
        target: &mut Target,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut wanted = self.options.wanted()?;
        #[cfg(feature = "parquet")]
        if self.format == Format::Parquet {
            return self.copy_rows(ledger, tally, target, interrupt);
        }
        let inputs = ledger.inputs.clone();
        let sizes = inputs.iter().map(|input| input.source.size_bytes());
        let bar = self.options.progress.bytes(sizes.sum());
        bar.set_prefix("writing");
        let bytes_read = Arc::<AtomicU64>::default();
        let mut written = Written {
            file: target.file()?,
            is_at_line_start: true,
        };
        let mut head = None;
        for (number, input) in inputs.iter().enumerate() {
            let mut records = reader(input.format, &input.source, &wanted, &bytes_read)?;
            // Of JSON Lines each line is read for itself, with nothing before it.
            let without_bom = number > 0 || input.format == Format::Jsonl;
            let mut lines = Lines::new(input.source.open(&Arc::default())?, without_bom)?;
            let mut part = Part::Head;
            loop {
                interrupt.check()?;
                bar.set_position(bytes_read.load(Ordering::Relaxed));
                let item = records.next()?;
                let until = item.as_ref().map(Item::number);
                self.copy_part(&mut lines, until, part, &mut head, &mut written)
                    .with_context(|| place(input, until))?;
                let Some(item) = item else {
                    break;
                };
                part = self.part_of(number, item, ledger, tally)?;
            }
            wanted.counted = records.next_ids().or(wanted.counted);
        }
        bar.finish_and_clear();
        tally.identical += self.identical();
        Ok(())
    }

    /// What is done with a record, which is counted and reported.
    pub(super) fn part_of(
        &mut self,
        input: usize,
        item: Item,
        ledger: &mut Statistics,
        tally: &mut Tally,
    ) -> Result<Part> {
        ledger.counts.read += 1;
        let record = match item {
            Item::Record(record) if !self.rejected.records.contains(&(input, record.number)) => {
                record
            }
            _ => return Ok(Part::Drop),
        };
        let id = record.id.0;
        if let Some(stored) = self.fates.taken.get(&id) {
            ledger.conflict(input, record.number, record.id, *stored)?;
            return Ok(Part::Drop);
        }
        let is_repeat = match &mut self.repeats {
            Some(met) => !met.insert(id),
            None => false,
        };
        let mut removed = self.fates.removed.get(&id).copied();
        if is_repeat && removed.is_none() {
            removed = Some(Removed {
                keeper: id,
                distance: Some(0),
                cluster: Some(self.fates.keepers.get(&id).copied().unwrap_or(id)),
            });
        }
        if removed.is_some() || self.fates.keepers.contains_key(&id) {
            let keeper = removed.filter(|removed| removed.cluster.is_none());
            match (keeper, self.against, is_repeat) {
                (_, _, true) => {}
                (Some(keeper), Some(against), false) => {
                    let stored = against.get(keeper.keeper.into())?;
                    let text = stored.and_then(|document| document.text);
                    let is_same = text.is_some() && text == record.content.text;
                    tally.identical += u64::from(is_same);
                }
                _ => self.texts.push(id, &record.content),
            }
        }
        let Some(removed) = removed else {
            tally.kept += 1;
            return Ok(match self.marks {
                Some(_) => Part::Mark(None),
                None => Part::Keep,
            });
        };
        tally.removed += 1;
        tally.repeated += u64::from(is_repeat);
        tally.against += u64::from(removed.cluster.is_none());
        if let Some(report) = &mut self.report {
            let input = &ledger.inputs[input];
            report.line(&report_line(id, &removed, input, record.number))?;
        }
        Ok(match self.marks {
            Some(_) => Part::Mark(Some(removed)),
            None => Part::Drop,
        })
    }

    /// Copies the lines before `until`, or all that are left, as a part is to be copied.
    fn copy_part(
        &self,
        lines: &mut Lines,
        until: Option<u64>,
        part: Part,
        head: &mut Option<Vec<u8>>,
        written: &mut Written<'_>,
    ) -> Result<()> {
        match part {
            Part::Drop => lines.take_before(until, &mut |_| Ok(())),
            Part::Keep => {
                written.begin()?;
                lines.take_before(until, &mut |bytes| written.write(bytes))
            }
            Part::Mark(removed) => {
                let record = lines.gather_before(until)?;
                let Some(marks) = &self.marks else {
                    return Ok(());
                };
                written.begin()?;
                written.write(&mark_record(&record, self.format, marks, removed)?)
            }
            Part::Head => {
                if !matches!(self.format, Format::Csv | Format::Tsv) {
                    return lines.take_before(until, &mut |bytes| written.write(bytes));
                }
                let own = lines.gather_before(until)?;
                match head {
                    None => {
                        written.write(&match &self.marks {
                            Some(marks) => mark_head(&own, self.format, marks)?,
                            None => own.clone(),
                        })?;
                        *head = Some(own);
                        Ok(())
                    }
                    Some(first) if is_same_head(first, &own) => Ok(()),
                    Some(_) => Err(anyhow!(
                        "its columns are not those of the first input; all must have the same, in \
                         the same order"
                    )),
                }
            }
        }
    }

    /// How many documents have the text of what is kept for them, of those of this corpus.
    pub(super) fn identical(&self) -> u64 {
        let of_corpus = self.fates.removed.iter();
        let of_corpus = of_corpus.filter(|(_, removed)| removed.cluster.is_some());
        of_corpus
            .filter(|(id, removed)| self.texts.are_same(**id, removed.keeper))
            .count() as u64
    }
}

/// Where something is wrong, given the line of the next record.
fn place(input: &Input, until: Option<u64>) -> String {
    let name = input.source.name();
    match until {
        Some(line) => format!("cannot copy {name}, before line {line}"),
        None => format!("cannot copy the end of {name}"),
    }
}

/// Whether the column names are the same, whatever blank lines are around them. A tab or a blank at
/// the end is part of them.
fn is_same_head(a: &[u8], b: &[u8]) -> bool {
    plain_head(a) == plain_head(b)
}

fn plain_head(head: &[u8]) -> &[u8] {
    let is_name = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let start = head.iter().position(is_name).unwrap_or(head.len());
    let end = head
        .iter()
        .rposition(is_name)
        .map_or(start, |last| last + 1);
    &head[start..end]
}

/// The lines of an input, as they are.
struct Lines {
    input: Opened,
    /// How many lines were taken.
    taken: u64,
}

impl Lines {
    fn new(mut input: Opened, without_bom: bool) -> Result<Self> {
        if without_bom {
            input.skip_bom()?;
        }
        Ok(Self { input, taken: 0 })
    }

    /// Hands over everything before a line, counted from 1, or all that is left.
    fn take_before(
        &mut self,
        line: Option<u64>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        while line.is_none_or(|line| self.taken + 1 < line) {
            let ready = self.input.reader.fill_buf();
            let ready = ready.with_context(|| format!("cannot read {}", self.input.name))?;
            if ready.is_empty() {
                return match line {
                    None => Ok(()),
                    Some(_) => Err(anyhow!("the input has become shorter while it was read")),
                };
            }
            let end = ready.iter().position(|byte| *byte == b'\n');
            let len = end.map_or(ready.len(), |end| end + 1);
            sink(&ready[..len])?;
            self.input.reader.consume(len);
            self.taken += u64::from(end.is_some());
        }
        Ok(())
    }

    /// The same in one piece.
    fn gather_before(&mut self, line: Option<u64>) -> Result<Vec<u8>> {
        let mut gathered = Vec::new();
        self.take_before(line, &mut |bytes| {
            if gathered.len() + bytes.len() > 2 * MAX_LINE_BYTES {
                bail!("a record and the blank lines behind it are too long to be marked");
            }
            gathered.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(gathered)
    }
}

/// Adds what is kept of a corpus to a database; how many documents were new there.
pub fn add(
    options: &Dedup,
    corpus: &Database,
    fates: &Fates,
    database: &Database,
    interrupt: &Interrupt,
) -> Result<u64> {
    let bar = options.progress.work();
    bar.set_prefix("adding");
    let keep_texts = database.settings().keep_texts;
    let sort_bytes = MemoryBudget::new(options.memory).shared_sort_bytes();
    let mut bulk = database.bulk_load(sort_bytes)?;
    for document in corpus.snapshot()?.documents() {
        let mut document = document?;
        interrupt.check()?;
        if !fates.removed.contains_key(&document.id.0) {
            document.text = document.text.filter(|_| keep_texts);
            bulk.push(document)?;
        }
    }
    let report = bulk::write(bulk, &bar, interrupt, |_, id, _| {
        bail!("document {id} is there with another fingerprint")
    })?;
    Ok(report.inserted)
}
