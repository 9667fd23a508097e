//! Whether two files have the same columns, so that rows of both can be in one file.

use anyhow::{Result, bail};
use parquet::basic::{ConvertedType, Repetition};
use parquet::schema::types::{Type as SchemaType, TypePtr};

use super::columns::{describe, printable_name};

/// Refuses the second of two named files if its columns are not those of the first. Names and types
/// are compared, not who wrote the files or the keys beside their schemas.
pub(super) fn check(first: (&str, &SchemaType), other: (&str, &SchemaType)) -> Result<()> {
    let [columns, others] = [first, other].map(|(_, root)| root.get_fields());
    for index in 0..columns.len().max(others.len()) {
        let (expected, found) = (columns.get(index), others.get(index));
        if let (Some(expected), Some(found)) = (expected, found)
            && are_same(expected, found)
        {
            continue;
        }
        let [mut expected, found] = [expected, found].map(shown);
        if expected == found {
            expected = "made of other parts".to_owned();
        }
        bail!(
            "{} has not the columns of {}: number {} is {found}, there it is {expected}; one file \
             has one set of columns, but an OUTPUT without an extension is a folder with a file for \
             each",
            other.0,
            first.0,
            index + 1
        );
    }
    Ok(())
}

fn are_same(a: &SchemaType, b: &SchemaType) -> bool {
    if a.name() != b.name() || repetition(a) != repetition(b) || !have_same_annotation(a, b) {
        return false;
    }
    match (a, b) {
        (
            SchemaType::PrimitiveType {
                physical_type: a,
                type_length: a_length,
                scale: a_scale,
                precision: a_precision,
                ..
            },
            SchemaType::PrimitiveType {
                physical_type: b,
                type_length: b_length,
                scale: b_scale,
                precision: b_precision,
                ..
            },
        ) => (a, a_length, a_scale, a_precision) == (b, b_length, b_scale, b_precision),
        (SchemaType::GroupType { fields: a, .. }, SchemaType::GroupType { fields: b, .. }) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_same(a, b))
        }
        _ => false,
    }
}

/// Older writers have converted types only, newer ones logical types too.
fn have_same_annotation(a: &SchemaType, b: &SchemaType) -> bool {
    let [a, b] = [a, b].map(SchemaType::get_basic_info);
    a.converted_type() == b.converted_type()
        && match (a.logical_type_ref(), b.logical_type_ref()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => true,
            _ => a.converted_type() != ConvertedType::NONE,
        }
}

fn repetition(column: &SchemaType) -> Option<Repetition> {
    let info = column.get_basic_info();
    info.has_repetition().then(|| info.repetition())
}

/// The name and the type of a column, for messages.
fn shown(column: Option<&TypePtr>) -> String {
    let Some(column) = column else {
        return "none".to_owned();
    };
    let repetition = match repetition(column) {
        Some(Repetition::REQUIRED) => "required ",
        Some(Repetition::OPTIONAL) => "optional ",
        _ => "",
    };
    format!(
        "{} ({repetition}{})",
        printable_name(column),
        describe(column)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::schema::parser::parse_message_type;

    fn compared(first: &str, other: &str) -> Result<(), String> {
        let [first, other] = [("first", first), ("other", other)]
            .map(|(name, columns)| parse_message_type(&format!("message {name} {{ {columns} }}")));
        let (first, other) = (first.unwrap(), other.unwrap());
        check(("a", &first), ("b", &other)).map_err(|error| error.to_string())
    }

    const COLUMNS: &str = "required int64 id; optional binary text (UTF8); \
         optional group tags (LIST) { repeated group list { optional binary element (STRING); } }";

    #[test]
    fn columns_are_the_same_whatever_the_whole_is_called_and_how_they_are_annotated() {
        assert_eq!(compared(COLUMNS, COLUMNS), Ok(()));
        assert_eq!(
            compared(COLUMNS, &COLUMNS.replace("UTF8", "STRING")),
            Ok(())
        );
    }

    #[test]
    fn another_name_type_repetition_or_annotation_is_another_column() {
        for (part, other, message) in [
            ("text", "body", "number 2 is body"),
            ("int64 id", "int32 id", "number 1 is id (required INT32)"),
            (
                "required int64",
                "optional int64",
                "there it is id (required",
            ),
            ("int64 id", "int64 id (TIMESTAMP(NANOS,true))", "TIMESTAMP"),
            ("element (STRING)", "element", "made of other parts"),
            ("required int64 id;", "", "number 1 is text"),
        ] {
            let error = compared(COLUMNS, &COLUMNS.replace(part, other)).unwrap_err();
            assert!(error.contains(message), "{error}");
            assert!(error.starts_with("b has not the columns of a"), "{error}");
        }
        let more = format!("{COLUMNS} required double score;");
        let error = compared(COLUMNS, &more).unwrap_err();
        assert!(error.contains("there it is none"), "{error}");
    }
}
