//! The text of Prometheus: the head of each metric, then its samples.

use std::fmt::{Display, Write};

/// Writes the head of a metric.
pub fn write_head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Writes a sample. `labels` are empty, or as `part="nodes",le="1"`.
pub fn write_sample(text: &mut String, name: &str, labels: &str, value: impl Display) {
    let _ = match labels {
        "" => writeln!(text, "{name} {value}"),
        _ => writeln!(text, "{name}{{{labels}}} {value}"),
    };
}

/// Writes a metric of one sample without labels.
pub fn write_metric(text: &mut String, name: &str, kind: &str, help: &str, value: impl Display) {
    write_head(text, name, kind, help);
    write_sample(text, name, "", value);
}
