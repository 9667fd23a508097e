//! Whether two files have the same columns, so that rows of both can be in one.

use anyhow::{Result, bail};
use parquet::basic::{ConvertedType, Repetition};
use parquet::schema::types::{Type as SchemaType, TypePtr};

use crate::formats::excerpt;
use crate::formats::parquet::kind::shown;

/// Refuses the second of two named files if its columns are not those of the first. What they are
/// made of is compared, not who wrote them, nor what is said beside them.
pub fn check(first: (&str, &SchemaType), other: (&str, &SchemaType)) -> Result<()> {
    let [columns, others] = [first, other].map(|(_, root)| root.get_fields());
    for place in 0..columns.len().max(others.len()) {
        let pair = (columns.get(place), others.get(place));
        if let (Some(column), Some(other)) = pair
            && are_same(column, other)
        {
            continue;
        }
        let told = |column: Option<&TypePtr>| match column {
            Some(column) => describe(column),
            None => "none".to_owned(),
        };
        let (there, here) = (told(pair.0), told(pair.1));
        let there = match there == here {
            true => "made of other parts".to_owned(),
            false => there,
        };
        bail!(
            "{} has not the columns of {}: number {} is {here}, there it is {there}; one file has \
             one set of columns, but an OUTPUT without an extension is a folder with a file for each",
            other.0,
            first.0,
            place + 1
        );
    }
    Ok(())
}

fn are_same(a: &SchemaType, b: &SchemaType) -> bool {
    if a.name() != b.name() || repetition(a) != repetition(b) || !are_annotated_alike(a, b) {
        return false;
    }
    match (a, b) {
        (
            SchemaType::PrimitiveType {
                physical_type,
                type_length,
                scale,
                precision,
                ..
            },
            SchemaType::PrimitiveType {
                physical_type: other_type,
                type_length: other_length,
                scale: other_scale,
                precision: other_precision,
                ..
            },
        ) => {
            let own = (physical_type, type_length, scale, precision);
            own == (other_type, other_length, other_scale, other_precision)
        }
        (SchemaType::GroupType { fields, .. }, SchemaType::GroupType { fields: others, .. }) => {
            fields.len() == others.len() && fields.iter().zip(others).all(|(a, b)| are_same(a, b))
        }
        _ => false,
    }
}

/// Older writers annotate in a form of their own, newer ones in both.
fn are_annotated_alike(a: &SchemaType, b: &SchemaType) -> bool {
    let [old, other_old] = [a, b].map(|column| column.get_basic_info().converted_type());
    let [new, other_new] = [a, b].map(|column| column.get_basic_info().logical_type_ref());
    match (new, other_new) {
        (Some(new), Some(other)) => new == other,
        (None, None) => old == other_old,
        _ => old == other_old && old != ConvertedType::NONE,
    }
}

fn repetition(column: &SchemaType) -> Option<Repetition> {
    let about = column.get_basic_info();
    about.has_repetition().then(|| about.repetition())
}

/// A column as a message can bear it.
fn describe(column: &SchemaType) -> String {
    let name = column.name().replace(char::is_control, "\u{fffd}");
    let is_required = match repetition(column) {
        Some(Repetition::REQUIRED) => "required ",
        Some(Repetition::OPTIONAL) => "optional ",
        _ => "",
    };
    format!("{} ({is_required}{})", excerpt(&name), shown(column))
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
        for (part, other, told) in [
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
            assert!(error.contains(told), "{error}");
            assert!(error.starts_with("b has not the columns of a"), "{error}");
        }
        let more = format!("{COLUMNS} required double score;");
        let error = compared(COLUMNS, &more).unwrap_err();
        assert!(error.contains("there it is none"), "{error}");
    }
}
