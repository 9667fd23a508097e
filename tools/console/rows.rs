//! Results that are printed as text or as JSON, and the cells of their text.

use std::fmt::{self, Display, Formatter};

use anyhow::Result;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Output;
use super::table::Table;

impl Output {
    /// Prints a result: with `as_json` as one line of JSON, otherwise as text.
    pub fn print<J: Serialize, T: Display>(
        &mut self,
        as_json: bool,
        json: impl FnOnce() -> J,
        text: impl FnOnce() -> T,
    ) -> Result<()> {
        if as_json {
            self.json(&json())
        } else {
            self.line(text())
        }
    }
}

/// The lines of the table, without a line feed at the end.
impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{line}")?;
        }
        Ok(())
    }
}

/// A value as a cell; `-` for `None`.
pub fn or_dash(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Serializes a value as its text. For serde.
pub fn displayed<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Serializes a value as its text, and `None` as null. For serde.
pub fn or_displayed<S: Serializer>(
    value: &Option<impl Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// The fields of a document as JSON. Fields that another program stored may be other text.
pub fn fields_value(fields: &str) -> Value {
    serde_json::from_str(fields).unwrap_or_else(|_| fields.into())
}

/// `yes` or `no`.
pub fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// The cells of a row, from values of any types that implement `Display`.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => {
        [$($cell.to_string()),*]
    };
}
pub(crate) use cells;
