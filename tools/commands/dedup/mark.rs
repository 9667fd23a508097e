//! A record with two more fields: what is kept for it, and how far that is.

use std::fmt;

use anyhow::{Result, anyhow, bail};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::formats::Format;

/// For what a document is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    pub keeper: u64,
    /// In how many bits they differ. Not known of some clusters that were found elsewhere.
    pub distance: Option<u32>,
    /// The cluster of both; nothing if the keeper is in another database.
    pub cluster: Option<u64>,
}

/// What the two fields are called.
#[derive(Clone, Debug)]
pub struct Marks {
    pub keeper: String,
    pub distance: String,
}

impl Marks {
    fn names(&self) -> [&str; 2] {
        [&self.keeper, &self.distance]
    }
}

/// Refuses names that a table would have to quote.
pub fn check_names(marks: &Option<Marks>, format: Format) -> Result<()> {
    let Some(marks) = marks else {
        return Ok(());
    };
    let is_table = matches!(format, Format::Csv | Format::Tsv);
    for name in marks.names() {
        if is_table && name.contains([',', '\t', '"', '\r', '\n']) {
            bail!("{name:?} cannot be the name of a column; choose one without quotes and commas");
        }
    }
    Ok(())
}

/// A record with its marks, before the end of its last line.
pub fn mark_record(
    record: &[u8],
    format: Format,
    marks: &Marks,
    removed: Option<Removed>,
) -> Result<Vec<u8>> {
    let values = match removed {
        Some(removed) => [Some(removed.keeper), removed.distance.map(u64::from)],
        None => [None, None],
    };
    if format == Format::Jsonl {
        return mark_json(record, marks, values);
    }
    let separator = separator(format);
    let mut columns = String::new();
    for value in values {
        columns.push(separator);
        columns.extend(value.map(|value| value.to_string()));
    }
    Ok(before_line_end(record, &columns))
}

/// The column names of a table with two more.
pub fn mark_head(head: &[u8], format: Format, marks: &Marks) -> Result<Vec<u8>> {
    let separator = separator(format);
    let mut builder = csv::ReaderBuilder::new();
    builder
        .has_headers(false)
        .delimiter(separator as u8)
        .quoting(format == Format::Csv);
    let names = builder.from_reader(head).into_records().next();
    if let Some(names) = names.transpose()? {
        for name in marks.names() {
            if names.iter().any(|there| there == name) {
                return Err(is_there(name));
            }
        }
    }
    let [keeper, distance] = marks.names();
    let columns = format!("{separator}{keeper}{separator}{distance}");
    Ok(before_line_end(head, &columns))
}

fn separator(format: Format) -> char {
    match format {
        Format::Tsv => '\t',
        _ => ',',
    }
}

/// Puts something in before the ends of lines that a record ends with.
fn before_line_end(record: &[u8], what: &str) -> Vec<u8> {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let ends = record.iter().rev().take_while(|byte| is_end(byte)).count();
    let (record, ends) = record.split_at(record.len() - ends);
    [record, what.as_bytes(), ends].concat()
}

fn mark_json(record: &[u8], marks: &Marks, values: [Option<u64>; 2]) -> Result<Vec<u8>> {
    let names = marks.names();
    let mut json = serde_json::Deserializer::from_slice(record);
    let has_other = match (&mut json).deserialize_map(Names(names))? {
        Found::Mark(place) => return Err(is_there(names[place])),
        Found::Other(has_other) => has_other,
    };
    let end = record.iter().rposition(|byte| *byte == b'}');
    let end = end.ok_or_else(|| anyhow!("the record is no JSON object"))?;
    let mut fields = String::new();
    for (place, (name, value)) in names.into_iter().zip(values).enumerate() {
        if place > 0 || has_other {
            fields.push(',');
        }
        fields.push_str(&serde_json::to_string(name)?);
        fields.push(':');
        match value {
            Some(value) => fields.push_str(&value.to_string()),
            None => fields.push_str("null"),
        }
    }
    Ok([&record[..end], fields.as_bytes(), &record[end..]].concat())
}

fn is_there(name: &str) -> anyhow::Error {
    anyhow!(
        "there is a field {name:?} already; choose other names with --keeper-field and \
         --distance-field"
    )
}

/// What the names of the fields of an object are.
enum Found {
    /// One of those to be added.
    Mark(usize),
    /// Others, if there are any.
    Other(bool),
}

/// Looks through the names of the fields of an object.
struct Names<'n>([&'n str; 2]);

impl<'de> Visitor<'de> for Names<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::Other(false);
        while let Some(name) = map.next_key::<String>()? {
            map.next_value::<IgnoredAny>()?;
            match self.0.iter().position(|mark| *mark == name) {
                Some(place) => found = Found::Mark(place),
                None if matches!(found, Found::Other(_)) => found = Found::Other(true),
                None => {}
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks() -> Marks {
        Marks {
            keeper: "keeper".to_owned(),
            distance: "distance".to_owned(),
        }
    }

    const REMOVED: Option<Removed> = Some(Removed {
        keeper: 7,
        distance: Some(2),
        cluster: None,
    });

    fn marked(record: &str, format: Format, removed: Option<Removed>) -> String {
        let marked = mark_record(record.as_bytes(), format, &marks(), removed).unwrap();
        String::from_utf8(marked).unwrap()
    }

    #[test]
    fn a_record_is_as_it_was_but_for_its_marks() {
        assert_eq!(
            marked("{\"a\":\"}\"} \r\n\n", Format::Jsonl, REMOVED),
            "{\"a\":\"}\",\"keeper\":7,\"distance\":2} \r\n\n"
        );
        assert_eq!(
            marked("{ }", Format::Jsonl, None),
            "{ \"keeper\":null,\"distance\":null}"
        );
        assert_eq!(
            marked("1,\"a\n\"\r\n", Format::Csv, REMOVED),
            "1,\"a\n\",7,2\r\n"
        );
        assert_eq!(marked("1\ta,", Format::Tsv, None), "1\ta,\t\t");
        let unknown = REMOVED.map(|removed| Removed {
            distance: None,
            ..removed
        });
        assert_eq!(marked("1,a\n", Format::Csv, unknown), "1,a,7,\n");
        assert_eq!(
            marked("{}", Format::Jsonl, unknown),
            "{\"keeper\":7,\"distance\":null}"
        );
    }

    #[test]
    fn a_field_that_is_there_is_not_written_over() {
        let refused = mark_record(b"{\"distance\":1}", Format::Jsonl, &marks(), None);
        assert!(refused.unwrap_err().to_string().contains("\"distance\""));
        let refused = mark_head(b"id,\"keeper\"\n", Format::Csv, &marks());
        assert!(refused.unwrap_err().to_string().contains("\"keeper\""));
        let head = mark_head(b"id,text\r\n", Format::Csv, &marks()).unwrap();
        assert_eq!(head, b"id,text,keeper,distance\r\n");
    }
}
