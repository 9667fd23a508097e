//! [`Table`]: comma- and tab-separated values, record by record under their column names.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use anyhow::{Context, Result, anyhow, bail};
use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

use super::input::Opened;
use super::quotes::{Form, Quotes};
use super::{EXCERPT_CHARACTERS, excerpt, utf8};

/// Reads CSV or TSV. Blank lines are skipped.
pub struct Table {
    name: String,
    reader: Reader<Rationed>,
    header: ByteRecord,
    record: ByteRecord,
    /// The line of the record read last.
    line: u64,
    /// Line feeds in what was skipped: the reader has not met them.
    skipped_lines: u64,
    limit: RecordLimit,
}

/// How long a record may be.
#[derive(Clone, Copy, Debug)]
pub struct RecordLimit {
    /// Its bytes, without the end of its line.
    pub bytes: usize,
    /// What a message says after that a record has more.
    pub advice: &'static str,
}

/// A wanted column: its name and its place.
pub struct Column {
    /// What it is called.
    pub name: String,
    place: usize,
}

impl Table {
    /// Comma-separated values, quoted as in RFC 4180.
    pub fn csv(input: Opened, limit: RecordLimit) -> Result<Self> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(b',');
        let quotes = Quotes::new(b',', true);
        Self::new(input, limit, &mut builder, quotes)
    }

    /// Tab-separated values: a quotation mark is part of the text, as no one agrees on what else
    /// it could be, so neither tab nor line feed can be.
    pub fn tsv(input: Opened, limit: RecordLimit) -> Result<Self> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(b'\t').quoting(false);
        let quotes = Quotes::new(b'\t', false);
        Self::new(input, limit, &mut builder, quotes)
    }

    fn new(
        mut input: Opened,
        limit: RecordLimit,
        builder: &mut ReaderBuilder,
        quotes: Quotes,
    ) -> Result<Self> {
        input.skip_bom()?;
        let name = input.name;
        // Records end in a line feed that is read with them, so that lines can be counted; the
        // carriage return before it is ours to remove. The number of fields is ours to check.
        let mut reader = builder
            .terminator(Terminator::Any(b'\n'))
            .flexible(true)
            .has_headers(false)
            .from_reader(Rationed {
                input: input.reader,
                // Two more for the end of the line.
                ration_bytes: limit.bytes as u64 + 2,
                pending: b"",
                skipped: None,
                last: b'\n',
                given_bytes: 0,
                end_bytes: None,
                quotes,
            });
        let mut header = ByteRecord::new();
        reader
            .read_byte_record(&mut header)
            .with_context(|| format!("cannot read the column names of {name}"))?;
        if let Some(skipped) = reader.get_mut().skipped.take() {
            bail!("{name}:1: {}", skipped.reason(limit));
        }
        // An empty file has no quotation mark either.
        if header.is_empty() {
            bail!("{name}:1: there are no column names");
        }
        if never_closed(&reader) {
            bail!("{name}:1: {NEVER_CLOSED}");
        }
        let form = form_of_last(&mut reader);
        if form.goes_on_after_quote {
            bail!("{name}:1: {GOES_ON_AFTER_QUOTE}");
        }
        // All of the file would be column names, and there would be no record.
        if form.has_lone_return {
            bail!("{name}:1: {LONE_RETURN}");
        }
        let header = match form.ends_in_quote {
            true => header,
            false => without_carriage_return(&header),
        };
        Ok(Self {
            name,
            reader,
            header,
            record: ByteRecord::new(),
            line: 1,
            skipped_lines: 0,
            limit,
        })
    }

    /// The column of that name, if there is one.
    pub fn optional(&self, wanted: &str) -> Result<Option<Column>> {
        let columns = self.header.iter().enumerate();
        let mut places = columns.filter(|(_, column)| *column == wanted.as_bytes());
        let place = places.next().map(|(place, _)| place);
        // Nobody knows which of the two counts.
        if places.next().is_some() {
            bail!("{}:1: column {wanted:?} is there twice", self.name);
        }
        let name = wanted.to_owned();
        Ok(place.map(|place| Column { name, place }))
    }

    /// The column of that name, which must be there.
    pub fn required(&self, wanted: &str) -> Result<Column> {
        self.optional(wanted)?.ok_or_else(|| self.missing(wanted))
    }

    /// The same of a column that can be named by an option.
    pub fn required_by(&self, option: &str, wanted: &str) -> Result<Column> {
        let named_by = || anyhow!("{}; name the right one with {option}", self.missing(wanted));
        self.optional(wanted)?.ok_or_else(named_by)
    }

    fn missing(&self, wanted: &str) -> anyhow::Error {
        let there = self.header.iter().take(COLUMNS_SHOWN + 1);
        let there: Vec<_> = there.map(String::from_utf8_lossy).collect();
        anyhow!(
            "{}:1: there is no column {wanted:?}; the columns are {}",
            self.name,
            names(&there)
        )
    }

    /// The line of the next record, and the record or what is wrong with it; nothing at the end.
    pub fn next(&mut self) -> Result<Option<(u64, Result<&ByteRecord, String>)>> {
        let form = loop {
            self.forget_giant();
            let more = self
                .reader
                .read_byte_record(&mut self.record)
                .with_context(|| {
                    format!(
                        "cannot read {} beyond the record of line {}",
                        self.name, self.line
                    )
                })?;
            if !more {
                return Ok(None);
            }
            if let Some(skipped) = self.reader.get_mut().skipped.take() {
                self.line = self.line_of_last();
                self.skipped_lines += skipped.lines;
                return Ok(Some((self.line, Err(skipped.reason(self.limit)))));
            }
            let form = form_of_last(&mut self.reader);
            let is_blank = self.record.len() == 1 && self.record.as_slice() == b"\r";
            if !is_blank || form.ends_in_quote {
                break form;
            }
        };
        self.line = self.line_of_last();
        if self.record.as_slice().ends_with(b"\r") && !form.ends_in_quote {
            self.record = without_carriage_return(&self.record);
        }
        if never_closed(&self.reader) {
            // No line feed ended this record: the reader still stands on its last line.
            self.line += 1;
            return Ok(Some((self.line, Err(NEVER_CLOSED.to_owned()))));
        }
        if form.goes_on_after_quote {
            return Ok(Some((self.line, Err(GOES_ON_AFTER_QUOTE.to_owned()))));
        }
        let (found, expected) = (self.record.len(), self.header.len());
        let record = match found == expected {
            true => Ok(&self.record),
            false => Err(format!(
                "there are {found} fields under {expected} column names"
            )),
        };
        Ok(Some((self.line, record)))
    }

    /// Where the record read last begins.
    fn line_of_last(&self) -> u64 {
        let bytes = self.record.as_slice().iter();
        let line_feeds = bytes.filter(|&&byte| byte == b'\n').count();
        // The reader stands on the line after the record.
        let line = self.reader.position().line() - 1 + self.skipped_lines;
        line.saturating_sub(line_feeds as u64)
    }

    /// The memory of one giant is not kept for the many that follow it.
    fn forget_giant(&mut self) {
        if self.record.as_slice().len() > KEPT_BYTES || self.record.len() > KEPT_BYTES {
            self.record = ByteRecord::new();
        }
    }
}

impl Column {
    /// The value of this column in a record.
    pub fn value<'r>(&self, record: &'r ByteRecord) -> Result<&'r str, String> {
        // Records of another length have been refused before.
        let bytes = record.get(self.place).unwrap_or_default();
        utf8(bytes).map_err(|reason| format!("column {:?}: {reason}", self.name))
    }
}

/// How many columns are named where one is missing.
const COLUMNS_SHOWN: usize = 20;

/// The names of columns, as far as a message can bear them.
fn names(columns: &[Cow<'_, str>]) -> String {
    let shown = columns.iter().take(COLUMNS_SHOWN);
    let mut names: Vec<_> = shown.map(|name| excerpt(&plain(name))).collect();
    if columns.len() > COLUMNS_SHOWN {
        names.push("…".to_owned());
    }
    names.join(", ")
}

/// A name without what would move the cursor of a terminal.
fn plain(name: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    name.chars()
        .take(2 * EXCERPT_CHARACTERS)
        .map(shown)
        .collect()
}

/// The room that is kept for the record after a giant.
const KEPT_BYTES: usize = 1 << 18;

/// What is wrong with a record that swallowed the rest of its file.
const NEVER_CLOSED: &str = "a quotation mark is opened and never closed";

/// What is wrong with a record that may have swallowed others.
const GOES_ON_AFTER_QUOTE: &str = "text follows a closing quotation mark: one mark is too many, here or \
     on a line that was read as part of this record, or a mark in a text is not doubled";

/// What is wrong with column names that are all of a file.
const LONE_RETURN: &str = "a carriage return stands where no line ends; lines end in a line feed, and \
     `tr '\\r' '\\n'` makes them so";

/// The form of the record read last.
fn form_of_last(reader: &mut Reader<Rationed>) -> Form {
    let end_bytes = reader.position().byte();
    reader.get_mut().quotes.form_before(end_bytes)
}

/// Whether the record read last goes on where its input ends.
fn never_closed(reader: &Reader<Rationed>) -> bool {
    let end_bytes = reader.get_ref().end_bytes;
    end_bytes.is_some_and(|end| reader.position().byte() > end)
}

/// The same record, without the carriage return that ended its line.
fn without_carriage_return(record: &ByteRecord) -> ByteRecord {
    let last = record.len().saturating_sub(1);
    let trimmed = record
        .iter()
        .enumerate()
        .map(|(place, field)| match place == last {
            true => field.strip_suffix(b"\r").unwrap_or(field),
            false => field,
        });
    trimmed.collect()
}

/// An input that gives out no more than a ration of each record: a quotation mark that is never
/// closed must not draw the rest of a file into memory. What a record has beyond that is read over,
/// and the reader is given an end of the record. The input ends in a line feed, added if it has none.
struct Rationed {
    input: Box<dyn BufRead + Send>,
    ration_bytes: u64,
    /// What the reader is given before anything else.
    pending: &'static [u8],
    /// What the record read last had beyond the ration. The reader asks for no more before it has
    /// ended that record, so it is of no other.
    skipped: Option<Skipped>,
    /// The byte given out last.
    last: u8,
    given_bytes: u64,
    /// How many bytes there were before the blank line that is added behind the last: only a
    /// record whose quotation mark is never closed reaches beyond them.
    end_bytes: Option<u64>,
    /// What is known of the records in what was given out.
    quotes: Quotes,
}

/// The rest of a record that is too long.
#[derive(Debug, Default)]
struct Skipped {
    /// Line feeds in it, but for the one that ends the record.
    lines: u64,
    form: Form,
    is_never_closed: bool,
}

impl Skipped {
    /// What is wrong with the record.
    fn reason(&self, limit: RecordLimit) -> String {
        if self.is_never_closed {
            NEVER_CLOSED.to_owned()
        } else if self.form.goes_on_after_quote {
            GOES_ON_AFTER_QUOTE.to_owned()
        } else {
            let RecordLimit { bytes, advice } = limit;
            format!("the record is longer than {bytes} bytes{advice}")
        }
    }
}

impl Rationed {
    /// Reads over the rest of a record. The reader will be given what ends it.
    fn skip_record(&mut self) -> io::Result<()> {
        self.pending = match self.quotes.is_quoted() {
            true => b"\"\n",
            false => b"\n",
        };
        let mut skipped = Skipped::default();
        loop {
            let ready = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                ready => ready?,
            };
            if ready.is_empty() {
                skipped.is_never_closed = self.quotes.is_quoted();
                break;
            }
            let mut used = 0;
            let mut form = None;
            while let (None, Some(byte)) = (form, ready.get(used)) {
                used += 1;
                form = self.quotes.skip(*byte);
                skipped.lines += u64::from(form.is_none() && *byte == b'\n');
            }
            self.input.consume(used);
            if let Some(form) = form {
                skipped.form = form;
                break;
            }
        }
        self.quotes.resume(self.pending.len() as u64);
        self.skipped = Some(skipped);
        Ok(())
    }

    fn give_pending(&mut self, buffer: &mut [u8]) -> usize {
        let bytes = buffer.len().min(self.pending.len());
        let (given, left) = self.pending.split_at(bytes);
        buffer[..bytes].copy_from_slice(given);
        self.pending = left;
        self.last = b'\n';
        self.given_bytes += bytes as u64;
        bytes
    }
}

impl Read for Rationed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left_bytes = self.ration_bytes - self.quotes.record_bytes();
        if left_bytes == 0 {
            self.skip_record()?;
        }
        if !self.pending.is_empty() {
            return Ok(self.give_pending(buffer));
        }
        let most = usize::try_from(left_bytes).unwrap_or(usize::MAX);
        let most = buffer.len().min(most);
        let bytes = self.input.read(&mut buffer[..most])?;
        if let Some(last) = buffer[..bytes].last() {
            self.last = *last;
            self.given_bytes += bytes as u64;
            self.quotes.follow(&buffer[..bytes]);
            return Ok(bytes);
        }
        let Some(first) = buffer.first_mut().filter(|_| self.end_bytes.is_none()) else {
            return Ok(0);
        };
        *first = b'\n';
        self.quotes.follow(b"\n");
        if self.last == b'\n' {
            self.end_bytes = Some(self.given_bytes);
        } else {
            self.last = b'\n';
            self.given_bytes += 1;
        }
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of each record and its fields, or nothing where it is too long.
    fn records(text: &str, bytes: usize) -> Vec<(u64, Option<Vec<String>>)> {
        let limit = RecordLimit { bytes, advice: "" };
        let mut table = Table::csv(Opened::of_bytes("t", text.as_bytes()), limit).unwrap();
        let mut records = Vec::new();
        while let Some((line, record)) = table.next().unwrap() {
            let fields = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
            records.push(match record {
                Ok(record) => (line, Some(record.iter().map(fields).collect())),
                Err(reason) => {
                    let said = format!("the record is longer than {bytes} bytes");
                    assert_eq!(reason, said);
                    (line, None)
                }
            });
        }
        records
    }

    #[test]
    fn wherever_a_record_is_cut_those_behind_it_are_read_as_ever() {
        let rows = [
            "\"x\"\"y\",1\r\n",
            "\n\n\r\n",
            "\"p\nq\r\n\n\"\"\",\"2\"\r\n",
            "plain \" mark,3\n",
            "\"\",4\n",
            "\n",
            "\"\"\"\"\"\"\"\",\"\n\n\"\n",
            "last,\"\"",
        ];
        let text = format!("a,b\n{}", rows.concat());
        let whole = records(&text, 1000);
        assert_eq!(whole.len(), 6);
        let lens = rows.iter().filter(|row| row.len() > 4).map(|row| row.len());
        let lens: Vec<usize> = lens.collect();
        for bytes in 3..30 {
            let cut = records(&text, bytes);
            assert_eq!(cut.len(), whole.len(), "{bytes}");
            for ((cut, whole), len) in cut.iter().zip(&whole).zip(&lens) {
                // With the end of a line that need not be there.
                let fits = *len < bytes + 2 || (*len == bytes + 2 && whole.0 < 15);
                assert_eq!(cut.0, whole.0, "{bytes}");
                assert_eq!(cut.1.is_some(), fits, "{bytes}: {cut:?}");
                if fits {
                    assert_eq!(cut, whole, "{bytes}");
                }
            }
        }
    }
}
