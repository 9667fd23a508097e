//! Results that are printed either for people or as JSON, and the parts of their text.

use std::fmt::{self, Display, Formatter};

use anyhow::Result;
use serde::{Serialize, Serializer};

use super::table::Table;
use super::{Answer, Output};

impl Output {
    /// Prints a result as one line of JSON, or as its text.
    pub fn row(&mut self, row: &(impl Serialize + Display), as_json: bool) -> Result<()> {
        if as_json {
            self.json(row)
        } else {
            self.line(row)
        }
    }
}

/// Yes if it is `true`, a plain no if it is `false`.
impl From<bool> for Answer {
    fn from(is_yes: bool) -> Self {
        if is_yes { Self::Yes } else { Self::No }
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

/// A value as a cell, `-` if there is none.
pub fn or_dash(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Serializes a value as the string that it is displayed as. For serde.
pub fn displayed<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// `yes` or `no`.
pub fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// Cells of a row, made of values of any types that can be displayed.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => {
        [$($cell.to_string()),*]
    };
}
pub(crate) use cells;
