//! Comma- and tab-separated values under a line of column names, as documents.

use anyhow::Result;
use csv::ByteRecord;
use simdb::DocId;

use super::counter::Counter;
use super::input::Opened;
use super::score::Score;
use super::table::{Column, RecordLimit, Table};
use super::time::time_of_text;
use super::{
    Content, Fields, Item, MAX_LINE_BYTES, RELIABLE_FIELD, Records, fingerprint_of, id_of_digits,
    raised, text_of,
};

/// Reads the documents of a table.
pub struct Delimited {
    table: Table,
    columns: Columns,
    /// The ids of the next records, if they are counted.
    counted: Counter,
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
    /// Comma-separated values.
    pub fn csv(input: Opened, fields: &Fields, counted: Counter) -> Result<Self> {
        let table = Table::csv(input, record_limit(fields))?;
        Self::new(table, fields, counted)
    }

    /// Tab-separated values.
    pub fn tsv(input: Opened, fields: &Fields, counted: Counter) -> Result<Self> {
        let table = Table::tsv(input, record_limit(fields))?;
        Self::new(table, fields, counted)
    }

    fn new(table: Table, fields: &Fields, counted: Counter) -> Result<Self> {
        let required = |option: &str, wanted: &Option<String>| {
            let wanted = wanted.as_deref();
            wanted
                .map(|wanted| table.required_by(option, wanted))
                .transpose()
        };
        let columns = Columns {
            id: match fields.are_counted {
                true => None,
                false => Some(table.required_by("--id", &fields.id)?),
            },
            text: required("--text", &fields.text)?,
            fingerprint: required("--fingerprint", &fields.fingerprint)?,
            reliable: match fields.fingerprint {
                Some(_) => table.optional(RELIABLE_FIELD)?,
                None => None,
            },
            time: required("--time", &fields.time)?,
            score: required("--score", &fields.score)?,
            max_text_bytes: fields.max_text_bytes,
        };
        Ok(Self {
            table,
            columns,
            counted,
        })
    }
}

fn record_limit(fields: &Fields) -> RecordLimit {
    let bytes = fields.max_line_bytes();
    RecordLimit {
        bytes,
        advice: raised(bytes < MAX_LINE_BYTES),
    }
}

impl Records for Delimited {
    fn next(&mut self) -> Result<Option<Item>> {
        let Some((line, record)) = self.table.next()? else {
            return Ok(None);
        };
        let id = match self.columns.id {
            Some(_) => None,
            None => match self.counted.take() {
                Ok(id) => Some(id),
                Err(reason) => return Ok(Some(Item::reject(line, None, reason))),
            },
        };
        Ok(Some(match record {
            Ok(record) => self.columns.item(line, id, record),
            Err(reason) => Item::reject(line, id, reason),
        }))
    }

    fn next_ids(&self) -> Option<Counter> {
        self.columns.id.is_none().then_some(self.counted)
    }
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
                let score = Score::of_digits(column.value(record)?)
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
        read(
            Delimited::csv(
                Opened::of_bytes("t", bytes),
                &fields(Some("text"), None),
                Counter::new(1),
            )
            .unwrap(),
        )
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
        let error = Delimited::csv(input, &fields(Some("text"), None), Counter::new(1))
            .err()
            .unwrap()
            .to_string();
        assert_eq!(
            error,
            "t.csv:1: there is no column \"id\"; the columns are a, b; name the right one with --id"
        );
        let empty = Opened::of_bytes("t.csv", b"");
        let error = Delimited::csv(empty, &fields(None, None), Counter::new(1)).err();
        assert_eq!(
            error.unwrap().to_string(),
            "t.csv:1: there are no column names"
        );
    }

    #[test]
    fn column_names_with_a_quotation_mark_never_closed_are_refused() {
        let input = Opened::of_bytes("t.csv", b"id,text,\"x\n1,a,b\n");
        let error = Delimited::csv(input, &fields(Some("text"), None), Counter::new(1)).err();
        assert_eq!(
            error.unwrap().to_string(),
            "t.csv:1: a quotation mark is opened and never closed"
        );
    }

    #[test]
    fn a_wanted_column_that_is_there_twice_is_refused() {
        let open = |bytes: &[u8]| {
            let fields = fields(Some("text"), Some("fp"));
            Delimited::csv(Opened::of_bytes("t.csv", bytes), &fields, Counter::new(1)).map(drop)
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
        let read =
            read(Delimited::tsv(input, &fields(Some("text"), None), Counter::new(1)).unwrap());
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
        let read = read(Delimited::csv(input, &fields(None, Some("fp")), Counter::new(1)).unwrap());
        assert!(
            read[0].2.contains("false") && read[1].2.contains("true"),
            "{read:?}"
        );
        assert!(read[2].2.contains("16 hexadecimal digits"), "{read:?}");
    }
}
