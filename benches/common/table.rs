//! The tables that the benches print, ready to be pasted into a page.

use std::time::Duration;

/// Width of the first column, which says what a row is about.
const LABEL_WIDTH: usize = 54;
const VALUE_WIDTH: usize = 13;

/// A table whose rows are printed as they are measured.
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

    /// Prints a row. Values that are missing at its end are left empty.
    pub fn row<V: AsRef<str>>(&self, label: &str, values: &[V]) {
        let mut line = format!("| {label:<LABEL_WIDTH$} |");
        for column in 0..self.columns {
            let value = values.get(column).map_or("", AsRef::as_ref);
            line += &format!(" {value:>VALUE_WIDTH$} |");
        }
        println!("{line}");
    }
}

/// A time in the unit that suits it, with three digits that mean something.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", number(value))
}

/// A ratio, written as the factor it is.
pub fn ratio(ratio: f64) -> String {
    format!("{} ×", number(ratio))
}

/// Three digits that mean something.
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
