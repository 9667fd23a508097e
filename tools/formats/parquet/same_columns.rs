//! [`check_same_columns`]: two files whose rows can be copied into one file.

use anyhow::{Result, bail};
use parquet::basic::{ConvertedType, Repetition};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::ParquetFile;
use super::columns::describe;
use crate::formats::printable;

/// Refuses `other` if its leaf columns differ from the leaf columns of `first` in name or type.
pub fn check_same_columns(first: &ParquetFile, other: &ParquetFile) -> Result<()> {
    match difference(first.schema().columns(), other.schema().columns()) {
        None => Ok(()),
        Some(difference) => bail!(
            "{} has not the columns of {}: {difference}; give OUTPUT a name without an extension: then \
             it is a folder with a file for each input",
            other.name(),
            first.name()
        ),
    }
}

/// The first column that differs, for messages; `None` if all are the same.
fn difference(columns: &[ColumnDescPtr], others: &[ColumnDescPtr]) -> Option<String> {
    let mut pairs = (0..columns.len().max(others.len()))
        .map(|index| (index + 1, columns.get(index), others.get(index)));
    let (number, there, here) = pairs.find(|(_, there, here)| match (there, here) {
        (Some(there), Some(here)) => !are_same(there, here),
        _ => true,
    })?;
    let [there, here] = [there, here].map(|column| match column {
        Some(column) => shown(column),
        None => "none".to_owned(),
    });
    Some(format!("number {number} is {here}, there it is {there}"))
}

fn are_same(a: &ColumnDescriptor, b: &ColumnDescriptor) -> bool {
    // Older writers store converted types only, newer writers logical types too.
    let are_annotated_alike = match (a.logical_type_ref(), b.logical_type_ref()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => true,
        _ => a.converted_type() != ConvertedType::NONE,
    };
    let shape = |column: &ColumnDescriptor| {
        (
            (column.max_def_level(), column.max_rep_level()),
            (column.physical_type(), column.converted_type()),
            (
                column.type_length(),
                column.type_precision(),
                column.type_scale(),
            ),
        )
    };
    a.path() == b.path() && are_annotated_alike && shape(a) == shape(b)
}

/// The name and the type of a column, for messages.
fn shown(column: &ColumnDescriptor) -> String {
    let kind = column.self_type();
    let repetition = match kind.get_basic_info().repetition() {
        Repetition::REQUIRED => "required ",
        Repetition::OPTIONAL => "optional ",
        Repetition::REPEATED => "",
    };
    let name = printable(&column.path().string());
    format!("{name} ({repetition}{})", describe(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    fn compared(first: &str, other: &str) -> Option<String> {
        let [first, other] = [("first", first), ("other", other)].map(|(name, columns)| {
            let root = parse_message_type(&format!("message {name} {{ {columns} }}")).unwrap();
            SchemaDescriptor::new(root.into())
        });
        difference(first.columns(), other.columns())
    }

    const COLUMNS: &str = "required int64 id; optional binary text (UTF8); \
         optional group tags (LIST) { repeated group list { optional binary element (STRING); } }";

    #[test]
    fn columns_are_the_same_with_other_schema_name_or_annotation_style() {
        assert_eq!(compared(COLUMNS, COLUMNS), None);
        assert_eq!(compared(COLUMNS, &COLUMNS.replace("UTF8", "STRING")), None);
    }

    #[test]
    fn name_type_repetition_and_annotation_distinguish_columns() {
        for (part, other, message) in [
            ("text", "body", "number 2 is body"),
            ("int64 id", "int32 id", "number 1 is id (required INT32)"),
            (
                "required int64",
                "optional int64",
                "there it is id (required",
            ),
            ("int64 id", "int64 id (TIMESTAMP(NANOS,true))", "TIMESTAMP"),
            (
                "element (STRING)",
                "element",
                "number 3 is tags.list.element (optional BYTE_ARRAY), there",
            ),
            ("required int64 id;", "", "number 1 is text"),
        ] {
            let difference = compared(COLUMNS, &COLUMNS.replace(part, other)).unwrap();
            assert!(difference.contains(message), "{difference}");
        }
        let more = format!("{COLUMNS} required double score;");
        let difference = compared(COLUMNS, &more).unwrap();
        assert!(difference.contains("there it is none"), "{difference}");
    }
}
