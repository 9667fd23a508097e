//! [`TextCopy`]: records of text, copied byte for byte or with marks.
//!
//! A record is the lines from its first to the first of the next record. So bytes of the input are
//! copied, whatever was read from them.

use std::io::{BufRead, Write};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};

use super::mark::{mark_head, mark_record};
use super::output::CompressedFile;
use crate::corpus::inputs::Input;
use crate::formats::copy::{CopyDecision, MarkNames, NextDecision};
use crate::formats::input::InputStream;
use crate::formats::{Format, MAX_LINE_BYTES};

/// A new file of records of text.
pub struct TextCopy<'o> {
    file: CompressedFile,
    format: Format,
    marks: Option<MarkNames<'o>>,
    /// The line of column names of the first input, as it is there.
    head: Option<Vec<u8>>,
    is_first_input: bool,
    is_at_line_start: bool,
}

impl<'o> TextCopy<'o> {
    /// Starts with an empty file.
    pub fn new(file: CompressedFile, format: Format, marks: Option<MarkNames<'o>>) -> Self {
        Self {
            file,
            format,
            marks,
            head: None,
            is_first_input: true,
            is_at_line_start: true,
        }
    }

    /// Returns the file, in which all records are.
    pub fn finish(self) -> CompressedFile {
        self.file
    }

    /// Copies records of the next input, whose numbers are lines.
    pub fn copy(&mut self, input: &Input, next: &mut NextDecision<'_>) -> Result<()> {
        let mut opened = input.source.open(&Arc::default())?;
        // The first file may begin with a byte order mark, but lines of JSON are read one by one.
        if !self.is_first_input || self.format == Format::Jsonl {
            opened.skip_bom()?;
        }
        self.is_first_input = false;
        let mut lines = InputLines {
            input: opened,
            taken: 0,
        };
        // A record is copied when the line of the next one is known.
        let mut decision = None;
        loop {
            let following = next()?;
            let until = following.map(|(line, _)| line);
            let name = input.source.name();
            self.copy_before(&mut lines, until, decision)
                .with_context(|| match until {
                    Some(line) => format!("cannot copy {name}, before line {line}"),
                    None => format!("cannot copy the end of {name}"),
                })?;
            match following {
                Some((_, following)) => decision = Some(following),
                None => return Ok(()),
            }
        }
    }

    /// Copies the lines of a record: those before `until`, or all that are left. Without a decision
    /// the lines come before the first record.
    fn copy_before(
        &mut self,
        lines: &mut InputLines,
        until: Option<u64>,
        decision: Option<CopyDecision>,
    ) -> Result<()> {
        let is_table = matches!(self.format, Format::Csv | Format::Tsv);
        match (decision, self.marks) {
            (None, _) if is_table => {
                let head = lines.gather_before(until)?;
                self.copy_head(head)
            }
            (None, _) => lines.take_before(until, &mut |bytes| self.write(bytes)),
            (Some(CopyDecision::Drop), _) => lines.take_before(until, &mut |_| Ok(())),
            (Some(CopyDecision::Keep(_)), None) => {
                self.begin_line()?;
                lines.take_before(until, &mut |bytes| self.write(bytes))
            }
            (Some(CopyDecision::Keep(mark)), Some(names)) => {
                let record = lines.gather_before(until)?;
                self.begin_line()?;
                self.write(&mark_record(&record, self.format, names, mark)?)
            }
        }
    }

    /// Copies the column names of the first input. Those of the others must be the same.
    fn copy_head(&mut self, head: Vec<u8>) -> Result<()> {
        if let Some(first) = &self.head {
            ensure!(
                trim_head(first) == trim_head(&head),
                "its columns are not those of the first input; all must have the same, in the same \
                 order"
            );
            return Ok(());
        }
        match self.marks {
            Some(names) => self.write(&mark_head(&head, self.format, names)?)?,
            None => self.write(&head)?,
        }
        self.head = Some(head);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(last) = bytes.last() {
            self.is_at_line_start = *last == b'\n';
            self.file.write_all(bytes)?;
        }
        Ok(())
    }

    /// Ends a line that has no end, as the last of an input may.
    fn begin_line(&mut self) -> Result<()> {
        if self.is_at_line_start {
            return Ok(());
        }
        self.write(b"\n")
    }
}

/// The line of column names without blank lines around it. A tab or a blank at the end is part of it.
fn trim_head(head: &[u8]) -> &[u8] {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let start = head.iter().take_while(|byte| is_line_end(byte)).count();
    let end = (head.iter().rev())
        .take_while(|byte| is_line_end(byte))
        .count();
    &head[start..(head.len() - end).max(start)]
}

/// The lines of an input, as they are.
struct InputLines {
    input: InputStream,
    /// The number of lines that were taken.
    taken: u64,
}

impl InputLines {
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
                ensure!(
                    line.is_none(),
                    "the input has become shorter while it was read"
                );
                return Ok(());
            }
            let end = ready.iter().position(|byte| *byte == b'\n');
            let len = end.map_or(ready.len(), |end| end + 1);
            sink(&ready[..len])?;
            self.input.reader.consume(len);
            self.taken += u64::from(end.is_some());
        }
        Ok(())
    }

    /// Returns everything before a line, or all that is left.
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
