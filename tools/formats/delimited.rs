//! Comma- and tab-separated values under a line of column names.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use anyhow::{Context, Result, anyhow, bail};
use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use simdb::DocId;

use super::input::Opened;
use super::time::time_of_text;
use super::{
    Content, EXCERPT_CHARACTERS, Fields, Item, RELIABLE_FIELD, Records, excerpt, fingerprint_of,
    id_of_digits, next_id, score_of, text_of, utf8,
};

/// Reads CSV or TSV. Blank lines are skipped.
pub struct Delimited {
    name: String,
    reader: Reader<Rationed>,
    record: ByteRecord,
    columns: Columns,
    /// How many fields a record has.
    fields: usize,
    /// The line of the record read last.
    line: u64,
    /// The id of the next record, if they are counted.
    counted: u64,
}

/// A wanted column: its name and its place.
struct Column {
    name: String,
    place: usize,
}

/// Where the parts of a document stand in a record.
struct Columns {
    /// Nothing if records are counted.
    id: Option<Column>,
    text: Option<Column>,
    fingerprint: Option<Column>,
    reliable: Option<Column>,
    time: Option<Column>,
    score: Option<Column>,
    max_text_bytes: usize,
}

impl Delimited {
    /// Comma-separated values, quoted as in RFC 4180.
    pub fn csv(input: Opened, fields: &Fields, first_id: u64) -> Result<Self> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(b',');
        Self::new(input, fields, first_id, &mut builder)
    }

    /// Tab-separated values: a quotation mark is part of the text, as no one agrees on what else
    /// it could be, so neither tab nor line feed can be.
    pub fn tsv(input: Opened, fields: &Fields, first_id: u64) -> Result<Self> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(b'\t').quoting(false);
        Self::new(input, fields, first_id, &mut builder)
    }

    fn new(
        mut input: Opened,
        fields: &Fields,
        first_id: u64,
        builder: &mut ReaderBuilder,
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
                left_bytes: fields.max_line_bytes(),
                ration_bytes: fields.max_line_bytes(),
                last: b'\n',
                given_bytes: 0,
                end_bytes: None,
            });
        let mut header = ByteRecord::new();
        reader
            .read_byte_record(&mut header)
            .with_context(|| format!("cannot read the column names of {name}"))?;
        if never_closed(&reader) {
            bail!("{name}:1: {NEVER_CLOSED}");
        }
        let header = without_carriage_return(&header);
        if header.is_empty() {
            bail!("{name}:1: there are no column names");
        }
        let optional = |wanted: &str| {
            let mut places = header
                .iter()
                .enumerate()
                .filter(|(_, column)| *column == wanted.as_bytes())
                .map(|(place, _)| place);
            let place = places.next();
            // Nobody knows which of the two counts.
            if places.next().is_some() {
                bail!("{name}:1: column {wanted:?} is there twice");
            }
            let name = wanted.to_owned();
            Ok(place.map(|place| Column { name, place }))
        };
        let required = |wanted: &str| {
            optional(wanted)?.ok_or_else(|| {
                let there = header.iter().take(COLUMNS_SHOWN + 1);
                let there: Vec<_> = there.map(String::from_utf8_lossy).collect();
                anyhow!(
                    "{name}:1: there is no column {wanted:?}; the columns are {}",
                    names(&there)
                )
            })
        };
        let columns = Columns {
            id: match fields.are_counted {
                true => None,
                false => Some(required(&fields.id)?),
            },
            text: fields.text.as_deref().map(required).transpose()?,
            fingerprint: fields.fingerprint.as_deref().map(required).transpose()?,
            reliable: match fields.fingerprint {
                Some(_) => optional(RELIABLE_FIELD)?,
                None => None,
            },
            time: fields.time.as_deref().map(required).transpose()?,
            score: fields.score.as_deref().map(required).transpose()?,
            max_text_bytes: fields.max_text_bytes,
        };
        Ok(Self {
            name,
            reader,
            record: ByteRecord::new(),
            columns,
            fields: header.len(),
            line: 1,
            counted: first_id,
        })
    }
}

impl Delimited {
    /// The memory of one giant is not kept for the many that follow it.
    fn forget_giant(&mut self) {
        if self.record.as_slice().len() > KEPT_BYTES || self.record.len() > KEPT_BYTES {
            self.record = ByteRecord::new();
        }
    }
}

impl Records for Delimited {
    fn next(&mut self) -> Result<Option<Item>> {
        loop {
            self.reader.get_mut().renew();
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
            if self.record.as_slice() == b"\r" {
                continue;
            }
            let line_feeds = self
                .record
                .as_slice()
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            // The reader stands on the line after the record.
            self.line = (self.reader.position().line() - 1).saturating_sub(line_feeds as u64);
            if self.record.as_slice().ends_with(b"\r") {
                self.record = without_carriage_return(&self.record);
            }
            let id = match self.columns.id {
                Some(_) => None,
                None => Some(next_id(&mut self.counted)?),
            };
            if never_closed(&self.reader) {
                // No line feed ended this record: the reader still stands on its last line.
                self.line += 1;
                return Ok(Some(Item::reject(self.line, id, NEVER_CLOSED.to_owned())));
            }
            let (found, expected) = (self.record.len(), self.fields);
            return Ok(Some(if found == expected {
                self.columns.item(self.line, id, &self.record)
            } else {
                let reason = format!("there are {found} fields under {expected} column names");
                Item::reject(self.line, id, reason)
            }));
        }
    }

    fn next_id(&self) -> Option<u64> {
        self.columns.id.is_none().then_some(self.counted)
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

impl Columns {
    fn item(&self, number: u64, counted: Option<DocId>, record: &ByteRecord) -> Item {
        let of_column = |column: &Column| {
            let digits = column.value(record)?;
            id_of_digits(digits).map_err(|reason| format!("column {:?}: {reason}", column.name))
        };
        let id = match (counted, &self.id) {
            (Some(id), _) => Ok(id),
            (None, Some(column)) => of_column(column),
            (None, None) => Err("there is no column for the id".to_owned()),
        };
        match id {
            Ok(id) => Item::of(number, id, self.content(record)),
            Err(reason) => Item::reject(number, None, reason),
        }
    }

    fn content(&self, record: &ByteRecord) -> Result<Content, String> {
        let text = match &self.text {
            None => None,
            Some(column) => Some(text_of(
                column.value(record)?.to_owned(),
                self.max_text_bytes,
            )?),
        };
        let fingerprint = match &self.fingerprint {
            None => None,
            Some(column) => {
                let fingerprint = fingerprint_of(column.value(record)?)
                    .map_err(|reason| format!("column {:?}: {reason}", column.name))?;
                Some((fingerprint, self.reliable(record)?))
            }
        };
        let arrival = match &self.time {
            None => None,
            Some(column) => {
                let time = time_of_text(column.value(record)?)
                    .map_err(|reason| format!("column {:?}: {reason}", column.name))?;
                Some(time)
            }
        };
        let score = match &self.score {
            None => None,
            Some(column) => {
                let score = score_of(column.value(record)?)
                    .map_err(|reason| format!("column {:?}: {reason}", column.name))?;
                Some(score)
            }
        };
        Ok(Content {
            text,
            fingerprint,
            arrival,
            score,
        })
    }

    fn reliable(&self, record: &ByteRecord) -> Result<bool, String> {
        match &self.reliable {
            None => Ok(true),
            Some(column) => match column.value(record)? {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(format!(
                    "column {:?} is neither true nor false",
                    column.name
                )),
            },
        }
    }
}

impl Column {
    /// The value of this column in a record.
    fn value<'r>(&self, record: &'r ByteRecord) -> Result<&'r str, String> {
        // Records of another length have been refused before.
        let bytes = record.get(self.place).unwrap_or_default();
        utf8(bytes).map_err(|reason| format!("column {:?}: {reason}", self.name))
    }
}

/// An input that gives out no more than a ration before it is renewed: a quotation mark that is
/// never closed must not draw the rest of a file into memory. It ends in a line feed, added if it
/// has none.
struct Rationed {
    input: Box<dyn BufRead + Send>,
    left_bytes: usize,
    ration_bytes: usize,
    /// The byte given out last.
    last: u8,
    given_bytes: u64,
    /// How many bytes there were before the blank line that is added behind the last: only a
    /// record whose quotation mark is never closed reaches beyond them.
    end_bytes: Option<u64>,
}

impl Rationed {
    fn renew(&mut self) {
        self.left_bytes = self.ration_bytes;
    }
}

impl Read for Rationed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left_bytes == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the next record is longer than {} bytes; \
                     is there a quotation mark that is never closed?",
                    self.ration_bytes
                ),
            ));
        }
        let most = buffer.len().min(self.left_bytes);
        let bytes = self.input.read(&mut buffer[..most])?;
        self.left_bytes -= bytes;
        if let Some(last) = buffer[..bytes].last() {
            self.last = *last;
            self.given_bytes += bytes as u64;
            return Ok(bytes);
        }
        let Some(first) = buffer.first_mut().filter(|_| self.end_bytes.is_none()) else {
            return Ok(0);
        };
        *first = b'\n';
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
    use crate::formats::MAX_TEXT_BYTES;

    fn fields(text: Option<&str>, fingerprint: Option<&str>) -> Fields {
        Fields {
            id: "id".to_owned(),
            text: text.map(str::to_owned),
            fingerprint: fingerprint.map(str::to_owned),
            time: None,
            score: None,
            are_counted: false,
            max_text_bytes: MAX_TEXT_BYTES,
        }
    }

    fn read(mut records: Delimited) -> Vec<(u64, Option<u64>, String)> {
        let mut read = Vec::new();
        while let Some(item) = records.next().unwrap() {
            read.push(match item {
                Item::Record(record) => {
                    let Content {
                        text, fingerprint, ..
                    } = record.content;
                    let text = text.unwrap_or_else(|| format!("{fingerprint:?}"));
                    (record.number, Some(record.id.0), text)
                }
                Item::Reject(reject) => (
                    reject.number,
                    reject.id.map(|id| id.0),
                    format!("! {}", reject.reason),
                ),
            });
        }
        read
    }

    fn csv(bytes: &[u8]) -> Vec<(u64, Option<u64>, String)> {
        read(Delimited::csv(Opened::of_bytes("t", bytes), &fields(Some("text"), None), 1).unwrap())
    }

    #[test]
    fn quoted_fields_may_hold_commas_quotes_and_lines() {
        let read = csv(b"\xef\xbb\xbftext,x,id\n\"a, \"\"b\"\"\nc\",,1\n\nd,,2\n");
        assert_eq!(
            read,
            [
                (2, Some(1), "a, \"b\"\nc".to_owned()),
                (5, Some(2), "d".to_owned())
            ]
        );
    }

    #[test]
    fn a_quotation_mark_never_closed_is_refused() {
        for tail in ["", "\n", "\n3,c\n", "\r\n"] {
            let read = csv(format!("text,id\na,1\n\"b,2{tail}").as_bytes());
            assert_eq!(read.len(), 2, "{read:?}");
            assert!(
                read[1].0 == 3 && read[1].2.contains("never closed"),
                "{read:?}"
            );
        }
        for sound in [
            "text,id\n\"b\n\n\",2\n",
            "text,id\n\"b\n\n\",2",
            "text,id\n\"b\",\"2\"",
            "text,id\nb,\"2\"\n\n\n",
        ] {
            let read = csv(sound.as_bytes());
            assert!(
                read.len() == 1 && read[0].1 == Some(2),
                "{sound:?} {read:?}"
            );
        }
    }

    #[test]
    fn lines_are_numbered_alike_with_carriage_returns() {
        let read = csv(b"text,id\r\na,1\r\n\r\n\"b\r\nb\",2\r\nc,x");
        let lines: Vec<_> = read.iter().map(|(line, ..)| *line).collect();
        assert_eq!(lines, [2, 4, 6]);
        assert_eq!(read[1].2, "b\r\nb");
        assert_eq!(csv(b"id,text\r\n1,\"a\"\r\n2,b\n")[0].2, "a");
    }

    #[test]
    fn what_is_wrong_with_a_record_is_said() {
        let read = csv(b"text,id\na\nb,-1\n\xff,3\nok,4\n");
        let [short, negative, utf8, ok] = &read[..] else {
            panic!("{read:?}")
        };
        assert_eq!((short.0, short.1), (2, None));
        assert!(
            short.2.contains("1 fields under 2 column names"),
            "{}",
            short.2
        );
        assert!(
            negative.2.contains("column \"id\": \"-1\" is not an id"),
            "{}",
            negative.2
        );
        assert_eq!((utf8.0, utf8.1), (4, Some(3)));
        assert!(utf8.2.contains("invalid UTF-8"), "{}", utf8.2);
        assert_eq!(ok, &(5, Some(4), "ok".to_owned()));
    }

    #[test]
    fn a_missing_column_is_an_error_that_names_those_there_are() {
        let input = Opened::of_bytes("t.csv", b"a,b\n1,2\n");
        let error = Delimited::csv(input, &fields(Some("text"), None), 1)
            .err()
            .unwrap()
            .to_string();
        assert_eq!(
            error,
            "t.csv:1: there is no column \"id\"; the columns are a, b"
        );
        let empty = Opened::of_bytes("t.csv", b"");
        assert!(Delimited::csv(empty, &fields(None, None), 1).is_err());
    }

    #[test]
    fn column_names_with_a_quotation_mark_never_closed_are_refused() {
        let input = Opened::of_bytes("t.csv", b"id,text,\"x\n1,a,b\n");
        let error = Delimited::csv(input, &fields(Some("text"), None), 1).err();
        assert_eq!(
            error.unwrap().to_string(),
            "t.csv:1: a quotation mark is opened and never closed"
        );
    }

    #[test]
    fn a_wanted_column_that_is_there_twice_is_refused() {
        let open = |bytes: &[u8]| {
            let fields = fields(Some("text"), Some("fp"));
            Delimited::csv(Opened::of_bytes("t.csv", bytes), &fields, 1).map(drop)
        };
        for (header, twice) in [
            ("id,id,text,fp", "id"),
            ("id,text,fp,text", "text"),
            ("id,reliable,text,fp,reliable", "reliable"),
        ] {
            let error = open(header.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, format!("t.csv:1: column {twice:?} is there twice"));
        }
        open(b"id,text,fp,other,other").unwrap();
    }

    #[test]
    fn a_quotation_mark_in_tsv_is_only_that() {
        let input = Opened::of_bytes("t", b"id\ttext\n1\t\"a\n2\tb\"\n");
        let read = read(Delimited::tsv(input, &fields(Some("text"), None), 1).unwrap());
        assert_eq!(
            read,
            [
                (2, Some(1), "\"a".to_owned()),
                (3, Some(2), "b\"".to_owned())
            ]
        );
    }

    #[test]
    fn fingerprints_are_read_with_their_reliability() {
        let input = Opened::of_bytes(
            "t",
            b"id,fp,reliable\n1,00000000000000ff,false\n2,00000000000000ff,true\n3,0,true\n",
        );
        let read = read(Delimited::csv(input, &fields(None, Some("fp")), 1).unwrap());
        assert!(
            read[0].2.contains("false") && read[1].2.contains("true"),
            "{read:?}"
        );
        assert!(read[2].2.contains("16 hexadecimal digits"), "{read:?}");
    }
}
