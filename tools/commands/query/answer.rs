//! The answer to one query, as text and as JSON.

use std::iter::once;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use simdb::Fingerprint;

use super::search::{Answered, Matches, Searcher};
use crate::console::Output;
use crate::console::duplicate::{Contained, share};
use crate::console::rows::{displayed, fields_value, or_dash};
use crate::console::table::Align::{Left, Right};
use crate::console::table::{Table, columns, one_line};

/// At most 256 matches in a table, within which columns are aligned: a query may match every
/// document, and their texts may not fit into memory. Matches by texts are few, and form one table.
const MAX_TABLE_MATCHES: usize = 256;

/// At most 1 MiB of an answer is composed in memory. Longer answers are composed while they are
/// printed.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// 40 columns of a line are for the distance, the id and the fingerprint, the rest for the text.
const COLUMNS_BESIDE_TEXT: usize = 40;

/// Prints the answer to the query with this number, part by part.
pub(super) fn print_parts(
    searcher: &Searcher<'_>,
    number: u64,
    answered: &Answered,
    output: &mut Output,
) -> Result<()> {
    let mut parts = searcher.parts(number, answered);
    parts.try_for_each(|part| print(&part?, output))
}

pub(super) fn print(part: &str, output: &mut Output) -> Result<()> {
    match part.strip_suffix('\n') {
        Some(lines) => output.line(lines),
        None => output.bytes(part.as_bytes()),
    }
}

/// A match, by fingerprints or by texts.
#[derive(Serialize)]
struct QueryMatch {
    id: u64,
    #[serde(serialize_with = "displayed")]
    fingerprint: Fingerprint,
    distance: Option<u32>,
    /// `None` unless texts are compared.
    #[serde(flatten)]
    wording: Option<WordingScores>,
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Value>,
}

#[derive(Serialize)]
struct WordingScores {
    edit_similarity: Option<f64>,
    jaccard: f64,
    same_wording: bool,
    #[serde(flatten)]
    contained: Option<Contained>,
    #[serde(skip)]
    score: f64,
}

impl Searcher<'_> {
    /// The answer to the query with this number; `None` for a long answer, which must be printed in
    /// [parts](Self::parts).
    pub fn compose(&self, number: u64, answered: &Answered) -> Result<Option<String>> {
        let mut answer = String::new();
        for part in self.parts(number, answered) {
            answer.push_str(&part?);
            if answer.len() > MAX_ANSWER_BYTES {
                return Ok(None);
            }
        }
        Ok(Some(answer))
    }

    /// The parts of the answer to the query with this number: tables, or parts of a line of JSON
    /// with at most one text each.
    pub fn parts<'a>(
        &'a self,
        number: u64,
        answered: &'a Answered,
    ) -> Box<dyn Iterator<Item = Result<String>> + 'a> {
        let count = answered.matches.len();
        if !self.json {
            let (numbers, rows) = match &answered.matches {
                Matches::Near(_) => (2, MAX_TABLE_MATCHES),
                Matches::Similar(_) => (6, count.max(1)),
            };
            let numbers = numbers + usize::from(self.is_numbered);
            return Box::new((0..count).step_by(rows).map(move |first| {
                let mut table = Table::new(&[vec![Right; numbers], vec![Left; 2]].concat());
                for index in first..count.min(first + rows) {
                    table.row(self.cells(number, self.found(answered, index)?));
                }
                Ok(format!("{table}\n"))
            }));
        }
        let made = answered.fingerprint;
        let empty = json!({
            "query": number,
            "fingerprint": made.map(|made| made.fingerprint.to_string()),
            "reliable": made.map(|made| made.reliable),
            "matches": [],
        });
        let start = empty.to_string().trim_end_matches("]}").to_owned();
        let matches = (0..count).map(move |index| {
            let comma = if index > 0 { "," } else { "" };
            let found = serde_json::to_string(&self.found(answered, index)?)?;
            Ok(format!("{comma}{found}"))
        });
        let end = once(Ok("]}\n".to_owned()));
        Box::new(once(Ok(start)).chain(matches).chain(end))
    }

    fn cells(&self, number: u64, found: QueryMatch) -> Vec<String> {
        let name = found.key.map(|key| one_line(&key, usize::MAX));
        let name = name.unwrap_or_else(|| found.id.to_string());
        let mut cells = vec![or_dash(found.distance), name];
        if self.is_numbered {
            cells.insert(0, number.to_string());
        }
        match found.wording {
            None => cells.push(found.fingerprint.to_string()),
            Some(wording) => cells.extend([
                share(wording.score),
                or_dash(wording.edit_similarity.map(share)),
                share(wording.jaccard),
                or_dash(wording.contained.map(|found| found.containment)),
            ]),
        }
        if self.source.settings().keep_texts {
            let columns = columns().saturating_sub(COLUMNS_BESIDE_TEXT).max(20);
            cells.push(or_dash(found.text.map(|text| one_line(&text, columns))));
        }
        cells
    }

    /// A match, with its text if the database keeps texts.
    fn found(&self, answered: &Answered, index: usize) -> Result<QueryMatch> {
        let (id, fingerprint, distance, similar) = match &answered.matches {
            Matches::Near(matches) => {
                let found = matches[index];
                (found.id, found.fingerprint, Some(found.distance), None)
            }
            Matches::Similar(matches) => {
                let found = &matches[index];
                (found.id, found.fingerprint, found.distance, Some(found))
            }
        };
        let settings = self.source.settings();
        let is_read = settings.keep_texts || settings.keys || settings.fields;
        let document = is_read.then(|| self.source.get(id)).transpose()?.flatten();
        let (text, key, scope, fields) = match document {
            Some(document) => (document.text, document.key, document.scope, document.fields),
            None => (None, None, None, None),
        };
        Ok(QueryMatch {
            id: id.0,
            fingerprint,
            distance,
            wording: similar.map(|similar| WordingScores {
                edit_similarity: similar.resemblance.edit_similarity,
                jaccard: similar.resemblance.jaccard,
                same_wording: similar.resemblance.same_wording,
                contained: similar.containment.as_deref().map(Contained::from),
                score: similar.resemblance.score(),
            }),
            text,
            key,
            scope,
            fields: fields.as_deref().map(fields_value),
        })
    }
}
