//! [`DuplicateReport`]: the documents that `--unique` drops. All go to `--duplicates` as they are
//! dropped; `--show-duplicates` prints the least alike at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use simdb::{DocId, Document, Fingerprint};

use crate::console::duplicate::{Alike, DuplicateOf};
use crate::console::paths::OutputPath;
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Output, counted};
use crate::corpus::inputs::Location;
use crate::corpus::report::RecordReport;
use crate::options::RecipeOptions;

/// The parts of a document that are reported if it is dropped.
#[derive(Debug)]
pub struct ReportedDocument {
    pub id: DocId,
    /// The key, in place of the id.
    pub key: Option<String>,
    pub fingerprint: Fingerprint,
    /// `None` if texts are not reported.
    pub text: Option<String>,
}

impl ReportedDocument {
    pub fn new(document: &Document, text: Option<String>) -> Self {
        Self {
            id: document.id,
            key: document.key.clone(),
            fingerprint: document.fingerprint,
            text,
        }
    }
}

/// A line of the report.
#[derive(Serialize)]
struct DuplicateLine<'d> {
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'d str>,
    fingerprint: String,
    duplicate_of: u64,
    distance: Option<u32>,
    #[serde(flatten)]
    alike: Option<Alike>,
    #[serde(flatten)]
    location: Location<'d>,
    text: Option<&'d str>,
}

/// The report of dropped documents.
pub struct DuplicateReport {
    report: Option<RecordReport>,
    count: u64,
    shown_most: usize,
    /// By likeness, the least alike first, then by arrival.
    shown: BTreeMap<(Reverse<u32>, u64), (ReportedDocument, DuplicateOf)>,
}

/// At most 1000 columns of a text are held, more than any terminal shows.
const SHOWN_COLUMNS: usize = 1000;

impl DuplicateReport {
    /// An empty report, of which [`Self::show`] shows at most `shown_most` documents.
    pub fn new(shown_most: Option<u32>, report: Option<OutputPath>) -> Result<Self> {
        Ok(Self {
            report: report.map(RecordReport::create).transpose()?,
            count: 0,
            shown_most: shown_most.unwrap_or(0) as usize,
            shown: BTreeMap::new(),
        })
    }

    /// The text of a document, if texts are reported. Leaves the text in the document if
    /// `keep_texts`.
    pub fn text_of(&self, document: &mut Document, keep_texts: bool) -> Option<String> {
        let is_reported = self.report.is_some() || self.shown_most > 0;
        if keep_texts {
            document.text.as_ref().filter(|_| is_reported).cloned()
        } else {
            document.text.take().filter(|_| is_reported)
        }
    }

    /// Adds a document that was dropped for another.
    pub fn push(
        &mut self,
        mut document: ReportedDocument,
        of: DuplicateOf,
        location: Location<'_>,
    ) -> Result<()> {
        if let Some(report) = &mut self.report {
            report.line(&DuplicateLine {
                id: document.key.is_none().then_some(document.id.0),
                key: document.key.as_deref(),
                fingerprint: document.fingerprint.to_string(),
                duplicate_of: of.id.0,
                distance: of.distance,
                alike: of.alike.clone(),
                location,
                text: document.text.as_deref(),
            })?;
        }
        self.count += 1;
        if self.shown_most > 0 {
            document.text = document.text.map(|text| one_line(&text, SHOWN_COLUMNS));
            let key = (Reverse(of.unlikeness()), self.count);
            self.shown.insert(key, (document, of));
            if self.shown.len() > self.shown_most {
                self.shown.pop_last();
            }
        }
        Ok(())
    }

    /// Publishes the report of duplicates.
    pub fn publish(&mut self) -> Result<()> {
        self.report.take().map_or(Ok(()), RecordReport::publish)
    }

    /// Prints dropped documents, each with the document that was kept.
    pub fn show(self, database: &Path, recipe: &RecipeOptions, output: &mut Output) -> Result<()> {
        if self.shown.is_empty() {
            return Ok(());
        }
        let shown = self.shown.len() as u64;
        let snapshot = recipe.builder()?.open_read_only(database)?.snapshot()?;
        for (document, of) in self.shown.into_values() {
            let stored = snapshot.get(of.id)?;
            let (kept_key, kept) = stored.map_or((None, None), |stored| (stored.key, stored.text));
            let name = |key: Option<String>, id: DocId| key.unwrap_or_else(|| id.to_string());
            let kept_name = name(kept_key, of.id);
            let dropped_name = name(document.key, document.id);
            let kept = kept.map(|text| one_line(&text, SHOWN_COLUMNS));
            let (kept, dropped) = where_they_differ(kept, document.text, text_columns());
            output.line(&of)?;
            let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
            table.row(["  kept".to_owned(), kept_name, kept]);
            table.row(["  dropped".to_owned(), dropped_name, dropped]);
            for line in table.lines() {
                output.line(line)?;
            }
            output.line("")?;
        }
        if self.count > shown {
            output.line(format_args!(
                "and {} more; --duplicates FILE lists them all\n",
                counted(self.count - shown, "duplicate")
            ))?;
        }
        Ok(())
    }
}

/// Both texts, cut to a width that includes their first difference. An unknown text is `-`.
fn where_they_differ(
    kept: Option<String>,
    dropped: Option<String>,
    columns: usize,
) -> (String, String) {
    let (Some(kept), Some(dropped)) = (&kept, &dropped) else {
        let shown = |text: Option<String>| text.map_or("-".to_owned(), |t| one_line(&t, columns));
        return (shown(kept), shown(dropped));
    };
    let pairs = kept.chars().zip(dropped.chars());
    let equal = pairs.take_while(|(a, b)| a == b).count();
    // A quarter of the width stays before the difference, half of it if characters are two columns
    // wide.
    let skipped = equal.saturating_sub(columns / 4);
    let shown = |text: &String| {
        if skipped == 0 || kept == dropped {
            return one_line(text, columns);
        }
        let rest: String = text.chars().skip(skipped).collect();
        format!("…{}", one_line(&rest, columns - 1))
    };
    (shown(kept), shown(dropped))
}

/// The columns of a line that remain for a text beside `dropped` and an id of average length.
fn text_columns() -> usize {
    const BESIDE: usize = 22;
    columns().saturating_sub(BESIDE).max(BESIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_around_their_first_difference() {
        let shown = |kept: &str, dropped: &str| {
            where_they_differ(Some(kept.to_owned()), Some(dropped.to_owned()), 12)
        };
        let pair = |kept: &str, dropped: &str| (kept.to_owned(), dropped.to_owned());
        assert_eq!(shown("abc", "abd"), pair("abc", "abd"));
        assert_eq!(
            shown("abcdefghijklX", "abcdefghijklY"),
            pair("…jklX", "…jklY")
        );
        assert_eq!(
            shown("abcdefghijklm", "abcdefghijklm"),
            pair("abcdefghijk…", "abcdefghijk…")
        );
        assert_eq!(
            where_they_differ(None, Some("a".to_owned()), 12),
            pair("-", "a")
        );
    }
}
