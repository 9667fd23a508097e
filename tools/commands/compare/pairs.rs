//! Pairs of texts in a file, judged line by line.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};
use simdb::Normaliser;
use simdb::containment::{AlignedWord, Alignment, Containment, Missing};
use simdb::in_memory::PreparedText;
use simdb::similarity::{Likeness, Resemblance};

use crate::commands::json_object::for_each_object;
use crate::console::Output;
use crate::console::missing_words::{forgiven_rows, rows};
use crate::console::rows::{or_dash, yes_or_no};
use crate::console::table::one_line;
use crate::formats::jsonl::JsonParts;
use crate::formats::{DocumentFields, MAX_TEXT_BYTES, Textless, text_of};
use crate::options::{LikenessOptions, text_fields};

/// A text of a pair.
struct PairText {
    text: String,
    /// The end of each field of the text, in bytes, and its name; empty for a text that is a
    /// string.
    ends: Vec<(usize, String)>,
}

/// The answer about a pair.
struct PairFound {
    containment: Containment,
    /// The missing words in B, then in A, as JSON and as a text.
    missing: [(Value, String); 2],
    resemblance: Resemblance,
    is_alike: bool,
}

/// Writes one object, or one row, for each line {"a": text, "b": text} of a file. An object has the
/// other fields of the line. With `names`, a and b are objects with these fields.
pub(super) fn compare_pairs(
    pairs: &Path,
    names: &[String],
    rule: &LikenessOptions,
    as_json: bool,
    output: &mut Output,
) -> Result<()> {
    let normaliser = Normaliser::new();
    let likeness = rule.likeness();
    let weights = rule.decision().weights();
    for_each_pair(pairs, names, as_json, output, |[a, b]| {
        let texts = [&a.text, &b.text];
        if names.is_empty() {
            let [a, b] = texts;
            let (found, resemblance) = Containment::with_resemblance(&normaliser, weights, a, b);
            let is_alike = resemblance.is_enough(&likeness);
            return Some(PairFound::new(found, resemblance, is_alike));
        }
        let resemblance = Resemblance::new(&normaliser, texts[0], texts[1]);
        let alignment = Alignment::new(&normaliser, weights, texts[0], texts[1]);
        Some(PairFound {
            missing: [a.missing(&alignment.a), b.missing(&alignment.b)],
            is_alike: resemblance.is_enough(&likeness),
            containment: alignment.containment,
            resemblance,
        })
    })
}

/// Writes the objects of [`compare_pairs`] for the pairs that a search for the first text finds.
pub(super) fn search_pairs(pairs: &Path, as_json: bool, output: &mut Output) -> Result<()> {
    let likeness = Likeness::default();
    let mut last = PreparedText::new("");
    for_each_pair(pairs, &[], as_json, output, |[a, b]| {
        if last.text() != a.text {
            last = PreparedText::new(&a.text);
        }
        let (resemblance, found) = last.search(&b.text, &likeness)?;
        Some(PairFound::new(found, resemblance, true))
    })
}

impl PairFound {
    fn new(containment: Containment, resemblance: Resemblance, is_alike: bool) -> Self {
        let missing = [&containment.missing_in_b, &containment.missing_in_a];
        let missing = missing.map(|missing| {
            let words = missing.iter().map(|missing| missing.word.as_str());
            (rows(missing), words.collect::<Vec<_>>().join(" "))
        });
        Self {
            containment,
            missing,
            resemblance,
            is_alike,
        }
    }
}

impl PairText {
    /// Takes a text out of an object. With `names`, the text is an object with these fields.
    fn take(fields: &mut Map<String, Value>, name: &str, names: &[String]) -> Result<Self, String> {
        let (text, ends) = match fields.remove(name) {
            Some(Value::String(text)) if names.is_empty() => {
                (text_of(text, MAX_TEXT_BYTES)?, Vec::new())
            }
            Some(object @ Value::Object(_)) if !names.is_empty() => {
                let object = object.to_string();
                let in_text = |reason| format!("the field {name:?}: {reason}");
                let ends = ends_of(&object, names).map_err(in_text)?;
                let fields = text_fields(names).map_err(|error| error.to_string())?;
                let content = fields.content(JsonParts::parse(&object, &fields)?);
                (content.map_err(in_text)?.text.unwrap_or_default(), ends)
            }
            _ => {
                let expected = if names.is_empty() { "string" } else { "object" };
                return Err(format!("the field {name:?} is missing, or no {expected}"));
            }
        };
        Ok(Self { text, ends })
    }

    /// The words of the text that the other text lacks, each with its field.
    fn missing(&self, words: &[AlignedWord]) -> (Value, String) {
        let missing = words.iter().filter(|word| word.weight > 0.0);
        let missing = missing.map(|word| {
            // The later words of a date have the end of its bytes.
            let range = &word.range;
            let place = range.start - usize::from(range.is_empty() && range.start > 0);
            let field = self.ends.iter().find(|(end, _)| place < *end);
            let field = field.map_or("", |(_, name)| name);
            let AlignedWord { word, weight, .. } = word.clone();
            (Missing { word, weight }, field)
        });
        let (missing, fields): (Vec<Missing>, Vec<&str>) = missing.unzip();
        let shown = missing.iter().zip(&fields);
        let shown = shown.map(|(missing, field)| format!("{field}:{}", missing.word));
        let shown: Vec<String> = shown.collect();
        let mut rows = rows(&missing);
        for (row, field) in rows.as_array_mut().into_iter().flatten().zip(fields) {
            row.as_array_mut()
                .into_iter()
                .for_each(|row| row.push(json!(field)));
        }
        (rows, shown.join(" "))
    }
}

/// The end of each field that is not empty in the text that the fields make.
fn ends_of(object: &str, names: &[String]) -> Result<Vec<(usize, String)>, String> {
    let (mut ends, mut len) = (Vec::new(), 0);
    for name in names {
        let field = DocumentFields {
            text: Some(name.clone()),
            textless: Textless::Missing,
            ..DocumentFields::default()
        };
        if let Some(text) = field.content(JsonParts::parse(object, &field)?)?.text {
            // A line feed stands between two fields.
            len += usize::from(len > 0) + text.len();
            ends.push((len, name.clone()));
        }
    }
    Ok(ends)
}

/// Writes an object or a row for each pair of texts for which `compare` returns something.
fn for_each_pair(
    pairs: &Path,
    names: &[String],
    as_json: bool,
    output: &mut Output,
    mut compare: impl FnMut(&[PairText; 2]) -> Option<PairFound>,
) -> Result<()> {
    text_fields(names)?;
    let mut failed = None;
    // Rows are written as they are found, so the columns have fixed widths.
    if !as_json {
        output.line(format_args!(
            "{:>6}  {:9}  alike   edit  jaccard  missing",
            "line", "verdict"
        ))?;
    }
    let read = for_each_object(pairs, |line, mut fields| {
        let mut text = |name| PairText::take(&mut fields, name, names);
        let Some(found) = compare(&[text("a")?, text("b")?]) else {
            return Ok(());
        };
        let mut failing = |error| {
            failed = Some(error);
            String::new()
        };
        if !as_json {
            return output.line(row(line, &found)).map_err(&mut failing);
        }
        let PairFound {
            containment,
            missing: [(missing_in_b, _), (missing_in_a, _)],
            resemblance,
            is_alike,
        } = found;
        for (name, value) in [
            ("verdict", json!(containment.verdict.name())),
            ("missing_in_b", missing_in_b),
            ("missing_in_a", missing_in_a),
            ("forgiven", forgiven_rows(&containment.forgiven)),
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

/// A row of the table of pairs.
fn row(line: u64, found: &PairFound) -> String {
    let PairFound {
        containment,
        missing,
        resemblance,
        is_alike,
    } = found;
    let missing = ["b", "a"].into_iter().zip(missing);
    let missing = missing.filter(|(_, (_, words))| !words.is_empty());
    let missing = missing.map(|(side, (_, words))| format!("in {side}: {words}"));
    let missing = one_line(&missing.collect::<Vec<_>>().join("; "), MISSING_COLUMNS);
    let edit = resemblance.edit_similarity.map(|edit| format!("{edit:.3}"));
    format!(
        "{line:>6}  {:9}  {:5}  {:>5}  {:7.3}  {missing}",
        containment.verdict.name(),
        yes_or_no(*is_alike),
        or_dash(edit),
        resemblance.jaccard,
    )
}
