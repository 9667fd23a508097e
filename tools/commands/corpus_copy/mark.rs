//! Marks of text records: two added fields, the id of the keeper and the distance from it.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::formats::Format;
use crate::formats::copy::{KeeperMark, MarkNames};
use crate::formats::table::{Dialect, TableField};

/// Refuses column names that need quotes.
pub fn check_names(names: Option<MarkNames<'_>>, format: Format) -> Result<()> {
    let is_table = Dialect::of(format).is_some();
    for name in names.into_iter().flatten() {
        if is_table && name.contains([',', '\t', '"', '\r', '\n']) {
            bail!("{name:?} cannot be the name of a column; choose one without quotes and commas");
        }
    }
    Ok(())
}

/// Inserts a mark at the end of a record.
pub fn mark_record(
    record: &[u8],
    format: Format,
    names: MarkNames<'_>,
    mark: Option<KeeperMark>,
) -> Result<Vec<u8>> {
    let distance = mark.and_then(|mark| mark.distance);
    let values = [mark.map(|mark| mark.keeper), distance.map(u64::from)];
    let Some(Dialect { delimiter, .. }) = Dialect::of(format) else {
        return mark_json(record, names, values);
    };
    let mut columns = String::new();
    for value in values {
        columns.push(delimiter);
        columns.extend(value.map(|value| value.to_string()));
    }
    Ok(before_line_end(record, &columns))
}

/// Adds the names of the marks to the header of a table with these columns.
pub fn mark_head(
    head: &[u8],
    columns: &[TableField],
    dialect: Dialect,
    names: MarkNames<'_>,
) -> Result<Vec<u8>> {
    let is_taken = |name: &&str| columns.iter().any(|(_, column)| column == name.as_bytes());
    if let Some(name) = names.into_iter().find(is_taken) {
        return Err(already_there(name));
    }
    let [keeper, distance] = names;
    let delimiter = dialect.delimiter;
    let columns = format!("{delimiter}{keeper}{delimiter}{distance}");
    Ok(before_line_end(head, &columns))
}

/// Inserts a text before the line feeds at the end of a record.
fn before_line_end(record: &[u8], inserted: &str) -> Vec<u8> {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let ends = record.iter().rev().take_while(|byte| is_end(byte)).count();
    let (record, ends) = record.split_at(record.len() - ends);
    [record, inserted.as_bytes(), ends].concat()
}

fn mark_json(record: &[u8], names: MarkNames<'_>, values: [Option<u64>; 2]) -> Result<Vec<u8>> {
    let fields: HashMap<String, IgnoredAny> = serde_json::from_slice(record)?;
    if let Some(name) = names.into_iter().find(|name| fields.contains_key(*name)) {
        return Err(already_there(name));
    }
    // The bytes of the record stay, so the fields are inserted as text. Blank lines may follow the
    // brace.
    let end = record.iter().rposition(|byte| *byte == b'}');
    let end = end.ok_or_else(|| anyhow!("the record is no JSON object"))?;
    let separator = if fields.is_empty() { "" } else { "," };
    let [keeper, distance] = [0, 1].map(|index| {
        let (name, value) = (Value::from(names[index]), Value::from(values[index]));
        format!("{name}:{value}")
    });
    let marks = format!("{separator}{keeper},{distance}");
    Ok([&record[..end], marks.as_bytes(), &record[end..]].concat())
}

fn already_there(name: &str) -> anyhow::Error {
    anyhow!("there is a field {name:?} already; choose other names with --mark=KEEPER,DISTANCE")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: MarkNames<'_> = ["keeper", "distance"];

    const MARK: Option<KeeperMark> = Some(KeeperMark {
        keeper: 7,
        distance: Some(2),
    });

    fn marked(record: &str, format: Format, mark: Option<KeeperMark>) -> String {
        let marked = mark_record(record.as_bytes(), format, NAMES, mark).unwrap();
        String::from_utf8(marked).unwrap()
    }

    #[test]
    fn mark_changes_nothing_else_in_record() {
        assert_eq!(
            marked("{\"a\":\"}\"} \r\n\n", Format::Jsonl, MARK),
            "{\"a\":\"}\",\"keeper\":7,\"distance\":2} \r\n\n"
        );
        assert_eq!(
            marked("{ }", Format::Jsonl, None),
            "{ \"keeper\":null,\"distance\":null}"
        );
        assert_eq!(
            marked("1,\"a\n\"\r\n", Format::Csv, MARK),
            "1,\"a\n\",7,2\r\n"
        );
        assert_eq!(marked("1\ta,", Format::Tsv, None), "1\ta,\t\t");
        let unknown = MARK.map(|mark| KeeperMark {
            distance: None,
            ..mark
        });
        assert_eq!(marked("1,a\n", Format::Csv, unknown), "1,a,7,\n");
        assert_eq!(
            marked("{}", Format::Jsonl, unknown),
            "{\"keeper\":7,\"distance\":null}"
        );
    }

    #[test]
    fn existing_field_with_name_of_mark_is_refused() {
        let refused = mark_record(b"{\"distance\":1}", Format::Jsonl, NAMES, None);
        assert!(refused.unwrap_err().to_string().contains("\"distance\""));
        let mark_head = |head: &[u8]| {
            let columns = crate::formats::table::fields_of(head, Dialect::CSV);
            mark_head(head, &columns, Dialect::CSV, NAMES)
        };
        let refused = mark_head(b"id,\"keeper\"\n");
        assert!(refused.unwrap_err().to_string().contains("\"keeper\""));
        let head = mark_head(b"id,text\r\n").unwrap();
        assert_eq!(head, b"id,text,keeper,distance\r\n");
    }
}
