//! [`TableReader`]: comma- and tab-separated values, record by record under their column names.
//!
//! The parser is our own, because the crate `csv` accepts a quotation mark that is never closed,
//! and text after a closing mark. Both may have swallowed other records.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::ops::Range;

use anyhow::{Context, Result, anyhow, bail};

use super::input::{BUFFER_BYTES, InputStream};
use super::{Format, list_columns, printable, utf8};

/// A reader of CSV or TSV. Blank lines are skipped.
pub struct TableReader {
    input: InputStream,
    dialect: Dialect,
    limit: RecordLimit,
    header: TableRecord,
    record: TableRecord,
    /// The line on which the last record begins.
    line: u64,
    /// The number of line feeds read.
    line_feeds: u64,
    field: FieldParser,
}

/// The signs of a table.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub delimiter: char,
    /// A quotation mark at the start of a field encloses the field.
    pub is_quoting: bool,
}

/// The fields of a record.
#[derive(Debug, Default)]
pub struct TableRecord {
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<usize>,
}

/// The longest record that is read.
#[derive(Clone, Copy, Debug)]
pub struct RecordLimit {
    /// The bytes of the record in the file, without the end of its line.
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
    /// The number of fields, including those that are not held.
    fields: usize,
    has_quoted_field: bool,
    /// A carriage return outside quotation marks is not followed by a line feed.
    has_lone_return: bool,
    defect: Option<Defect>,
    /// The number of the line on which the record ends.
    last_line: u64,
}

/// A defect of a record. Of several defects the last in this order is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Defect {
    TooLong,
    TextAfterQuote,
    NeverClosed,
}

/// The parser of one field.
#[derive(Default)]
struct FieldParser {
    state: FieldState,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FieldState {
    #[default]
    Start,
    Plain,
    Quoted,
    /// After a quotation mark in a quoted field: a closing mark, or the first of a doubled mark.
    QuoteInQuoted,
    /// After a carriage return behind a closing mark.
    ReturnAfterQuote,
    /// After other text behind a closing mark.
    TextAfterQuote,
}

/// The end of a line has at most two bytes.
const LINE_END_BYTES: usize = 2;

/// Buffers that grew beyond 512 KiB for one record are freed before the next.
const KEPT_BYTES: usize = 2 * BUFFER_BYTES;

impl TableReader {
    pub fn new(mut input: InputStream, limit: RecordLimit, dialect: Dialect) -> Result<Self> {
        input.begin_text()?;
        let mut reader = Self {
            input,
            dialect,
            limit,
            header: TableRecord::default(),
            record: TableRecord::default(),
            line: 1,
            line_feeds: 0,
            field: FieldParser::default(),
        };
        let header = reader.read(usize::MAX);
        let name = &reader.input.name;
        let header = header.with_context(|| format!("cannot read the column names of {name}"))?;
        let Some(header) = header else {
            bail!("{name}:1: there are no column names");
        };
        if let Some(defect) = header.defect {
            let lines = lines_read(reader.line, header.last_line);
            bail!("{name}:1: {}{lines}", defect.reason(limit));
        }
        // A file whose lines end in carriage returns alone would be one line of column names.
        if header.has_lone_return {
            bail!(
                "{name}:1: a carriage return stands where no line ends; lines end in a line feed; \
                 convert the file with `tr '\\r' '\\n'`"
            );
        }
        std::mem::swap(&mut reader.header, &mut reader.record);
        Ok(reader)
    }

    /// The names of the columns.
    pub fn header(&self) -> &TableRecord {
        &self.header
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

    /// The column of that name. An error if there is none.
    pub fn required(&self, wanted: &str) -> Result<TableColumn> {
        self.optional(wanted)?.ok_or_else(|| self.missing(wanted))
    }

    /// The error about a column that is missing.
    pub fn missing(&self, wanted: &str) -> anyhow::Error {
        let names = self.header.iter().map(String::from_utf8_lossy);
        anyhow!(
            "{}:1: there is no column {wanted:?}; the columns are {}",
            self.input.name,
            list_columns(names.map(|name| printable(&name)))
        )
    }

    /// The line on which the next record begins, and the record or its defect. `None` at the end of
    /// the input.
    pub fn next_record(&mut self) -> Result<Option<(u64, Result<&TableRecord, String>)>> {
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
            // The line has only a carriage return.
            let is_blank = record.fields == 1
                && !record.has_quoted_field
                && record.defect.is_none()
                && self.record.bytes.is_empty();
            if !is_blank {
                break record;
            }
        };
        let reason = match record.defect {
            Some(defect) => defect.reason(self.limit),
            None if record.fields != columns => {
                // A delimiter too many or too few may have moved every field but the first.
                self.record.truncate(1);
                format!(
                    "there are {} fields under {columns} column names",
                    record.fields
                )
            }
            None => return Ok(Some((self.line, Ok(&self.record)))),
        };
        let lines = lines_read(self.line, record.last_line);
        Ok(Some((self.line, Err(reason + &lines))))
    }

    /// The fields of a record with a defect, up to the defect.
    pub fn sound_fields(&self) -> &TableRecord {
        &self.record
    }

    /// Reads the next record, of which at most `columns` fields are held. A record that is too long
    /// is read to its end without being held. `None` at the end of the input.
    fn read(&mut self, columns: usize) -> io::Result<Option<RecordShape>> {
        let held = self.record.bytes.len() + self.field.value.capacity();
        if held > KEPT_BYTES {
            self.record = TableRecord::default();
            self.field = FieldParser::default();
        }
        self.record.clear();
        self.field.clear();
        if !self.skip_line_feeds()? {
            return Ok(None);
        }
        self.line = self.line_feeds + 1;
        let dialect = self.dialect;
        let field = &mut self.field;
        let mut record = RecordShape::default();
        let mut record_bytes = 0;
        loop {
            let ready = self.input.reader.fill_buf()?;
            let is_end = ready.is_empty();
            // Within quotation marks the end of the input is not the end of a record: all records
            // since the opening mark were swallowed.
            if is_end && field.state == FieldState::Quoted {
                record.add_defect(Defect::NeverClosed);
                let is_line_begun = field.value.last() != Some(&b'\n');
                record.last_line = self.line_feeds + u64::from(is_line_begun);
                return Ok(Some(record));
            }
            // The last line may lack its line feed.
            let ready = if is_end { b"\n" } else { ready };
            // Up to the end of a field, or all that is ready.
            let mut bytes = ready.iter();
            let end = bytes.position(|byte| field.push(*byte, dialect));
            let used = end.map_or(ready.len(), |end| end + 1);
            let ends_record = end.is_some_and(|end| ready[end] == b'\n');
            self.line_feeds += ready[..used].iter().filter(|b| **b == b'\n').count() as u64;
            if !is_end {
                record_bytes += used;
                self.input.reader.consume(used);
            }
            // The rest of a record that is too long is parsed for its end, but not held.
            if record_bytes > self.limit.bytes.saturating_add(LINE_END_BYTES) {
                record.add_defect(Defect::TooLong);
                self.record.clear();
                field.value.clear();
            }
            if end.is_none() {
                continue;
            }
            record.has_quoted_field |= field.is_quoted();
            match field.value(ends_record) {
                Err(defect) => record.add_defect(defect),
                Ok(value) if record.fields < columns && record.defect.is_none() => {
                    record.has_lone_return |= !field.is_quoted() && value.contains(&b'\r');
                    self.record.push(value);
                }
                Ok(_) => {}
            }
            record.fields += 1;
            if ends_record {
                record.last_line = self.line_feeds;
                return Ok(Some(record));
            }
            field.clear();
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
            self.line_feeds += line_feeds as u64;
        }
    }
}

/// The range of a field in the bytes of its record, with its quotation marks, and its value.
pub type TableField = (Range<usize>, Vec<u8>);

/// The fields of a good record. The record may lack its line end, and blank lines may follow.
pub fn fields_of(record: &[u8], dialect: Dialect) -> Vec<TableField> {
    let mut field = FieldParser::default();
    let (mut start, mut fields) = (0, Vec::new());
    // The last line may lack its line feed.
    for (end, byte) in record.iter().copied().chain([b'\n']).enumerate() {
        if !field.push(byte, dialect) {
            continue;
        }
        let ends_record = byte == b'\n';
        let is_return = ends_record && record[start..end].ends_with(b"\r");
        // A good record has no defect, so the value is there.
        let value = field.value(ends_record).unwrap_or_default().to_vec();
        fields.push((start..end - usize::from(is_return), value));
        if ends_record {
            break;
        }
        field.clear();
        start = end + 1;
    }
    fields
}

/// A value of CSV, in quotation marks if it needs them.
pub fn csv_field(value: &str) -> Cow<'_, str> {
    match value.contains([',', '"', '\r', '\n']) {
        true => quoted(value).into(),
        false => value.into(),
    }
}

/// A value in quotation marks.
pub fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

impl Dialect {
    /// Comma-separated values, quoted as in RFC 4180.
    pub const CSV: Self = Self {
        delimiter: ',',
        is_quoting: true,
    };

    /// Tab-separated values. A quotation mark is text, so a value cannot hold a tab or a line feed.
    pub const TSV: Self = Self {
        delimiter: '\t',
        is_quoting: false,
    };

    /// The dialect of a format; `None` if the format is no table of text.
    pub fn of(format: Format) -> Option<Self> {
        match format {
            Format::Csv => Some(Self::CSV),
            Format::Tsv => Some(Self::TSV),
            _ => None,
        }
    }
}

impl TableRecord {
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The field with this index; `None` if there are fewer fields.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn push(&mut self, field: &[u8]) {
        self.bytes.extend_from_slice(field);
        self.ends.push(self.bytes.len());
    }

    fn truncate(&mut self, fields: usize) {
        self.ends.truncate(fields);
        // The capacity stays for the next record.
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    fn clear(&mut self) {
        self.truncate(0);
    }
}

/// The lines of a record with a defect, if there are several: a quotation mark that is not closed
/// makes the lines behind it part of the record.
fn lines_read(first: u64, last: u64) -> String {
    if last <= first {
        return String::new();
    }
    format!("; lines {first} to {last} were read as one record, because of a quotation mark")
}

impl TableColumn {
    /// The value of this column in a record.
    pub fn value<'r>(&self, record: &'r TableRecord) -> Result<&'r str, String> {
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
            Self::TextAfterQuote => "text follows a closing quotation mark: there is one mark too \
                 many, here or on a line that was read as part of this record, or a mark in a text \
                 is not doubled"
                .to_owned(),
            Self::NeverClosed => "a quotation mark is opened and never closed".to_owned(),
        }
    }
}

impl FieldParser {
    fn clear(&mut self) {
        self.value.clear();
        self.state = FieldState::Start;
    }

    /// Takes the next byte. Returns `true` if the byte ends the field.
    fn push(&mut self, byte: u8, dialect: Dialect) -> bool {
        use FieldState::*;
        let (state, is_value) = match (self.state, byte) {
            (Quoted, b'"') => (QuoteInQuoted, false),
            (Quoted, _) | (QuoteInQuoted, b'"') => (Quoted, true),
            (_, byte) if byte == b'\n' || char::from(byte) == dialect.delimiter => return true,
            (Start, b'"') if dialect.is_quoting => (Quoted, false),
            (Start | Plain, _) => (Plain, true),
            (QuoteInQuoted, b'\r') => (ReturnAfterQuote, true),
            (QuoteInQuoted | ReturnAfterQuote | TextAfterQuote, _) => (TextAfterQuote, true),
        };
        self.state = state;
        if is_value {
            self.value.push(byte);
        }
        false
    }

    fn is_quoted(&self) -> bool {
        !matches!(self.state, FieldState::Start | FieldState::Plain)
    }

    /// The value, without the carriage return of the line's end. An error if text follows the
    /// closing quotation mark.
    fn value(&self, ends_record: bool) -> Result<&[u8], Defect> {
        match (self.state, &self.value[..]) {
            (FieldState::TextAfterQuote, _) => Err(Defect::TextAfterQuote),
            (FieldState::ReturnAfterQuote, _) if !ends_record => Err(Defect::TextAfterQuote),
            (FieldState::Plain | FieldState::ReturnAfterQuote, [value @ .., b'\r'])
                if ends_record =>
            {
                Ok(value)
            }
            (_, value) => Ok(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of each record, and its fields; `None` if the record is too long.
    fn records(text: &str, bytes: usize) -> Vec<(u64, Option<Vec<String>>)> {
        let limit = RecordLimit { bytes, advice: "" };
        let mut table = TableReader::new(
            InputStream::of_bytes("t", text.as_bytes()),
            limit,
            Dialect::CSV,
        )
        .unwrap();
        let mut records = Vec::new();
        while let Some((line, record)) = table.next_record().unwrap() {
            let fields = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
            records.push(match record {
                Ok(record) => (line, Some(record.iter().map(fields).collect())),
                Err(reason) => {
                    let said = format!("the record is longer than {bytes} bytes");
                    assert!(reason.starts_with(&said), "{reason}");
                    (line, None)
                }
            });
        }
        records
    }

    #[test]
    fn records_after_a_too_long_record_are_read() {
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
