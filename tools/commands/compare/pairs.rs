//! Pairs of texts in a file, judged line by line.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};
use simdb::Normaliser;
use simdb::containment::{Containment, Missing};
use simdb::in_memory::PreparedText;
use simdb::similarity::{Likeness, Resemblance};

use crate::commands::json_object::for_each_object;
use crate::console::Output;
use crate::console::alignment::{forgiven_rows, rows};
use crate::console::rows::{or_dash, yes_or_no};
use crate::console::table::one_line;
use crate::formats::{MAX_TEXT_BYTES, text_of};
use crate::options::LikenessOptions;

/// Writes one object, or one row, for each line {"a": text, "b": text} of a file. An object has the
/// other fields of the line.
pub(super) fn compare_pairs(
    pairs: &Path,
    rule: &LikenessOptions,
    as_json: bool,
    output: &mut Output,
) -> Result<()> {
    let normaliser = Normaliser::new();
    let likeness = rule.likeness();
    let weights = rule.decision().weights();
    for_each_pair(pairs, as_json, output, |a, b| {
        let (found, resemblance) = Containment::with_resemblance(&normaliser, weights, a, b);
        let is_alike = resemblance.is_enough(&likeness);
        Some((found, resemblance, is_alike))
    })
}

/// Writes the objects of [`compare_pairs`] for the pairs that a search for the first text finds.
pub(super) fn search_pairs(pairs: &Path, as_json: bool, output: &mut Output) -> Result<()> {
    let likeness = Likeness::default();
    let mut last = PreparedText::new("");
    for_each_pair(pairs, as_json, output, |a, b| {
        if last.text() != a {
            last = PreparedText::new(a);
        }
        let (resemblance, found) = last.search(b, &likeness)?;
        Some((found, resemblance, true))
    })
}

/// Writes an object or a row for each pair of texts for which `compare` returns something.
fn for_each_pair(
    pairs: &Path,
    as_json: bool,
    output: &mut Output,
    mut compare: impl FnMut(&str, &str) -> Option<(Containment, Resemblance, bool)>,
) -> Result<()> {
    let mut failed = None;
    // Rows are written as they are found, so the columns have fixed widths.
    if !as_json {
        output.line(format_args!(
            "{:>6}  {:9}  alike   edit  jaccard  missing",
            "line", "verdict"
        ))?;
    }
    let read = for_each_object(pairs, |line, mut fields| {
        let [a, b] = [text(&mut fields, "a")?, text(&mut fields, "b")?];
        let Some((found, resemblance, is_alike)) = compare(&a, &b) else {
            return Ok(());
        };
        let mut failing = |error| {
            failed = Some(error);
            String::new()
        };
        if !as_json {
            let row = row(line, &found, &resemblance, is_alike);
            return output.line(row).map_err(&mut failing);
        }
        for (name, value) in [
            ("verdict", json!(found.verdict.name())),
            ("missing_in_b", rows(&found.missing_in_b)),
            ("missing_in_a", rows(&found.missing_in_a)),
            ("forgiven", forgiven_rows(&found.forgiven)),
            ("alike", json!(is_alike)),
            ("edit_similarity", json!(resemblance.edit_similarity)),
            ("jaccard", json!(resemblance.jaccard)),
        ] {
            fields.insert(name.to_owned(), value);
        }
        // The callback returns reasons why a line is bad. This error ends the reading too.
        output.json(&fields).map_err(&mut failing)
    });
    match failed {
        Some(error) => Err(error),
        None => read,
    }
}

/// At most 100 columns of missing words.
const MISSING_COLUMNS: usize = 100;

/// A row of the table of pairs. `missing_in_b` are words of A.
fn row(line: u64, found: &Containment, resemblance: &Resemblance, is_alike: bool) -> String {
    let words = |missing: &[Missing]| {
        let words = missing.iter().map(|missing| missing.word.as_str());
        words.collect::<Vec<_>>().join(" ")
    };
    let missing = [("b", &found.missing_in_b), ("a", &found.missing_in_a)];
    let missing = missing
        .into_iter()
        .filter(|(_, missing)| !missing.is_empty());
    let missing = missing.map(|(side, missing)| format!("in {side}: {}", words(missing)));
    let missing = one_line(&missing.collect::<Vec<_>>().join("; "), MISSING_COLUMNS);
    let edit = resemblance.edit_similarity.map(|edit| format!("{edit:.3}"));
    format!(
        "{line:>6}  {:9}  {:5}  {:>5}  {:7.3}  {missing}",
        found.verdict.name(),
        yes_or_no(is_alike),
        or_dash(edit),
        resemblance.jaccard,
    )
}

/// Takes a text out of an object.
fn text(fields: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match fields.remove(name) {
        Some(Value::String(text)) => text_of(text, MAX_TEXT_BYTES),
        _ => Err(format!("the field \"{name}\" is missing, or no string")),
    }
}
