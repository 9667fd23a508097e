//! Pairs of texts in a file, judged line by line.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};
use simdb::containment::{Containment, Weights};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Normaliser, PreparedText};

use crate::commands::json_object::for_each_object;
use crate::console::Output;
use crate::console::alignment::rows;
use crate::formats::{MAX_TEXT_BYTES, text_of};

/// Writes one object for each line {"a": text, "b": text} of a file, with the other fields of the
/// line.
pub(super) fn compare_pairs(pairs: &Path, output: &mut Output) -> Result<()> {
    let normaliser = Normaliser::new();
    let likeness = Likeness::default();
    for_each_pair(pairs, output, |a, b| {
        let (found, resemblance) =
            Containment::with_resemblance(&normaliser, Weights::builtin(), a, b);
        let is_alike = resemblance.is_enough(&likeness);
        Some((found, resemblance, is_alike))
    })
}

/// Writes the objects of [`compare_pairs`] for the pairs that a search for the first text finds.
pub(super) fn search_pairs(pairs: &Path, output: &mut Output) -> Result<()> {
    let likeness = Likeness::default();
    let mut last = PreparedText::new("");
    for_each_pair(pairs, output, |a, b| {
        if last.text() != a {
            last = PreparedText::new(a);
        }
        let (resemblance, found) = last.search(b, &likeness)?;
        Some((found, resemblance, true))
    })
}

/// Writes an object for each pair of texts for which `compare` returns something.
fn for_each_pair(
    pairs: &Path,
    output: &mut Output,
    mut compare: impl FnMut(&str, &str) -> Option<(Containment, Resemblance, bool)>,
) -> Result<()> {
    let mut failed = None;
    let read = for_each_object(pairs, |_, mut fields| {
        let [a, b] = [text(&mut fields, "a")?, text(&mut fields, "b")?];
        let Some((found, resemblance, is_alike)) = compare(&a, &b) else {
            return Ok(());
        };
        for (name, value) in [
            ("verdict", json!(found.verdict.name())),
            ("missing_in_b", rows(&found.missing_in_b)),
            ("missing_in_a", rows(&found.missing_in_a)),
            ("alike", json!(is_alike)),
            ("edit_similarity", json!(resemblance.edit_similarity)),
            ("jaccard", json!(resemblance.jaccard)),
        ] {
            fields.insert(name.to_owned(), value);
        }
        // The callback returns reasons why a line is bad. This error ends the reading too.
        output.json(&fields).map_err(|error| {
            failed = Some(error);
            String::new()
        })
    });
    match failed {
        Some(error) => Err(error),
        None => read,
    }
}

/// Takes a text out of an object.
fn text(fields: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match fields.remove(name) {
        Some(Value::String(text)) => text_of(text, MAX_TEXT_BYTES),
        _ => Err(format!("the field \"{name}\" is missing, or no string")),
    }
}
