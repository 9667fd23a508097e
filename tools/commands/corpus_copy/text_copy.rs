//! [`TextCopy`]: copies records of text, byte for byte, with added fields or with other texts.
//!
//! A record extends from its first line to the first line of the next record, so the copy does not
//! depend on how the record is parsed.

use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};

use super::added::{add_to_head, add_to_record};
use super::compressed_file::CompressedFile;
use super::rewrite::{TextField, rewrite_record};
use crate::corpus::inputs::Input;
use crate::formats::copy::{AddedField, CopyDecision, NextDecision};
use crate::formats::input::InputStream;
use crate::formats::table::{Dialect, fields_of};
use crate::formats::{Format, MAX_LINE_BYTES};

pub struct TextCopy<'o> {
    pub file: CompressedFile,
    format: Format,
    added: Vec<AddedField<'o>>,
    text: TextField,
    is_first_input: bool,
    is_at_line_start: bool,
}

impl<'o> TextCopy<'o> {
    /// `text` is the name of the field of texts that are replaced.
    pub fn new(
        file: CompressedFile,
        format: Format,
        added: Vec<AddedField<'o>>,
        text: String,
    ) -> Self {
        Self {
            file,
            format,
            added,
            text: TextField {
                name: text,
                column: None,
            },
            is_first_input: true,
            is_at_line_start: true,
        }
    }

    /// Copies records of the next input; their numbers are line numbers.
    pub fn copy(&mut self, input: &Input, next: &mut NextDecision<'_>) -> Result<()> {
        let mut opened = input.source.open(&Arc::default())?;
        // A byte order mark may stay at the start of a table, but is no part of a line of JSON.
        if !self.is_first_input || self.format == Format::Jsonl {
            opened.skip_bom()?;
        }
        let mut lines = InputLines {
            input: opened,
            taken: 0,
        };
        // A record ends before the first line of the next record, so it is copied one step later.
        let mut decision = None;
        loop {
            let following = next()?;
            let until = following.as_ref().map(|(line, _)| *line);
            let name = input.source.name();
            self.copy_before(&mut lines, until, decision)
                .with_context(|| match until {
                    Some(line) => format!("cannot copy {name}, before line {line}"),
                    None => format!("cannot copy the end of {name}"),
                })?;
            match following {
                Some((_, following)) => decision = Some(following),
                None => {
                    self.is_first_input = false;
                    return Ok(());
                }
            }
        }
    }

    /// Copies the lines of a record: the lines before `until`, or all remaining lines. `decision`
    /// is `None` for the lines before the first record.
    fn copy_before(
        &mut self,
        lines: &mut InputLines,
        until: Option<u64>,
        decision: Option<CopyDecision>,
    ) -> Result<()> {
        match decision {
            None => match Dialect::of(self.format) {
                Some(dialect) => self.copy_head(lines.gather_before(until)?, dialect),
                None => lines.take_before(until, &mut |bytes| self.write(bytes)),
            },
            Some(CopyDecision::Drop) => lines.take_before(until, &mut |_| Ok(())),
            Some(CopyDecision::Keep(_) | CopyDecision::Unread) if self.added.is_empty() => {
                self.begin_line()?;
                lines.take_before(until, &mut |bytes| self.write(bytes))
            }
            Some(CopyDecision::Rewrite(text)) => {
                let record = lines.gather_before(until)?;
                self.begin_line()?;
                self.write(&rewrite_record(&record, self.format, &self.text, &text)?)
            }
            Some(CopyDecision::Unread) => {
                let record = lines.gather_before(until)?;
                self.begin_line()?;
                let with_added = add_to_record(&record, self.format, &self.added, &[]);
                self.write(&with_added.unwrap_or(record))
            }
            Some(CopyDecision::Keep(values)) => {
                let record = lines.gather_before(until)?;
                self.begin_line()?;
                self.write(&add_to_record(&record, self.format, &self.added, &values)?)
            }
        }
    }

    /// Copies the header of the first input. Other inputs have the same columns, which were
    /// checked.
    fn copy_head(&mut self, head: Vec<u8>, dialect: Dialect) -> Result<()> {
        if !self.is_first_input {
            return Ok(());
        }
        let columns = fields_of(trim_head(&head), dialect);
        let mut names = columns.iter().map(|(_, name)| name);
        self.text.column = names.position(|name| name == self.text.name.as_bytes());
        self.write(&add_to_head(&head, dialect, &self.added))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(last) = bytes.last() {
            self.is_at_line_start = *last == b'\n';
            self.file.writer().write_all(bytes)?;
        }
        Ok(())
    }

    /// Ends the last line of an input that has no line feed.
    fn begin_line(&mut self) -> Result<()> {
        if self.is_at_line_start {
            Ok(())
        } else {
            self.write(b"\n")
        }
    }
}

/// The header without blank lines around it. Tabs and blanks at its end are part of it.
fn trim_head(head: &[u8]) -> &[u8] {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    // Only the first input may have a byte order mark.
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let start = head.iter().take_while(|byte| is_line_end(byte)).count();
    let end = (head.iter().rev())
        .take_while(|byte| is_line_end(byte))
        .count();
    &head[start..(head.len() - end).max(start)]
}

struct InputLines {
    input: InputStream,
    taken: u64,
}

impl InputLines {
    /// Calls `sink` with the bytes before a line, counted from 1; `None` is the end of the input.
    fn take_before(
        &mut self,
        line: Option<u64>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        while line.is_none_or(|line| self.taken + 1 < line) {
            let ready = self.input.reader.fill_buf();
            let ready = ready.with_context(|| format!("cannot read {}", self.input.name))?;
            if ready.is_empty() {
                ensure!(line.is_none(), "the input was truncated while it was read");
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

    /// Returns the bytes before a line; `None` is the end of the input.
    fn gather_before(&mut self, line: Option<u64>) -> Result<Vec<u8>> {
        let mut gathered = Vec::new();
        self.take_before(line, &mut |bytes| {
            // Blank lines without end would fill the memory: they belong to the record before them.
            if gathered.len() + bytes.len() > 2 * MAX_LINE_BYTES {
                bail!(
                    "a record with the blank lines after it is too long to be changed; shorten the record \
                     or leave out the blank lines"
                );
            }
            gathered.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(gathered)
    }
}
