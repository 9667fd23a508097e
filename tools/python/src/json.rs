//! JSON objects from the columns of a table.

use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::error::invalid_argument;
use crate::texts::{optional_strings, strings_of};

/// The values of some columns as a JSON object for each row, without nulls.
pub fn json_objects(
    py: Python<'_>,
    columns: &[(&String, &ArrayRef)],
    rows: usize,
) -> PyResult<Vec<String>> {
    let mut objects = vec!["{".to_owned(); rows];
    for (name, column) in columns {
        let is_text = column.data_type().is_string()
            || matches!(column.data_type(), DataType::Dictionary(_, values) if values.is_string());
        let shown = if is_text {
            strings_of(py, column)?
        } else if column.data_type().is_numeric() || *column.data_type() == DataType::Boolean {
            let shown = cast(column, &DataType::LargeUtf8);
            shown.map_err(|error| invalid_argument(py, &error.to_string()))?
        } else {
            let kind = column.data_type();
            let message =
                format!("column '{name}' of {kind} cannot be kept; cast it to strings or numbers");
            return Err(invalid_argument(py, &message));
        };
        for (object, value) in objects.iter_mut().zip(optional_strings(&shown)) {
            // JSON has no infinite numbers.
            let is_number = |value: &str| value.parse::<f64>().is_ok_and(f64::is_finite);
            let Some(value) = value.filter(|value| {
                is_text || *value == "true" || *value == "false" || is_number(value)
            }) else {
                continue;
            };
            if object.len() > 1 {
                object.push(',');
            }
            push_string(object, name);
            object.push(':');
            match is_text {
                true => push_string(object, value),
                false => object.push_str(value),
            }
        }
    }
    objects.iter_mut().for_each(|object| object.push('}'));
    Ok(objects)
}

fn push_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            character if character < ' ' => {
                json.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            character => json.push(character),
        }
    }
    json.push('"');
}
