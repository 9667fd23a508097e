//! Fields that are added to text records.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use serde::de::IgnoredAny;
use serde_json::Value;
use simdb::Timestamp;

use crate::formats::Format;
use crate::formats::copy::{AddedField, AddedKind};
use crate::formats::table::Dialect;

/// Refuses column names that need quotes.
pub fn check_names(added: &[AddedField<'_>], format: Format) -> Result<()> {
    let is_table = Dialect::of(format).is_some();
    for AddedField { name, .. } in added {
        if is_table && name.contains([',', '\t', '"', '\r', '\n']) {
            bail!("{name:?} cannot be the name of a column; choose one without quotes and commas");
        }
    }
    Ok(())
}

/// Refuses fields that are there already.
pub fn refuse_existing(added: &[AddedField<'_>], is_there: impl Fn(&str) -> bool) -> Result<()> {
    match added.iter().find(|field| is_there(field.name)) {
        None => Ok(()),
        Some(AddedField { name, option, .. }) => {
            bail!("there is a field {name:?} already; choose other names with {option}")
        }
    }
}

/// Inserts fields at the end of a record. The fields beyond `values` are null.
pub fn add_to_record(
    record: &[u8],
    format: Format,
    added: &[AddedField<'_>],
    values: &[Option<u64>],
) -> Result<Vec<u8>> {
    let values = values.iter().chain(std::iter::repeat(&None));
    let values = added.iter().zip(values).map(|(field, value)| match value {
        Some(ms) if field.kind == AddedKind::Time => Value::from(Timestamp(*ms).to_string()),
        value => Value::from(*value),
    });
    let Some(Dialect { delimiter, .. }) = Dialect::of(format) else {
        return add_to_json(record, added, values);
    };
    let mut columns = String::new();
    for value in values {
        columns.push(delimiter);
        match value {
            Value::Null => {}
            Value::String(text) => columns.push_str(&text),
            value => columns.push_str(&value.to_string()),
        }
    }
    Ok(before_line_end(record, &columns))
}

/// Adds the names of fields to the header of a table.
pub fn add_to_head(head: &[u8], dialect: Dialect, added: &[AddedField<'_>]) -> Vec<u8> {
    let mut names = String::new();
    for field in added {
        names.push(dialect.delimiter);
        names.push_str(field.name);
    }
    before_line_end(head, &names)
}

/// Inserts a text before the line feeds at the end of a record.
fn before_line_end(record: &[u8], inserted: &str) -> Vec<u8> {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let ends = record.iter().rev().take_while(|byte| is_end(byte)).count();
    let (record, ends) = record.split_at(record.len() - ends);
    [record, inserted.as_bytes(), ends].concat()
}

fn add_to_json(
    record: &[u8],
    added: &[AddedField<'_>],
    values: impl Iterator<Item = Value>,
) -> Result<Vec<u8>> {
    let fields: HashMap<String, IgnoredAny> = serde_json::from_slice(record)?;
    refuse_existing(added, |name| fields.contains_key(name))?;
    // The bytes of the record stay, so the fields are inserted as text. Blank lines may follow the
    // brace.
    let end = record.iter().rposition(|byte| *byte == b'}');
    let end = end.ok_or_else(|| anyhow!("the record is no JSON object"))?;
    let mut inserted = String::new();
    for (field, value) in added.iter().zip(values) {
        let is_first = fields.is_empty() && inserted.is_empty();
        let separator = if is_first { "" } else { "," };
        inserted += &format!("{separator}{}:{value}", Value::from(field.name));
    }
    Ok([&record[..end], inserted.as_bytes(), &record[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn added(name: &str, kind: AddedKind) -> AddedField<'_> {
        let option = "--mark=KEEPER,DISTANCE";
        AddedField { name, kind, option }
    }

    const ADDED: [AddedField<'_>; 3] = [
        added("keeper", AddedKind::Long),
        added("distance", AddedKind::Short),
        added("seen", AddedKind::Time),
    ];

    fn with_added(record: &str, format: Format, values: &[Option<u64>]) -> String {
        let record = add_to_record(record.as_bytes(), format, &ADDED, values).unwrap();
        String::from_utf8(record).unwrap()
    }

    #[test]
    fn added_fields_change_nothing_else_in_record() {
        use Format::*;
        let values = [Some(7), Some(2), Some(1_000)];
        for (record, format, values, expected) in [
            (
                "{\"a\":\"}\"} \r\n\n",
                Jsonl,
                &values[..],
                "{\"a\":\"}\",\"keeper\":7,\"distance\":2,\"seen\":\"1970-01-01T00:00:01.000Z\"} \r\n\n",
            ),
            (
                "{ }",
                Jsonl,
                &[],
                "{ \"keeper\":null,\"distance\":null,\"seen\":null}",
            ),
            (
                "{}",
                Jsonl,
                &values[..1],
                "{\"keeper\":7,\"distance\":null,\"seen\":null}",
            ),
            (
                "1,\"a\n\"\r\n",
                Csv,
                &values[..],
                "1,\"a\n\",7,2,1970-01-01T00:00:01.000Z\r\n",
            ),
            ("1,a\n", Csv, &values[..1], "1,a,7,,\n"),
            ("1\ta,", Tsv, &[], "1\ta,\t\t\t"),
        ] {
            assert_eq!(with_added(record, format, values), expected);
        }
    }

    #[test]
    fn existing_field_with_name_of_added_field_is_refused() {
        let refused = add_to_record(b"{\"distance\":1}", Format::Jsonl, &ADDED, &[]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("\"distance\""), "{refused}");
        assert!(refused.ends_with("--mark=KEEPER,DISTANCE"), "{refused}");
        let head = add_to_head(b"id,text\r\n", Dialect::CSV, &ADDED);
        assert_eq!(head, b"id,text,keeper,distance,seen\r\n");
    }
}
