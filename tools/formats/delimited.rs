//! Comma- and tab-separated values under a line of column names, as documents.

use anyhow::Result;
use serde_json::{Map, Value};

use super::fields::{DocumentFields, DocumentPart, FieldValue, PartValues};
use super::id_sequence::IdSequence;
use super::input::InputStream;
use super::table::{Dialect, RecordLimit, TableColumn, TableReader, TableRecord};
use super::{FIELDS_FIELD, Item, MAX_LINE_BYTES, Records, raised};

/// A reader of the documents of a table.
pub struct Delimited {
    table: TableReader,
    fields: DocumentFields,
    /// The column of each part; `None` if the part is not read.
    columns: [Option<TableColumn>; DocumentPart::ALL.len()],
    /// The columns that are kept.
    kept: Vec<TableColumn>,
    /// The ids of the next records; `None` if records have ids.
    counted: Option<IdSequence>,
}

impl Delimited {
    pub fn new(
        dialect: Dialect,
        input: InputStream,
        fields: &DocumentFields,
        counted: IdSequence,
    ) -> Result<Self> {
        let table = TableReader::new(input, record_limit(fields), dialect)?;
        let columns =
            fields.find_columns(|_, name| table.optional(name), |name| table.missing(name))?;
        let kept = fields.keep.iter().map(|name| table.required(name));
        Ok(Self {
            kept: kept.collect::<Result<_>>()?,
            table,
            fields: fields.clone(),
            columns,
            counted: fields.are_counted.then_some(counted),
        })
    }

    /// The names of all columns.
    pub fn columns(&self) -> Vec<&[u8]> {
        self.table.header().iter().collect()
    }
}

fn record_limit(fields: &DocumentFields) -> RecordLimit {
    let bytes = fields.max_line_bytes();
    RecordLimit {
        bytes,
        advice: raised(bytes < MAX_LINE_BYTES),
    }
}

impl Records for Delimited {
    fn next(&mut self) -> Result<Option<Item>> {
        let Some((line, record)) = self.table.next_record()? else {
            return Ok(None);
        };
        let (columns, kept) = (&self.columns, &self.kept);
        let values = record.map(|record| ColumnParts {
            columns,
            kept,
            record,
        });
        let mut item = self.fields.item(line, self.counted.as_mut(), values);
        // The id may stand before the defect of the record.
        if let Item::Reject(reject) = &mut item
            && self.fields.name(DocumentPart::Id).is_some()
            && reject.id.is_none()
        {
            let mut values = ColumnParts {
                columns,
                kept,
                record: self.table.sound_fields(),
            };
            reject.id = self.fields.id(&mut values).ok();
        }
        Ok(Some(item))
    }

    fn next_ids(&self) -> Option<IdSequence> {
        self.counted
    }
}

/// The values of a record, by part.
struct ColumnParts<'r> {
    columns: &'r [Option<TableColumn>],
    kept: &'r [TableColumn],
    record: &'r TableRecord,
}

impl PartValues for ColumnParts<'_> {
    const KIND: &'static str = "column";

    fn take(&mut self, part: DocumentPart) -> Result<Option<FieldValue>, String> {
        let Some(column) = &self.columns[part as usize] else {
            return Ok(None);
        };
        let value = column.value(self.record)?;
        Ok(Some(FieldValue::Json(match (part, value) {
            (DocumentPart::Reliable, "true" | "false") => Value::Bool(value == "true"),
            _ => Value::from(value),
        })))
    }

    /// The values that are not empty. The column `fields` of an export is a JSON object.
    fn take_kept(&mut self) -> Result<Map<String, Value>, String> {
        let mut kept = Map::new();
        for column in self.kept {
            let value = column.value(self.record)?;
            let object = (column.name == FIELDS_FIELD)
                .then(|| serde_json::from_str(value).ok().map(Value::Object))
                .flatten();
            if !value.is_empty() {
                kept.insert(column.name.clone(), object.unwrap_or_else(|| value.into()));
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::DocumentContent;

    fn read(mut records: Delimited) -> Vec<(u64, Option<u64>, String)> {
        let mut read = Vec::new();
        while let Some(item) = records.next().unwrap() {
            read.push(match item {
                Item::Record(record) => {
                    let DocumentContent {
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
            Delimited::new(
                Dialect::CSV,
                InputStream::of_bytes("t", bytes),
                &DocumentFields::of_names(Some("text"), None),
                IdSequence::new(1),
            )
            .unwrap(),
        )
    }

    #[test]
    fn quoted_field_holds_commas_quotes_and_line_feeds() {
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
    fn unclosed_quotation_mark_is_rejected() {
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
    fn line_numbers_are_the_same_with_carriage_returns() {
        let read = csv(b"text,id\r\na,1\r\n\r\n\"b\r\nb\",2\r\nc,x");
        let lines: Vec<_> = read.iter().map(|(line, ..)| *line).collect();
        assert_eq!(lines, [2, 4, 6]);
        assert_eq!(read[1].2, "b\r\nb");
        assert_eq!(csv(b"id,text\r\n1,\"a\"\r\n2,b\n")[0].2, "a");
    }

    #[test]
    fn bad_record_is_rejected_with_reason() {
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
    fn missing_column_error_lists_columns() {
        let input = InputStream::of_bytes("t.csv", b"a,b\n1,2\n");
        let error = Delimited::new(
            Dialect::CSV,
            input,
            &DocumentFields::of_names(Some("text"), None),
            IdSequence::new(1),
        )
        .err()
        .unwrap()
        .to_string();
        assert_eq!(
            error,
            "t.csv:1: there is no column \"id\"; the columns are a, b; name the right one with --id"
        );
        let empty = InputStream::of_bytes("t.csv", b"");
        let error = Delimited::new(
            Dialect::CSV,
            empty,
            &DocumentFields::of_names(None, None),
            IdSequence::new(1),
        )
        .err();
        assert_eq!(
            error.unwrap().to_string(),
            "t.csv:1: there are no column names"
        );
    }

    #[test]
    fn unclosed_quotation_mark_in_header_is_an_error() {
        let input = InputStream::of_bytes("t.csv", b"id,text,\"x\n1,a,b\n");
        let error = Delimited::new(
            Dialect::CSV,
            input,
            &DocumentFields::of_names(Some("text"), None),
            IdSequence::new(1),
        )
        .err();
        assert_eq!(
            error.unwrap().to_string(),
            "t.csv:1: a quotation mark is opened and never closed; lines 1 to 2 were read as one \
             record, because of a quotation mark"
        );
    }

    #[test]
    fn duplicate_of_a_read_column_is_an_error() {
        let open = |bytes: &[u8]| {
            let fields = DocumentFields::of_names(Some("text"), Some("fp"));
            Delimited::new(
                Dialect::CSV,
                InputStream::of_bytes("t.csv", bytes),
                &fields,
                IdSequence::new(1),
            )
            .map(drop)
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
    fn tsv_does_not_quote() {
        let input = InputStream::of_bytes("t", b"id\ttext\n1\t\"a\n2\tb\"\n");
        let read = read(
            Delimited::new(
                Dialect::TSV,
                input,
                &DocumentFields::of_names(Some("text"), None),
                IdSequence::new(1),
            )
            .unwrap(),
        );
        assert_eq!(
            read,
            [
                (2, Some(1), "\"a".to_owned()),
                (3, Some(2), "b\"".to_owned())
            ]
        );
    }

    #[test]
    fn reliable_column_of_fingerprint_is_read() {
        let input = InputStream::of_bytes(
            "t",
            b"id,fp,reliable\n1,00000000000000ff,false\n2,00000000000000ff,true\n3,0,true\n",
        );
        let read = read(
            Delimited::new(
                Dialect::CSV,
                input,
                &DocumentFields::of_names(None, Some("fp")),
                IdSequence::new(1),
            )
            .unwrap(),
        );
        assert!(
            read[0].2.contains("false") && read[1].2.contains("true"),
            "{read:?}"
        );
        assert!(read[2].2.contains("16 hexadecimal digits"), "{read:?}");
    }
}
