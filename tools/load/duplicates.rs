//! [`DuplicateReport`]: the documents that `--unique` drops. All go to `--duplicates` as they are
//! dropped; `--show-duplicates` prints the least alike at the end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use simdb::{DocId, Document, Fingerprint, Snapshot};
use tempfile::SpooledTempFile;

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
    /// The key of a document that was loaded later, in place of the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of_key: Option<&'d str>,
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
    /// The lines of documents with keys. simdb gives the ids of the documents that they repeat, and
    /// tells the keys when the load has succeeded.
    keyed: Option<BufWriter<SpooledTempFile>>,
    /// The keys of documents that the load has removed, by id.
    removed_keys: HashMap<DocId, String>,
    count: u64,
    shown_most: usize,
    /// By likeness, the least alike first, then by arrival.
    shown: BTreeMap<(Reverse<u32>, u64), (ReportedDocument, DuplicateOf)>,
}

/// Lines beyond 4 MiB wait on disk.
const SPOOL_BYTES: usize = 4 << 20;

/// At most 1000 columns of a text are held, more than any terminal shows.
const SHOWN_COLUMNS: usize = 1000;

impl DuplicateReport {
    /// An empty report, of which [`Self::show`] shows at most `shown_most` documents.
    pub fn new(
        shown_most: Option<u32>,
        report: Option<OutputPath>,
        has_keys: bool,
    ) -> Result<Self> {
        let spool = || BufWriter::new(SpooledTempFile::new(SPOOL_BYTES));
        Ok(Self {
            report: report.map(RecordReport::create).transpose()?,
            keyed: has_keys.then(spool),
            removed_keys: HashMap::new(),
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
            let line = DuplicateLine {
                id: document.key.is_none().then_some(document.id.0),
                key: document.key.as_deref(),
                fingerprint: document.fingerprint.to_string(),
                duplicate_of: of.id.0,
                duplicate_of_key: of.key.as_deref(),
                distance: of.distance,
                alike: of.alike.clone(),
                location,
                text: document.text.as_deref(),
            };
            match &mut self.keyed {
                None => report.line(&line)?,
                Some(spool) => {
                    serde_json::to_writer(&mut *spool, &line)?;
                    spool.write_all(b"\n")?;
                }
            }
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

    /// Adds a stored document that a document of the load replaces.
    pub fn push_removed(
        &mut self,
        removed: ReportedDocument,
        by: DuplicateOf,
        location: Location<'_>,
    ) -> Result<()> {
        if let Some(key) = &removed.key {
            self.removed_keys.insert(removed.id, key.clone());
        }
        self.push(removed, by, location)
    }

    /// Publishes the report of duplicates, with the ids and keys that the loaded database has.
    pub fn publish(&mut self, database: &Path, recipe: &RecipeOptions) -> Result<()> {
        let Some(mut report) = self.report.take() else {
            return Ok(());
        };
        if let Some(spool) = self.keyed.take() {
            let cannot = "cannot read the temporary file of the report";
            let mut spool = spool.into_inner().context(cannot)?;
            spool.rewind().context(cannot)?;
            let snapshot = recipe.builder()?.open_read_only(database)?.snapshot()?;
            for line in BufReader::new(spool).lines() {
                let mut line = serde_json::from_str(&line.context(cannot)?)?;
                self.name_kept(&mut line, &snapshot)?;
                report.line(&line)?;
            }
        }
        report.publish()
    }

    /// Adds the key of the document that a line names by its id, or the id if by the key.
    fn name_kept(&self, line: &mut Map<String, Value>, snapshot: &Snapshot) -> Result<()> {
        if let Some(key) = line.get("duplicate_of_key").and_then(Value::as_str) {
            let id = snapshot.id(key)?.map(|id| id.0);
            line.insert("duplicate_of".to_owned(), json!(id));
        } else if let Some(id) = line.get("duplicate_of").and_then(Value::as_u64) {
            let key = match self.removed_keys.get(&DocId(id)) {
                Some(key) => Some(key.clone()),
                None => snapshot.key(DocId(id))?,
            };
            line.insert("duplicate_of_key".to_owned(), json!(key));
        }
        Ok(())
    }

    /// Prints dropped documents, each with the document that was kept.
    pub fn show(self, database: &Path, recipe: &RecipeOptions, output: &mut Output) -> Result<()> {
        if self.shown.is_empty() {
            return Ok(());
        }
        let shown = self.shown.len() as u64;
        let snapshot = recipe.builder()?.open_read_only(database)?.snapshot()?;
        for (document, of) in self.shown.into_values() {
            let stored = match &of.key {
                Some(key) => snapshot.get(key.as_str())?,
                None => snapshot.get(of.id)?,
            };
            let (kept_key, kept) = stored.map_or((None, None), |stored| (stored.key, stored.text));
            let kept_key = kept_key.or_else(|| of.key.clone());
            let name = |key: Option<String>, id: DocId| key.unwrap_or_else(|| id.to_string());
            let kept_name = name(
                kept_key.or_else(|| self.removed_keys.get(&of.id).cloned()),
                of.id,
            );
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
