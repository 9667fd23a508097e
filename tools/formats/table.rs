//! [`TableReader`]: comma- and tab-separated values, record by record under their column names.
//!
//! `csv_core` is used without `csv`, because it tells which bytes of the input belong to a field. From
//! the fields alone it cannot be seen that a quotation mark is never closed, or that text follows a
//! closing one. Both may have swallowed other records.

use std::io::{self, BufRead};

use anyhow::{Context, Result, anyhow, bail};
use csv::ByteRecord;
use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};

use super::input::{BUFFER_BYTES, InputStream};
use super::{excerpt, utf8};

/// A reader of CSV or TSV. Blank lines are skipped.
pub struct TableReader {
    input: InputStream,
    parser: Reader,
    /// A quotation mark at the start of a field encloses the field.
    is_quoting: bool,
    limit: RecordLimit,
    header: ByteRecord,
    record: ByteRecord,
    /// The line on which the record read last begins.
    line: u64,
    /// Holds the value of a field while it is read.
    buffer: Vec<u8>,
}

/// The length that a record may have.
#[derive(Clone, Copy, Debug)]
pub struct RecordLimit {
    /// Its bytes in the file, without the end of its line.
    pub bytes: usize,
    /// The end of the message about a longer record.
    pub advice: &'static str,
}

/// A column: its name and its index.
pub struct TableColumn {
    pub name: String,
    index: usize,
}

/// The shape of a record.
#[derive(Default)]
struct RecordShape {
    /// The number of its fields, also of those that are not held.
    fields: usize,
    has_quoted_field: bool,
    /// A carriage return stands outside of quotation marks and before no line feed.
    has_lone_return: bool,
    defect: Option<Defect>,
}

/// Defects of a record. The last of several is the one that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Defect {
    TooLong,
    TextAfterQuote,
    NeverClosed,
}

/// The bytes of a field in the file, up to the delimiter or line feed that ends the field.
#[derive(Default)]
struct RawField {
    len_bytes: usize,
    is_quoted: bool,
    marks: usize,
    /// The quotation marks that are part of the value.
    value_marks: usize,
    last: [u8; 3],
}

/// At most two bytes end a line.
const LINE_END_BYTES: usize = 2;

/// Larger buffers are not kept from one record for the next.
const KEPT_BYTES: usize = 2 * BUFFER_BYTES;

/// The number of columns that are listed where one is missing.
const COLUMNS_SHOWN: usize = 20;

impl TableReader {
    /// Comma-separated values, quoted as in RFC 4180.
    pub fn csv(input: InputStream, limit: RecordLimit) -> Result<Self> {
        Self::new(input, limit, b',', true)
    }

    /// Tab-separated values. A quotation mark is part of the text, so neither a tab nor a line feed can
    /// be.
    pub fn tsv(input: InputStream, limit: RecordLimit) -> Result<Self> {
        Self::new(input, limit, b'\t', false)
    }

    fn new(
        mut input: InputStream,
        limit: RecordLimit,
        delimiter: u8,
        is_quoting: bool,
    ) -> Result<Self> {
        input.skip_bom()?;
        // Only a line feed ends a record, so that lines can be counted. To the parser a carriage return
        // before it is part of the last field.
        let parser = ReaderBuilder::new()
            .delimiter(delimiter)
            .quoting(is_quoting)
            .terminator(Terminator::Any(b'\n'))
            .build();
        let mut reader = Self {
            input,
            parser,
            is_quoting,
            limit,
            header: ByteRecord::new(),
            record: ByteRecord::new(),
            line: 1,
            buffer: Vec::new(),
        };
        let header = reader.read(usize::MAX);
        let name = &reader.input.name;
        let header = header.with_context(|| format!("cannot read the column names of {name}"))?;
        let Some(header) = header else {
            bail!("{name}:1: there are no column names");
        };
        if let Some(defect) = header.defect {
            bail!("{name}:1: {}", defect.reason(limit));
        }
        // A file whose lines end in carriage returns alone consists of column names.
        if header.has_lone_return {
            bail!(
                "{name}:1: a carriage return stands where no line ends; lines end in a line feed, and \
                 `tr '\\r' '\\n'` makes them so"
            );
        }
        std::mem::swap(&mut reader.header, &mut reader.record);
        Ok(reader)
    }

    /// The column of that name, or `None` if there is none.
    pub fn optional(&self, wanted: &str) -> Result<Option<TableColumn>> {
        let columns = self.header.iter().enumerate();
        let mut named = columns.filter(|(_, name)| *name == wanted.as_bytes());
        let column = named.next().map(|(index, _)| TableColumn {
            name: wanted.to_owned(),
            index,
        });
        if named.next().is_some() {
            bail!("{}:1: column {wanted:?} is there twice", self.input.name);
        }
        Ok(column)
    }

    /// The column of that name, which must be there. If it is not, `advice` ends the message.
    pub fn required(&self, wanted: &str, advice: &str) -> Result<TableColumn> {
        self.optional(wanted)?.ok_or_else(|| {
            let mut names: Vec<_> = self.header.iter().take(COLUMNS_SHOWN).map(shown).collect();
            if self.header.len() > COLUMNS_SHOWN {
                names.push("…".to_owned());
            }
            anyhow!(
                "{}:1: there is no column {wanted:?}; the columns are {}{advice}",
                self.input.name,
                names.join(", ")
            )
        })
    }

    /// The line on which the next record begins, and the record or its defect. `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<(u64, Result<&ByteRecord, String>)>> {
        let columns = self.header.len();
        let record = loop {
            let record = self.read(columns).with_context(|| {
                let Self { input, line, .. } = &*self;
                format!(
                    "cannot read {} beyond the record of line {line}",
                    input.name
                )
            })?;
            let Some(record) = record else {
                return Ok(None);
            };
            // A line that holds a carriage return only.
            let is_blank = record.fields == 1
                && !record.has_quoted_field
                && record.defect.is_none()
                && self.record.as_slice().is_empty();
            if !is_blank {
                break record;
            }
        };
        let outcome = match record.defect {
            Some(defect) => Err(defect.reason(self.limit)),
            None if record.fields != columns => Err(format!(
                "there are {} fields under {columns} column names",
                record.fields
            )),
            None => Ok(&self.record),
        };
        Ok(Some((self.line, outcome)))
    }

    /// Reads the next record, of which at most `columns` fields are held. A record that is too long is
    /// read to its end without being held. `None` at the end.
    fn read(&mut self, columns: usize) -> io::Result<Option<RecordShape>> {
        self.clear();
        if !self.skip_line_feeds()? {
            return Ok(None);
        }
        self.line = self.parser.line();
        let mut record = RecordShape::default();
        let mut record_bytes = 0;
        let mut field = RawField::default();
        let mut filled = 0;
        loop {
            let ready = self.input.reader.fill_buf()?;
            let is_end = ready.is_empty();
            // The last line may lack its line feed.
            let ready = if is_end { b"\n" } else { ready };
            // A value has no more bytes than are read for it, so the buffer is never full.
            if self.buffer.len() < filled + ready.len() {
                self.buffer.resize(filled + ready.len(), 0);
            }
            let room = &mut self.buffer[filled..];
            let (result, read, written) = self.parser.read_field(ready, room);
            field.push(&ready[..read], &room[..written], self.is_quoting);
            filled += written;
            if !is_end {
                record_bytes += read;
                self.input.reader.consume(read);
            }
            if record_bytes > self.limit.bytes.saturating_add(LINE_END_BYTES) {
                record.add_defect(Defect::TooLong);
                self.record.clear();
                filled = 0;
            }
            let ReadFieldResult::Field { record_end } = result else {
                if is_end {
                    // Between quotation marks the line feed is part of the value.
                    record.add_defect(Defect::NeverClosed);
                    return Ok(Some(record));
                }
                continue;
            };
            record.has_quoted_field |= field.is_quoted;
            if field.is_quoted && !field.is_closed() {
                record.add_defect(Defect::TextAfterQuote);
            }
            if record.fields < columns && record.defect.is_none() {
                let value = &self.buffer[..filled];
                let ends_line = record_end && field.last.ends_with(b"\r\n");
                let value = match value {
                    [value @ .., b'\r'] if ends_line => value,
                    value => value,
                };
                record.has_lone_return |= !field.is_quoted && value.contains(&b'\r');
                self.record.push_field(value);
            }
            record.fields += 1;
            if record_end {
                return Ok(Some(record));
            }
            field = RawField::default();
            filled = 0;
        }
    }

    fn clear(&mut self) {
        self.record.clear();
        // The memory of a giant is not kept for the many records that follow it.
        if self.record.as_slice().len().max(self.buffer.len()) > KEPT_BYTES {
            self.record = ByteRecord::new();
            self.buffer = Vec::new();
        }
    }

    /// Skips line feeds before a record. Returns `false` at the end of the input.
    fn skip_line_feeds(&mut self) -> io::Result<bool> {
        loop {
            let ready = self.input.reader.fill_buf()?;
            let line_feeds = ready.iter().take_while(|byte| **byte == b'\n').count();
            if line_feeds == 0 {
                return Ok(!ready.is_empty());
            }
            self.input.reader.consume(line_feeds);
            self.parser.set_line(self.parser.line() + line_feeds as u64);
        }
    }
}

/// The name of a column, without control characters, which could move the cursor of a terminal.
fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    excerpt(&name.replace(char::is_control, "\u{fffd}"))
}

impl TableColumn {
    /// The value of this column in a record.
    pub fn value<'r>(&self, record: &'r ByteRecord) -> Result<&'r str, String> {
        let bytes = record.get(self.index).unwrap_or_default();
        utf8(bytes).map_err(|reason| format!("column {:?}: {reason}", self.name))
    }
}

impl RecordShape {
    fn add_defect(&mut self, defect: Defect) {
        self.defect = self.defect.max(Some(defect));
    }
}

impl Defect {
    fn reason(self, RecordLimit { bytes, advice }: RecordLimit) -> String {
        match self {
            Self::TooLong => format!("the record is longer than {bytes} bytes{advice}"),
            Self::TextAfterQuote => "text follows a closing quotation mark: one mark is too many, here \
                 or on a line that was read as part of this record, or a mark in a text is not doubled"
                .to_owned(),
            Self::NeverClosed => "a quotation mark is opened and never closed".to_owned(),
        }
    }
}

impl RawField {
    /// Takes the next bytes of the field, and of its value.
    fn push(&mut self, bytes: &[u8], value: &[u8], is_quoting: bool) {
        let marks_in = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'"').count();
        if self.len_bytes == 0 {
            self.is_quoted = is_quoting && bytes.first() == Some(&b'"');
        }
        if self.is_quoted {
            self.marks += marks_in(bytes);
            self.value_marks += marks_in(value);
        }
        self.len_bytes += bytes.len();
        for byte in &bytes[bytes.len().saturating_sub(self.last.len())..] {
            self.last = [self.last[1], self.last[2], *byte];
        }
    }

    /// Returns `true` if nothing but the end of the field follows its closing quotation mark. Then all
    /// marks of its value are doubled. To the parser, marks that come later are part of the value as they
    /// are, so their number shows that a mark that closes the field has come before.
    fn is_closed(&self) -> bool {
        let last = match self.last {
            [last, b'\r', b'\n'] | [_, last, _] => last,
        };
        last == b'"' && self.marks == 2 + 2 * self.value_marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of each record and its fields, or nothing where it is too long.
    fn records(text: &str, bytes: usize) -> Vec<(u64, Option<Vec<String>>)> {
        let limit = RecordLimit { bytes, advice: "" };
        let mut table =
            TableReader::csv(InputStream::of_bytes("t", text.as_bytes()), limit).unwrap();
        let mut records = Vec::new();
        while let Some((line, record)) = table.next_record().unwrap() {
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
                // Two bytes are the end of a line.
                let fits = *len <= bytes + 2;
                assert_eq!(cut.0, whole.0, "{bytes}");
                assert_eq!(cut.1.is_some(), fits, "{bytes}: {cut:?}");
                if fits {
                    assert_eq!(cut, whole, "{bytes}");
                }
            }
        }
    }
}
