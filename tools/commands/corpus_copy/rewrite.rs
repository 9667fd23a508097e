//! Replaces the text of a record. All other bytes of the record stay.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::value::RawValue;

use crate::formats::Format;
use crate::formats::table::{Dialect, fields_of, quoted};

/// The place of the text in a record.
pub struct TextField {
    pub name: String,
    /// The index of the column of a table.
    pub column: Option<usize>,
}

/// Replaces the text of a record; blank lines may follow the record.
pub fn rewrite_record(
    record: &[u8],
    format: Format,
    field: &TextField,
    text: &str,
) -> Result<Vec<u8>> {
    let name = &field.name;
    let (range, value) = if let Some(dialect) = Dialect::of(format) {
        let column = field.column.unwrap_or(usize::MAX);
        let mut fields = fields_of(record, dialect).into_iter();
        let (range, _) =
            (fields.nth(column)).with_context(|| format!("there is no column {name:?}"))?;
        // A record of one empty field is no blank line if the field is quoted.
        let value = match dialect.is_quoting {
            true => quoted(text),
            false => text.to_owned(),
        };
        (range, value)
    } else if format == Format::Jsonl {
        let fields: HashMap<String, &RawValue> = serde_json::from_slice(record)?;
        let old = fields.get(name).map(|value| value.get());
        let old = old.with_context(|| format!("there is no field {name:?}"))?;
        // The value is a part of the record.
        let start = old.as_ptr().addr() - record.as_ptr().addr();
        (start..start + old.len(), serde_json::to_string(text)?)
    } else {
        let end = record.iter().position(|byte| *byte == b'\n');
        let line = &record[..end.unwrap_or(record.len())];
        // The line end stays as it was.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (0..line.len(), text.to_owned())
    };
    Ok([
        &record[..range.start],
        value.as_bytes(),
        &record[range.end..],
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(record: &str, format: Format, column: usize) -> String {
        let field = TextField {
            name: "text".to_owned(),
            column: Some(column),
        };
        let rest = if format == Format::Csv {
            "a \"b\"\nc"
        } else {
            "a"
        };
        let bytes = rewrite_record(record.as_bytes(), format, &field, rest).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_alone_is_replaced() {
        use Format::*;
        for (record, format, column, expected) in [
            (
                " {\"x\" : [1.50, \"text\"],\t\"text\" : \"\\u4e2d \\\" }\" , \"y\":{\"text\":\"no\"}} \r\n\n",
                Jsonl,
                0,
                " {\"x\" : [1.50, \"text\"],\t\"text\" : \"a\" , \"y\":{\"text\":\"no\"}} \r\n\n",
            ),
            ("{\"te\\u0078t\":\"\"}", Jsonl, 0, "{\"te\\u0078t\":\"a\"}"),
            (
                "1,\"x\n\"\"\",z\r\n\r\n",
                Csv,
                1,
                "1,\"a \"\"b\"\"\nc\",z\r\n\r\n",
            ),
            ("\"x,\",2", Csv, 0, "\"a \"\"b\"\"\nc\",2"),
            ("1,x\r\n", Csv, 1, "1,\"a \"\"b\"\"\nc\"\r\n"),
            ("1,x", Csv, 1, "1,\"a \"\"b\"\"\nc\""),
            ("1\t\"x\t2\n", Tsv, 1, "1\ta\t2\n"),
            ("x\r\n\n", Lines, 0, "a\r\n\n"),
            ("x", Lines, 0, "a"),
        ] {
            assert_eq!(rewritten(record, format, column), expected, "{record:?}");
        }
    }

    #[test]
    fn record_without_text_is_an_error() {
        let field = TextField {
            name: "text".to_owned(),
            column: Some(2),
        };
        for (record, format) in [("{\"id\":1}", Format::Jsonl), ("1,2\n", Format::Csv)] {
            let error = rewrite_record(record.as_bytes(), format, &field, "a").unwrap_err();
            assert!(error.to_string().contains("\"text\""), "{error}");
        }
    }
}
