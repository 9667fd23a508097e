//! The printed tables, in Markdown.

use std::time::Duration;

/// The width of the first column, the label of a row.
const LABEL_WIDTH: usize = 54;
const VALUE_WIDTH: usize = 13;

/// A table that prints each row at once, since measuring all rows takes minutes.
pub struct Table {
    columns: usize,
}

impl Table {
    pub fn new(title: &str, columns: &[&str]) -> Self {
        let table = Self {
            columns: columns.len(),
        };
        println!("\n{title}\n");
        table.row("", columns);
        let line = "-".repeat(VALUE_WIDTH - 1) + ":";
        table.row(
            &"-".repeat(LABEL_WIDTH),
            &vec![line.as_str(); columns.len()],
        );
        table
    }

    /// Prints a row. Missing values at the end are left empty.
    pub fn row<V: AsRef<str>>(&self, label: &str, values: &[V]) {
        let mut line = format!("| {label:<LABEL_WIDTH$} |");
        for column in 0..self.columns {
            let value = values.get(column).map_or("", AsRef::as_ref);
            line += &format!(" {value:>VALUE_WIDTH$} |");
        }
        println!("{line}");
    }
}

/// A time in µs, ms or s, with three significant digits.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", number(value))
}

/// A ratio, as in `1.50 ×`.
pub fn ratio(ratio: f64) -> String {
    format!("{} ×", number(ratio))
}

/// A number with three significant digits.
pub fn number(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Bytes in MiB.
pub fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", number(bytes as f64 / f64::from(1 << 20)))
}
