//! Pairs of texts in a file, judged line by line, and the weights of words of a collection.

use std::path::Path;

use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};
use simdb::containment::{Containment, Weights};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Database, Normaliser, PreparedText};

use crate::commands::json_object::for_each_object;
use crate::commands::open_to_read;
use crate::console::Output;
use crate::console::alignment::rows;
use crate::formats::input::{LineReader, Source, extension_of};
use crate::formats::{MAX_LINE_BYTES, MAX_TEXT_BYTES, text_of, utf8};

/// Writes one object for each line {"a": text, "b": text} of a file, with the other fields of the line.
pub(super) fn compare_pairs(pairs: &Path, weights: &Weights, output: &mut Output) -> Result<()> {
    let normaliser = Normaliser::new();
    let likeness = Likeness::default();
    for_each_pair(pairs, output, |a, b| {
        let (found, resemblance) = Containment::with_resemblance(&normaliser, weights, a, b);
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

/// The weights of the words of a collection: of a database that stores texts, of the field "text"
/// of JSON Lines, or of the lines of another file. Without a collection, the built-in weights.
pub(super) fn weights_of(collection: Option<&Path>) -> Result<Weights> {
    let Some(path) = collection else {
        return Ok(Weights::builtin().clone());
    };
    let normaliser = Normaliser::new();
    let mut failed = None;
    let mut kept = |text: Result<Option<String>>| match text {
        Ok(text) => text,
        Err(error) => {
            failed = Some(error);
            None
        }
    };
    let weights = if extension_of(path).as_deref() == Some("simdb") {
        let database = open_to_read(path, Database::builder())?;
        let snapshot = database.snapshot()?;
        let texts = snapshot.documents().map_while(|document| {
            let text = document.map(|document| document.text.unwrap_or_default());
            kept(text.map(Some).map_err(Into::into))
        });
        Weights::from_texts(&normaliser, texts)
    } else {
        let input = Source::new(path)?.open(&Default::default())?;
        let name = input.name.clone();
        let is_jsonl = extension_of(path).as_deref() == Some("jsonl");
        let mut lines = LineReader::new(input, MAX_LINE_BYTES)?;
        let texts = std::iter::from_fn(|| {
            let line = match lines.next_not_blank() {
                Ok(line) => line?,
                Err(error) => return kept(Err(error)),
            };
            let (number, line) = line;
            let text = line.and_then(utf8).and_then(|line| {
                if is_jsonl {
                    let fields = serde_json::from_str(line);
                    text(&mut fields.map_err(|error| error.to_string())?, "text")
                } else {
                    Ok(line.to_owned())
                }
            });
            let text = text.map_err(|reason| anyhow!("cannot read {name}:{number}: {reason}"));
            kept(text.map(Some))
        });
        Weights::from_texts(&normaliser, texts)
    };
    match failed {
        Some(error) => Err(error),
        None => Ok(weights),
    }
}

/// Takes a text out of an object.
fn text(fields: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match fields.remove(name) {
        Some(Value::String(text)) => text_of(text, MAX_TEXT_BYTES),
        _ => Err(format!("the field \"{name}\" is missing, or no string")),
    }
}
